//! What a hook call is answered with.

use serde::{Deserialize, Serialize};

use crate::core::config::Span;
use crate::core::ids::HandoffId;

/// What Claude is told by the answer of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookInstruction {
    /// To write down in its own words what the next conversation must know, and to do nothing else.
    Note,
    /// The same in a tool loop: to say it with its next message, and to go on.
    NoteInLoop,
    /// To ask the person whether to hand over.
    Ask {
        /// How full the window is, in percent.
        percent: u8,
        /// How long the answer "Snooze" is for (`restart.snooze`).
        #[serde(default = "five_minutes")]
        snooze: Span,
    },
}

/// What it was before it was a key.
fn five_minutes() -> Span {
    Span::from_secs(300)
}

/// What a hook call is answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum HookAnswer {
    /// Nothing: Claude goes on.
    Nothing,
    /// The brief, as additional context.
    Frame {
        /// Of which handoff.
        handoff: HandoffId,
    },
    /// Nothing for Claude, and a word for the person, which Claude shows on its own screen.
    Message {
        /// What the person reads.
        text: String,
    },
    /// `decision: block`: Claude does not compact its context.
    Block {
        /// What the person reads on the screen.
        reason: String,
    },
    /// Text for the model, as additional context of the event that is answered; the turn goes on.
    Tell {
        /// What it is told.
        what: HookInstruction,
    },
    /// `continue: false`: the turn ends here, no request follows.
    StopTurn {
        /// What the person reads on the screen.
        reason: String,
    },
}
