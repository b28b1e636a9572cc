//! The placeholders that Claude shows in its prompt box for what was pasted: `[Pasted text #1 +11 lines]` for
//! a long text, `[Image #1]` for an image (2.1.332). A wrapped row may break one at a blank.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pasted {
    /// A text with so many line ends.
    Text {
        line_ends: usize,
    },
    Image,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxPlaceholder {
    /// Its bytes in the text of the box.
    pub range: Range<usize>,
    /// Claude counts texts and images together, from 1.
    pub number: u32,
    pub pasted: Pasted,
}

/// The placeholders in the text of a prompt box, in order.
#[must_use]
pub fn box_placeholders(text: &str) -> Vec<BoxPlaceholder> {
    let begins = text.match_indices('[').map(|(at, _)| at);
    begins.filter_map(|at| placeholder_at(text, at)).collect()
}

/// A prompt with the file of each image whose file is known, in place of its placeholder: Claude reads it.
#[must_use]
pub fn with_image_files(prompt: &str, image: &dyn Fn(u32) -> Option<PathBuf>) -> String {
    let mut text = prompt.to_owned();
    for placeholder in box_placeholders(prompt).into_iter().rev() {
        let file = (placeholder.pasted == Pasted::Image).then(|| image(placeholder.number)).flatten();
        if let Some(path) = file.as_deref().and_then(Path::to_str) {
            text.replace_range(placeholder.range, path);
        }
    }
    text
}

fn placeholder_at(text: &str, at: usize) -> Option<BoxPlaceholder> {
    let end = at + text[at..].find(']')?;
    let words: Vec<&str> = text[at + 1..end].split_whitespace().collect();
    let number = |word: &str| word.strip_prefix('#')?.parse().ok();
    let (number, pasted) = match words[..] {
        ["Image", n] => (number(n)?, Pasted::Image),
        ["Pasted", "text", n] => (number(n)?, Pasted::Text { line_ends: 0 }),
        ["Pasted", "text", n, count, "lines"] => {
            (number(n)?, Pasted::Text { line_ends: count.strip_prefix('+')?.parse().ok()? })
        }
        _ => return None,
    };
    Some(BoxPlaceholder { range: at..end + 1, number, pasted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_across_wrapped_rows_and_nothing_else_is_one() {
        let text =
            "see [Pasted text #1 +29\nlines], [Image #2] and [Pasted text #3], not [Pasted text] or [1]";
        let found = box_placeholders(text);
        let what: Vec<_> = found.iter().map(|one| (one.number, one.pasted)).collect();
        let long = |line_ends| Pasted::Text { line_ends };
        assert_eq!(what, [(1, long(29)), (2, Pasted::Image), (3, long(0))]);
        assert_eq!(&text[found[1].range.clone()], "[Image #2]");
    }

    #[test]
    fn an_image_in_a_prompt_is_named_by_its_file() {
        let image = |number| (number == 2).then(|| PathBuf::from("/t/2.png"));
        let text = with_image_files("look [Image #1], [Image #2] and [Pasted text #2]", &image);
        assert_eq!(text, "look [Image #1], /t/2.png and [Pasted text #2]");
    }
}
