//! The decision log: `events` for programs, `log` for people, `why` for the last one. Read from the journal on disk, so
//! that it works for ended sessions too and costs the host nothing.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::control::{any, paths};
use super::error::{Failed, say, visible};
use crate::core::journal::{decisions, last_explained, last_session};
use crate::fs::{journal, session};

fn journal_of(given: Option<&str>) -> Result<(PathBuf, PathBuf), Failed> {
    let paths = paths()?;
    let name = any(&paths, given)?;
    let dir = paths.session(&name);
    Ok((dir.join("journal.jsonl"), dir))
}

fn read(path: &Path) -> Result<String, Failed> {
    let whole = journal::read_all(path).map_err(|e| {
        Failed::new(1, format!("the journal cannot be read: {e}"))
            .about(path.display())
            .hint("a session whose disk is full keeps none")
    })?;
    Ok(last_session(&whole).to_owned())
}

pub(super) fn events(given: Option<&str>, follow: bool) -> Result<u8, Failed> {
    each(given, follow, |line| line.to_owned())
}

pub(super) fn log(given: Option<&str>, follow: bool) -> Result<u8, Failed> {
    each(given, follow, |line| {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        let at = value["at"].as_str().unwrap_or_default();
        let time = at.get(11..19).unwrap_or(at);
        let kind = value["decision"]["kind"].as_str().unwrap_or_default();
        format!("{} {kind:<22} {}", visible(time), visible(value["decision"]["sentence"].as_str().unwrap_or_default()))
    })
}

fn each(given: Option<&str>, follow: bool, form: impl Fn(&str) -> String) -> Result<u8, Failed> {
    let (path, dir) = journal_of(given)?;
    let text = read(&path)?;
    let mut out = std::io::stdout().lock();
    for line in decisions(&text) {
        writeln!(out, "{}", form(line))?;
    }
    out.flush()?;
    if !follow {
        return Ok(0);
    }
    let mut file = std::fs::File::open(&path)?;
    let mut at = file.seek(SeekFrom::End(0))?;
    let mut partial = String::new();
    loop {
        let alive = session::is_alive(&dir);
        if std::fs::metadata(&path)?.len() < at {
            file = std::fs::File::open(&path)?;
            at = 0;
        }
        let mut new = Vec::new();
        at += file.read_to_end(&mut new)? as u64;
        partial.push_str(&String::from_utf8_lossy(&new));
        if let Some(end) = partial.rfind('\n') {
            let whole: String = partial.drain(..=end).collect();
            for line in decisions(&whole) {
                writeln!(out, "{}", form(line))?;
            }
            out.flush()?;
        } else if !alive {
            return Ok(0);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

pub(super) fn why(given: Option<&str>, as_json: bool) -> Result<u8, Failed> {
    let (path, _) = journal_of(given)?;
    let text = read(&path)?;
    let (seq, decision) = last_explained(&text)
        .ok_or_else(|| Failed::new(1, "nothing was decided yet").hint("`hopty status` shows how the session stands"))?;
    if as_json {
        say(format_args!("{}", json!({"seq": seq, "sentence": decision.sentence, "because": decision.because})))?;
    } else {
        say(format_args!("{}", visible(&decision.sentence)))?;
    }
    Ok(0)
}
