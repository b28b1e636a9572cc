//! Who is measured, and how each is started and stopped.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::support::find;

/// Who keeps a picture of the screen: a peer that does has more to do for every byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// It passes bytes on.
    None,
    /// It follows every sequence.
    Screen,
    /// It is measured against.
    Yardstick,
}

/// A way to run a program in a terminal.
#[derive(Clone, Debug)]
pub struct Peer {
    /// As on the command line and in the tables.
    pub name: &'static str,
    /// What it does with the bytes.
    pub model: Model,
    /// The executable; for those of this project a path, else a name that PATH has.
    program: PathBuf,
    /// What is started in the terminal, with `DIR` for the session's directory.
    start: &'static [&'static str],
    /// How the program to run is added.
    child: Child,
    /// A daemon that must run before, if it needs one.
    daemon: &'static [&'static str],
    /// What ends it if it does not end by itself.
    stop: &'static [&'static str],
}

/// How a peer takes the program that it is to run.
#[derive(Clone, Copy, Debug)]
enum Child {
    /// As words at the end.
    Words,
    /// As one word for a shell, in the place of `CMD`.
    Line,
}

/// An `expect` program that stays in between and gives the exit code.
const EXPECT: &str = "set timeout -1; eval spawn -noecho CMD; interact; exit [lindex [wait] 3]";

type Row = (
    &'static str,
    Model,
    &'static str,
    &'static [&'static str],
    Child,
    &'static [&'static str],
    &'static [&'static str],
);

const TABLE: &[Row] = &[
    ("script", Model::None, "script", &["-q", "-e", "-c", "CMD", "/dev/null"], Child::Line, &[], &[]),
    (
        "socat",
        Model::None,
        "socat",
        &["-,raw,echo=0", "EXEC:CMD,pty,setsid,ctty,raw,echo=0"],
        Child::Line,
        &[],
        &[],
    ),
    ("dtach", Model::None, "dtach", &["-A", "DIR/dtach"], Child::Words, &[], &[]),
    ("abduco", Model::None, "abduco", &["-c", "bench"], Child::Words, &[], &[]),
    ("expect", Model::None, "expect", &["-c", EXPECT], Child::Line, &[], &[]),
    (
        "asciinema",
        Model::None,
        "asciinema",
        &["rec", "-q", "-c", "CMD", "DIR/rec.cast"],
        Child::Line,
        &[],
        &[],
    ),
    (
        "tmux",
        Model::Screen,
        "tmux",
        &["-L", "bench", "-f", "/dev/null", "new-session"],
        Child::Words,
        &[],
        &["-L", "bench", "kill-server"],
    ),
    (
        "screen",
        Model::Screen,
        "screen",
        &["-U", "-c", "/dev/null", "-S", "bench"],
        Child::Words,
        &[],
        &["-S", "bench", "-X", "quit"],
    ),
    (
        "shpool",
        Model::Screen,
        "shpool",
        &["-s", "DIR/shpool", "attach", "-c", "CMD", "bench"],
        Child::Line,
        &["-s", "DIR/shpool", "daemon"],
        &["-s", "DIR/shpool", "kill", "bench"],
    ),
    ("zmx", Model::Screen, "zmx", &["attach", "bench"], Child::Words, &[], &["kill", "bench"]),
];

/// Everybody that is here, in the order of the tables, and the names of those that are not.
pub fn all() -> (Vec<Peer>, Vec<&'static str>) {
    let own = std::env::current_exe().unwrap_or_default();
    let of_ours = |name, model, program, start| {
        let (daemon, stop): (&[&str], &[&str]) = (&[], &[]);
        Peer { name, model, program, start, child: Child::Words, daemon, stop }
    };
    let mut here = vec![
        of_ours("bare", Model::Yardstick, "/".into(), &[] as &[&str]),
        of_ours("hop1", Model::Yardstick, own.clone(), &["--hop1"]),
        of_ours("hop2", Model::Yardstick, own, &["--hop2"]),
        of_ours("hopty", Model::Screen, env!("CARGO_BIN_EXE_hopty").into(), &["run", "--"]),
        // It records the session from its start.
        of_ours(
            "hopty-rec",
            Model::Screen,
            "/usr/bin/env".into(),
            &["HOPTY_RECORD_AUTO=true", env!("CARGO_BIN_EXE_hopty"), "run", "--"],
        ),
    ];
    let mut missing = Vec::new();
    for (name, model, program, start, child, daemon, stop) in TABLE {
        match find(program) {
            Some(program) => {
                here.push(Peer { name, model: *model, program, start, child: *child, daemon, stop })
            }
            None => missing.push(*name),
        }
    }
    (here, missing)
}

impl Peer {
    /// The words that start `child` in it.
    pub fn command(&self, dir: &Path, child: &[OsString]) -> Vec<OsString> {
        if self.start.is_empty() {
            return child.to_vec();
        }
        let line = child.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let mut words = self.words(self.start, dir, &line);
        if matches!(self.child, Child::Words) {
            words.extend_from_slice(child);
        }
        words
    }

    /// The words that start its daemon; none where it has none.
    pub fn daemon(&self, dir: &Path) -> Option<Vec<OsString>> {
        (!self.daemon.is_empty()).then(|| self.words(self.daemon, dir, ""))
    }

    /// The words that end it; none where it ends with its child.
    pub fn stop(&self, dir: &Path) -> Option<Vec<OsString>> {
        (!self.stop.is_empty()).then(|| self.words(self.stop, dir, ""))
    }

    fn words(&self, pattern: &[&str], dir: &Path, line: &str) -> Vec<OsString> {
        let dir = dir.to_string_lossy();
        let rest = pattern.iter().map(|word| word.replace("DIR", &dir).replace("CMD", line).into());
        std::iter::once(self.program.clone().into_os_string()).chain(rest).collect()
    }
}
