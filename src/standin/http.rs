//! Just enough HTTP/1.1 for the stand-in Messages API and the stand-in agent.
//!
//! Everything that is read is bounded (head, body, chunk lines), because a test server without bounds can
//! hang a machine. No TLS, no compression, no proxies, no redirects: both ends are on the loopback
//! interface and one of them is always this crate.

use std::io::{self, BufRead, Read, Write};

use thiserror::Error;

/// The longest head of a request or answer, in bytes.
pub const MAX_HEAD: usize = 64 * 1024;
/// The longest body, in bytes. A nearly full 1M-token conversation is about 5 MB of JSON.
pub const MAX_BODY: usize = 64 * 1024 * 1024;

/// Why a message could not be read.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The connection failed or ended inside a message.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The bytes are not HTTP/1.x.
    #[error("not an http message: {0}")]
    Malformed(&'static str),
    /// Head or body is over its limit.
    #[error("http {0} is too large")]
    TooLarge(&'static str),
}

/// The first line and the header fields of a request or an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpHead {
    /// The first line, without its line end: `POST /v1/messages HTTP/1.1` or `HTTP/1.1 200 OK`.
    pub line: String,
    /// Header fields in order; names in lower case, values trimmed.
    pub headers: Vec<(String, String)>,
}

impl HttpHead {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Word `n` of the first line: 0 and 1 are method and target of a request, 1 is the status of an answer.
    pub fn word(&self, n: usize) -> &str {
        self.line.split_ascii_whitespace().nth(n).unwrap_or("")
    }

    /// Whether the sender will close the connection after this message.
    pub fn closes(&self) -> bool {
        let said = self.header("connection").unwrap_or("").to_ascii_lowercase();
        said.contains("close") || (self.line.contains("HTTP/1.0") && !said.contains("keep-alive"))
    }

    fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|v| v.to_ascii_lowercase().contains("chunked"))
    }
}

/// The first value of `name` (lower case) in a list of header fields.
pub fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
}

/// Reads one head. `None`: the other side closed before the first byte, which ends a kept-alive connection.
///
/// # Errors
/// When the connection breaks, or the head is malformed or over [`MAX_HEAD`].
pub fn read_head(input: &mut impl BufRead) -> Result<Option<HttpHead>, HttpError> {
    let mut left = MAX_HEAD;
    let Some(line) = read_line(input, &mut left)? else {
        return Ok(None);
    };
    if !line.contains("HTTP/1.") {
        return Err(HttpError::Malformed("first line"));
    }
    let mut head = HttpHead { line, headers: Vec::new() };
    loop {
        let line = read_line(input, &mut left)?.ok_or(HttpError::Malformed("head cut off"))?;
        if line.is_empty() {
            return Ok(Some(head));
        }
        let (name, value) = line.split_once(':').ok_or(HttpError::Malformed("header field"))?;
        head.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// Reads the complete body that belongs to `head`; empty if none is announced.
///
/// # Errors
/// When the connection breaks, the length is malformed, or the body is over [`MAX_BODY`].
pub fn read_body(input: &mut impl BufRead, head: &HttpHead) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    if head.is_chunked() {
        while let Some(part) = read_chunk(input)? {
            if body.len() + part.len() > MAX_BODY {
                return Err(HttpError::TooLarge("body"));
            }
            body.extend_from_slice(&part);
        }
        return Ok(body);
    }
    let Some(length) = head.header("content-length") else {
        return Ok(body);
    };
    let length: usize = length.parse().map_err(|_| HttpError::Malformed("content-length"))?;
    if length > MAX_BODY {
        return Err(HttpError::TooLarge("body"));
    }
    // Grows while it arrives: an announced length alone must not allocate.
    input.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length { Err(HttpError::Malformed("body cut off")) } else { Ok(body) }
}

/// Reads one chunk of a chunked body; `None` at its end.
///
/// # Errors
/// As [`read_body`].
pub fn read_chunk(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, HttpError> {
    let mut left = 1024;
    let line = read_line(input, &mut left)?.ok_or(HttpError::Malformed("chunk cut off"))?;
    let digits = line.split(';').next().unwrap_or("").trim();
    let length = usize::from_str_radix(digits, 16).map_err(|_| HttpError::Malformed("chunk length"))?;
    if length > MAX_BODY {
        return Err(HttpError::TooLarge("chunk"));
    }
    let mut part = Vec::new();
    input.take(length as u64).read_to_end(&mut part)?;
    if part.len() < length {
        return Err(HttpError::Malformed("chunk cut off"));
    }
    read_line(input, &mut left)?; // the line end after the data, or the empty line after the last chunk
    Ok((length > 0).then_some(part))
}

/// Writes an answer with a complete body.
///
/// # Errors
/// When the connection breaks.
pub fn write_answer(
    output: &mut impl Write,
    status: u16,
    kind: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> io::Result<()> {
    let mut head = answer_head(status, kind, headers);
    head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    output.write_all(head.as_bytes())?;
    output.write_all(body)?;
    output.flush()
}

/// Writes the head of an answer whose body follows in chunks ([`write_chunk`]).
///
/// # Errors
/// When the connection breaks.
pub fn write_chunked_head(
    output: &mut impl Write,
    status: u16,
    kind: &str,
    headers: &[(String, String)],
) -> io::Result<()> {
    let mut head = answer_head(status, kind, headers);
    head.push_str("transfer-encoding: chunked\r\ncache-control: no-cache\r\n\r\n");
    output.write_all(head.as_bytes())?;
    output.flush()
}

/// Writes one chunk; an empty one ends the body.
///
/// # Errors
/// When the connection breaks.
pub fn write_chunk(output: &mut impl Write, part: &[u8]) -> io::Result<()> {
    let mut bytes = format!("{:x}\r\n", part.len()).into_bytes();
    bytes.extend_from_slice(part);
    bytes.extend_from_slice(b"\r\n");
    output.write_all(&bytes)?;
    output.flush()
}

fn answer_head(status: u16, kind: &str, headers: &[(String, String)]) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Other",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\n");
    for (name, value) in headers {
        // A line end in a scripted value would start another header.
        let clean = |text: &str| text.chars().filter(|c| !c.is_control()).collect::<String>();
        head.push_str(&format!("{}: {}\r\n", clean(name), clean(value)));
    }
    head
}

/// One line without its line end, at most `left` bytes, which is reduced by its length; `None` at the end
/// of input.
fn read_line(input: &mut impl BufRead, left: &mut usize) -> Result<Option<String>, HttpError> {
    let mut line = Vec::new();
    input.take(*left as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() > *left {
        return Err(HttpError::TooLarge("head"));
    }
    *left -= line.len();
    if line.pop() != Some(b'\n') {
        return Err(HttpError::Malformed("line cut off"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(mut input: &[u8]) -> Result<Option<(HttpHead, Vec<u8>)>, HttpError> {
        let Some(head) = read_head(&mut input)? else { return Ok(None) };
        let body = read_body(&mut input, &head)?;
        Ok(Some((head, body)))
    }

    #[test]
    fn a_request_with_a_length_is_read_whole() {
        let (head, body) =
            whole(b"POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhellorest")
                .unwrap()
                .unwrap();
        assert_eq!((head.word(0), head.word(1)), ("POST", "/v1/messages?beta=true"));
        assert_eq!((head.header("x-a"), body.as_slice()), (Some("b"), b"hello".as_slice()));
        assert!(!head.closes());
    }

    #[test]
    fn a_chunked_body_is_joined() {
        let (_, body) = whole(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
        )
        .unwrap()
        .unwrap();
        assert_eq!(body, b"abcde");
    }

    #[test]
    fn written_lines_are_read_back() {
        let mut out = Vec::new();
        write_chunked_head(&mut out, 200, "text/event-stream", &[("a".into(), "b\r\nevil: 1".into())])
            .unwrap();
        write_chunk(&mut out, b"one").unwrap();
        write_chunk(&mut out, b"").unwrap();
        let (head, body) = whole(&out).unwrap().unwrap();
        assert_eq!((head.word(1), head.header("a"), head.header("evil")), ("200", Some("bevil: 1"), None));
        assert_eq!(body, b"one");
    }

    #[test]
    fn the_end_before_a_message_is_no_error_and_inside_it_is() {
        assert!(whole(b"").unwrap().is_none());
        assert!(whole(b"POST / HTT").is_err());
        assert!(whole(b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nshort").is_err());
        assert!(whole(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n").is_err());
        assert!(whole(b"\x16\x03\x01 not http\r\n\r\n").is_err());
    }

    #[test]
    fn heads_and_announced_bodies_over_the_limit_are_refused() {
        let mut long = b"GET / HTTP/1.1\r\nx: ".to_vec();
        long.extend(std::iter::repeat_n(b'a', MAX_HEAD));
        assert!(matches!(whole(&long), Err(HttpError::TooLarge("head"))));
        let huge = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n", MAX_BODY + 1);
        assert!(matches!(whole(huge.as_bytes()), Err(HttpError::TooLarge("body"))));
    }
}
