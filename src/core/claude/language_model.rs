//! Which model a session runs, from every source that names it.
//!
//! SessionStart names the model that a run begins with. After `/model`, only Claude's status line names the
//! new one, without the `[1m]` of a million-token window (measured on 2.1.330); the window size gives it
//! away.

use crate::core::context_level::window_of_model;

/// The larger of the two context windows, in tokens.
const LARGE_WINDOW: u64 = 1_000_000;
/// The suffix of a model's name when a person chose the larger window.
const LARGE_WINDOW_SUFFIX: &str = "[1m]";
/// A name for two models, between which the permission mode chooses: a change is not the person's choice.
const BY_MODE: &str = "opusplan";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LanguageModel {
    started: Option<String>,
    reported: Option<String>,
    switched: Option<String>,
}

impl LanguageModel {
    /// A new run begins: the first model of its status line is the one that it was started with.
    pub fn begin_run(&mut self) {
        self.reported = None;
    }

    /// SessionStart named it.
    pub fn start(&mut self, name: &str) {
        self.started = Some(name.to_owned());
    }

    /// The status line named it, with its window in tokens.
    pub fn take_status_line(&mut self, id: &str, window: Option<u64>) {
        let large = window == Some(LARGE_WINDOW) && window_of_model(id) != Some(LARGE_WINDOW);
        let name = format!("{id}{}", if large { LARGE_WINDOW_SUFFIX } else { "" });
        if self.reported.as_ref().is_some_and(|before| *before != name) {
            self.switched = Some(name.clone());
        }
        self.reported = Some(name);
    }

    /// The model that SessionStart named last.
    pub fn started(&self) -> Option<&str> {
        self.started.as_deref()
    }

    /// The model that the person switched to, if they did. `own` is that of the command line, `answered` that
    /// of the last answer, which counts if no status line names one.
    pub fn switched<'a>(&'a self, own: Option<&str>, answered: Option<&'a str>) -> Option<&'a str> {
        if own == Some(BY_MODE) {
            return None;
        }
        // Short names and those of other providers differ from those in answers.
        let full = |name: &str| name.starts_with("claude-");
        let started = self.started().filter(|name| self.reported.is_none() && full(name));
        let by_answer =
            answered.filter(|answered| full(answered) && started.is_some_and(|name| !same(name, answered)));
        self.switched.as_deref().or(by_answer)
    }

    /// All its names, the best first. They may lack the `[1m]` of the window.
    pub fn names<'a>(
        &'a self,
        own: Option<&'a str>,
        answered: Option<&'a str>,
    ) -> impl Iterator<Item = &'a str> {
        [self.switched(own, answered), self.started(), answered, own].into_iter().flatten()
    }
}

/// Whether two names are of the same model: either may have a date or `[1m]` behind it.
fn same(one: &str, other: &str) -> bool {
    let bare = |name: &str| name.trim_end_matches(LARGE_WINDOW_SUFFIX).to_owned();
    let (one, other) = (bare(one), bare(other));
    let dated =
        |name: &str, long: &str| long.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_date(rest));
    dated(&one, &other) || dated(&other, &one)
}

fn is_date(rest: &str) -> bool {
    rest.strip_prefix('-').is_some_and(|date| date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_changes_to_counts_with_its_window() {
        let mut model = LanguageModel::default();
        model.start("claude-sonnet-4-5");
        model.take_status_line("claude-sonnet-4-5", Some(200_000));
        assert_eq!(model.switched(None, None), None);
        model.take_status_line("claude-opus-4-8", Some(1_000_000));
        assert_eq!(model.switched(None, Some("claude-sonnet-4-5")), Some("claude-opus-4-8[1m]"));
        // The next run starts with the model and reports it, which is no change. A change back is one.
        model.begin_run();
        model.take_status_line("claude-opus-4-8", Some(1_000_000));
        assert_eq!(model.switched(Some("claude-sonnet-4-5"), None), Some("claude-opus-4-8[1m]"));
        model.take_status_line("claude-sonnet-5", Some(1_000_000));
        assert_eq!(model.switched(None, None), Some("claude-sonnet-5"), "it has no smaller window");
        model.take_status_line("claude-opus-4-8", Some(200_000));
        assert_eq!(
            model.names(Some("opus"), None).collect::<Vec<_>>(),
            ["claude-opus-4-8", "claude-sonnet-4-5", "opus"]
        );
        assert_eq!(model.switched(Some("opusplan"), None), None);
    }

    #[test]
    fn without_a_status_line_the_last_answer_names_the_model() {
        let mut model = LanguageModel::default();
        assert_eq!(model.switched(None, Some("claude-opus-4-8")), None, "nothing to compare it with");
        model.start("claude-opus-4-8[1m]");
        for same in ["claude-opus-4-8", "claude-opus-4-8-20260301", "claude-opus-4-8[1m]"] {
            assert_eq!(model.switched(None, Some(same)), None, "{same}");
        }
        assert_eq!(model.switched(None, Some("claude-opus-4-80")), Some("claude-opus-4-80"));
        assert_eq!(model.names(None, Some("claude-sonnet-4-5")).next(), Some("claude-sonnet-4-5"));
        for started in ["opus", "us.anthropic.claude-opus-4-8-v1:0"] {
            model.start(started);
            assert_eq!(model.switched(None, Some("claude-sonnet-4-5")), None, "{started}");
        }
    }
}
