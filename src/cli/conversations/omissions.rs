//! The parts that an import or a restored backup leaves out of transcripts, which may come from anybody: as
//! text and as JSON.

use serde_json::{Value, json};

use crate::core::conversation_transfer::LeftOutOfLines;
use crate::core::text::plural::plural;

/// The list for a dry run, which reads no transcript.
pub(in crate::cli) const MAY_BE_LEFT_OUT: &str = "a permission mode, the system prompt, goals, scheduled prompts and \
                                          what /rewind would do to files outside of the project";

/// The list as text; `None` if nothing was left out.
pub(in crate::cli) fn left_out_words(left_out: LeftOutOfLines) -> Option<String> {
    let some = |count: u64, word: &str| {
        (count > 0).then(|| plural(usize::try_from(count).unwrap_or(usize::MAX), word))
    };
    let parts: Vec<String> = [
        (left_out.modes > 0).then(|| "the permission mode (now default)".to_owned()),
        (left_out.files > 0)
            .then(|| "what /rewind would do to files that may be outside of the project".to_owned()),
        some(left_out.goals, "goal"),
        some(left_out.scheduled, "scheduled prompt"),
        some(left_out.agents, "sub-agent").map(|agents| format!("settings of {agents}")),
        some(left_out.others, "line")
            .map(|lines| format!("{lines} that Claude may act on (queued prompts and the like)")),
        some(left_out.unreadable, "line")
            .map(|lines| format!("{lines} that cannot be read and may have such parts")),
        some(left_out.attachments, "note").map(|notes| {
            format!("{notes} to Claude in the role of the system (it writes its own system prompt)")
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

pub(in crate::cli) fn left_out_json(left_out: LeftOutOfLines) -> Value {
    json!({
        "modes": left_out.modes, "files": left_out.files, "goals": left_out.goals,
        "scheduled": left_out.scheduled, "attachments": left_out.attachments, "agents": left_out.agents,
        "others": left_out.others, "lines": left_out.unreadable,
    })
}
