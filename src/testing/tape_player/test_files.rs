//! Files of the test and commands outside of the terminal: `File`, `Copy`, `Run`, `Expect+File`.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::step_failure::{StepFailure, StepResult};
use super::test_session::TestSession;
use crate::core::process_change::Signal;
use crate::core::tape::{TapePattern, TapeText, TapeTime};
use crate::sys::process;
use crate::sys::safe_file::{self, FileRule};
use crate::testing::look::TextPattern;
use crate::testing::processes::TestProcesses;
use crate::testing::test_terminal::starting;

/// The longest file that a tape copies or checks, in bytes.
const FILE_MAX: u64 = 64 << 20;
/// How much output of a failed `Run` is shown, in bytes.
const OUTPUT_MAX: usize = 2000;

pub(super) fn write_file(session: &mut TestSession, path: &TapeText, content: &TapeText) -> StepResult {
    let workspace = &session.workspace;
    let (target, content) = (workspace.inside(path)?, workspace.text(content)?);
    let failed = |error| StepFailure::io(&format!("cannot write {}", target.display()), &error);
    workspace.make_room(&target, failed)?;
    fs::write(&target, content).map_err(failed)?;
    session.files.note(&target);
    Ok(())
}

pub(super) fn copy_file(session: &mut TestSession, from: &TapeText, to: Option<&TapeText>) -> StepResult {
    let workspace = &session.workspace;
    let from = workspace.tape_dir().join(workspace.text(from)?);
    let failed = |error| StepFailure::io(&format!("cannot copy {}", from.display()), &error);
    let meta = fs::metadata(&from).map_err(failed)?;
    let name = from.file_name().map_or_else(|| OsString::from("copy"), OsString::from);
    let target = match to {
        Some(to) => {
            let target = workspace.inside(to)?;
            if meta.is_file() && target.is_dir() { target.join(&name) } else { target }
        }
        None => workspace.dirs().dir().join(&name),
    };
    workspace.make_room(&target, failed)?;
    let clock = &session.clock;
    copy_while(&from, &target, &|| clock.in_time().is_ok()).map_err(|error| {
        // The deadline ended it, or the copy failed by itself.
        clock.in_time().err().unwrap_or_else(|| failed(error))
    })?;
    session.files.note(&target);
    Ok(())
}

/// `Run`: a command outside of the terminal, which must succeed.
pub(super) fn run_outside_terminal(session: &mut TestSession, line: &TapeText) -> StepResult {
    let line = session.workspace.text(line)?;
    // What it changes on the screen is new.
    session.take_mark();
    let log = session.workspace.dirs().base().join("run.log");
    let failed = |error| StepFailure::io(&format!("cannot run {line:?}"), &error);
    let output = fs::File::create(&log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let mut command = Command::new("sh");
    command.args(["-c", &line]).env_clear().envs(session.workspace.env().iter().cloned());
    command.current_dir(session.workspace.dirs().dir());
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    process::lead_session(&mut command);
    let turn = starting();
    let mut child = command.spawn().map_err(failed)?;
    drop(turn);
    let base = session.workspace.dirs().base().to_owned();
    let until = Instant::now() + session.clock.time_left();
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            if status.success() {
                return Ok(());
            }
            let said = safe_file::read(&log, FileRule::own(FILE_MAX)).ok().flatten().unwrap_or_default();
            let said = String::from_utf8_lossy(&said).into_owned();
            let end = status.code().map_or("a signal".to_owned(), |code| format!("exit {code}"));
            let from = said.char_indices().rev().nth(OUTPUT_MAX).map_or(0, |(at, _)| at);
            let said = said[from..].trim_end();
            return Err(StepFailure::command(format!("{line:?} ended with {end}\n{said}").trim_end()));
        }
        let served =
            if Instant::now() < until { session.serve_until(until) } else { session.clock.in_time() };
        if let Err(mut failure) = served {
            let mut processes = TestProcesses::new(i32::try_from(child.id()).unwrap_or(0), Some(base));
            processes.look();
            processes.signal(Signal::KILL);
            let _ = child.wait();
            if !failure.is_stop {
                failure.message = format!("{line:?} did not end before the deadline of the tape");
            }
            return Err(failure);
        }
    }
}

pub(super) fn expect_file(
    session: &mut TestSession,
    limit: Option<TapeTime>,
    path: &TapeText,
    absent: bool,
    pattern: &TapePattern,
) -> StepResult {
    let (file, looked_for) = (session.workspace.inside(path)?, session.workspace.pattern(pattern, true)?);
    let until = Instant::now() + session.clock.check_limit(limit);
    if absent && session.terminals.current().is_some() {
        // The program may not have written the file yet.
        session.settle_for_picture()?;
    }
    loop {
        let read = safe_file::read(&file, FileRule::of_claude(FILE_MAX));
        let content = read.map_err(|error| StepFailure::command(error.to_string()))?;
        let text = content.as_deref().map(String::from_utf8_lossy);
        let is_in = text.as_ref().is_some_and(|text| match &looked_for {
            TextPattern::Text(wanted) => text.contains(wanted.as_str()),
            TextPattern::Regex(regex) => regex.is_match(text),
        });
        if is_in != absent && (text.is_some() || !absent) {
            if let Some(line) = session.files.note(&file).filter(|_| !absent) {
                let name = session.workspace.text(path)?;
                session.findings.warn(format!(
                    "{name} has not been written since line {line}: {looked_for} was in it before"
                ));
            }
            return Ok(());
        }
        if Instant::now() >= until {
            let name = session.workspace.text(path)?;
            let message = match text {
                None if absent => {
                    let failure = StepFailure::check(format!("{name} does not exist"));
                    let hint = format!("`Run \"test ! -e {name}\"` checks that there is no such file");
                    return Err(failure.hint(hint));
                }
                None => format!("{name} does not exist"),
                Some(_) if absent => format!("{name} contains {looked_for}"),
                Some(text) => {
                    format!("{name} does not contain {looked_for}; it holds\n{}", shortened(&text))
                }
            };
            return Err(StepFailure::check(message));
        }
        session.serve_until(until)?;
    }
}

/// Copies a file, or a directory with its content; links stay links, and no link at the destination is
/// followed.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    copy_while(from, to, &|| true)
}

/// [`copy_tree`] as long as `goes_on`.
fn copy_while(from: &Path, to: &Path, goes_on: &dyn Fn() -> bool) -> std::io::Result<()> {
    if !goes_on() {
        return Err(std::io::ErrorKind::TimedOut.into());
    }
    if fs::symlink_metadata(to).is_ok_and(|meta| meta.is_symlink()) {
        return Err(std::io::Error::other(format!("{} is a symbolic link", to.display())));
    }
    let meta = fs::symlink_metadata(from)?;
    if meta.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_while(&entry.path(), &to.join(entry.file_name()), goes_on)?;
        }
        return Ok(());
    }
    if meta.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    let bytes = safe_file::read(from, FileRule::of_claude(FILE_MAX)).map_err(std::io::Error::other)?;
    fs::write(to, bytes.unwrap_or_default())?;
    fs::set_permissions(to, meta.permissions())
}

fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.lines().take(20).collect();
    let end: String = lines.join("\n").chars().take(OUTPUT_MAX).collect();
    if end.len() < text.trim_end().len() { format!("{end}\n…") } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_follows_no_link_of_an_earlier_copy() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["outside", "one", "two/sub", "to"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(at("outside"), at("one/sub")).unwrap();
        std::os::unix::fs::symlink(at("outside/new"), at("one/file")).unwrap();
        fs::write(at("two/sub/planted"), "x").unwrap();
        copy_tree(&at("one"), &at("to")).unwrap();
        let error = copy_tree(&at("two"), &at("to")).unwrap_err().to_string();
        assert!(error.ends_with("to/sub is a symbolic link"), "{error}");
        fs::write(at("two/file"), "x").unwrap();
        assert!(copy_tree(&at("two/file"), &at("to/file")).is_err());
        assert_eq!(fs::read_dir(at("outside")).unwrap().count(), 0);
    }

    #[test]
    fn a_copy_ends_at_the_deadline() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        (0..100).for_each(|n| fs::write(from.join(n.to_string()), "x").unwrap());
        let left = std::cell::Cell::new(10);
        let goes_on = || {
            left.set(left.get() - 1);
            left.get() > 0
        };
        assert_eq!(copy_while(&from, &to, &goes_on).unwrap_err().kind(), std::io::ErrorKind::TimedOut);
        assert!(fs::read_dir(&to).unwrap().count() < 10);
    }
}
