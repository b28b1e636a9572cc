//! Which model a session runs, by everything that names one.
//!
//! SessionStart names the one that a run begins with. `/model` changes it in the middle, and then Claude's
//! status line says so, without the `[1m]` that tells a window of a million tokens (measured on 2.1.330): its
//! window tells.

use crate::core::context_level::window_of_model;

/// The larger of the two windows that there are, in tokens.
const LARGE_WINDOW: u64 = 1_000_000;
/// What stands behind a model's name where it has the larger window by a person's choice.
const LARGE_WINDOW_SUFFIX: &str = "[1m]";
/// A name that stands for two models, of which the permission mode chooses: a change is no choice of the
/// person's.
const BY_MODE: &str = "opusplan";

/// What is known of a session's model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    started: Option<String>,
    told: Option<String>,
    switched: Option<String>,
}

impl Model {
    /// Another run begins: what its status line says first is what it was started with.
    pub fn run_begins(&mut self) {
        self.told = None;
    }

    /// SessionStart named it.
    pub fn start(&mut self, name: &str) {
        self.started = Some(name.to_owned());
    }

    /// The status line named it, with the window that it has in tokens.
    pub fn tell(&mut self, id: &str, window: Option<u64>) {
        let large = window == Some(LARGE_WINDOW) && window_of_model(id) != Some(LARGE_WINDOW);
        let name = format!("{id}{}", if large { LARGE_WINDOW_SUFFIX } else { "" });
        if self.told.as_ref().is_some_and(|before| *before != name) {
            self.switched = Some(name.clone());
        }
        self.told = Some(name);
    }

    /// The model that SessionStart named last.
    pub fn started(&self) -> Option<&str> {
        self.started.as_deref()
    }

    /// The model that a person changed to, where they did: `own` is that of the command line, `answered` that
    /// of the last answer, which counts where no status line names one.
    pub fn switched<'a>(&'a self, own: Option<&str>, answered: Option<&'a str>) -> Option<&'a str> {
        if own == Some(BY_MODE) {
            return None;
        }
        // Names of other providers and short ones are not those that answers have.
        let full = |name: &str| name.starts_with("claude-");
        let started = self.started().filter(|name| self.told.is_none() && full(name));
        let by_answer =
            answered.filter(|answered| full(answered) && started.is_some_and(|name| !same(name, answered)));
        self.switched.as_deref().or(by_answer)
    }

    /// Every name of it, the best first: they may lack the `[1m]` that tells the window.
    pub fn names<'a>(
        &'a self,
        own: Option<&'a str>,
        answered: Option<&'a str>,
    ) -> impl Iterator<Item = &'a str> {
        [self.switched(own, answered), self.started(), answered, own].into_iter().flatten()
    }
}

/// Whether two names are of the same model: one may have its date or its `[1m]` behind it.
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
        let mut model = Model::default();
        model.start("claude-sonnet-4-5");
        model.tell("claude-sonnet-4-5", Some(200_000));
        assert_eq!(model.switched(None, None), None);
        model.tell("claude-opus-4-8", Some(1_000_000));
        assert_eq!(model.switched(None, Some("claude-sonnet-4-5")), Some("claude-opus-4-8[1m]"));
        // The next run is started with it, and says so: no change. A change back is one.
        model.run_begins();
        model.tell("claude-opus-4-8", Some(1_000_000));
        assert_eq!(model.switched(Some("claude-sonnet-4-5"), None), Some("claude-opus-4-8[1m]"));
        model.tell("claude-sonnet-5", Some(1_000_000));
        assert_eq!(model.switched(None, None), Some("claude-sonnet-5"), "it has no smaller window");
        model.tell("claude-opus-4-8", Some(200_000));
        assert_eq!(
            model.names(Some("opus"), None).collect::<Vec<_>>(),
            ["claude-opus-4-8", "claude-sonnet-4-5", "opus"]
        );
        assert_eq!(model.switched(Some("opusplan"), None), None);
    }

    #[test]
    fn without_a_status_line_the_last_answer_tells() {
        let mut model = Model::default();
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
