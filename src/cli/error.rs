//! Error messages: what failed, its name, the cause, and a hint.

use std::fmt;
use std::io::{self, IsTerminal, Write as _};
use std::os::fd::AsFd;
use std::path::PathBuf;

use nix::libc;
use serde_json::json;

use super::exit_codes::{INTERNAL, REFUSED, USAGE};
use super::prose::{fit, fit_message};
use crate::core::io_words::io_words;
use crate::core::redact::redact;
use crate::core::text::visible;
use crate::ipc::message::{Code, RequestError};
use crate::sys::inherited;
use crate::sys::poll::{Interest, PollSet};
use crate::sys::signals::Signals;

/// Why a verb failed, printed by [`VerbError::print`].
#[derive(Debug)]
pub(super) struct VerbError {
    code: u8,
    word: Option<Code>,
    name: String,
    cause: String,
    hint: String,
}

impl VerbError {
    pub fn new(code: u8, cause: impl Into<String>) -> Self {
        let cause: String = cause.into();
        VerbError { code, word: None, name: String::new(), cause: io_words(cause), hint: String::new() }
    }

    /// Sets the name of what failed: a session, a program, a file.
    #[must_use]
    pub fn about(mut self, name: impl fmt::Display) -> Self {
        self.name = name.to_string();
        self
    }

    /// Adds a second cause.
    #[must_use]
    pub fn also(mut self, cause: &str) -> Self {
        self.cause = match self.cause.ends_with('?') {
            true => format!("{} ({cause})", self.cause),
            false => format!("{}, and {cause}", self.cause),
        };
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The error code for scripts, if it does not follow from the exit code.
    #[must_use]
    pub fn called(mut self, word: Code) -> Self {
        self.word = Some(word);
        self
    }

    /// Whether no session is running.
    pub fn is_not_found(&self) -> bool {
        matches!(self.word(), Code::NotFound | Code::Ended)
    }

    /// Whether the same request may succeed later.
    pub fn is_busy(&self) -> bool {
        self.word() == Code::Busy
    }

    /// The cause without the name.
    pub fn cause(&self) -> &str {
        &self.cause
    }

    pub fn help(&self) -> &str {
        &self.hint
    }

    /// The cause, if the request was refused.
    pub fn refusal(&self) -> Option<&str> {
        (self.word == Some(Code::Refused)).then_some(self.cause.as_str())
    }

    /// The error code for scripts (`docs/PROTOCOL.md`).
    fn word(&self) -> Code {
        self.word.unwrap_or(match self.code {
            1 => Code::Failed,
            2 => Code::BadRequest,
            3 | 127 => Code::NotFound,
            4 => Code::Refused,
            _ => Code::Internal,
        })
    }

    /// Prints the error and returns its exit code. `what`: the verb.
    pub fn print(&self, what: &str, json: bool) -> u8 {
        let parts = [what, &self.name, &self.cause].map(visible);
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        note(format_args!("hopty: {}", parts.join(": ")));
        if !self.hint.is_empty() {
            note(format_args!("hint: {}", visible(&self.hint)));
        }
        if json {
            let message: Vec<&str> =
                [what, &self.name, &self.cause].into_iter().filter(|part| !part.is_empty()).collect();
            let (message, hint) = (redact(&message.join(": ")), redact(&self.hint));
            let error = json!({"error": {"code": self.word(), "message": message, "hint": hint}});
            let _ = writeln!(io::stdout(), "{}", visible::escaped(&error.to_string()));
        }
        self.code
    }
}

impl From<RequestError> for VerbError {
    fn from(failure: RequestError) -> Self {
        let cause = failure.message;
        VerbError {
            code: failure.code.exit(),
            word: Some(failure.code),
            name: String::new(),
            cause,
            hint: failure.hint,
        }
    }
}

impl From<io::Error> for VerbError {
    fn from(error: io::Error) -> Self {
        VerbError::new(INTERNAL, error.to_string()).hint("`hopty check` finds what is missing")
    }
}

/// The working directory of this process.
pub(super) fn working_dir() -> Result<PathBuf, VerbError> {
    std::env::current_dir().map_err(|e| {
        VerbError::new(INTERNAL, format!("the working directory is gone: {e}"))
            .hint("change to a directory that exists")
    })
}

/// The error of a full-screen page that failed; its panic message if there was one.
pub(super) fn broken_page(cause: &str) -> VerbError {
    let words = crate::tty::raw::last_words().unwrap_or_else(|| cause.to_owned());
    VerbError::new(INTERNAL, words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Prints a message on standard error. A closed standard error is no failure.
pub(super) fn note(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", fit_message(&io_words(text)));
}

/// Prints notices that a verb collected on standard error.
pub(super) fn note_all(notices: &[String]) {
    notices.iter().for_each(|notice| note(format_args!("hopty: {}", visible(notice))));
}

/// The error for a question that needs a terminal.
pub(super) fn no_terminal(command: &str) -> VerbError {
    VerbError::new(REFUSED, "hopty has no terminal to ask").hint(format!("`{command}` does not ask"))
}

/// Asks a person on standard error, and returns the trimmed answer; `None` if the terminal has hung up.
///
/// # Errors
/// When standard error or standard input cannot be used.
pub(super) fn ask_person(question: &str) -> io::Result<Option<String>> {
    let question = format!("{} ", fit_message(question));
    await_answer(&question)?;
    let mut answer = String::new();
    let is_answered = io::stdin().read_line(&mut answer)? > 0;
    Ok(is_answered.then(|| answer.trim().to_owned()))
}

/// Prints the question and waits for input. After Ctrl+Z and `fg` it prints the question again, because the
/// shell's lines are below the first one.
fn await_answer(question: &str) -> io::Result<()> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return write!(io::stderr(), "{question}");
    }
    let mut continued = Signals::catch(&[libc::SIGCONT])?;
    write!(io::stderr(), "{question}")?;
    loop {
        let mut set = PollSet::default();
        set.add(true, stdin.as_fd(), Interest::Read);
        set.add(false, continued.as_fd(), Interest::Read);
        if set.wait(None)?.iter().any(|(is_answer, _)| *is_answer) {
            return Ok(());
        }
        if !continued.take().is_empty() {
            write!(io::stderr(), "{question}")?;
        }
    }
}

/// How many times the same question is asked.
const QUESTIONS: usize = 3;

/// Asks for yes or no, as [`YesNo::read`] reads it, and asks again after any other answer. `false` if the
/// terminal has hung up.
///
/// # Errors
/// When standard error or standard input cannot be used, or after [`QUESTIONS`] other answers.
pub(super) fn ask_yes_no(question: &str, enter: YesNo) -> Result<bool, VerbError> {
    let ways = if enter == YesNo::Yes { "[Y/n]" } else { "[y/N]" };
    for _ in 0..QUESTIONS {
        let Some(answer) = ask_person(&format!("{question} {ways}"))? else { return Ok(false) };
        match YesNo::read(&answer, enter) {
            Some(said) => return Ok(said == YesNo::Yes),
            None => note(format_args!("hopty: answer y or n")),
        }
    }
    Err(VerbError::new(USAGE, "neither y nor n was answered, so nothing was done").hint("run it again"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YesNo {
    Yes,
    No,
}

impl YesNo {
    /// Reads `y`, `yes`, `n` or `no` in any case; an empty line is `enter`, and `None` is neither.
    fn read(answer: &str, enter: YesNo) -> Option<YesNo> {
        match answer.to_lowercase().as_str() {
            "" => Some(enter),
            "y" | "yes" => Some(YesNo::Yes),
            "n" | "no" => Some(YesNo::No),
            _ => None,
        }
    }
}

/// Prints a line on standard output. Hidden characters are escaped as in JSON; text for people was made
/// visible before.
///
/// # Errors
/// When it cannot be written.
pub(super) fn say(text: fmt::Arguments<'_>) -> io::Result<()> {
    writeln!(stdout()?, "{}", visible::escaped(&fmt::format(text)))
}

/// Prints a sentence on standard output, wrapped in a terminal.
///
/// # Errors
/// When it cannot be written.
pub(super) fn say_wrapped(text: fmt::Arguments<'_>) -> io::Result<()> {
    say(format_args!("{}", fit(&fmt::format(text), 0)))
}

/// Standard output.
///
/// # Errors
/// When it was closed: Rust's own would discard the text without an error.
pub(super) fn stdout() -> io::Result<io::Stdout> {
    if inherited::was_closed(1) { Err(nix::errno::Errno::EBADF.into()) } else { Ok(io::stdout()) }
}

/// Text from files and peers without secrets; everything that a terminal would act on is visible.
pub(super) fn visible(text: &str) -> String {
    visible::visible(&redact(text))
}

#[cfg(test)]
mod tests {
    use super::super::exit_codes::NOT_FOUND;
    use super::*;

    #[test]
    fn nothing_that_is_printed_moves_a_cursor() {
        assert_eq!(visible("a\u{1b}[2Jb\u{202e}c\u{9b}d"), "a\\u{1b}[2Jb\\u{202e}c\\u{9b}d");
    }

    #[test]
    fn an_answer_is_yes_or_no_in_any_case_and_nothing_else_is() {
        for yes in ["y", "Y", "yes", "YES", "Yes"] {
            assert_eq!(YesNo::read(yes, YesNo::No), Some(YesNo::Yes), "{yes}");
        }
        for no in ["n", "N", "no", "NO"] {
            assert_eq!(YesNo::read(no, YesNo::Yes), Some(YesNo::No), "{no}");
        }
        for neither in ["x", "ye", "yess", "1", "j"] {
            assert_eq!(YesNo::read(neither, YesNo::Yes), None, "{neither}");
        }
        assert_eq!(YesNo::read("", YesNo::Yes), Some(YesNo::Yes));
        assert_eq!(YesNo::read("", YesNo::No), Some(YesNo::No));
    }

    #[test]
    fn a_cause_that_is_a_question_stays_one() {
        assert_eq!(
            VerbError::new(NOT_FOUND, "which session?").also("none is known").cause(),
            "which session? (none is known)"
        );
        assert_eq!(
            VerbError::new(NOT_FOUND, "no session").also("none is known").cause(),
            "no session, and none is known"
        );
    }

    #[test]
    fn nothing_that_is_printed_shows_a_secret() {
        assert_eq!(visible("no such file: password=hunter22"), "no such file: password=[redacted: password]");
    }

    #[test]
    fn the_word_for_scripts_is_the_host_s_own_or_follows_the_code() {
        assert_eq!(VerbError::from(RequestError::new(Code::Busy, "x", "")).word(), Code::Busy);
        assert_eq!(VerbError::new(NOT_FOUND, "x").word(), Code::NotFound);
        assert_eq!(VerbError::new(INTERNAL, "x").word(), Code::Internal);
    }
}
