//! Where a person's keys go while hopty works: held, passed on, or released.

use serde::{Deserialize, Serialize};

use super::Supervisor;
use super::action::Action;
use super::event::KeyClass;
use super::phase::Phase;
use crate::core::time::Stamp;

/// Where a person's keys go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeyHold {
    /// To the child.
    #[default]
    Free,
    /// They are held.
    Held,
    /// To the child, but held input waits until no dialog obstructs it.
    Passing {
        /// The draft of the old prompt box comes first.
        draft: bool,
    },
}

impl Supervisor {
    pub(super) fn keys(&mut self, now: Stamp, client: u32, class: KeyClass, out: &mut Vec<Action>) {
        if class == KeyClass::Report {
            return;
        }
        self.somebody_is_there(now, out);
        self.person.presses(client, now);
        if class == KeyClass::Mode {
            self.mode_key(now, client);
        }
        match class {
            KeyClass::Interrupt => self.interrupted(now, out),
            _ if self.has_run() => self.run.typed = Some(now),
            _ => {}
        }
    }

    pub(super) fn hold_keys(&mut self, out: &mut Vec<Action>) {
        if self.keys != KeyHold::Held {
            out.push(Action::HoldKeys);
            self.keys = KeyHold::Held;
        }
    }

    pub(super) fn pass_keys(&mut self, out: &mut Vec<Action>) {
        if self.keys == KeyHold::Held {
            out.push(Action::PassKeys);
            self.keys = KeyHold::Passing { draft: false };
        }
    }

    /// Releases held input, but never into a dialog: keys typed before it appeared must not answer it.
    pub(super) fn release_keys(&mut self, draft: bool, out: &mut Vec<Action>) {
        if self.keys != KeyHold::Free && self.obstacle().is_some() {
            self.pass_keys(out);
            self.keys = KeyHold::Passing { draft };
        } else {
            out.push(Action::ReleaseKeys { draft });
            self.keys = KeyHold::Free;
        }
    }

    /// The dialog that kept held input from being released is gone.
    pub(super) fn release_late(&mut self, out: &mut Vec<Action>) {
        if let KeyHold::Passing { draft } = self.keys
            && matches!(self.phase, Phase::Running | Phase::Waiting { .. })
            && self.obstacle().is_none()
        {
            self.release_keys(draft, out);
        }
    }

    /// What a person must answer first: the name of the dialog on the screen, or what hooks or the sessions
    /// file report; `unknown` if nothing does.
    pub(super) fn obstacle(&self) -> Option<&str> {
        self.asks().map(|(_, what)| what)
    }
}
