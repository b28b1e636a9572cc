//! Handoffs in the formats of other tools, written where those tools look for them (`core::compat::layouts`
//! produces the texts).
//!
//! Most of these files are in the project, which may contain anything: `.claude` and everything below it must
//! be real directories of this user, links are refused, and files of other users are left alone. A failed
//! write costs only its own layout.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::atomic;
use super::error::FsError;
use super::store::TRANSCRIPT_CAP;
use crate::core::compat::copy_names;
use crate::core::compat::layouts::memory::{self, MemoryReason, SessionNotes};
use crate::core::compat::layouts::orchestrator::StateBefore;
use crate::core::compat::layouts::{Material, acm, checkpoint, orchestrator, pid};
use crate::core::config::Layout;
use crate::core::ids::{Channel, HandoffId};
use crate::core::time::WallTime;
use crate::sys::private_dir::is_own;
use crate::sys::safe_file::{self, FileRule};

/// The longest file of another program that is changed, in bytes.
const CHANGED_CAP: u64 = 1 << 20;
/// The longest marker, in bytes.
const MARKER_CAP: u64 = 8192;

/// The destination of a handoff's layouts.
#[derive(Clone, Debug)]
pub struct LayoutTarget {
    /// The working directory.
    pub project: PathBuf,
    /// Claude's directory (`C`).
    pub claude: PathBuf,
    /// The channel.
    pub channel: Channel,
    /// The process of the handoff: Claude's, if known.
    pub pid: u32,
    /// The transcript, for the raw copy.
    pub transcript: Option<PathBuf>,
}

/// Writes these layouts; returns a sentence for each that failed.
#[must_use]
pub fn write(layouts: &[Layout], place: &LayoutTarget, of: &Material, now: WallTime) -> Vec<String> {
    let mut failed = Vec::new();
    for layout in layouts {
        let done = match layout {
            Layout::Acm => write_acm(place, of),
            Layout::Orchestrator => write_orchestrator(place, of),
            Layout::Pid => write_pid(place, of),
            Layout::Memory => {
                let (project, reason) = (&place.project, MemoryReason::Handoff);
                let copies = place
                    .transcript
                    .as_ref()
                    .and_then(|from| Some((from, copy_for(project, from, &reason, now)?)));
                copies.map_or(Ok(()), |(from, to)| {
                    back_up(project, from, &reason, now, &to, &SessionNotes::default())
                })
            }
        };
        if let Err(error) = done {
            failed.push(format!("Layout {} could not be written: {error}", layout.word()));
        }
    }
    failed
}

fn write_acm(place: &LayoutTarget, of: &Material) -> Result<(), FsError> {
    let dir = inside(&place.project, acm::DIR)?;
    replace(&dir.join(acm::STATE), acm::state(of).as_bytes())?;
    replace(&dir.join(acm::DOCUMENT), acm::document(of).as_bytes())
}

fn write_orchestrator(place: &LayoutTarget, of: &Material) -> Result<(), FsError> {
    let dir = inside(&place.project, orchestrator::DIR)?;
    let path = dir.join(orchestrator::STATE);
    let old = text(&path)?;
    let not_simple = |e: crate::core::compat::layouts::state_yaml::NotSimple| {
        FsError::io("change", &path)(io::Error::other(e))
    };
    let signal = dir.join(orchestrator::SIGNAL);
    let before = atomic::read_own(&signal, CHANGED_CAP, 0).ok().flatten().unwrap_or_default();
    let (state, before) =
        orchestrator::state(of, &old, StateBefore::of_signal(&before)).map_err(not_simple)?;
    replace(&path, state.as_bytes())?;
    // Last: whoever reads it finds the state already written.
    replace(&signal, orchestrator::signal(of, &before).as_bytes())
}

fn write_pid(place: &LayoutTarget, of: &Material) -> Result<(), FsError> {
    let dir = place.claude.join("handoff");
    atomic::private_dir(&dir)?;
    replace(&dir.join(place.channel.file_name(Some(place.pid))), pid::render(of).as_bytes())
}

/// Where layout `memory` would copy a transcript to; `None` if there is nothing to copy.
#[must_use]
pub fn copy_for(project: &Path, transcript: &Path, reason: &MemoryReason, now: WallTime) -> Option<PathBuf> {
    #[cfg(debug_assertions)]
    safe_file::hangs::wait();
    fs::metadata(transcript).ok().filter(|meta| meta.len() > 0)?;
    copy_names(project, reason, now).find(|path| fs::symlink_metadata(path).is_err())
}

/// Copies a transcript into layout `memory`, to the path that [`copy_for`] returned. At the end of a
/// conversation `notes` go into `active-context.md`.
///
/// # Errors
/// When the transcript cannot be read, or a file cannot be written; a finished copy stays.
pub fn back_up(
    project: &Path,
    transcript: &Path,
    reason: &MemoryReason,
    now: WallTime,
    copy: &Path,
    notes: &SessionNotes,
) -> Result<(), FsError> {
    let missing = || FsError::io("open", transcript)(io::ErrorKind::NotFound.into());
    let source = safe_file::open(transcript, FileRule::of_claude(TRANSCRIPT_CAP).of_this_user())?
        .ok_or_else(missing)?;
    let meta = source.metadata().map_err(FsError::io("inspect", transcript))?;
    // Only up to its current length: a file that grows faster than it is copied must not be copied forever.
    let mut source = source.take(meta.len());
    let ended = matches!(reason, MemoryReason::Ended(_));
    let dir = inside(project, memory::DIR)?;
    if ended {
        // First: it is what the next conversation reads (source document 004).
        write_context(&dir, now, Some(reason), notes)?;
    }
    inside(project, &format!("{}/{}", memory::DIR, memory::RAW))?;
    atomic::write_with(copy, |file| io::copy(&mut source, file).map(drop))?;
    let shown = copy.to_string_lossy();
    let list = dir.join(memory::LIST);
    // No marker means that the earlier copies were reviewed.
    let old = if pending_backup(project).is_some() { text(&list)? } else { String::new() };
    replace(&list, memory::listed(&old, &shown).as_bytes())?;
    replace(&dir.join(memory::MARKER), format!("{shown}\n").as_bytes())?;
    append(&dir.join(memory::LOG), &memory::log_line(now, reason, &shown, meta.len()))
}

/// Writes into `active-context.md` in the directory of layout `memory` where a session stands.
pub(super) fn write_context(
    dir: &Path,
    now: WallTime,
    ended: Option<&MemoryReason>,
    notes: &SessionNotes,
) -> Result<(), FsError> {
    let path = dir.join(memory::CONTEXT);
    replace(&path, memory::context(&text(&path)?, now, ended, notes).as_bytes())
}

/// The copy that the marker of layout `memory` names; a marker whose copy is gone is deleted.
#[must_use]
pub fn pending_backup(project: &Path) -> Option<PathBuf> {
    let dir = project.join(memory::DIR);
    if !is_inside(project, memory::DIR) {
        return None;
    }
    let marker = dir.join(memory::MARKER);
    let text = String::from_utf8(atomic::read_own(&marker, MARKER_CAP, 0).ok()??).ok()?;
    let found = copy_named(&dir, &text);
    if found.is_none() {
        let _ = fs::remove_file(marker);
    }
    found
}

/// The copy that a line names, if it exists.
fn copy_named(dir: &Path, line: &str) -> Option<PathBuf> {
    let copy = dir.join(memory::RAW).join(memory::named(line)?);
    let there =
        fs::symlink_metadata(&copy).is_ok_and(|meta| meta.is_file() && is_own(&meta) && meta.len() > 0);
    there.then_some(copy)
}

/// The raw copy of a handoff is no longer needed.
fn settle_copy(project: &Path) -> Result<(), FsError> {
    let copy = pending_backup(project);
    match copy.as_ref().and_then(|path| path.file_name()?.to_str()) {
        Some(name) if memory::is_of_handoff(name) => settle_backup(project, name).map(drop),
        _ => Ok(()),
    }
}

/// The copy of this name was reviewed, or is gone: the marker names the newest other copy that waits, if
/// there is one, which is returned.
///
/// # Errors
/// When the marker or the list cannot be written.
pub fn settle_backup(project: &Path, name: &str) -> Result<Option<PathBuf>, FsError> {
    let dir = project.join(memory::DIR);
    let list = memory::unlisted(&text(&dir.join(memory::LIST))?, name);
    replace(&dir.join(memory::LIST), list.as_bytes())?;
    let marker = dir.join(memory::MARKER);
    let other = list.lines().rev().find_map(|line| copy_named(&dir, line));
    match &other {
        Some(other) => replace(&marker, format!("{}\n", other.to_string_lossy()).as_bytes())?,
        None => match fs::remove_file(&marker) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(FsError::io("remove", &marker)(e)),
            _ => {}
        },
    }
    Ok(other)
}

/// A handoff was consumed: its file of layout `pid`, hopty's own signal and the marker of its raw copy are no
/// longer needed.
pub fn consumed(project: &Path, claude: &Path, channel: &Channel, id: &HandoffId) {
    let mark = pid::mark(id);
    for entry in fs::read_dir(claude.join("handoff")).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| pid::is_name(name, channel))
            && atomic::read_own(&entry.path(), CHANGED_CAP, 0)
                .is_ok_and(|text| text.is_some_and(|t| t.ends_with(mark.as_bytes())));
        if ours {
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = settle_copy(project);
    let dir = project.join(orchestrator::DIR);
    if !is_inside(project, orchestrator::DIR) {
        return;
    }
    let (signal, state) = (dir.join(orchestrator::SIGNAL), dir.join(orchestrator::STATE));
    let asked = atomic::read_own(&signal, CHANGED_CAP, 0).ok().flatten().unwrap_or_default();
    if let Some(new) = text(&state)
        .ok()
        .and_then(|old| orchestrator::consumed(&old, &checkpoint(id), &StateBefore::of_signal(&asked)))
    {
        let _ = replace(&state, new.as_bytes());
    }
    let named = String::from_utf8_lossy(&asked).contains(&format!("\"{}\"", checkpoint(id)));
    if named && orchestrator::read(&asked).is_none() {
        let _ = fs::remove_file(signal);
    }
}

/// Appends a line to a log, which is created if it is missing, and rotated (`.1`) when it exceeds 1 MiB.
///
/// # Errors
/// When it is a link or belongs to somebody else, or cannot be written.
pub fn append(path: &Path, line: &str) -> Result<(), FsError> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.len() > CHANGED_CAP) {
        let mut old = path.to_owned().into_os_string();
        old.push(".1");
        fs::rename(path, &old).map_err(FsError::io("rename", path))?;
    }
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    let mut file = opened.map_err(FsError::io("open", path))?;
    let meta = file.metadata().map_err(FsError::io("inspect", path))?;
    if !meta.is_file() {
        return Err(FsError::WrongKind { path: path.to_owned(), expected: "file" });
    }
    if !is_own(&meta) {
        return Err(FsError::NotPrivate(path.to_owned()));
    }
    file.write_all(line.as_bytes()).map_err(FsError::io("write", path))
}

/// Whether a directory below the project exists, without links or other users' directories on the way.
#[must_use]
pub fn is_inside(project: &Path, below: &str) -> bool {
    steps(project, below)
        .all(|dir| fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir() && is_own(&meta)))
}

/// A directory below the project, created if it is missing.
pub(super) fn inside(project: &Path, below: &str) -> Result<PathBuf, FsError> {
    for dir in steps(project, below) {
        match DirBuilder::new().mode(0o700).create(&dir) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(FsError::io("create the directory", &dir)(e));
            }
            _ => {}
        }
        let meta = fs::symlink_metadata(&dir).map_err(FsError::io("inspect", &dir))?;
        if meta.is_symlink() {
            return Err(FsError::Symlink(dir));
        }
        if !meta.is_dir() {
            return Err(FsError::WrongKind { path: dir, expected: "directory" });
        }
        if !is_own(&meta) {
            return Err(FsError::NotPrivate(dir));
        }
    }
    Ok(project.join(below))
}

/// The directories from the project down to `below`, without the project itself.
fn steps(project: &Path, below: &str) -> impl Iterator<Item = PathBuf> {
    let mut dir = project.to_owned();
    below.split('/').map(move |name| {
        dir.push(name);
        dir.clone()
    })
}

/// The text of a file to change; empty if there is none.
fn text(path: &Path) -> Result<String, FsError> {
    let bytes = atomic::read_own(path, CHANGED_CAP, 0)?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| FsError::io("read", path)(io::Error::other("it is not UTF-8")))
}

/// Replaces a file of this user, or creates it (0600); an existing file keeps its mode.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    let old = fs::symlink_metadata(path).ok();
    if old.as_ref().is_some_and(|meta| !is_own(meta)) {
        return Err(FsError::NotPrivate(path.to_owned()));
    }
    let mode = old.filter(fs::Metadata::is_file).map(|meta| meta.permissions());
    atomic::write_with(path, |file: &mut File| {
        file.write_all(bytes)?;
        mode.map_or(Ok(()), |mode| file.set_permissions(mode))
    })
}
