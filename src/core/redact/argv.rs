//! Secrets in the words of a command line as a program gets them.

use super::{redact, secret_kind::marks};

/// Stand for blanks inside a word and inside a mark, while a blank stands between words.
const IN_WORD: char = '\u{1}';
const IN_MARK: char = '\u{2}';

/// The words of a command line without secrets, each in its place: what is one is known by its word, or by
/// those before it (`--password X`, `mysql -pX`).
pub fn redact_words(words: &[String]) -> Vec<String> {
    let alone: Vec<String> = words.iter().map(|word| redact(word)).collect();
    let one = |word: &String| {
        if word.is_empty() {
            IN_WORD.to_string()
        } else {
            word.replace([' ', '\n', IN_MARK], &IN_WORD.to_string())
        }
    };
    let line = alone.iter().map(one).collect::<Vec<_>>().join(" ");
    let mut shown = redact(&line);
    if shown == line {
        return alone;
    }
    let found: Vec<(usize, usize)> = marks(&shown).map(|(from, to, _)| (from, to)).collect();
    for (from, to) in found.into_iter().rev() {
        let mark = shown[from..to].replace(' ', &IN_MARK.to_string());
        shown.replace_range(from..to, &mark);
    }
    let together: Vec<String> = shown.split(' ').map(|word| word.replace(IN_MARK, " ")).collect();
    if together.len() != words.len() {
        // A secret reaches over several words: better none of them than a part of it.
        return words
            .iter()
            .take(1)
            .map(|word| redact(word))
            .chain(["[redacted: arguments]".to_owned()])
            .collect();
    }
    let merge = |(alone, together): (String, String)| {
        if one(&alone) == together { alone } else { together.replace(IN_WORD, " ") }
    };
    alone.into_iter().zip(together).map(merge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_taken_out_of_its_own_word() {
        let of =
            |line: &[&str]| redact_words(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        for line in [
            &["curl", "-H", "Authorization: Bearer abcDEF123456ghiJKL789", "https://h/x y"][..],
            &["mysql", "-pHunter22x7Q", "db"],
            &["claude", "--api-key", "Hunter22x7Qzz81", "--model", "opus"],
            &["sh", "-c", "PASSWORD=Hunter22x7Q exec run  it", ""],
            &["psql", "postgres://u:Hunter22x7Q@h/db"],
            &["x", "--password=Hunter22x7Q", "--token", "Hunter22x7Qzz81"],
        ] {
            let shown = of(line);
            assert!(!shown.concat().contains("unter22") && !shown.concat().contains("abcDEF"), "{shown:?}");
            assert!(shown.concat().contains("[redacted: "), "{shown:?}");
            assert_eq!((shown.len(), shown[0].as_str()), (line.len(), line[0]), "{shown:?}");
        }
        for line in [
            &["claude", "--model", "opus", "say  hello", "a\nb", ""][..],
            &[],
            &["sh", "-c", "echo '[redacted: password]'"],
        ] {
            assert_eq!(of(line), line);
        }
    }
}
