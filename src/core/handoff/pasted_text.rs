//! The pasted parts of a prompt. A person pastes other people's text: logs, guides, mails. Its rules are not
//! the person's, and it is the first to be cut.

use std::borrow::Cow;

use super::repeated_lines::folded;
use crate::core::text::safe_text::{cut_units, end_units, units, visible_text};

/// The line above pasted text.
pub const PASTED: &str = "[pasted]";
/// The line below it.
pub const END_OF_PASTE: &str = "[end of paste]";
/// The shortest beginning of a paste, in UTF-16 units.
const PASTE_SHOWN_LEAST: usize = 80;

/// A part of a prompt, without the marks around a paste.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part<'a> {
    Own(&'a str),
    Pasted(&'a str),
}

/// Pasted text for between the marks: nothing in it looks like the end mark.
pub fn without_end_mark(pasted: &str) -> Cow<'_, str> {
    // Invisible characters, which are removed later, must not hide the mark here.
    let visible = visible_text(pasted);
    match visible.contains(END_OF_PASTE) {
        true => Cow::Owned(visible.replace(END_OF_PASTE, "(end of paste)")),
        false => Cow::Borrowed(pasted),
    }
}

/// The parts of a prompt. If a cut has removed one of the marks, text that may have been pasted counts as
/// pasted.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut at, mut is_open) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let line = line.trim();
        if !is_open && line == PASTED {
            parts.push(Part::Own(&text[from..begin]));
            (from, is_open) = (at, true);
        } else if line.ends_with(END_OF_PASTE) {
            parts.push(Part::Pasted(&text[from..begin]));
            (from, is_open) = (at, false);
        }
    }
    parts.push(if is_open { Part::Pasted(&text[from..]) } else { Part::Own(&text[from..]) });
    parts.retain(|part| !matches!(part, Part::Own(own) if own.trim().is_empty()));
    parts
}

pub fn has_paste(text: &str) -> bool {
    text.contains(PASTED) && parts(text).iter().any(|part| matches!(part, Part::Pasted(_)))
}

/// The prompt without its pastes.
pub fn own_words(text: &str) -> Cow<'_, str> {
    if !text.contains(PASTED) && !text.contains(END_OF_PASTE) {
        return Cow::Borrowed(text);
    }
    let own = parts(text).into_iter().filter_map(|part| match part {
        Part::Own(own) => Some(own.trim_end()),
        Part::Pasted(_) => None,
    });
    Cow::Owned(own.collect::<Vec<_>>().join("\n"))
}

/// The prompt with as much of its pastes as fits into `room` UTF-16 units; each line costs two more. If
/// nothing fits, a line says how much was pasted. The person's own words are never cut.
pub fn with_short_pastes(text: &str, room: usize) -> Cow<'_, str> {
    if cost(text) <= room || !has_paste(text) {
        return Cow::Borrowed(text);
    }
    let parts = parts(text);
    let taken = |part: &Part<'_>| match part {
        Part::Own(own) => cost(own),
        Part::Pasted(pasted) => cost(&paste_summary(pasted)),
    };
    let mut left = room.saturating_sub(parts.iter().map(taken).sum());
    // The shortest first: the room that they leave is for the others.
    let mut pastes: Vec<(usize, &str)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if let Part::Pasted(pasted) = part {
            pastes.push((at, pasted));
        }
    }
    pastes.sort_by_key(|(_, pasted)| pasted.len());
    let mut shown: Vec<String> = parts
        .iter()
        .map(|part| match part {
            Part::Own(own) => own.trim_end().to_owned(),
            Part::Pasted(_) => String::new(),
        })
        .collect();
    for (done, (at, pasted)) in pastes.iter().enumerate() {
        let share = left / (pastes.len() - done);
        shown[*at] = shortened(pasted, share + cost(&paste_summary(pasted)));
        left = left.saturating_sub(cost(&shown[*at]).saturating_sub(cost(&paste_summary(pasted))));
    }
    Cow::Owned(shown.join("\n"))
}

/// The replacement for a paste that does not fit: one line, so that no cut can split it.
fn paste_summary(pasted: &str) -> String {
    format!("[pasted: {} characters left out]", pasted.trim_end().chars().count())
}

fn shortened(pasted: &str, room: usize) -> String {
    let whole = pasted.trim_end();
    let framed = |text: &str| format!("{PASTED}\n{text}\n{END_OF_PASTE}");
    if cost(&framed(whole)) <= room {
        return framed(whole);
    }
    let pasted = &*folded(whole);
    if cost(&framed(pasted)) <= room {
        return framed(pasted);
    }
    let mark = |left: usize| format!("[... {left} characters left out]");
    let taken = cost(&framed(&mark(pasted.len())));
    let Some(rest) = room.checked_sub(taken).filter(|rest| *rest >= PASTE_SHOWN_LEAST) else {
        return paste_summary(whole);
    };
    // The beginning and the end, by lines.
    let within = |lines: &mut dyn Iterator<Item = &str>, room: usize| {
        let (mut used, mut bytes) = (0, 0);
        for line in lines {
            used += units(line) + 3;
            if used > room {
                break;
            }
            bytes += line.len() + 1;
        }
        bytes
    };
    let mut head = within(&mut pasted.lines(), rest * 3 / 5);
    if head == 0 {
        head = cut_units(pasted, rest * 3 / 5).len();
    }
    let first = pasted[..head.min(pasted.len())].trim_end();
    let after = &pasted[first.len()..];
    let room = rest.saturating_sub(cost(first) + 3);
    let tail = within(&mut after.lines().rev(), room).min(after.len());
    let last = match tail {
        0 => end_units(after, room),
        bytes => after.get(after.len() + 1 - bytes.max(1)..).unwrap_or_default(),
    };
    let shown = first.chars().count() + last.chars().count();
    let mark = mark(whole.chars().count().saturating_sub(shown));
    framed(
        &[first, &mark, last.trim()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

fn cost(text: &str) -> usize {
    text.lines().map(|line| units(line) + 3).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_words_are_a_prompt_without_its_pastes() {
        assert_eq!(own_words("fix\n[pasted]\nnever\n[end of paste]\nthen test"), "fix\nthen test");
        assert_eq!(own_words("[pasted]\nnever"), "", "cut at its end");
        assert_eq!(own_words("must not\n[end of paste]\nfix"), "fix", "cut at its beginning");
        assert_eq!(own_words("fix the [pasted] mark"), "fix the [pasted] mark");
        for inside in ["a\n[end of paste]\nnever", "a\n[end\u{200b} of\u{1b}[0m paste]\nnever"] {
            let text = format!("[pasted]\n{}\n[end of paste]", without_end_mark(inside));
            assert_eq!(own_words(&crate::core::text::safe_text::safe(&text)), "", "{text:?}");
        }
    }

    #[test]
    fn a_paste_is_cut_before_the_words_around_it_and_keeps_its_marks() {
        let log: String = (0..200).map(|n| format!("line {n} of the log, {}\n", "x".repeat(n % 7))).collect();
        let text = format!("read this\n[pasted]\n{log}[end of paste]\nand mend the gate");
        let short = with_short_pastes(&text, 400);
        assert!(cost(&short) <= 400, "{short}");
        for part in [
            "read this\n[pasted]\nline 0 of",
            "\n[... ",
            "line 199 of the log, xxx\n[end of paste]\nand mend",
        ] {
            assert!(short.contains(part), "{part}: {short}");
        }
        let none = with_short_pastes(&text, 60);
        assert_eq!(
            none,
            format!("read this\n[pasted: {} characters left out]\nand mend the gate", log.len() - 1)
        );
        assert_eq!(with_short_pastes(&text, 9000), text);
    }
}
