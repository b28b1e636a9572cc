//! Which files a command names: what a hook runs may be rewritten without a word of the settings changing.
//!
//! It splits a command roughly as a shell does and gives every word that may be a path; which of them are scripts, the file system
//! says. It does not follow what a script runs in its turn, nor find a bare name in `PATH`.

use std::path::{Path, PathBuf};

/// Words of one command that are looked at.
const MAX_WORDS: usize = 64;
/// How deep a command within a command is taken apart: `sh -c 'exec "$DIR/x"'`.
const DEPTH: usize = 3;
/// Endings of files that an interpreter runs.
const ENDINGS: [&str; 18] =
    ["bash", "cjs", "cts", "fish", "js", "jsx", "ksh", "lua", "mjs", "mts", "php", "pl", "ps1", "py", "rb", "sh", "ts", "zsh"];

/// What stands for a directory in a command.
#[derive(Clone, Copy, Debug)]
pub struct Dirs<'a> {
    /// Relative paths, and `$CLAUDE_PROJECT_DIR`.
    pub project: &'a Path,
    /// `~` and `$HOME`.
    pub home: &'a Path,
    /// `$CLAUDE_PLUGIN_ROOT`, where a plugin brings the command.
    pub plugin: Option<&'a Path>,
}

/// The paths that a command's words may be, in order, each once. What is written to (`> FILE`) is none.
#[must_use]
pub fn paths(command: &str, dirs: Dirs<'_>) -> Vec<PathBuf> {
    let mut words = Vec::new();
    split(command, DEPTH, &mut words);
    let mut paths = Vec::new();
    for path in words.iter().filter_map(|word| path(word, dirs)) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Whether a file of this name, with these first bytes and permission bits, is run by something.
#[must_use]
pub fn is_script(path: &Path, begins: &[u8], mode: u32) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    mode & 0o111 != 0 || begins.starts_with(b"#!") || ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

fn path(word: &str, dirs: Dirs<'_>) -> Option<PathBuf> {
    let variables = [
        ("$HOME", Some(dirs.home)),
        ("${HOME}", Some(dirs.home)),
        ("~", Some(dirs.home)),
        ("$CLAUDE_PROJECT_DIR", Some(dirs.project)),
        ("${CLAUDE_PROJECT_DIR}", Some(dirs.project)),
        ("$PWD", Some(dirs.project)),
        ("${PWD}", Some(dirs.project)),
        ("$CLAUDE_PLUGIN_ROOT", dirs.plugin),
        ("${CLAUDE_PLUGIN_ROOT}", dirs.plugin),
    ];
    let below = variables.into_iter().find_map(|(name, dir)| Some(dir?.join(word.strip_prefix(name)?.strip_prefix('/')?)));
    // Of `--flag=path` and `NAME=path` the path counts as well, which is a word of its own by then.
    let plain = (!word.is_empty() && !word.starts_with('-') && !word.contains('\0')).then(|| dirs.project.join(word));
    below.or(plain)
}

fn split(command: &str, depth: usize, words: &mut Vec<String>) {
    let (mut word, mut quote, mut quoted, mut written) = (String::new(), None, false, false);
    let mut chars = command.chars().chain(['\n']);
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => (quote, quoted) = (Some(c), true),
            (None | Some('"'), '\\') => word.extend(chars.next().filter(|c| *c != '\n')),
            (None, c) if c.is_whitespace() || "|&;()<>`=,".contains(c) => {
                // The file of a `>` is written to: a log changes with every call.
                if !word.is_empty() && !std::mem::take(&mut written) {
                    take(std::mem::take(&mut word), quoted, depth, words);
                }
                word.clear();
                quoted = false;
                written |= c == '>';
            }
            (_, c) => word.push(c),
        }
    }
    // Something is wrong with its quotes: what it may mean is what stands there.
    if quote.is_some() {
        take(word.trim_end().to_owned(), true, depth, words);
    }
}

fn take(word: String, quoted: bool, depth: usize, words: &mut Vec<String>) {
    if quoted && depth > 1 && word.chars().any(char::is_whitespace) {
        split(&word, depth - 1, words);
    }
    if words.len() < MAX_WORDS {
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(command: &str) -> Vec<String> {
        let (project, home, plugin) = (Path::new("/p"), Path::new("/h"), Path::new("/g"));
        let all = paths(command, Dirs { project, home, plugin: Some(plugin) });
        all.into_iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_command_names_its_files() {
        for (command, expected) in [
            ("./check.sh", "/p/./check.sh"),
            ("python3 hooks/a.py --all", "/p/python3 /p/hooks/a.py"),
            ("/opt/x/run", "/opt/x/run"),
            ("~/bin/x arg", "/h/bin/x /p/arg"),
            (r#""$CLAUDE_PROJECT_DIR"/.claude/hooks/x.sh"#, "/p/.claude/hooks/x.sh"),
            (r#""${CLAUDE_PROJECT_DIR}/a b.sh""#, "/p/a /p/b.sh /p/a b.sh"),
            ("node ${CLAUDE_PLUGIN_ROOT}/x.js", "/p/node /g/x.js"),
            (r"sh -c 'cd /srv && exec ./go'", "/p/sh /p/cd /srv /p/exec /p/./go /p/cd /srv && exec ./go"),
            ("a.sh>>log.txt 2>/dev/null b.sh", "/p/a.sh /p/2 /p/b.sh"),
            ("X=/opt/y cmd|$HOME/z", "/p/X /opt/y /p/cmd /h/z"),
            (r"/opt/a\ b.sh", "/opt/a b.sh"),
            ("'/opt/open", "/opt/open"),
        ] {
            assert_eq!(named(command).join(" "), expected, "{command}");
        }
    }

    #[test]
    fn a_script_is_known_by_its_ending_its_first_line_or_its_mode() {
        for (name, begins, mode, expected) in [
            ("a.py", "", 0o644, true),
            ("a", "#!/bin/sh\n", 0o644, true),
            ("a", "", 0o755, true),
            ("a.txt", "", 0o644, false),
            ("log.jsonl", "{}", 0o600, false),
        ] {
            assert_eq!(is_script(Path::new(name), begins.as_bytes(), mode), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_ends(text in "[ a-z/$~{}'\"\\\\|>&;=\\n]{0,120}") {
            prop_assert!(named(&text).len() <= MAX_WORDS + 1);
        }
    }
}
