//! Talking to hosts: which session is meant (CONTRACT C1), and a request with its answer.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::error::Failed;
use crate::core::ids::SessionName;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::address;
use crate::ipc::message::{Answer, ClientHello, Code, Failure, PROTOCOL};

/// How the one session that a verb is about is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// All of C1.
    Any,
    /// Not simply the only one there is: for what cannot be undone.
    Careful,
}

/// hopty's directories.
pub(super) fn paths() -> Result<Paths, Failed> {
    Paths::from_env(|name| std::env::var_os(name))
        .ok_or_else(|| Failed::new(125, "HOME is not set to an absolute path").hint("hopty keeps its sessions below it"))
}

/// The directory that a session runs in, from its file.
fn dir_of(paths: &Paths, name: &SessionName) -> Option<PathBuf> {
    let text = std::fs::read(paths.session(name).join("session.json")).ok()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
    Some(PathBuf::from(value.get("dir")?.as_str()?))
}

/// The live session that is meant.
pub(super) fn live(paths: &Paths, given: Option<&str>, rule: Rule) -> Result<SessionName, Failed> {
    let alive: Vec<SessionName> = session::list(paths).into_iter().filter(|(_, alive)| *alive).map(|(name, _)| name).collect();
    if let Some(text) = given {
        let name: SessionName =
            text.parse().map_err(|e| Failed::new(2, format!("{e}")).hint("names are lower-case letters, digits, `.`, `_` and `-`"))?;
        return if alive.contains(&name) {
            Ok(name)
        } else if paths.session(&name).is_dir() {
            Err(Failed::new(1, format!("session {name} has ended")).hint(format!("`hopty why {name}` says how")))
        } else {
            Err(Failed::new(3, format!("no session is called {name}")).hint("`hopty ls` lists the sessions"))
        };
    }
    if let Some(name) = std::env::var("HOPTY_SESSION").ok().and_then(|name| name.parse().ok())
        && alive.contains(&name)
    {
        return Ok(name);
    }
    let here = std::env::current_dir().and_then(|dir| dir.canonicalize()).unwrap_or_default();
    let above: Vec<(usize, &SessionName)> = alive
        .iter()
        .filter_map(|name| {
            let dir = dir_of(paths, name)?;
            here.starts_with(&dir).then(|| (dir.components().count(), name))
        })
        .collect();
    let longest = above.iter().map(|(length, _)| *length).max();
    let nearest: Vec<&SessionName> = above.iter().filter(|(length, _)| Some(*length) == longest).map(|(_, name)| *name).collect();
    match (nearest.as_slice(), alive.as_slice(), rule) {
        ([one], _, _) => Ok((*one).clone()),
        ([], [one], Rule::Any) => Ok(one.clone()),
        ([], [], _) => Err(Failed::new(3, "no session is running").hint("`hopty` starts one here")),
        _ => {
            let several = if nearest.is_empty() { alive.iter().collect() } else { nearest };
            let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            Err(Failed::new(3, format!("which session is meant? {}", names.join(", "))).hint("give its name"))
        }
    }
}

/// The session that is meant, ended ones included when they are named.
pub(super) fn any(paths: &Paths, given: Option<&str>) -> Result<SessionName, Failed> {
    let known = given.and_then(|text| text.parse::<SessionName>().ok()).filter(|name| paths.session(name).is_dir());
    known.map_or_else(|| live(paths, given, Rule::Any), Ok)
}

/// A conversation with one host.
pub(super) struct Control {
    writer: UnixStream,
    reader: BufReader<UnixStream>,
    next: u64,
}

impl Control {
    /// Connects and greets.
    pub fn connect(paths: &Paths, name: &SessionName, timeout: Option<Duration>) -> Result<Self, Failed> {
        let unreachable = |e: &dyn std::fmt::Display| {
            Failed::new(125, format!("session {name} does not answer: {e}"))
                .hint("its host may be busy or stopped; `hopty ls` looks again")
        };
        let socket = dial(paths, name).map_err(|e| unreachable(&e))?;
        socket.set_read_timeout(timeout)?;
        let mut control = Control { writer: socket.try_clone()?, reader: BufReader::new(socket), next: 1 };
        let hello = ClientHello { hopty: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned(), role: "control".to_owned() };
        writeln!(control.writer, "{}", json!(hello))?;
        let line = control.line().map_err(|e| unreachable(&e))?;
        let theirs: Value = serde_json::from_str(&line).unwrap_or_default();
        if theirs["hopty"] != json!(PROTOCOL) {
            return Err(Failed::new(125, format!("session {name} speaks another protocol ({})", theirs["hopty"]))
                .hint("it was started by another version of hopty; use that one, or end the session"));
        }
        Ok(control)
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line)
    }

    /// The next answer.
    pub fn answer(&mut self) -> Result<Value, Failed> {
        let line = self.line().map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => Failed::from(Failure::new(Code::Ended, "the session ended", "")),
            _ => Failed::new(125, format!("no answer: {e}")),
        })?;
        let answer: Answer = serde_json::from_str(&line).map_err(|e| Failed::new(125, format!("the answer cannot be read: {e}")))?;
        match answer.error {
            Some(failure) => Err(failure.into()),
            None => Ok(answer.ok.unwrap_or(Value::Null)),
        }
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, mut request: Value) -> Result<Value, Failed> {
        request["id"] = json!(self.next);
        self.next += 1;
        writeln!(self.writer, "{request}")?;
        self.answer()
    }

    /// Reads until the other side closes.
    pub fn wait_for_end(&mut self) {
        while self.line().is_ok() {}
    }
}

/// Connects to a live session's socket; one that vanished is asked for by SIGUSR1 (CONTRACT C1).
pub(super) fn dial(paths: &Paths, name: &SessionName) -> std::io::Result<UnixStream> {
    let path = paths.socket(name);
    let first = address::connect(&path);
    if first.is_ok() || !session::is_alive(&paths.session(name)) {
        return first;
    }
    let host = std::fs::read(paths.session(name).join("session.json"))
        .ok()
        .and_then(|text| serde_json::from_slice::<Value>(&text).ok())
        .and_then(|value| i32::try_from(value["host_pid"].as_i64()?).ok());
    if let Some(pid) = host.filter(|pid| *pid > 1) {
        // SAFETY: kill takes two numbers; the lock says that this session's host lives.
        unsafe { nix::libc::kill(pid, nix::libc::SIGUSR1) };
    }
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(10));
        if let Ok(socket) = address::connect(&path) {
            return Ok(socket);
        }
    }
    first
}
