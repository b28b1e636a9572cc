//! Values that differ in each run, found by their shape, so that a snapshot made today passes tomorrow.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A shape, and its placeholder. The first match wins.
type VolatileShape = (&'static str, &'static str);

/// The group `v` of each is replaced.
const SHAPES: [VolatileShape; 11] = [
    (r"(?i)(?P<v>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})", "[UUID]"),
    // 2026-11-25T09:43:05.123Z is a date, a T and a time.
    (r"(?P<v>(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))", "[DATE]"),
    (
        r"(?P<v>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} +[0-3]?\d(?:, | )(?:19|20)\d\d)",
        "[DATE]",
    ),
    (
        r"(?P<v>[0-3]?\d (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} (?:19|20)\d\d)",
        "[DATE]",
    ),
    (
        r"(?P<v>(?:[01]?\d|2[0-3]):[0-5]\d:[0-6]\d(?:[.,]\d{1,9})?(?: ?[AaPp]\.?[Mm]\b)?(?:Z|[+-]\d\d:?\d\d)?)",
        "[TIME]",
    ),
    (r"(?P<v>(?:0?[1-9]|1[0-2]):[0-5]\d ?[AaPp]\.?[Mm]\b)", "[TIME]"),
    // The end of an answer in Claude Code: a word of its choice, and the duration.
    (r"✻ (?P<v>\p{Lu}\p{L}+ for (?:\d+h )?(?:\d+m )?\d+s)", "[WORKED]"),
    (r"(?:\blocalhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(?P<v>\d{2,5})", "[PORT]"),
    (r"(?i)\bport[ =:]{1,2}(?P<v>\d{2,5})", "[PORT]"),
    (r"(?i)\bpid[ =:]{1,2}(?P<v>\d{1,7})", "[PID]"),
    (r"(?P<v>v?\d{1,5}\.\d{1,5}\.\d{1,5}(?:-[0-9A-Za-z][0-9A-Za-z.-]*)?(?:\+[0-9A-Za-z.-]+)?)", "[VERSION]"),
];

static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    SHAPES.iter().filter_map(|(shape, with)| Some((Regex::new(shape).ok()?, *with))).collect()
});

/// Calls `add` with each value in `line` and its placeholder; `pids` are the processes of the test.
pub fn find(line: &str, pids: &[u32], mut add: impl FnMut(Range<usize>, &str)) {
    if !line.bytes().any(|byte| byte.is_ascii_digit() || byte == b'-') {
        return;
    }
    for (shape, with) in COMPILED.iter() {
        for value in shape.captures_iter(line).filter_map(|found| found.name("v")) {
            if is_whole_word(line, value.range(), *with == "[VERSION]") {
                add(value.range(), with);
            }
        }
    }
    for pid in pids {
        let pid = pid.to_string();
        for (at, _) in line.match_indices(&pid) {
            let range = at..at + pid.len();
            if is_whole_word(line, range.clone(), true) {
                add(range, "[PID]");
            }
        }
    }
}

/// Whether a value is not part of a longer word or number; with dots, also not of an address like 127.0.0.1.
fn is_whole_word(line: &str, range: Range<usize>, with_dots: bool) -> bool {
    let (mut before, mut behind) = (line[..range.start].chars().rev(), line[range.end..].chars());
    let (last, next) = (before.next(), behind.next());
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    // The T between a date and a time.
    let is_joint = |c: Option<char>, beyond: Option<char>| {
        c == Some('T') && beyond.is_some_and(|beyond| beyond.is_ascii_digit())
    };
    let (beyond_last, beyond_next) = (before.next(), behind.next());
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let dotted = with_dots
        && ((last == Some('.') && is_digit(beyond_last)) || (next == Some('.') && is_digit(beyond_next)));
    let word =
        (is_word(last) && !is_joint(last, beyond_last)) || (is_word(next) && !is_joint(next, beyond_next));
    !word && !dotted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let mut found: Vec<(Range<usize>, String)> = Vec::new();
        find(line, &[4711], |range, with| {
            if found.iter().all(|(other, _)| other.end <= range.start || range.end <= other.start) {
                found.push((range, with.to_owned()));
            }
        });
        found.sort_by_key(|(range, _)| range.start);
        let mut line = line.to_owned();
        found.into_iter().rev().for_each(|(range, with)| line.replace_range(range, &with));
        line
    }

    #[test]
    fn every_shape_is_one_that_compiles() {
        assert_eq!(COMPILED.len(), SHAPES.len());
    }

    #[test]
    fn values_that_differ_from_run_to_run_have_placeholders() {
        for (line, want) in [
            ("id 0192f3aa-7c1e-7f00-8a00-0123456789ab.", "id [UUID]."),
            ("2026-11-25T09:43:05.123Z x", "[DATE]T[TIME] x"),
            ("Wed Nov 25 2026, 9:05:01 PM", "Wed [DATE], [TIME]"),
            ("25 November 2026 09:43:05 +0000", "[DATE] [TIME] +0000"),
            (
                "on http://localhost:38211/x and 127.0.0.1:80",
                "on http://localhost:[PORT]/x and 127.0.0.1:[PORT]",
            ),
            ("listening on port 8080 (pid 12)", "listening on port [PORT] (pid [PID])"),
            ("[4711] job, 4711.5 and 47110", "[[PID]] job, 4711.5 and 47110"),
            ("✻ Sautéed for 1m 10s · done 9:23 AM", "✻ [WORKED] · done [TIME]"),
            ("VIM 9.0.1378, node v22.1.0-rc.1+b5", "VIM [VERSION], node [VERSION]"),
        ] {
            assert_eq!(shown(line), want);
        }
    }

    #[test]
    fn other_numbers_stay() {
        for line in [
            "10.0.0.1 and 1.2.3.4", "12:34 left, 3/4 done, 99%", "abc1.2.3", "2026-13-45", "export 80",
            "size 80x24", "--------",
        ] {
            assert_eq!(shown(line), line);
        }
    }
}
