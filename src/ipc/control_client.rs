//! The client of the control protocol: connects to a host, performs the handshake, sends requests, and waits
//! for answers up to a deadline.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;

use super::message::{Answer, PROTOCOL, Request, RequestError, hello_line, request_line};
use crate::core::io_words::io_words;

const PIECE: usize = 16384;
/// A deadline that is seen to have passed so long ago means that this process did not run: the machine slept,
/// or its processes were frozen, and with them the host.
const OVERSLEPT: Duration = Duration::from_millis(500);
/// How long the answer may take then, from the time of waking.
const AFTER_SLEEP: Duration = Duration::from_secs(5);
/// The longest answer, in bytes: a status contains the whole command line of its program.
const MAX_ANSWER: usize = 16 << 20;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum NoAnswer {
    /// The host did not answer in time, or the connection broke.
    #[error("{}", io_words(.0))]
    Io(#[from] io::Error),
    /// The host speaks another version of the protocol; this is its number.
    #[error("it speaks protocol {0}")]
    Protocol(Value),
    /// The answer is not valid in this protocol.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
    /// The host refused the request, or it failed.
    #[error("{}", .0.message)]
    Failed(RequestError),
}

impl NoAnswer {
    pub fn is_end(&self) -> bool {
        matches!(self, NoAnswer::Io(e) if matches!(e.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset))
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A connection to a host, for requests.
#[derive(Debug)]
pub struct ControlClient {
    socket: UnixStream,
    input: Vec<u8>,
    /// The bytes to send with the next request: at first, the hello.
    unsent: String,
    /// The host's hello has yet to arrive.
    ungreeted: bool,
    last_id: u64,
    until: Option<Instant>,
}

impl ControlClient {
    /// Takes a connected socket. `role` is for the host's log; `until`: as for [`ControlClient::wait_until`].
    #[must_use]
    pub fn new(socket: UnixStream, role: &str, until: Option<Instant>) -> Self {
        ControlClient {
            socket,
            input: Vec::new(),
            unsent: hello_line(role),
            ungreeted: true,
            last_id: 0,
            until,
        }
    }

    /// The deadline for reads and writes from now on; `None`: no limit.
    pub fn wait_until(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    /// Performs the handshake, which [`ControlClient::ask`] otherwise does with the first request, and waits
    /// for the host's hello.
    ///
    /// # Errors
    /// When the host does not answer or speaks another protocol.
    pub fn greet(&mut self) -> Result<(), NoAnswer> {
        if !self.unsent.is_empty() {
            self.send("");
        }
        if !std::mem::take(&mut self.ungreeted) {
            return Ok(());
        }
        let hello: Value = serde_json::from_slice(&self.line()?).unwrap_or_default();
        if hello["hopty"] == json!(PROTOCOL) {
            Ok(())
        } else {
            Err(NoAnswer::Protocol(hello["hopty"].clone()))
        }
    }

    /// Sends a request and waits for the answer, of its type in [`answers`](super::answers).
    ///
    /// # Errors
    /// When no answer comes, it is an error, or it is of another type.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, NoAnswer> {
        self.request(request);
        self.answer()
    }

    /// Sends a request without waiting.
    pub fn request(&mut self, request: &Request) {
        self.last_id += 1;
        self.send(&request_line(self.last_id, request));
    }

    /// The next answer: to a request with more than one answer, or to a line of [`ControlClient::send`].
    ///
    /// # Errors
    /// When no answer comes, it is an error, or it is of another type.
    pub fn answer<T: DeserializeOwned>(&mut self) -> Result<T, NoAnswer> {
        self.greet()?;
        let line = self.line()?;
        let unreadable = |error: serde_json::Error| NoAnswer::Unreadable(error.to_string());
        let answer: Answer = serde_json::from_slice(&line).map_err(unreadable)?;
        match answer.error {
            Some(failure) => Err(NoAnswer::Failed(failure)),
            None => serde_json::from_value(answer.ok.unwrap_or_default()).map_err(unreadable),
        }
    }

    /// Sends a line unchanged, after the hello if that is due. A host that closes the connection at once has
    /// sent its reason first, so a failure shows when the answer is read.
    pub fn send(&mut self, line: &str) {
        self.unsent.push_str(line);
        // One write, so that the host wakes up only once.
        let all = std::mem::take(&mut self.unsent);
        let _ = self.write(all.as_bytes());
    }

    fn write(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            let left = self.left()?;
            self.socket.set_write_timeout(left)?;
            match self.socket.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => rest = &rest[n..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Reads until the peer closes.
    pub fn wait_for_end(&mut self) {
        while self.line().is_ok() {}
    }

    /// The next line, including its end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut looked = 0;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.input[looked..]).map(|at| looked + at) {
                let rest = self.input.split_off(end + 1);
                return Ok(std::mem::replace(&mut self.input, rest));
            }
            looked = self.input.len();
            if looked > MAX_ANSWER {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let left = self.left()?;
            self.socket.set_read_timeout(left)?;
            let mut piece = [0; PIECE];
            match self.socket.read(&mut piece) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.input.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The wait for this piece lasted so long because this process was frozen.
                Err(e) if is_timeout(&e) && self.has_overslept() => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn has_overslept(&self) -> bool {
        self.until.is_some_and(|until| until.elapsed() > OVERSLEPT)
    }

    /// The time until the deadline; an error if it has passed.
    fn left(&mut self) -> io::Result<Option<Duration>> {
        if self.has_overslept() {
            self.until = Some(Instant::now() + AFTER_SLEEP);
        }
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(limit: Duration) -> (ControlClient, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (ControlClient::new(ours, "control", Some(Instant::now() + limit)), theirs)
    }

    #[test]
    fn a_request_follows_the_hello_and_gets_its_answer() {
        let (mut client, mut theirs) = pair(Duration::from_secs(20));
        theirs
            .write_all(b"{\"hopty\":1}\n{\"id\":1,\"ok\":{\"n\":7}}\n{\"id\":1,\"error\":{\"code\":\"busy\",\"message\":\"no\"}}\n")
            .unwrap();
        assert_eq!(client.ask::<Value>(&Request::Status).unwrap(), json!({"n": 7}));
        let refused = client.answer::<Value>();
        assert!(matches!(refused, Err(NoAnswer::Failed(failure)) if failure.message == "no"));
        let mut sent = [0; 4096];
        let n = theirs.read(&mut sent).unwrap();
        let sent = String::from_utf8_lossy(&sent[..n]).into_owned();
        let lines: Vec<Value> = sent.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            (lines.len(), &lines[0]["role"], &lines[1]),
            (2, &json!("control"), &json!({"do": "status", "id": 1}))
        );
        drop(theirs);
        assert!(client.answer::<Value>().unwrap_err().is_end());
    }

    #[test]
    fn another_protocol_version_is_reported() {
        let (mut client, mut theirs) = pair(Duration::from_secs(20));
        theirs.write_all(b"{\"hopty\":2}\n").unwrap();
        assert!(matches!(client.greet(), Err(NoAnswer::Protocol(number)) if number == 2));
    }

    #[test]
    fn who_wakes_after_the_deadline_still_gets_the_answer() {
        let (mut client, mut theirs) = pair(Duration::from_secs(20));
        theirs.write_all(b"{\"hopty\":1}\n{\"id\":1,\"ok\":7}\n").unwrap();
        client.wait_until(Instant::now().checked_sub(2 * OVERSLEPT));
        assert_eq!(client.ask::<Value>(&Request::Status).unwrap(), json!(7));
        client.wait_until(Some(Instant::now()));
        let late = client.answer::<Value>();
        assert!(matches!(late, Err(NoAnswer::Io(e)) if e.kind() == io::ErrorKind::TimedOut));
    }

    #[test]
    fn a_peer_that_dribbles_is_given_up_in_time() {
        let (mut client, mut theirs) = pair(Duration::from_millis(100));
        let dribble = std::thread::spawn(move || while theirs.write_all(b"x").is_ok() {});
        let Err(NoAnswer::Io(error)) = client.answer::<Value>() else { panic!("there is no answer") };
        assert!(
            matches!(
                error.kind(),
                io::ErrorKind::TimedOut | io::ErrorKind::InvalidData | io::ErrorKind::WouldBlock
            ),
            "{error}"
        );
        drop(client);
        dribble.join().unwrap();
    }
}
