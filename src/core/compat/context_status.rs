//! `.context-status`: the context usage in the words of source document 001.

use crate::core::config::Levels;
use crate::core::context_level::{Fill, Level};

/// The file in Claude's directory.
pub const FILE: &str = ".context-status";

/// The file's line, `STATUS:SIZE`.
pub fn context_status(fill: &Fill, levels: &Levels) -> String {
    let word = match fill.level(levels) {
        Level::Ok => "OK",
        Level::Ask => "EARLY_WARN",
        Level::Warn => "WARN",
        Level::Handoff | Level::Hard => "CRITICAL",
    };
    if fill.bytes >= 1 << 20 {
        format!("{word}:{:.1}MB", fill.bytes as f64 / f64::from(1 << 20))
    } else {
        format!("{word}:{}KB", fill.bytes / 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::Profile;

    fn line(kb: u64, profile: Profile) -> String {
        context_status(&Fill { bytes: kb * 1024, window: 200_000, ..Fill::default() }, &profile.levels())
    }

    #[test]
    fn item_021_the_words_are_those_of_the_source_documents_at_their_sizes() {
        for (kb, text) in [
            (0, "OK:0KB"),
            (1299, "OK:1.3MB"),
            (1300, "EARLY_WARN:1.3MB"),
            (1500, "WARN:1.5MB"),
            (1700, "CRITICAL:1.7MB"),
        ] {
            assert_eq!(line(kb, Profile::S0), text);
        }
        for (mb, word) in [(3, "OK"), (4, "EARLY_WARN"), (6, "WARN"), (8, "CRITICAL")] {
            assert_eq!(line(mb * 1024, Profile::S1), format!("{word}:{mb}.0MB"));
        }
        for (kb, text) in [(4, "OK:4KB"), (5, "EARLY_WARN:5KB"), (10, "WARN:10KB"), (15, "CRITICAL:15KB")] {
            assert_eq!(line(kb, Profile::Test), text);
        }
    }

    #[test]
    fn item_050_sizes_are_rounded_as_awk_rounds_them() {
        let of = |bytes: u64| context_status(&Fill { bytes, ..Fill::default() }, &Levels::default());
        for (bytes, size) in [
            (1023, "0KB"),
            (1024, "1KB"),
            (1_048_575, "1023KB"),
            (1_048_576, "1.0MB"),
            (4_404_019, "4.2MB"),
            (9 << 30, "9216.0MB"),
        ] {
            assert_eq!(of(bytes), format!("OK:{size}"), "{bytes}");
        }
    }
}
