//! Reads Claude's and the project's files on a thread: the transcript, the sessions file, signal files, and
//! the session's own files. The thread borrows the reader for one scan and returns it with the results, so a
//! hanging disk delays the reader, not the loop.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::signal_files::{SignalFiles, SignalScan};
use crate::claude::sessions_file::{self, SessionsFileEntry};
use crate::core::compat::{MemoryLayout, WatchedFiles};
use crate::core::ids::{ConversationId, SessionName};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::restart_signal::SignalFile;
use crate::core::time::WallTime;
use crate::fs::edits::{self, Disk};
use crate::fs::file_tail::{Tail, TailRead};
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::fs::watch::Watcher;
use crate::sys::fault_injection;

/// The most bytes of the transcript per scan, which is what the loop handles at once: keys never wait for a
/// large file.
const SLICE: usize = 1 << 18;

/// Reads the watched files, and remembers their last state.
#[derive(Debug)]
pub(in crate::host) struct FileReader {
    watcher: Watcher,
    /// A directory could not be watched.
    needs_poll: bool,
    paths: Paths,
    /// Whether the program is Claude. No files are read for other programs.
    claude: bool,
    /// When the session began: it ignores earlier signals.
    began: WallTime,
    sessions_file: Option<PathBuf>,
    /// The sessions file at the last scan.
    last_entry: Option<SessionsFileEntry>,
    transcript: Option<(ConversationId, Option<Tail>)>,
    signals: SignalFiles,
    /// The session's socket at the last check.
    socket: Option<DeviceInode>,
}

/// Where the session's files are at the time of a scan.
#[derive(Clone, Debug)]
pub(in crate::host) struct SessionFiles {
    pub dir: PathBuf,
    pub name: SessionName,
    pub session_dir: PathBuf,
    pub socket: PathBuf,
}

/// A transcript to follow from now on.
#[derive(Debug)]
pub(in crate::host) struct FollowTranscript {
    pub conversation: ConversationId,
    /// The path from a hook call.
    pub transcript: Option<PathBuf>,
}

/// The tasks of a scan besides reading the transcript.
#[derive(Debug, Default)]
pub(in crate::host) struct ScanOrder {
    /// Scan everything that is watched.
    pub all: bool,
    /// Read the sessions file.
    pub sessions_file: bool,
    /// The child's sessions file from now on.
    pub child: Option<PathBuf>,
    pub follow: Option<FollowTranscript>,
    /// Paths from hook calls, by the number of the call: check whether each may be the transcript of its
    /// conversation.
    pub named: Vec<(u64, PathBuf, ConversationId)>,
    /// Look for a copy of layout `memory` that has not been reviewed.
    pub backup: bool,
    /// Signals that were obeyed and must be removed.
    pub obeyed: Vec<SignalFile>,
}

#[derive(Debug, Default)]
pub(in crate::host) struct ScanResult {
    /// Events for the supervisor from the sessions file and signal files.
    pub events: Vec<Event>,
    pub transcript: Option<TranscriptRead>,
    /// Calls whose path may be the transcript of their conversation.
    pub believed: Vec<u64>,
    /// The copy of layout `memory` that has not been reviewed, if requested.
    pub backup: Option<Option<PathBuf>>,
    /// The session's own files, if they were checked.
    pub own: Option<OwnFiles>,
    /// The file system reports no changes: the files are polled.
    pub polls: bool,
}

/// The session's own files on the disk: device and inode of each that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct OwnFiles {
    /// The socket exists and was not replaced since the last check.
    pub socket: bool,
    pub lock: Option<DeviceInode>,
    pub journal: Option<DeviceInode>,
}

pub(in crate::host) type DeviceInode = (u64, u64);

/// New content of a transcript.
#[derive(Debug)]
pub(in crate::host) struct TranscriptRead {
    pub conversation: ConversationId,
    pub path: PathBuf,
    pub parts: Vec<TranscriptPart>,
    /// Bytes read of the file.
    pub bytes: u64,
    /// The file was not read to its end.
    pub more: bool,
}

#[derive(Debug)]
pub(in crate::host) enum TranscriptPart {
    Bytes(Vec<u8>),
    /// The file was replaced or truncated: what was read before no longer counts.
    Anew,
}

impl FileReader {
    pub fn new(paths: &Paths, watched: WatchedFiles, claude: bool, began: WallTime) -> Self {
        let mut reader = FileReader {
            watcher: watcher(),
            needs_poll: false,
            paths: paths.clone(),
            claude,
            began,
            sessions_file: None,
            last_entry: None,
            transcript: None,
            signals: SignalFiles::new(watched),
            socket: None,
        };
        if claude {
            reader.watch_dir(&paths.claude);
        }
        reader.watcher.add(&paths.run());
        reader
    }

    pub fn watcher(&self) -> &Watcher {
        &self.watcher
    }

    pub fn scan(&mut self, order: ScanOrder, here: &SessionFiles) -> ScanResult {
        let mut found = ScanResult::default();
        let changed = self.watcher.drain();
        if let Some(file) = order.child {
            (self.sessions_file, self.last_entry) = (Some(file), None);
        }
        for file in order.obeyed {
            self.signals.obeyed(file, &self.paths, &here.dir);
        }
        if changed || order.all {
            self.read_changed_files(here, &mut found);
        } else if order.sessions_file {
            self.read_sessions_file(&mut found);
        }
        if let Some(follow) = order.follow {
            self.follow(follow);
        }
        self.read_transcript(&mut found);
        let is_transcript = |(id, path, of): (u64, PathBuf, ConversationId)| {
            self.paths.may_be_transcript(&path, &of).then_some(id)
        };
        found.believed = order.named.into_iter().filter_map(is_transcript).collect();
        found.backup = order.backup.then(|| {
            let (copy, stale) = MemoryLayout { project: &here.dir, files: &Disk }.pending();
            let _ = edits::make(stale);
            copy
        });
        found.polls = self.needs_poll || self.watcher.is_blind();
        found
    }

    fn read_changed_files(&mut self, here: &SessionFiles, found: &mut ScanResult) {
        if self.watcher.is_blind() {
            // Another session may have ended and released a watch.
            self.watcher = watcher();
        }
        self.needs_poll = false;
        if self.claude {
            self.watch_dir(&self.paths.claude.clone());
        }
        self.watcher.add(&self.paths.run());
        self.read_sessions_file(found);
        if self.claude {
            self.read_signal_files(here, found);
        }
        let lock = here.session_dir.join(session::LOCK);
        for path in [&self.paths.state, &self.paths.sessions(), &here.session_dir, &lock] {
            self.watcher.add_itself(path);
        }
        found.own = Some(OwnFiles {
            socket: self.finds_socket(&here.socket),
            lock: file_id(&lock),
            journal: file_id(&here.session_dir.join(session::JOURNAL)),
        });
    }

    /// Whether the socket is there and was not replaced since the last look. The host decides what to do
    /// about one that was.
    fn finds_socket(&mut self, path: &Path) -> bool {
        let now = file_id(path);
        let before = std::mem::replace(&mut self.socket, now);
        now.is_some() && (before.is_none() || before == now)
    }

    /// Watches a directory, or its nearest existing parent until it exists.
    fn watch_dir(&mut self, dir: &Path) {
        let nearest = || dir.ancestors().find(|at| at.is_dir());
        let mut at = nearest();
        while let Some(nearby) = at {
            self.watcher.add(nearby);
            self.needs_poll |= !self.watcher.covers(nearby);
            // A file created between the check and the watch caused no event: check again.
            let now = nearest();
            if now == at {
                break;
            }
            at = now;
        }
    }

    fn read_sessions_file(&mut self, found: &mut ScanResult) {
        let Some(path) = self.sessions_file.clone() else { return };
        if let Some(dir) = path.parent() {
            self.watch_dir(dir);
        }
        let entry = sessions_file::read(&path);
        if entry == self.last_entry || entry.is_none() {
            return;
        }
        self.last_entry.clone_from(&entry);
        if let Some(SessionsFileEntry { status: Some(status), conversation, waiting_for }) = entry {
            found.events.push(Event::Status { status, conversation, waiting_for });
        }
    }

    fn read_signal_files(&mut self, here: &SessionFiles, found: &mut ScanResult) {
        for dir in self.signals.dirs_in_project() {
            self.watch_dir(&here.dir.join(dir));
        }
        let place = SignalScan { paths: &self.paths, session: here, began: self.began };
        self.signals.look(&place, &mut found.events);
    }

    fn follow(&mut self, follow: FollowTranscript) {
        let FollowTranscript { conversation, transcript } = follow;
        // A conversation has one transcript: a later claim about it changes nothing.
        let known = self.transcript.take().filter(|(of, _)| *of == conversation).and_then(|(_, tail)| tail);
        let same = known.as_ref().map(Tail::path).filter(|path| path.exists()).map(Path::to_owned);
        let path = same.or(transcript).or_else(|| self.paths.find_transcript(&conversation));
        self.transcript = Some((conversation, known));
        self.follow_file(path);
    }

    fn follow_file(&mut self, path: Option<PathBuf>) {
        let Some(path) = path else {
            return self.watch_dir(&self.paths.claude.join("projects"));
        };
        if let Some((_, tail)) = &mut self.transcript
            && tail.as_ref().is_none_or(|tail| tail.path() != path)
        {
            *tail = Some(Tail::new(&path));
        }
    }

    /// Reads the new part of the transcript.
    fn read_transcript(&mut self, found: &mut ScanResult) {
        let Some((conversation, tail)) = &self.transcript else { return };
        match tail.as_ref().map(|tail| tail.path().to_owned()) {
            Some(path) => path.parent().into_iter().for_each(|dir| self.watch_dir(dir)),
            None => {
                let path = self.paths.find_transcript(conversation);
                self.follow_file(path);
            }
        }
        let Some((conversation, Some(tail))) = &mut self.transcript else { return };
        let (mut parts, mut more, mut read) = (Vec::new(), false, 0);
        let mut buf = vec![0; 1 << 16];
        while !more {
            match tail.read(&mut buf) {
                Ok(TailRead::Bytes(n)) => {
                    parts.push(TranscriptPart::Bytes(buf[..n].to_vec()));
                    read += n;
                    more = read >= SLICE;
                }
                Ok(TailRead::Anew) => parts.push(TranscriptPart::Anew),
                Ok(TailRead::Nothing) | Err(_) => break,
            }
        }
        let (conversation, path) = (conversation.clone(), tail.path().to_owned());
        found.transcript = Some(TranscriptRead { conversation, path, parts, bytes: tail.offset(), more });
    }
}

fn watcher() -> Watcher {
    if fault_injection::is_wanted("no-inotify") { Watcher::blind() } else { Watcher::new() }
}

pub(in crate::host) fn file_id(path: &Path) -> Option<DeviceInode> {
    std::fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(dir: &Path) -> SessionFiles {
        SessionFiles {
            dir: dir.to_owned(),
            name: "proj".parse().unwrap(),
            session_dir: dir.join("session"),
            socket: dir.join("socket"),
        }
    }

    #[test]
    fn a_long_transcript_comes_in_slices_and_only_what_is_new() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::from_env(|name| (name == "HOME").then(|| home.path().into())).unwrap();
        let conversation: ConversationId = "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap();
        let project = paths.claude.join("projects/-p");
        std::fs::create_dir_all(&project).unwrap();
        let file = project.join(format!("{conversation}.jsonl"));
        std::fs::write(&file, "x".repeat(SLICE + 10)).unwrap();
        let mut reader = FileReader::new(&paths, WatchedFiles::default(), true, WallTime(0));
        let here = here(home.path());
        let follow = FollowTranscript { conversation: conversation.clone(), transcript: None };
        let read = |seen: ScanResult| {
            let seen = seen.transcript.unwrap();
            let bytes =
                |part: &TranscriptPart| if let TranscriptPart::Bytes(bytes) = part { bytes.len() } else { 0 };
            (seen.parts.iter().map(bytes).sum::<usize>(), seen.bytes, seen.more)
        };
        let first = reader.scan(ScanOrder { follow: Some(follow), ..ScanOrder::default() }, &here);
        assert_eq!(read(first), (SLICE, SLICE as u64, true));
        assert_eq!(read(reader.scan(ScanOrder::default(), &here)), (10, SLICE as u64 + 10, false));
        assert_eq!(read(reader.scan(ScanOrder::default(), &here)), (0, SLICE as u64 + 10, false));
    }

    #[test]
    fn only_a_file_of_claudes_is_believed_to_be_a_transcript() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::from_env(|name| (name == "HOME").then(|| home.path().into())).unwrap();
        let of: ConversationId = "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap();
        let named = |n, dir: PathBuf| (n, dir.join(format!("{of}.jsonl")), of.clone());
        std::fs::create_dir_all(paths.claude.join("projects/-p")).unwrap();
        let mut reader = FileReader::new(&paths, WatchedFiles::default(), true, WallTime(0));
        let order = ScanOrder {
            named: vec![named(1, home.path().to_owned()), named(2, paths.claude.join("projects/-p"))],
            ..ScanOrder::default()
        };
        assert_eq!(reader.scan(order, &here(home.path())).believed, [2]);
    }
}
