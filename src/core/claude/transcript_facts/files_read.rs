//! The files that Claude read, with the line ranges: the next conversation would have to find them again.

use std::collections::VecDeque;

use super::call_answer::CallAnswer;

/// How many files are kept.
pub const READ_CAP: usize = 100;
/// How many ranges are kept of one file.
const RANGE_CAP: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    /// The path, as Claude named it.
    pub path: String,
    /// The first and last line of each part, in reading order; empty if the whole file was read.
    pub ranges: Vec<(u64, u64)>,
}

/// The files, the last read at the end.
#[derive(Clone, Debug, Default)]
pub struct FilesRead(VecDeque<FileRead>);

impl FilesRead {
    /// Takes the answer of a tool.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>) {
        let read = answer.passed().filter(|call| call.name == "Read");
        if let Some((path, input)) = read.and_then(|call| Some((call.input.path.as_deref()?, &call.input))) {
            self.put(path, input.lines);
        }
    }

    /// `path` was read from line `offset` on, `limit` lines.
    fn put(&mut self, path: &str, (offset, limit): (Option<u64>, Option<u64>)) {
        let known = self.0.iter().position(|file| file.path == path).and_then(|at| self.0.remove(at));
        let again = known.is_some();
        let mut file = known.unwrap_or_else(|| FileRead { path: path.to_owned(), ranges: Vec::new() });
        let whole = offset.is_none() && limit.is_none();
        if whole {
            file.ranges.clear();
        } else if !again || !file.ranges.is_empty() {
            let first = offset.unwrap_or(1).max(1);
            let range =
                (first, limit.map_or(u64::MAX, |count| first.saturating_add(count.saturating_sub(1))));
            file.ranges.retain(|known| *known != range);
            file.ranges.push(range);
            if file.ranges.len() > RANGE_CAP {
                file.ranges.remove(0);
            }
        }
        if self.0.len() >= READ_CAP {
            self.0.pop_front();
        }
        self.0.push_back(file);
    }

    /// The files, the last read first.
    pub fn newest_first(&self) -> impl Iterator<Item = &FileRead> {
        self.0.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_kept_until_the_whole_file_is_read() {
        let mut reads = FilesRead::default();
        reads.put("/a", (Some(30), Some(31)));
        reads.put("/b", (None, None));
        reads.put("/a", (Some(100), None));
        let all: Vec<_> = reads.newest_first().cloned().collect();
        assert_eq!(
            (all[0].path.as_str(), all[0].ranges.as_slice()),
            ("/a", &[(30, 60), (100, u64::MAX)][..])
        );
        assert_eq!((all[1].path.as_str(), all[1].ranges.len()), ("/b", 0));
        reads.put("/b", (Some(1), Some(2)));
        assert_eq!(reads.newest_first().next().unwrap().ranges, [], "the whole file was read before");
        reads.put("/a", (None, None));
        assert_eq!(reads.newest_first().next().unwrap().ranges, []);
        for n in 0..300 {
            reads.put(&n.to_string(), (None, None));
        }
        assert_eq!(reads.newest_first().count(), READ_CAP);
    }
}
