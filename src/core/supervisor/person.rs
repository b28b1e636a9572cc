//! The people at the session's terminals: who is there, and who counts as present.

use serde::{Deserialize, Serialize};

use super::action::DecisionKind;
use super::event::AttachKind;
use super::step::EventStep;
use crate::core::config::Restart;
use crate::core::time::Stamp;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct People {
    /// The attached terminals that may type, and when a key was last pressed in each.
    terminals: Vec<(u32, Option<Stamp>)>,
}

impl People {
    pub(super) fn add_client(&mut self, step: &mut EventStep<'_>, client: u32, how: AttachKind) {
        self.terminals.retain(|(number, _)| *number != client);
        if how != AttachKind::Watches {
            self.terminals.push((client, None));
        }
        step.decide(DecisionKind::ClientAttached, format!("Client {client} attached.")).because(&[]);
    }

    pub(super) fn leaves(&mut self, step: &mut EventStep<'_>, client: u32, why: &str) {
        self.terminals.retain(|(number, _)| *number != client);
        let why = if why == "detached" { String::new() } else { format!(" ({why})") };
        step.decide(DecisionKind::ClientDetached, format!("Client {client} detached{why}.")).because(&[]);
    }

    pub(super) fn presses(&mut self, client: u32, now: Stamp) {
        if let Some((_, key)) = self.terminals.iter_mut().find(|(number, _)| *number == client) {
            *key = Some(now);
        }
    }

    /// When a person no longer counts as present, if they press no key.
    pub(super) fn present_until(&self, restart: &Restart) -> Option<Stamp> {
        let last = self.terminals.iter().filter_map(|(_, key)| *key).max()?;
        Some(last.after(restart.wait_for_person.ms()))
    }
}

/// A person chose an option of Claude's dialog without attaching.
pub(super) fn dialog_answered(step: &mut EventStep<'_>, dialog: &str, option: u8) {
    let dialog = dialog.replace('_', " ");
    let sentence = format!("You chose option {option} of the dialog ({dialog}) on the dashboard.");
    step.decide(DecisionKind::DialogAnswered, sentence);
}

#[cfg(test)]
mod tests {
    use super::super::tests::span;
    use super::*;

    #[test]
    fn who_has_pressed_a_key_in_a_terminal_that_may_type_is_present() {
        let restart = Restart { wait_for_person: span(100), ..Restart::default() };
        let (mut people, mut out) = (People::default(), Vec::new());
        let mut step = EventStep::new(Stamp(0), 1, 1, &mut out);
        people.add_client(&mut step, 1, AttachKind::Joins);
        people.add_client(&mut step, 2, AttachKind::Watches);
        assert_eq!(people.present_until(&restart), None, "nobody has pressed a key");
        people.presses(2, Stamp(5));
        assert_eq!(people.present_until(&restart), None, "who watches does not type");
        people.presses(1, Stamp(7));
        assert_eq!(people.present_until(&restart), Some(Stamp(107)));
        people.leaves(&mut step, 1, "asked");
        assert_eq!(people.present_until(&restart), None);
        assert_eq!(out.len(), 3, "{out:?}");
    }
}
