//! `hopty send`: what a script types into a session.

use std::io::Read;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use super::control::{Control, Rule, live, paths};
use super::error::{Failed, say, visible};
use super::session::ANSWER;
use crate::core::input::names::{self, CursorKeys};
use crate::ipc::message::{Code, Failure, SEND_MAX};

/// How long the host may take to answer: a submission has 30 s.
pub(super) const SUBMIT: Duration = Duration::from_secs(40);
/// How long other keys may wait behind a hand-over, or behind a program that does not read.
const TYPE: Duration = Duration::from_secs(300);

/// What the verb was given.
#[derive(Debug)]
pub(super) struct SendOptions {
    /// NAME and TEXT, or NAME alone.
    pub words: Vec<String>,
    /// Names of keys.
    pub keys: Vec<String>,
    /// The text is on standard input.
    pub stdin: bool,
    /// Submit it as a prompt.
    pub submit: bool,
    /// The answer as JSON.
    pub as_json: bool,
}

/// The session that is named, and the request to it. `verb` is what the person typed.
pub(super) fn request(wish: &SendOptions, verb: &str) -> Result<(Option<String>, Value), Failed> {
    let elsewhere = wish.stdin || !wish.keys.is_empty();
    let (given, text) = match (wish.words.as_slice(), elsewhere) {
        ([name, text], false) => (Some(name.as_str()), Some(text.as_str())),
        ([name], true) => (Some(name.as_str()), None),
        ([], true) => (None, None),
        ([_, _, ..], true) => {
            return Err(Failed::new(2, "give the text only once").hint("use one of TEXT, --keys and --stdin"));
        }
        _ => {
            return Err(Failed::new(2, "give a session and a text").hint(usage(verb)));
        }
    };
    let mut request = what(wish, text)?;
    request["do"] = json!("send");
    request["submit"] = json!(wish.submit);
    Ok((given.map(str::to_owned), request))
}

fn usage(verb: &str) -> String {
    let keys = if verb == "send" { ", `hopty send NAME --keys enter`" } else { "" };
    format!("`hopty {verb} NAME TEXT`, `hopty {verb} NAME --stdin`{keys}")
}

pub(super) fn send(wish: &SendOptions) -> Result<u8, Failed> {
    let (given, request) = request(wish, "send")?;
    let paths = paths()?;
    let name = live(&paths, given.as_deref(), Rule::Careful)?;
    let mut control = Control::connect(&paths, &name, Some(ANSWER))?;
    control.limit(if wish.submit { SUBMIT } else { TYPE });
    let done = control.ask(request).inspect_err(|failed| {
        if let Some(reason) = failed.refusal().filter(|_| wish.submit && !wish.as_json) {
            let _ = say(format_args!("refused: {}", visible(reason)));
        }
    })?;
    let result = done["result"].as_str().unwrap_or_default();
    if wish.as_json {
        say(format_args!("{done}"))?;
    } else if wish.submit {
        say(format_args!("{}", visible(result)))?;
    }
    Ok(u8::from(wish.submit && !matches!(result, "submitted" | "queued")))
}

/// The request, without what every `send` has.
fn what(wish: &SendOptions, text: Option<&str>) -> Result<Value, Failed> {
    if !wish.keys.is_empty() {
        for key in &wish.keys {
            // The host knows which form the program wants; whether it is a key is known here, and said before
            // anything is typed.
            names::bytes(key, CursorKeys::Normal)
                .map_err(|e| Failed::new(2, e.to_string()).hint("`hopty send --help` lists the key names"))?;
        }
        return Ok(json!({"keys": wish.keys}));
    }
    let mut bytes = Vec::new();
    match text {
        Some(text) => bytes.extend_from_slice(text.as_bytes()),
        // One more than may be, and no more than that is read, however long it goes on.
        None => drop(std::io::stdin().take(SEND_MAX as u64 + 1).read_to_end(&mut bytes)?),
    }
    if bytes.len() > SEND_MAX {
        let cause = format!("the text exceeds the limit of {} KiB", SEND_MAX >> 10);
        return Err(Failure::new(
            Code::TooLarge,
            cause,
            "send it in parts, or write it to a file and send the path",
        )
        .into());
    }
    // A line is bounded, and a control character takes six bytes of it.
    let encoded = BASE64_STANDARD.encode(&bytes);
    Ok(match String::from_utf8(bytes).map(|text| json!(text)) {
        Ok(text) if text.to_string().len() <= encoded.len() + 2 => json!({"text": text}),
        _ => json!({"base64": encoded}),
    })
}
