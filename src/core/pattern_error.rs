//! Errors in a person's regular expression, on one line.

/// The reason without the picture of the expression that `regex` draws above it.
pub fn pattern_error(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!("it needs more than {limit} bytes when compiled"),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line() {
        for (source, words) in
            [("a(", "unclosed group"), ("[z-a]", "invalid character class range, "), ("*", "repetition")]
        {
            let error = regex::Regex::new(source).unwrap_err();
            assert!(pattern_error(&error).starts_with(words), "{source}: {}", pattern_error(&error));
        }
        let large = regex::RegexBuilder::new("x{1000}").size_limit(100).build().unwrap_err();
        assert_eq!(pattern_error(&large), "it needs more than 100 bytes when compiled");
    }
}
