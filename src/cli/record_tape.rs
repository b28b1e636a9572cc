//! `hopty record --tape FILE -- PROGRAM`: writes a tape from what you do in a program, and plays it at the
//! end.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::error::{VerbError, note, say_wrapped, visible};
use super::exit_codes::{FAILED, INTERNAL, NO_PROGRAM, USAGE};
use super::run::in_terminal;
use crate::core::text::plural::plural;
use crate::tape_recorder::{CopiedFile, RecordedTape, TapeRecorderError, record_tape as record};

/// The files named in the program's arguments; the tape copies them into its directory.
fn named_files(tape: &Path, words: &[String]) -> Vec<CopiedFile> {
    let whole = |path: &Path| path.canonicalize().ok();
    let dir = tape.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(dir) = whole(dir) else { return Vec::new() };
    let is_plain = |word: &&String| {
        let path = Path::new(word.as_str());
        path.is_file()
            && path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    let words = words.iter().skip(1).filter(is_plain);
    let copied = |word: &String| {
        let source = whole(Path::new(word))?;
        let from = from_dir(&source, &dir).to_str()?.to_owned();
        Some(CopiedFile { source, from, to: word.clone() })
    };
    words.filter_map(copied).collect()
}

/// A path relative to a directory; both are absolute.
fn from_dir(path: &Path, dir: &Path) -> PathBuf {
    let shared = path.components().zip(dir.components()).take_while(|(one, other)| one == other).count();
    let up = dir.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(path.components().skip(shared)).collect()
}

pub(super) fn record_tape(path: &Path, program: &[OsString], overwrite: bool) -> Result<u8, VerbError> {
    let name = visible(&path.to_string_lossy());
    let words: Option<Vec<String>> = program.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let words = words.ok_or_else(|| {
        VerbError::new(USAGE, "the program's arguments are not UTF-8").hint("a tape is text: rename the file")
    })?;
    if !in_terminal() {
        return Err(VerbError::new(USAGE, "standard input and output must be a terminal")
            .hint("`hopty record --tape` records what you type in a terminal"));
    }
    // Fails before you do any work.
    let mut options = OpenOptions::new();
    options.write(true);
    let mut file = if overwrite { options.create(true).truncate(false) } else { options.create_new(true) }
        .open(path)
        .map_err(|error| unwritten(path, &error))?;
    let files = named_files(path, &words);
    for file in &files {
        note(format_args!(
            "hopty: the tape copies {} into its directory; yours stays as it is",
            visible(&file.from)
        ));
    }
    if files.is_empty() {
        note(format_args!("hopty: the program runs in an empty directory, as in a test"));
    }
    let mut recorded = match record(&words, &files, &name) {
        Ok(recorded) => recorded,
        Err(error) => {
            if !overwrite {
                let _ = std::fs::remove_file(path);
            }
            return Err(match error {
                TapeRecorderError::Start(error) => {
                    VerbError::new(NO_PROGRAM, error.to_string()).hint("check the name and PATH")
                }
                TapeRecorderError::Io(error) => VerbError::new(INTERNAL, error.to_string())
                    .hint("run it in a terminal, and record it again"),
            });
        }
    };
    file.set_len(0)
        .and_then(|()| file.write_all(recorded.text().as_bytes()))
        .map_err(|error| unwritten(path, &error))?;
    drop(file);
    say_wrapped(format_args!("recorded {} to {name}", plural(recorded.commands(), "command")))?;
    let secrets = recorded.secrets();
    if !secrets.is_empty() {
        note(format_args!("{}", secrets_note(&secrets)));
        return Ok(0);
    }
    replace_failed_lines(path, &mut recorded)?;
    let status = Command::new(std::env::current_exe()?).args(["test", "--fast", "--"]).arg(path).status()?;
    if !status.success() {
        note(format_args!("hopty: the tape does not pass yet: edit the line that failed"));
    }
    Ok(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

/// How often a tape must pass before a person sees it played.
const UNSEEN_PLAYS: u32 = 2;

/// Plays the tape unseen and replaces each expected text that does not come again, until it passes
/// [`UNSEEN_PLAYS`] times in a row.
fn replace_failed_lines(path: &Path, recorded: &mut RecordedTape) -> Result<(), VerbError> {
    let mut passes = 0;
    while passes < UNSEEN_PLAYS {
        let Some((line, rows)) = failed_line(path)? else {
            passes += 1;
            continue;
        };
        let Some(command) = recorded.replace_expect(line, &rows) else { break };
        passes = 0;
        note(format_args!("hopty: line {line}: its text did not come again, now `{}`", visible(&command)));
        std::fs::write(path, recorded.text()).map_err(|error| unwritten(path, &error))?;
    }
    Ok(())
}

/// The error for a tape that cannot be created or written.
fn unwritten(path: &Path, error: &io::Error) -> VerbError {
    let hint = match error.kind() {
        io::ErrorKind::AlreadyExists => "use --overwrite to replace it, or another file",
        _ => "check the path and its permissions",
    };
    VerbError::new(FAILED, error.to_string()).about(visible(&path.to_string_lossy())).hint(hint)
}

/// The first line of a tape that fails when it is played, and the screen's rows then.
fn failed_line(tape: &Path) -> io::Result<Option<(usize, Vec<String>)>> {
    let played = Command::new(std::env::current_exe()?)
        .args(["test", "--fast", "--report", "json", "--"])
        .arg(tape)
        .stderr(Stdio::null())
        .output()?;
    let events = played.stdout.split(|byte| *byte == b'\n');
    let failed = events.filter_map(|event| serde_json::from_slice::<Value>(event).ok()).find_map(|event| {
        let failure = event.get("failure")?;
        let line = usize::try_from(failure["place"]["line"].as_u64()?).ok()?;
        let rows = serde_json::from_value(failure["screen"]["lines"].clone()).unwrap_or_default();
        Some((line, rows))
    });
    Ok(failed)
}

/// How to play a tape in which these variables replace hidden input.
fn secrets_note(names: &[String]) -> String {
    let options: Vec<String> = names.iter().map(|name| format!("--env {name}")).collect();
    let names = names.join(", ");
    format!("hopty: hidden input is not on the tape: set {names} and play it with `{}`", options.join(" "))
}

#[cfg(test)]
mod tests {
    use super::secrets_note;

    #[test]
    fn every_hidden_input_is_named() {
        let note = secrets_note(&["SECRET_1", "SECRET_2"].map(str::to_owned));
        assert!(note.ends_with("set SECRET_1, SECRET_2 and play it with `--env SECRET_1 --env SECRET_2`"));
    }
}
