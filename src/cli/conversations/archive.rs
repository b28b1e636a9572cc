//! `hopty conversations archive`: archives conversations on request, by age, and in the background before
//! Claude deletes them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::conversations_args::ArchiveOptions;
use super::named_conversation::named_conversation;
use super::open_conversations::OpenConversations;
use super::size;
use crate::cli::control::paths;
use crate::cli::error::{VerbError, note, note_all, say, say_wrapped, visible};
use crate::cli::exit_codes::FAILED;
use crate::cli::{read_config, run};
use crate::core::archive::{CleanupPeriod, over_limit};
use crate::core::config::{Archive, AutoArchive};
use crate::core::conversation::summary::ConversationSummary;
use crate::core::time::WallTime;
use crate::fs::archive::{ArchiveEntry, ArchiveFailure, ArchiveSource, ArchiveStore, Replaced};
use crate::fs::conversations::{ConversationFiles, OldAgents, Summaries, TranscriptFile, Transcripts};
use crate::fs::lock::FileLock;
use crate::fs::paths::Paths;
use crate::sys::clock::Clock;
use crate::sys::inherited;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How many days without use a conversation is archived after, unless `--older-than` says otherwise: as many
/// as before Claude deletes one.
const UNUSED_DAYS: u64 = 10;
/// How long a background process may archive; the next session's start continues it.
const AUTO_TIME: Duration = Duration::from_secs(120);

enum Outcome {
    Archived(Box<crate::fs::archive::Archived>, bool),
    There,
    Would,
    Open(String),
    Failed(ArchiveFailure),
}

pub(super) fn archive(options: &ArchiveOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let config = read_config::valid(&paths, &[])?.archive;
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    if options.list {
        return list(&store, options.json);
    }
    if options.prune {
        return prune(&store, &config, options);
    }
    if let Some(dir) = &options.auto {
        return auto(&paths, &config, &store, read_config::cleanup_period(&paths, dir));
    }
    let period = read_config::cleanup_period_here(&paths);
    let now = Clock::wall();
    let files = if options.conversations.is_empty() {
        let oldest = options.older_than.unwrap_or(UNUSED_DAYS);
        let mut all = Transcripts::all(&paths);
        note_all(&all.notices);
        let due = |file: &TranscriptFile| {
            is_older(file, now, oldest) || is_due(file, now, period) && options.older_than.is_none()
        };
        all.files.retain(due);
        all.files.reverse();
        all.files
    } else {
        options.conversations.iter().map(|word| named_conversation(&paths, word)).collect::<Result<_, _>>()?
    };
    let mut rows = Vec::new();
    let summaries = summaries(&paths, &files);
    let (mut room, mut agents) = (ArchiveRoom::of(&store, &config), OldAgents::default());
    for (file, summary) in files.iter().zip(summaries) {
        let outcome = match room.full_error() {
            Some(full) if !options.dry_run => return Err(full),
            _ => one(&paths, &store, file, &summary, &mut agents, options),
        };
        room.take(&outcome);
        if !options.json {
            print_outcome(file, &summary, &outcome)?;
        }
        rows.push((file, summary, outcome));
    }
    if options.json {
        let list: Vec<Value> = rows.iter().map(|(file, _, outcome)| object(file, outcome)).collect();
        say(format_args!("{}", json!(list)))?;
    } else {
        conclude(&rows.iter().map(|(_, _, outcome)| outcome).collect::<Vec<_>>(), period, options)?;
    }
    Ok(u8::from(
        rows.iter().any(|(_, _, outcome)| matches!(outcome, Outcome::Failed(_) | Outcome::Open(_)))
            && !options.conversations.is_empty()
            || rows.iter().any(|(_, _, outcome)| matches!(outcome, Outcome::Failed(_))),
    ))
}

fn is_older(file: &TranscriptFile, now: WallTime, days: u64) -> bool {
    let age = now.0.saturating_sub(file.state.modified().0);
    age >= i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY_MS)
}

fn is_due(file: &TranscriptFile, now: WallTime, period: CleanupPeriod) -> bool {
    period.deletes_soon(file.state.modified(), now)
}

pub(super) fn summaries(paths: &Paths, files: &[TranscriptFile]) -> Vec<ConversationSummary> {
    let mut summaries = Summaries::load(paths);
    let read = summaries.read(files);
    summaries.save();
    read
}

/// The size of the archive. It is measured at the beginning and when the archive seems to be full, not for
/// each conversation.
struct ArchiveRoom<'a> {
    store: &'a ArchiveStore,
    max_mb: u64,
    held: u64,
}

impl<'a> ArchiveRoom<'a> {
    fn of(store: &'a ArchiveStore, config: &Archive) -> Self {
        ArchiveRoom { store, max_mb: config.max_mb, held: held(store) }
    }

    /// Adds an archived conversation; the space of a replaced one is subtracted at the next measurement.
    fn take(&mut self, outcome: &Outcome) {
        if let Outcome::Archived(archived, _) = outcome
            && archived.replaced != Replaced::Same
        {
            self.held = self.held.saturating_add(archived.packed_bytes);
        }
    }

    /// The error if the archive is full.
    fn full_error(&mut self) -> Option<VerbError> {
        let most = self.max_mb.saturating_mul(1 << 20);
        if self.held >= most {
            self.held = held(self.store);
        }
        (self.held >= most).then(|| {
            let (held, max_mb) = (size(self.held), self.max_mb);
            VerbError::new(
                FAILED,
                format!("the archive has reached its limit: {held} of archive.max_mb = {max_mb}"),
            )
            .hint("raise archive.max_mb, or run `hopty conversations archive --prune --yes`")
        })
    }
}

/// The size of the archive in bytes.
fn held(store: &ArchiveStore) -> u64 {
    store.entries().0.iter().fold(0, |sum, entry| sum.saturating_add(entry.packed_bytes))
}

fn one(
    paths: &Paths,
    store: &ArchiveStore,
    file: &TranscriptFile,
    summary: &ConversationSummary,
    agents: &mut OldAgents,
    options: &ArchiveOptions,
) -> Outcome {
    let is_open =
        || OpenConversations::look(paths).get(&file.id).map(super::open_conversations::OpenBy::words);
    if let Some(who) = is_open() {
        return Outcome::Open(who);
    }
    let source = match source(paths, file, summary, agents) {
        Ok(source) => source,
        Err(failure) => return Outcome::Failed(failure),
    };
    if !options.remove && store.has(&source) {
        return Outcome::There;
    }
    if options.dry_run {
        return Outcome::Would;
    }
    let archived = match store.put(&source, Clock::wall(), json!(summary)) {
        Ok(archived) => archived,
        Err(failure) => return Outcome::Failed(failure),
    };
    for path in &source.skipped {
        note(format_args!(
            "hopty: {} is not archived: it is not a regular file of yours",
            visible(&path.to_string_lossy())
        ));
    }
    if options.remove {
        if let Some(who) = is_open() {
            return Outcome::Open(who);
        }
        if let Err(failure) = store.remove_source(&archived, &source) {
            return Outcome::Failed(failure);
        }
    }
    Outcome::Archived(Box::new(archived), options.remove)
}

fn source(
    paths: &Paths,
    file: &TranscriptFile,
    summary: &ConversationSummary,
    agents: &mut OldAgents,
) -> Result<ArchiveSource, ArchiveFailure> {
    let files = ConversationFiles::among(paths, file, summary.plan.as_deref(), agents).map_err(|source| {
        crate::fs::file_error::FsError::Io { doing: "read", path: file.path.clone(), source }
    })?;
    ArchiveSource::of(&paths.claude, &files)
}

pub(super) fn title(summary: &ConversationSummary) -> String {
    let text = summary.title().or(summary.first_prompt.as_deref()).unwrap_or("(no prompt)");
    visible(&text.split_whitespace().take(12).collect::<Vec<_>>().join(" "))
}

fn print_outcome(file: &TranscriptFile, summary: &ConversationSummary, outcome: &Outcome) -> io::Result<()> {
    let (id, title) = (file.id.short(), title(summary));
    match outcome {
        Outcome::Archived(archived, removed) => {
            let (from, to) = (archived.manifest.total_bytes(), archived.packed_bytes);
            let word = if *removed { "moved   " } else { "archived" };
            say_wrapped(format_args!("{word}  {id}  {} -> {}  {title}", size(from), size(to)))?;
            if let Replaced::Beside(path) = &archived.replaced {
                say_wrapped(format_args!(
                    "          an earlier, different one stays: {}",
                    visible(&path.to_string_lossy())
                ))?;
            }
        }
        Outcome::There => say_wrapped(format_args!("there     {id}  {title}"))?,
        Outcome::Would => say_wrapped(format_args!("would     {id}  {}  {title}", size(file.state.bytes)))?,
        Outcome::Open(who) => say_wrapped(format_args!("skipped   {id}  open in {}  {title}", visible(who)))?,
        Outcome::Failed(failure) => {
            say_wrapped(format_args!("FAILED    {id}  {}  {title}", visible(&failure.to_string())))?;
            note(format_args!("hint: {}", visible(&failure.hint())));
        }
    }
    Ok(())
}

fn conclude(outcomes: &[&Outcome], period: CleanupPeriod, options: &ArchiveOptions) -> io::Result<()> {
    if outcomes.is_empty() {
        note(format_args!("no conversation is old enough; --older-than 0d archives all"));
    }
    let (mut from, mut to, mut count) = (0_u64, 0_u64, 0_usize);
    for outcome in outcomes {
        if let Outcome::Archived(archived, _) = outcome {
            count += 1;
            from += archived.manifest.total_bytes();
            to += archived.packed_bytes;
        }
    }
    if count > 1 {
        say_wrapped(format_args!(
            "{count} conversations, {} -> {}, each read back and compared",
            size(from),
            size(to)
        ))?;
    }
    if options.dry_run {
        say_wrapped(format_args!(
            "Claude deletes conversations after {} days without use ({}).",
            period.days,
            period.origin_words()
        ))?;
    }
    Ok(())
}

fn object(file: &TranscriptFile, outcome: &Outcome) -> Value {
    let (state, why) = match outcome {
        Outcome::Archived(_, true) => ("moved", None),
        Outcome::Archived(_, false) => ("archived", None),
        Outcome::There => ("there", None),
        Outcome::Would => ("would", None),
        Outcome::Open(who) => ("open", Some(who.clone())),
        Outcome::Failed(failure) => ("failed", Some(failure.to_string())),
    };
    let archived = match outcome {
        Outcome::Archived(archived, _) => Some(archived),
        _ => None,
    };
    json!({
        "id": file.id,
        "transcript": file.path.to_string_lossy(),
        "state": state,
        "why": why,
        "file": archived.map(|archived| archived.path.to_string_lossy().into_owned()),
        "bytes": archived.map(|archived| archived.manifest.total_bytes()),
        "packed_bytes": archived.map(|archived| archived.packed_bytes),
    })
}

/// Whether hopty archives conversations before Claude deletes them.
fn is_wanted(config: &Archive, period: CleanupPeriod) -> bool {
    match config.auto {
        AutoArchive::Off => false,
        AutoArchive::On => !period.is_shortened(),
        AutoArchive::Always => true,
    }
}

/// Starts a process that archives conversations that Claude would delete soon, if there are any.
pub(in crate::cli) fn before_cleanup(paths: &Paths, config: &Archive) -> Option<Child> {
    let here = std::env::current_dir().unwrap_or_default();
    let period = read_config::cleanup_period(paths, &here);
    let now = Clock::wall();
    let is_due = |file: &TranscriptFile| is_due(file, now, period);
    if !is_wanted(config, period) || !Transcripts::all(paths).files.iter().any(is_due) {
        return None;
    }
    let mut command = Command::new(std::env::current_exe().ok()?);
    inherited::pass_on(&mut command, None);
    let null = Stdio::null;
    command.args(["conversations", "archive", "--auto"]).arg(here).current_dir("/").process_group(0);
    command.stdin(null()).stdout(null()).stderr(null()).spawn().ok()
}

/// Archives conversations that Claude would delete soon, the oldest first, for [`AUTO_TIME`] at most.
fn auto(
    paths: &Paths,
    config: &Archive,
    store: &ArchiveStore,
    period: CleanupPeriod,
) -> Result<u8, VerbError> {
    let start = Instant::now();
    if !is_wanted(config, period) {
        return Ok(0);
    }
    run::lower_priority();
    let now = Clock::wall();
    let mut files = Transcripts::all(paths).files;
    files.retain(|file| is_due(file, now, period));
    files.reverse();
    if files.is_empty() {
        return Ok(0);
    }
    crate::fs::atomic::private_dir(store.dir()).map_err(|error| {
        VerbError::new(FAILED, error.to_string()).hint("`hopty check` shows the archive and its limit")
    })?;
    // Another session's start is archiving already.
    let lock = FileLock::try_take(&store.dir().join(".auto")).ok().flatten();
    let Some(_lock) = lock else { return Ok(0) };
    let options = ArchiveOptions::default();
    let summaries = summaries(paths, &files);
    let (mut room, mut agents) = (ArchiveRoom::of(store, config), OldAgents::default());
    for (file, summary) in files.iter().zip(summaries) {
        if start.elapsed() > AUTO_TIME || room.full_error().is_some() {
            break;
        }
        room.take(&one(paths, store, file, &summary, &mut agents, &options));
    }
    Ok(0)
}

fn list(store: &ArchiveStore, as_json: bool) -> Result<u8, VerbError> {
    let (entries, bad) = store.entries();
    if as_json {
        let list: Vec<Value> = entries
            .iter()
            .map(|entry| {
                json!({
                    "id": entry.conversation, "project": entry.project, "number": entry.number,
                    "archived_at": entry.archived_at.rfc3339_s(), "used_at": entry.written_at.rfc3339_s(),
                    "bytes": entry.total_bytes, "packed_bytes": entry.packed_bytes,
                    "file": entry.path(store.dir()).to_string_lossy(),
                })
            })
            .collect();
        say(format_args!("{}", json!(list)))?;
    } else {
        for entry in &entries {
            say(format_args!("{}", line(entry)))?;
        }
        if entries.is_empty() {
            note(format_args!("the archive is empty"));
        }
    }
    for failure in &bad {
        note(format_args!("hopty: {}", visible(&failure.to_string())));
    }
    Ok(u8::from(!bad.is_empty()))
}

fn line(entry: &ArchiveEntry) -> String {
    let number = if entry.number == 0 { String::new() } else { format!(".{}", entry.number) };
    format!(
        "{}{number}  {}  {} -> {}  {}",
        entry.conversation.short(),
        &entry.written_at.rfc3339_s()[..10],
        size(entry.total_bytes),
        size(entry.packed_bytes),
        title(&super::restore::summary_of(entry)),
    )
}

/// Deletes the oldest conversations until the archive fits. hopty deletes archived conversations in no other
/// way.
fn prune(store: &ArchiveStore, config: &Archive, options: &ArchiveOptions) -> Result<u8, VerbError> {
    let (mut entries, _) = store.entries();
    entries.sort_by_key(|entry| entry.written_at);
    let sizes: Vec<u64> = entries.iter().map(|entry| entry.packed_bytes).collect();
    entries.truncate(over_limit(&sizes, config.max_mb.saturating_mul(1 << 20)));
    for entry in &entries {
        if options.yes && !options.dry_run {
            store.delete(entry).map_err(|failure| {
                VerbError::new(FAILED, failure.to_string()).about(&entry.file).hint(failure.hint())
            })?;
        }
        let word = if options.yes && !options.dry_run { "deleted" } else { "would delete" };
        say_wrapped(format_args!("{word}  {}", line(entry)))?;
    }
    match entries.len() {
        0 => note(format_args!("the archive is within archive.max_mb = {}", config.max_mb)),
        n if !options.yes => {
            note(format_args!("{n} archived conversations would be deleted for good: add --yes to do it"))
        }
        _ => {}
    }
    Ok(0)
}
