//! Renames a session. Its directory moves, and a link with the old name stays in its place: the running
//! program was given paths below it, and commands that use the old name find the new one. Nobody else can
//! take the old name while the session runs.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::PoisonError;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::name_lock::{NameKeeper, NameLock, is_alive, lock_file};
use super::session_error::SessionError;
use super::session_json::status;
use crate::core::ids::SessionName;
use crate::core::status_types::SessionStatus;
use crate::core::text::visible::escaped;
use crate::fs::atomic;
use crate::fs::paths::Paths;
use crate::sys::private_dir::DirError;

/// The current name of a session that once had this name.
pub fn new_name_of(paths: &Paths, name: &SessionName) -> Option<SessionName> {
    link_to(paths, name)
        .filter(|now| fs::symlink_metadata(paths.session(now)).is_ok_and(|meta| meta.is_dir()))
}

/// The current name of the session that has or once had this name.
pub fn current(paths: &Paths, name: &SessionName) -> SessionName {
    new_name_of(paths, name).unwrap_or_else(|| name.clone())
}

/// The earlier names of a session.
pub fn former_names(paths: &Paths, name: &SessionName) -> Vec<SessionName> {
    let Ok(dir) = fs::read_dir(paths.sessions()) else { return Vec::new() };
    let names = dir.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<SessionName>().ok());
    names.filter(|former| link_to(paths, former).as_ref() == Some(name)).collect()
}

/// Where a former name leads.
fn link_to(paths: &Paths, name: &SessionName) -> Option<SessionName> {
    fs::read_link(paths.session(name)).ok()?.to_str()?.parse().ok()
}

/// Frees a name that a session had before. Fails if that session runs.
pub(super) fn free(paths: &Paths, name: &SessionName) -> Result<(), SessionError> {
    if link_to(paths, name).is_none() {
        return Ok(());
    }
    match new_name_of(paths, name) {
        Some(now) if is_alive(&paths.session(&now)) => Err(SessionError::Former { name: name.clone(), now }),
        _ => remove_link(paths, name),
    }
}

fn remove_link(paths: &Paths, name: &SessionName) -> Result<(), SessionError> {
    let link = paths.session(name);
    match fs::remove_file(&link) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(DirError::Io(link, e).into()),
        _ => Ok(()),
    }
}

/// Removes the former names of a session that is gone, with their sockets.
pub fn forget_former_names(paths: &Paths, name: &SessionName) {
    for former in former_names(paths, name) {
        let _ = fs::remove_file(paths.socket(&former));
        let _ = remove_link(paths, &former);
    }
}

/// Renames an ended session.
///
/// # Errors
/// [`SessionError::Taken`] if it runs after all, or the new name belongs to a running session;
/// [`SessionError::Ended`] if it belongs to an ended one; others when its directory cannot be moved.
pub fn rename_ended(paths: &Paths, from: &SessionName, to: &SessionName) -> Result<(), SessionError> {
    let _lock = lock_ended(paths, from)?;
    move_dir(paths, from, to)?;
    // Every command uses the directory's name; the file only repeats it.
    let _ = edit(paths, to, |last| to.as_str().clone_into(&mut last.name));
    Ok(())
}

/// Changes the `session.json` of an ended session.
///
/// # Errors
/// [`SessionError::Taken`] if it runs after all; others when its file cannot be written.
pub fn edit_ended(
    paths: &Paths,
    name: &SessionName,
    change: impl FnOnce(&mut SessionStatus),
) -> Result<(), SessionError> {
    let _lock = lock_ended(paths, name)?;
    edit(paths, name, change)
}

/// Prevents an ended session from being started meanwhile.
fn lock_ended(paths: &Paths, name: &SessionName) -> Result<File, SessionError> {
    let dir = paths.session(name);
    let io = |e| SessionError::from(DirError::Io(dir.clone(), e));
    let lock = lock_file(&dir).map_err(io)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(SessionError::Taken(name.clone())),
        Err(TryLockError::Error(e)) => Err(io(e)),
    }
}

fn edit(
    paths: &Paths,
    name: &SessionName,
    change: impl FnOnce(&mut SessionStatus),
) -> Result<(), SessionError> {
    let dir = paths.session(name);
    let Ok(Some(mut last)) = status(&dir) else { return Ok(()) };
    change(&mut last);
    let text = escaped(&format!("{:#}\n", last.json()));
    let file = dir.join(super::STATUS);
    atomic::swap(&file, text.as_bytes()).map_err(|e| DirError::Io(file, io::Error::other(e)).into())
}

impl NameKeeper {
    /// Renames the session, and returns its directory. For a thread that may wait, as
    /// [`NameKeeper::restore`].
    ///
    /// # Errors
    /// As [`rename_ended`].
    pub fn rename(&self, paths: &Paths, to: &SessionName) -> Result<PathBuf, SessionError> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        move_dir(paths, &place.name, to)?;
        place.name = to.clone();
        place.dir = paths.session(to);
        Ok(place.dir.clone())
    }
}

impl NameLock {
    /// Takes over the name that its [`NameKeeper`] gave the session.
    pub fn take_name(&mut self, name: SessionName, dir: PathBuf) {
        (self.name, self.dir) = (name, dir);
    }
}

/// Moves a session's directory to another name, and leaves a link. At every moment at least one of the
/// names exists.
fn move_dir(paths: &Paths, from: &SessionName, to: &SessionName) -> Result<(), SessionError> {
    let (old, new) = (paths.session(from), paths.session(to));
    let io = |e: io::Error| SessionError::from(DirError::Io(new.clone(), e));
    if new_name_of(paths, to).as_ref() == Some(from) {
        remove_link(paths, to)?;
    } else {
        free(paths, to)?;
    }
    // Links to the old name would otherwise become chains.
    let former = former_names(paths, from);
    match symlink(to.as_str(), &new) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let is_taken = is_alive(&new);
            return Err(if is_taken {
                SessionError::Taken(to.clone())
            } else {
                SessionError::Ended(to.clone())
            });
        }
        made => made.map_err(io)?,
    }
    match renameat_with(CWD, &old, CWD, &new, RenameFlags::EXCHANGE) {
        Ok(()) if old.is_symlink() => {}
        Ok(()) => {
            // Somebody took the new name a moment ago.
            let back = renameat_with(CWD, &old, CWD, &new, RenameFlags::EXCHANGE);
            return Err(back.map_or_else(|e| io(e.into()), |()| SessionError::Taken(to.clone())));
        }
        // Not every file system can exchange two files.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::remove_file(&new).and_then(|()| fs::rename(&old, &new)).map_err(io)?;
            symlink(to.as_str(), &old).map_err(io)?;
        }
        Err(e) => {
            let _ = fs::remove_file(&new);
            return Err(io(e.into()));
        }
    }
    for former in former {
        let aside = paths.sessions().join(format!(".link-{}-{former}", std::process::id()));
        let _ = symlink(to.as_str(), &aside).and_then(|()| fs::rename(&aside, paths.session(&former)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{claim, list, prepare, remove};
    use super::*;
    use crate::sys::own_process::is_alone;

    fn name(text: &str) -> SessionName {
        text.parse().unwrap()
    }

    fn world() -> (tempfile::TempDir, Paths) {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::from_env(|name| (name == "HOME").then(|| home.path().into())).unwrap();
        prepare(&paths).unwrap();
        (home, paths)
    }

    fn names(paths: &Paths) -> Vec<(String, bool)> {
        list(paths).into_iter().map(|listed| (listed.name.to_string(), listed.is_alive)).collect()
    }

    #[test]
    fn a_running_session_keeps_its_lock_and_its_old_paths() {
        if !is_alone("fs::session::session_rename::tests::a_running_session_keeps_its_lock_and_its_old_paths")
        {
            return;
        }
        let (_home, paths) = world();
        let mut one = claim(&paths, &name("one"), false).unwrap();
        let old = one.dir.join("plugin");
        fs::write(&old, "x").unwrap();
        for (from, to) in
            [("one", "two"), ("two", "three"), ("three", "two"), ("two", "one"), ("one", "four")]
        {
            let dir = one.keeper().rename(&paths, &name(to)).unwrap();
            one.take_name(name(to), dir);
            assert_eq!(names(&paths), [(to.to_owned(), true)]);
            assert_eq!(
                (new_name_of(&paths, &name(from)), new_name_of(&paths, &name(to))),
                (Some(name(to)), None)
            );
            assert_eq!(fs::read(&old).unwrap(), b"x", "what the program was given is there");
            assert!(one.keeper().restore(&paths).unwrap().is_none(), "nothing is missing");
        }
        let mut former = former_names(&paths, &name("four"));
        former.sort();
        assert_eq!(former, [name("one"), name("three"), name("two")]);
        // Nobody takes a former name while the session runs.
        assert!(
            matches!(claim(&paths, &name("two"), false), Err(SessionError::Former { now, .. }) if now == name("four"))
        );
        assert_eq!(claim(&paths, &name("two"), true).unwrap().name, name("two-2"));
        one.release();
        assert_eq!(claim(&paths, &name("two"), false).unwrap().name, name("two"));
        remove(&paths, &name("four")).unwrap();
        assert!(
            former_names(&paths, &name("four")).is_empty()
                && fs::symlink_metadata(paths.session(&name("one"))).is_err()
        );
    }

    #[test]
    fn a_name_in_use_is_refused_and_nothing_has_changed() {
        if !is_alone("fs::session::session_rename::tests::a_name_in_use_is_refused_and_nothing_has_changed") {
            return;
        }
        let (_home, paths) = world();
        let one = claim(&paths, &name("one"), false).unwrap();
        let _two = claim(&paths, &name("two"), false).unwrap();
        drop(claim(&paths, &name("over"), false).unwrap());
        let rename = |to: &str| one.keeper().rename(&paths, &name(to));
        assert!(matches!(rename("two"), Err(SessionError::Taken(_))));
        assert!(matches!(rename("over"), Err(SessionError::Ended(_))));
        assert!(matches!(rename_ended(&paths, &name("one"), &name("new")), Err(SessionError::Taken(_))));
        assert!(matches!(rename_ended(&paths, &name("over"), &name("one")), Err(SessionError::Taken(_))));
        assert_eq!(names(&paths), [("one".into(), true), ("over".into(), false), ("two".into(), true)]);
        rename_ended(&paths, &name("over"), &name("new")).unwrap();
        assert_eq!(new_name_of(&paths, &name("over")), Some(name("new")));
        // The old name of one that has ended is free.
        assert_eq!(claim(&paths, &name("over"), false).unwrap().name, name("over"));
    }
}
