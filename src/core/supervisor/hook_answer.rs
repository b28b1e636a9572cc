//! Answers to hook calls.

use serde::{Deserialize, Serialize};

use crate::core::config::DurationMs;
use crate::core::ids::HandoffId;

/// What a hook's answer asks of Claude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookInstruction {
    /// Write down what the next conversation must know, in its own words, and do nothing else.
    Note,
    /// The same within a tool loop: write it in the next message, and continue.
    NoteInLoop,
    /// Ask the person whether to hand over.
    Ask {
        /// How full the window is, in percent.
        percent: u8,
        /// How long the answer "Snooze" is for (`restart.snooze`).
        #[serde(default = "five_minutes")]
        snooze: DurationMs,
    },
}

/// The snooze of journals that were written before it became a configuration key.
fn five_minutes() -> DurationMs {
    DurationMs::from_secs(300)
}

/// The answer to a hook call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum HookAnswer {
    /// No output: Claude continues.
    Nothing,
    /// The brief, as additional context.
    Frame { handoff: HandoffId },
    /// A message for the person, which Claude shows on its own screen; nothing for the model.
    Message {
        /// The message.
        text: String,
    },
    /// `decision: block`: Claude does not compact its context.
    Block {
        /// The message for the person.
        reason: String,
    },
    /// Text for the model, as additional context of the event; the turn continues.
    Tell {
        /// The text.
        what: HookInstruction,
    },
    /// `continue: false`: the turn ends here and no request follows.
    StopTurn {
        /// The message for the person.
        reason: String,
    },
}
