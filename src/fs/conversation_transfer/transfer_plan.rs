//! Plans which file goes where.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::TransferError;
use super::file_place::FilePlace;
use super::import_package::PackedConversation;
use super::project_folder::{ProjectMemory, project_folder};
use super::transfer_record::{TransferKind, TransferRecord, TransferStep};
use crate::core::conversation_transfer::{PathMap, TransferRules};
use crate::core::ids::ConversationId;
use crate::fs::conversations::{ConversationFiles, FileRole, FileState};
use crate::fs::file_error::FsError;
use crate::fs::restore_target::missing_directories;
use crate::sys::safe_file::{self, FileRule};

/// The prefix of files that are written before they get their own name.
const STAGED_PREFIX: &str = ".hopty-transfer-";

/// The target of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferTarget {
    /// The directory that the conversation will belong to: an absolute path.
    pub dir: String,
    pub id: ConversationId,
}

/// Which file goes where, and how its lines change.
#[derive(Clone, Debug)]
pub struct TransferPlan {
    pub(super) record: TransferRecord,
    /// `None` if no lines change.
    pub(super) rules: Option<TransferRules>,
    /// Files that stay where they are: not plain files, or their name is taken.
    pub skipped: Vec<PathBuf>,
}

impl TransferPlan {
    /// Moves or copies a conversation to `target`. `dir` is the directory that its lines name, and `map`
    /// lists pairs of directories to rename in its lines.
    ///
    /// # Errors
    /// When one of the new places is taken, or a file of the conversation cannot be used.
    pub fn new(
        kind: TransferKind,
        claude: &Path,
        found: &ConversationFiles,
        dir: Option<&str>,
        target: &TransferTarget,
        map: Vec<(String, String)>,
    ) -> Result<Self, TransferError> {
        let old_folder = found.transcript.project_dir();
        let new_folder = project_folder(claude, &target.dir);
        if found.id == target.id && old_folder == new_folder {
            return Err(TransferError::SameFolder(target.dir.clone()));
        }
        let old = OldPlaces {
            id: &found.id,
            sidecar: text(&old_folder.join(found.id.as_str()))?,
            claude: text(claude)?,
        };
        let rules = rules(&old, claude, &new_folder, target, map)?;
        let mut record = TransferRecord::new(kind, dir.map(str::to_owned), target.dir.clone());
        record.id = Some(found.id.clone());
        let mut skipped = found.odd.clone();
        for file in &found.files {
            let is_shared = matches!(file.role, FileRole::Plan | FileRole::DebugLog);
            // A conversation that keeps its id keeps everything that is filed under the id alone.
            let stays = found.id == target.id
                && !matches!(file.role, FileRole::Transcript | FileRole::Sidecar | FileRole::OldAgent);
            let place = FilePlace::of(file.role, &file.path, &found.id).filter(|_| !is_shared && !stays);
            let Some(place) = place else { continue };
            let to = place.path(claude, &new_folder, &target.id);
            // An old sub-agent is named by its own id, so a copy in the same folder has no free name for
            // it.
            if file.role == FileRole::OldAgent && old_folder == new_folder {
                skipped.push(file.path.clone());
                continue;
            }
            record.steps.push(TransferStep { has_lines: place.has_lines(), ..step(&file.path, to)? });
        }
        // The transcript is the first of the files, and is put in place last.
        if !record.steps.is_empty() {
            record.steps.rotate_left(1);
        }
        // A transcript that was named by its path is in a directory of the person.
        let projects = claude.join("projects");
        let is_claudes = |dir: &Path| dir.starts_with(&projects) && dir != projects;
        record.old_dirs = found.dirs.iter().filter(|dir| dir.starts_with(old_folder)).cloned().collect();
        record.old_dirs.extend(is_claudes(old_folder).then(|| old_folder.to_owned()));
        let mut plan = TransferPlan { record, rules: Some(rules), skipped };
        plan.check(claude)?;
        Ok(plan)
    }

    /// Puts a conversation of a package in place.
    ///
    /// # Errors
    /// When something is at one of the new places.
    pub fn of_package(
        claude: &Path,
        packed: &PackedConversation,
        target: &TransferTarget,
    ) -> Result<Self, TransferError> {
        let folder = project_folder(claude, &target.dir);
        let old =
            OldPlaces { id: &packed.id, sidecar: packed.sidecar.clone(), claude: packed.claude.clone() };
        let map = packed.dir.iter().map(|dir| (dir.clone(), target.dir.clone())).collect();
        let rules = rules(&old, claude, &folder, target, map)?;
        let mut record = TransferRecord::new(TransferKind::Import, packed.dir.clone(), target.dir.clone());
        record.id = Some(target.id.clone());
        let mut skipped = Vec::new();
        for (place, from) in &packed.files {
            let to = place.path(claude, &folder, &target.id);
            // Plans and old sub-agents have names of their own, which may be taken.
            let has_own_name = matches!(place.role, FileRole::Plan | FileRole::OldAgent);
            if has_own_name && to.symlink_metadata().is_ok() {
                skipped.push(to);
                continue;
            }
            record.steps.push(TransferStep { has_lines: place.has_lines(), mode: 0o600, ..step(from, to)? });
        }
        // The transcript decides.
        record.steps.sort_by_key(|step| step.to == folder.join(format!("{}.jsonl", target.id)));
        let mut plan = TransferPlan { record, rules: Some(rules), skipped };
        plan.check(claude)?;
        Ok(plan)
    }

    /// Moves the memory of a project; `None` if it has none that can be moved.
    ///
    /// # Errors
    /// When one of the files cannot be used.
    pub fn of_memory(
        claude: &Path,
        dirs: (&str, &str),
        memory: &ProjectMemory,
    ) -> Result<Option<Self>, TransferError> {
        let mut record = TransferRecord::new(TransferKind::Move, Some(dirs.0.to_owned()), dirs.1.to_owned());
        for (from, to) in &memory.files {
            record.steps.push(step(from, to.clone())?);
        }
        if memory.files.is_empty() {
            return Ok(None);
        }
        // The directories of the files, and their parents up to that of the project.
        let projects = claude.join("projects");
        let above = memory.files.iter().flat_map(|(from, _)| from.ancestors().skip(1));
        record.old_dirs =
            above.filter(|dir| **dir != projects && dir.starts_with(&projects)).map(Path::to_owned).collect();
        record.old_dirs.sort();
        record.old_dirs.dedup();
        let mut plan = TransferPlan { record, rules: None, skipped: memory.stay.clone() };
        plan.check(claude)?;
        Ok(Some(plan))
    }

    /// How many files go.
    pub fn files(&self) -> usize {
        self.record.steps.len()
    }

    pub fn bytes(&self) -> u64 {
        self.record.steps.iter().map(|step| step.state.bytes).sum()
    }

    /// The new place of the last file: a conversation's transcript.
    pub fn transcript(&self) -> &Path {
        self.record.steps.last().map_or(Path::new(""), |step| &step.to)
    }

    /// Checks that the new places are free and that only real directories lead to them; notes which
    /// directories must be created.
    fn check(&mut self, claude: &Path) -> Result<(), TransferError> {
        // A package may have many files and directories: each is checked once.
        let (mut seen, mut new) = (HashSet::new(), HashSet::new());
        for step in &self.record.steps {
            if step.to.symlink_metadata().is_ok() {
                return Err(TransferError::Exists(step.to.clone()));
            }
            if !seen.insert(step.to.parent()) {
                continue;
            }
            for dir in directories_for(claude, &step.to)? {
                if new.insert(dir.clone()) {
                    self.record.new_dirs.push(dir);
                }
            }
        }
        Ok(())
    }
}

/// Where a conversation was, to change its lines.
struct OldPlaces<'a> {
    id: &'a ConversationId,
    /// The directory of its own files.
    sidecar: String,
    /// Claude's directory.
    claude: String,
}

fn rules(
    old: &OldPlaces<'_>,
    claude: &Path,
    folder: &Path,
    target: &TransferTarget,
    map: Vec<(String, String)>,
) -> Result<TransferRules, TransferError> {
    let sidecar = (old.sidecar.clone(), text(&folder.join(target.id.as_str()))?);
    let mut pairs = map;
    pairs.push(sidecar.clone());
    // Claude's files stay, even if the directory that moves is the home that contains them.
    pairs.push((old.claude.clone(), text(claude)?));
    // Transcripts name these files by path.
    for (_, name) in FileRole::id_directories() {
        let new = text(&claude.join(name).join(target.id.as_str()))?;
        pairs.push((format!("{}/{name}/{}", old.claude, old.id), new));
    }
    Ok(TransferRules { directories: PathMap::new(pairs), sidecar, id: (old.id.clone(), target.id.clone()) })
}

/// A file that is copied unchanged.
fn step(from: &Path, to: PathBuf) -> Result<TransferStep, TransferError> {
    let meta = fs::symlink_metadata(from).map_err(FsError::io("look at", from))?;
    safe_file::check(from, &meta, FileRule::own(u64::MAX)).map_err(FsError::from)?;
    let staged = to.with_file_name(format!("{STAGED_PREFIX}{}", uuid::Uuid::new_v4().simple()));
    for path in [from, &to] {
        text(path)?;
    }
    Ok(TransferStep {
        from: from.to_owned(),
        to,
        staged,
        state: FileState::of(&meta),
        mode: meta.mode() & 0o755 | 0o600,
        has_lines: false,
    })
}

/// The directories that must be created for a file, including Claude's own, parents first.
fn directories_for(claude: &Path, file: &Path) -> Result<Vec<PathBuf>, TransferError> {
    let mut missing: Vec<PathBuf> =
        claude.ancestors().take_while(|dir| dir.symlink_metadata().is_err()).map(Path::to_owned).collect();
    missing.reverse();
    missing.extend(missing_directories(claude, file.strip_prefix(claude).unwrap_or(Path::new("")))?);
    Ok(missing)
}

fn text(path: &Path) -> Result<String, TransferError> {
    path.to_str().map(str::to_owned).ok_or_else(|| TransferError::NotText(path.to_owned()))
}
