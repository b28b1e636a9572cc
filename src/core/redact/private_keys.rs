//! Private keys between their lines, and parts of such keys that lost one of them.
//!
//! The lines may be indented, quoted, numbered, or joined by `\n` in a JSON string. Certificates and public
//! keys stay.

use super::SecretKind;
use super::byte_scan::run_end;
use super::secret_spans::SecretSpan;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
/// The same of the format of SSH2 (RFC 4716).
const SSH2_BEGIN: &str = "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----";
const SSH2_END: &str = "---- END SSH2 ENCRYPTED PRIVATE KEY ----";
/// The longest block that is taken for one, in bytes.
const LONGEST: usize = 64 << 10;

pub(super) fn find(text: &str, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    let mut past = 0;
    for (at, _) in text.match_indices(BEGIN) {
        let Some(body) = label(text, at + BEGIN.len()).filter(|_| at >= past) else { continue };
        // An end that comes after another beginning, or much later, is another block's.
        let next = text[body..].find("-----BEGIN").map_or(text.len(), |n| body + n);
        let mut limit = next.min(body + LONGEST);
        while !text.is_char_boundary(limit) {
            limit -= 1;
        }
        let closing = text[body..limit].find(END).and_then(|n| label(text, body + n + END.len()));
        past = closing.unwrap_or_else(|| self::body(bytes, body));
        spans.push(SecretSpan { from: at, to: past, kind: SecretKind::PrivateKey });
        // The body was looked through once: what comes before its end is not read again.
    }
    for (at, _) in text.match_indices(END) {
        let inside = spans.iter().rev().take_while(|span| span.to > at).any(|span| span.from < at);
        if let Some(end) = label(text, at + END.len()).filter(|_| !inside) {
            let from = tail(bytes, at, spans.last().map_or(0, |span| span.to));
            if from < at {
                spans.push(SecretSpan { from, to: end, kind: SecretKind::PrivateKey });
            }
        }
    }
    for (at, _) in text.match_indices(SSH2_BEGIN) {
        let from = at + SSH2_BEGIN.len();
        // An end that comes after another beginning, or much later, is another block's.
        let ahead = crate::core::text::safe_text::cut_bytes(&text[from..], LONGEST);
        let ahead = &ahead[..ahead.find(SSH2_BEGIN).unwrap_or(ahead.len())];
        let to = ahead.find(SSH2_END).map_or_else(|| body(bytes, from), |n| from + n + SSH2_END.len());
        spans.push(SecretSpan { from: at, to, kind: SecretKind::PrivateKey });
    }
    for (at, _) in text.match_indices("Private-Lines: ") {
        spans.push(SecretSpan { from: at, to: self::body(bytes, at + 15), kind: SecretKind::PrivateKey });
    }
    for start in ["MII", "MHcCAQEE", "MC4CAQAwBQYDK2Vw"] {
        // What stands inside of a body is read once.
        let mut past = 0;
        for (at, _) in text.match_indices(start) {
            if at >= past && super::byte_scan::begins_word(bytes, at) && is_der(&bytes[at..]) {
                past = self::body(bytes, at);
                spans.push(SecretSpan { from: at, to: past, kind: SecretKind::PrivateKey });
            }
        }
    }
}

/// The end of the label that begins at `from`, with its dashes, where it is that of a private key.
fn label(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let end = run_end(&bytes[..bytes.len().min(from + 64)], from, |b| b.is_ascii_alphanumeric() || b == b' ');
    let label = &text[from..end];
    let private = label.contains("PRIVATE KEY") || label.starts_with("OpenVPN Static key");
    private.then(|| run_end(bytes, end, |b| b == b'-'))
}

/// Whether base64 is the beginning of a private key in DER: RSA, PKCS 8, EC, Ed25519.
fn is_der(bytes: &[u8]) -> bool {
    let long = bytes.iter().take(64).take_while(|b| is_base64(**b)).count() >= 48;
    let at = |from: usize, what: &[u8]| bytes.get(from..).is_some_and(|rest| rest.starts_with(what));
    long && (!at(0, b"MII") || at(6, b"IBAAK") || at(6, b"IBAAJ") || at(6, b"IBADAN") || at(6, b"IBATAN"))
}

fn is_base64(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_')
}

/// The end of the lines of base64 and of key headers that follow `from`. Line breaks may be written as `\n`;
/// a line may begin with an indent, a quote mark or a number.
pub(super) fn body(bytes: &[u8], from: usize) -> usize {
    let mut end = from;
    let mut at = from;
    loop {
        let line_end = run_end(bytes, at, is_base64);
        if line_end > at {
            end = line_end;
        }
        let header = header(bytes, at);
        if let Some(header_end) = header {
            end = header_end;
        } else if line_end == at && at != from {
            return end;
        }
        // The next line, if one follows, and what can stand before its text.
        let broken =
            run_end(bytes, end, |b| matches!(b, b'\r' | b'\n' | b'\\' | b'"' | b'\'' | b'+' | b',' | b' '));
        let rest = &bytes[end..broken];
        let escaped = rest.windows(1).any(|w| w == b"\\") && matches!(bytes.get(broken), Some(b'n' | b'r'));
        let next = match (rest.contains(&b'\n'), escaped) {
            (true, _) => start_of_text(bytes, broken),
            (false, true) => escapes(bytes, broken),
            // A block whose line breaks became spaces.
            (false, false) if rest.contains(&b' ') => broken,
            (false, false) => return end,
        };
        let long = run_end(bytes, next, is_base64) - next;
        // A short line is the last of a body; a word of a sentence is not one.
        let last = long > 0
            && matches!(bytes.get(next + long), None | Some(b'\n' | b'\r' | b'\\' | b'"' | b'\'' | b' '));
        if next <= end
            || !(long >= 40
                || last && is_tail(&bytes[next..next + long])
                || self::header(bytes, next).is_some())
        {
            return end;
        }
        at = next;
    }
}

/// Whether a short run can be the last line of a key: padded, or of mixed characters.
fn is_tail(run: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| run.iter().any(kind);
    run.ends_with(b"=") || run.len() >= 16 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// After `\`: the letters of escaped line breaks, and quotes that join strings.
fn escapes(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while bytes.get(at) == Some(&b'\\') {
        let letter = run_end(bytes, at, |b| b == b'\\');
        match bytes.get(letter) {
            Some(b'n' | b'r') => at = letter + 1,
            _ => return at,
        }
    }
    at
}

/// Past spaces, `>`, `|`, `+`, `-` and a line number with its arrow, at most 24 bytes.
fn start_of_text(bytes: &[u8], from: usize) -> usize {
    let limit = bytes.len().min(from + 24);
    let marks = |b: u8| matches!(b, b' ' | b'\t' | b'>' | b'|' | b'#' | b'*');
    let at = run_end(&bytes[..limit], from, marks);
    let digits = run_end(&bytes[..limit], at, |b| b.is_ascii_digit());
    let arrow =
        run_end(&bytes[..limit], digits, |b| matches!(b, b'\t' | b':' | b'|' | b' ') || !b.is_ascii());
    if digits > at && arrow > digits { arrow } else { at }
}

/// The end of a header of an encrypted block (`Proc-Type: 4,ENCRYPTED`), or of the blank line behind one.
fn header(bytes: &[u8], from: usize) -> Option<usize> {
    let names: [&[u8]; 6] =
        [b"Proc-Type: ", b"DEK-Info: ", b"Version: ", b"Comment: ", b"Hash: ", b"Private-MAC: "];
    let known = names.iter().any(|name| bytes[from.min(bytes.len())..].starts_with(name));
    known.then(|| run_end(&bytes[..bytes.len().min(from + 200)], from, |b| b != b'\n' && b != b'\\'))
}

/// Where the lines of base64 before an end line begin, not before `floor`.
fn tail(bytes: &[u8], end: usize, floor: usize) -> usize {
    let mut from = end;
    while from > floor {
        let before = bytes[floor..from]
            .iter()
            .rposition(|b| !matches!(b, b'\n' | b'\r' | b' ' | b'\t' | b'\\' | b'n'));
        let Some(last) = before.map(|n| floor + n) else { return from };
        let start = bytes[floor..=last].iter().rposition(|b| !is_base64(*b)).map_or(floor, |n| floor + n + 1);
        // An escaped line break leaves its `n` at the beginning of the run.
        let start = if start > 0 && bytes[start - 1] == b'\\' { start + 1 } else { start };
        if last + 1 < start + 16 && !(from == end && bytes[last] == b'=') {
            return from;
        }
        from = start;
    }
    from
}
