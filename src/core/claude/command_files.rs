//! Which files a command names: the program of a hook can be rewritten while the settings stay the same.
//!
//! A command is split roughly as a shell does, and every word that may be a path is returned; the file system
//! decides which of them are scripts. Not followed: what a script runs in its turn, bare names in `PATH`, and
//! variables except the few that Claude sets (`docs/HOOKS.md` lists the consequences).

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// How deep commands within commands are followed: `sh -c 'exec "$DIR/x"'`.
const DEPTH: usize = 3;
/// Extensions of files that an interpreter runs.
const ENDINGS: [&str; 18] = [
    "bash", "cjs", "cts", "fish", "js", "jsx", "ksh", "lua", "mjs", "mts", "php", "pl", "ps1", "py", "rb",
    "sh", "ts", "zsh",
];
/// The most words of one command, and directories that it may be in. With more, the result is
/// [`NamedFiles::More`].
const MAX_WORDS: usize = 8192;
const MAX_BASES: usize = 32;
/// Words that change the directory, so that another one counts as well.
const MOVES: [&str; 7] = ["cd", "pushd", "chdir", "-C", "--chdir", "--cwd", "--prefix"];

/// The directories that a command refers to by a variable, `~` or a relative path.
#[derive(Clone, Copy, Debug)]
pub struct CommandDirs<'a> {
    /// For relative paths and `$CLAUDE_PROJECT_DIR`.
    pub project: &'a Path,
    /// For `~` and `$HOME`.
    pub home: &'a Path,
    /// For `$CLAUDE_PLUGIN_ROOT`, in a command of a plugin.
    pub plugin: Option<&'a Path>,
}

/// A file, or files, that a word of a command may name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedFiles {
    File(PathBuf),
    /// Files of a directory, by a pattern or a variable.
    Files {
        dir: PathBuf,
        /// Their extension, if the word gives it.
        ending: Option<String>,
        /// How many directories below it they may be.
        depth: usize,
    },
    /// The command has more words or directories than are read.
    More,
}

/// The files that the words of a command may name, in order, each once. Files that are written (`> FILE`) are
/// left out.
pub fn named_files(command: &str, dirs: CommandDirs<'_>) -> Vec<NamedFiles> {
    let mut words = Vec::new();
    split(command, DEPTH, &mut words);
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut bases = vec![dirs.project.to_owned()];
    // The directories that the last `cd` may have led to; the next one starts there.
    let (mut inside, mut moves) = (0..1, false);
    for word in &words {
        if std::mem::take(&mut moves) {
            // `cd -P dir`
            moves = word.text.starts_with('-');
            let further = candidates(&word.text, dirs, &bases[inside.clone()]);
            if !moves && !further.is_empty() {
                inside = bases.len()..bases.len() + further.len();
                bases.extend(further);
            }
        }
        if bases.len() > MAX_BASES || words.len() > MAX_WORDS {
            return vec![NamedFiles::More];
        }
        moves |= MOVES.contains(&word.text.as_str());
        for candidate in candidates(&word.text, dirs, &bases) {
            let named = of(candidate, word.is_pattern);
            if seen.insert(named.clone()) {
                found.push(named);
            }
        }
    }
    found
}

/// Whether a file with this name, first bytes and permission bits is run by something.
pub fn is_script(path: &Path, begins: &[u8], mode: u32) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    mode & 0o111 != 0 || begins.starts_with(b"#!") || ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// The paths that a word may be: with known variables replaced, relative to each of `bases`, and the rest
/// behind an expansion that only a shell knows (`$(...)/`, `${...}/`).
fn candidates(word: &str, dirs: CommandDirs<'_>, bases: &[PathBuf]) -> Vec<PathBuf> {
    if word.is_empty() || word.contains('\0') {
        return Vec::new();
    }
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
    let below = |(name, dir): (&str, Option<&Path>)| {
        let rest = word.strip_prefix(name)?;
        let rest = if rest.is_empty() { "" } else { rest.strip_prefix('/')? };
        Some((dir?.join(rest), rest.to_owned()))
    };
    let (mut paths, unknown) = match variables.into_iter().find_map(below) {
        Some((path, rest)) => (vec![path], rest),
        // Here the path in `--flag=path` and `NAME=path` is already a separate word.
        None if word.starts_with('-') => (Vec::new(), word.to_owned()),
        None => (bases.iter().map(|base| base.join(word)).collect(), word.to_owned()),
    };
    let mut begins = 0;
    for (slash, _) in unknown.match_indices('/') {
        let rest = unknown[slash..].trim_start_matches('/');
        if unknown[begins..slash].contains(['$', ')', '}', '`']) && !rest.is_empty() {
            let bases = bases.iter().map(PathBuf::as_path).chain([dirs.home]).chain(dirs.plugin);
            paths.extend(bases.map(|base| base.join(rest)));
        }
        begins = slash + 1;
    }
    paths
}

/// A path, or the directory and extension of the files that it may match.
fn of(path: PathBuf, is_pattern: bool) -> NamedFiles {
    let is_wild = |name: &str| is_pattern && name.contains(['*', '?', '[', '{']);
    let is_unknown = |name: &str| name.contains(['$', '`']);
    let name = |component: &Component<'_>| component.as_os_str().to_str().unwrap_or_default().to_owned();
    let mut dir = PathBuf::new();
    let mut components = path.components().peekable();
    while let Some(component) = components.next_if(|of| !is_wild(&name(of)) && !is_unknown(&name(of))) {
        dir.push(component);
    }
    let Some(open) = components.next().map(|of| name(&of)) else { return NamedFiles::File(path) };
    let depth = components.count();
    let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ending = last.rsplit_once('.').map(|(_, ending)| ending);
    let ending = ending
        .filter(|ending| !ending.is_empty() && !is_wild(ending) && !is_unknown(ending))
        .map(str::to_owned);
    // A directory that only a shell knows may be any, and a bare `$FILE` any file: there is nothing to
    // compare.
    if !is_wild(&open) && (depth > 0 || open.starts_with(['$', '`']) && ending.is_none()) {
        return NamedFiles::File(path);
    }
    NamedFiles::Files { dir, ending, depth }
}

struct CommandWord {
    text: String,
    /// Whether the shell expands it to the files that it matches.
    is_pattern: bool,
}

#[derive(Default)]
struct UnfinishedWord {
    text: String,
    quoted: bool,
    wild: bool,
}

fn split(command: &str, depth: usize, words: &mut Vec<CommandWord>) {
    let (mut word, mut quote, mut written) = (UnfinishedWord::default(), None, false);
    // Open parentheses, and whether a `[[` is open, in which a word is a pattern for text and no file.
    let (mut open, mut test, mut before) = (0_usize, false, ' ');
    let mut chars = command.chars().chain(['\n']);
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => (quote, word.quoted) = (Some(c), true),
            (None | Some('"'), '\\') => word.text.extend(chars.next().filter(|c| *c != '\n')),
            (None, c) if c.is_whitespace() || "|&;()<>`=,".contains(c) => {
                // In a `case`, a `|` or an unmatched `)` ends the pattern.
                let of_case = c == '|' || c == ')' && open == 0;
                match c {
                    '(' => open += 1,
                    ')' => open = open.saturating_sub(1),
                    _ => {}
                }
                match word.text.as_str() {
                    "[[" => test = true,
                    "]]" => test = false,
                    _ => {}
                }
                let done = std::mem::take(&mut word);
                // The target of a `>` is written, not run: a log changes with every call.
                if !done.text.is_empty() && !std::mem::take(&mut written) {
                    let is_pattern = done.wild && !of_case && !test;
                    take(done, is_pattern, depth, words);
                }
                written |= c == '>';
            }
            (_, c) => {
                if c == '/' && word.text.is_empty() && matches!(before, ')' | '`') {
                    // Below the output of a command: `$(...)/x`.
                    word.text.push(')');
                }
                word.wild |= quote.is_none() && matches!(c, '*' | '?' | '[' | '{');
                word.text.push(c);
            }
        }
        before = c;
    }
    // The quotes do not match: take the text as it is.
    if quote.is_some() {
        word.text.truncate(word.text.trim_end().len());
        word.quoted = true;
        take(word, false, depth, words);
    }
}

fn take(word: UnfinishedWord, is_pattern: bool, depth: usize, words: &mut Vec<CommandWord>) {
    if word.quoted && depth > 1 && word.text.chars().any(char::is_whitespace) {
        split(&word.text, depth - 1, words);
    }
    if words.len() <= MAX_WORDS {
        words.push(CommandWord { text: word.text, is_pattern });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(command: &str) -> Vec<String> {
        let (project, home, plugin) = (Path::new("/p"), Path::new("/h"), Path::new("/g"));
        let shown = |named| match named {
            NamedFiles::File(path) => path.display().to_string(),
            NamedFiles::Files { dir, ending, depth } => {
                format!("{}/{}*.{}", dir.display(), "*/".repeat(depth), ending.as_deref().unwrap_or("*"))
            }
            NamedFiles::More => "more".to_owned(),
        };
        named_files(command, CommandDirs { project, home, plugin: Some(plugin) })
            .into_iter()
            .map(shown)
            .collect()
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
            ("a.sh>>log.txt 2>/dev/null b.sh", "/p/a.sh /p/2 /p/b.sh"),
            ("X=/opt/y cmd|$HOME/z", "/p/X /opt/y /p/cmd /h/z"),
            (r"/opt/a\ b.sh", "/opt/a b.sh"),
            ("'/opt/open", "/opt/open"),
        ] {
            assert_eq!(all(command).join(" "), expected, "{command}");
        }
    }

    /// An expansion that only a shell knows is tried in every possible meaning.
    #[test]
    fn a_file_behind_what_only_a_shell_can_tell_is_named() {
        for (command, expected) in [
            (r#"sh "$(git rev-parse --show-toplevel)/.claude/x.sh""#, "/p/.claude/x.sh"),
            ("sh $(git rev-parse --show-toplevel)/a/x.sh", "/p/a/x.sh"),
            ("sh `pwd`/a/x.sh", "/p/a/x.sh"),
            ("sh ${CLAUDE_PROJECT_DIR:-.}/a/x.sh", "/p/a/x.sh"),
            ("sh \"${DIR:-/opt}/x.sh\"", "/h/x.sh"),
            ("sh $HOME/$SUB/x.sh", "/h/x.sh"),
            ("cd a && sh ./x.sh", "/p/a/./x.sh"),
            ("cd -P -- /srv; exec ./go", "/srv/./go"),
            (r"sh -c 'cd /srv && exec ./go'", "/srv/./go"),
            ("cd \"$CLAUDE_PROJECT_DIR\" && cd a && b/x", "/p/a/b/x"),
            ("make -C tools x.sh", "/p/tools/x.sh"),
            ("for f in tools/*.sh; do sh $f; done", "/p/tools/*.sh"),
            ("run-parts tools/?[0-9]*", "/p/tools/*.*"),
            ("for f in hooks/*/run.py; do $f; done", "/p/hooks/*/*.py"),
            ("sh \"$CLAUDE_PROJECT_DIR\"/tools/$NAME.sh", "/p/tools/*.sh"),
            ("sh ~/tools/{a,b}.sh", "/h/tools/*.*"),
            ("eval \"$(cat tools/*.sh)\"", "/p/tools/*.sh"),
        ] {
            assert!(all(command).iter().any(|named| named == expected), "{command}: {:?}", all(command));
        }
    }

    /// Patterns for text name no files; otherwise every edit of Claude's would count.
    #[test]
    fn a_pattern_for_text_names_no_files() {
        for command in [
            "case $f in src/*.ts) npx prettier;; esac",
            "case $f in src/*.js|src/*.ts) npx prettier;; esac",
            "[[ $f == src/*.ts ]] && npx prettier $f",
            "grep -q 'src/.*ts' x",
            "jq -r .tool_input.file_path | xargs -I{} prettier \"$CLAUDE_PROJECT_DIR/$FILE\"",
        ] {
            let dirs = CommandDirs { project: Path::new("/p"), home: Path::new("/h"), plugin: None };
            let all = named_files(command, dirs);
            assert!(all.iter().all(|named| matches!(named, NamedFiles::File(_))), "{command}: {all:?}");
        }
    }

    #[test]
    fn no_word_is_too_many() {
        let command = "x ".repeat(500) + "sh last.sh";
        assert_eq!(all(&command).last().unwrap(), "/p/last.sh");
        for command in ["x ".repeat(9000), "cd x; ".repeat(40)] {
            assert_eq!(all(&command), ["more"], "nothing is left out without a word");
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
        fn any_text_ends(text in "[ a-z/$~{}*()'\"\\\\|>&;=\\n]{0,120}") {
            prop_assert!(all(&text).len() <= 121 * 100);
        }
    }
}
