//! Recovers records from a damaged line: invalid UTF-8, records that were glued together, and a record behind
//! a torn one.

use super::transcript_line::{RecordCount, TranscriptLine, trim};
use super::transcript_record::RawRecord;

/// How Claude begins a record: where reading resumes after a torn one.
pub(super) const STARTS: [&[u8]; 3] = [b"{\"parentUuid\":", b"{\"type\":\"", b"{\"isSidechain\":"];

/// The text as valid UTF-8 without lone surrogates (JavaScript writes half an emoji as `\ud83d`).
pub(super) fn repair(bytes: &[u8]) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(bytes).into_owned().into_bytes();
    let unit = |text: &[u8], at: usize| -> Option<u16> {
        let hex = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(&text, at) {
            Some(0xd800..=0xdbff) if matches!(unit(&text, at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                text[at + 2..at + 6].copy_from_slice(b"fffd");
                at += 6;
            }
            _ => at += 2,
        }
    }
    text
}

/// Reads the records of a line that is not exactly one. The number of attempts is bounded, since each may
/// read to the end of the line.
pub(super) fn salvage(bytes: &[u8], each: &mut impl FnMut(TranscriptLine)) -> RecordCount {
    let mut tally = RecordCount::default();
    let mut at = 0;
    let mut resynced = false;
    let mut attempts = if bytes.len() > 1 << 20 { 8 } else { 64 };
    while at < bytes.len() && attempts > 0 {
        attempts -= 1;
        let mut stream = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter::<RawRecord>();
        let read = if bytes[at] == b'{' { stream.next().and_then(Result::ok) } else { None };
        let end = at + stream.byte_offset();
        // Behind a torn record an inner object could be taken for a line. A line is followed by nothing, or
        // by the next one.
        let alone = trim(&bytes[end.min(bytes.len())..]).first().is_none_or(|b| *b == b'{');
        match read {
            Some(raw) if alone || !resynced => {
                tally.read += 1;
                each(raw.into_line());
                at = end + bytes[end..].iter().take_while(|b| matches!(b, 0 | b' ' | b'\t' | b'\r')).count();
                resynced = false;
            }
            _ => {
                if !resynced {
                    tally.bad += 1;
                }
                resynced = true;
                at = next_start(bytes, at + 1);
            }
        }
    }
    tally
}

fn next_start(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter()
        .enumerate()
        .find(|(i, b)| **b == b'{' && STARTS.iter().any(|start| rest[*i..].starts_with(start)))
        .map_or(bytes.len(), |(i, _)| from + i)
}
