//! The decision log: `events` for programs, `log` for people, `why` for the last decision. All read the
//! journal on disk, so they work for ended sessions and cost the host nothing.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::control::{any_session, paths};
use super::error::{VerbError, note, say, stdout, visible};
use super::exit_codes::FAILED;
use super::prose::fit;
use super::status::status_of;
use crate::core::journal::{decisions, last_explained, last_session, session_begins};
use crate::core::status_types::ExitKind;
use crate::core::supervisor::action::Decision;
use crate::core::supervisor::reported_state::SessionState;
use crate::core::text::visible::escaped;
use crate::core::time::WallTime;
use crate::fs::watch::{POLL_MS, Watcher};
use crate::fs::{rotating_journal, session};
use crate::sys::clock::local;
use crate::sys::poll::{Interest, PollSet};
use crate::sys::process::Process;
use crate::sys::safe_file::{self, SafeFileError};

/// Bytes of a followed journal that are read at once.
const PIECE: u64 = 4 << 20;
/// The longest incomplete line that is kept, in bytes.
const LONGEST_LINE: u64 = 64 << 20;

fn journal_of(given: Option<&str>) -> Result<(PathBuf, PathBuf), VerbError> {
    let paths = paths()?;
    let name = any_session(&paths, given)?;
    let dir = paths.session(&name);
    Ok((dir.join(session::JOURNAL), dir))
}

fn read(path: &Path) -> Result<String, VerbError> {
    let whole = rotating_journal::read_back(path, session_begins).map_err(|e| unreadable(path, &e))?;
    Ok(last_session(&whole).to_owned())
}

/// The decisions of the last session with a journal in `dir`, oldest first; none if it cannot be read.
pub(super) fn decisions_of(dir: &Path) -> Vec<Decision> {
    let text = read(&dir.join(session::JOURNAL)).unwrap_or_default();
    let decision = |line: &str| {
        let mut line: Value = serde_json::from_str(line).ok()?;
        serde_json::from_value(line["decision"].take()).ok()
    };
    decisions(&text).filter_map(decision).collect()
}

fn unreadable(path: &Path, error: &SafeFileError) -> VerbError {
    let missing =
        matches!(error, SafeFileError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
    let hint = match missing {
        true => "it was deleted, or could not be written when the session was started".to_owned(),
        false => error.hint(),
    };
    VerbError::new(FAILED, format!("hopty cannot read the journal: {error}")).about(path.display()).hint(hint)
}

fn followed(path: &Path) -> Result<File, SafeFileError> {
    let missing = || SafeFileError::Io {
        doing: "open",
        path: path.to_owned(),
        source: std::io::ErrorKind::NotFound.into(),
    };
    safe_file::open(path, rotating_journal::RULE)?.ok_or_else(missing)
}

pub(super) fn events(given: Option<&str>, follow: bool) -> Result<u8, VerbError> {
    each(given, follow, escaped)
}

pub(super) fn log(given: Option<&str>, follow: bool) -> Result<u8, VerbError> {
    each(given, follow, |line| {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        let at = value["at"].as_str().unwrap_or_default();
        let time = WallTime::parse(at).map_or_else(|| visible(at), local);
        let kind = visible(value["decision"]["kind"].as_str().unwrap_or_default());
        let before = format!("{time}  {kind:<20}  ");
        fit(
            &format!("{before}{}", visible(value["decision"]["sentence"].as_str().unwrap_or_default())),
            before.len(),
        )
    })
}

fn each(given: Option<&str>, follow: bool, form: impl Fn(&str) -> String) -> Result<u8, VerbError> {
    let (path, dir) = journal_of(given)?;
    let mut changes = Changes::of(&dir);
    // Opened first, to see what is written while the older part is read.
    let mut file = followed(&path).map_err(|e| unreadable(&path, &e))?;
    let mut out = stdout()?.lock();
    let mut printed = 0;
    print_new(&read(&path)?, &form, &mut printed, &mut out)?;
    if !follow {
        return Ok(0);
    }
    let mut rest = Vec::new();
    let mut first = true;
    loop {
        let alive = changes.may_come() && session::is_alive(&dir);
        let new = (&mut file).take(PIECE).read_to_end(&mut rest)? as u64;
        if let Some(end) = rest.iter().rposition(|b| *b == b'\n') {
            let whole: Vec<u8> = rest.drain(..=end).collect();
            let whole = String::from_utf8_lossy(&whole);
            let whole = if std::mem::take(&mut first) { last_session(&whole) } else { &whole };
            print_new(whole, &form, &mut printed, &mut out)?;
        }
        if new == PIECE {
            // hopty writes no line of that length.
            if rest.len() as u64 > LONGEST_LINE {
                rest.clear();
            }
            continue;
        }
        // While the journal is rotated, there is no file for a moment.
        let there = followed(&path).ok().filter(|there| is_another(there, &file));
        if let Some(new) = there {
            // The old file has been read to its end, but there may have been others before the new one.
            file = new;
            rest.clear();
            if let Ok(text) = read(&path) {
                print_new(&text, &form, &mut printed, &mut out)?;
            }
            continue;
        }
        if new == 0 && !alive {
            return Ok(0);
        }
        if changes.wait(&out)? == OutputReader::Gone {
            return Ok(0);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputReader {
    There,
    Gone,
}

/// Watches for changes of a session's journal.
struct Changes {
    dir: PathBuf,
    watcher: Watcher,
    host: Option<Process>,
    ended: bool,
}

impl Changes {
    fn of(dir: &Path) -> Self {
        let mut watcher = Watcher::new();
        watcher.add(dir);
        let host = session::host_of(dir).and_then(|pid| Process::open(pid).ok());
        Changes { dir: dir.to_owned(), watcher, host, ended: false }
    }

    /// Whether the host may still write. After its end the name may belong to another session.
    fn may_come(&self) -> bool {
        !self.ended
    }

    /// Waits until something beside the journal has changed, the host has ended, or the reader has gone,
    /// which is ignored while there is nothing to print. Sources that report no changes are polled.
    fn wait(&mut self, out: &impl AsFd) -> std::io::Result<OutputReader> {
        self.watcher.add(&self.dir);
        let mut set = PollSet::default();
        set.add('r', out.as_fd(), Interest::Gone);
        if let Some(fd) = self.watcher.fd() {
            set.add('w', fd, Interest::Read);
        }
        if let Some(host) = &self.host {
            set.add('h', host.as_fd(), Interest::Read);
        }
        let tells = self.watcher.covers(&self.dir) && self.host.is_some();
        let ready = set.wait((!tells).then_some(POLL_MS))?;
        self.watcher.drain();
        self.ended |= ready.iter().any(|(who, _)| *who == 'h');
        Ok(if ready.iter().any(|(who, _)| *who == 'r') { OutputReader::Gone } else { OutputReader::There })
    }
}

fn is_another(one: &File, other: &File) -> bool {
    matches!((one.metadata(), other.metadata()), (Ok(one), Ok(other)) if one.ino() != other.ino())
}

/// Prints the decisions of `text` whose numbers follow the last one printed.
fn print_new(
    text: &str,
    form: impl Fn(&str) -> String,
    printed: &mut u64,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for line in decisions(text) {
        let seq = serde_json::from_str::<Value>(line).ok().and_then(|line| line["seq"].as_u64()).unwrap_or(0);
        if seq > *printed {
            *printed = seq;
            writeln!(out, "{}", form(line))?;
        }
    }
    out.flush()
}

pub(super) fn why(given: Option<&str>, as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let name = any_session(&paths, given)?;
    let text = read(&paths.session(&name).join(session::JOURNAL))?;
    let (seq, decision) = last_explained(&text).ok_or_else(|| {
        VerbError::new(FAILED, "there is no decision yet")
            .hint("`hopty status` shows the state of the session")
    })?;
    let session = status_of(&paths, &name)?;
    // A killed host could not write why.
    let lost = session.exit.as_ref().is_some_and(|exit| exit.kind.is(ExitKind::Lost));
    let because = match lost {
        true => vec![seq],
        // It is not the decision that explains the state.
        false if session.is(SessionState::Unresponsive) => Vec::new(),
        false => decision.because,
    };
    let sentence = if session.why.is_empty() { decision.sentence } else { session.why };
    if as_json {
        say(format_args!("{}", json!({"seq": seq, "sentence": sentence, "because": because})))?;
    } else {
        // Nobody saw the program's last output.
        let failed = session.exit.as_ref().is_some_and(|exit| exit.code.is_some_and(|code| code != 0));
        say(format_args!("{}", fit(&visible(&sentence), 0)))?;
        if failed && paths.last_screen(&name).exists() {
            note(format_args!("hint: `hopty screen {name}` shows its last screen"));
        }
    }
    Ok(0)
}
