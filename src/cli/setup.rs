//! `hopty setup` and `hopty unsetup`: a systemd user unit that restores sessions at login. No other verb
//! writes outside of hopty's own directories.

use std::io::IsTerminal;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::control::paths;
use super::error::{VerbError, YesNo, ask_yes_no, no_terminal, note, say, say_wrapped};
use super::exit_codes::{FAILED, INTERNAL};
use crate::fs::atomic;
use crate::sys::program_search::command_outside_of_projects;
use crate::sys::safe_file::{self, FileRule};

const UNIT: &str = "hopty-restore.service";
/// The largest unit that is read, in bytes.
const UNIT_CAP: u64 = 1 << 16;
/// The first words of a unit that hopty wrote.
const MARK: &str = "# Written by `hopty setup`";
/// The directory of units that systemd starts at login.
const TARGET: &str = "default.target.wants";

struct UnitFiles {
    /// systemd's directory for a user's units.
    dir: PathBuf,
}

impl UnitFiles {
    fn of_user() -> Result<Self, VerbError> {
        let home = paths()?.home;
        let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
        Ok(UnitFiles { dir: config.unwrap_or_else(|| home.join(".config")).join("systemd/user") })
    }

    fn unit(&self) -> PathBuf {
        self.dir.join(UNIT)
    }

    fn link(&self) -> PathBuf {
        self.dir.join(TARGET).join(UNIT)
    }
}

/// Escapes a quoted word of a unit: `%` begins a specifier, and a backslash an escape.
fn escaped(word: &str) -> String {
    word.replace('\\', "\\\\").replace('%', "%%").replace('"', "\\\"")
}

fn is_one_line(path: &Path) -> bool {
    path.to_str().is_some_and(|path| !path.contains(char::is_control))
}

/// The absolute directories of a `PATH` that fit on a line of a unit.
fn absolute_dirs(path: &str) -> String {
    let dirs: Vec<&str> =
        path.split(':').filter(|dir| dir.starts_with('/') && !dir.contains(char::is_control)).collect();
    dirs.join(":")
}

/// The text of the unit. `KillMode=control-group`: the sessions are its processes. At a logout or a shutdown
/// their hosts get SIGTERM and save what is unsent; with `process` they would be killed without it.
/// systemd has a `PATH` of its own, which need not have Claude or the programs that it runs, so the unit sets
/// that of the person's shell.
fn text(hopty: &Path, path: &str) -> String {
    let hopty = escaped(&hopty.display().to_string());
    let path = escaped(&absolute_dirs(path));
    format!(
        "# Written by `hopty setup`; `hopty unsetup` removes it.\n\
         [Unit]\n\
         Description=Restore the hopty sessions that died with the machine\n\n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         KillMode=control-group\n\
         Environment=\"PATH={path}\"\n\
         ExecStart=\"{hopty}\" restore\n\n\
         [Install]\n\
         WantedBy=default.target\n"
    )
}

/// Asks, and writes the unit.
pub(super) fn setup(yes: bool) -> Result<u8, VerbError> {
    let files = UnitFiles::of_user()?;
    let hopty = std::env::current_exe()?;
    if !is_one_line(&hopty) {
        return Err(VerbError::new(FAILED, "its path has characters that no line of a unit can hold")
            .about(format!("{hopty:?}"))
            .hint("move hopty to another directory"));
    }
    let wanted = text(&hopty, &std::env::var("PATH").unwrap_or_default());
    let is_there = safe_file::read_text(&files.unit(), FileRule::own(UNIT_CAP))
        .is_ok_and(|found| found.as_ref() == Some(&wanted))
        && std::fs::symlink_metadata(files.link()).is_ok();
    if is_there {
        note(format_args!("{} is in place already", files.unit().display()));
        return Ok(0);
    }
    let is_changed = match existing_unit(&files)? {
        Some(found) if !found.starts_with(MARK) => return Err(foreign_unit(&files)),
        found => found.is_some_and(|found| without_values(&found) != without_values(&wanted)),
    };
    if is_changed && yes {
        return Err(VerbError::new(FAILED, "it was changed, and `--yes` would replace it")
            .about(files.unit().display())
            .hint("`hopty setup` in a terminal shows what it writes and asks"));
    }
    print_plan(&files, &wanted, is_changed)?;
    if !yes && !confirm()? {
        note(format_args!("nothing was written"));
        return Ok(1);
    }
    install(&files, &wanted)?;
    reload_systemd();
    say_wrapped(format_args!(
        "Written. `loginctl enable-linger` restores sessions at boot without a login, and keeps them running \
         when you log out"
    ))?;
    Ok(0)
}

/// Prints the unit, and what it does.
fn print_plan(files: &UnitFiles, wanted: &str, is_changed: bool) -> std::io::Result<()> {
    let what = if is_changed { "This replaces a unit that was changed:" } else { "This writes:" };
    say(format_args!("{what}\n\n  {}\n", files.unit().display()))?;
    wanted.lines().try_for_each(|line| say(format_args!("    {line}")))?;
    say(format_args!("\n  {} -> {}\n", files.link().display(), files.unit().display()))?;
    say_wrapped(format_args!(
        "systemd then runs `hopty restore` when you log in. `hopty unsetup` removes both."
    ))?;
    say_wrapped(format_args!(
        "A session whose options may run code or widen the permission mode, such as --settings or \
         --permission-mode acceptEdits, is skipped: `hopty restore NAME` in a terminal asks you."
    ))?;
    say_wrapped(format_args!(
        "The unit sets only PATH, to its present value. Put other variables that Claude needs, such as \
         ANTHROPIC_API_KEY, into a file in ~/.config/environment.d."
    ))
}

/// Writes the unit and the link that makes systemd start it.
fn install(files: &UnitFiles, wanted: &str) -> Result<(), VerbError> {
    let failed = |path: &Path, e: &std::io::Error| {
        VerbError::new(INTERNAL, e.to_string())
            .about(path.display())
            .hint("check the permissions of its directory")
    };
    let wants = files.dir.join(TARGET);
    std::fs::create_dir_all(&wants).map_err(|e| failed(&wants, &e))?;
    atomic::write(&files.unit(), wanted.as_bytes()).map_err(|e| {
        VerbError::new(INTERNAL, e.to_string()).hint("check the permissions of its directory")
    })?;
    let _ = std::fs::remove_file(files.link());
    symlink(files.unit(), files.link()).map_err(|e| failed(&files.link(), &e))
}

/// The existing unit.
fn existing_unit(files: &UnitFiles) -> Result<Option<String>, VerbError> {
    safe_file::read_text(&files.unit(), FileRule::own(UNIT_CAP)).map_err(|e| {
        VerbError::new(FAILED, format!("it cannot be read: {e}"))
            .about(files.unit().display())
            .hint("move it away, then run it again")
    })
}

/// The error for a file of somebody else in the unit's place.
fn foreign_unit(files: &UnitFiles) -> VerbError {
    VerbError::new(FAILED, "this file is not hopty's")
        .about(files.unit().display())
        .hint("move it away, then run it again")
}

/// A unit without hopty's path and the value of PATH, which change by themselves.
fn without_values(unit: &str) -> Vec<&str> {
    let is_value = |line: &&str| line.starts_with("ExecStart=") || line.starts_with("Environment=\"PATH=");
    unit.lines().filter(|line| !is_value(line)).collect()
}

/// Asks the person; without a terminal the answer is an error.
fn confirm() -> Result<bool, VerbError> {
    if !std::io::stdin().is_terminal() {
        return Err(no_terminal("hopty setup --yes"));
    }
    ask_yes_no("Write them?", YesNo::No)
}

/// Removes the unit, and directories that are empty without it.
pub(super) fn unsetup() -> Result<u8, VerbError> {
    let files = UnitFiles::of_user()?;
    if existing_unit(&files)?.is_some_and(|found| !found.starts_with(MARK)) {
        return Err(foreign_unit(&files));
    }
    let mut removed = false;
    for file in [files.link(), files.unit()] {
        match std::fs::remove_file(&file) {
            Ok(()) => {
                say_wrapped(format_args!("removed {}", file.display()))?;
                removed = true;
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(VerbError::new(INTERNAL, e.to_string()).about(file.display())),
        }
    }
    if !removed {
        note(format_args!("nothing to remove"));
        return Ok(0);
    }
    // A directory with other files stays.
    let _ = std::fs::remove_dir(files.dir.join(TARGET));
    let _ = std::fs::remove_dir(&files.dir);
    let _ = files.dir.parent().map(std::fs::remove_dir);
    reload_systemd();
    Ok(0)
}

/// Makes a running systemd read its units again.
fn reload_systemd() {
    let Some(mut systemctl) = command_outside_of_projects("systemctl") else { return };
    systemctl.args(["--user", "daemon-reload"]).current_dir("/");
    let _ = systemctl.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_hoptys_by_its_first_line_and_changed_where_more_than_paths_differ() {
        let (old, new) = (text(Path::new("/old/hopty"), "/bin"), text(Path::new("/new/hopty"), "/usr/bin"));
        assert!(new.starts_with(MARK));
        assert_eq!(without_values(&old), without_values(&new));
        let changed = old.replace("[Service]", "[Service]\nEnvironment=X=1");
        assert_ne!(without_values(&changed), without_values(&new));
    }

    #[test]
    fn a_path_is_escaped_and_stays_on_its_line() {
        let unit = text(Path::new("/home/a b/100%/hopty"), "/a b/100%:bin:/c\\\"d:/e\nf::/usr/bin");
        assert!(unit.contains("\nEnvironment=\"PATH=/a b/100%%:/c\\\\\\\"d:/usr/bin\"\n"), "{unit}");
        assert!(unit.contains("\nExecStart=\"/home/a b/100%%/hopty\" restore\n"), "{unit}");
        assert!(is_one_line(Path::new("/home/a b/100%/hopty")));
        assert!(!is_one_line(Path::new("/x\"\nExecStartPre=/bin/touch /tmp/y\n/hopty")));
    }
}
