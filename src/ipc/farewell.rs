//! The host's last frame to a client, `BYE`.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::core::status_types::{ExitStatus, lenient};

/// Why a client has to leave: the payload of a `BYE` frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "ByePayload", into = "ByePayload")]
pub enum Farewell {
    /// The session has ended.
    Ended {
        /// The exit status, if the host knows it.
        exit: Option<ExitStatus>,
        /// A message for the person.
        message: Option<String>,
        /// The bytes that the leader typed and the program did not read.
        unread: Vec<u8>,
    },
    /// It was detached; the session keeps running.
    Detached,
    /// Its terminal hung up; the session keeps running.
    HungUp,
}

/// The message of a detached client whose terminal hung up.
const HANGUP: &str = "hangup";

/// The form of the frame (`docs/PROTOCOL.md`).
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ByePayload {
    why: String,
    #[serde(deserialize_with = "lenient")]
    exit: Option<ExitStatus>,
    message: Option<String>,
    unread: Vec<u8>,
}

impl Farewell {
    /// The session has ended; the exit status and the unread bytes are filled in when the frame is sent.
    #[must_use]
    pub fn ended(message: Option<&str>) -> Self {
        Farewell::Ended { exit: None, message: message.map(str::to_owned), unread: Vec::new() }
    }

    pub fn is_end(&self) -> bool {
        matches!(self, Farewell::Ended { .. })
    }

    pub fn payload(&self) -> Vec<u8> {
        json!(self).to_string().into_bytes()
    }

    /// Reads the payload of a frame. Anything else than an end counts as a detach.
    #[must_use]
    pub fn read(payload: &[u8]) -> Self {
        serde_json::from_slice(payload).unwrap_or(Farewell::Detached)
    }
}

impl From<ByePayload> for Farewell {
    fn from(bye: ByePayload) -> Self {
        let ByePayload { why, exit, message, unread } = bye;
        match why.as_str() {
            "ended" => Farewell::Ended { exit, message, unread },
            _ if message.as_deref() == Some(HANGUP) => Farewell::HungUp,
            _ => Farewell::Detached,
        }
    }
}

impl From<Farewell> for ByePayload {
    fn from(farewell: Farewell) -> Self {
        let detached = ByePayload { why: "detached".to_owned(), ..ByePayload::default() };
        match farewell {
            Farewell::Ended { exit, message, unread } => {
                ByePayload { why: "ended".to_owned(), exit, message, unread }
            }
            Farewell::Detached => detached,
            Farewell::HungUp => ByePayload { message: Some(HANGUP.to_owned()), ..detached },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_farewell_has_the_form_of_the_protocol() {
        let exit: ExitStatus =
            serde_json::from_value(json!({"kind": "exited", "code": 3, "signal": null, "cause": "finished"}))
                .unwrap();
        let ended =
            Farewell::Ended { exit: Some(exit), message: Some("over".to_owned()), unread: b"l\r".to_vec() };
        let forms = [
            (
                ended,
                r#"{"exit":{"cause":"finished","code":3,"kind":"exited","signal":null},"message":"over","unread":[108,13],"why":"ended"}"#,
            ),
            (Farewell::ended(None), r#"{"exit":null,"message":null,"unread":[],"why":"ended"}"#),
            (Farewell::Detached, r#"{"exit":null,"message":null,"unread":[],"why":"detached"}"#),
            (Farewell::HungUp, r#"{"exit":null,"message":"hangup","unread":[],"why":"detached"}"#),
        ];
        for (farewell, form) in forms {
            assert_eq!(String::from_utf8(farewell.payload()).unwrap(), form);
            assert_eq!(Farewell::read(form.as_bytes()), farewell);
        }
    }

    #[test]
    fn a_farewell_of_another_version_is_read() {
        let read = |payload: &str| Farewell::read(payload.as_bytes());
        assert_eq!(read(r#"{"why":"detached","exit":null,"message":"hangup"}"#), Farewell::HungUp);
        assert_eq!(read(r#"{"why":"evicted","by":7}"#), Farewell::Detached);
        assert_eq!(read("nonsense"), Farewell::Detached);
        let odd = r#"{"why":"ended","exit":{"kind":"exited","code":4711}}"#;
        assert!(matches!(read(odd), Farewell::Ended { exit: Some(exit), .. } if exit.code.is_none()));
    }
}
