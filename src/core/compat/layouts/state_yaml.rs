//! Reads and changes an orchestrator's `state.yaml` line by line.
//!
//! The file belongs to somebody else: only the given keys of its outermost mapping are replaced, and
//! everything else (other values, comments, nested parts) stays. A file of another form is left alone.

use thiserror::Error;

/// Why a file is not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {0} is not part of a simple mapping")]
pub struct NotSimple(pub usize);

/// One line of the file.
enum YamlLine<'a> {
    /// `key: value` of the outermost mapping.
    Entry(&'a str, &'a str),
    /// A continuation of the entry above: indented, or an item of its list.
    More,
    /// A comment, an empty line, or the start or end of the document.
    Other,
}

fn line(text: &str) -> Option<YamlLine<'_>> {
    let text = text.trim_end();
    match text.as_bytes() {
        [] | [b'#', ..] => Some(YamlLine::Other),
        _ if text == "---" || text == "..." => Some(YamlLine::Other),
        [b' ' | b'\t', ..] | [b'-', b' ', ..] | [b'-'] => Some(YamlLine::More),
        _ => {
            let (key, value) = text.split_once(':')?;
            let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b'.');
            (plain && !key.is_empty() && (value.is_empty() || value.starts_with([' ', '\t'])))
                .then_some(YamlLine::Entry(key, value.trim()))
        }
    }
}

/// The task's status, if the file has one; the last of several.
pub fn status(text: &str) -> Option<&str> {
    value(text, "status")
}

/// The value of a key of the outermost mapping, if it is on one line; the last of several.
pub fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut found = text.lines().filter_map(|text| match line(text)? {
        YamlLine::Entry(name, value) if name == key => Some(value),
        _ => None,
    });
    let value = found.next_back()?;
    let value = match value.as_bytes().first()? {
        quote @ (b'"' | b'\'') => value[1..].split(char::from(*quote)).next()?,
        _ => value.split(" #").next()?.trim(),
    };
    (!value.is_empty()).then_some(value)
}

/// `old` with these values of its outermost mapping; new keys come last.
///
/// # Errors
/// [`NotSimple`] with the number of the first line that has another form.
pub fn updated(old: &str, values: &[(&str, &str)]) -> Result<String, NotSimple> {
    let mut out = String::with_capacity(old.len() + 80);
    let mut written = vec![false; values.len()];
    let mut replaced = false;
    for (number, text) in (1..).zip(old.lines()) {
        match line(text).ok_or(NotSimple(number))? {
            YamlLine::Entry(key, _) => {
                let known = values.iter().position(|(name, _)| *name == key);
                replaced = known.is_some();
                match known {
                    Some(at) if written[at] => {}
                    Some(at) => {
                        written[at] = true;
                        out.push_str(&format!("{key}: {}\n", values[at].1));
                    }
                    None => push(&mut out, text),
                }
            }
            // The continuation of a replaced value.
            YamlLine::More if replaced => {}
            YamlLine::More | YamlLine::Other => push(&mut out, text),
        }
    }
    for ((key, value), _) in values.iter().zip(&written).filter(|(_, written)| !**written) {
        out.push_str(&format!("{key}: {value}\n"));
    }
    Ok(out)
}

/// `old` without a key of its outermost mapping.
pub fn without(old: &str, key: &str) -> String {
    let mut out = String::with_capacity(old.len());
    let mut dropped = false;
    for text in old.lines() {
        dropped = match line(text) {
            Some(YamlLine::Entry(name, _)) => name == key,
            Some(YamlLine::More) => dropped,
            _ => false,
        };
        if !dropped {
            push(&mut out, text);
        }
    }
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_found_in_the_forms_that_people_write() {
        for text in [
            "status: completed\n",
            "---\n# x\nstatus:   completed   # at last\ncurrent_task: task-3\n",
            "status: \"completed\"\n",
            "status: 'completed' # yes\n",
            "status: running\nstatus: completed",
            "phases:\n  status: running\nstatus: completed\r\n",
        ] {
            assert_eq!(status(text), Some("completed"), "{text:?}");
        }
        for text in [
            "", "  status: completed\n", "# status: completed\n", "my_status: completed\n", "status:\n",
            "status:completed\n", "{status: completed}",
        ] {
            assert_ne!(status(text), Some("completed"), "{text:?}");
        }
    }

    #[test]
    fn only_the_named_values_change() {
        let old = "# head\nstatus: >\n  running\n  still\nlist:\n- a\n- b: c\nnested:\n  status: \
                   x\n\nstatus: again\n";
        assert_eq!(
            updated(old, &[("status", "done"), ("new", "1")]).unwrap(),
            "# head\nstatus: done\nlist:\n- a\n- b: c\nnested:\n  status: x\n\nnew: 1\n"
        );
        for (text, line) in [
            ("{a: 1}\n", 1),
            ("a: 1\n? b\n", 2),
            ("a: 1\n\"b c\": 2\n", 2),
            ("just words\n", 1),
            ("a:1\n", 1),
        ] {
            assert_eq!(updated(text, &[("status", "x")]), Err(NotSimple(line)), "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_state_is_changed_or_left_alone(old in "(status|phases|checkpoint_id|:|: |  - a|#|---|[ \"'x{}?]|.|\n){0,40}") {
            if let Ok(new) = updated(&old, &[("status", "handoff_requested"), ("current_task", "a: b")]) {
                proptest::prop_assert!(new.len() < old.len() + 200);
                proptest::prop_assert_eq!(status(&new), Some("handoff_requested"));
            }
        }
    }
}
