//! Wraps sentences for a terminal: lines are broken between words and continue below the beginning of the
//! sentence.

use unicode_width::UnicodeWidthStr;

/// The least width of a sentence, in columns. If it would be narrower, it continues at [`SMALL`].
const SENTENCE_LEAST: usize = 24;
/// The indent in a terminal that is too narrow for a better one.
const SMALL: usize = 4;
/// Labels of messages; the sentence begins behind them.
const LABELS: [&str; 2] = ["hopty: ", "hint: "];

/// Breaks each line of `text` between words into lines of at most `cols` columns; all but the first are
/// indented by `indent` columns. Colours take no columns. A command between backticks is broken only if it is
/// longer than a line.
pub fn wrap_words(text: &str, indent: usize, cols: usize) -> String {
    let indent = if indent + SENTENCE_LEAST > cols { indent.min(SMALL).min(cols / 4) } else { indent };
    text.split('\n').map(|line| wrap_line(line, indent, cols)).collect::<Vec<_>>().join("\n")
}

/// A message in lines of at most `cols` columns. Behind `hopty: ` or `hint: `, it continues where its
/// sentence began.
pub fn wrap_message(text: &str, cols: usize) -> String {
    let indent =
        |line: &str| LABELS.iter().find(|label| line.starts_with(**label)).map_or(0, |label| label.len());
    text.split('\n').map(|line| wrap_words(line, indent(line), cols)).collect::<Vec<_>>().join("\n")
}

fn wrap_line(line: &str, indent: usize, cols: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    let (room, small) = (cols.saturating_sub(indent), indent.min(SMALL).min(cols / 4));
    for (n, word) in words(line, room).into_iter().enumerate() {
        let width = columns(word);
        // A word that is longer than a line is left to the terminal, so that it can be copied whole. One that
        // fits only at the small indent goes there.
        let needs_small = width > room && small + width <= cols;
        let below = if needs_small { small } else { indent };
        // A new line at the same column still has more room, because no space precedes the word.
        if column + 1 + width > cols && column >= below.max(1) && width > 0 {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            column = below;
            out.push_str(&" ".repeat(column));
        } else if n > 0 && column < cols {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out
}

/// The units that are not broken: words, and commands between backticks that fit into `room` columns.
fn words(line: &str, room: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        let end = command_end(rest).filter(|end| columns(&rest[..*end]) <= room);
        match end.or_else(|| rest.find(' ')) {
            Some(end) if end < rest.len() => {
                words.push(&rest[..end]);
                rest = &rest[end + 1..];
            }
            _ => {
                words.push(rest);
                return words;
            }
        }
    }
}

/// The length of the command that begins in the first word, in bytes, if one does.
fn command_end(text: &str) -> Option<usize> {
    let is_open = |word: &str| word.matches('`').count() % 2 == 1;
    let first = text.find(' ').filter(|end| is_open(&text[..*end]))?;
    let close = first + text[first..].find('`')?;
    // Another command may begin in the same word, and punctuation may follow.
    let end = close + text[close..].find(' ').unwrap_or(text.len() - close);
    (!is_open(&text[..end])).then_some(end)
}

/// How many columns a text takes.
fn columns(text: &str) -> usize {
    let mut parts = text.split("\x1b[");
    let first = parts.next().map_or(0, UnicodeWidthStr::width);
    let behind =
        |part: &str| part.find(|c| ('@'..='~').contains(&c)).map_or(0, |end| part[end + 1..].width());
    first + parts.map(behind).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_continues_below_its_beginning() {
        assert_eq!(
            wrap_words("why           one two three four five", 14, 40),
            "why           one two three four five"
        );
        assert_eq!(
            wrap_words("why           a sentence that is far too long", 14, 40),
            "why           a sentence that is far too\n              long"
        );
        assert_eq!(
            wrap_words("why           a sentence that is far", 14, 30),
            "why           a sentence that\n    is far"
        );
        let long = "x".repeat(60);
        assert_eq!(
            wrap_words(&format!("why  see {long} here"), 5, 40),
            format!("why  see\n     {long}\n     here")
        );
        let id = "899bb7d8-eede-48c5-a289-241b7533a916";
        assert_eq!(
            wrap_words(&format!("conversation  {id} and more"), 14, 40),
            format!("conversation\n    {id}\n              and more")
        );
        assert_eq!(wrap_words("漢字漢字 漢字漢字", 0, 30), "漢字漢字 漢字漢字");
        assert_eq!((wrap_words("", 5, 40).as_str(), wrap_words("a  b", 0, 1).as_str()), ("", "a\nb"));
        assert_eq!(wrap_words("\x1b[1;31mabc\x1b[m def ghi", 0, 7), "\x1b[1;31mabc\x1b[m def\nghi");
    }

    #[test]
    fn a_command_that_fits_is_not_broken() {
        assert_eq!(wrap_words("run `hopty ls --all`, then", 0, 20), "run\n`hopty ls --all`,\nthen");
        assert_eq!(wrap_words("`a b`/`c d` e", 0, 11), "`a b`/`c d`\ne");
        assert_eq!(
            wrap_words("run `hopty conversations search`", 0, 20),
            "run `hopty\nconversations\nsearch`"
        );
        let command = format!("`a {}`", "b".repeat(20));
        assert_eq!(wrap_words(&format!("label {command}"), 5, 29), format!("label\n     {command}"));
        assert_eq!(wrap_words("one ` alone is a word", 0, 11), "one ` alone\nis a word");
    }

    #[test]
    fn a_message_continues_behind_its_label() {
        assert_eq!(
            wrap_message("hopty: ls: the one is not there\nhint: look for another one", 32),
            "hopty: ls: the one is not there\nhint: look for another one"
        );
        assert_eq!(
            wrap_message("hopty: ls: the one is not here today\nhint: look for another one of them", 32),
            "hopty: ls: the one is not here\n       today\nhint: look for another one of\n      them"
        );
        assert_eq!(wrap_message("nothing to say", 10), "nothing to\nsay");
    }

    proptest::proptest! {
        #[test]
        fn no_word_is_lost(line in "[a-z` ]{0,80}", indent in 0_usize..60, cols in 1_usize..100) {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&wrap_words(&line, indent, cols)), words(&line));
        }

        #[test]
        fn no_line_is_too_long(line in "([a-z`]{1,12} ){0,12}", indent in 0_usize..60, cols in 28_usize..100) {
            assert!(wrap_words(&line, indent, cols).lines().all(|line| line.width() <= cols));
        }
    }
}
