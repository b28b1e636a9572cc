//! Words of a command line that a person may paste into a shell.

/// A word as a shell reads it, whatever it contains.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=+:@%,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn a_shell_reads_the_word_and_nothing_else() {
        for (word, shown) in [
            ("tests/vim.tape", "tests/vim.tape"),
            ("a b;touch x", "'a b;touch x'"),
            ("it's", r"'it'\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(word), shown);
        }
    }
}
