//! The draft in the prompt box: saved before a run ends, and kept in a file where no run gets it.

use std::time::Duration;

use super::Host;
use crate::core::claude::view::BoxMode;
use crate::core::draft::Draft;
use crate::core::supervisor::Agent;
use crate::core::supervisor::phase::{Cause, Phase, StartKind};
use crate::core::supervisor::shown::PromptBox;
use crate::fs::atomic;
use crate::io::worker::within;

/// How long the file of an unsent draft may take at the end of a session.
const WRITE_LIMIT: Duration = Duration::from_secs(1);

impl Host {
    /// Before the old run ends: what stands in its prompt box, as bytes that make the same again.
    pub(super) fn save_draft(&mut self) {
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
    pub(super) fn save_lost_draft(&mut self) {
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
    /// silence. Gives the sentence that names it.
    pub(super) fn keep_unsent(&self) -> Option<String> {
        let mut unsent: Vec<u8> = self.prompts.unsent().flat_map(|prompt| format!("{prompt}\n").into_bytes()).collect();
        unsent.extend(self.kept.unsent());
        let text: String = String::from_utf8_lossy(&unsent).replace("\x1b[200~", "").replace("\x1b[201~", "");
        if text.chars().all(|c| c.is_control() || c.is_whitespace()) {
            return None;
        }
        let path = self.claim.dir.join("unsent.txt");
        let file = path.clone();
        within(WRITE_LIMIT, move || atomic::write(&file, text.as_bytes()).ok()).flatten()?;
        Some(format!("What you had typed and not sent is in {}.", path.display()))
    }

    /// The text of the draft in the prompt box, for the handoff.
    pub(super) fn draft_text(&mut self) -> Option<String> {
        self.view()?.prompt_box.map(|shown| shown.text).filter(|text| !text.is_empty())
    }

    /// Whether the typed bytes alone explain the text of the box.
    fn draft_is(&self, text: &str) -> bool {
        let squeeze = |s: &str| s.chars().filter(|c| !c.is_whitespace() && *c != '\\').collect::<String>();
        let typed = String::from_utf8_lossy(self.kept.draft.bytes()).replace("\x1b[200~", "").replace("\x1b[201~", "");
        !typed.contains('\x1b') && !typed.contains('\x7f') && squeeze(&typed) == squeeze(text)
    }
}

/// A bracketed paste; nothing in the text can end it early.
pub(super) fn paste(text: &str) -> Vec<u8> {
    let clean: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    format!("\x1b[200~{clean}\x1b[201~").into_bytes()
}
