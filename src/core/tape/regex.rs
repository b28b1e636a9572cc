//! Regular expressions as VHS understands them: the RE2 syntax of Go, run by `regex-lite`.

use std::fmt;

/// A regular expression of a tape, checked when the tape is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeRegex {
    source: String,
}

impl TapeRegex {
    /// A regular expression in Go's syntax.
    ///
    /// # Errors
    /// What Go or `regex-lite` cannot understand in it.
    pub fn parse(source: &str) -> Result<TapeRegex, String> {
        let regex = TapeRegex { source: source.to_owned() };
        regex.compile(false)?;
        Ok(regex)
    }

    /// `>$`, what VHS waits for unless told otherwise.
    pub(super) fn usual_prompt() -> TapeRegex {
        TapeRegex { source: ">$".to_owned() }
    }

    /// The regular expression as the tape has it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The program that matches. With `lines`, `^` and `$` are the edges of each line, else of the text.
    ///
    /// # Errors
    /// When it needs too much memory.
    pub fn compile(&self, lines: bool) -> Result<regex_lite::Regex, String> {
        let mut builder = regex_lite::RegexBuilder::new(&self.source);
        builder.multi_line(lines).build().map_err(|e| e.to_string())
    }
}

impl fmt::Display for TapeRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.source)
    }
}
