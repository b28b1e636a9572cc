//! One session as the dashboard shows it, from its status. All text is cleaned first, because it comes from
//! files, programs and peers. Pure.

use crate::core::context_level::Level;
use crate::core::ids::SessionName;
use crate::core::status_types::SessionStatus;
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::reported_state::SessionState;
use crate::core::text::shell_word::shell_line;
use crate::core::text::visible::is_hidden;
use crate::core::time::WallTime;

/// The longest text that is kept, in characters; no screen is wider.
const TEXT_MAX: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub name: SessionName,
    /// `idle`, `busy` and so on, or `unresponsive`.
    pub state: String,
    /// The state, with what a blocked session waits for: `blocked: Bash: touch x1`.
    pub state_words: String,
    /// The host's own name of the dialog that it waits in; sent back to the host, never shown.
    pub dialog: String,
    /// How long it has been in its state, such as `5 min`; empty if unknown.
    pub since: String,
    /// How long ago it was started; empty if unknown.
    pub age: String,
    /// Claude's model; empty if unknown.
    pub model: String,
    /// The context usage, 0 to 100; `None` if unknown.
    pub percent: Option<u8>,
    /// The level that was reached; `None` if this version does not know it.
    pub level: Option<Level>,
    /// Finished and all tasks of Claude's list, such as `4/6`; empty if it has none.
    pub tasks: String,
    pub restarts: u32,
    pub clients: usize,
    /// The working directory, with `~` for the home directory.
    pub dir: String,
    /// The git branch or commit of that directory; empty outside of a repository.
    pub branch: String,
    /// Whether the program is an agent that accepts prompts; `None` until its host has answered.
    pub agent: Option<bool>,
    pub command: String,
    /// The topic of the conversation; empty if unknown.
    pub about: String,
    /// Its labels, separated by `,`.
    pub labels: String,
    /// The reason for its state, in a sentence.
    pub why: String,
}

impl SessionRow {
    /// The row of a session. `home` is shown as `~`; `moment` formats a time in the future, `age` one in
    /// the past. The branch is not in the status: see [`SessionRow::on_branch`].
    pub fn of(
        name: &SessionName,
        status: &SessionStatus,
        home: &str,
        moment: fn(WallTime) -> String,
        age: fn(WallTime) -> String,
    ) -> SessionRow {
        let since = if status.is(SessionState::Ended) { status.ended_at } else { status.state_since };
        SessionRow {
            name: name.clone(),
            state: clean(&status.state_word()),
            state_words: clean(&status.state_words(moment)),
            dialog: status.waiting_for.clone().unwrap_or_default(),
            since: since.map(|at| age(at.0)).unwrap_or_default(),
            age: status.started_at.map(|at| age(at.0)).unwrap_or_default(),
            model: clean(status.work.model.as_deref().unwrap_or_default().trim_start_matches("claude-")),
            percent: status.context.known_percent(),
            level: status.context.level.known(),
            tasks: match status.work.tasks {
                0 => String::new(),
                all => format!("{}/{all}", status.work.tasks_done),
            },
            restarts: status.restarts,
            clients: status.clients.len(),
            dir: below_home(&clean(&status.dir), home),
            branch: String::new(),
            agent: (!status.agent.is_empty()).then(|| !status.agent.is(ProgramKind::Plain)),
            command: clean(&shell_line(&status.command)),
            about: clean(&status.about().unwrap_or_default()),
            labels: clean(&status.labels.join(",")),
            why: clean(&status.why),
        }
    }

    /// The same with the git branch of its directory.
    #[must_use]
    pub fn on_branch(self, branch: Option<&str>) -> SessionRow {
        SessionRow { branch: clean(branch.unwrap_or_default()), ..self }
    }

    /// Whether it matches a filter: a part of any text in its row, ignoring case.
    pub fn matches(&self, filter: &str) -> bool {
        let filter = filter.to_lowercase();
        [
            self.name.as_str(),
            &self.state_words,
            &self.dir,
            &self.branch,
            &self.command,
            &self.about,
            &self.labels,
        ]
        .iter()
        .any(|text| text.to_lowercase().contains(&filter))
    }
}

fn below_home(dir: &str, home: &str) -> String {
    match dir.strip_prefix(home).filter(|_| home.len() > 1) {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => dir.to_owned(),
    }
}

/// Text from others, with every character replaced that a terminal would act on or that changes the text
/// direction.
pub fn clean(text: &str) -> String {
    text.chars()
        .take(TEXT_MAX)
        .map(|c| if is_harmless(c) { c } else { char::REPLACEMENT_CHARACTER })
        .collect()
}

/// Whether a character is only drawn.
pub fn is_harmless(c: char) -> bool {
    !is_hidden(c)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(object: Value, home: &str) -> SessionRow {
        let status = SessionStatus::from_json(object).unwrap_or_default();
        SessionRow::of(&"proj".parse().unwrap(), &status, home, WallTime::plain, |_| "5 min".to_owned())
    }

    #[test]
    fn a_session_object_becomes_a_row() {
        let object = json!({"labels": ["api", "work"], "state": "blocked", "waiting_for": "a person",
            "state_since": "2026-11-20T14:00:00.000Z", "dir": "/home/u/proj",
            "agent": "claude",
            "command": ["claude", "--model", "opus"], "restarts": 3, "clients": [{}, {}], "why": "It waits.",
            "context": {"tokens_from": "transcript", "percent": 82, "level": "handoff"}});
        let row = read(object, "/home/u");
        assert_eq!((row.percent, row.restarts, row.clients, row.agent), (Some(82), 3, 2, Some(true)));
        assert_eq!(
            (row.dir.as_str(), row.command.as_str(), row.why.as_str()),
            ("~/proj", "claude --model opus", "It waits.")
        );
        assert_eq!(row.labels, "api,work");
        assert_eq!((row.state_words.as_str(), row.since.as_str()), ("blocked (a person)", "5 min"));
        assert!(
            row.matches("work")
                && row.matches("BLOCK")
                && row.matches("a person")
                && row.matches("~/pro")
                && row.matches("opus")
                && !row.matches("vim")
        );
    }

    #[test]
    fn an_unknown_context_usage_has_no_percent() {
        let object = json!({"context": {"tokens_from": "none", "percent": 0}});
        assert_eq!(read(object, "").percent, None);
    }

    #[test]
    fn hostile_statuses_contain_no_escape_sequences() {
        for object in [
            json!(null),
            json!([1]),
            json!({"command": "x", "clients": 7, "context": [], "restarts": -1, "why": {}}),
        ] {
            assert_eq!(read(object, "/").percent, None);
        }
        let object = json!({"state": "a\u{1b}[2J", "dir": "/x\u{202e}\u{7}\n", "why": "\u{9b}31m",
            "command": ["\r", "\u{2028}"]});
        let row = read(object, "/home/u");
        for text in [&row.state, &row.dir, &row.why, &row.command] {
            assert!(text.contains('\u{fffd}') && text.chars().all(is_harmless), "{text:?}");
        }
        assert_eq!(clean(&"x".repeat(5000)).len(), TEXT_MAX);
    }

    #[test]
    fn the_home_directory_is_a_tilde_and_its_neighbours_are_not() {
        assert_eq!(below_home("/home/u", "/home/u"), "~");
        assert_eq!(below_home("/home/uwe", "/home/u"), "/home/uwe");
        assert_eq!(below_home("/x", "/"), "/x");
    }
}
