//! Whether a text of Claude's ends with a question to the person.

use super::current_request::is_option;

/// How many of the last lines may contain the question; options do not count.
const NEAR: usize = 3;
/// The most lines and characters of prose that may follow a question further up.
const CLOSING: (usize, usize) = (6, 400);

/// Whether the text ends with a question: in one of its last lines, or above a few closing lines. Options,
/// lists and tables may follow it.
pub fn asks(text: &str) -> bool {
    let mut fenced = false;
    let outside: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| {
            let fence = line.starts_with("```");
            fenced ^= fence;
            !fenced && !fence && !line.is_empty()
        })
        .collect();
    let (mut looked, mut prose, mut chars) = (0, 0, 0);
    for line in outside.into_iter().rev() {
        let is_near = looked < NEAR && has_question(line);
        if is_near || ends_with_question(line) && !line.starts_with(['#', '|', '>']) {
            return true;
        }
        looked += usize::from(!is_option(line));
        if is_option(line) || line.starts_with(['|', '-', '*', '>']) {
            continue;
        }
        (prose, chars) = (prose + 1, chars + line.chars().count());
        if prose > CLOSING.0 || chars > CLOSING.1 {
            return false;
        }
    }
    false
}

/// Whether the line has a question mark (`?`, full-width or Arabic) outside of a web address.
fn has_question(line: &str) -> bool {
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let ends = || !chars.clone().next().is_some_and(|next| next.is_alphanumeric() || next == '=');
        if matches!(c, '？' | '؟') || c == '?' && ends() {
            return true;
        }
    }
    ends_with_question(line)
}

/// The same at the end of a line. Japanese needs no question mark.
fn ends_with_question(line: &str) -> bool {
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || "*_`)\"'）」』”»".contains(c));
    line.ends_with(['?', '？', '؟'])
        || ["すか", "うか"].iter().any(|end| line.trim_end_matches('。').ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_at_the_end_of_a_text_are_recognized() {
        for text in [
            "Done. Shall I push it?",
            "Which one?\n\n- A) PostgreSQL\n- B) SQLite\n- C) DuckDB",
            "Which one?\n1. small\n2. large\n\nI would take the first.",
            "```\na\n```\nOkay?",
            "**Shall I push it?**",
            "A) 即時送信\nB) まとめ送信\n\nどちらにしますか？",
            "どちらにしますか？\nA）即時送信\nB）まとめ送信",
            "どちらにしますか。",
            "要不要现在部署？",
            "هل أنشره الآن؟",
        ] {
            assert!(asks(text), "{text}");
        }
        for text in [
            "Why? Because it is fast.\n\nSo I did.\nAll tests pass.\nIt is done.",
            "```\nx ? y : z\n```",
            "",
            "Done.",
            "It is deployed: https://hd.example/a?token=list",
        ] {
            assert!(!asks(text), "{text}");
        }
    }

    #[test]
    fn closing_lines_and_tables_may_stand_below_a_question() {
        let closing = "Both have references.\nBoth offers are valid until 4 December.\nThe table is in \
                       vendors.md.";
        let table =
            format!("The comparison:\n\n| item | a | b |\n|---|---|---|\n{}", "| x | 1 | 2 |\n".repeat(40));
        for text in [
            format!("Which vendor shall I take: Nordhav or Altamar?\n\n{closing}"),
            format!("Which vendor shall I take: Nordhav or Altamar?\n\n{table}\n{closing}"),
            "I need two things from you:\n\n- the port of the test database?\n- whether Marta has \
             agreed?\n\nUntil then I keep the old values.\nThe branch is pushed.\nCI is green.\nI wait."
                .to_owned(),
        ] {
            assert!(asks(&text), "{text}");
        }
        for text in [
            format!("## What has changed?\n\n{closing}\nIt is done."),
            format!(
                "So what was it?\n\n{}",
                "The pool was never given back on the way of errors. ".repeat(9)
            ),
            format!("So what was it?\n\n{}", "The pool.\n\n".repeat(9)),
        ] {
            assert!(!asks(&text), "{text}");
        }
    }
}
