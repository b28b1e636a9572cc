//! `hopty conversations search`: searches everything that people and Claude wrote.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::conversations_args::SearchOptions;
use super::restore::summary_of;
use crate::cli::control::paths;
use crate::cli::error::{VerbError, note, note_all, say, visible, working_dir};
use crate::cli::exit_codes::USAGE;
use crate::cli::prose::fit;
use crate::cli::table::{self, TableStyle};
use crate::core::conversation::pages::PageOptions;
use crate::core::conversation::search_query::{SearchHit, SearchQuery};
use crate::core::conversation::summary::ConversationSummary;
use crate::core::ids::ConversationId;
use crate::core::redact::redact;
use crate::core::time::WallTime;
use crate::fs::archive::{ArchiveEntry, ArchiveStore, archive_sources};
use crate::fs::conversations::search_transcripts::{LINE_CAP, TranscriptSource, search as search_all};
use crate::fs::conversations::{
    AgentTranscript, Summaries, TranscriptFile, Transcripts, handoff_sources, live_sources,
};
use crate::fs::paths::Paths;
use crate::fs::project::project_of;
use crate::sys::clock::local;

const SHOWN: PageOptions = PageOptions { redacts: true, with_tools: true, with_thinking: true };
/// Indentation of a wrapped line, in columns.
const INDENT: usize = 4;
/// The longest part of a line that is printed, in characters: a file without line breaks is one long line.
const SEARCH_LINE_MAX: usize = 2000;

pub(super) fn search(options: &SearchOptions) -> Result<u8, VerbError> {
    let query = SearchQuery::new(&options.pattern, options.ignore_case, options.tools).map_err(|error| {
        VerbError::new(USAGE, error.to_string())
            .about(&options.pattern)
            .hint("a pattern is a regular expression; escape special characters with `\\`")
    })?;
    let paths = paths()?;
    let found = Transcripts::all(&paths);
    let mut summaries = Summaries::load(&paths);
    let here = if options.here { Some(project_of(&working_dir()?)) } else { None };
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    let live: HashSet<_> = found.files.iter().map(|file| file.id.clone()).collect();
    // A transcript in its place has everything that its archive has.
    let mut archived: Vec<ArchiveEntry> =
        store.entries().0.into_iter().filter(|entry| !live.contains(&entry.conversation)).collect();
    if let Some(here) = &here {
        archived
            .retain(|entry| summary_of(entry).dir.is_some_and(|dir| project_of(Path::new(&dir)) == *here));
    }
    let known: HashMap<PathBuf, ConversationSummary> =
        archived.iter().map(|entry| (entry.path(store.dir()), summary_of(entry))).collect();
    let live: HashMap<ConversationId, TranscriptFile> =
        found.files.iter().map(|file| (file.id.clone(), file.clone())).collect();
    let mut sources = sources(&paths, found.files, &archived, &mut summaries, here.as_deref());
    sources.extend(archive_sources(store.dir(), archived));
    sources.sort_by_key(|source| std::cmp::Reverse(source.modified()));
    let style = TableStyle::of_output();
    let mut printer = Printer { options, query: &query, summaries, live, archived: known, style, hits: 0 };
    let (mut skipped, mut failure) = (0, None);
    search_all(&sources, &query, |source, found| {
        skipped += found.skipped;
        if let Some(why) = &found.failure {
            note(format_args!("hopty: {}: {}", visible(&source.path().to_string_lossy()), visible(why)));
        }
        failure = printer.print(source, &found.hits).err();
        failure.is_none()
    });
    if let Some(error) = failure {
        return Err(error.into());
    }
    printer.summaries.save();
    note_all(&found.notices);
    if skipped > 0 {
        note(format_args!("hopty: {skipped} lines of more than {} MB were not searched", LINE_CAP >> 20));
    }
    if printer.hits == 0 {
        let case = if options.ignore_case { "" } else { "; `-i` ignores the case of letters" };
        let scope = if options.here { " in the conversations of this project" } else { "" };
        note(format_args!("hopty: nothing matches {}{scope}{case}", visible(&options.pattern)));
    }
    Ok(u8::from(printer.hits == 0))
}

/// The transcripts to search, the last written first: Claude's own, and handoffs' copies of deleted ones.
fn sources(
    paths: &Paths,
    mut files: Vec<TranscriptFile>,
    archived: &[ArchiveEntry],
    summaries: &mut Summaries,
    here: Option<&Path>,
) -> Vec<Box<dyn TranscriptSource>> {
    let mut known: HashSet<_> = files.iter().map(|file| file.id.clone()).collect();
    known.extend(archived.iter().map(|entry| entry.conversation.clone()));
    let kept = handoff_sources(&paths.claude, &known);
    if let Some(here) = here {
        let ends = summaries.read(&files);
        let mut is_here = ends
            .iter()
            .map(|summary| summary.dir.as_ref().is_some_and(|dir| project_of(Path::new(dir)) == here));
        files.retain(|_| is_here.next().unwrap_or(false));
    }
    // With the transcripts of their sub-agents; without a project also of deleted conversations.
    let wanted: HashSet<&ConversationId> = files.iter().map(|file| &file.id).collect();
    let agents = AgentTranscript::all(paths).into_iter().filter_map(AgentTranscript::into_file);
    let agents: Vec<TranscriptFile> =
        agents.filter(|agent| here.is_none() || wanted.contains(&agent.id)).collect();
    files.extend(agents);
    let mut sources = live_sources(files);
    // The directory of a copy is unknown before it is read.
    sources.extend(kept.into_iter().filter(|_| here.is_none()));
    sources
}

struct Printer<'a> {
    options: &'a SearchOptions,
    query: &'a SearchQuery,
    summaries: Summaries,
    live: HashMap<ConversationId, TranscriptFile>,
    /// The summaries of archived conversations, by file.
    archived: HashMap<PathBuf, ConversationSummary>,
    style: TableStyle,
    hits: usize,
}

impl Printer<'_> {
    fn print(&mut self, source: &dyn TranscriptSource, hits: &[SearchHit]) -> std::io::Result<()> {
        if hits.is_empty() {
            return Ok(());
        }
        // A sub-agent's transcript belongs to its conversation.
        let own = TranscriptFile::at(source.path());
        let summary = own
            .or_else(|| self.live.get(source.id()).cloned())
            .map(|file| self.summaries.read(std::slice::from_ref(&file)).remove(0))
            .or_else(|| self.archived.get(source.path()).cloned())
            .unwrap_or_default();
        let first = self.hits == 0;
        self.hits += hits.len();
        if self.options.json {
            return hits.iter().try_for_each(|hit| self.print_json(source, &summary, hit));
        }
        if !first {
            say(format_args!(""))?;
        }
        let title = summary.heading().unwrap_or_else(|| "(no prompt)".to_owned());
        let project = summary.dir.as_deref().map(|dir| format!("  {}", visible(dir))).unwrap_or_default();
        let place = match source.place().word() {
            "live" => String::new(),
            word => format!("  ({word})"),
        };
        let head = format!("{}  {}", source.id(), SHOWN.clean_line(&title));
        self.say(&format!("{}{}{place}", self.paint(1, &head), self.paint(2, &project)))?;
        let mut gap = false;
        for hit in hits {
            let lines: Vec<&str> = hit.text.lines().collect();
            let at = hit.at.map_or_else(|| "-".to_owned(), local);
            for block in blocks(&hit.lines, lines.len(), self.options.context) {
                if std::mem::replace(&mut gap, true) && self.options.context > 0 {
                    say(format_args!("--"))?;
                }
                for number in block {
                    let matches = hit.lines.binary_search(&number).is_ok();
                    let sign = if matches { ':' } else { '-' };
                    let line = if matches { self.marked(lines[number]) } else { printed_line(lines[number]) };
                    let name = if hit.is_of_agent { "sub-agent" } else { hit.found_in.name() };
                    let who = self.paint(2, &format!("{at} {name}"));
                    self.say(&format!("{who}{sign} {line}"))?;
                }
            }
        }
        Ok(())
    }

    /// Prints a line; in a terminal its continuation is indented.
    fn say(&self, line: &str) -> std::io::Result<()> {
        say(format_args!("{}", fit(line, INDENT)))
    }

    fn paint(&self, number: u8, text: &str) -> String {
        table::paint(self.style.colors, number, text)
    }

    /// A line with its matches in colour. It is matched again as it is printed, so that replaced secrets are
    /// not marked.
    fn marked(&self, line: &str) -> String {
        let line = printed_line(line);
        if !self.style.colors {
            return line;
        }
        let (mut out, mut at) = (String::new(), 0);
        for range in self.query.matches_in(&line) {
            out.push_str(&line[at..range.start]);
            out.push_str(&format!("\x1b[1;31m{}\x1b[m", &line[range.clone()]));
            at = range.end;
        }
        out + &line[at..]
    }

    /// Prints a JSON line for each text that matches.
    fn print_json(
        &self,
        source: &dyn TranscriptSource,
        summary: &ConversationSummary,
        hit: &SearchHit,
    ) -> std::io::Result<()> {
        let lines: Vec<&str> = hit.text.lines().collect();
        let found: Vec<Value> = blocks(&hit.lines, lines.len(), self.options.context)
            .into_iter()
            .flatten()
            .map(|number| {
                json!({
                    "line": number + 1, "text": redact(lines[number]),
                    "matches": hit.lines.binary_search(&number).is_ok(),
                })
            })
            .collect();
        let object = json!({
            "conversation": source.id(),
            "title": summary.title(),
            "project": summary.dir,
            "place": source.place().word(),
            "file": source.path().to_string_lossy(),
            "at": hit.at.map(WallTime::rfc3339_ms),
            "from": hit.found_in.word(),
            "sub_agent": hit.is_of_agent,
            "lines": found,
        });
        say(format_args!("{object}"))
    }
}

/// A line without control characters, cut to [`SEARCH_LINE_MAX`].
fn printed_line(line: &str) -> String {
    let line = SHOWN.clean(line).replace('\t', "    ");
    match line.char_indices().nth(SEARCH_LINE_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// The numbers of the lines to print, in blocks without gaps.
fn blocks(matching: &[usize], lines: usize, context: usize) -> Vec<std::ops::Range<usize>> {
    let mut blocks: Vec<std::ops::Range<usize>> = Vec::new();
    for number in matching {
        let block =
            number.saturating_sub(context)..number.saturating_add(context).saturating_add(1).min(lines);
        match blocks.last_mut() {
            Some(last) if last.end >= block.start => last.end = block.end,
            _ => blocks.push(block),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_what_matches_are_shown_once() {
        assert_eq!(blocks(&[0, 3], 10, 0), [0..1, 3..4]);
        assert_eq!(blocks(&[0, 1, 7], 10, 0), [0..2, 7..8]);
        assert_eq!(blocks(&[1, 4, 9], 10, 1), [0..6, 8..10]);
        assert_eq!(blocks(&[5], 10, usize::MAX), vec![0..10]);
    }

    #[test]
    fn a_line_of_a_transcript_moves_no_cursor_and_has_an_end() {
        let line =
            printed_line("\u{1b}[31mred\u{1b}[m\tx\u{7}\u{202e} ghp_0123456789abcdefghijABCDEFGHIJ012345");
        assert_eq!(line, "red    x\\u{7}\\u{202e} [redacted: GitHub token]");
        assert_eq!(printed_line(&"x".repeat(5000)).len(), SEARCH_LINE_MAX + 3);
    }
}
