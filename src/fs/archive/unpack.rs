//! Reading an archived conversation, which may be damaged or made to do harm.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zstd::stream::read::Decoder;

use super::ArchiveFailure;
use super::pack::hex;
use crate::core::archive::{ArchiveError, ArchiveLimits, ArchiveManifest, ArchivedFile, SEAL_BYTES, Seal};
use crate::fs::error::FsError;
use crate::sys::safe_file::{self, FileRule};

/// The largest window that is unpacked, as a power of two: 128 MiB, as `zstdcat` does.
const WINDOW_LOG_MAX: u32 = 27;
/// How much of the end is read at first, in bytes: most manifests are shorter.
const END: u64 = 8 << 10;

/// An archived conversation whose manifest was read and checked.
#[derive(Debug)]
pub struct ArchivedConversation {
    path: PathBuf,
    file: File,
    /// The length of the file in bytes.
    pub packed_bytes: u64,
    /// What is in it.
    pub manifest: ArchiveManifest,
}

impl ArchivedConversation {
    /// Opens one. Only the manifest is read.
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

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of one of its files, unpacked as it is read: never more than the manifest says.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn content(&self, file: &ArchivedFile) -> Result<ArchivedReader, ArchiveFailure> {
        let failed = |error| FsError::io("read", &self.path)(error);
        let own = self.file.try_clone().map_err(failed)?;
        let packed = Window { file: own, at: file.offset, end: file.offset + file.packed };
        let input = BufReader::with_capacity(1 << 17, packed);
        let mut decoder = Decoder::with_buffer(input).map_err(failed)?.single_frame();
        decoder.window_log_max(WINDOW_LOG_MAX).map_err(failed)?;
        Ok(ArchivedReader { decoder, left: file.bytes, name: file.name.clone() })
    }

    /// Passes one of its files on in parts, and compares its length and its hash at the end.
    ///
    /// # Errors
    /// When they differ from the manifest's, it cannot be unpacked, or `part` fails.
    pub fn checked(
        &self,
        file: &ArchivedFile,
        mut part: impl FnMut(&[u8]) -> Result<(), ArchiveFailure>,
    ) -> Result<(), ArchiveFailure> {
        let refused = |why| ArchiveFailure::Refused { path: self.path.clone(), why };
        let mut content = self.content(file)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
        let mut buffer = vec![0; 1 << 17];
        loop {
            let n = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(refused(ArchiveError::Packed {
                        name: file.name.clone(),
                        why: error.to_string(),
                    }));
                }
            };
            hash.update(&buffer[..n]);
            bytes += n as u64;
            part(&buffer[..n])?;
        }
        if bytes != file.bytes {
            return Err(refused(ArchiveError::Length { name: file.name.clone(), bytes: file.bytes }));
        }
        if !content.is_at_end() {
            return Err(refused(ArchiveError::Place(file.name.clone())));
        }
        if hex(hash) != file.sha256 {
            return Err(refused(ArchiveError::Hash(file.name.clone())));
        }
        Ok(())
    }

    /// Reads all of it and compares lengths and hashes.
    ///
    /// # Errors
    /// The first thing that differs from the manifest.
    pub fn verify(&self) -> Result<(), ArchiveFailure> {
        self.manifest.files.iter().try_for_each(|file| self.checked(file, |_| Ok(())))
    }
}

/// The content of one file of an archived conversation.
pub struct ArchivedReader {
    decoder: Decoder<'static, BufReader<Window>>,
    left: u64,
    name: String,
}

impl ArchivedReader {
    /// Whether its frame fills the place that the manifest gives it.
    fn is_at_end(&self) -> bool {
        let input = self.decoder.get_ref();
        input.buffer().is_empty() && input.get_ref().at == input.get_ref().end
    }
}

impl Read for ArchivedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            // The end of the frame has its checksum; one more byte is more than the manifest says.
            let mut more = [0; 1];
            return match self.decoder.read(&mut more)? {
                0 => Ok(0),
                _ => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{} is longer than its manifest says", self.name),
                )),
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let n = self.decoder.read(&mut buffer[..most])?;
        self.left -= n as u64;
        Ok(n)
    }
}

/// A part of a file, read at its own position.
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
