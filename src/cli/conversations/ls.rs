//! `hopty conversations ls`.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::conversations_args::LsOptions;
use super::open_conversations::{OpenBy, OpenConversations};
use super::restore::summary_of;
use crate::cli::control::paths;
use crate::cli::error::{VerbError, note, note_all, say, stdout, visible, working_dir};
use crate::cli::table::{BOLD, CYAN, DIM, GREEN, TableStyle};
use crate::core::conversation::summary::ConversationSummary;
use crate::core::ids::ConversationId;
use crate::core::text::ellipsis::begin_of;
use crate::core::text::plural::plural;
use crate::core::text::shell_word::shell_word;
use crate::core::time::{WallTime, age};
use crate::core::token_usage::UsageFigures;
use crate::fs::archive::{ArchiveEntry, ArchiveStore, archive_sources};
use crate::fs::conversations::{FileState, Summaries, TranscriptFile, Transcripts};
use crate::fs::paths::Paths;
use crate::fs::project::project_of;
use crate::fs::store::Store;
use crate::sys::clock::Clock;

/// How long `ls` reads transcripts to their end to count tokens, unless --full asks for all of them.
const TOKEN_READING_LIMIT: Duration = Duration::from_millis(500);
/// The width if standard output is no terminal: nothing is cut.
const ENDLESS: usize = usize::MAX;

struct ListedFile<'a> {
    file: &'a TranscriptFile,
    summary: ConversationSummary,
    /// Set for a transcript that only the archive has.
    archived: Option<&'a ArchiveEntry>,
    agents: usize,
}

struct ConversationRow<'a> {
    is_archived: bool,
    file: &'a TranscriptFile,
    summary: ConversationSummary,
    open: Option<&'a OpenBy>,
    from: Option<&'a ConversationId>,
    to: Vec<&'a ConversationId>,
    copies: usize,
    agents: usize,
}

/// Which conversation handed over to which, from the store of handoffs.
#[derive(Default)]
struct ListLinks {
    from: HashMap<ConversationId, ConversationId>,
    to: HashMap<ConversationId, Vec<ConversationId>>,
}

impl ListLinks {
    fn read(paths: &Paths) -> Self {
        let mut links = ListLinks::default();
        let entries = Store::at(&paths.claude).list(None).unwrap_or_default();
        for (_, entry) in entries.into_iter().rev() {
            let Some(next) = entry.consumed_by_session else { continue };
            links.from.insert(next.clone(), entry.session_id.clone());
            links.to.entry(entry.session_id).or_default().push(next);
        }
        links
    }
}

pub(super) fn ls(options: &LsOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let found = Transcripts::all(&paths);
    let mut summaries = Summaries::load(&paths);
    let archived = archived(&paths, &found);
    let mut rows = listed_files(&found, &archived, &mut summaries);
    let total = rows.len();
    let mut renamed = None;
    if !options.all {
        let here = project_of(&working_dir()?);
        renamed = renamed_to(&here, &rows);
        retain_project(&mut rows, &here);
    }
    let elsewhere = total - rows.len();
    // Sorted by the last message: Claude also touches files of conversations that it did not continue.
    rows.sort_by_key(|row| std::cmp::Reverse(used_at(row.file, &row.summary)));
    rows.truncate(options.number.unwrap_or(usize::MAX));
    count_all(&paths, &mut summaries, &mut rows, options.full);
    let uncounted = rows.iter().filter(|row| row.summary.figures().is_none()).count();
    summaries.save();
    let (open, links, copies) =
        (OpenConversations::look(&paths), ListLinks::read(&paths), found.duplicates());
    let rows: Vec<ConversationRow<'_>> = rows
        .into_iter()
        .map(|ListedFile { file, summary, archived, agents }| ConversationRow {
            is_archived: archived.is_some(),
            open: open.get(&file.id),
            from: links.from.get(&file.id),
            to: links.to.get(&file.id).into_iter().flatten().collect(),
            copies: copies.get(&file.id).copied().unwrap_or(1),
            agents,
            file,
            summary,
        })
        .collect();
    if options.json {
        let list: Vec<Value> = rows.iter().map(ConversationRow::json).collect();
        say(format_args!("{}", Value::Array(list)))?;
        return Ok(0);
    }
    if rows.is_empty() {
        let more = match elsewhere {
            0 => String::new(),
            n => format!("; `hopty conversations ls --all` lists {n} of other projects"),
        };
        note(format_args!("no conversation is known{}{more}", if options.all { "" } else { " here" }));
    }
    print(&rows, options.all, TableStyle::of_output())?;
    note_all(&found.notices);
    if let Some((dir, count)) = renamed {
        note_renamed(&dir, count);
    }
    if uncounted > 0 {
        note(format_args!("the tokens of {uncounted} are not counted yet: --full reads them to their end"));
    }
    Ok(0)
}

/// Claude's own transcripts and those that only the archive has.
fn listed_files<'a>(
    found: &'a Transcripts,
    archived: &'a [(ArchiveEntry, TranscriptFile)],
    summaries: &mut Summaries,
) -> Vec<ListedFile<'a>> {
    let live = found.files.iter().zip(summaries.read(&found.files));
    let live = live.map(|(file, summary)| ListedFile { file, summary, archived: None, agents: 0 });
    let archived = archived.iter().map(|(entry, file)| ListedFile {
        file,
        summary: summary_of(entry),
        archived: Some(entry),
        agents: 0,
    });
    live.chain(archived).collect()
}

fn retain_project(rows: &mut Vec<ListedFile<'_>>, project: &Path) {
    let mut known: HashMap<String, PathBuf> = HashMap::new();
    rows.retain(|row| {
        let Some(dir) = &row.summary.dir else { return false };
        known.entry(dir.clone()).or_insert_with(|| project_of(Path::new(dir))) == project
    });
}

fn note_renamed(dir: &str, count: usize) {
    let of = plural(count, "conversation");
    note(format_args!("{of} of {} cannot be continued: the directory is gone", visible(dir)));
    note(format_args!(
        "hint: if you renamed it to this one: hopty conversations move --from {} --to .",
        visible(&shell_word(dir))
    ));
}

/// A deleted directory beside `here` with the number of its conversations, which may have been renamed to
/// `here`; of several, the last used.
fn renamed_to(here: &Path, rows: &[ListedFile<'_>]) -> Option<(String, usize)> {
    let live = rows.iter().filter(|row| row.archived.is_none());
    let mut gone: HashMap<&str, (WallTime, usize)> = HashMap::new();
    for row in live {
        let Some(dir) = row.summary.dir.as_deref() else { continue };
        if Path::new(dir).parent() == here.parent() {
            let (last, count) = gone.entry(dir).or_default();
            *last = (*last).max(used_at(row.file, &row.summary));
            *count += 1;
        }
    }
    gone.retain(|dir, _| !Path::new(dir).exists());
    let (dir, (_, count)) = gone.into_iter().max_by_key(|(_, (last, _))| *last)?;
    Some((dir.to_owned(), count))
}

/// The conversations that only the archive has, with entries for the list.
fn archived(paths: &Paths, found: &Transcripts) -> Vec<(ArchiveEntry, TranscriptFile)> {
    let live: HashSet<&ConversationId> = found.files.iter().map(|file| &file.id).collect();
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    let entries = store.entries().0.into_iter();
    entries
        .filter(|entry| entry.number == 0 && !live.contains(&entry.conversation))
        .map(|entry| {
            let modified_ns = entry.written_at.0.saturating_mul(1_000_000);
            let state = FileState { bytes: entry.transcript_bytes, modified_ns, inode: 0 };
            let file =
                TranscriptFile { path: entry.path(store.dir()), id: entry.conversation.clone(), state };
            (entry, file)
        })
        .collect()
}

fn used_at(file: &TranscriptFile, summary: &ConversationSummary) -> WallTime {
    summary.last_at.unwrap_or_else(|| file.state.modified())
}

/// Counts the tokens of conversations that have no count yet, the last used first: of all, or for
/// [`TOKEN_READING_LIMIT`].
fn count_all(paths: &Paths, summaries: &mut Summaries, rows: &mut [ListedFile<'_>], all: bool) {
    let patience = (!all).then_some(TOKEN_READING_LIMIT);
    let (archived, live): (Vec<usize>, Vec<usize>) =
        (0..rows.len()).partition(|at| rows[*at].archived.is_some());
    let files: Vec<TranscriptFile> = live.iter().map(|at| rows[*at].file.clone()).collect();
    for (at, counted) in live.iter().zip(summaries.count(&files, patience)) {
        rows[*at].agents = counted.agents;
        if let Some(summary) = counted.summary {
            rows[*at].summary = summary;
        }
    }
    let missing: Vec<(usize, ArchiveEntry)> = archived
        .into_iter()
        .filter(|at| rows[*at].summary.figures().is_none())
        .filter_map(|at| Some((at, rows[at].archived?.clone())))
        .collect();
    let entries = missing.iter().map(|(_, entry)| entry.clone()).collect();
    let counted = summaries.count_kept(&archive_sources(&paths.archive(), entries), patience);
    for ((at, _), counted) in missing.into_iter().zip(counted) {
        rows[at].summary.counted = counted;
    }
}

/// The list for people: a block of lines for each conversation, cut to the terminal's width.
fn print(rows: &[ConversationRow<'_>], with_project: bool, style: TableStyle) -> Result<(), VerbError> {
    let now = Clock::wall();
    let cols = style.cols.unwrap_or(ENDLESS);
    let mut out = String::new();
    // A line fits the width, or is one piece that is cut.
    let mut line = |pieces: &[(u8, &str)]| {
        for (color, text) in pieces {
            let text = begin_of(text, cols);
            match color {
                0 => out.push_str(&text),
                _ if !style.colors => out.push_str(&text),
                color => out.push_str(&format!("\x1b[{color}m{text}\x1b[m")),
            }
        }
        out.push('\n');
    };
    let mut dirs: HashMap<&str, String> = HashMap::new();
    for row in rows {
        line(&[(BOLD, &row.title())]);
        let (mut heads, state) = (row.head_lines(now, cols), format!("  {}", row.state()));
        let head = heads.pop().unwrap_or_default();
        heads.iter().for_each(|head| line(&[(DIM, head)]));
        let state_color = if row.open.is_some() { GREEN } else { CYAN };
        // In a narrow terminal the state has a line of its own.
        if state.trim().is_empty() {
            line(&[(DIM, &head)]);
        } else if head.width() + state.width() <= cols {
            line(&[(DIM, &head), (state_color, &state)]);
        } else {
            line(&[(DIM, &head)]);
            line(&[(state_color, &state)]);
        }
        if with_project {
            let dir = row.summary.dir.as_deref().unwrap_or("(directory not known)");
            let shown = dirs.entry(dir).or_insert_with(|| visible(dir));
            line(&[(0, &format!("  {shown}"))]);
        }
        for (word, text) in row.prompts() {
            line(&[(0, &format!("  {word} {}", fold_white_space(text)))]);
        }
    }
    stdout()?.write_all(out.as_bytes())?;
    Ok(())
}

impl ConversationRow<'_> {
    fn title(&self) -> String {
        self.summary.heading().map_or_else(|| "(no prompt)".to_owned(), |heading| fold_white_space(&heading))
    }

    /// Such as `  c74cc080  2 h  1.2M  340k tokens  $1.24`, wrapped between figures to `cols` columns.
    fn head_lines(&self, now: WallTime, cols: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for part in self.head(now) {
            match lines.last_mut().filter(|line| line.width() + 2 + part.width() <= cols) {
                Some(line) => *line += &format!("  {part}"),
                None => lines.push(format!("  {part}")),
            }
        }
        lines
    }

    fn head(&self, now: WallTime) -> Vec<String> {
        let mut parts = vec![
            self.file.id.short().to_owned(),
            age(now.0.saturating_sub(used_at(self.file, &self.summary).0)),
            size(self.file.state.bytes),
        ];
        if let Some((figures, _)) = self.summary.figures() {
            parts.push(format!("{} tokens", token_count(figures.tokens.all())));
            parts.extend(figures.cost().map(|_| figures.cost_text()));
        }
        parts
    }

    fn state(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.open.map(|by| match (&by.session, by.pid) {
            (Some(name), _) => format!("open in {name}"),
            (None, Some(pid)) => format!("open (pid {pid})"),
            (None, None) => "open".to_owned(),
        }));
        if self.is_archived {
            parts.push("archived".to_owned());
        }
        parts.extend(self.from.map(|id| format!("from {}", id.short())));
        parts.extend(self.summary.forked_from.as_ref().map(|id| format!("forked from {}", id.short())));
        if !self.to.is_empty() {
            let ids: Vec<&str> = self.to.iter().map(|id| id.short()).collect();
            parts.push(format!("handed over to {}", ids.join(", ")));
        }
        match self.agents {
            0 => {}
            1 => parts.push("1 sub-agent".to_owned()),
            files => parts.push(format!("{files} sub-agents")),
        }
        if self.copies > 1 {
            parts.push(format!("{} files have this id", self.copies));
        }
        parts.join(", ")
    }

    /// The first and the last prompt, if they say more than the title.
    fn prompts(&self) -> Vec<(&'static str, &str)> {
        let summary = &self.summary;
        let first = summary.first_prompt.as_deref().filter(|_| summary.title().is_some());
        let last =
            summary.last_prompt.as_deref().filter(|last| summary.first_prompt.as_deref() != Some(last));
        first.map(|text| ("first:", text)).into_iter().chain(last.map(|text| ("last: ", text))).collect()
    }

    fn json(&self) -> Value {
        let summary = &self.summary;
        let figures = summary.figures();
        let cost = figures.and_then(|(figures, _)| figures.cost());
        let by = if summary.custom_title.is_some() { "person" } else { "claude" };
        let title_from = summary.title().map(|_| by);
        json!({
            "id": self.file.id,
            "project": summary.dir,
            "title": summary.title(),
            "title_from": title_from,
            "first_prompt": summary.first_prompt,
            "last_prompt": summary.last_prompt,
            "begun_at": summary.begun_at.map(WallTime::rfc3339_s),
            "used_at": used_at(self.file, summary).rfc3339_s(),
            "bytes": self.file.state.bytes,
            "transcript": self.file.path.to_string_lossy(),
            "version": summary.version,
            "model": summary.model,
            "branch": summary.branch,
            "sub_agents": self.agents,
            "tokens": figures.map(|(UsageFigures { tokens, .. }, from)| json!({
                "input": tokens.input, "output": tokens.output, "cache_read": tokens.cache_read,
                "cache_creation": tokens.cache_creation, "all": tokens.all(), "from": from,
            })),
            "cost_usd": cost,
            "cost_is_complete":
                cost.and(figures).map(|(figures, _)| figures.tokens_without_cost == 0),
            "archived": self.is_archived,
            "open": self.open.map(OpenBy::json),
            "forked_from": summary.forked_from,
            "handed_over_from": self.from,
            "handed_over_to": self.to,
            "files_with_this_id": self.copies,
        })
    }
}

/// A number of bytes in the largest unit, such as `812`, `4.2K` and `120M`.
pub(in crate::cli) fn size(bytes: u64) -> String {
    scaled(bytes, 1024, &["", "K", "M", "G", "T"])
}

/// A number of tokens, such as `812`, `4.2k`, `120k` and `1.2M`.
pub(in crate::cli) fn token_count(count: u64) -> String {
    scaled(count, 1000, &["", "k", "M", "G", "T"])
}

fn scaled(number: u64, step: u64, units: &[&str]) -> String {
    let mut unit = 0;
    let mut divisor = 1_u64;
    while unit + 1 < units.len() && number / divisor >= step {
        divisor *= step;
        unit += 1;
    }
    let whole = number / divisor;
    if unit == 0 || whole >= 10 {
        format!("{whole}{}", units[unit])
    } else {
        format!("{whole}.{}{}", number % divisor * 10 / divisor, units[unit])
    }
}

/// A text without secrets on one line, and with nothing that a terminal acts on.
pub(in crate::cli) fn fold_white_space(text: &str) -> String {
    crate::core::text::visible::visible(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (bytes, text) in
            [(0, "0"), (1023, "1023"), (1024, "1.0K"), (1536, "1.5K"), (10 << 20, "10M"), (5 << 40, "5.0T")]
        {
            assert_eq!(size(bytes), text);
        }
        for (count, text) in
            [(999, "999"), (1000, "1.0k"), (12_345, "12k"), (1_999_999, "1.9M"), (u64::MAX, "18446744T")]
        {
            assert_eq!(token_count(count), text);
        }
    }
}
