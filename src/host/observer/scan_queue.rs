//! The queue of scans: where the reader is, the tasks of its next scan, and the requests that wait for one.

use std::path::PathBuf;

use serde_json::Value;

use super::growing_file_reader::{FileReader, ScanOrder, ScanResult};
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;
use crate::fs::watch::Watcher;
use crate::ipc::message::RequestId;

/// How often to read the transcript while a hook waits for its lines, in ms: Claude flushes it every 100.
const AWAIT_LOOK_MS: u64 = 5;
/// After how long an unfinished scan is reported, in ms.
const HANGS_MS: u64 = 10_000;

/// One scan runs at a time; later requests become the next one.
#[derive(Debug)]
pub(super) struct ScanQueue {
    /// `None` while the thread has it.
    reader: Option<Box<FileReader>>,
    /// The tasks of the next scan, and whether there will be one.
    order: ScanOrder,
    wanted: bool,
    /// How many scans were started, and the last one that finished.
    scans: u64,
    finished: u64,
    /// When the thread got the reader.
    began: Stamp,
    polls: bool,
    hanging_reported: bool,
    asking: Vec<ScanWaiter>,
    /// The number of hook calls so far.
    calls: u64,
}

/// A request that waits for a scan of Claude's earlier output.
#[derive(Debug)]
pub(in crate::host) struct ScanWaiter {
    /// The first scan that is new enough.
    scan: u64,
    until: Stamp,
    pub request_id: RequestId,
    pub what: AfterScan,
}

impl ScanWaiter {
    fn is_hook(&self) -> bool {
        matches!(self.what, AfterScan::Hook { .. })
    }
}

/// What continues after the scan.
#[derive(Debug)]
pub(in crate::host) enum AfterScan {
    /// A hook call; `believed`: the transcript that it names may be one.
    Hook { number: u64, event: String, payload: Value, believed: bool },
    /// `hopty context`.
    Context,
}

impl ScanQueue {
    pub fn new(reader: FileReader) -> Self {
        ScanQueue {
            reader: Some(Box::new(reader)),
            order: ScanOrder::default(),
            wanted: false,
            scans: 0,
            finished: 0,
            began: Stamp(0),
            polls: false,
            hanging_reported: false,
            asking: Vec::new(),
            calls: 0,
        }
    }

    pub fn is_reader_here(&self) -> bool {
        self.reader.is_some()
    }

    /// When the last scan began.
    pub fn began(&self) -> Stamp {
        self.began
    }

    /// Whether the file system reports no changes.
    pub fn polls(&self) -> bool {
        self.polls
    }

    /// The watcher, while no scan runs.
    pub fn watcher(&self) -> Option<&Watcher> {
        self.reader.as_deref().map(FileReader::watcher)
    }

    /// Requests a scan; the caller adds its tasks.
    pub fn want(&mut self) -> &mut ScanOrder {
        self.wanted = true;
        &mut self.order
    }

    /// The reader with its tasks, if it is idle and a scan is wanted; `lines`: a hook waits for lines.
    pub fn begin(&mut self, now: Stamp, lines: bool) -> Option<(Box<FileReader>, ScanOrder)> {
        let due = self.wanted || (lines && now >= self.began.after(AWAIT_LOOK_MS));
        if !due {
            return None;
        }
        let reader = self.reader.take()?;
        self.wanted = false;
        self.scans += 1;
        self.began = now;
        Some((reader, std::mem::take(&mut self.order)))
    }

    pub fn finish_scan(&mut self, reader: Box<FileReader>, found: &ScanResult) {
        self.reader = Some(reader);
        self.finished = self.scans;
        self.polls = found.polls;
        for asking in &mut self.asking {
            if let AfterScan::Hook { number, believed, .. } = &mut asking.what {
                *believed |= found.believed.contains(number);
            }
        }
    }

    /// A number for a hook call; the next scan checks whether the path that it names may be its transcript.
    pub fn check(&mut self, named: Option<(PathBuf, ConversationId)>) -> u64 {
        self.calls += 1;
        self.order.named.extend(named.map(|(path, of)| (self.calls, path, of)));
        self.calls
    }

    /// A request waits for a scan that starts after it.
    pub fn ask(&mut self, until: Stamp, request_id: RequestId, what: AfterScan) {
        self.wanted = true;
        self.asking.push(ScanWaiter { scan: self.scans + 1, until, request_id, what });
    }

    /// Drops the requests of a connection that is gone. What a hook call reports has happened, whether
    /// anybody waits for its answer or not: it stays.
    pub fn forget(&mut self, connection: u64) {
        self.asking.retain(|asking| asking.request_id.connection != connection || asking.is_hook());
    }

    /// Takes the hook calls that wait; they no longer do.
    pub fn take_hooks(&mut self) -> Vec<ScanWaiter> {
        self.asking.extract_if(.., |asking| asking.is_hook()).collect()
    }

    /// The next request whose scan has finished or whose time is up.
    pub fn next_due(&mut self, now: Stamp) -> Option<ScanWaiter> {
        let at = self.asking.iter().position(|asking| asking.scan <= self.finished || asking.until <= now)?;
        Some(self.asking.remove(at))
    }

    /// Whether a scan hangs; true once.
    pub fn hangs(&mut self, now: Stamp) -> bool {
        let hangs = self.reader.is_none() && !self.hanging_reported && now >= self.began.after(HANGS_MS);
        self.hanging_reported |= hangs;
        hangs
    }

    /// The next deadline: a scan to start, a request to continue, or a disk that hangs.
    pub fn deadline(&self, now: Stamp, lines: bool) -> Option<Stamp> {
        let here = self.reader.is_some();
        let wanted = (here && self.wanted).then_some(now);
        let awaited = (here && lines).then(|| self.began.after(AWAIT_LOOK_MS));
        let hangs = (!here && !self.hanging_reported).then(|| self.began.after(HANGS_MS));
        let patience = self.asking.iter().map(|asking| asking.until).min();
        [wanted, awaited, hangs, patience].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::compat::WatchedFiles;
    use crate::core::time::WallTime;
    use crate::fs::paths::Paths;

    fn request_id(connection: u64, request: u64) -> RequestId {
        RequestId { connection, request }
    }

    fn queue(dir: &std::path::Path) -> ScanQueue {
        let paths = Paths::from_env(|name| (name == "HOME").then(|| dir.into())).unwrap();
        ScanQueue::new(FileReader::new(&paths, WatchedFiles::default(), true, WallTime(0)))
    }

    #[test]
    fn a_request_during_a_scan_waits_for_the_next_one() {
        let home = tempfile::tempdir().unwrap();
        let mut queue = queue(home.path());
        queue.ask(Stamp(100), request_id(1, 1), AfterScan::Context);
        let (reader, _) = queue.begin(Stamp(0), false).unwrap();
        queue.ask(Stamp(100), request_id(2, 1), AfterScan::Context);
        assert!(queue.begin(Stamp(1), false).is_none() && queue.next_due(Stamp(1)).is_none());
        queue.finish_scan(reader, &ScanResult::default());
        assert_eq!(queue.next_due(Stamp(2)).map(|asking| asking.request_id.connection), Some(1));
        assert!(queue.next_due(Stamp(2)).is_none());
        let (reader, _) = queue.begin(Stamp(2), false).unwrap();
        queue.finish_scan(reader, &ScanResult::default());
        assert_eq!(queue.next_due(Stamp(3)).map(|asking| asking.request_id.connection), Some(2));
        assert!(queue.begin(Stamp(3), false).is_none() && queue.deadline(Stamp(3), false).is_none());
    }

    #[test]
    fn a_hook_call_stays_when_its_connection_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let mut queue = queue(home.path());
        let hook = AfterScan::Hook {
            number: 1,
            event: "StopFailure".to_owned(),
            payload: Value::Null,
            believed: false,
        };
        queue.ask(Stamp(100), request_id(1, 1), hook);
        queue.ask(Stamp(100), request_id(1, 2), AfterScan::Context);
        queue.forget(1);
        assert_eq!(queue.next_due(Stamp(100)).map(|asking| asking.request_id.request), Some(1));
        assert!(queue.next_due(Stamp(100)).is_none());
    }

    #[test]
    fn a_scan_that_does_not_come_back_holds_nobody_and_is_reported_once() {
        let home = tempfile::tempdir().unwrap();
        let mut queue = queue(home.path());
        queue.ask(Stamp(100), request_id(1, 1), AfterScan::Context);
        let _away = queue.begin(Stamp(0), false).unwrap();
        assert_eq!(queue.deadline(Stamp(1), true), Some(Stamp(100)));
        assert!(queue.next_due(Stamp(99)).is_none() && queue.next_due(Stamp(100)).is_some());
        assert_eq!(queue.deadline(Stamp(101), true), Some(Stamp(HANGS_MS)));
        assert!(
            !queue.hangs(Stamp(HANGS_MS - 1))
                && queue.hangs(Stamp(HANGS_MS))
                && !queue.hangs(Stamp(HANGS_MS))
        );
        assert_eq!(queue.deadline(Stamp(HANGS_MS), true), None);
    }
}
