//! Writes a package.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::PackageFailure;
use crate::core::hex::hex;
use crate::core::package::{FILES_ENTRY, MANIFEST_ENTRY, PackageFile, PackageManifest, PackageName};
use crate::fs::digest::length_and_sha256;
use crate::fs::file_error::FsError;

/// Writes a package; `open` is called for each file of the manifest, in order. If this fails, nothing of
/// the output may be used.
///
/// # Errors
/// When a file cannot be opened or read, its length or hash differs from the manifest, or the output cannot
/// be written.
pub fn write<W: Write>(
    out: W,
    manifest: &PackageManifest,
    mut open: impl FnMut(&PackageFile) -> Result<Box<dyn Read>, FsError>,
) -> Result<W, PackageFailure> {
    let output = PackageFailure::Output;
    let mut tar = Builder::new(GzEncoder::new(out, Compression::default()));
    let bytes = manifest.to_bytes();
    let top = header(MANIFEST_ENTRY, 0, bytes.len() as u64, manifest.created_ms, false).map_err(output)?;
    tar.append(&top, bytes.as_slice()).map_err(output)?;
    for (number, file) in manifest.files.iter().enumerate() {
        let name = format!("{FILES_ENTRY}/{}", file.name);
        let head = header(&name, number, file.bytes, file.modified_ms, file.executable).map_err(output)?;
        let mut content = Checked { from: open(file)?, hash: Sha256::new(), bytes: 0, failed: None };
        let appended = tar.append(&head, content.by_ref().take(file.bytes));
        let changed = || PackageFailure::Changed(file.name.to_string());
        if let Some(error) = content.failed.take() {
            return Err(FsError::io("read", Path::new(file.name.as_str()))(error).into());
        }
        appended.map_err(output)?;
        let more = content.from.read(&mut [0]).map_err(|_| changed())?;
        if content.bytes != file.bytes || more > 0 || hex(&content.hash.finalize()) != file.sha256 {
            return Err(changed());
        }
    }
    let mut out = tar.into_inner().and_then(GzEncoder::finish).map_err(output)?;
    out.flush().map_err(output)?;
    Ok(out)
}

/// Reads a file to its end for its entry in a manifest.
///
/// # Errors
/// When it cannot be read.
pub fn describe(
    name: PackageName,
    content: &mut dyn Read,
    modified: std::time::SystemTime,
    executable: bool,
) -> Result<PackageFile, FsError> {
    let (bytes, sha256) =
        length_and_sha256(content).map_err(FsError::io("read", Path::new(name.as_str())))?;
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    Ok(PackageFile { name, bytes, sha256, modified_ms, executable })
}

/// The name of an entry in the tar stream: the name itself if it fits the oldest format of tar, else the
/// file's number. The manifest has the name in any case.
pub(super) fn entry_name(name: &str, number: usize) -> io::Result<(Header, String)> {
    let mut header = Header::new_ustar();
    if header.set_path(name).is_ok() && header.path_bytes().as_ref() == name.as_bytes() {
        return Ok((header, name.to_owned()));
    }
    let numbered = format!("long-names/{number:06}");
    let mut header = Header::new_ustar();
    header.set_path(&numbered)?;
    Ok((header, numbered))
}

fn header(name: &str, number: usize, bytes: u64, modified_ms: u64, executable: bool) -> io::Result<Header> {
    let (mut header, _) = entry_name(name, number)?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(if executable { 0o700 } else { 0o600 });
    header.set_mtime(modified_ms / 1000);
    header.set_cksum();
    Ok(header)
}

/// Hashes and counts what is read.
struct Checked {
    from: Box<dyn Read>,
    hash: Sha256,
    bytes: u64,
    failed: Option<io::Error>,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.from.read(buffer) {
            Ok(n) => {
                self.hash.update(&buffer[..n]);
                self.bytes += n as u64;
                Ok(n)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            // Kept separate from output errors, which arrive the same way.
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
        }
    }
}
