//! `hopty conversations restore`: brings an archived conversation back to its place.

use serde_json::json;

use super::conversations_args::RestoreOptions;
use super::size;
use crate::cli::control::paths;
use crate::cli::error::{VerbError, say, say_wrapped, visible};
use crate::cli::exit_codes::{FAILED, USAGE};
use crate::cli::read_config;
use crate::core::conversation::name::{ConversationName, titled};
use crate::core::conversation::summary::ConversationSummary;
use crate::core::text::plural::plural;
use crate::core::text::shell_word::shell_word;
use crate::fs::archive::{ArchiveEntry, ArchiveStore, RestoreTimes};
use crate::ipc::message::Code;
use crate::sys::clock::Clock;

pub(super) fn restore(options: &RestoreOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    let entry = archived_conversation(&store, &options.conversation)?;
    let period = read_config::cleanup_period_here(&paths);
    let is_due = period.deletes_soon(entry.written_at, Clock::wall());
    let times = if is_due && !options.keep_times { RestoreTimes::Now } else { RestoreTimes::Original };
    let failed = |failure: crate::fs::archive::ArchiveFailure| {
        VerbError::new(FAILED, failure.to_string()).about(&options.conversation).hint(failure.hint())
    };
    let archived = store.open(&entry).map_err(failed)?;
    let restored = store.restore(&archived, times).map_err(failed)?;
    let summary = summary_of(&entry);
    if options.json {
        say(format_args!(
            "{}",
            json!({
                "id": entry.conversation, "transcript": restored.transcript.to_string_lossy(),
                "files": restored.written, "there": restored.there, "hook_scripts": restored.hook_scripts,
                "directory": summary.dir,
                "times": if times == RestoreTimes::Original { "original" } else { "now" },
            })
        ))?;
        return Ok(0);
    }
    say_wrapped(format_args!(
        "restored {} ({}, {}) to {}",
        entry.conversation,
        plural(restored.written, "file"),
        size(entry.total_bytes),
        visible(&restored.transcript.to_string_lossy())
    ))?;
    if restored.hook_scripts > 0 {
        say_wrapped(format_args!(
            "Not restored: {} of hooks (session-env), which hooks write again.",
            plural(restored.hook_scripts, "script")
        ))?;
    }
    if times == RestoreTimes::Now {
        say_wrapped(format_args!(
            "Its files are dated now, because Claude deletes what is older than {} days; --keep-times keeps \
             their times.",
            period.days
        ))?;
    }
    if let Some(dir) = &summary.dir {
        say_wrapped(format_args!(
            "Resume it: cd {} && hopty --resume {}",
            visible(&shell_word(dir)),
            entry.conversation
        ))?;
    }
    Ok(0)
}

pub(super) fn summary_of(entry: &ArchiveEntry) -> ConversationSummary {
    serde_json::from_value(entry.summary.clone()).unwrap_or_default()
}

/// The archived conversation that a person names: by its id, the beginning of it, its title, or its file
/// below the archive.
pub(super) fn archived_conversation(store: &ArchiveStore, word: &str) -> Result<ArchiveEntry, VerbError> {
    let (entries, _) = store.entries();
    let word = word.trim_end_matches(".jsonl.zst");
    let by_file = |entry: &ArchiveEntry| {
        let file = entry.file.trim_end_matches(".jsonl.zst");
        file == word || file.rsplit('/').next() == Some(word)
    };
    let current = |is: &dyn Fn(&ArchiveEntry) -> bool| -> Vec<ArchiveEntry> {
        entries.iter().filter(|entry| entry.number == 0 && is(entry)).cloned().collect()
    };
    let mut found: Vec<ArchiveEntry> = entries.iter().filter(|entry| by_file(entry)).cloned().collect();
    if found.is_empty() {
        found = match ConversationName::read(word) {
            ConversationName::Id(id) => current(&|entry| entry.conversation == id),
            ConversationName::IdPrefix(prefix) => {
                current(&|entry| entry.conversation.as_str().starts_with(&prefix))
            }
            ConversationName::Title(_) => Vec::new(),
        };
    }
    if found.is_empty() {
        let known: Vec<(String, &ArchiveEntry)> = entries
            .iter()
            .filter(|entry| entry.number == 0)
            .filter_map(|entry| Some((summary_of(entry).heading()?, entry)))
            .collect();
        let titles = known.iter().map(|(title, entry)| (title.as_str(), *entry));
        found = titled(word, titles).into_iter().cloned().collect();
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(VerbError::new(FAILED, "no archived conversation has this id or title")
            .called(Code::NotFound)
            .about(word)
            .hint("`hopty conversations archive --list` lists the archive")),
        n => {
            let names: Vec<&str> = found.iter().take(8).map(|entry| entry.file.as_str()).collect();
            Err(VerbError::new(USAGE, format!("{n} archived conversations have this id or title"))
                .called(Code::BadRequest)
                .about(word)
                .hint(format!("which one? {}", names.join(", "))))
        }
    }
}
