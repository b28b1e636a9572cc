//! The draft in the prompt box: saved before a run ends, and kept in a file where no run gets it.

use std::path::PathBuf;
use std::time::Duration;

use crate::core::claude::view::BoxMode;
use crate::core::draft::Draft;
use crate::core::handoff::redact::redact;
use crate::core::handoff::text::{cut_chars, safe_line};
use crate::core::supervisor::Agent;
use crate::core::supervisor::phase::{Cause, Phase, StartKind};
use crate::core::supervisor::shown::PromptBox;
use crate::fs::atomic;
use crate::host::Host;
use crate::host::log::log;
use crate::host::start::place;
use crate::sys::worker::within;

/// How long the file of an unsent draft may take at the end of a session.
const WRITE_LIMIT: Duration = Duration::from_secs(1);
/// Characters of a draft that are shown where it cannot be kept.
const SHOWN_MOST: usize = 500;

impl Host {
    /// Before the old run ends: what stands in its prompt box, as bytes that make the same again.
    pub(in crate::host) fn save_draft(&mut self) {
        // The first half of a sequence is no text: the whole of it is typed when the rest has come.
        let shown = self.view().and_then(|view| view.prompt_box);
        let typed = self.kept.draft.bytes().to_vec();
        self.kept.saved = match shown {
            // No box to look at: what was typed is all that is known.
            None => typed,
            Some(shown) if shown.text.is_empty() => Vec::new(),
            Some(shown) if shown.folded || self.draft_is(&shown.text) || shown.mode != BoxMode::Prompt => typed,
            // The box was edited in a way that the bytes do not show: what a person saw is what counts.
            Some(shown) => paste(&shown.text),
        };
        self.kept.draft = Draft::new();
    }

    /// The same after the end of a run that nobody had stopped: its box is on the screen as it was at the last moment.
    pub(in crate::host) fn save_lost_draft(&mut self) {
        let lost = match self.phase() {
            Phase::Cooling { plan, .. } => plan.start == StartKind::Resume,
            Phase::Closed { cause, .. } => matches!(cause, Cause::Killed | Cause::CrashLoop | Cause::RestartLimit),
            _ => false,
        };
        // A draft that was saved before has not been typed yet. What hopty or a script typed is not a person's.
        let ours = self.sends.is_submitting() || self.run.as_ref().is_some_and(|run| run.facts.prompt == PromptBox::Ours);
        if lost && !ours && self.launch.agent == Agent::Claude && self.kept.saved.is_empty() {
            self.save_draft();
        }
    }

    /// At the end of a session: what a person wrote and no run has got is put into a file, so that nothing is lost in
    /// silence. Gives the sentence that names the file, or shows the text where no file can be written.
    pub(in crate::host) fn keep_unsent(&self) -> Option<String> {
        let mut unsent: Vec<u8> = self.prompts.unsent().flat_map(|prompt| format!("{prompt}\n").into_bytes()).collect();
        unsent.extend(self.kept.unsent());
        let text: String = String::from_utf8_lossy(&unsent).replace("\x1b[200~", "").replace("\x1b[201~", "");
        if text.chars().all(|c| c.is_control() || c.is_whitespace()) {
            return None;
        }
        // A private directory is deleted at the end of its session.
        let own = self.private.is_none().then(|| self.claim.dir.join("unsent.txt"));
        Some(match keep(own, &text) {
            Ok(path) => format!("What you had typed and not sent is in {}.", path.display()),
            Err(why) => format!("What you had typed and not sent could not be kept ({why}): {}", short(&text)),
        })
    }

    /// The text of the draft in the prompt box, for the handoff.
    pub(in crate::host) fn draft_text(&mut self) -> Option<String> {
        self.view()?.prompt_box.map(|shown| shown.text).filter(|text| !text.is_empty())
    }

    /// Whether the typed bytes alone explain the text of the box.
    fn draft_is(&self, text: &str) -> bool {
        let squeeze = |s: &str| s.chars().filter(|c| !c.is_whitespace() && *c != '\\').collect::<String>();
        let typed = String::from_utf8_lossy(self.kept.draft.bytes()).replace("\x1b[200~", "").replace("\x1b[201~", "");
        !typed.contains('\x1b') && !typed.contains('\x7f') && squeeze(&typed) == squeeze(text)
    }
}

/// Writes a draft to `own`, or where that fails to a file that outlives the session. Gives the file, or why there is none.
fn keep(own: Option<PathBuf>, text: &str) -> Result<PathBuf, String> {
    let mut why = None;
    if let Some(own) = own {
        let (path, bytes) = (own.clone(), text.as_bytes().to_vec());
        match in_time(move || atomic::write(&path, &bytes).map_err(|e| e.to_string())) {
            Ok(()) => return Ok(own),
            Err(error) => {
                log(format_args!("the draft cannot be written: {error}"));
                why = Some(error);
            }
        }
    }
    let bytes = text.as_bytes().to_vec();
    in_time(move || place::write_outside(&bytes).map_err(|e| e.to_string())).map_err(|error| why.unwrap_or(error))
}

fn in_time<T: Send + 'static>(write: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    within(WRITE_LIMIT, write).unwrap_or_else(|| Err("the disk does not answer".to_owned()))
}

/// A draft on one line of a bounded length, without secrets.
fn short(text: &str) -> String {
    cut_chars(&safe_line(&redact(text)), SHOWN_MOST)
}

/// A bracketed paste; nothing in the text can end it early.
pub(in crate::host) fn paste(text: &str) -> Vec<u8> {
    let clean: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    format!("\x1b[200~{clean}\x1b[201~").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_that_is_shown_has_one_line_no_secret_and_a_bounded_length() {
        let shown = short("fix\x1b[2J the\nlogin, password=hunter2hunter2");
        assert!(shown.starts_with("fix") && shown.contains("the login") && !shown.contains("hunter2"), "{shown}");
        assert!(!shown.contains(|c: char| c.is_control()), "{shown:?}");
        let long = short(&"é".repeat(5000));
        assert_eq!((long.chars().count(), long.ends_with("é...")), (SHOWN_MOST + 3, true));
    }
}
