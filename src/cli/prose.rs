//! Sentences for people: in a terminal, lines are broken between words and go on below where the sentence
//! began. What is read by something else stays one line.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr;

use crate::tty::raw;

/// Columns that a sentence has at least; where it would have fewer, it goes on at [`SMALL`].
const LEAST: usize = 24;
/// The indent in a terminal that is too narrow for a better one.
const SMALL: usize = 4;

/// A line as it is printed. What does not fit goes on `indent` columns from the left.
pub(super) fn fit(line: &str, indent: usize) -> String {
    // A terminal that is not standard input is nobody's whose size is known.
    let cols = if std::io::stdout().is_terminal() { usize::from(raw::size().cols) } else { 0 };
    if cols == 0 { line.to_owned() } else { broken(line, indent, cols) }
}

/// The line broken between words into lines of at most `cols` columns; all but the first begin `indent`
/// columns from the left.
pub(super) fn broken(line: &str, indent: usize, cols: usize) -> String {
    let indent = if indent + LEAST > cols { SMALL } else { indent };
    let mut out = String::new();
    let mut column = 0;
    for (n, word) in line.split(' ').enumerate() {
        let width = word.width();
        // A word longer than a line is the terminal's to break, so that it can be copied whole.
        if column + 1 + width > cols && column > indent && width > 0 {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if n > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_goes_on_below_where_it_began() {
        assert_eq!(
            broken("why           one two three four five", 14, 40),
            "why           one two three four five"
        );
        assert_eq!(
            broken("why           a sentence that is far too long", 14, 40),
            "why           a sentence that is far too\n              long"
        );
        assert_eq!(
            broken("why           a sentence that is far", 14, 30),
            "why           a sentence that\n    is far"
        );
        let long = "x".repeat(60);
        assert_eq!(
            broken(&format!("why  see {long} here"), 5, 40),
            format!("why  see\n     {long}\n     here")
        );
        assert_eq!(broken("漢字漢字 漢字漢字", 0, 30), "漢字漢字 漢字漢字");
        assert_eq!((broken("", 5, 40).as_str(), broken("a  b", 0, 1).as_str()), ("", "a  b"));
    }

    proptest::proptest! {
        #[test]
        fn no_word_is_lost(line in "[a-z ]{0,80}", indent in 0_usize..60, cols in 1_usize..100) {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&broken(&line, indent, cols)), words(&line));
        }
    }
}
