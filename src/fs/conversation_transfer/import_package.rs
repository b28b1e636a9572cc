//! Reads a package of conversations, which may come from anybody.

use std::collections::HashMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;

use super::TransferError;
use super::file_place::FilePlace;
use super::kill_point::kill_point;
use super::transfer_lines::leave_out_acting_parts;
use super::transfers::{RESERVE, Transfers};
use crate::core::claude::line_context::project_dir_name;
use crate::core::conversation_transfer::{ForeignProject, LeftOutOfLines};
use crate::core::ids::ConversationId;
use crate::core::package::{PackageError, PackageKind, PackageLimits, PackageManifest};
use crate::fs::conversations::FileRole;
use crate::fs::file_error::FsError;
use crate::fs::package::PackageReader;
use crate::fs::{atomic, free_space};

/// The directory below `STATE/transfers` in which a package is unpacked.
const UNPACKED: &str = "unpacked";
/// The name of a file that is created once a conversation is in place, and of the directory while it is
/// removed.
const PLACED: &str = "placed";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedConversation {
    pub id: ConversationId,
    /// The directory that it belonged to, if its lines name one.
    pub dir: Option<String>,
    /// Whether secrets were hidden.
    pub is_redacted: bool,
    /// What was left out of its transcripts when they were unpacked.
    pub left_out: LeftOutOfLines,
    /// Claude's directory on the other machine.
    pub(super) claude: String,
    /// The directory of its own files on the other machine.
    pub(super) sidecar: String,
    /// Its files, each with its place.
    pub(super) files: Vec<(FilePlace, PathBuf)>,
    /// When its transcript was written last, in milliseconds since 1970.
    pub modified_ms: u64,
    pub bytes: u64,
}

impl PackedConversation {
    /// How many files it has.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Dates its unpacked files now.
    ///
    /// # Errors
    /// When a file cannot be dated.
    pub fn date_now(&self) -> Result<(), TransferError> {
        let now = SystemTime::now();
        for (_, path) in &self.files {
            let dated = fs::File::options().write(true).open(path).and_then(|file| file.set_modified(now));
            dated.map_err(FsError::io("date", path))?;
        }
        Ok(())
    }
}

/// The `info` of the manifest.
#[derive(Deserialize)]
struct PackageInfo {
    conversations: Vec<ConversationInfo>,
}

#[derive(Deserialize)]
struct ConversationInfo {
    id: ConversationId,
    #[serde(default)]
    dir: Option<String>,
    claude: String,
    sidecar: String,
    #[serde(default)]
    redacted: bool,
}

/// The conversations of a package whose files are, or will be, below `dir`.
///
/// # Errors
/// When the package contains something else, or a file that belongs to none of its conversations.
pub fn conversations_of(
    manifest: &PackageManifest,
    dir: &Path,
) -> Result<Vec<PackedConversation>, TransferError> {
    if manifest.kind != PackageKind::Conversations {
        let wanted = PackageKind::Conversations;
        let refused = PackageError::Kind { found: manifest.kind, wanted };
        return Err(TransferError::Package(refused.into()));
    }
    let bad = |why: String| TransferError::BadList(why);
    let info: PackageInfo =
        serde_json::from_value(manifest.info.clone()).map_err(|error| bad(error.to_string()))?;
    let mut found: Vec<PackedConversation> = Vec::new();
    let mut places: HashMap<ConversationId, usize> = HashMap::new();
    for info in info.conversations {
        if places.insert(info.id.clone(), found.len()).is_some() {
            return Err(bad(format!("it names {} twice", info.id)));
        }
        let absolute = |path: &str| path.starts_with('/');
        if !absolute(&info.claude)
            || !absolute(&info.sidecar)
            || info.dir.as_deref().is_some_and(|dir| !absolute(dir))
        {
            return Err(bad("it names a path that is not absolute".to_owned()));
        }
        found.push(PackedConversation {
            id: info.id,
            dir: info.dir,
            is_redacted: info.redacted,
            left_out: LeftOutOfLines::default(),
            claude: info.claude.trim_end_matches('/').to_owned(),
            sidecar: info.sidecar.trim_end_matches('/').to_owned(),
            files: Vec::new(),
            modified_ms: 0,
            bytes: 0,
        });
    }
    for file in &manifest.files {
        let owner = file.name.as_str().split_once('/').and_then(|(id, name)| {
            let at = places.get(&id.parse::<ConversationId>().ok()?)?;
            // The id must be spelled as in the list.
            let one = found.get_mut(*at).filter(|one| one.id.as_str() == id)?;
            Some((FilePlace::from_package(name)?, one))
        });
        let Some((place, owner)) = owner else {
            return Err(bad(format!("{} belongs to no conversation", file.name)));
        };
        if place.role == FileRole::Transcript {
            owner.modified_ms = file.modified_ms;
        }
        owner.bytes += file.bytes;
        owner.files.push((place, dir.join(file.name.as_str())));
    }
    let has_transcript =
        |one: &PackedConversation| one.files.iter().any(|(place, _)| place.role == FileRole::Transcript);
    match found.iter().find(|one| !has_transcript(one)) {
        _ if found.is_empty() => Err(bad("it is empty".to_owned())),
        Some(one) => Err(bad(format!("{} has no transcript", one.id))),
        None => Ok(found),
    }
}

/// A package whose files are unpacked and checked against their hashes. Dropping it removes them.
#[derive(Debug)]
pub struct UnpackedPackage {
    transfers: PathBuf,
    pub conversations: Vec<PackedConversation>,
}

impl Drop for UnpackedPackage {
    fn drop(&mut self) {
        // The next call removes what is left.
        let _ = remove_unpacked(&self.transfers);
    }
}

impl Transfers<'_> {
    /// Reads a package to its end and unpacks it into a private directory of hopty. Parts that Claude would
    /// act on when it resumes a conversation are left out.
    ///
    /// # Errors
    /// When the package is refused or cannot be unpacked; nothing of it is left then.
    pub fn unpack(&self, input: impl Read, limits: &PackageLimits) -> Result<UnpackedPackage, TransferError> {
        let reader = PackageReader::open(input, limits)?;
        let dir = self.dir.join(UNPACKED);
        let mut package = UnpackedPackage {
            conversations: conversations_of(reader.manifest(), &dir)?,
            transfers: self.dir.clone(),
        };
        let total = reader.manifest().total_bytes();
        if let Some(lack) = free_space::space_problem(&self.dir, total.saturating_add(RESERVE)) {
            return Err(TransferError::NoRoom(lack));
        }
        kill_point();
        atomic::make_dir(&dir).map_err(FsError::io("make the directory", &dir))?;
        kill_point();
        reader.unpack(&dir)?;
        kill_point();
        for one in &mut package.conversations {
            let project = ForeignProject {
                folder: one.dir.as_deref().map(project_dir_name).unwrap_or_default(),
                claude: vec![one.claude.clone(), one.sidecar.clone()],
            };
            for (_, path) in one.files.iter().filter(|(place, _)| place.may_have_acting_parts()) {
                one.left_out += leave_out_acting_parts(path, &project)?;
            }
        }
        Ok(package)
    }
}

/// Notes that a conversation of the package is in place: leftovers are then not half an import.
pub(super) fn note_placed(transfers: &Path) {
    kill_point();
    // If this fails, only the message of the next call is less precise.
    let _ = fs::File::create(transfers.join(UNPACKED).join(PLACED));
}

/// Removes what an import has unpacked; returns whether nothing of it was put in place.
pub(super) fn remove_unpacked(transfers: &Path) -> Result<bool, TransferError> {
    let (unpacked, placed) = (transfers.join(UNPACKED), transfers.join(PLACED));
    remove_directory(&placed)?;
    if unpacked.join(PLACED).exists() {
        kill_point();
        fs::rename(&unpacked, &placed).map_err(FsError::io("rename", &unpacked))?;
        remove_directory(&placed)?;
        return Ok(false);
    }
    remove_directory(&unpacked)
}

fn remove_directory(dir: &Path) -> Result<bool, TransferError> {
    kill_point();
    match fs::remove_dir_all(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FsError::io("delete", dir)(error).into()),
    }
}
