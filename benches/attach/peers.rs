//! Who is left and come back to, and how.
//!
//! Each peer gets the options with which it keeps most: a screen without a line of its own, and what it
//! passes on of titles, focus, keys and colours. `cat` is no peer but the floor.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::support::{find, installed_hopty};

/// Something that keeps a program for who comes back.
#[derive(Clone, Debug)]
pub struct Peer {
    /// As on the command line and in the tables.
    pub name: &'static str,
    program: PathBuf,
    how: &'static How,
}

/// How a peer is used. In all words, `DIR` is the session's directory, and `CMD` the whole command of the
/// program as one word.
#[derive(Debug)]
struct How {
    name: &'static str,
    /// Its configuration, as the file `conf` in `DIR`.
    conf: &'static str,
    /// A daemon that must run before, and the socket at which it is ready.
    daemon: &'static [&'static str],
    /// Starts a session without a terminal; where this has no `CMD`, the program's words follow. Where this
    /// is empty there is no session, but a file `painting` in `DIR`.
    start: &'static [&'static str],
    /// Shows it in this terminal.
    attach: &'static [&'static str],
    /// Ends it.
    stop: &'static [&'static str],
}

const TMUX: &str = "set -g status off
set -g default-terminal tmux-256color
set -g focus-events on
set -g set-titles on
set -g set-titles-string '#T'
set -g extended-keys on
set -as terminal-features ',xterm*:RGB:usstyle:strikethrough:extkeys'
set -as terminal-features ',xterm*:hyperlinks'
";
const SCREEN: &str = "deflogin off
startup_message off
altscreen on
defutf8 on
hardstatus off
term screen-256color
";

const ALL: [How; 7] = [
    How { name: "cat", conf: "", daemon: &[], start: &[], attach: &["DIR/painting", "-"], stop: &[] },
    How {
        name: "hopty",
        conf: "",
        daemon: &[],
        start: &["run", "--detached", "--name", "bench", "--"],
        attach: &["attach", "bench"],
        stop: &["stop", "bench", "--kill"],
    },
    How {
        name: "tmux",
        conf: TMUX,
        daemon: &[],
        start: &["-L", "bench", "-f", "DIR/conf", "new-session", "-d", "-x", "80", "-y", "24"],
        attach: &["-L", "bench", "attach-session"],
        stop: &["-L", "bench", "kill-server"],
    },
    How {
        name: "screen",
        conf: SCREEN,
        daemon: &[],
        start: &["-U", "-c", "DIR/conf", "-dmS", "bench"],
        attach: &["-U", "-x", "bench"],
        stop: &["-S", "bench", "-X", "quit"],
    },
    How {
        name: "shpool",
        conf: "session_restore_mode = \"screen\"\n",
        daemon: &["-s", "DIR/shpool", "-c", "DIR/conf", "daemon"],
        start: &["-s", "DIR/shpool", "attach", "-b", "-c", "CMD", "bench"],
        attach: &["-s", "DIR/shpool", "attach", "-f", "bench"],
        stop: &["-s", "DIR/shpool", "kill", "bench"],
    },
    How {
        name: "abduco",
        conf: "",
        daemon: &[],
        start: &["-n", "bench"],
        attach: &["-a", "bench"],
        stop: &[],
    },
    How {
        name: "dtach",
        conf: "",
        daemon: &[],
        start: &["-n", "DIR/dtach"],
        attach: &["-a", "DIR/dtach"],
        stop: &[],
    },
];

/// Everybody that is here, in the order of the table, and the names of those that are not.
pub fn all() -> (Vec<Peer>, Vec<&'static str>) {
    let (mut here, mut missing) = (Vec::new(), Vec::new());
    for how in &ALL {
        let program = match how.name {
            "hopty" => Some(installed_hopty().expect("room for a copy of hopty")),
            name => find(name),
        };
        match program {
            Some(program) => here.push(Peer { name: how.name, program, how }),
            None => missing.push(how.name),
        }
    }
    (here, missing)
}

impl Peer {
    /// Its configuration file.
    pub fn conf(&self) -> &'static str {
        self.how.conf
    }

    /// Whether it keeps a program; else it only shows a file.
    pub fn has_sessions(&self) -> bool {
        !self.how.start.is_empty()
    }

    /// The words that start `child` in it, away from any terminal.
    pub fn start(&self, dir: &Path, child: &[OsString]) -> Vec<OsString> {
        let line = child.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let mut words = self.words(self.how.start, dir, &line);
        if !self.how.start.contains(&"CMD") {
            words.extend_from_slice(child);
        }
        words
    }

    /// The words that show it.
    pub fn attach(&self, dir: &Path) -> Vec<OsString> {
        self.words(self.how.attach, dir, "")
    }

    /// The words that start its daemon; none where it has none.
    pub fn daemon(&self, dir: &Path) -> Option<Vec<OsString>> {
        (!self.how.daemon.is_empty()).then(|| self.words(self.how.daemon, dir, ""))
    }

    /// The words that end it; none where it ends with its program.
    pub fn stop(&self, dir: &Path) -> Option<Vec<OsString>> {
        (!self.how.stop.is_empty()).then(|| self.words(self.how.stop, dir, ""))
    }

    fn words(&self, pattern: &[&str], dir: &Path, line: &str) -> Vec<OsString> {
        let dir = dir.to_string_lossy();
        let rest = pattern.iter().map(|word| word.replace("DIR", &dir).replace("CMD", line).into());
        std::iter::once(self.program.clone().into_os_string()).chain(rest).collect()
    }
}
