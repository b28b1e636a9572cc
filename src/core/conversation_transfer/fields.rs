//! The fields of transcript lines that name places (measured on 1.0.128, 2.0.76, 2.1.197 and 2.1.332).

use std::borrow::Cow;

use super::json_parts::{JsonItems, JsonMembers};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    Path,
    /// The id of the conversation.
    Id,
    /// The result of a tool, in which Claude Code may name the file with the whole result.
    ToolResult,
}

/// The fields: names of members, `*` for any, `[]` for each item of an array.
///
/// Deliberately missing: `api-request-blob`, a copy of a request that is identified by its hash;
/// `lastPrompt`, `text`, `thinking`, `stdout`, `command` and everything else that people, Claude or programs
/// wrote.
const FIELDS: &[(&str, FieldKind)] = &[
    ("cwd", FieldKind::Path),
    // A later line of this type takes precedence over all `cwd`: Claude's own `/cd` writes it.
    ("relocatedCwd", FieldKind::Path),
    ("sessionId", FieldKind::Id),
    ("session_id", FieldKind::Id),
    ("worktreeSession.sessionId", FieldKind::Id),
    ("worktreeSession.originalCwd", FieldKind::Path),
    ("worktreeSession.preEnterOriginalCwd", FieldKind::Path),
    ("worktreeSession.worktreePath", FieldKind::Path),
    ("worktreeSession.realPath", FieldKind::Path),
    ("attachment.snapshot.workingDirectory", FieldKind::Path),
    ("attachment.snapshot.additionalWorkingDirectories.[]", FieldKind::Path),
    ("attachment.filename", FieldKind::Path),
    ("attachment.path", FieldKind::Path),
    ("attachment.content.file.filePath", FieldKind::Path),
    ("message.content.[].input.file_path", FieldKind::Path),
    ("message.content.[].input.notebook_path", FieldKind::Path),
    ("message.content.[].input.path", FieldKind::Path),
    ("message.content.[].input.edits.[].file_path", FieldKind::Path),
    ("message.content.[].content", FieldKind::ToolResult),
    ("message.content.[].content.[].text", FieldKind::ToolResult),
    ("toolUseResult.filePath", FieldKind::Path),
    ("toolUseResult.notebook_path", FieldKind::Path),
    ("toolUseResult.file.filePath", FieldKind::Path),
    ("toolUseResult.filenames.[]", FieldKind::Path),
    ("toolUseResult.persistedOutputPath", FieldKind::Path),
    ("toolUseResult.outputFile", FieldKind::Path),
    ("toolUseResult.worktreePath", FieldKind::Path),
    ("snapshot.trackedFileBackups.*.realParentDir", FieldKind::Path),
    ("backup.realParentDir", FieldKind::Path),
    ("trackingPath", FieldKind::Path),
];

/// The beginning of a tool result that was too long for the conversation.
const PERSISTED: &str = "\"<persisted-output>";

/// Whether this piece of JSON is a tool result that names the file with the whole result.
pub(super) fn names_its_output(piece: &str) -> bool {
    piece.starts_with(PERSISTED)
}

/// Calls `found` with each field of a line, as a piece of its text. `false` if the line is no JSON object.
pub(super) fn each_field<'a>(line: &'a str, mut found: impl FnMut(FieldKind, &'a str)) -> bool {
    let all: Vec<(&str, FieldKind)> = FIELDS.to_vec();
    if JsonMembers::of(line).is_none() {
        return false;
    }
    descend(line, &all, &mut found);
    true
}

fn descend<'a>(piece: &'a str, below: &[(&str, FieldKind)], found: &mut impl FnMut(FieldKind, &'a str)) {
    let mut into = |name: Option<Cow<'a, str>>, piece: &'a str| {
        let mut next = Vec::new();
        for (path, kind) in below {
            let (step, rest) = path.split_once('.').unwrap_or((path, ""));
            let fits = match &name {
                Some(name) => step == "*" || step == name,
                None => step == "[]",
            };
            match (fits, rest) {
                (true, "") => found(*kind, piece),
                (true, rest) => next.push((rest, *kind)),
                (false, _) => {}
            }
        }
        if !next.is_empty() {
            descend(piece, &next, found);
        }
    };
    if below.iter().any(|(path, _)| path.starts_with("[]"))
        && let Some(items) = JsonItems::of(piece)
    {
        items.0.into_iter().for_each(|item| into(None, item));
    } else if let Some(members) = JsonMembers::of(piece) {
        members.0.into_iter().for_each(|(name, value)| into(Some(name), value));
    }
}

/// The kind of the field at this place: the names that lead to it, `[]` for an item.
pub(super) fn kind_at(place: &[&str]) -> Option<FieldKind> {
    let fits = |path: &str| {
        let steps: Vec<&str> = path.split('.').collect();
        let same = |(step, name): (&&str, &&str)| step == name || (*step == "*" && *name != "[]");
        steps.len() == place.len() && steps.iter().zip(place).all(same)
    };
    FIELDS.iter().find(|(path, _)| fits(path)).map(|(_, kind)| *kind)
}
