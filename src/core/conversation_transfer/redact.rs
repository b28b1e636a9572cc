//! Replaces recognized secrets in a line, for a conversation to share.

use super::json_parts::{JsonItems, JsonMembers, range_in, string};
use crate::core::redact::redact;

/// Members whose text is signed or encoded: nobody reads it, and a change would break it.
const ENCODED: [&str; 3] = ["signature", "data", "hash"];
/// How many levels of a value are parsed; deeper ones are redacted as text, because each level is read once
/// more than the one above it.
const DEPTH: usize = 64;
/// The longest value that is redacted together with its name, in bytes: a password is short.
const VALUE_BYTES: usize = 4096;

/// Replaces each secret in a line by a mark; JSON stays JSON, and other text is redacted as text. `None` if
/// the line is unchanged.
pub fn redact_line(line: &[u8]) -> Option<Vec<u8>> {
    let text = match std::str::from_utf8(line) {
        Ok(text) if JsonMembers::of(text).is_some() => text,
        _ => {
            let text = String::from_utf8_lossy(line);
            let safe = redact(&text);
            return (safe != text).then(|| safe.into_bytes());
        }
    };
    let mut edits = Vec::new();
    descend(None, text, DEPTH, &mut |piece, safe| edits.push((range_in(text, piece), safe)));
    if edits.is_empty() {
        return None;
    }
    let mut new = Vec::with_capacity(line.len());
    let mut from = 0;
    for (range, safe) in edits {
        new.extend_from_slice(&line[from..range.start]);
        new.extend_from_slice(serde_json::Value::from(safe).to_string().as_bytes());
        from = range.end;
    }
    new.extend_from_slice(&line[from..]);
    Some(new)
}

fn descend<'a>(name: Option<&str>, piece: &'a str, depth: usize, found: &mut impl FnMut(&'a str, String)) {
    if depth == 0 && piece.starts_with(['{', '[']) {
        let safe = redact(piece);
        if safe != piece {
            found(piece, safe);
        }
    } else if let Some(members) = JsonMembers::of(piece) {
        let mut end = 0;
        for (name, value) in members.0 {
            let at = range_in(piece, value);
            let safe = redact(&name);
            if safe != name
                && let Some(quoted) = quoted_in(&piece[end..at.start])
            {
                found(quoted, safe);
            }
            end = at.end;
            if !ENCODED.contains(&name.as_ref()) {
                descend(Some(&name), value, depth - 1, found);
            }
        }
    } else if let Some(items) = JsonItems::of(piece) {
        items.0.into_iter().for_each(|item| descend(name, item, depth - 1, found));
    } else if piece.starts_with('"') {
        // Half a character is not valid Unicode: use the piece itself.
        let text = string(piece).unwrap_or_else(|| piece[1..piece.len() - 1].to_owned());
        let safe = redact_value(name, &text);
        if safe != text {
            found(piece, safe);
        }
    }
}

/// The name of the second of two values, from the text between them.
fn quoted_in(gap: &str) -> Option<&str> {
    gap.get(gap.find('"')?..=gap.rfind('"')?)
}

/// The value of a member; its name alone may show that it is a secret.
fn redact_value(name: Option<&str>, text: &str) -> String {
    let safe = redact(text);
    let Some(name) = name.filter(|_| safe == text && text.len() <= VALUE_BYTES) else { return safe };
    let begin = format!("{name}: ");
    match redact(&format!("{begin}{text}")).strip_prefix(&begin) {
        Some(value) => value.to_owned(),
        None => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(line: &str) -> String {
        String::from_utf8(redact_line(line.as_bytes()).unwrap_or_else(|| line.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn secrets_go_and_the_line_stays_a_line() {
        let key = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
        let line = format!(
            r#"{{"x":1.0,"message":{{"content":[{{"text":"use {key} \"now\"\nor"}}]}},"signature":"{key}"}}"#
        );
        let safe = redacted(&line);
        assert_eq!(safe.matches(&key).count(), 1, "what is signed stays: {safe}");
        assert!(safe.starts_with(
            r#"{"x":1.0,"message":{"content":[{"text":"use [redacted: GitHub token] \"now\"\nor"}]}"#
        ));
        let named = redacted(r#"{"input":{"env":{"DB_PASSWORD":"hunter2hunter2","LANG":"C"}}}"#);
        assert_eq!(named, r#"{"input":{"env":{"DB_PASSWORD":"[redacted: password]","LANG":"C"}}}"#);
        let torn = redacted(&format!("{{\"text\":\"{key}"));
        assert!(!torn.contains(&key), "{torn}");
    }

    #[test]
    fn secrets_in_names_and_far_down_go_too() {
        let key = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
        let named = format!(r#"{{ "a" : 1 , "is \"{key}\" x" :{{"{key}":[ {{"b":"{key}"}} ]}},"c":2}}"#);
        let safe = redacted(&named);
        assert!(!safe.contains(&key) && serde_json::from_str::<serde_json::Value>(&safe).is_ok(), "{safe}");
        assert!(safe.starts_with(r#"{ "a" : 1 , "is \"[redacted: GitHub token]\" x" :{""#), "{safe}");
        // No level is read once for each level above it, and the stack does not overflow.
        let deep =
            |inner: &str| format!(r#"{{"x":{}"{inner}"{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        let safe = redacted(&deep(&key));
        assert!(!safe.contains(&key) && serde_json::from_str::<serde::de::IgnoredAny>(&safe).is_ok());
        assert_eq!(redact_line(deep("nothing").as_bytes()), None);
    }

    #[test]
    fn lines_without_secrets_stay_as_they_are() {
        for line in [
            r#"{"type":"user","uuid":"c74cc080-94b9-4841-b82f-a62cfb8efdc0","message":{"content":"hello"}}"#,
            r#"{"usage":{"input_tokens":1000},"maxTokens":5,"tokens":[1,2]}"#,
            "",
            "torn",
        ] {
            assert_eq!(redact_line(line.as_bytes()), None, "{line}");
        }
    }
}
