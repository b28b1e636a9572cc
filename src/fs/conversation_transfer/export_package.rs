//! Writes a conversation as a package.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::TransferError;
use super::file_place::{FilePlace, is_packed};
use super::transfer_lines;
use crate::core::conversation_transfer::{LINE_BYTES, redact_line};
use crate::core::package::{PackageFile, PackageKind, PackageManifest, PackageName};
use crate::core::time::WallTime;
use crate::fs::conversations::{ConversationFile, ConversationFiles, FileRole, FileState};
use crate::fs::file_error::FsError;
use crate::fs::package;
use crate::sys::safe_file::{self, FileRule};

/// How a conversation is exported.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The directory that its lines name.
    pub dir: Option<String>,
    /// Whether to redact secrets. File history is then left out: what `/rewind` restores must not be
    /// changed.
    pub redact: bool,
    /// The package's creation time.
    pub now: WallTime,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// How many files are in the package.
    pub files: usize,
    pub bytes: u64,
    /// How many lines, or files without lines, were redacted.
    pub redacted: u64,
    /// Files that were left out: not plain files, names that are not text, and file history in a redacted
    /// package.
    pub skipped: Vec<PathBuf>,
}

/// The content of a packed file.
enum PackedContent {
    /// The file, in the state that it was listed in.
    Original(PathBuf, FileState),
    /// A redacted copy, in an unnamed file.
    Redacted(File),
}

/// Writes everything that Claude needs to continue a conversation on another machine. If this fails,
/// nothing of the output may be used.
///
/// # Errors
/// When a file cannot be read or changes meanwhile, or the output cannot be written.
pub fn export<W: Write>(
    out: W,
    claude: &Path,
    found: &ConversationFiles,
    options: &ExportOptions,
) -> Result<(W, ExportReport), TransferError> {
    let mut report = ExportReport { skipped: found.odd.clone(), ..ExportReport::default() };
    let mut files = Vec::new();
    let mut contents = HashMap::new();
    for file in found.files.iter().filter(|file| is_packed(file.role)) {
        let place = FilePlace::of(file.role, &file.path, &found.id);
        let name = place.as_ref().and_then(FilePlace::package_name);
        let name = name.and_then(|name| PackageName::parse(&format!("{}/{name}", found.id)).ok());
        let is_left_out = options.redact && file.role == FileRole::FileHistory;
        let (Some(place), Some(name), false) = (place, name, is_left_out) else {
            report.skipped.push(file.path.clone());
            continue;
        };
        let (described, content) = describe(file, &place, name, options.redact, &mut report)?;
        report.bytes += described.bytes;
        contents.insert(described.name.to_string(), content);
        files.push(described);
    }
    report.files = files.len();
    let info = json!({"conversations": [{
        "id": found.id,
        "dir": options.dir,
        "claude": claude.to_string_lossy(),
        "sidecar": found.transcript.project_dir().join(found.id.as_str()).to_string_lossy(),
        "redacted": options.redact,
    }]});
    let created_ms = u64::try_from(options.now.0).unwrap_or(0);
    let manifest = PackageManifest::new(PackageKind::Conversations, created_ms, info, files);
    let out = package::write(out, &manifest, |file| match contents.get(file.name.as_str()) {
        Some(PackedContent::Original(path, state)) => Ok(Box::new(open(path, *state)?)),
        Some(PackedContent::Redacted(file)) => {
            let again = file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
            Ok(Box::new(again.map_err(FsError::io("read", Path::new("a temporary file")))?))
        }
        None => Err(FsError::io("read", Path::new(file.name.as_str()))(io::ErrorKind::NotFound.into())),
    })?;
    Ok((out, report))
}

/// A file's entry in the manifest, and its content.
fn describe(
    file: &ConversationFile,
    place: &FilePlace,
    name: PackageName,
    redact: bool,
    report: &mut ExportReport,
) -> Result<(PackageFile, PackedContent), TransferError> {
    let state = file.state;
    let mut content = open(&file.path, state)?;
    let modified = Duration::from_nanos(u64::try_from(state.modified_ns).unwrap_or(0));
    let modified = UNIX_EPOCH.checked_add(modified).unwrap_or(UNIX_EPOCH);
    if !redact {
        let described = package::describe(name, &mut content, modified, false)?;
        return Ok((described, PackedContent::Original(file.path.clone(), state)));
    }
    let temporary = |doing| FsError::io(doing, Path::new("a temporary file"));
    let mut safe = tempfile::tempfile().map_err(temporary("create"))?;
    let mut to = BufWriter::new(&safe);
    if place.has_lines() {
        let mut count = 0;
        let too_long = transfer_lines::copy(&mut BufReader::new(content), &mut to, LINE_BYTES, |line| {
            redact_line(line).inspect(|_| count += 1)
        });
        if too_long.map_err(FsError::io("read", &file.path))? > 0 {
            return Err(TransferError::TooLongToRedact(file.path.clone()));
        }
        report.redacted += count;
    } else {
        let bytes = read_whole(content, state, &file.path)?;
        // Binary content, such as an image, has no secrets that can be found.
        let changed = std::str::from_utf8(&bytes).is_ok().then(|| redact_line(&bytes)).flatten();
        report.redacted += u64::from(changed.is_some());
        to.write_all(changed.as_deref().unwrap_or(&bytes)).map_err(temporary("write"))?;
    }
    to.flush().map_err(temporary("write"))?;
    drop(to);
    safe.rewind().map_err(temporary("read"))?;
    let described = package::describe(name, &mut safe, modified, false)?;
    Ok((described, PackedContent::Redacted(safe)))
}

/// The content of a file without lines.
fn read_whole(from: impl Read, state: FileState, path: &Path) -> Result<Vec<u8>, TransferError> {
    if state.bytes > LINE_BYTES as u64 {
        return Err(TransferError::TooLongToRedact(path.to_owned()));
    }
    let mut bytes = Vec::new();
    BufReader::new(from).read_to_end(&mut bytes).map_err(FsError::io("read", path))?;
    Ok(bytes)
}

/// Opens a file, which must be unchanged.
fn open(path: &Path, state: FileState) -> Result<File, FsError> {
    let file = safe_file::open(path, FileRule::own(u64::MAX))?;
    let file = file.ok_or_else(|| FsError::io("open", path)(io::ErrorKind::NotFound.into()))?;
    let meta = file.metadata().map_err(FsError::io("look at", path))?;
    match FileState::of(&meta) == state {
        true => Ok(file),
        false => Err(FsError::io("read", path)(io::Error::other("it changed meanwhile"))),
    }
}
