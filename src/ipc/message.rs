//! The lines of the control protocol: hello, request, answer. Unknown fields and kinds are
//! ignored.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::core::handoff::text::{cut_chars, safe_line};
use crate::core::supervisor::question::AskAnswer;
use crate::core::terminal::{Modes, Size};
use crate::core::visible::is_hidden;

/// The number that both sides must share.
pub const PROTOCOL: u32 = 1;
/// The longest line, in bytes.
pub const MAX_LINE: usize = 1 << 20;
/// The most that one request may type, in bytes: with its escapes it must fit a line.
pub const SEND_MAX: usize = 512 << 10;

/// What the client says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientHello {
    /// The protocol's number.
    pub hopty: u32,
    /// The client's version.
    #[serde(default)]
    pub version: String,
    /// `control`, `client` or `hook`.
    #[serde(default)]
    pub role: String,
}

/// What the host answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostHello {
    /// The protocol's number.
    pub hopty: u32,
    /// The host's version.
    #[serde(default)]
    pub version: String,
    /// The session's name.
    #[serde(default)]
    pub session: String,
    /// Number of the run.
    #[serde(default)]
    pub run: u32,
    /// The largest frame and line, in bytes.
    #[serde(default)]
    pub max_frame: usize,
}

/// Error codes of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The line is no request.
    BadRequest,
    /// No such request in this version.
    UnknownRequest,
    /// The thing asked for is not there.
    NotFound,
    /// Not allowed for this peer, or something is in the way.
    Refused,
    /// Something else is under way.
    Busy,
    /// The session is over.
    Ended,
    /// Over a limit.
    TooLarge,
    /// The numbers of the protocol differ.
    Version,
    /// The host failed.
    Internal,
}

impl Code {
    /// The exit code of a command that got this answer.
    #[must_use]
    pub fn exit(self) -> u8 {
        match self {
            Code::Refused => 4,
            Code::NotFound => 3,
            Code::BadRequest | Code::UnknownRequest | Code::TooLarge | Code::Version => 2,
            Code::Busy | Code::Ended => 1,
            Code::Internal => 125,
        }
    }
}

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind.
    pub code: Code,
    /// What failed.
    pub message: String,
    /// What to do about it.
    #[serde(default)]
    pub hint: String,
}

impl Failure {
    /// An error answer.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure { code, message: message.into(), hint: hint.into() }
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// The session, as `hopty status --json` prints it.
    Status,
    /// How full the window is, with every source that was looked at.
    Context,
    /// Where the journal lies, so that it can be read without loading the host.
    Events,
    /// Hand off and start fresh.
    Restart {
        /// Do not wait for a turn's end.
        #[serde(default)]
        now: bool,
        /// Start fresh without a handoff.
        #[serde(default)]
        no_handoff: bool,
        /// Answer again when it is done.
        #[serde(default)]
        wait: bool,
    },
    /// End the conversation that a hand-over began, and resume the one before it.
    Back {
        /// Do not wait for a turn's end.
        #[serde(default)]
        now: bool,
    },
    /// What a person answers to the question of mode `ask`.
    Ask {
        /// It.
        answer: AskAnswer,
    },
    /// End the session.
    Stop {
        /// SIGKILL at once.
        #[serde(default)]
        kill: bool,
    },
    /// Type into the child.
    Send(Send),
    /// The state of the screen as escape sequences.
    Screen {
        /// The lines above it, too: as many of the newest as a line of the protocol has room for.
        #[serde(default)]
        history: bool,
    },
    /// Answer when something is so, or when the time is over.
    Wait(Wait),
    /// Become a client.
    Attach(Attach),
    /// Send clients away; the session goes on.
    Detach {
        /// Only this one; all of them without it.
        #[serde(default)]
        client: Option<u32>,
    },
    /// A hook of Claude's.
    Hook {
        /// The event's name.
        event: String,
        /// Claude's JSON.
        #[serde(default)]
        payload: Value,
        /// The run that it belongs to, so that a late call of a dead run is not taken for the next one's.
        #[serde(default)]
        run: Option<u32>,
    },
}

/// A `send` request: one of `text`, `base64` and `keys`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    /// Typed as it is; with `submit`, the prompt.
    #[serde(default)]
    pub text: Option<String>,
    /// Bytes that are no text.
    #[serde(default)]
    pub base64: Option<String>,
    /// Names of keys, one after the other.
    #[serde(default)]
    pub keys: Option<Vec<String>>,
    /// Type it as a delivery does, and answer when there is proof.
    #[serde(default)]
    pub submit: bool,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// Claude waits for a prompt.
    Idle,
    /// Claude works.
    Busy,
    /// Claude waits for a person's answer.
    Blocked,
    /// The session is over.
    Exit,
    /// The screen has changed: its rows are the answer. Who asks looks for a text in them.
    Text,
}

impl WaitFor {
    /// The word of the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            WaitFor::Idle => "idle",
            WaitFor::Busy => "busy",
            WaitFor::Blocked => "blocked",
            WaitFor::Exit => "exit",
            WaitFor::Text => "text",
        }
    }
}

/// A `wait` request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// What for.
    #[serde(rename = "for")]
    pub wanted: WaitFor,
    /// States: only one that was entered after this line of the journal.
    #[serde(default)]
    pub since: u64,
    /// Text: the revision of the screen that is known already; without it the rows come at once.
    #[serde(default)]
    pub after: Option<u64>,
    /// How long, in milliseconds.
    #[serde(default = "half_a_minute")]
    pub timeout_ms: u64,
}

/// The default of a request's wait, in ms.
fn half_a_minute() -> u64 {
    30_000
}

/// What a client says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attach {
    /// Its terminal's size.
    #[serde(flatten)]
    pub size: Size,
    /// It only looks.
    #[serde(default)]
    pub read_only: bool,
    /// Its `TERM`.
    #[serde(default)]
    pub term: String,
    /// Its process id as it sees itself; the socket's credentials are what counts.
    #[serde(default)]
    pub pid: i32,
    /// Name of its terminal, for listings.
    #[serde(default)]
    pub tty: Option<String>,
    /// The modes of its terminal before it was made raw.
    #[serde(default)]
    pub termios: Option<Modes>,
    /// The same since then: only while they are these are they put back for a client that died. Without them,
    /// those that are found at the hand-over.
    #[serde(default)]
    pub raw: Option<Modes>,
    /// Variables that the next run takes from the last client.
    #[serde(default)]
    pub env: std::collections::BTreeMap<String, String>,
    /// The screen is to be drawn again.
    #[serde(default)]
    pub redraw: bool,
}

/// A request line: its id and the request.
///
/// # Errors
/// An error answer, with the id where there is one.
pub fn parse_request(line: &[u8]) -> Result<(u64, Request), (u64, Failure)> {
    let hint = "see docs/PROTOCOL.md";
    let value: Value = serde_json::from_slice(line)
        .map_err(|e| (0, Failure::new(Code::BadRequest, format!("the line is not JSON: {e}"), hint)))?;
    let no_number = || (0, Failure::new(Code::BadRequest, "the request's `id` is not a whole number", hint));
    let id = value.get("id").map_or(Ok(0), |id| id.as_u64().ok_or_else(no_number))?;
    let Some(name) = value.get("do").and_then(Value::as_str) else {
        return Err((id, Failure::new(Code::BadRequest, "the request has no `do`", hint)));
    };
    let known = [
        "status", "events", "restart", "back", "stop", "send", "attach", "detach", "hook", "wait", "screen",
        "ask", "context",
    ];
    if !known.contains(&name) {
        let shown: String = name.chars().filter(|c| !is_hidden(*c)).take(40).collect();
        return Err((id, Failure::new(Code::UnknownRequest, format!("unknown request `{shown}`"), hint)));
    }
    serde_json::from_value(value).map(|request| (id, request)).map_err(|e| {
        (
            id,
            Failure::new(
                Code::BadRequest,
                format!("invalid request: {}", cut_chars(&safe_line(&e.to_string()), 300)),
                hint,
            ),
        )
    })
}

/// What a client says first, as a line.
#[must_use]
pub fn hello_line(role: &str) -> String {
    let hello =
        ClientHello { hopty: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned(), role: role.to_owned() };
    format!("{}\n", json!(hello))
}

/// The request of a hook call. `payload` is one JSON value; line ends of its own are taken out.
#[must_use]
pub fn hook_line(event: &str, run: u32, payload: &str) -> Option<String> {
    let payload = payload.trim();
    let payload = match payload {
        "" => "null".to_owned(),
        text if text.contains('\n') => serde_json::from_str::<Value>(text).ok()?.to_string(),
        text => text.to_owned(),
    };
    let event = serde_json::to_string(event).ok()?;
    Some(format!("{{\"id\":1,\"do\":\"hook\",\"run\":{run},\"event\":{event},\"payload\":{payload}}}\n"))
}

/// An answer line.
#[must_use]
pub fn ok_line(id: u64, ok: &Value) -> String {
    format!("{}\n", json!({"id": id, "ok": ok}))
}

/// An error line.
#[must_use]
pub fn error_line(id: u64, failure: &Failure) -> String {
    format!("{}\n", json!({"id": id, "error": failure}))
}

/// One answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// Of which request.
    #[serde(default)]
    pub id: u64,
    /// What was asked for.
    #[serde(default)]
    pub ok: Option<Value>,
    /// Or why not.
    #[serde(default)]
    pub error: Option<Failure>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_the_contract() {
        let (id, request) = parse_request(br#"{"id":2,"do":"stop","kill":false}"#).unwrap();
        assert_eq!((id, request), (2, Request::Stop { kill: false }));
        let attach = br#"{"id":3,"do":"attach","cols":120,"rows":40,"xpixel":0,"ypixel":0,"read_only":false,"term":"xterm-256color","env":{"SSH_AUTH_SOCK":"/x"},"redraw":true}"#;
        let (_, Request::Attach(attach)) = parse_request(attach).unwrap() else { panic!("no attach") };
        assert_eq!((attach.size.cols, attach.redraw), (120, true));
    }

    #[test]
    fn bad_requests_are_answered_not_fatal() {
        let code = |line: &[u8]| parse_request(line).unwrap_err().1.code;
        assert_eq!(code(b"{"), Code::BadRequest);
        assert_eq!(code(b"[]"), Code::BadRequest);
        assert_eq!(code(br#"{"id":1,"do":"fly"}"#), Code::UnknownRequest);
        assert_eq!(code(br#"{"id":1,"do":"attach"}"#), Code::BadRequest);
        assert_eq!(code(br#"{"id":"x","do":"status"}"#), Code::BadRequest);
        assert_eq!(parse_request(br#"{"do":"status"}"#).unwrap().0, 0, "without one the answer has 0");
    }
}
