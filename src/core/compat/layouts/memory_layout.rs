//! The files of layout `memory` in a project: the raw copies that nobody has reviewed, and the session
//! documents, which Claude's slash commands list, write and discard.
//!
//! The project may have come with anything: only plain names count, and the text of a document is data.

use std::path::{Path, PathBuf};

use super::memory::{self, CONTEXT, DIR, LIST, LOG, MARKER, MemoryReason, RAW, SessionNotes};
use crate::core::file_edit::{FileEdit, FileEdits, FileView};
use crate::core::handoff::capture::Capture;
use crate::core::text::safe_text::{cut_chars, safe_line};
use crate::core::time::WallTime;

/// How many copies of a transcript can be made within one second, and documents within one minute.
const SAME_TIME: u32 = 100;
/// The longest marker, in bytes.
const MARKER_CAP: u64 = 8192;
/// How many documents are listed.
const LISTED: usize = 50;
/// How much of a document is read for its title, in bytes.
const TITLE_READ: u64 = 4096;

/// Where layout `memory` may copy a transcript to, in order of preference.
pub fn copy_names(project: &Path, reason: &MemoryReason, now: WallTime) -> impl Iterator<Item = PathBuf> {
    let raw = project.join(DIR).join(RAW);
    (0..SAME_TIME).map(move |n| raw.join(memory::name(now, reason, n)))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionDocument {
    pub path: PathBuf,
    /// When it was last written.
    pub written: WallTime,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its first heading or line, safe to show; empty if it has none.
    pub title: String,
}

/// A raw copy that no longer waits to be reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledCopy {
    /// The copy.
    pub path: PathBuf,
    /// The copy that waits now.
    pub next: Option<PathBuf>,
    /// The changes that settle it.
    pub changes: FileEdits,
}

/// Layout `memory` of a project.
#[derive(Clone, Copy)]
pub struct MemoryLayout<'a> {
    pub project: &'a Path,
    pub files: &'a dyn FileView,
}

impl MemoryLayout<'_> {
    /// `active-context.md`.
    pub fn context(&self) -> PathBuf {
        self.own(CONTEXT)
    }

    fn own(&self, name: &str) -> PathBuf {
        self.project.join(DIR).join(name)
    }

    fn dir(&self, below: &str) -> Result<FileEdit, String> {
        Ok(FileEdit::dir_in_project(self.project, below))
    }

    /// Where a transcript is copied to, and what makes the copy; `None` if there is nothing to copy. At the
    /// end of a conversation `notes` go into `active-context.md`.
    pub fn copy(
        &self,
        transcript: &Path,
        reason: &MemoryReason,
        now: WallTime,
        notes: &SessionNotes,
    ) -> Option<(PathBuf, FileEdits)> {
        let bytes = self.files.length(transcript);
        if bytes == 0 {
            return None;
        }
        let copy = copy_names(self.project, reason, now).find(|path| self.files.facts(path).is_none())?;
        let mut changes = vec![self.dir(DIR)];
        if matches!(reason, MemoryReason::Ended(_)) {
            // First: it is what the next conversation reads (source document 004).
            changes.push(self.write_context(now, Some(reason), notes));
        }
        changes.push(self.dir(&format!("{DIR}/{RAW}")));
        // Only up to its current length: a file that grows faster than it is copied must not be copied
        // forever.
        changes.push(Ok(FileEdit::Copy { from: transcript.to_owned(), to: copy.clone(), bytes }));
        let shown = copy.to_string_lossy();
        let pending = self.pending().0;
        // No marker means that the earlier copies were reviewed.
        let list = self.own(LIST);
        let old = if pending.is_some() { self.files.text(&list) } else { Ok(String::new()) };
        changes.push(old.map(|old| FileEdit::Replace(list, memory::listed(&old, &shown))));
        changes.push(Ok(FileEdit::Replace(self.own(MARKER), format!("{shown}\n"))));
        changes.push(Ok(FileEdit::Append(self.own(LOG), memory::log_line(now, reason, &shown, bytes))));
        Some((copy, changes))
    }

    /// Writes the state of a session into `active-context.md`.
    fn write_context(
        &self,
        now: WallTime,
        ended: Option<&MemoryReason>,
        notes: &SessionNotes,
    ) -> Result<FileEdit, String> {
        let path = self.context();
        let old = self.files.text(&path)?;
        Ok(FileEdit::Replace(path, memory::context(&old, now, ended, notes)))
    }

    /// The copy that the marker names, and the edits that remove the marker of a copy that is gone.
    pub fn pending(&self) -> (Option<PathBuf>, FileEdits) {
        let marker = self.own(MARKER);
        let there = self.files.is_inside(self.project, DIR)
            && self.files.facts(&marker).is_some_and(|facts| facts.own && facts.bytes <= MARKER_CAP);
        let text = there.then(|| self.files.text(&marker).ok()).flatten();
        match text.map(|text| self.copy_named(&text)) {
            Some(None) => (None, vec![Ok(FileEdit::Remove(marker))]),
            found => (found.flatten(), FileEdits::new()),
        }
    }

    /// The copy that a line names, if it exists.
    fn copy_named(&self, line: &str) -> Option<PathBuf> {
        let copy = self.own(RAW).join(memory::named(line)?);
        self.files.facts(&copy).is_some_and(|facts| facts.own && facts.bytes > 0).then_some(copy)
    }

    /// The copy was reviewed, or is gone: the marker names the newest other copy that waits, if there is one.
    fn settle(&self, copy: PathBuf) -> SettledCopy {
        let name = copy.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (list, marker) = (self.own(LIST), self.own(MARKER));
        let left = self.files.text(&list).map(|text| memory::unlisted(&text, name));
        let named = |text: &String| text.lines().rev().find_map(|line| self.copy_named(line));
        let next = left.as_ref().ok().and_then(named);
        let mark = match &next {
            Some(next) => FileEdit::Replace(marker, format!("{}\n", next.to_string_lossy())),
            None => FileEdit::Remove(marker),
        };
        let changes = vec![left.map(|text| FileEdit::Replace(list, text)), Ok(mark)];
        SettledCopy { path: copy, next, changes }
    }

    /// The raw copy of a handoff is no longer needed.
    pub fn settle_copy_of_handoff(&self) -> FileEdits {
        let (copy, stale) = self.pending();
        let name = copy.as_ref().and_then(|path| path.file_name()?.to_str());
        if name.is_some_and(memory::is_of_handoff) {
            return copy.map(|copy| self.settle(copy).changes).unwrap_or_default();
        }
        stale
    }

    /// The copy that waits to be reviewed is deleted; `None` if none waits.
    pub fn discard(&self) -> Option<SettledCopy> {
        let inside = self.files.is_inside(self.project, &format!("{DIR}/{RAW}"));
        let copy = self.pending().0.filter(|_| inside)?;
        let gone = FileEdit::Remove(copy.clone());
        let mut settled = self.settle(copy);
        settled.changes.insert(0, Ok(gone));
        Some(settled)
    }

    /// The copy of this name was reviewed; `None` if none of this name waits.
    pub fn reviewed(&self, name: &str) -> Option<SettledCopy> {
        let name = memory::named(name)?;
        let waits = self.pending().0.filter(|copy| copy.file_name().is_some_and(|own| own == name))?;
        Some(self.settle(waits))
    }

    /// The session documents, the newest first, at most 50.
    pub fn documents(&self) -> Vec<SessionDocument> {
        if !self.files.is_inside(self.project, DIR) {
            return Vec::new();
        }
        let names = self.files.names(&self.project.join(DIR));
        let named = names.iter().filter(|name| memory::is_document(name)).map(|name| self.own(name));
        let mut found: Vec<SessionDocument> = named
            .filter_map(|path| {
                let facts = self.files.facts(&path).filter(|facts| facts.own)?;
                let (written, bytes) = (facts.written, facts.bytes);
                Some(SessionDocument { path, written, bytes, title: String::new() })
            })
            .collect();
        // Of two documents in one second, the greater name is the later one.
        found.sort_by(|a, b| (b.written, &b.path).cmp(&(a.written, &a.path)));
        found.truncate(LISTED);
        for document in &mut found {
            document.title = title(&self.files.beginning(&document.path, TITLE_READ));
        }
        found
    }

    /// Writes the state of the session into `active-context.md`.
    pub fn save_context(&self, of: &Capture, now: WallTime) -> FileEdits {
        vec![self.dir(DIR), self.write_context(now, None, &SessionNotes::of(of))]
    }

    /// A session document under the name of this minute, and what writes it.
    pub fn save_document(&self, of: &Capture, now: WallTime) -> (PathBuf, FileEdits) {
        let mut names = (0..SAME_TIME).map(|n| self.own(&memory::document_name(now, n)));
        let free = names.find(|path| self.files.facts(path).is_none());
        let text = memory::document(of, now);
        let full =
            || format!("{} has {SAME_TIME} documents of this minute", self.project.join(DIR).display());
        let written = free.clone().ok_or_else(full).map(|path| FileEdit::Create(path, text));
        (free.unwrap_or_default(), vec![self.dir(DIR), written])
    }

    /// A session as a document.
    pub fn document(of: &Capture, now: WallTime) -> String {
        memory::document(of, now)
    }
}

fn title(text: &str) -> String {
    let line = text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    cut_chars(&safe_line(line.unwrap_or_default()), 80)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::file_edit::fake::FakeFiles;
    use crate::core::handoff::document::tests::capture;

    fn at() -> WallTime {
        WallTime::parse("2026-11-20T14:30:05Z").unwrap()
    }

    fn memory(files: &FakeFiles) -> MemoryLayout<'_> {
        MemoryLayout { project: Path::new("/p"), files }
    }

    fn path(name: &str) -> PathBuf {
        Path::new("/p/.claude/memory").join(name)
    }

    #[test]
    fn documents_are_written_once_and_listed() {
        let (mut files, of) = (FakeFiles::default(), capture("Build the pier"));
        assert_eq!(memory(&files).documents(), []);
        let changes = memory(&files).save_context(&of, at());
        files.change(changes).unwrap();
        assert!(files.0[&memory(&files).context()].contains("## Its blockers"));
        let (first, changes) = memory(&files).save_document(&of, at());
        files.change(changes).unwrap();
        let (second, changes) = memory(&files).save_document(&of, at());
        files.change(changes).unwrap();
        assert_ne!(first, second);
        files.0.insert(second, "\n\n# Second\u{1b}[31m\n".to_owned());
        files.0.insert(path("session-a b.md"), "no".to_owned());
        let titles: Vec<String> = memory(&files).documents().into_iter().map(|one| one.title).collect();
        assert_eq!(titles, ["Session 2026-11-20 14:30:05", "Second"]);
    }

    #[test]
    fn a_copy_has_marker_list_and_log_and_at_the_end_of_a_conversation_the_context() {
        let mut files = FakeFiles::default();
        files.0.insert("/t".into(), "{}\n".to_owned());
        let notes = SessionNotes::default();
        let ended = MemoryReason::Ended("clear".to_owned());
        let (first, changes) = memory(&files).copy(Path::new("/t"), &ended, at(), &notes).unwrap();
        files.change(changes).unwrap();
        let (second, changes) = memory(&files).copy(Path::new("/t"), &ended, at(), &notes).unwrap();
        files.change(changes).unwrap();
        assert_ne!(first, second);
        assert_eq!(files.0[&second], "{}\n");
        assert_eq!(files.0[&path(LIST)], format!("{}\n{}\n", first.display(), second.display()));
        assert_eq!(files.0[&path(MARKER)], format!("{}\n", second.display()));
        assert_eq!(files.0[&path(LOG)].lines().count(), 2);
        assert!(files.0[&path(CONTEXT)].contains("Last session ended: 2026-11-20 14:30:05 (clear)"));
        assert!(memory(&files).copy(Path::new("/none"), &ended, at(), &notes).is_none());
    }

    #[test]
    fn a_backup_is_discarded_and_the_one_before_it_waits() {
        let mut files = FakeFiles::default();
        let (a, b) = (path("raw/a.jsonl"), path("raw/b.jsonl"));
        for (path, text) in [
            (a.clone(), "{}".to_owned()),
            (b.clone(), "{}".to_owned()),
            (path(LIST), format!("{}\n{}\n", a.display(), b.display())),
            (path(MARKER), format!("{}\n", b.display())),
        ] {
            files.0.insert(path, text);
        }
        assert_eq!(memory(&files).reviewed("a.jsonl"), None, "it is not the one that waits");
        let discarded = memory(&files).discard().unwrap();
        assert_eq!((&discarded.path, &discarded.next), (&b, &Some(a.clone())));
        files.change(discarded.changes).unwrap();
        assert!(!files.0.contains_key(&b) && memory(&files).pending().0 == Some(a.clone()));
        let reviewed = memory(&files).reviewed("a.jsonl").unwrap();
        assert_eq!(reviewed.next, None);
        files.change(reviewed.changes).unwrap();
        assert!(files.0.contains_key(&a) && !files.0.contains_key(&path(MARKER)), "it is kept");
        assert_eq!(memory(&files).discard(), None);
    }

    #[test]
    fn the_marker_of_a_copy_that_is_gone_is_removed() {
        let mut files = FakeFiles::default();
        assert_eq!(memory(&files).pending(), (None, vec![]));
        files.0.insert(path(MARKER), "raw/gone.jsonl\n".to_owned());
        let (pending, changes) = memory(&files).pending();
        assert_eq!(pending, None);
        files.change(changes).unwrap();
        assert_eq!(files, FakeFiles::default());
    }
}
