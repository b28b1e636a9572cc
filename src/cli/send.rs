//! `hopty send`: types into a session.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine};
use clap::Args;
use serde_json::json;

use super::control::ANSWER;
use super::control::{HostControl, Rule, live_session, paths};
use super::error::{VerbError, note, say, say_wrapped, visible};
use super::exit_codes::USAGE;
use super::poll_until::becomes_true;
use super::screen_rows::{ScreenRows, marks_unsupported};
use super::settle_wait::SettleWatch;
use crate::core::ids::{ConversationId, SessionName};
use crate::core::input::key_names::{self, CursorKeys};
use crate::core::screen_mark::ScreenMark;
use crate::core::status_types::OpenWord;
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::action::SendResult;
use crate::core::supervisor::reported_state::SessionState;
use crate::ipc::answers::{SendAnswer, WaitAnswer};
use crate::ipc::message::{Code, Request, RequestError, SEND_MAX, Send};
use crate::sys::safe_file;

/// How long the host may take to answer a submission, which has 30 s.
pub(super) const SUBMIT: Duration = Duration::from_secs(40);
/// How long other keys may wait for a hand-over, or for a program that does not read.
const TYPE: Duration = Duration::from_secs(300);
/// How long a program may take to echo a line.
const ECHO: Duration = Duration::from_secs(2);
/// How long a program without echo must be quiet.
const ECHO_QUIET: Duration = Duration::from_millis(50);
/// How often a prompt that waits for another one is sent again.
const TURN_POLL: Duration = Duration::from_millis(100);
/// Commands that end a conversation or Claude; the end proves that Claude took them.
const ENDING_COMMANDS: [&str; 5] = ["/clear", "/new", "/reset", "/exit", "/quit"];
/// How long Claude may take for one.
const ENDING: Duration = Duration::from_secs(5);
/// How often hopty checks for it.
const ENDING_POLL: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(super) struct SendOptions {
    /// The session and the text; only the session with --keys or --stdin
    #[arg(num_args = 0..=2, value_name = "NAME, TEXT")]
    pub words: Vec<String>,
    /// Press these keys, such as ctrl-c,enter
    #[arg(long, value_delimiter = ',', value_name = "KEYS", conflicts_with = "stdin")]
    pub keys: Vec<String>,
    /// Read the text from standard input
    #[arg(long)]
    pub stdin: bool,
    /// Submit the text as a prompt and print the result: submitted, queued, unknown or refused
    #[arg(long, conflicts_with = "keys")]
    pub submit: bool,
    /// Print a mark for `hopty wait --since`, taken before the last key
    ///
    /// Before an Enter that ends the text, hopty waits until the program shows what was typed, so that
    /// this is not taken for its answer. With --submit, the mark is printed in place of the result;
    /// exit code 1 still says that there is no proof. Claude repeats a prompt above its answer, so wait
    /// for words that the prompt does not have.
    #[arg(long)]
    pub mark: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The session that is named, and the request to type. `verb`: as the person typed it.
pub(super) fn request(options: &SendOptions, verb: &str) -> Result<(Option<String>, Send), VerbError> {
    let elsewhere = options.stdin || !options.keys.is_empty();
    let (given, text) = match (options.words.as_slice(), elsewhere) {
        ([name, text], false) => (Some(name.as_str()), Some(text.as_str())),
        ([name], true) => (Some(name.as_str()), None),
        ([], true) => (None, None),
        ([_, _, ..], true) => {
            return Err(
                VerbError::new(USAGE, "give the text only once").hint("use one of TEXT, --keys and --stdin")
            );
        }
        _ => {
            return Err(VerbError::new(USAGE, "give a session and a text").hint(usage(verb)));
        }
    };
    // Without a text it may still take a mark.
    if text.is_some_and(str::is_empty) && !options.mark {
        return Err(VerbError::new(USAGE, "the text is empty").hint(usage(verb)));
    }
    let request = Send { submit: options.submit, mark: options.mark, ..typed_input(options, text)? };
    Ok((given.map(str::to_owned), request))
}

fn usage(verb: &str) -> String {
    let keys = if verb == "send" { ", `hopty send NAME --keys enter`" } else { "" };
    format!("`hopty {verb} NAME TEXT`, `hopty {verb} NAME --stdin`{keys}")
}

pub(super) fn send(options: &SendOptions) -> Result<u8, VerbError> {
    let (given, request) = request(options, "send")?;
    let paths = paths()?;
    let name = live_session(&paths, given.as_deref(), Rule::Careful)?;
    let mut control = HostControl::connect(&paths, &name, Some(ANSWER))?;
    control.limit(TYPE);
    if options.mark && !options.submit {
        return send_with_mark(&mut control, &name, request, options.json);
    }
    let ending = if options.submit && ends_conversation(&request) {
        Some(control.status()?.conversation)
    } else {
        None
    };
    let done =
        if options.submit { submit(&mut control, request) } else { control.ask(&Request::Send(request)) };
    let mut done: SendAnswer = done.inspect_err(|failed| {
        // A person reads the error, a script the JSON. With --mark, standard output has the mark alone.
        let in_words = options.submit && !options.json && !options.mark && !std::io::stdout().is_terminal();
        if let Some(reason) = failed.refusal().filter(|_| in_words) {
            let _ = say_wrapped(format_args!("refused: {}", visible(reason)));
        }
    })?;
    if let Some(before) = ending.filter(|_| !is_proven(&done))
        && has_ended(&mut control, before.as_ref())
    {
        done.result = Some(SendResult::Submitted.into());
    }
    let proven = is_proven(&done);
    if options.json {
        say(format_args!("{}", json!(done)))?;
    } else if options.mark {
        say(format_args!("{}", mark_in(&done, &name)?))?;
        if !proven {
            note(format_args!("{name}: nothing proves that Claude took the prompt"));
        }
    } else if options.submit {
        let result = done.result.as_ref().map(ToString::to_string).unwrap_or_default();
        say(format_args!("{}", visible(&result)))?;
        note_unproven(&mut control, &name, &done);
    }
    Ok(u8::from(options.submit && !proven))
}

/// Submits a prompt. If another one is under way, it waits for that, at most as long as a submission may
/// take.
pub(super) fn submit(control: &mut HostControl, request: Send) -> Result<SendAnswer, VerbError> {
    control.limit(SUBMIT);
    let request = Request::Send(request);
    let until = Instant::now() + SUBMIT;
    loop {
        match control.ask(&request) {
            Err(failed) if failed.is_busy() && Instant::now() < until => std::thread::sleep(TURN_POLL),
            done => return done,
        }
    }
}

fn ends_conversation(request: &Send) -> bool {
    let word = request.text.as_deref().and_then(|text| text.split_whitespace().next());
    word.is_some_and(|word| ENDING_COMMANDS.contains(&word))
}

/// Whether Claude follows another conversation by now, or has ended.
fn has_ended(control: &mut HostControl, before: Option<&ConversationId>) -> bool {
    control.limit(ANSWER);
    let mut has_ended = false;
    becomes_true(Instant::now() + ENDING, ENDING_POLL, || {
        let session = control.status();
        let is_lost = session.is_err();
        has_ended = session.map_or_else(
            |failed| failed.is_not_found(),
            |now| now.is(SessionState::Ended) || now.conversation.as_ref() != before,
        );
        has_ended || is_lost
    });
    has_ended
}

/// Prints why there is no proof that Claude took a prompt, or where to look.
fn note_unproven(control: &mut HostControl, name: &SessionName, done: &SendAnswer) {
    if is_proven(done) {
        return;
    }
    if control.status().is_ok_and(|status| status.agent.is(ProgramKind::Plain)) {
        note(format_args!("hopty: {name}: it does not run Claude, so nothing proves that it took the text"));
    }
    note(format_args!("hint: `hopty screen {name}` shows what became of it"));
}

/// Whether there is proof that Claude took a prompt.
pub(super) fn is_proven(done: &SendAnswer) -> bool {
    matches!(done.result, Some(OpenWord::Known(SendResult::Submitted | SendResult::Queued)))
}

/// Types, and prints a mark that is older than every answer of the program.
fn send_with_mark(
    control: &mut HostControl,
    name: &SessionName,
    mut request: Send,
    as_json: bool,
) -> Result<u8, VerbError> {
    let mut typed = 0;
    // The echo of a line is no answer to it: Enter has a mark of its own.
    if let Some((line, enter)) =
        request.text.as_deref().and_then(split_enter).filter(|(line, _)| !line.is_empty())
    {
        let (line, enter) = (line.to_owned(), enter.to_owned());
        let without_enter = Send { text: Some(line.clone()), mark: true, ..Send::default() };
        let first: SendAnswer = control.ask(&Request::Send(without_enter))?;
        typed = first.typed.unwrap_or(0);
        wait_for_echo(control, name, &line, mark_in(&first, name)?)?;
        request.text = Some(enter);
    }
    control.limit(TYPE);
    let mut done: SendAnswer = control.ask(&Request::Send(request))?;
    let mark = mark_in(&done, name)?;
    if as_json {
        done.typed = Some(typed + done.typed.unwrap_or(0));
        say(format_args!("{}", json!(done)))?;
    } else {
        say(format_args!("{mark}"))?;
    }
    Ok(0)
}

/// Splits a text into its last Enter and the text before it.
fn split_enter(text: &str) -> Option<(&str, &str)> {
    let at = text.strip_suffix(['\r', '\n'])?.len();
    Some(text.split_at(at))
}

fn mark_in(answer: &SendAnswer, name: &SessionName) -> Result<ScreenMark, VerbError> {
    answer.mark.ok_or_else(|| marks_unsupported(name))
}

/// Waits until a typed line is at the cursor. A program without echo has just settled.
fn wait_for_echo(
    control: &mut HostControl,
    name: &SessionName,
    line: &str,
    mark: ScreenMark,
) -> Result<(), VerbError> {
    control.limit(ANSWER);
    let pid = control.status()?.pid;
    let mut settled = SettleWatch::new(ECHO_QUIET, pid);
    let last = line.rsplit(['\r', '\n']).next().unwrap_or_default();
    let (mut after, began, mut changed) = (None, Instant::now(), Instant::now());
    while began.elapsed() < ECHO {
        let slice = u64::try_from(settled.slice().as_millis()).unwrap_or(u64::MAX);
        let answer: WaitAnswer = control.ask(&ScreenRows::request(after, Some(mark), slice))?;
        match ScreenRows::read(&answer.screen, name, Some(mark))? {
            Some(rows) if rows.stands_at_cursor(last) => return Ok(()),
            Some(rows) => (after, changed) = (rows.revision, Instant::now()),
            None if settled.is_settled(changed) => return Ok(()),
            None => {}
        }
    }
    Ok(())
}

fn typed_input(options: &SendOptions, text: Option<&str>) -> Result<Send, VerbError> {
    if !options.keys.is_empty() {
        for key in &options.keys {
            // The host encodes the key for the program's mode; an unknown name fails here, before anything is
            // typed.
            key_names::bytes(key, CursorKeys::Normal).map_err(|e| {
                VerbError::new(USAGE, e.to_string()).hint("`hopty send --help` lists the key names")
            })?;
        }
        return Ok(Send { keys: Some(options.keys.clone()), ..Send::default() });
    }
    let bytes = match text {
        Some(text) => text.as_bytes().to_vec(),
        // Reads one byte more than allowed, to find an input that is too long.
        None => safe_file::first_bytes(std::io::stdin(), SEND_MAX as u64 + 1)?,
    };
    if bytes.len() > SEND_MAX {
        let cause = format!("the text exceeds the limit of {} KiB", SEND_MAX >> 10);
        return Err(RequestError::new(
            Code::TooLarge,
            cause,
            "send it in parts, or write it to a file and send the path",
        )
        .into());
    }
    // A line is bounded, and base64 is shorter than six bytes for each control character.
    let encoded = BASE64_STANDARD.encode(&bytes);
    Ok(match String::from_utf8(bytes) {
        Ok(text) if json!(text).to_string().len() <= encoded.len() + 2 => {
            Send { text: Some(text), ..Send::default() }
        }
        _ => Send { base64: Some(encoded), ..Send::default() },
    })
}

#[cfg(test)]
mod tests {
    use super::{Send, ends_conversation, split_enter};

    #[test]
    fn some_commands_end_the_conversation() {
        let ends = |text: &str| ends_conversation(&Send { text: Some(text.to_owned()), ..Send::default() });
        assert!(ends("/clear") && ends("/exit\n"));
        assert!(
            !ends("/compact") && !ends("Say /clear") && !ends("") && !ends_conversation(&Send::default())
        );
    }

    #[test]
    fn an_enter_at_the_end_is_a_key_of_its_own() {
        assert_eq!(split_enter("make\r"), Some(("make", "\r")));
        assert_eq!(split_enter("a\nb\n"), Some(("a\nb", "\n")));
        assert_eq!((split_enter("make"), split_enter("")), (None, None));
        assert_eq!(split_enter("\r"), Some(("", "\r")));
    }
}
