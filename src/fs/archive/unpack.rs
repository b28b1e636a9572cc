//! Reads an archived conversation, which may be damaged or malicious.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zstd::zstd_safe::{self, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use super::ArchiveFailure;
use crate::core::archive::{ArchiveError, ArchiveLimits, ArchiveManifest, ArchivedFile, SEAL_BYTES, Seal};
use crate::core::hex::hex;
use crate::fs::digest::each_block;
use crate::fs::file_error::FsError;
use crate::sys::safe_file::{self, FileRule};

/// The largest window that is unpacked, as a power of two: 128 MiB, as `zstdcat` does.
const WINDOW_LOG_MAX: u32 = 27;
/// How many packed bytes are read at a time.
const INPUT: usize = 1 << 17;
/// How much of the end is read first, in bytes: most manifests are shorter.
const END: u64 = 8 << 10;

/// An archived conversation whose manifest was read and checked.
#[derive(Debug)]
pub struct ArchivedConversation {
    path: PathBuf,
    file: File,
    /// The length of the file in bytes.
    pub packed_bytes: u64,
    pub manifest: ArchiveManifest,
}

impl ArchivedConversation {
    /// Opens an archived conversation. Only the manifest is read.
    ///
    /// # Errors
    /// When it is not a file of this user, is cut off or damaged, or exceeds a limit.
    pub fn open(path: &Path, limits: &ArchiveLimits) -> Result<Self, ArchiveFailure> {
        let file = safe_file::open(path, FileRule::own(u64::MAX)).map_err(FsError::from)?;
        let file = file.ok_or_else(|| ArchiveFailure::Missing(path.to_owned()))?;
        Self::read(path, file, limits)
    }

    pub(super) fn read(path: &Path, file: File, limits: &ArchiveLimits) -> Result<Self, ArchiveFailure> {
        let refused = |why| ArchiveFailure::Refused { path: path.to_owned(), why };
        let total = file.metadata().map_err(FsError::io("look at", path))?.len();
        let read_last = |bytes: u64| -> Result<Vec<u8>, ArchiveFailure> {
            let mut last = vec![0; usize::try_from(bytes.min(total)).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut last, total - bytes.min(total)).map_err(FsError::io("read", path))?;
            Ok(last)
        };
        if total < SEAL_BYTES as u64 {
            return Err(refused(ArchiveError::NoSeal));
        }
        let mut last = read_last(END)?;
        let seal = Seal::read(&last, total, limits).map_err(refused)?;
        if seal.frame_bytes() > last.len() as u64 {
            last = read_last(seal.frame_bytes())?;
        }
        let frame = &last[last.len() - usize::try_from(seal.frame_bytes()).unwrap_or(0)..];
        let manifest = seal
            .open(frame)
            .and_then(|bytes| ArchiveManifest::parse(bytes, total - seal.frame_bytes(), limits))
            .map_err(refused)?;
        Ok(ArchivedConversation { path: path.to_owned(), file, packed_bytes: total, manifest })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of one file, unpacked while it is read: never more than the manifest states.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn content(&self, file: &ArchivedFile) -> Result<ArchivedReader, ArchiveFailure> {
        let failed = |error| FsError::io("read", &self.path)(error);
        let own = self.file.try_clone().map_err(failed)?;
        let packed = Window { file: own, at: file.offset, end: file.offset + file.packed };
        let unpacker = FrameUnpacker::spare().map_err(failed)?;
        Ok(ArchivedReader { packed, unpacker, left: file.bytes, name: file.name.clone() })
    }

    /// Passes one file in chunks to `part`, and checks its length and hash at the end.
    ///
    /// # Errors
    /// When they differ from the manifest, it cannot be unpacked, or `part` fails.
    pub fn checked(
        &self,
        file: &ArchivedFile,
        mut part: impl FnMut(&[u8]) -> Result<(), ArchiveFailure>,
    ) -> Result<(), ArchiveFailure> {
        let refused = |why| ArchiveFailure::Refused { path: self.path.clone(), why };
        let mut content = self.content(file)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
        let failed = |error: io::Error| {
            refused(ArchiveError::Packed { name: file.name.clone(), why: error.to_string() })
        };
        each_block(&mut content, failed, |block| {
            hash.update(block);
            bytes += block.len() as u64;
            part(block)
        })?;
        if bytes != file.bytes {
            return Err(refused(ArchiveError::Length { name: file.name.clone(), bytes: file.bytes }));
        }
        if !content.is_at_end() {
            return Err(refused(ArchiveError::Place(file.name.clone())));
        }
        if hex(&hash.finalize()) != file.sha256 {
            return Err(refused(ArchiveError::Hash(file.name.clone())));
        }
        Ok(())
    }

    /// Reads everything and checks lengths and hashes.
    ///
    /// # Errors
    /// The first difference from the manifest.
    pub fn verify(&self) -> Result<(), ArchiveFailure> {
        self.manifest.files.iter().try_for_each(|file| self.checked(file, |_| Ok(())))
    }
}

/// The content of one file of an archived conversation.
pub struct ArchivedReader {
    packed: Window,
    unpacker: FrameUnpacker,
    left: u64,
    name: String,
}

impl ArchivedReader {
    /// Whether the frame fills the space that the manifest assigns to it.
    fn is_at_end(&self) -> bool {
        self.unpacker.is_done && self.unpacker.input().is_empty() && self.packed.at == self.packed.end
    }
}

impl Drop for ArchivedReader {
    fn drop(&mut self) {
        self.unpacker.keep();
    }
}

impl Read for ArchivedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            // The end of the frame has its checksum; one more byte would be more than the manifest states.
            let mut more = [0; 1];
            return match self.unpacker.read(&mut self.packed, &mut more)? {
                0 => Ok(0),
                _ => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{} is longer than its manifest says", self.name),
                )),
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let n = self.unpacker.read(&mut self.packed, &mut buffer[..most])?;
        self.left -= n as u64;
        Ok(n)
    }
}

/// Unpacks one zstd frame. Each thread reuses its unpacker for the next file: faulting in a fresh window
/// costs as much as unpacking into it.
struct FrameUnpacker {
    /// `None` once it was returned for reuse.
    context: Option<DCtx<'static>>,
    buffer: Vec<u8>,
    /// The part of `buffer` that is still to be unpacked.
    at: usize,
    end: usize,
    is_done: bool,
}

thread_local! {
    static SPARE: RefCell<Option<(DCtx<'static>, Vec<u8>)>> = const { RefCell::new(None) };
}

impl FrameUnpacker {
    fn spare() -> io::Result<Self> {
        let kept = SPARE.try_with(|spare| spare.borrow_mut().take()).ok().flatten();
        let (mut context, buffer) = match kept {
            Some(kept) => kept,
            None => {
                let context = DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
                (context, vec![0; INPUT])
            }
        };
        context.reset(ResetDirective::SessionAndParameters).map_err(zstd_error)?;
        context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(zstd_error)?;
        Ok(FrameUnpacker { context: Some(context), buffer, at: 0, end: 0, is_done: false })
    }

    fn keep(&mut self) {
        if let Some(context) = self.context.take() {
            let buffer = std::mem::take(&mut self.buffer);
            let _ = SPARE.try_with(|spare| spare.borrow_mut().replace((context, buffer)));
        }
    }

    /// Input that was read but not yet unpacked.
    fn input(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// The next bytes of the frame; 0 at its end.
    fn read(&mut self, packed: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
        let Some(context) = &mut self.context else { return Ok(0) };
        while !self.is_done {
            let mut input = InBuffer::around(&self.buffer[self.at..self.end]);
            let mut output = OutBuffer::around(&mut *into);
            let left = context.decompress_stream(&mut output, &mut input).map_err(zstd_error)?;
            self.at += input.pos();
            self.is_done = left == 0;
            if output.pos() > 0 {
                return Ok(output.pos());
            }
            if self.at == self.end && !self.is_done {
                (self.at, self.end) = (0, packed.read(&mut self.buffer)?);
                if self.end == 0 {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "its frame is cut off"));
                }
            }
        }
        Ok(0)
    }
}

fn zstd_error(code: zstd_safe::ErrorCode) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, zstd_safe::get_error_name(code))
}

/// A range of a file, read at its own position.
struct Window {
    file: File,
    at: u64,
    end: u64,
}

impl Read for Window {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let n = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
