//! Whether a text of Claude's ends with a question to the person.

use super::current_request::is_option;

/// The most lines of prose after a question, and the most characters in them.
const CLOSING: (usize, usize) = (6, 400);
/// What quotes the words of others or names something, by its first and its last sign.
const QUOTES: [(char, char); 6] = [('`', '`'), ('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('»', '«')];

/// Whether a text of Claude's ends with a question to the person, in the last sentence of one of its last
/// lines. Options, lists, tables and a few closing lines may follow.
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
    let (mut prose, mut chars) = (0, 0);
    for line in outside.into_iter().rev() {
        if !line.starts_with(['#', '|', '>']) && ends_with_question(line) {
            return true;
        }
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

/// Whether a line ends with a question. Punctuation may follow it, and in a line of prose options or a remark
/// in parentheses. Japanese does not need the question mark.
fn ends_with_question(line: &str) -> bool {
    let line = without_quotes(line);
    let Some((question, behind)) = line.rsplit_once(is_mark) else {
        let line = line.trim_end_matches(|c: char| !c.is_alphanumeric());
        return ["すか", "うか"].iter().any(|end| line.ends_with(end));
    };
    // Advice may follow a question that has its options in itself.
    if marks_options(question) {
        return true;
    }
    let behind = behind.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_'));
    let is_remark = behind.starts_with('(') && behind.find(')').is_some_and(|at| at + 1 == behind.len());
    let is_prose = !is_option(&line) && !line.starts_with('-');
    !behind.contains(char::is_alphanumeric) || is_prose && (is_remark || is_option(behind))
}

/// Whether a sentence marks two options: "PostgreSQL (A) or SQLite (B)".
fn marks_options(sentence: &str) -> bool {
    let is_marked = |at: usize| {
        let mut chars = sentence[at + 1..].chars();
        chars.next().is_some_and(char::is_alphanumeric) && chars.next() == Some(')')
    };
    sentence.match_indices('(').filter(|(at, _)| is_marked(*at)).nth(1).is_some()
}

/// A mark of a question: `?`, the full-width and the Arabic one.
fn is_mark(c: char) -> bool {
    matches!(c, '?' | '？' | '؟')
}

/// A line in which each part in back-ticks or quotes is replaced by a letter.
fn without_quotes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| QUOTES.iter().any(|(open, _)| *open == c)) {
        out.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        let open = chars.next();
        rest = chars.as_str();
        let closes = |c: char| QUOTES.contains(&(open.unwrap_or_default(), c));
        if let Some((_, behind)) = rest.split_once(closes) {
            out.push('x');
            rest = behind;
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_known_at_the_end_of_a_text() {
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
            "Which one? A) PostgreSQL, B) SQLite",
            "Shall I push it (to `main`)? (yes / no)",
            "Shall I call it \"gate\"? 🙂",
            "(Shall I push it?)",
            "It's ready, isn't it?",
            "Which one: PostgreSQL (A), SQLite (B) or DuckDB (C)? I advise B, because one process writes.",
        ] {
            assert!(asks(text), "{text}");
        }
        for text in [
            "Why? Because it is fast.\n\nSo I did.\nAll tests pass.\nIt is done.",
            "```\nx ? y : z\n```",
            "",
            "Done.",
            "It is deployed: https://hd.example/a?token=list",
            "Why was it slow? The index was missing. It is there now",
            "The link \"Forgot your password?\" stands below the form.",
            "All signs that the font lacks are replaced by `?`",
            "Der Link „Passwort vergessen?“",
            "What they ask most often:\n- When does the gate open? (14)\n- Is there a slip? (9)",
            "1. What happened? The gate was closed.\n2. Is it open now? Yes, since noon.",
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
