//! Copies a transcript line by line, with bounded memory.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::core::conversation_transfer::{
    ForeignLine, ForeignProject, LINE_BYTES, LeftOutOfLines, LineRewrite, TransferRules,
    agent_without_acting_parts, without_acting_parts,
};
use crate::fs::atomic;
use crate::fs::file_error::FsError;
use crate::sys::safe_file::{self, FileRule};

/// Counts of a copied transcript's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    pub lines: u64,
    /// Lines that name the new place now.
    pub changed: u64,
    /// Lines that are not JSON or are too long to examine; they are unchanged.
    pub foreign: u64,
}

impl std::ops::AddAssign for LineCounts {
    fn add_assign(&mut self, more: Self) {
        self.lines += more.lines;
        self.changed += more.changed;
        self.foreign += more.foreign;
    }
}

/// A piece of a line.
enum LinePiece {
    /// A line without its newline; the last line may have had none.
    Line {
        has_end: bool,
    },
    /// The start of a line that is longer than the limit. The rest follows.
    Begin,
    End,
}

/// Reads the next line into `line`, at most `most` bytes of it.
fn next(from: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<LinePiece> {
    line.clear();
    loop {
        let bytes = match from.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(if line.is_empty() { LinePiece::End } else { LinePiece::Line { has_end: false } });
        }
        let end = memchr::memchr(b'\n', bytes);
        let length = end.unwrap_or(bytes.len()).min(most - line.len());
        line.extend_from_slice(&bytes[..length]);
        if end == Some(length) {
            from.consume(length + 1);
            return Ok(LinePiece::Line { has_end: true });
        }
        from.consume(length);
        if line.len() == most {
            return Ok(LinePiece::Begin);
        }
    }
}

/// Copies all lines, each replaced by the result of `make`; `None` keeps it. Lines longer than `most` bytes
/// are copied unchanged.
pub(super) fn copy(
    from: &mut impl BufRead,
    to: &mut impl Write,
    most: usize,
    mut make: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> io::Result<u64> {
    let mut line = Vec::new();
    let mut too_long = 0;
    loop {
        match next(from, &mut line, most)? {
            LinePiece::End => return Ok(too_long),
            LinePiece::Line { has_end } => {
                to.write_all(make(&line).as_deref().unwrap_or(&line))?;
                if has_end {
                    to.write_all(b"\n")?;
                }
            }
            LinePiece::Begin => {
                too_long += 1;
                to.write_all(&line)?;
                copy_rest(from, to)?;
            }
        }
    }
}

/// Copies the rest of a line, with its newline.
fn copy_rest(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    loop {
        let bytes = from.fill_buf()?;
        let length = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
        to.write_all(&bytes[..length])?;
        let is_end = length == 0 || bytes[length - 1] == b'\n';
        from.consume(length);
        if is_end {
            return Ok(());
        }
    }
}

/// Copies all lines of a transcript without the parts that Claude acts on when it resumes it. Lines longer
/// than `most` bytes are left out.
fn copy_without_acting_parts(
    from: &mut impl BufRead,
    to: &mut dyn Write,
    most: usize,
    project: &ForeignProject,
) -> io::Result<LeftOutOfLines> {
    let (mut line, mut left_out) = (Vec::new(), LeftOutOfLines::default());
    loop {
        match next(from, &mut line, most)? {
            LinePiece::End => return Ok(left_out),
            LinePiece::Line { has_end } => {
                match without_acting_parts(&line, project, &mut left_out) {
                    ForeignLine::Same => to.write_all(&line)?,
                    ForeignLine::Changed(new) => to.write_all(new.as_bytes())?,
                    ForeignLine::Gone => continue,
                }
                if has_end {
                    to.write_all(b"\n")?;
                }
            }
            LinePiece::Begin => {
                left_out.unreadable += 1;
                copy_rest(from, &mut io::sink())?;
            }
        }
    }
}

/// Copies the file beside a sub-agent's transcript without the parts that Claude acts on when it resumes
/// it.
fn copy_agent_without_acting_parts(from: &mut impl Read, to: &mut dyn Write) -> io::Result<LeftOutOfLines> {
    let mut left_out = LeftOutOfLines::default();
    let file = safe_file::first_bytes(from, AGENT_BYTES)?;
    match agent_without_acting_parts(&file, &mut left_out) {
        Some(new) => to.write_all(new.as_bytes())?,
        None => to.write_all(&file)?,
    }
    Ok(left_out)
}

/// The suffix of the file beside a sub-agent's transcript.
const AGENT_META: &str = ".meta.json";
/// The most that is read of such a file, in bytes. A longer file cannot be parsed then.
const AGENT_BYTES: u64 = 1 << 20;

/// Whether Claude may act on parts of a file with this name when it resumes the conversation: the
/// transcript, or a file in the directory beside it.
pub fn may_have_acting_parts(name: &str) -> bool {
    name.ends_with(".jsonl") || name.ends_with(AGENT_META)
}

/// Removes the parts that Claude would act on from an unpacked transcript, or from the file beside that of
/// a sub-agent. The file keeps its time.
///
/// # Errors
/// When it cannot be read or written.
pub fn leave_out_acting_parts(path: &Path, project: &ForeignProject) -> Result<LeftOutOfLines, FsError> {
    let file = safe_file::open(path, FileRule::own(u64::MAX))?;
    let file = file.ok_or_else(|| FsError::io("open", path)(io::ErrorKind::NotFound.into()))?;
    let copy = |to: &mut dyn Write| {
        (&file).seek(SeekFrom::Start(0))?;
        let mut from = BufReader::with_capacity(1 << 17, &file);
        match path.to_str().is_some_and(|path| path.ends_with(AGENT_META)) {
            true => copy_agent_without_acting_parts(&mut from, to),
            false => copy_without_acting_parts(&mut from, to, LINE_BYTES, project),
        }
    };
    // Often there is nothing to remove, and so nothing to write.
    let left_out = copy(&mut io::sink()).map_err(FsError::io("read", path))?;
    if left_out.is_nothing() {
        return Ok(left_out);
    }
    let temp = atomic::temporary_in(path.parent().unwrap_or(Path::new("/")))?;
    let mut to = BufWriter::with_capacity(1 << 17, temp.as_file());
    copy(&mut to).and_then(|_| to.flush()).map_err(FsError::io("rewrite", path))?;
    drop(to);
    let dated = file.metadata().and_then(|meta| temp.as_file().set_modified(meta.modified()?));
    dated.map_err(FsError::io("date", path))?;
    temp.persist(path).map_err(|failed| FsError::io("rename to", path)(failed.error))?;
    Ok(left_out)
}

/// Copies all lines by these rules.
pub(super) fn move_lines(
    from: &mut impl BufRead,
    to: &mut impl Write,
    rules: &TransferRules,
) -> io::Result<LineCounts> {
    let mut counts = LineCounts::default();
    let too_long = copy(from, to, LINE_BYTES, |line| {
        counts.lines += 1;
        match rules.rewrite(line) {
            LineRewrite::Same => None,
            LineRewrite::Foreign => {
                counts.foreign += u64::from(!line.is_empty());
                None
            }
            LineRewrite::Changed(new) => {
                counts.changed += 1;
                Some(new.into_bytes())
            }
        }
    })?;
    counts.lines += too_long;
    counts.foreign += too_long;
    Ok(counts)
}

/// Whether `new` is `old` changed by these rules, line for line.
pub(super) fn is_moved(
    old: &mut impl BufRead,
    new: &mut impl BufRead,
    rules: &TransferRules,
) -> io::Result<bool> {
    is_moved_within(old, new, rules, LINE_BYTES)
}

fn is_moved_within(
    old: &mut impl BufRead,
    new: &mut impl BufRead,
    rules: &TransferRules,
    most: usize,
) -> io::Result<bool> {
    let (mut old_line, mut new_line) = (Vec::new(), Vec::new());
    loop {
        match next(old, &mut old_line, most)? {
            LinePiece::End => return Ok(new.fill_buf()?.is_empty()),
            LinePiece::Line { has_end } => {
                // The new line may be longer, by as many paths as it has.
                let same_end = match next(new, &mut new_line, most.saturating_mul(2))? {
                    LinePiece::Line { has_end: new_end } => has_end == new_end,
                    LinePiece::End => old_line.is_empty() && !has_end,
                    LinePiece::Begin => false,
                };
                if !same_end || !rules.explains(&old_line, &new_line) {
                    return Ok(false);
                }
            }
            LinePiece::Begin => {
                new_line.resize(old_line.len(), 0);
                if !reads(new, &mut new_line)? || old_line != new_line {
                    return Ok(false);
                }
                loop {
                    let bytes = old.fill_buf()?;
                    let length = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
                    new_line.resize(length, 0);
                    if !reads(new, &mut new_line)? || bytes[..length] != new_line {
                        return Ok(false);
                    }
                    let is_end = length == 0 || bytes[length - 1] == b'\n';
                    old.consume(length);
                    if is_end {
                        break;
                    }
                }
            }
        }
    }
}

/// Fills the buffer; false if the file ends first.
fn reads(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::conversation_transfer::PathMap;
    use std::io::BufReader;

    fn rules() -> TransferRules {
        let id: crate::core::ids::ConversationId = "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap();
        TransferRules {
            directories: PathMap::new([("/old".to_owned(), "/newer".to_owned())]),
            sidecar: ("/s".to_owned(), "/s".to_owned()),
            id: (id.clone(), id),
        }
    }

    /// In pieces of `size` bytes.
    fn pieces(bytes: &[u8], size: usize) -> BufReader<&[u8]> {
        BufReader::with_capacity(size, bytes)
    }

    #[test]
    fn lines_are_moved_and_all_else_is_as_it_was() {
        let old = b"{\"cwd\":\"/old\"}\ntorn\n\n{\"a\":1.0}\r\n\xff\n{\"cwd\":\"/old/x\"";
        let new = b"{\"cwd\":\"/newer\"}\ntorn\n\n{\"a\":1.0}\r\n\xff\n{\"cwd\":\"/old/x\"";
        for size in [1, 3, 1000] {
            let mut to = Vec::new();
            let counts = move_lines(&mut pieces(old, size), &mut to, &rules()).unwrap();
            assert_eq!(to, new);
            assert_eq!(counts, LineCounts { lines: 6, changed: 1, foreign: 3 });
            assert!(is_moved(&mut pieces(old, size), &mut pieces(&to, size), &rules()).unwrap());
        }
    }

    #[test]
    fn a_line_that_is_longer_than_is_looked_into_is_left_out() {
        let from = b"torn\n{\"permissionMode\":\"dontAsk\"}\n\nend";
        let project = ForeignProject::default();
        for size in [1, 5, 1000] {
            let mut to = Vec::new();
            let left_out = copy_without_acting_parts(&mut pieces(from, size), &mut to, 10, &project).unwrap();
            assert_eq!((to.as_slice(), left_out.unreadable), (&b"torn\n\nend"[..], 1));
        }
    }

    #[test]
    fn every_other_difference_is_detected() {
        let (old, new) =
            (b"{\"cwd\":\"/old\"}\nlong line\nlast".as_slice(), b"{\"cwd\":\"/newer\"}\nlong line\nlast");
        // The second line is too long to be examined.
        let moved =
            |new: &[u8]| is_moved_within(&mut pieces(old, 4), &mut pieces(new, 3), &rules(), 14).unwrap();
        let short =
            |new: &[u8]| is_moved_within(&mut pieces(old, 4), &mut pieces(new, 3), &rules(), 6).unwrap();
        assert!(moved(new) && short(old));
        for at in 0..new.len() {
            let mut bad = new.to_vec();
            bad[at] ^= 1;
            assert!(!moved(&bad), "{at}");
            assert!(!moved(&new[..at]), "cut at {at}");
        }
        for at in 0..old.len() {
            let mut bad = old.to_vec();
            bad[at] ^= 1;
            assert!(!short(&bad) && !short(&old[..at]), "{at}");
        }
        for more in [b"\n".as_slice(), b"x", b"\n{}"] {
            assert!(!moved(&[new.as_slice(), more].concat()));
        }
    }
}
