//! Rewrites one line of a transcript.

use super::PathMap;
use super::fields::{FieldKind, each_field, names_its_output};
use super::json_parts::{range_in, string};
use crate::core::ids::ConversationId;

/// What changes when a conversation moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferRules {
    /// The directories that change: the project's, and that of the conversation's files.
    pub directories: PathMap,
    /// The directory of the conversation's own files (`C/projects/PROJECT/ID`), old and new, in which Claude
    /// Code stores tool results that are too long.
    pub sidecar: (String, String),
    /// The id, old and new; equal if it stays.
    pub id: (ConversationId, ConversationId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineRewrite {
    /// No place in it changes.
    Same,
    /// No JSON object: it stays.
    Foreign,
    Changed(String),
}

impl TransferRules {
    /// The new form of a line, which has no newline at its end.
    pub fn rewrite(&self, line: &[u8]) -> LineRewrite {
        let Ok(line) = std::str::from_utf8(line) else { return LineRewrite::Foreign };
        let mut edits = Vec::new();
        let is_object = each_field(line, |kind, piece| {
            edits.extend(self.replacement(kind, piece).map(|new| (range_in(line, piece), new)));
        });
        if !is_object {
            return LineRewrite::Foreign;
        }
        if edits.is_empty() {
            return LineRewrite::Same;
        }
        let mut new = String::with_capacity(line.len() + 64);
        let mut from = 0;
        // Fields are found in the order of the line.
        for (range, text) in edits {
            new.push_str(&line[from..range.start]);
            new.push_str(&text);
            from = range.end;
        }
        new.push_str(&line[from..]);
        LineRewrite::Changed(new)
    }

    /// The replacement for this piece of JSON; `None` if it stays.
    fn replacement(&self, kind: FieldKind, piece: &str) -> Option<String> {
        match kind {
            FieldKind::Path => Some(quoted(&self.directories.apply(&string(piece)?)?)),
            FieldKind::Id => {
                let (old, new) = &self.id;
                let is_old = old != new && string(piece)?.eq_ignore_ascii_case(old.as_str());
                is_old.then(|| quoted(new.as_str()))
            }
            FieldKind::ToolResult => {
                // Works on the piece itself: a string that is decoded and encoded again could look different.
                let inner = |path: &str| format!("{}/", quoted(path).trim_matches('"'));
                let (old, new) = (inner(&self.sidecar.0), inner(&self.sidecar.1));
                (old != new && names_its_output(piece) && piece.contains(&old))
                    .then(|| piece.replace(&old, &new))
            }
        }
    }
}

/// A string as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
    const NEW: &str = "00000000-94b9-4841-b82f-a62cfb8efdc0";

    pub(in crate::core::conversation_transfer) fn rules(new_id: &str) -> TransferRules {
        let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        let sidecar = pair(&format!("/c/projects/-old/{OLD}"), &format!("/c/projects/-new/{new_id}"));
        TransferRules {
            directories: PathMap::new([pair("/old", "/n\"ew"), sidecar.clone()]),
            sidecar,
            id: (OLD.parse().unwrap(), new_id.parse().unwrap()),
        }
    }

    fn changed(line: &str) -> String {
        match rules(OLD).rewrite(line.as_bytes()) {
            LineRewrite::Changed(new) => {
                assert!(rules(OLD).explains(line.as_bytes(), new.as_bytes()), "{line}");
                new
            }
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn fields_that_name_places_change_and_no_byte_else() {
        for (line, new) in [
            (
                r#"{"x":1.0, "cwd" :"/old","cwd":"/old/a" }"#,
                r#"{"x":1.0, "cwd" :"/n\"ew","cwd":"/n\"ew/a" }"#,
            ),
            (
                r#"{"type":"relocated","relocatedCwd":"/old"}"#,
                r#"{"type":"relocated","relocatedCwd":"/n\"ew"}"#,
            ),
            (r#"{"\u0063wd":"\/old","y":"\ud800"}"#, r#"{"\u0063wd":"/n\"ew","y":"\ud800"}"#),
            (
                r#"{"message":{"content":[{"type":"text","text":"/old"},{"input":{"file_path":"/old/f","command":"ls /old"}}]}}"#,
                r#"{"message":{"content":[{"type":"text","text":"/old"},{"input":{"file_path":"/n\"ew/f","command":"ls /old"}}]}}"#,
            ),
            (
                r#"{"toolUseResult":{"filenames":["/old/a","rel","/other"],"stdout":"/old"}}"#,
                r#"{"toolUseResult":{"filenames":["/n\"ew/a","rel","/other"],"stdout":"/old"}}"#,
            ),
            (
                r#"{"snapshot":{"trackedFileBackups":{"a.rs":{"realParentDir":"/old/src","version":1}}}}"#,
                r#"{"snapshot":{"trackedFileBackups":{"a.rs":{"realParentDir":"/n\"ew/src","version":1}}}}"#,
            ),
        ] {
            assert_eq!(changed(line), new);
        }
    }

    #[test]
    fn where_claude_put_a_long_result_follows() {
        let line = format!(
            r#"{{"message":{{"content":[{{"content":"<persisted-output>\nsaved to: /c/projects/-old/{OLD}/tool-results/x.txt\n/old \u001b[m"}}]}},"toolUseResult":{{"persistedOutputPath":"/c/projects/-old/{OLD}/tool-results/x.txt"}}}}"#
        );
        assert_eq!(changed(&line), line.replace("/-old/", "/-new/"));
        let mention = line.replace("<persisted-output>", "The output is in ").replace("toolUseResult", "x");
        assert_eq!(rules(OLD).rewrite(mention.as_bytes()), LineRewrite::Same);
    }

    #[test]
    fn a_copy_gets_its_own_id_where_it_stands_alone() {
        let line = format!(r#"{{"sessionId":"{OLD}","uuid":"{OLD}","lastPrompt":"{OLD}"}}"#);
        assert_eq!(rules(OLD).rewrite(line.as_bytes()), LineRewrite::Same);
        let new = format!(r#"{{"sessionId":"{NEW}","uuid":"{OLD}","lastPrompt":"{OLD}"}}"#);
        assert_eq!(rules(NEW).rewrite(line.as_bytes()), LineRewrite::Changed(new.clone()));
        assert!(rules(NEW).explains(line.as_bytes(), new.as_bytes()));
    }

    #[test]
    fn unknown_lines_stay() {
        for line in [
            b"".as_slice(),
            b"{",
            b"[{\"cwd\":\"/old\"}]",
            b"{\"cwd\":\"/old\"",
            b"{\"cwd\":\"/old\"} x",
            b"{\"cwd\":\"/old\xff\"}",
            b"/old",
        ] {
            assert_eq!(rules(OLD).rewrite(line), LineRewrite::Foreign, "{line:?}");
        }
        for line in [
            r#"{"cwd":7,"message":[],"toolUseResult":"/old","attachment":{"snapshot":"/old"}}"#,
            r#"{"cwd":"/older","x":{"cwd":"/old"}}"#,
            r#"{"type":"api-request-blob","message":{"content":[{"text":"/old"}]}}"#,
            r#"{"cwd":"\ud800/old"}"#,
        ] {
            assert_eq!(rules(OLD).rewrite(line.as_bytes()), LineRewrite::Same, "{line}");
        }
        let deep = format!("{{\"message\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(rules(OLD).rewrite(deep.as_bytes()), LineRewrite::Same, "no stack overflows");
    }
}
