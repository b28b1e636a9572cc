//! A line of a conversation that may come from anybody, without what Claude would do when it is resumed:
//! enter another permission mode, and write files outside of the project at `/rewind`.

use std::borrow::Cow;

use super::json_parts::{JsonMembers, range_in, string};

/// Modes that may be named: they widen nothing, or Claude does not take them from a transcript (measured on
/// 2.1.332, which takes `acceptEdits` and `dontAsk`).
const HARMLESS_MODES: [&str; 4] = ["default", "plan", "auto", "bypassPermissions"];
/// The members that act. In a line that hopty cannot read, Claude may find them.
const ACTING: [&str; 4] = ["permissionMode", "trackedFileBackups", "trackingPath", "\\u"];

/// What was left out of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOutOfLines {
    /// Permission modes; `default` stands there now.
    pub modes: u64,
    /// Files outside of the project that `/rewind` would have written or deleted.
    pub files: u64,
    /// Lines that cannot be read and may have one of these.
    pub unreadable: u64,
}

impl LeftOutOfLines {
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == LeftOutOfLines::default()
    }
}

impl std::ops::AddAssign for LeftOutOfLines {
    fn add_assign(&mut self, more: Self) {
        self.modes += more.modes;
        self.files += more.files;
        self.unreadable += more.unreadable;
    }
}

/// What becomes of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignLine {
    Same,
    Changed(String),
    /// It is left out.
    Gone,
}

/// The line, which has no newline at its end, without what acts; counted in `left_out`.
#[must_use]
pub fn without_acting_parts(line: &[u8], left_out: &mut LeftOutOfLines) -> ForeignLine {
    // Claude replaces what is not UTF-8, and reads on.
    let text = String::from_utf8_lossy(line);
    let Some(members) = JsonMembers::of(&text) else {
        let may_act = ACTING.iter().any(|word| text.contains(word));
        left_out.unreadable += u64::from(may_act);
        return if may_act { ForeignLine::Gone } else { ForeignLine::Same };
    };
    let mut edits: Vec<(&str, Cow<'_, str>)> = Vec::new();
    // A name may stand there twice: the last one counts for Claude.
    for (name, value) in members.0 {
        match name.as_ref() {
            "permissionMode"
                if !string(value).is_some_and(|mode| HARMLESS_MODES.contains(&mode.as_str())) =>
            {
                left_out.modes += 1;
                edits.push((value, "\"default\"".into()));
            }
            "trackingPath" if !is_inside(string(value).as_deref()) => {
                left_out.files += 1;
                return ForeignLine::Gone;
            }
            "snapshot" => {
                for (name, tracked) in JsonMembers::of(value).into_iter().flat_map(|members| members.0) {
                    if name == "trackedFileBackups"
                        && let Some(inside) = files_inside(tracked, left_out)
                    {
                        edits.push((tracked, inside.into()));
                    }
                }
            }
            _ => {}
        }
    }
    if edits.is_empty() {
        return ForeignLine::Same;
    }
    let mut new = String::with_capacity(text.len());
    let mut from = 0;
    for (piece, replacement) in edits {
        let at = range_in(&text, piece);
        new.push_str(&text[from..at.start]);
        new.push_str(&replacement);
        from = at.end;
    }
    new.push_str(&text[from..]);
    ForeignLine::Changed(new)
}

/// The object of tracked files without those outside of the project; `None` if it stays.
fn files_inside(tracked: &str, left_out: &mut LeftOutOfLines) -> Option<String> {
    let all = JsonMembers::of(tracked)?.0;
    let inside: Vec<String> = all
        .iter()
        .filter(|(path, _)| is_inside(Some(path)))
        .map(|(path, backup)| format!("{}:{backup}", serde_json::Value::from(path.as_ref())))
        .collect();
    left_out.files += (all.len() - inside.len()) as u64;
    (inside.len() < all.len()).then(|| format!("{{{}}}", inside.join(",")))
}

/// Claude names a file in the project relative to it, and any other by its absolute path.
fn is_inside(path: Option<&str>) -> bool {
    path.is_some_and(|path| {
        !path.starts_with('~')
            && path.split('/').all(|part| !matches!(part, "" | ".."))
            && !path.contains('\0')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(line: &str) -> (ForeignLine, LeftOutOfLines) {
        let mut left_out = LeftOutOfLines::default();
        (without_acting_parts(line.as_bytes(), &mut left_out), left_out)
    }

    #[test]
    fn a_mode_becomes_the_default_however_it_is_written() {
        let modes = LeftOutOfLines { modes: 1, ..LeftOutOfLines::default() };
        for (line, new) in [
            (
                r#"{"type":"permission-mode","permissionMode":"acceptEdits","x":1.0}"#,
                r#"{"type":"permission-mode","permissionMode":"default","x":1.0}"#,
            ),
            (r#"{"\u0070ermissionMode" : "dont\u0041sk"}"#, r#"{"\u0070ermissionMode" : "default"}"#),
            (
                r#"{"permissionMode":"plan","permissionMode":"new"}"#,
                r#"{"permissionMode":"plan","permissionMode":"default"}"#,
            ),
        ] {
            assert_eq!(left(line), (ForeignLine::Changed(new.to_owned()), modes), "{line}");
        }
        let mut left_out = LeftOutOfLines::default();
        let bytes = without_acting_parts(b"{\"x\":\"\xff\",\"permissionMode\":\"dontAsk\"}", &mut left_out);
        assert_eq!(
            bytes,
            ForeignLine::Changed("{\"x\":\"\u{fffd}\",\"permissionMode\":\"default\"}".to_owned())
        );
        // Claude reads half of a character, and several values, where hopty does not.
        for line in [r#"{"\ud800":1,"permissionMode":"dontAsk"}"#, r#"{}{"permissionMode":"dontAsk"}"#] {
            assert_eq!(
                left(line),
                (ForeignLine::Gone, LeftOutOfLines { unreadable: 1, ..Default::default() })
            );
        }
    }

    #[test]
    fn only_files_of_the_project_are_rewound() {
        let snapshot = |files: &str| format!(r#"{{"snapshot":{{"trackedFileBackups":{{{files}}},"y":1}}}}"#);
        let inside = r#""a.rs":{"backupFileName":"x@v1"},"b/c d.rs":{"backupFileName":null}"#;
        assert_eq!(left(&snapshot(inside)), (ForeignLine::Same, LeftOutOfLines::default()));
        let outside = r#""/home/u/.bashrc":{"backupFileName":null},"../x":{},"a/../../x":{},"~/x":{}"#;
        let (line, counts) = left(&snapshot(&format!("{inside},{outside}")));
        assert_eq!((line, counts.files), (ForeignLine::Changed(snapshot(inside)), 4));
        for (path, gone) in [("a.rs", false), ("/home/u/.bashrc", true), ("a/../../x", true)] {
            let (line, counts) = left(&format!(r#"{{"trackingPath":"{path}","backup":{{}}}}"#));
            assert_eq!((line == ForeignLine::Gone, counts.files), (gone, u64::from(gone)), "{path}");
        }
    }

    #[test]
    fn every_other_line_stays() {
        for line in [
            "",
            "torn",
            r#"{"type":"user","permissionMode":"bypassPermissions","message":{"permissionMode":"dontAsk"}}"#,
            r#"{"attachment":{"snapshot":{"trackedFileBackups":{"/x":{}}}},"snapshot":7}"#,
        ] {
            assert_eq!(left(line), (ForeignLine::Same, LeftOutOfLines::default()), "{line}");
        }
    }
}
