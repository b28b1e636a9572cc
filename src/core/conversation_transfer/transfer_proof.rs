//! Checks that a new line is its old one, moved. It works in another way than the code that made the line: it
//! parses both lines and compares the values.

use serde_json::Value;

use super::TransferRules;
use super::fields::{FieldKind, kind_at};

impl TransferRules {
    /// Whether `new` differs from `old` only in what these rules change.
    pub fn explains(&self, old: &[u8], new: &[u8]) -> bool {
        if old == new {
            return true;
        }
        let (Ok(old), Ok(new)) = (serde_json::from_slice(old), serde_json::from_slice(new)) else {
            // serde cannot parse half a character: compare the text around it.
            return self.explains_text(old, new);
        };
        self.explains_value(&old, &new, &mut Vec::new())
    }

    fn explains_value<'a>(&self, old: &'a Value, new: &'a Value, place: &mut Vec<&'a str>) -> bool {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                old.len() == new.len()
                    && old.iter().all(|(name, value)| {
                        place.push(name);
                        let same =
                            new.get(name).is_some_and(|other| self.explains_value(value, other, place));
                        place.pop();
                        same
                    })
            }
            (Value::Array(old), Value::Array(new)) => {
                place.push("[]");
                let same = old.len() == new.len()
                    && old.iter().zip(new).all(|(old, new)| self.explains_value(old, new, place));
                place.pop();
                same
            }
            (Value::String(old), Value::String(new)) if old != new => match kind_at(place) {
                Some(FieldKind::Path) => self.directories.apply(old).as_ref() == Some(new),
                Some(FieldKind::Id) => {
                    old.eq_ignore_ascii_case(self.id.0.as_str()) && new == self.id.1.as_str()
                }
                Some(FieldKind::ToolResult) => {
                    let (from, to) = (format!("{}/", self.sidecar.0), format!("{}/", self.sidecar.1));
                    old.starts_with("<persisted-output>") && old.replace(&from, &to) == *new
                }
                None => false,
            },
            (old, new) => old == new,
        }
    }

    /// For lines that are JSON but not valid Unicode: rewriting the old line must give the new one.
    fn explains_text(&self, old: &[u8], new: &[u8]) -> bool {
        matches!(self.rewrite(old), super::LineRewrite::Changed(again) if again.as_bytes() == new)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PathMap;
    use super::*;

    #[test]
    fn any_other_change_is_noticed() {
        let id = "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse::<crate::core::ids::ConversationId>().unwrap();
        let rules = TransferRules {
            directories: PathMap::new([("/old".to_owned(), "/new".to_owned())]),
            sidecar: ("/s".to_owned(), "/s".to_owned()),
            id: (id.clone(), id),
        };
        let explains = |old: &str, new: &str| rules.explains(old.as_bytes(), new.as_bytes());
        assert!(explains(r#"{"cwd":"/old/a","n":1}"#, r#"{"cwd":"/new/a","n":1}"#));
        for (old, new) in [
            (r#"{"cwd":"/old/a"}"#, r#"{"cwd":"/new/b"}"#),
            (r#"{"cwd":"/old"}"#, r#"{"cwd":"/new","x":1}"#),
            (r#"{"cwd":"/old","x":1}"#, r#"{"cwd":"/new"}"#),
            (r#"{"cwd":"/old","x":1}"#, r#"{"cwd":"/new","x":2}"#),
            (r#"{"text":"/old"}"#, r#"{"text":"/new"}"#),
            (r#"{"message":{"content":[{"text":"/old"}]}}"#, r#"{"message":{"content":[{"text":"/new"}]}}"#),
            (r#"{"cwd":"/old"}"#, "{"),
            ("torn", "tore"),
            (r#"{"cwd":"/old","x":[1,2]}"#, r#"{"cwd":"/new","x":[1]}"#),
            (r#"{"sessionId":"a"}"#, r#"{"sessionId":"b"}"#),
        ] {
            assert!(!explains(old, new), "{old} {new}");
        }
    }
}
