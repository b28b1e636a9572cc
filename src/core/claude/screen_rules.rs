//! The forms of Claude's screens, from a data file: words, glyphs and marks.
//!
//! What may change between Claude's releases is in `screens.toml`, with a recorded screen for each form.
//! [`super::screen_reading`] applies the rules.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use thiserror::Error;

use super::permission::PermissionMode;

/// The data file is invalid.
#[derive(Debug, Error)]
#[error("screen rules: {0}")]
pub struct RulesError(#[from] toml::de::Error);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreenRuleSet {
    pub(super) rule: String,
    pub(super) edges: Vec<String>,
    pub(super) border: String,
    pub(super) selector: String,
    pub(super) chosen: String,
    pub(super) shell_sign: String,
    pub(super) more_above: Pattern,
    pub(super) more_below: Pattern,
    pub(super) folded: Pattern,
    pub(super) folded_lines: Pattern,
    pub(super) indent: usize,
    pub(super) margin: usize,
    pub(super) over_box: Vec<String>,
    pub(super) asking: Vec<String>,
    pub(super) answer_foot: String,
    pub(super) waiting: BTreeMap<String, String>,
    pub(super) busy: BusyRule,
    pub(super) title: TitleRule,
    pub(super) modes: BTreeMap<PermissionMode, Vec<String>>,
    #[serde(rename = "box")]
    pub(super) boxes: Vec<BoxRule>,
    #[serde(rename = "dialog")]
    pub(super) dialogs: Vec<DialogRule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BusyRule {
    pub(super) footer: Vec<String>,
    pub(super) glyphs: Vec<String>,
    pub(super) text: Vec<String>,
    pub(super) reach: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TitleRule {
    pub(super) idle: Vec<String>,
    pub(super) busy: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoxRule {
    pub(super) sign: String,
    pub(super) cursor: CursorRule,
    #[serde(default)]
    pub(super) footer: usize,
}

/// Where a version leaves the cursor while the box has the keys.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CursorRule {
    Inside,
    Below,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DialogRule {
    pub(super) name: String,
    #[serde(default)]
    pub(super) head: Option<String>,
    pub(super) all: Vec<String>,
    #[serde(default)]
    pub(super) select: bool,
    #[serde(default)]
    pub(super) accept: Option<String>,
}

/// A text in which `{n}` matches a whole number.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Pattern(String);

impl ScreenRuleSet {
    /// The rules that are built into hopty.
    ///
    /// # Errors
    /// Never for a tested release; an error is still better than a panic.
    pub fn builtin() -> Result<Self, RulesError> {
        Self::parse(include_str!("screens.toml"))
    }

    /// Parses the text of a data file.
    ///
    /// # Errors
    /// If the text is not TOML, or has an unknown or missing key.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        Ok(toml::from_str(text)?)
    }

    /// The name for what Claude waits for, according to the sessions file; the file's own words if there is
    /// no name.
    pub fn waiting_for(&self, words: &str) -> String {
        self.waiting.get(words).map_or(words, String::as_str).to_owned()
    }
}

impl Pattern {
    /// Where the pattern first matches in `text`, and the last number in the match.
    pub(super) fn find(&self, text: &str) -> Option<(Range<usize>, usize)> {
        let mut parts = self.0.split("{n}");
        let first = parts.next()?;
        text.match_indices(first).find_map(|(start, _)| {
            let (mut at, mut number) = (start + first.len(), None);
            for part in parts.clone() {
                let digits = text[at..].bytes().take_while(u8::is_ascii_digit).count();
                number = text[at..at + digits].parse().ok();
                at += digits;
                if number.is_none() || !text[at..].starts_with(part) {
                    return None;
                }
                at += part.len();
            }
            Some((start..at, number?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_file_parses_and_never_answers_a_permission() {
        let rules = ScreenRuleSet::builtin().unwrap();
        let answered: Vec<_> = rules
            .dialogs
            .iter()
            .filter(|rule| rule.accept.is_some())
            .map(|rule| rule.name.as_str())
            .collect();
        assert!(
            !answered.iter().any(|name| ["permission", "question", "unknown"].contains(name)),
            "{answered:?}"
        );
        assert!(
            rules.dialogs.iter().all(|rule| !rule.all.is_empty()),
            "an entry without words would match every screen"
        );
        assert!(rules.dialogs.iter().all(|rule| rule.accept.is_none() || rule.select && rule.head.is_some()));
    }

    #[test]
    fn an_unknown_key_is_an_error() {
        let text = format!("surprise = 1\n{}", include_str!("screens.toml"));
        assert!(ScreenRuleSet::parse(&text).unwrap_err().to_string().starts_with("screen rules: "));
    }

    #[test]
    fn a_pattern_finds_its_numbers() {
        let lines = Pattern("[Pasted text #{n} +{n} lines]".into());
        assert_eq!(lines.find("ab [Pasted text #2 +11 lines]"), Some((3..29, 11)));
        assert_eq!(lines.find("[Pasted text #2]"), None);
        assert_eq!(lines.find("[Pasted text # +1 lines]"), None);
        assert_eq!(
            lines.find("[Pasted text #x [Pasted text #1 +2 lines]").map(|(_, number)| number),
            Some(2)
        );
        assert_eq!(lines.find("[Pasted text #99999999999999999999999 +1 lines]"), None);
        assert_eq!(Pattern("no number".into()).find("no number"), None);
    }
}
