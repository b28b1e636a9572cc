//! The lines of the control protocol: hello, request, answer. Unknown fields and kinds are ignored.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answers::is_false;
use crate::core::io_words::io_words;
use crate::core::screen_mark::ScreenMark;
use crate::core::supervisor::handover_question::AskAnswer;
use crate::core::terminal::{Modes, Size};
use crate::core::text::safe_text::{cut_chars, safe_line};
use crate::core::text::visible::is_hidden;

/// The protocol version that both sides must share.
pub const PROTOCOL: u32 = 1;
/// The longest line, in bytes.
pub const MAX_LINE: usize = 1 << 20;
/// The most bytes that one request may type: with its escapes it must fit into a line.
pub const SEND_MAX: usize = 512 << 10;

/// A request that a host received: the answer goes to this connection under the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    /// The host's number of the connection.
    pub connection: u64,
    /// The number that the peer gave the request.
    pub request: u64,
}

/// The client's hello, its first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientHello {
    pub hopty: u32,
    #[serde(default)]
    pub version: String,
    /// `control`, `client` or `hook`.
    #[serde(default)]
    pub role: String,
}

/// The host's hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostHello {
    pub hopty: u32,
    #[serde(default)]
    pub version: String,
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
    /// The line is not a request.
    BadRequest,
    /// This version does not have this request.
    UnknownRequest,
    /// The requested thing does not exist.
    NotFound,
    /// Not allowed for this peer, or something prevents it.
    Refused,
    /// Something else is under way.
    Busy,
    /// The session is over.
    Ended,
    /// A command could not be carried out. Hosts do not send it.
    Failed,
    /// A limit was exceeded.
    TooLarge,
    /// The protocol versions differ.
    Version,
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
            Code::Busy | Code::Ended | Code::Failed => 1,
            Code::Internal => 125,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestError {
    pub code: Code,
    pub message: String,
    /// How to fix it.
    #[serde(default)]
    pub hint: String,
}

impl RequestError {
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let message: String = message.into();
        RequestError { code, message: io_words(message), hint: hint.into() }
    }

    /// The session has ended and answers nothing more.
    #[must_use]
    pub fn session_has_ended() -> Self {
        RequestError::new(Code::Ended, "the session has ended", "`hopty why` says how it ended")
    }
}

/// One request. `answers` has the type of each answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// The session, as `hopty status --json` prints it.
    Status,
    /// The context usage, with every source that was tried.
    Context,
    /// The path of the journal, so that reading it puts no load on the host.
    Events,
    /// Hand over to a fresh conversation.
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
    /// A person's answer to the question of mode `ask`.
    Ask { answer: AskAnswer },
    /// End the session.
    Stop {
        /// SIGKILL at once.
        #[serde(default)]
        kill: bool,
    },
    /// Type into the child.
    Send(Send),
    /// Choose an option of the dialog that Claude waits in.
    Answer {
        /// The dialog, as `waiting_for` of the session names it: another one is not answered.
        dialog: String,
        /// The option's number, 1 to 9.
        option: u8,
    },
    /// The state of the screen as escape sequences.
    Screen {
        /// Include the lines above it: as many of the newest as fit into a line of the protocol.
        #[serde(default)]
        history: bool,
    },
    /// Answer when a condition holds, or at the timeout.
    Wait(Wait),
    /// Answer when state or screen differ from what the client knows, or at the timeout.
    Watch(Watch),
    /// Become a client.
    Attach(Attach),
    /// Detach clients; the session keeps running.
    Detach {
        /// Only this client; without it, all of them.
        #[serde(default)]
        client: Option<u32>,
    },
    /// Give the session another name.
    Rename { name: String },
    /// Add labels to the session and remove others.
    Label {
        /// Those to add.
        #[serde(default)]
        add: Vec<String>,
        /// Those to remove.
        #[serde(default)]
        remove: Vec<String>,
    },
    /// Record the session, or end its recording.
    Record(Record),
    /// Put a marker into the session's recording.
    Mark { label: String },
    /// A call of one of Claude's hooks.
    Hook {
        event: String,
        /// Claude's JSON.
        #[serde(default)]
        payload: Value,
        /// The run that it belongs to, so that a late call of an ended run does not count for the next one.
        #[serde(default)]
        run: Option<u32>,
    },
    /// A request of a newer version. [`parse_request`] refuses it.
    #[serde(other)]
    Unknown,
}

/// A `send` request: one of `text`, `base64` and `keys`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    /// Text to type; with `submit`, the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Bytes that are not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Names of keys, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// Type it like a delivery, and answer when there is proof.
    #[serde(default)]
    pub submit: bool,
    /// Take a mark of the screen before the last key, or before the text.
    #[serde(default, skip_serializing_if = "is_false")]
    pub mark: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Absolute path of the file; by default a new one in the session's directory.
    pub file: Option<String>,
    /// Record what is typed, too.
    pub input: bool,
    /// Continue the recording in the file.
    pub append: bool,
    pub overwrite: bool,
    /// The longest file, in bytes.
    pub max_bytes: Option<u64>,
    /// End the recording instead.
    pub stop: bool,
}

/// The condition to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// Claude waits for a prompt.
    Idle,
    Busy,
    /// Claude waits for a person's answer.
    Blocked,
    /// The session is over.
    Exit,
    /// The screen has changed: its rows are the answer, and the client searches them for its text.
    Text,
}

impl WaitFor {
    /// Its name on the command line.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    #[serde(rename = "for")]
    pub wanted: WaitFor,
    /// For states: only one that began after this line of the journal.
    #[serde(default)]
    pub since: u64,
    /// For text: the revision of the screen that the client already has; without it the rows come at once.
    #[serde(default)]
    pub after: Option<u64>,
    /// For text: also answer which parts of the rows are new since this mark.
    #[serde(default)]
    pub mark: Option<ScreenMark>,
    /// The time limit, in milliseconds.
    #[serde(default = "half_a_minute")]
    pub timeout_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// Report changes between idle, busy and blocked: refused for any other program.
    #[serde(default)]
    pub state: bool,
    /// The journal line at which the state known to the client began; without it the answer is immediate.
    #[serde(default)]
    pub entered: Option<u64>,
    /// Report changes of the screen, too.
    #[serde(default)]
    pub screen: bool,
    /// The revision of the screen that the client has; without it the rows come at once.
    #[serde(default)]
    pub after: Option<u64>,
    /// Also answer which parts of the rows are new since this mark.
    #[serde(default)]
    pub mark: Option<ScreenMark>,
    /// The time limit, in milliseconds.
    #[serde(default = "half_a_minute")]
    pub timeout_ms: u64,
}

/// The default timeout, in ms.
fn half_a_minute() -> u64 {
    30_000
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attach {
    #[serde(flatten)]
    pub size: Size,
    /// Keys never reach the program.
    #[serde(default)]
    pub read_only: bool,
    #[serde(default)]
    pub term: String,
    /// Its process id in its own namespace; only the one from the socket's credentials is trusted.
    #[serde(default)]
    pub pid: i32,
    /// Name of its terminal, for listings.
    #[serde(default)]
    pub tty: Option<String>,
    /// The modes of its terminal before it made it raw.
    #[serde(default)]
    pub termios: Option<Modes>,
    /// The modes after it made the terminal raw: if the client dies, the old modes are restored only while
    /// these are set. By default those found when the terminal was handed over.
    #[serde(default)]
    pub raw: Option<Modes>,
    /// Variables that the next run takes from the last client.
    #[serde(default)]
    pub env: std::collections::BTreeMap<String, String>,
    /// The screen must be repainted.
    #[serde(default)]
    pub redraw: bool,
}

/// Parses a request line into its id and the request.
///
/// The error is the failure to answer with, and the request's id or 0.
pub fn parse_request(line: &[u8]) -> Result<(u64, Request), (u64, RequestError)> {
    let hint = "see docs/PROTOCOL.md";
    let value: Value = serde_json::from_slice(line)
        .map_err(|e| (0, RequestError::new(Code::BadRequest, format!("the line is not JSON: {e}"), hint)))?;
    let no_number =
        || (0, RequestError::new(Code::BadRequest, "the request's `id` is not a whole number", hint));
    let id = value.get("id").map_or(Ok(0), |id| id.as_u64().ok_or_else(no_number))?;
    let Some(name) = value.get("do").and_then(Value::as_str) else {
        return Err((id, RequestError::new(Code::BadRequest, "the request has no `do`", hint)));
    };
    match Request::deserialize(&value) {
        Ok(Request::Unknown) => {
            let shown: String = name.chars().filter(|c| !is_hidden(*c)).take(40).collect();
            Err((id, RequestError::new(Code::UnknownRequest, format!("unknown request `{shown}`"), hint)))
        }
        Ok(request) => Ok((id, request)),
        Err(error) => {
            let message = format!("invalid request: {}", cut_chars(&safe_line(&error.to_string()), 300));
            Err((id, RequestError::new(Code::BadRequest, message, hint)))
        }
    }
}

pub fn request_line(id: u64, request: &Request) -> String {
    let mut line = json!(request);
    line["id"] = json!(id);
    format!("{line}\n")
}

/// A client's hello, as a line.
pub fn hello_line(role: &str) -> String {
    let hello =
        ClientHello { hopty: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned(), role: role.to_owned() };
    format!("{}\n", json!(hello))
}

/// The request of a hook call. `payload` is one JSON value; its line ends are removed.
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

pub fn ok_line(id: u64, ok: &impl Serialize) -> String {
    format!("{}\n", json!({"id": id, "ok": ok}))
}

pub fn error_line(id: u64, failure: &RequestError) -> String {
    format!("{}\n", json!({"id": id, "error": failure}))
}

#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// The id of its request.
    #[serde(default)]
    pub id: u64,
    #[serde(default)]
    pub ok: Option<Value>,
    #[serde(default)]
    pub error: Option<RequestError>,
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
