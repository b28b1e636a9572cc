//! `hopty screen` and `hopty screen-dump`: print a session's screen, or the screen that a terminal would show
//! for the bytes on standard input.
//!
//! The host sends its screen as escape sequences; this process draws it.

use std::io::{Read, Write};

use super::args::PictureForm;
use super::control::ANSWER;
use super::control::{HostControl, Rule, live_session, paths};
use super::error::{VerbError, stdout, visible};
use super::exit_codes::{FAILED, INTERNAL};
use crate::core::ids::SessionName;
use crate::core::text::visible::escaped;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::answers::ScreenAnswer;
use crate::ipc::message::Request;
use crate::screen::{PictureLines, Screen};

/// The most scrollback lines in a picture; a host sends fewer.
const HISTORY_MAX: usize = 1 << 20;

/// Columns in which the last line of a program needs no wrap.
const WHOLE_LINE: u16 = 1000;

/// Bytes of standard input that are read at once.
const PIECE: usize = 1 << 16;

pub(super) fn screen(given: Option<&str>, history: bool, form: PictureForm) -> Result<u8, VerbError> {
    let paths = paths()?;
    let name = match live_session(&paths, given, Rule::Any) {
        Ok(name) => name,
        Err(ended) => {
            if let Some((name, last)) = given.filter(|_| !form.json).and_then(|name| last(&paths, name)) {
                draw(&name, &last, PictureLines::Screen, form)?;
                return Err(
                    ended.hint(format!("this is its last screen; `hopty why {name}` says how it ended"))
                );
            }
            return Err(ended);
        }
    };
    let answer = HostControl::connect(&paths, &name, Some(ANSWER))?.ask(&Request::Screen { history })?;
    draw(&name, &answer, if history { PictureLines::WithHistory } else { PictureLines::Screen }, form)
}

/// The last screen of an ended session.
fn last(paths: &Paths, name: &str) -> Option<(SessionName, ScreenAnswer)> {
    let name = name.parse().ok()?;
    let last = session::last_screen(paths, &name)?;
    Some((name, serde_json::from_value(last).ok()?))
}

/// The last lines with text of an ended session's screen, at most `most`.
pub(super) fn last_lines(paths: &Paths, name: &SessionName, most: usize) -> Vec<String> {
    let Some((_, last)) = last(paths, name.as_str()).filter(|(_, last)| last.cols > 0 && last.rows > 0)
    else {
        return Vec::new();
    };
    let mut screen = Screen::new(last.cols, last.rows);
    screen.feed(last.dump.as_bytes());
    // Joins a line that was wrapped at the right edge.
    screen.resize(WHOLE_LINE, last.rows);
    let lines: Vec<String> = screen.lines().iter().map(|line| visible(line.trim())).collect();
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(most)..].to_vec()
}

fn draw(
    name: &SessionName,
    answer: &ScreenAnswer,
    lines: PictureLines,
    form: PictureForm,
) -> Result<u8, VerbError> {
    if answer.degraded {
        return Err(degraded(name));
    }
    if answer.cols == 0 || answer.rows == 0 {
        return Err(VerbError::new(INTERNAL, "its host sent no screen")
            .about(name)
            .hint("the host is another version of hopty"));
    }
    let mut screen = Screen::with_history(answer.cols, answer.rows, HISTORY_MAX);
    screen.feed(answer.dump.as_bytes());
    // A program may have drawn characters that a person does not see and a model reads.
    print(&escaped(&picture(&screen, lines, form)))
}

/// The error for a host whose screen model failed.
pub(super) fn degraded(name: &SessionName) -> VerbError {
    VerbError::new(FAILED, "the session keeps running, but its screen model has failed")
        .about(name)
        .hint("`hopty attach` shows what the program draws from now on; the session's host.log has the error")
}

/// Reads standard input to its end, whatever its length.
pub(super) fn dump((cols, rows): (u16, u16), form: PictureForm) -> Result<u8, VerbError> {
    let mut screen = Screen::new(cols, rows);
    let mut input = std::io::stdin().lock();
    let mut piece = vec![0; PIECE];
    loop {
        match input.read(&mut piece) {
            Ok(0) => return print(&picture(&screen, PictureLines::Screen, form)),
            Ok(length) => {
                screen.feed(&piece[..length]);
                // Nothing answers queries here.
                drop(screen.take_queries());
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(VerbError::from(error).about("standard input")),
        }
    }
}

fn picture(screen: &Screen, lines: PictureLines, form: PictureForm) -> String {
    match form {
        PictureForm { json: true, .. } => escaped(&format!("{}\n", screen.json(lines))),
        PictureForm { ansi: true, .. } => screen.ansi(lines),
        PictureForm { svg: true, .. } => screen.svg(lines),
        _ => screen.text(lines),
    }
}

fn print(picture: &str) -> Result<u8, VerbError> {
    stdout()?.write_all(picture.as_bytes())?;
    Ok(0)
}
