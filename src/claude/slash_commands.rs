//! Claude's slash commands in hopty's plugin: the six of source document 004, `/handoff` and `/hopty`.
//!
//! On 2.1.197 to 2.1.332 (measured), a plugin's command is `/PLUGIN:NAME`; `name:` in its front matter
//! makes it `/NAME` too, unless the person, the project or Claude itself has a command of that name, which
//! takes precedence. With `disable-model-invocation` only a person can run it, and the model does not learn
//! of it.
//!
//! No text has `$ARGUMENTS` in a shell command, because Claude inserts the words unquoted. No text has it
//! anywhere, because 2.0.76 runs words that look like a shell command; that version does not get the
//! commands.

use crate::core::text::shell_word::shell_word;

/// The names and texts, with `{hopty}` for the quoted path of the binary.
const TEXTS: [(&str, &str); 8] = [
    ("discard-backup", include_str!("commands/discard-backup.md")),
    ("document-and-save", include_str!("commands/document-and-save.md")),
    ("document-and-save-to", include_str!("commands/document-and-save-to.md")),
    ("handoff", include_str!("commands/handoff.md")),
    ("hopty", include_str!("commands/hopty.md")),
    ("resume-from", include_str!("commands/resume-from.md")),
    ("resume-latest", include_str!("commands/resume-latest.md")),
    ("sessions-list", include_str!("commands/sessions-list.md")),
];

/// The command files and their texts for this binary, ordered by name. Empty if its path has a character
/// that is special in a front matter, a permission rule or a shell command.
pub fn files(binary: &str) -> Vec<(String, String)> {
    let plain = |c: char| c.is_alphanumeric() || "/._+-~ '".contains(c);
    if binary.is_empty() || !binary.chars().all(plain) {
        return Vec::new();
    }
    let quoted = shell_word(binary);
    TEXTS.iter().map(|(name, text)| (format!("{name}.md"), text.replace("{hopty}", &quoted))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_a_persons_alone_and_runs_only_what_it_may() {
        for (file, text) in files("/opt/it's here/hopty") {
            let name = file.strip_suffix(".md").unwrap();
            let front = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap().0;
            assert!(front.lines().any(|line| line == format!("name: {name}")), "{file}");
            assert!(front.contains("disable-model-invocation: true") && !text.contains("$"), "{file}");
            let run: Vec<&str> =
                text.split("!`").skip(1).map(|rest| rest.split('`').next().unwrap()).collect();
            assert_eq!(run.len(), 1, "{file}");
            assert!(run[0].starts_with(r"'/opt/it'\''s here/hopty' slash "), "{run:?}");
            assert!(
                front.contains(&format!("Bash({})", run[0])),
                "{file}: {run:?} is not allowed by {front}"
            );
        }
    }

    #[test]
    fn a_path_that_could_be_taken_for_more_gives_no_commands() {
        assert_eq!(files("/opt/hopty").len(), TEXTS.len());
        for path in ["", "/a`b", "/a$ARGUMENTS", "/a(b)", "/a,b", "/a\nb", "/a\"b", "/@a"] {
            assert!(files(path).is_empty(), "{path:?}");
        }
    }
}
