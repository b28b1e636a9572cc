//! The isolation of a test: its own directory, home, XDG directories, temporary directory and environment.
//!
//! A test that passes here passes on another machine: it sees nothing of the person's configuration, and
//! leaves nothing behind. hopty's own state directories are inside, too, so that no test sees a real session.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::processes::{LeftProcess, end_started_with};

/// The date of a test's commits, so that their hashes are the same everywhere.
const COMMIT_DATE: &str = "2026-01-01T00:00:00Z";

/// The variables that `Set Home keep` takes from this process.
const HOME_VARIABLES: [&str; 4] = ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"];

/// The directories of one test. They are removed when it is dropped, unless [`TestDirs::keep`] was called.
#[derive(Debug)]
pub struct TestDirs {
    root: TempDir,
    dir: PathBuf,
    /// Locked while the test runs: an unlocked directory belongs to a process that was killed.
    _lock: File,
}

/// The prefix of their names in the temporary directory; six letters and digits follow. It is short, because
/// the path of a socket below it must fit into 108 bytes, and paths are seen on screens.
const PREFIX: &str = "hopty-";
const LETTERS: usize = 6;
const PARTS: [&str; 5] = ["dir", "home", "bin", "tmp", "run"];
/// The directories in each home.
const CONFIG_HOME: &str = ".config";
const DATA_HOME: &str = ".local/share";
const CACHE_HOME: &str = ".cache";
const STATE_HOME: &str = ".local/state";
/// The prefix of the names of directories that stay.
const KEPT_PREFIX: &str = "hopty-kept-";
/// The minimum age of a directory without a lock: a new one has no lock yet.
const ABANDONED: Duration = Duration::from_secs(60);

/// Removes the directories of tests whose process was killed, and ends their remaining programs, which have
/// started a session of their own. Returns these.
pub fn remove_abandoned() -> Vec<LeftProcess> {
    let mut left = Vec::new();
    for entry in fs::read_dir(env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let letters = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
        let is_named = letters.len() == LETTERS && letters.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let Some(meta) = entry.metadata().ok().filter(|meta| is_named && meta.is_dir()) else { continue };
        // A person's own directory may have such a name.
        let is_test =
            meta.mode() & 0o777 == 0o700 && PARTS.iter().all(|part| entry.path().join(part).is_dir());
        let is_own = is_test && meta.uid() == nix::unistd::geteuid().as_raw();
        let is_old = meta.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED));
        if is_own && is_old && File::open(entry.path()).is_ok_and(|dir| dir.try_lock().is_ok()) {
            if let Ok(base) = entry.path().canonicalize() {
                let variable = format!("{TEMP_VARIABLE}={}", temp_dir(&base).display());
                left.append(&mut end_started_with(variable.as_bytes()));
            }
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    left
}

/// The variable that names a test's own directory for temporary files. Every program of a test has it, and
/// the shell of a person who examines the directory does not.
const TEMP_VARIABLE: &str = "TMPDIR";

fn temp_dir(base: &Path) -> PathBuf {
    base.join("tmp")
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestHome {
    /// An empty home.
    #[default]
    Fresh,
    /// The person's own home.
    Keep,
}

/// The environment settings of a tape and the command line.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentRules {
    pub term: String,
    pub timezone: String,
    pub locale: String,
    pub home: TestHome,
    /// Variables of this process to pass on (`--env`).
    pub passed: Vec<String>,
    /// Variables of the tape (`Env`), in order; they take precedence.
    pub set: Vec<(String, String)>,
}

impl TestDirs {
    pub fn create() -> io::Result<TestDirs> {
        let private = fs::Permissions::from_mode(0o700);
        let root =
            tempfile::Builder::new().prefix(PREFIX).rand_bytes(LETTERS).permissions(private).tempdir()?;
        let lock = File::open(root.path())?;
        lock.lock_shared()?;
        let base = root.path().canonicalize()?;
        for name in PARTS {
            fs::create_dir(base.join(name))?;
        }
        fs::set_permissions(base.join("run"), fs::Permissions::from_mode(0o700))?;
        // Programs that require one of them (nnn) find it in every real home.
        for name in [CONFIG_HOME, DATA_HOME, CACHE_HOME, STATE_HOME] {
            fs::create_dir_all(base.join("home").join(name))?;
        }
        Ok(TestDirs { root, dir: base.join("dir"), _lock: lock })
    }

    /// The working directory of the test, `${DIR}`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The directory that contains all others.
    pub fn base(&self) -> &Path {
        self.dir.parent().unwrap_or(&self.dir)
    }

    /// The test's home, `${HOME}`.
    pub fn home(&self) -> PathBuf {
        self.base().join("home")
    }

    /// The first directory in the test's `PATH`.
    pub fn bin(&self) -> PathBuf {
        self.base().join("bin")
    }

    /// Adds a program to the test's `PATH` under a name.
    pub fn link_program(&self, name: &str, program: &Path) -> io::Result<()> {
        match std::os::unix::fs::symlink(program, self.bin().join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Keeps the directories, under another name, and returns their path.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        let path = self.root.keep();
        let name = path.file_name().unwrap_or_default().to_string_lossy().replacen(PREFIX, KEPT_PREFIX, 1);
        let kept = path.with_file_name(name);
        if fs::rename(&path, &kept).is_ok() { kept } else { path }
    }

    /// The whole environment of the test's programs. `outer` reads a variable of this process.
    pub fn environment(
        &self,
        rules: &EnvironmentRules,
        outer: &dyn Fn(&str) -> Option<OsString>,
    ) -> Vec<(OsString, OsString)> {
        let mut env = TestEnvironment::default();
        let home = self.home();
        let mut path = OsString::from(self.bin());
        path.push(":");
        path.push(outer("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
        env.set("PATH", path);
        env.set("TERM", or_default(&rules.term, "xterm-256color"));
        env.set("COLORTERM", "truecolor");
        env.set("LANG", or_default(&rules.locale, "C.UTF-8"));
        env.set("LC_ALL", or_default(&rules.locale, "C.UTF-8"));
        env.set("TZ", or_default(&rules.timezone, "UTC"));
        for (name, value) in [
            ("USER", "tester"),
            ("LOGNAME", "tester"),
            ("SHELL", "/bin/sh"),
            ("HISTFILE", "/dev/null"),
            ("PAGER", "cat"),
            ("EDITOR", "false"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Tester"),
            ("GIT_AUTHOR_EMAIL", "tester@example.com"),
            ("GIT_AUTHOR_DATE", COMMIT_DATE),
            ("GIT_COMMITTER_NAME", "Tester"),
            ("GIT_COMMITTER_EMAIL", "tester@example.com"),
            ("GIT_COMMITTER_DATE", COMMIT_DATE),
        ] {
            env.set(name, value);
        }
        env.set("PWD", self.dir());
        env.set("HOME", &home);
        env.set("XDG_CONFIG_HOME", home.join(CONFIG_HOME));
        env.set("XDG_DATA_HOME", home.join(DATA_HOME));
        env.set("XDG_CACHE_HOME", home.join(CACHE_HOME));
        env.set("XDG_STATE_HOME", home.join(STATE_HOME));
        env.set("XDG_RUNTIME_DIR", self.base().join("run"));
        env.set(TEMP_VARIABLE, temp_dir(self.base()));
        if rules.home == TestHome::Keep {
            for name in HOME_VARIABLES {
                match outer(name) {
                    Some(value) => env.set(name, value),
                    None => env.remove(name),
                }
            }
        }
        for name in &rules.passed {
            if let Some(value) = outer(name) {
                env.set(name, value);
            }
        }
        for (name, value) in &rules.set {
            env.set(name, value);
        }
        env.variables
    }
}

/// Variables in the order in which they were first set.
#[derive(Debug, Default)]
struct TestEnvironment {
    variables: Vec<(OsString, OsString)>,
}

impl TestEnvironment {
    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let value = value.as_ref().to_owned();
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.variables.push((name.into(), value)),
        }
    }

    fn remove(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known != name);
    }
}

fn or_default<'a>(value: &'a str, default: &'a str) -> &'a str {
    if value.is_empty() { default } else { value }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn value(env: &[(OsString, OsString)], name: &str) -> Option<String> {
        env.iter().find(|(known, _)| known == name).map(|(_, value)| value.to_string_lossy().into_owned())
    }

    fn outer(name: &str) -> Option<OsString> {
        let value = match name {
            "PATH" => "/outer/bin",
            "HOME" => "/home/person",
            "CI" | "NO_COLOR" => "1",
            "TOKEN" => "secret",
            _ => return None,
        };
        Some(value.into())
    }

    #[test]
    fn nothing_of_the_outer_environment_reaches_a_test_but_its_path() {
        let place = TestDirs::create().unwrap();
        let env = place.environment(&EnvironmentRules::default(), &outer);
        for (name, _) in &env {
            let name = name.to_str().unwrap();
            let own = value(&env, name).unwrap();
            let inside = own.starts_with(place.base().to_str().unwrap());
            let is_place = name.starts_with("XDG_") || ["HOME", "TMPDIR", "PATH", "PWD"].contains(&name);
            assert_eq!(inside, is_place, "{name}={own}");
        }
        assert!(value(&env, "PATH").unwrap().ends_with(":/outer/bin"));
        assert_eq!(value(&env, "CI"), None);
        assert_eq!(value(&env, "TZ").as_deref(), Some("UTC"));
    }

    #[test]
    fn the_tape_wins_over_the_command_line_and_both_over_the_defaults() {
        let place = TestDirs::create().unwrap();
        let rules = EnvironmentRules {
            term: "dumb".into(),
            home: TestHome::Keep,
            passed: vec!["TOKEN".into(), "CI".into(), "UNSET".into()],
            set: vec![("CI".into(), "no".into()), ("EDITOR".into(), "vi".into())],
            ..EnvironmentRules::default()
        };
        let env = place.environment(&rules, &outer);
        let values = ["TERM", "HOME", "XDG_CONFIG_HOME", "TOKEN", "CI", "UNSET", "EDITOR"]
            .map(|name| value(&env, name).unwrap_or_default());
        assert_eq!(values, ["dumb", "/home/person", "", "secret", "no", "", "vi"]);
        let state = value(&env, "XDG_STATE_HOME").unwrap();
        assert!(state.starts_with(place.base().to_str().unwrap()), "no test sees a real session: {state}");
    }

    #[test]
    fn the_directories_go_with_the_test_unless_they_are_kept() {
        let place = TestDirs::create().unwrap();
        let base = place.base().to_owned();
        assert!(base.join("run").is_dir() && place.home().is_dir());
        drop(place);
        assert!(!base.exists());
        let kept = TestDirs::create().unwrap().keep();
        assert!(kept.join("dir").is_dir());
        assert!(kept.file_name().unwrap().to_string_lossy().starts_with(KEPT_PREFIX));
        fs::remove_dir_all(kept).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let old = std::time::SystemTime::now() - ABANDONED * 2;
        let age = |path: &Path| File::open(path).unwrap().set_modified(old).unwrap();
        let (running, left) = (TestDirs::create().unwrap(), TestDirs::create().unwrap());
        let base = left.base().to_owned();
        // The lock is released, the directory stays.
        drop(left.root.keep());
        drop(left._lock);
        age(running.base());
        remove_abandoned();
        assert!(base.exists(), "it may have been made just now");
        age(&base);
        // A person's own directory of such a name.
        fs::rename(base.join("dir"), base.join("mine")).unwrap();
        age(&base);
        remove_abandoned();
        assert!(base.exists());
        fs::rename(base.join("mine"), base.join("dir")).unwrap();
        let mut hidden = Command::new("sleep");
        hidden.arg("64").env("TMPDIR", temp_dir(&base));
        let mut hidden = hidden.spawn().unwrap();
        // A person's shell in that directory.
        let mut looking = Command::new("sleep");
        looking.arg("65").current_dir(&base).env("PWD", &base);
        let mut looking = looking.spawn().unwrap();
        age(&base);
        let ended: Vec<String> = remove_abandoned().into_iter().map(|left| left.command).collect();
        assert_eq!(ended, ["sleep 64"]);
        assert!(!base.exists() && running.base().exists());
        assert!(looking.try_wait().unwrap().is_none() && !hidden.wait().unwrap().success());
        looking.kill().unwrap();
        looking.wait().unwrap();
    }
}
