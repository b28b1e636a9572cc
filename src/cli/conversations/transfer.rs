//! `hopty conversations move` and `hopty conversations copy`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::archive::{summaries, title};
use super::conversations_args::{CopyOptions, MoveOptions};
use super::named_conversation::named_conversation;
use super::open_conversations::{OpenBy, OpenConversations};
use super::size;
use crate::cli::control::paths;
use crate::cli::error::{VerbError, note, note_all, say, say_wrapped, visible};
use crate::cli::exit_codes::{FAILED, INTERNAL};
use crate::core::conversation::summary::ConversationSummary;
use crate::core::ids::ConversationId;
use crate::core::text::plural::plural;
use crate::core::text::shell_word::shell_word;
use crate::fs::conversation_transfer::{
    ProjectMemory, TransferError, TransferKind, TransferPlan, TransferReport, TransferTarget, Transfers,
    belongs_below, project_folder,
};
use crate::fs::conversations::{ConversationFiles, OldAgents, TranscriptFile, Transcripts};
use crate::fs::file_error::FsError;
use crate::fs::paths::Paths;
use crate::ipc::message::Code;

enum TransferResult {
    Done(TransferReport),
    Would { files: usize, bytes: u64 },
    There,
    Failed(TransferError),
}

/// A conversation and its new place.
struct TransferSubject {
    file: TranscriptFile,
    summary: ConversationSummary,
    target: TransferTarget,
}

#[derive(Default)]
struct MovedMemory {
    files: usize,
    /// Files that stay, and why.
    stay: Vec<(PathBuf, &'static str)>,
}

pub(super) fn move_conversations(options: &MoveOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let to = existing_directory(&options.to)?;
    let is_open = |id: &ConversationId| open_by(&paths, id);
    let transfers = begin(&paths, &is_open, options.dry_run)?;
    if let Some(from) = &options.from {
        return move_directory(&paths, transfers.as_ref(), &old_directory(from)?, &to, options.json);
    }
    let file = named_conversation(&paths, options.which.as_deref().unwrap_or_default())?;
    let summary = one_summary(&paths, &file);
    let target = TransferTarget { dir: to, id: file.id.clone() };
    one(
        &paths,
        transfers.as_ref(),
        TransferKind::Move,
        TransferSubject { file, summary, target },
        options.json,
    )
}

pub(super) fn copy(options: &CopyOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let to = options.to.as_deref().map(existing_directory).transpose()?;
    let is_open = |id: &ConversationId| open_by(&paths, id);
    let transfers = begin(&paths, &is_open, options.dry_run)?;
    let file = named_conversation(&paths, &options.which)?;
    let summary = one_summary(&paths, &file);
    let dir = to.or_else(|| summary.dir.clone()).ok_or_else(|| {
        VerbError::new(FAILED, "its lines name no directory").about(&file.id).hint("name one with --to DIR")
    })?;
    let target = TransferTarget { dir, id: new_id()? };
    one(
        &paths,
        transfers.as_ref(),
        TransferKind::Copy,
        TransferSubject { file, summary, target },
        options.json,
    )
}

/// The lock for transfers, after finishing or undoing an interrupted one; `None` if there is nothing to do.
pub(super) fn begin<'a>(
    paths: &Paths,
    is_open: &'a dyn Fn(&ConversationId) -> Option<String>,
    is_dry: bool,
) -> Result<Option<Transfers<'a>>, VerbError> {
    if is_dry {
        return Ok(None);
    }
    let (transfers, recovered) = Transfers::begin(paths, is_open).map_err(failed)?;
    if let Some(recovered) = recovered {
        note(format_args!("hopty: {}", visible(&recovered.to_string())));
    }
    Ok(Some(transfers))
}

/// What has a conversation open.
pub(super) fn open_by(paths: &Paths, id: &ConversationId) -> Option<String> {
    OpenConversations::look(paths).get(id).map(OpenBy::words)
}

/// A new id for a conversation.
pub(super) fn new_id() -> Result<ConversationId, VerbError> {
    let text = uuid::Uuid::new_v4().to_string();
    text.parse().map_err(|_| VerbError::new(INTERNAL, "cannot make an id"))
}

/// The new directory of a conversation as Claude names it: links are resolved.
pub(super) fn existing_directory(dir: &Path) -> Result<String, VerbError> {
    let real = dir.canonicalize().map_err(|error| {
        let failed = VerbError::new(
            FAILED,
            match error.kind() {
                ErrorKind::NotFound => "there is no such directory".to_owned(),
                _ => error.to_string(),
            },
        );
        failed.called(Code::NotFound).about(dir.display()).hint("check its name; hopty does not create it")
    })?;
    if !real.is_dir() {
        return Err(VerbError::new(FAILED, "it is not a directory")
            .about(dir.display())
            .hint("name a directory"));
    }
    text(real)
}

/// A directory that may be gone, as Claude named it: the links of the part that exists are resolved.
fn old_directory(dir: &Path) -> Result<String, VerbError> {
    let dir = std::path::absolute(dir)?;
    let real = dir.ancestors().find_map(|above| {
        let rest = dir.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    let real = real.unwrap_or(dir);
    // Without a slash at the end.
    text(real.components().collect())
}

fn text(dir: PathBuf) -> Result<String, VerbError> {
    dir.into_os_string().into_string().map_err(|dir| {
        let dir = PathBuf::from(dir);
        failed(TransferError::NotText(dir))
    })
}

pub(super) fn one_summary(paths: &Paths, file: &TranscriptFile) -> ConversationSummary {
    summaries(paths, std::slice::from_ref(file)).pop().unwrap_or_default()
}

pub(super) fn failed(error: TransferError) -> VerbError {
    let code = if matches!(error, TransferError::Open(_)) { 4 } else { 1 };
    VerbError::new(code, error.to_string()).hint(error.hint())
}

/// Moves or copies one conversation, or only plans it.
fn transfer(
    paths: &Paths,
    transfers: Option<&Transfers<'_>>,
    kind: TransferKind,
    subject: &TransferSubject,
    map: &[(String, String)],
    agents: &mut OldAgents,
) -> TransferResult {
    let TransferSubject { file, summary, target } = subject;
    if let Some(who) = open_by(paths, &file.id) {
        return TransferResult::Failed(TransferError::Open(who));
    }
    let plan = ConversationFiles::among(paths, file, summary.plan.as_deref(), agents)
        .map_err(|source| FsError::Io { doing: "read", path: file.path.clone(), source }.into())
        .and_then(|found| {
            TransferPlan::new(kind, &paths.claude, &found, summary.dir.as_deref(), target, map.to_vec())
        });
    let plan = match plan {
        Ok(plan) => plan,
        Err(TransferError::SameFolder(_)) => return TransferResult::There,
        Err(error) => return TransferResult::Failed(error),
    };
    for path in &plan.skipped {
        note(format_args!("hopty: {} stays where it is", visible(&path.to_string_lossy())));
    }
    match transfers.map(|transfers| transfers.place(&plan)) {
        None => TransferResult::Would { files: plan.files(), bytes: plan.bytes() },
        Some(Ok(report)) => TransferResult::Done(report),
        Some(Err(error)) => TransferResult::Failed(error),
    }
}

fn one(
    paths: &Paths,
    transfers: Option<&Transfers<'_>>,
    kind: TransferKind,
    subject: TransferSubject,
    as_json: bool,
) -> Result<u8, VerbError> {
    let target = &subject.target;
    let map: Vec<(String, String)> =
        subject.summary.dir.iter().map(|dir| (dir.clone(), target.dir.clone())).collect();
    let result = transfer(paths, transfers, kind, &subject, &map, &mut OldAgents::default());
    if let TransferResult::Failed(error) = result {
        return Err(failed(error).about(&subject.file.id));
    }
    if as_json {
        say(format_args!("{}", json!(object(kind, &subject, &result))))?;
        return Ok(0);
    }
    let id = subject.file.id.short();
    let dir = visible(&target.dir);
    match &result {
        TransferResult::Done(report) => {
            let done = if kind == TransferKind::Move { "moved" } else { "copied" };
            say_wrapped(format_args!(
                "{done} {id} to {dir}: {}, {}, {} of {} lines changed",
                plural(report.files, "file"),
                size(report.bytes),
                report.lines.changed,
                report.lines.lines
            ))?;
            say_resume(target)?;
        }
        TransferResult::Would { files, bytes } => {
            say_wrapped(format_args!(
                "would {kind} {id} to {dir}: {}, {}",
                plural(*files, "file"),
                size(*bytes)
            ))?;
        }
        TransferResult::There | TransferResult::Failed(_) => {
            say_wrapped(format_args!("{id} stays where it is: Claude finds it in {dir} already"))?;
        }
    }
    Ok(0)
}

/// Moves all conversations of a directory, and its memory.
fn move_directory(
    paths: &Paths,
    transfers: Option<&Transfers<'_>>,
    from: &str,
    to: &str,
    as_json: bool,
) -> Result<u8, VerbError> {
    let all = of_directory(paths, from, to);
    let map = [(from.to_owned(), to.to_owned())];
    let (mut rows, mut agents) = (Vec::new(), OldAgents::default());
    for subject in all {
        let result = transfer(paths, transfers, TransferKind::Move, &subject, &map, &mut agents);
        if !as_json {
            print_row(&subject, &result)?;
        }
        rows.push((subject, result));
    }
    let failures = rows.iter().filter(|(_, result)| matches!(result, TransferResult::Failed(_))).count();
    let is_moved =
        |result: &TransferResult| matches!(result, TransferResult::Done(_) | TransferResult::Would { .. });
    let memory = move_memory(paths, transfers, from, to, &rows);
    let (memory, failure) = match memory {
        Ok(memory) => (memory, None),
        Err(error) => (MovedMemory::default(), Some(error)),
    };
    let MovedMemory { files, stay } = memory;
    if rows.is_empty() && files == 0 && failure.is_none() {
        return Err(VerbError::new(FAILED, "Claude has no conversation of this directory")
            .called(Code::NotFound)
            .about(from)
            .hint("`hopty conversations ls --all` shows the directories of all conversations"));
    }
    if as_json {
        let list: Vec<Value> =
            rows.iter().map(|(subject, result)| object(TransferKind::Move, subject, result)).collect();
        let stay: Vec<_> = stay.iter().map(|(path, _)| path.to_string_lossy()).collect();
        say(format_args!("{}", json!({"conversations": list, "memory_files": files, "stay": stay})))?;
    } else {
        let moved = plural(rows.iter().filter(|(_, result)| is_moved(result)).count(), "conversation");
        let verb = if transfers.is_some() { "moved" } else { "would move" };
        let memory = if files > 0 {
            format!(", and {} of the project's memory", plural(files, "file"))
        } else {
            String::new()
        };
        say_wrapped(format_args!("{verb} {moved} from {} to {}{memory}", visible(from), visible(to)))?;
        for (path, why) in &stay {
            note(format_args!("hopty: {} stays: {why}", visible(&path.to_string_lossy())));
        }
    }
    match failure {
        Some(error) => Err(failed(error)),
        None => Ok(u8::from(failures > 0)),
    }
}

/// The conversations of a directory and those below it, each with its new directory.
fn of_directory(paths: &Paths, from: &str, to: &str) -> Vec<TransferSubject> {
    let all = Transcripts::all(paths);
    note_all(&all.notices);
    let folder = project_folder(&paths.claude, from);
    let read = summaries(paths, &all.files);
    let of = |(file, summary): (TranscriptFile, ConversationSummary)| {
        // If its lines name no directory, its folder does.
        let dir = match &summary.dir {
            Some(dir) => dir.clone(),
            None if file.project_dir() == folder => from.to_owned(),
            None => return None,
        };
        let rest = belongs_below(&dir, from)?;
        // The new directory may be below the old one; conversations that are there already stay.
        if belongs_below(to, from).is_some() && belongs_below(&dir, to).is_some() {
            return None;
        }
        let target = TransferTarget { dir: format!("{to}{rest}"), id: file.id.clone() };
        Some(TransferSubject { file, summary, target })
    };
    all.files.into_iter().zip(read).filter_map(of).collect()
}

/// Moves the memory of the directory and of each directory below it from which a conversation moved, unless
/// conversations that stay use it, too.
fn move_memory(
    paths: &Paths,
    transfers: Option<&Transfers<'_>>,
    from: &str,
    to: &str,
    rows: &[(TransferSubject, TransferResult)],
) -> Result<MovedMemory, TransferError> {
    let mut dirs = vec![(from.to_owned(), to.to_owned())];
    let below = rows.iter().filter_map(|(row, _)| Some((row.summary.dir.clone()?, row.target.dir.clone())));
    dirs.extend(below);
    dirs.sort();
    dirs.dedup();
    let mut moved = MovedMemory::default();
    for (old_dir, new_dir) in dirs {
        let old = project_folder(&paths.claude, &old_dir);
        let new = project_folder(&paths.claude, &new_dir);
        let goes = |file: &TranscriptFile| rows.iter().any(|(row, _)| row.file.path == file.path);
        let is_shared = match transfers {
            Some(_) => !Transcripts::in_dir(&old).files.is_empty(),
            None => !Transcripts::in_dir(&old).files.iter().all(goes),
        };
        if old == new {
            continue;
        }
        if is_shared {
            let memory = old.join("memory");
            if memory.is_dir() {
                moved.stay.push((memory, "conversations that stay use it"));
            }
            continue;
        }
        let memory = ProjectMemory::of(&old, &new);
        let plan = TransferPlan::of_memory(&paths.claude, (&old_dir, &new_dir), &memory)?;
        moved.stay.extend(memory.stay.into_iter().map(|path| (path, "the new directory has one")));
        let Some(plan) = plan else { continue };
        if let Some(transfers) = transfers {
            transfers.place(&plan)?;
        }
        moved.files += plan.files();
    }
    Ok(moved)
}

/// Prints how to resume a conversation that was moved or copied.
///
/// # Errors
/// When standard output cannot be written.
pub(super) fn say_resume(target: &TransferTarget) -> std::io::Result<()> {
    let dir = visible(&shell_word(&target.dir));
    say_wrapped(format_args!("Resume it: cd {dir} && hopty --resume {}", target.id))
}

fn print_row(subject: &TransferSubject, result: &TransferResult) -> std::io::Result<()> {
    let (id, title) = (subject.file.id.short(), title(&subject.summary));
    match result {
        TransferResult::Done(report) => {
            say_wrapped(format_args!("moved   {id}  {}  {title}", size(report.bytes)))
        }
        TransferResult::Would { bytes, .. } => {
            say_wrapped(format_args!("would   {id}  {}  {title}", size(*bytes)))
        }
        TransferResult::There => say_wrapped(format_args!(
            "there   {id}  Claude finds it in {} already  {title}",
            visible(&subject.target.dir)
        )),
        TransferResult::Failed(error) => {
            say_wrapped(format_args!("FAILED  {id}  {}  {title}", visible(&error.to_string())))?;
            note(format_args!("hint: {}", visible(&error.hint())));
            Ok(())
        }
    }
}

fn object(kind: TransferKind, subject: &TransferSubject, result: &TransferResult) -> Value {
    let (state, why) = match result {
        TransferResult::Done(_) if kind == TransferKind::Move => ("moved", None),
        TransferResult::Done(_) => ("copied", None),
        TransferResult::Would { .. } => ("would", None),
        TransferResult::There => ("there", None),
        TransferResult::Failed(TransferError::Open(who)) => ("open", Some(who.clone())),
        TransferResult::Failed(error) => ("failed", Some(error.to_string())),
    };
    let report = match result {
        TransferResult::Done(report) => Some(report),
        _ => None,
    };
    json!({
        "id": subject.file.id,
        "new_id": subject.target.id,
        "from": subject.summary.dir,
        "to": subject.target.dir,
        "state": state,
        "why": why,
        "transcript": report.map(|report| report.transcript.to_string_lossy().into_owned()),
        "files": report.map(|report| report.files),
        "bytes": report.map(|report| report.bytes),
        "lines": report.map(|report| report.lines.lines),
        "lines_changed": report.map(|report| report.lines.changed),
    })
}
