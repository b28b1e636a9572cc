//! Compressing a conversation into one file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use zstd::stream::write::Encoder;

use super::ArchiveFailure;
use super::source::{self, ArchiveSource, ReadState};
use crate::core::archive::{ArchiveManifest, ArchivedFile, Seal};
use crate::core::hex::hex;
use crate::fs::digest::each_block;
use crate::fs::file_error::FsError;

/// How much is read at once, in bytes.
const CHUNK: usize = 1 << 17;
/// The window in which repetitions are found, as a power of two: 16 MiB. Claude repeats whole messages far
/// apart, and a reader needs as much memory as the window is long.
const WINDOW_LOG: u32 = 24;

/// The compression level of zstd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveLevel(pub i32);

impl Default for ArchiveLevel {
    /// zstd's own default.
    fn default() -> Self {
        ArchiveLevel(3)
    }
}

#[derive(Debug)]
pub(super) struct Packed {
    pub manifest: ArchiveManifest,
    /// The state of each file when it was read, in the order of the manifest.
    pub states: Vec<ReadState>,
    /// For each file by name: how many bytes an earlier archive has of it, and the hash of that many first
    /// bytes.
    pub beginnings: HashMap<String, (u64, String)>,
}

/// Writes all files of a conversation, the manifest and the seal. `manifest` must have no files yet.
pub(super) fn pack(
    out: &mut File,
    to: &Path,
    source: &ArchiveSource,
    mut manifest: ArchiveManifest,
    earlier: Option<&ArchiveManifest>,
    level: ArchiveLevel,
) -> Result<Packed, ArchiveFailure> {
    let mut out = CountedWriter { to: BufWriter::with_capacity(CHUNK, out), bytes: 0 };
    let mut states = Vec::with_capacity(source.files.len());
    let mut beginnings = HashMap::new();
    let earlier = earlier.map(ArchiveManifest::by_name).unwrap_or_default();
    for file in &source.files {
        let mark = earlier.get(file.name.as_str()).map(|old| old.bytes);
        let offset = out.bytes;
        let (content, state) = source::open(&file.path)?;
        let mut encoder = encoder(&mut out, state.bytes, level).map_err(FsError::io("compress into", to))?;
        let mut hashes = Hashes { all: Sha256::new(), bytes: 0, mark, beginning: None };
        let mut content = content.take(state.bytes);
        each_block(&mut content, FsError::io("read", &file.path), |block| {
            hashes.take(block);
            encoder.write_all(block).map_err(FsError::io("write", to))
        })?;
        if hashes.bytes != state.bytes || source::state_at(&file.path) != Some(state) {
            return Err(ArchiveFailure::Changed(file.path.clone()));
        }
        encoder.finish().map_err(FsError::io("write", to))?;
        if let (Some(bytes), Some(sha256)) = (mark, hashes.beginning.take()) {
            beginnings.insert(file.name.clone(), (bytes, sha256));
        }
        manifest.files.push(ArchivedFile {
            name: file.name.clone(),
            bytes: state.bytes,
            sha256: hex(&hashes.all.finalize()),
            modified_ns: state.modified_ns,
            mode: state.mode,
            offset,
            packed: out.bytes - offset,
        });
        states.push(state);
    }
    let frame = Seal::frame(&manifest.to_bytes());
    let frame = frame.ok_or_else(|| FsError::io("write", to)(io::ErrorKind::FileTooLarge.into()))?;
    out.write_all(&frame).and_then(|()| out.flush()).map_err(FsError::io("write", to))?;
    Ok(Packed { manifest, states, beginnings })
}

fn encoder<W: Write>(out: W, bytes: u64, level: ArchiveLevel) -> io::Result<Encoder<'static, W>> {
    let mut encoder = Encoder::new(out, level.0)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(Some(bytes))?;
    if bytes > 1 << 20 {
        encoder.long_distance_matching(true)?;
        encoder.window_log(WINDOW_LOG)?;
    }
    Ok(encoder)
}

/// The hash of the whole file, and of its first `mark` bytes.
struct Hashes {
    all: Sha256,
    bytes: u64,
    mark: Option<u64>,
    beginning: Option<String>,
}

impl Hashes {
    fn take(&mut self, part: &[u8]) {
        let end = self.bytes + part.len() as u64;
        let within = self.mark.filter(|mark| (self.bytes..=end).contains(mark) && self.beginning.is_none());
        let split = within.and_then(|mark| usize::try_from(mark - self.bytes).ok()).unwrap_or(0);
        self.all.update(&part[..split]);
        if within.is_some() {
            self.beginning = Some(hex(&self.all.clone().finalize()));
        }
        self.all.update(&part[split..]);
        self.bytes = end;
    }
}

/// Counts the bytes written.
struct CountedWriter<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for CountedWriter<W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let n = self.to.write(part)?;
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_hashed_wherever_it_ends() {
        let whole = b"0123456789";
        for mark in 0..=10 {
            for chunk in 1..=10 {
                let mut hashes = Hashes { all: Sha256::new(), bytes: 0, mark: Some(mark), beginning: None };
                whole.chunks(chunk).for_each(|part| hashes.take(part));
                let wanted = hex(&Sha256::digest(&whole[..usize::try_from(mark).unwrap()]));
                assert_eq!(hashes.beginning, Some(wanted), "{mark} {chunk}");
                assert_eq!(hex(&hashes.all.finalize()), hex(&Sha256::digest(whole)));
            }
        }
        let mut longer = Hashes { all: Sha256::new(), bytes: 0, mark: Some(11), beginning: None };
        longer.take(whole);
        assert_eq!(longer.beginning, None);
    }
}
