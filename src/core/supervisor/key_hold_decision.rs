use serde::{Deserialize, Serialize};

use super::action::Action;
use super::step::EventStep;

/// Where a person's keys go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeyHold {
    #[default]
    Free,
    Held,
    /// To the child, but held input waits until no dialog obstructs it.
    Passing {
        /// The draft of the old prompt box comes first.
        draft: bool,
    },
}

impl KeyHold {
    pub(super) fn hold(&mut self, step: &mut EventStep<'_>) {
        if *self != KeyHold::Held {
            step.act(Action::HoldKeys);
            *self = KeyHold::Held;
        }
    }

    pub(super) fn pass(&mut self, step: &mut EventStep<'_>) {
        if *self == KeyHold::Held {
            step.act(Action::PassKeys);
            *self = KeyHold::Passing { draft: false };
        }
    }

    /// Releases held input, but never into a dialog (`obstructed`): keys typed before it appeared must not
    /// answer it.
    pub(super) fn release(&mut self, step: &mut EventStep<'_>, draft: bool, obstructed: bool) {
        if *self != KeyHold::Free && obstructed {
            self.pass(step);
            *self = KeyHold::Passing { draft };
        } else {
            step.act(Action::ReleaseKeys { draft });
            *self = KeyHold::Free;
        }
    }

    /// Releases held input when the dialog that prevented it is gone.
    pub(super) fn release_late(&mut self, step: &mut EventStep<'_>) {
        if let KeyHold::Passing { draft } = *self {
            self.release(step, draft, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::word;
    use super::*;
    use crate::core::time::Stamp;

    #[test]
    fn held_input_is_never_released_into_a_dialog() {
        let (mut keys, mut out) = (KeyHold::Free, Vec::new());
        let mut step = EventStep::new(Stamp(0), 1, 1, &mut out);
        keys.pass(&mut step);
        keys.hold(&mut step);
        keys.hold(&mut step);
        keys.release(&mut step, true, true);
        assert_eq!(keys, KeyHold::Passing { draft: true });
        keys.release_late(&mut step);
        keys.release_late(&mut step);
        keys.release(&mut step, false, true);
        assert_eq!(keys, KeyHold::Free);
        let words: Vec<String> = out.iter().map(word).collect();
        assert_eq!(words.join(", "), "hold keys, pass keys, release keys draft, release keys");
    }
}
