//! Runs of lines with the same form, as in logs and lists of measurements: two of them are enough.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::core::claude::transcript_facts::mentions_error;

/// A longer run is folded.
const RUN: usize = 6;
/// The number of its lines that are kept.
const SHOWN: usize = 2;
/// The fewest letters of a hexadecimal number without a digit.
const HEX: usize = 6;

/// The text with only the first lines of its long runs.
pub fn folded(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= RUN {
        return Cow::Borrowed(text);
    }
    // After the first one, errors of the same form are folded like other lines.
    let mut errors: HashSet<String> = HashSet::new();
    let mut form_of = |line: &str| {
        let is_new = reports_error(line) && errors.insert(form(line.trim()));
        line_form(line, is_new)
    };
    let forms: Vec<String> = lines.iter().map(|line| form_of(line)).collect();
    let mut out: Vec<Cow<'_, str>> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let run =
            forms[at..].iter().take_while(|form| !form.is_empty() && **form == forms[at]).count().max(1);
        let shown = if run > RUN { SHOWN } else { run };
        out.extend(lines[at..at + shown].iter().map(|line| Cow::Borrowed(*line)));
        if run > shown {
            out.push(Cow::Owned(format!("[... {} lines of this form]", run - shown)));
        }
        at += run;
    }
    if out.len() == lines.len() { Cow::Borrowed(text) } else { Cow::Owned(out.join("\n")) }
}

/// Whether a line reports an error, which may be why the log was pasted.
fn reports_error(line: &str) -> bool {
    let word = |word: &str| matches!(word, "CRIT" | "CRITICAL" | "PANIC" | "ALERT" | "EMERG");
    mentions_error(line.trim()) || line.split(|c: char| !c.is_alphanumeric()).any(word)
}

/// The common form of similar lines: for a line of a log its time, unless `whole`, because its text differs.
fn line_form(line: &str, whole: bool) -> String {
    if whole {
        return form(line.trim());
    }
    let mut begin = String::new();
    for word in line.split_whitespace().take(2) {
        begin.push_str(&form(word));
        if begin.contains("0:0:0") {
            return begin;
        }
        begin.push(' ');
    }
    form(line.trim())
}

/// The text with a 0 for each word that has a digit or is a hexadecimal number.
pub fn form(text: &str) -> String {
    let mut form = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| c.is_alphanumeric() != first.is_alphanumeric()).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        let is_hex = run.len() >= HEX && run.bytes().all(|b| b.is_ascii_hexdigit());
        let is_number = is_hex || run.contains(|c: char| c.is_numeric());
        form.push_str(if first.is_alphanumeric() && is_number { "0" } else { run });
        rest = after;
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_lines_of_one_form_is_folded_and_what_stands_in_it_stays() {
        let log = |n: u32| format!("[{n:04}] 2026-11-24T07:{:02}:00Z crane-{} moves {}t\n", n % 60, n % 9, n);
        let words = "keep in mind: crane-4 was in service\n";
        let text: String = (0..20).map(log).chain([words.to_owned()]).chain((20..40).map(log)).collect();
        let mark = "[... 18 lines of this form]";
        let expected = format!("{}{}{mark}\n{words}{}{}{mark}", log(0), log(1), log(20), log(21));
        assert_eq!(folded(&text), expected);
        let times: String =
            (10..30).map(|n| format!("2026-11-24 07:00:{n} {}\n", ["up", "down"][n % 2])).collect();
        assert_eq!(folded(&times).lines().count(), 3);
        let level = |n: usize| if n == 20 { "ERROR disk full" } else { ["INFO up", "INFO down"][n % 2] };
        let times: String = (10..40).map(|n| format!("2026-11-24 07:00:{n} {}\n", level(n))).collect();
        let text = folded(&times).into_owned();
        assert!(text.contains("07:00:20 ERROR disk full\n") && text.lines().count() == 7, "{text}");
        let level = |n| if n % 5 == 0 { "ERROR no answer" } else { "INFO up" };
        let times: String = (10..50).map(|n| format!("2026-11-24 07:00:{n} {}\n", level(n))).collect();
        assert_eq!(folded(&times).matches("ERROR").count(), 1, "after the first of them it is known");
        for list in [
            "1. gate\n2. roof\n3. hall\n4. berth\n5. crane\n6. rail\n7. road\n8. quay",
            "a\n\n\n\n\n\n\n\n\nb",
        ] {
            assert_eq!(folded(list), list);
        }
    }
}
