//! Where a person's keys go while hopty works: held, passed on, or released.

use serde::{Deserialize, Serialize};

use super::Supervisor;
use super::action::Action;
use super::event::KeyClass;
use super::phase::Phase;
use super::step::EventStep;

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
    pub(super) fn keys(&mut self, step: &mut EventStep<'_>, client: u32, class: KeyClass) {
        if class == KeyClass::Report {
            return;
        }
        self.somebody_is_there(step);
        self.person.presses(client, step.now);
        if class == KeyClass::Mode {
            self.mode_key(step.now, client);
        }
        match class {
            KeyClass::Interrupt => self.interrupted(step),
            _ if self.has_run() => self.run.typed = Some(step.now),
            _ => {}
        }
    }

    pub(super) fn hold_keys(&mut self, step: &mut EventStep<'_>) {
        if self.keys != KeyHold::Held {
            step.act(Action::HoldKeys);
            self.keys = KeyHold::Held;
        }
    }

    pub(super) fn pass_keys(&mut self, step: &mut EventStep<'_>) {
        if self.keys == KeyHold::Held {
            step.act(Action::PassKeys);
            self.keys = KeyHold::Passing { draft: false };
        }
    }

    /// Releases held input, but never into a dialog: keys typed before it appeared must not answer it.
    pub(super) fn release_keys(&mut self, step: &mut EventStep<'_>, draft: bool) {
        if self.keys != KeyHold::Free && self.obstacle().is_some() {
            self.pass_keys(step);
            self.keys = KeyHold::Passing { draft };
        } else {
            step.act(Action::ReleaseKeys { draft });
            self.keys = KeyHold::Free;
        }
    }

    /// The dialog that kept held input from being released is gone.
    pub(super) fn release_late(&mut self, step: &mut EventStep<'_>) {
        if let KeyHold::Passing { draft } = self.keys
            && matches!(self.phase, Phase::Running | Phase::Waiting { .. })
            && self.obstacle().is_none()
        {
            self.release_keys(step, draft);
        }
    }

    /// What a person must answer first: the name of the dialog on the screen, or what hooks or the sessions
    /// file report; `unknown` if nothing does.
    pub(super) fn obstacle(&self) -> Option<&str> {
        self.asks().map(|(_, what)| what)
    }
}
