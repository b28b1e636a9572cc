//! Reads a package that may come from anybody.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

use super::PackageFailure;
use super::write::entry_name;
use crate::core::hex::hex;
use crate::core::package::{
    FILES_ENTRY, MANIFEST_ENTRY, PackageError, PackageFile, PackageLimits, PackageManifest,
};
use crate::fs::atomic;
use crate::fs::file_error::FsError;

/// The block size of a tar stream, in bytes.
const BLOCK: usize = 512;
/// How much may follow the end of the tar stream, in bytes: tar pads its last record with zeros.
const PADDING: u64 = 1 << 20;

/// A package whose manifest was read and checked; its files follow.
pub struct PackageReader<R: Read> {
    stream: PackedStream<R>,
    manifest: PackageManifest,
}

impl<R: Read> PackageReader<R> {
    /// Reads the manifest.
    ///
    /// # Errors
    /// When it is not a package, the manifest is refused, or the input cannot be read.
    pub fn open(input: R, limits: &PackageLimits) -> Result<Self, PackageFailure> {
        let mut stream = PackedStream::new(input, limits);
        let other = |why: String| PackageFailure::from(PackageError::NotAPackage(why));
        let first = match stream.entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => return Err(other("it is empty".to_owned())),
            Err(PackageFailure::Input(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(other("it is not compressed with gzip".to_owned()));
            }
            Err(PackageFailure::CutShort) => return Err(other("it is too short".to_owned())),
            Err(error) => return Err(error),
        };
        if first.name != MANIFEST_ENTRY.as_bytes() {
            return Err(other(format!("it does not begin with {MANIFEST_ENTRY}")));
        }
        if first.bytes > limits.manifest_bytes {
            let (found, limit) = (first.bytes, limits.manifest_bytes);
            return Err(PackageError::Limit { what: "bytes of the manifest", found, limit }.into());
        }
        let mut bytes = Vec::new();
        stream.content(first.bytes, |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        let manifest = PackageManifest::parse(&bytes, limits)?;
        Ok(PackageReader { stream, manifest })
    }

    pub fn manifest(&self) -> &PackageManifest {
        &self.manifest
    }

    /// Writes all files below `dir`, which must be empty and private. They are synced, 0600 (programs 0700)
    /// in directories of 0700, and have the times of the manifest. After a failure, delete the directory:
    /// some files may have been written.
    ///
    /// # Errors
    /// When anything in the stream differs from the manifest, or a file cannot be written.
    pub fn unpack(self, dir: &Path) -> Result<PackageManifest, PackageFailure> {
        let mut directories = BTreeSet::from([dir.to_owned()]);
        let manifest = self.each(|file| Unpacked::new(dir, file, &mut directories))?;
        // The deepest first: each name is durable once the directory above it is synced.
        for made in directories.iter().rev() {
            atomic::sync_dir(made)?;
        }
        Ok(manifest)
    }

    /// Reads it to its end and checks everything, and writes nothing.
    ///
    /// # Errors
    /// As [`PackageReader::unpack`].
    pub fn verify(self) -> Result<PackageManifest, PackageFailure> {
        self.each(|_| Ok(Nowhere))
    }

    fn each<S: Sink>(
        mut self,
        mut sink: impl FnMut(&PackageFile) -> Result<S, PackageFailure>,
    ) -> Result<PackageManifest, PackageFailure> {
        for (number, file) in self.manifest.files.iter().enumerate() {
            let name = file.name.to_string();
            let (_, wanted) =
                entry_name(&format!("{FILES_ENTRY}/{name}"), number).map_err(PackageFailure::Input)?;
            let entry = self.stream.entry()?.ok_or(PackageFailure::CutShort)?;
            if entry.name != wanted.as_bytes() {
                let found = String::from_utf8_lossy(&entry.name).into_owned();
                return Err(PackageError::Order { found, wanted }.into());
            }
            if entry.bytes != file.bytes {
                return Err(PackageError::Length { name, found: entry.bytes, wanted: file.bytes }.into());
            }
            let mut hash = Sha256::new();
            let mut to = sink(file)?;
            self.stream.content(entry.bytes, |part| {
                hash.update(part);
                to.take(part)
            })?;
            if hex(&hash.finalize()) != file.sha256 {
                return Err(PackageError::Hash(name).into());
            }
            to.finish(file)?;
        }
        self.stream.end()?;
        Ok(self.manifest)
    }
}

/// Where the content of a file goes.
trait Sink {
    fn take(&mut self, part: &[u8]) -> Result<(), PackageFailure>;
    fn finish(self, file: &PackageFile) -> Result<(), PackageFailure>;
}

struct Nowhere;

impl Sink for Nowhere {
    fn take(&mut self, _: &[u8]) -> Result<(), PackageFailure> {
        Ok(())
    }

    fn finish(self, _: &PackageFile) -> Result<(), PackageFailure> {
        Ok(())
    }
}

struct Unpacked {
    file: File,
    path: std::path::PathBuf,
}

impl Unpacked {
    fn new(
        dir: &Path,
        file: &PackageFile,
        directories: &mut BTreeSet<std::path::PathBuf>,
    ) -> Result<Self, PackageFailure> {
        let mut at = dir.to_owned();
        let mut parts = file.name.as_str().split('/').peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            if parts.peek().is_some() && directories.insert(at.clone()) {
                atomic::make_dir(&at).map_err(FsError::io("make the directory", &at))?;
            }
        }
        // The system refuses a file that exists, also a link.
        let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&at);
        Ok(Unpacked { file: open.map_err(FsError::io("create", &at))?, path: at })
    }
}

impl Sink for Unpacked {
    fn take(&mut self, part: &[u8]) -> Result<(), PackageFailure> {
        Ok(self.file.write_all(part).map_err(FsError::io("write", &self.path))?)
    }

    fn finish(self, file: &PackageFile) -> Result<(), PackageFailure> {
        let mode = if file.executable { 0o700 } else { 0o600 };
        let permissions = std::fs::Permissions::from_mode(mode);
        self.file.set_permissions(permissions).map_err(FsError::io("write", &self.path))?;
        if let Some(at) = UNIX_EPOCH.checked_add(Duration::from_millis(file.modified_ms)) {
            // A time that the file system cannot store is not worth losing the file.
            let _ = self.file.set_modified(at);
        }
        Ok(self.file.sync_all().map_err(FsError::io("sync", &self.path))?)
    }
}

/// The header of an entry.
struct PackedEntry {
    name: Vec<u8>,
    bytes: u64,
}

/// The tar stream within the compressed one. Headers are parsed here, and only plain files are accepted:
/// the extensions of tar let a stranger request memory.
struct PackedStream<R: Read> {
    gzip: GzDecoder<BufReader<Counted<R>>>,
    compressed: Rc<Cell<u64>>,
    unpacked: u64,
    ratio: u64,
    ratio_from: u64,
    buffer: Vec<u8>,
}

impl<R: Read> PackedStream<R> {
    fn new(input: R, limits: &PackageLimits) -> Self {
        let compressed = Rc::new(Cell::new(0));
        let counted = Counted { input, bytes: Rc::clone(&compressed) };
        PackedStream {
            gzip: GzDecoder::new(BufReader::with_capacity(1 << 16, counted)),
            compressed,
            unpacked: 0,
            ratio: limits.ratio,
            ratio_from: limits.ratio_from,
            buffer: vec![0; 1 << 17],
        }
    }

    fn fill(&mut self, length: usize) -> Result<(), PackageFailure> {
        self.gzip.read_exact(&mut self.buffer[..length]).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => PackageFailure::CutShort,
            _ => PackageFailure::Input(error),
        })?;
        self.unpacked += length as u64;
        let most = self.compressed.get().saturating_mul(self.ratio);
        if self.unpacked > self.ratio_from && self.unpacked > most {
            return Err(PackageError::Ratio(self.ratio).into());
        }
        Ok(())
    }

    /// The next header; `None` at the end of the tar stream.
    fn entry(&mut self) -> Result<Option<PackedEntry>, PackageFailure> {
        self.fill(BLOCK)?;
        let block = &self.buffer[..BLOCK];
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let header = Header::from_byte_slice(block);
        let damaged = || PackageError::NotAPackage("a header in it is damaged".to_owned());
        let mut sum = header.clone();
        sum.set_cksum();
        if header.cksum().ok() != sum.cksum().ok() {
            return Err(damaged().into());
        }
        let name = header.path_bytes().into_owned();
        let found = match header.entry_type() {
            EntryType::Regular => None,
            EntryType::Link => Some("a hard link"),
            EntryType::Symlink => Some("a symbolic link"),
            EntryType::Char | EntryType::Block => Some("a device"),
            EntryType::Fifo => Some("a pipe"),
            EntryType::Directory => Some("a directory"),
            EntryType::GNUSparse => Some("a file with holes"),
            _ => Some("an extension of tar"),
        };
        if let Some(found) = found {
            let name = String::from_utf8_lossy(&name).into_owned();
            return Err(PackageError::NotAFile { name, found }.into());
        }
        Ok(Some(PackedEntry { name, bytes: header.size().map_err(|_| damaged())? }))
    }

    /// The content of an entry, in chunks, and the padding of its last block.
    fn content(
        &mut self,
        bytes: u64,
        mut part: impl FnMut(&[u8]) -> Result<(), PackageFailure>,
    ) -> Result<(), PackageFailure> {
        let mut left = bytes;
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
            self.fill(length)?;
            part(&self.buffer[..length])?;
            left -= length as u64;
        }
        let over = usize::try_from(bytes % BLOCK as u64).unwrap_or(0);
        if over > 0 { self.fill(BLOCK - over) } else { Ok(()) }
    }

    /// Reads to the end of the input: the end of the tar stream, the checksum of the compressed one, and
    /// nothing else.
    fn end(mut self) -> Result<(), PackageFailure> {
        match self.entry() {
            Ok(None) => {}
            Ok(Some(_)) | Err(PackageFailure::Refused(_)) => return Err(PackageError::Trailing.into()),
            Err(error) => return Err(error),
        }
        let mut after: u64 = 0;
        loop {
            let n = self.gzip.read(&mut self.buffer).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => PackageFailure::CutShort,
                _ => PackageFailure::Input(error),
            })?;
            after += n as u64;
            if n == 0 {
                break;
            }
            if after > PADDING || self.buffer[..n].iter().any(|byte| *byte != 0) {
                return Err(PackageError::Trailing.into());
            }
        }
        // One block of zeros is not the end: the second one was cut off.
        if after < BLOCK as u64 {
            return Err(PackageFailure::CutShort);
        }
        match self.gzip.into_inner().fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(PackageError::Trailing.into()),
            Err(error) => Err(PackageFailure::Input(error)),
        }
    }
}

struct Counted<R> {
    input: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.bytes.set(self.bytes.get() + n as u64);
        Ok(n)
    }
}
