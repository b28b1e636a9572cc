//! Quotes words for a shell.

/// A word in a form that a shell reads unchanged.
pub fn shell_word(word: &str) -> String {
    // Only ASCII is added.
    String::from_utf8_lossy(&shell_bytes(word.as_bytes())).into_owned()
}

/// The same for a word that may not be UTF-8, such as a path.
pub fn shell_bytes(word: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-=+:@%,".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        return word.to_owned();
    }
    let parts: Vec<&[u8]> = word.split(|byte| *byte == b'\'').collect();
    [b"'", parts.join(&br"'\''"[..]).as_slice(), b"'"].concat()
}

/// A command line in a form that a shell reads unchanged.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{shell_bytes, shell_line, shell_word};

    #[test]
    fn a_shell_reads_the_word_and_nothing_else() {
        for (word, shown) in [
            ("tests/vim.tape", "tests/vim.tape"),
            ("a b;touch x", "'a b;touch x'"),
            ("it's", r"'it'\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("/it's $(x)", r"'/it'\''s $(x)'"),
            ("漢", "'漢'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(word), shown);
        }
        assert_eq!(shell_bytes(b"/a\xff/b"), b"'/a\xff/b'");
        let words = ["claude", "--name", "Rocket science"].map(str::to_owned);
        assert_eq!(shell_line(&words), "claude --name 'Rocket science'");
    }
}
