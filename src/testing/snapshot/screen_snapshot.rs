//! A screen as a text file that people read, compare with `git diff` and edit:
//!
//! ```text
//! # hopty 1 80x24 cursor=3,5 title="notes.txt"
//! one
//! Built in ..
//! ...
//! -- INSERT --
//! # styles
//! 4:1-12 bold "-- INSERT --"
//! ```
//!
//! Blanks at the ends of rows and blank rows at the end are left out. ` ..` at the end of a row means
//! anything that follows, a row `...` any number of rows; a person writes them, and hopty puts a
//! backslash before dots that are really on the screen. `cursor` and the part after `# styles` are there if
//! the tape asks for them. Hidden characters are written as `\u{202e}`.

use std::fmt;

use thiserror::Error;

use super::style_span::SnapshotStyle;
use crate::core::text::visible::visible;
use crate::screen::SIDE_MAX;
use crate::testing::outcome::ScreenCopy;

/// The longest file in bytes.
pub const SNAPSHOT_BYTES_MAX: u64 = 8 * 1024 * 1024;
const VERSION: &str = "1";
const STYLES: &str = "# styles";

/// Which parts of a screen are kept besides size, title and rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotParts {
    /// Where the cursor is (`+Cursor`).
    pub cursor: bool,
    /// Colours and attributes (`+Style`).
    pub styles: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotCursor {
    /// At this row and column, from 1.
    At(u16, u16),
    /// Hidden, or outside of the region.
    Hidden,
}

impl fmt::Display for SnapshotCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotCursor::At(row, col) => write!(f, "{row},{col}"),
            SnapshotCursor::Hidden => f.write_str("hidden"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotRow {
    Text(String),
    /// This text and anything after it.
    Prefix(String),
    /// Any number of rows, including none.
    AnyRows,
}

/// The content of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenSnapshot {
    pub size: (u16, u16),
    /// The cursor; `None` if it is not compared.
    pub cursor: Option<SnapshotCursor>,
    /// The window title; `None` if the file accepts any (`title=..`).
    pub title: Option<String>,
    /// The rows, without blank ones at the end.
    pub rows: Vec<SnapshotRow>,
    /// The styles; `None` if they are not compared.
    pub styles: Option<Vec<SnapshotStyle>>,
}

/// Why a file is not a snapshot.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {message}")]
pub struct SnapshotTextError {
    /// The line, from 1.
    pub line: usize,
    pub message: String,
}

impl ScreenSnapshot {
    /// The snapshot of a screen, which must be redacted.
    pub fn of(screen: &ScreenCopy, parts: SnapshotParts) -> ScreenSnapshot {
        let mut rows: Vec<SnapshotRow> =
            screen.text_rows().iter().map(|row| SnapshotRow::Text(visible(row))).collect();
        rows.truncate(rows.iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1));
        let cursor = screen.cursor.map_or(SnapshotCursor::Hidden, |(row, col)| SnapshotCursor::At(row, col));
        let spans =
            || (1..).zip(&screen.lines).flat_map(|(row, runs)| SnapshotStyle::of_row(row, runs)).collect();
        ScreenSnapshot {
            size: (screen.cols, screen.rows),
            cursor: parts.cursor.then_some(cursor),
            title: Some(visible(&screen.title)),
            rows,
            styles: parts.styles.then(spans),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Which line is wrong, and what is expected there.
    pub fn parse(text: &str) -> Result<ScreenSnapshot, SnapshotTextError> {
        let bad = |line, message: &str| SnapshotTextError { line, message: message.to_owned() };
        let mut lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches([' ', '\r'])).collect();
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        let head = lines.first().copied().unwrap_or_default();
        let mut snapshot = head_of(head).map_err(|message| bad(1, &message))?;
        let mut body = &lines[lines.len().min(1)..];
        if snapshot.styles.is_some() {
            let at = body.iter().rposition(|line| *line == STYLES);
            let at =
                at.ok_or_else(|| bad(lines.len(), "the header says styles, but there is no `# styles`"))?;
            let mut spans = Vec::new();
            for (number, line) in (at + 3..).zip(&body[at + 1..]) {
                spans
                    .push(SnapshotStyle::parse(line).ok_or_else(|| {
                        bad(number, "expected a style like `3:7-12 bold fg=red \"ERROR\"`")
                    })?);
            }
            snapshot.styles = Some(spans);
            body = &body[..at];
        }
        snapshot.rows = body.iter().map(|line| SnapshotRow::parse(line)).collect();
        snapshot
            .rows
            .truncate(snapshot.rows.iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1));
        if snapshot.rows.len() > usize::from(u16::MAX) {
            return Err(bad(usize::from(u16::MAX), "there are more rows than a screen has"));
        }
        Ok(snapshot)
    }

    /// Whether a person has written a wildcard into it.
    pub fn has_wildcards(&self) -> bool {
        self.title.is_none() || self.rows.iter().any(|row| !matches!(row, SnapshotRow::Text(_)))
    }
}

impl fmt::Display for ScreenSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "# hopty {VERSION} {}x{}", self.size.0, self.size.1)?;
        if let Some(cursor) = self.cursor {
            write!(f, " cursor={cursor}")?;
        }
        if self.styles.is_some() {
            f.write_str(" styles")?;
        }
        match self.title.as_deref() {
            None => f.write_str(" title=..")?,
            Some("") => {}
            Some(title) => write!(f, " title={}", serde_json::Value::from(title))?,
        }
        f.write_str("\n")?;
        for row in &self.rows {
            writeln!(f, "{row}")?;
        }
        if let Some(styles) = &self.styles {
            writeln!(f, "{STYLES}")?;
            for span in styles {
                writeln!(f, "{}", span.encode())?;
            }
        }
        Ok(())
    }
}

fn head_of(head: &str) -> Result<ScreenSnapshot, String> {
    let wrong = "expected a header like `# hopty 1 80x24`".to_owned();
    let rest = head.strip_prefix("# hopty ").ok_or(wrong.clone())?;
    let (rest, title) = match rest.split_once(" title=") {
        None => (rest, Some(String::new())),
        Some((rest, "..")) => (rest, None),
        Some((rest, title)) => {
            let title =
                serde_json::from_str(title).map_err(|_| "the title is not a quoted string".to_owned())?;
            (rest, Some(title))
        }
    };
    let mut words = rest.split(' ').filter(|word| !word.is_empty());
    let version = words.next().unwrap_or_default();
    if version != VERSION {
        return Err(format!("this is a snapshot of version {version}; this hopty reads version {VERSION}"));
    }
    let pair = |word: &str, by: char| {
        let (one, other) = word.split_once(by)?;
        Some((one.parse::<u16>().ok()?, other.parse::<u16>().ok()?))
    };
    let size = words.next().and_then(|word| pair(word, 'x')).ok_or(wrong)?;
    if size.0 == 0 || size.1 == 0 || size.0 > SIDE_MAX {
        return Err(format!("no screen is {}x{}", size.0, size.1));
    }
    let mut snapshot = ScreenSnapshot { size, cursor: None, title, rows: Vec::new(), styles: None };
    for word in words {
        match word.split_once('=') {
            None if word == "styles" => snapshot.styles = Some(Vec::new()),
            Some(("cursor", "hidden")) => snapshot.cursor = Some(SnapshotCursor::Hidden),
            Some(("cursor", place)) => {
                let (row, col) = pair(place, ',').ok_or("expected cursor=ROW,COLUMN or cursor=hidden")?;
                snapshot.cursor = Some(SnapshotCursor::At(row, col));
            }
            _ => return Err(format!("unknown word {word:?} in the header")),
        }
    }
    Ok(snapshot)
}

impl SnapshotRow {
    fn parse(line: &str) -> SnapshotRow {
        if line == "..." {
            return SnapshotRow::AnyRows;
        }
        match dots(line) {
            None => SnapshotRow::Text(line.to_owned()),
            Some((before, "", _)) => SnapshotRow::Prefix(before.to_owned()),
            Some((before, slashes, dots)) => SnapshotRow::Text(format!("{before}{}{dots}", &slashes[1..])),
        }
    }

    pub fn is_blank(&self) -> bool {
        matches!(self, SnapshotRow::Text(text) if text.is_empty())
    }

    /// Whether it matches a row of a screen.
    pub fn matches(&self, actual: &str) -> bool {
        match self {
            SnapshotRow::Text(text) => text == actual,
            SnapshotRow::Prefix(prefix) => {
                actual.starts_with(prefix) || actual == prefix.trim_end_matches(' ')
            }
            SnapshotRow::AnyRows => true,
        }
    }
}

/// The row as its line in the file.
impl fmt::Display for SnapshotRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotRow::AnyRows => f.write_str("..."),
            SnapshotRow::Prefix(prefix) => write!(f, "{prefix}.."),
            SnapshotRow::Text(text) => match dots(text) {
                Some((before, slashes, dots)) => write!(f, "{before}\\{slashes}{dots}"),
                None => f.write_str(text),
            },
        }
    }
}

/// Splits a line that ends in a wildcard, or would without the backslashes before its dots: the text before
/// them, the backslashes, the dots.
fn dots(line: &str) -> Option<(&str, &str, &str)> {
    let from = line.trim_end_matches('.').len();
    let count = line.len() - from;
    let before = line[..from].trim_end_matches('\\');
    let is_wildcard = match count {
        2 => before.is_empty() || before.ends_with(' '),
        3 => before.is_empty(),
        _ => false,
    };
    is_wildcard.then(|| (before, &line[before.len()..from], &line[from..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::screen::Screen;

    fn snapshot(bytes: &str, parts: SnapshotParts) -> ScreenSnapshot {
        let mut screen = Screen::new(30, 5);
        screen.feed(bytes.as_bytes());
        ScreenSnapshot::of(&ScreenCopy::of(&screen), parts)
    }

    #[test]
    fn a_screen_is_a_file_that_people_read() {
        let bytes = "\x1b]2;a \"t\"\x07one  \r\n\r\n  two \x1b[1;31mERR\x1b[m";
        let plain = snapshot(bytes, SnapshotParts::default());
        assert_eq!(plain.to_string(), "# hopty 1 30x5 title=\"a \\\"t\\\"\"\none\n\n  two ERR\n");
        let full = snapshot(bytes, SnapshotParts { cursor: true, styles: true });
        assert_eq!(
            full.to_string(),
            "# hopty 1 30x5 cursor=3,10 styles title=\"a \\\"t\\\"\"\none\n\n  two ERR\n# styles\n3:7-9 bold \
             fg=red \"ERR\"\n"
        );
        for snapshot in [plain, full, snapshot("", SnapshotParts { cursor: true, styles: true })] {
            assert_eq!(ScreenSnapshot::parse(&snapshot.to_string()), Ok(snapshot));
        }
        assert_eq!(
            snapshot("\x1b[?25l", SnapshotParts { cursor: true, styles: false }).to_string(),
            "# hopty 1 30x5 cursor=hidden\n"
        );
    }

    #[test]
    fn dots_that_a_screen_shows_are_no_wildcards() {
        for (shown, line) in [
            ("..", "\\.."),
            ("...", "\\..."),
            ("drwx 4096 ..", "drwx 4096 \\.."),
            ("x \\..", "x \\\\.."),
            ("Loading...", "Loading..."),
            ("a..", "a.."),
            ("x ...", "x ..."),
            ("....", "...."),
        ] {
            let written = snapshot(shown, SnapshotParts::default()).to_string();
            assert_eq!(written, format!("# hopty 1 30x5\n{line}\n"));
            let read = ScreenSnapshot::parse(&written).unwrap();
            assert_eq!(read.rows, [SnapshotRow::Text(shown.to_owned())]);
        }
        let read = ScreenSnapshot::parse("# hopty 1 30x5 title=..\nBuilt in ..\n...\n..\n").unwrap();
        let any = SnapshotRow::Prefix(String::new());
        assert_eq!(read.rows, [SnapshotRow::Prefix("Built in ".to_owned()), SnapshotRow::AnyRows, any]);
        assert!(read.has_wildcards() && read.title.is_none());
        assert!(read.rows[0].matches("Built in 3 s") && read.rows[0].matches("Built in"));
        assert!(!read.rows[0].matches("Built"));
    }

    #[test]
    fn a_file_that_is_none_says_which_line() {
        for (text, line, part) in [
            ("", 1, "expected a header"),
            ("one\n", 1, "expected a header"),
            ("# hopty 2 80x24\n", 1, "version 2"),
            ("# hopty 1 0x24\n", 1, "no screen is 0x24"),
            ("# hopty 1 80x24 cursor=a\n", 1, "cursor=ROW,COLUMN"),
            ("# hopty 1 80x24 shape=bar\n", 1, "unknown word \"shape=bar\""),
            ("# hopty 1 80x24 title=x\n", 1, "title is not a quoted string"),
            ("# hopty 1 80x24 styles\nx\n", 2, "there is no `# styles`"),
            ("# hopty 1 80x24 styles\nx\n# styles\nbold\n", 4, "expected a style"),
        ] {
            let error = ScreenSnapshot::parse(text).unwrap_err();
            assert!(error.line == line && error.message.contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_screen_that_looks_like_a_snapshot_comes_back() {
        let bytes = "# styles\r\n3:1 bold \"x\"\r\n# hopty 1 80x24\r\n\x1b[1m# styles\x1b[m";
        let snapshot = snapshot(bytes, SnapshotParts { cursor: false, styles: true });
        assert_eq!(ScreenSnapshot::parse(&snapshot.to_string()), Ok(snapshot));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn any_screen_comes_back(text in "[ab.\\\\ #\u{202e}漢\"\r\n\x1b\\[1m]{0,60}", cursor: bool,
            styles: bool) {
            let snapshot = snapshot(&text, SnapshotParts { cursor, styles });
            prop_assert_eq!(ScreenSnapshot::parse(&snapshot.to_string()), Ok(snapshot));
        }

        #[test]
        fn any_file_is_read_or_refused(text in "(# hopty 1 80x24( styles)?\n)?[ -~\n]{0,80}") {
            let _ = ScreenSnapshot::parse(&text);
        }
    }
}
