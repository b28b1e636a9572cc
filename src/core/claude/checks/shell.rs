//! Reads a shell's command line as far as the checks need it: which programs run, what reads their output,
//! and whose exit status is that of the line. Nothing is expanded, and unknown syntax is taken for words.

use std::iter::Peekable;
use std::str::Chars;

/// How deep groups and `bash -c` are followed.
const DEPTH: usize = 6;
/// The most tokens that are read of one line.
const TOKENS: usize = 2000;

/// How a pipeline is joined to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// Behind `;`, `&` or a line end, or the first.
    Then,
    /// Behind `&&`.
    And,
    /// Behind `||`.
    Or,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) join: Join,
    /// Whether it runs in the background (`&`).
    pub(super) background: bool,
    pub(super) stages: Vec<PipelineStage>,
}

/// One program, or a group in parentheses or braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PipelineStage {
    /// A program with its arguments, and the files that its output is redirected to.
    Program {
        words: Vec<String>,
        files: Vec<String>,
    },
    Group(Vec<Pipeline>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ShellToken {
    Word(String),
    File(String),
    Op(&'static str),
}

pub(super) fn parse(command: &str) -> Vec<Pipeline> {
    nested(command, 0)
}

fn nested(command: &str, depth: usize) -> Vec<Pipeline> {
    let tokens = tokens(command);
    list(&mut tokens.into_iter().peekable(), depth)
}

type Tokens = std::iter::Peekable<std::vec::IntoIter<ShellToken>>;

/// Reads pipelines up to the end of the group, including its closing character.
fn list(tokens: &mut Tokens, depth: usize) -> Vec<Pipeline> {
    let mut all: Vec<Pipeline> = Vec::new();
    let mut join = Join::Then;
    let mut stages: Vec<PipelineStage> = Vec::new();
    let (mut words, mut files) = (Vec::new(), Vec::new());
    loop {
        let token = tokens.next();
        match token {
            Some(ShellToken::Word(word)) if words.is_empty() && is_keyword(&word) => {
                let stages = vec![PipelineStage::Program { words: vec![word], files: Vec::new() }];
                let join = std::mem::replace(&mut join, Join::Then);
                all.push(Pipeline { join, background: false, stages });
                continue;
            }
            Some(ShellToken::Word(word)) if word == "{" && words.is_empty() && depth < DEPTH => {
                stages.push(PipelineStage::Group(list(tokens, depth + 1)));
                continue;
            }
            Some(ShellToken::Word(word)) if !(word == "}" && words.is_empty()) => {
                words.push(word);
                continue;
            }
            Some(ShellToken::File(file)) => {
                files.push(file);
                continue;
            }
            Some(ShellToken::Op("(")) if depth < DEPTH => {
                stages.push(PipelineStage::Group(list(tokens, depth + 1)));
                continue;
            }
            Some(ShellToken::Op("(")) => continue,
            _ => {}
        }
        if !words.is_empty() {
            stages.push(stage(std::mem::take(&mut words), std::mem::take(&mut files), depth));
        }
        if matches!(token, Some(ShellToken::Op("|"))) {
            continue;
        }
        if !stages.is_empty() {
            let background = matches!(token, Some(ShellToken::Op("&")));
            all.push(Pipeline { join, background, stages: std::mem::take(&mut stages) });
        }
        files.clear();
        join = match token {
            Some(ShellToken::Op("&&")) => Join::And,
            Some(ShellToken::Op("||")) => Join::Or,
            Some(ShellToken::Op(";")) if all.is_empty() => join,
            Some(ShellToken::Op("&" | ";")) => Join::Then,
            _ => return all,
        };
    }
}

/// The stage of these words: a group for `bash -c TEXT` and its like, else one program.
fn stage(words: Vec<String>, files: Vec<String>, depth: usize) -> PipelineStage {
    if depth < DEPTH
        && let Some(text) = script(&words)
    {
        return PipelineStage::Group(nested(&text, depth + 1));
    }
    let words = inside(&words).map(<[String]>::to_vec).unwrap_or(words);
    PipelineStage::Program { words, files }
}

/// The program that a command runs, without filters and redirections.
#[derive(Debug, PartialEq, Eq)]
struct CommandCore {
    /// The folder of a leading `cd`; empty if there is none.
    place: String,
    /// Words and operators, without pipes and everything behind them, and without redirections.
    programs: Vec<String>,
}

/// A command without filters, redirections and a leading `cd`.
fn core(command: &str) -> CommandCore {
    let (mut place, mut programs) = (String::new(), Vec::new());
    let mut is_filter = false;
    for token in tokens(command) {
        match token {
            ShellToken::File(_) => {}
            ShellToken::Op("|") => is_filter = true,
            ShellToken::Op(_) if place.is_empty() && matches!(&programs[..], [cd, _] if cd == "cd") => {
                place = programs.pop().unwrap_or_default();
                programs.clear();
            }
            ShellToken::Op(op) => {
                is_filter = false;
                programs.push(op.to_owned());
            }
            ShellToken::Word(word) if !is_filter => programs.push(word),
            ShellToken::Word(_) => {}
        }
    }
    while programs.last().is_some_and(|last| last == ";") {
        programs.pop();
    }
    CommandCore { place, programs }
}

/// Whether two commands run the same programs, whatever their output is piped through: `cargo test | tail -3`
/// and `cd svc && cargo test 2>&1 | grep FAILED`. Commands that name two different folders differ.
pub fn is_same_run(one: &str, other: &str) -> bool {
    let (one, other) = (core(one), core(other));
    let is_same_place = one.place.is_empty() || other.place.is_empty() || one.place == other.place;
    !one.programs.is_empty() && is_same_place && one.programs == other.programs
}

/// Whether a command leaves a process running that the shell does not wait for: behind a `&` without a
/// `wait`, here or on another host, or in a container that is started in the background.
pub fn leaves_running(command: &str) -> bool {
    leaves_running_at(command, 0)
}

fn leaves_running_at(command: &str, depth: usize) -> bool {
    let all = tokens(command);
    let mut programs = all.split(|token| matches!(token, ShellToken::Op(_)));
    let words = |part: &[ShellToken]| -> Vec<String> {
        let word = |token: &ShellToken| match token {
            ShellToken::Word(word) => Some(word.clone()),
            _ => None,
        };
        part.iter().filter_map(word).collect()
    };
    let waits = || all.split(|token| matches!(token, ShellToken::Op(_))).any(|part| words(part) == ["wait"]);
    // The text that `ssh HOST TEXT` and `bash -c TEXT` run.
    let inner = |words: &[String]| {
        depth < DEPTH && script(words).is_some_and(|text| leaves_running_at(&text, depth + 1))
    };
    let leaves = |words: Vec<String>| is_detached(&words) || inner(&words);
    all.contains(&ShellToken::Op("&")) && !waits() || programs.any(|part| leaves(words(part)))
}

/// `docker compose up -d`, `podman run --rm -dit NAME`.
fn is_detached(words: &[String]) -> bool {
    let Some(program) = words.first().map(|word| name_of(word)) else { return false };
    let starts = |word: &String| matches!(word.as_str(), "up" | "run");
    let is_short = |word: &str| {
        word.strip_prefix('-').is_some_and(|flags| {
            flags.contains('d') && flags.len() <= 3 && flags.bytes().all(|b| b.is_ascii_lowercase())
        })
    };
    matches!(program, "docker" | "podman" | "nerdctl" | "docker-compose")
        && words
            .iter()
            .position(starts)
            .is_some_and(|at| words[at..].iter().any(|word| is_short(word) || word == "--detach"))
}

/// Words that begin or divide a compound command. Each becomes a pipeline of its own, because a command
/// follows it.
fn is_keyword(word: &str) -> bool {
    matches!(word, "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" | "!")
}

/// The text of `bash -c TEXT` and of `ssh HOST TEXT`, also inside a container.
fn script(words: &[String]) -> Option<String> {
    let words = inside(words).unwrap_or(words);
    if name_of(words.first()?) == "ssh" {
        let host = behind_options(&words[1..], SSH_VALUED)?;
        return Some(host.get(1..)?.join(" ")).filter(|text| !text.is_empty());
    }
    let shell = words.first()?.rsplit('/').next()?;
    let at = words
        .iter()
        .take(4)
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    matches!(shell, "bash" | "sh" | "zsh" | "dash").then(|| words.get(at + 1).cloned())?
}

/// The command that runs in a container: `docker exec -it NAME COMMAND`, `docker compose run NAME COMMAND`,
/// `kubectl exec NAME -- COMMAND`.
fn inside(words: &[String]) -> Option<&[String]> {
    let program = name_of(words.first()?);
    if !matches!(program, "docker" | "podman" | "nerdctl" | "docker-compose" | "kubectl" | "oc") {
        return None;
    }
    let at = words.iter().take(12).position(|word| matches!(word.as_str(), "exec" | "run"))?;
    let words = &words[at + 1..];
    let command = match words.iter().take(24).position(|word| word == "--") {
        Some(end) => &words[end + 1..],
        None => behind_options(words, CONTAINER_VALUED)?.get(1..)?,
    };
    (!command.is_empty()).then_some(command)
}

/// Options of `ssh` that take a value.
const SSH_VALUED: &[&str] =
    &["-b", "-c", "-D", "-E", "-F", "-i", "-J", "-L", "-l", "-m", "-o", "-p", "-R", "-S", "-W", "-w"];
/// Options of `docker exec`, `docker run` and their like that take a value.
const CONTAINER_VALUED: &[&str] = &[
    "-e", "--env", "--env-file", "-w", "--workdir", "-u", "--user", "-v", "--volume", "-p", "--publish",
    "--name", "--network", "--net", "--entrypoint", "--platform", "-m", "--memory", "--cpus", "--mount",
    "-c", "-n", "--namespace", "--container", "-l", "--label", "--index", "--pull", "--gpus", "--shm-size",
];

/// The words behind the options.
fn behind_options<'a>(words: &'a [String], valued: &[&str]) -> Option<&'a [String]> {
    let mut at = 0;
    while words.get(at)?.starts_with('-') {
        at += if valued.contains(&words[at].as_str()) { 2 } else { 1 };
    }
    Some(&words[at..])
}

/// A program's name without its folder.
fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn tokens(command: &str) -> Vec<ShellToken> {
    let mut lexer = ShellLexer {
        chars: command.chars().peekable(),
        word: None,
        target: None,
        ends: Vec::new(),
        all: Vec::new(),
    };
    while lexer.all.len() < TOKENS
        && let Some(c) = lexer.chars.next()
    {
        lexer.take(c);
    }
    lexer.close();
    lexer.all
}

struct ShellLexer<'a> {
    chars: Peekable<Chars<'a>>,
    /// The unfinished word.
    word: Option<String>,
    /// The role of the next word if it is not part of the command: the target of a redirection, or the end of
    /// a here-document.
    target: Option<RedirectTarget>,
    /// The ends of the here-documents that follow this line.
    ends: Vec<String>,
    all: Vec<ShellToken>,
}

impl ShellLexer<'_> {
    fn take(&mut self, c: char) {
        match c {
            '\\' => match self.chars.next() {
                Some('\n') | None => {}
                Some(next) => self.word.get_or_insert_default().push(next),
            },
            '\'' => {
                let word = self.word.get_or_insert_default();
                word.extend(self.chars.by_ref().take_while(|c| *c != '\''));
            }
            '"' => self.quoted(),
            '$' if self.chars.peek() == Some(&'(') => self.substituted(),
            '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
            '>' | '<' => self.redirect(c),
            '&' if self.chars.peek() == Some(&'>') => self.close(),
            ';' | '&' | '|' | '(' | ')' | '\n' => self.operator(c),
            c if c.is_whitespace() => self.close(),
            c => self.word.get_or_insert_default().push(c),
        }
    }

    fn close(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.target.take() {
            Some(RedirectTarget::Output) => self.all.push(ShellToken::File(word)),
            Some(RedirectTarget::End) => self.ends.push(word),
            Some(RedirectTarget::Input) => {}
            None => self.all.push(ShellToken::Word(word)),
        }
    }

    fn quoted(&mut self) {
        let word = self.word.get_or_insert_default();
        while let Some(c) = self.chars.next() {
            match c {
                '"' => break,
                '\\' => word.extend(self.chars.next()),
                c => word.push(c),
            }
        }
    }

    /// Keeps `$(...)` as one word and does not look inside: it may run anything.
    fn substituted(&mut self) {
        let word = self.word.get_or_insert_default();
        word.push('$');
        let mut depth = 0u32;
        for c in self.chars.by_ref() {
            word.push(c);
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }

    fn redirect(&mut self, c: char) {
        let of_fd = self.word.as_ref().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()));
        if of_fd {
            self.word = None;
        }
        self.close();
        let chars = &mut self.chars;
        if c == '<' && chars.next_if_eq(&'<').is_some() {
            let here = chars.next_if_eq(&'<').is_none();
            chars.next_if_eq(&'-');
            self.target = Some(if here { RedirectTarget::End } else { RedirectTarget::Input });
        } else if c == '<' {
            self.target = Some(RedirectTarget::Input);
        } else {
            chars.next_if(|c| matches!(c, '>' | '|'));
            // `>&1` and `>&-` name no file.
            if chars.next_if_eq(&'&').is_some()
                && chars.peek().is_some_and(|c| c.is_ascii_digit() || *c == '-')
            {
                while chars.next_if(|c| c.is_ascii_digit() || *c == '-').is_some() {}
            } else {
                self.target = Some(RedirectTarget::Output);
            }
        }
    }

    fn operator(&mut self, c: char) {
        self.close();
        self.target = None;
        let twice = self.chars.next_if_eq(&c).is_some();
        self.all.push(ShellToken::Op(match (c, twice) {
            ('&', true) => "&&",
            ('&', false) => "&",
            ('|', true) => "||",
            ('|', false) => {
                self.chars.next_if_eq(&'&');
                "|"
            }
            ('(', _) => "(",
            (')', _) => ")",
            _ => ";",
        }));
        if c == '\n' {
            skip_texts(&mut self.chars, &mut self.ends);
        }
    }
}

#[derive(Clone, Copy)]
enum RedirectTarget {
    Output,
    Input,
    End,
}

/// Skips the here-documents of `<<END`, each up to the line that ends it.
fn skip_texts(chars: &mut Peekable<Chars<'_>>, ends: &mut Vec<String>) {
    for end in ends.drain(..) {
        while chars.peek().is_some() {
            let line: String = chars.by_ref().take_while(|c| *c != '\n').collect();
            if line.trim() == end {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line in one string: stages, joins and files.
    fn shape(command: &str) -> String {
        fn pipelines(list: &[Pipeline]) -> String {
            let one = |pipeline: &Pipeline| {
                let stage = |stage: &PipelineStage| match stage {
                    PipelineStage::Group(list) => format!("({})", pipelines(list)),
                    PipelineStage::Program { words, files } => {
                        files.iter().fold(words.join(" "), |text, file| format!("{text} >{file}"))
                    }
                };
                let join = match pipeline.join {
                    Join::Then => "",
                    Join::And => "&& ",
                    Join::Or => "|| ",
                };
                let stages: Vec<_> = pipeline.stages.iter().map(stage).collect();
                format!("{join}{}{}", stages.join(" | "), if pipeline.background { " &" } else { "" })
            };
            list.iter().map(one).collect::<Vec<_>>().join("; ")
        }
        pipelines(&parse(command))
    }

    #[test]
    fn the_core_of_a_command_has_no_filters() {
        let of = |command: &str| {
            let core = core(command);
            (core.place, core.programs.join(" "))
        };
        for (command, place, programs) in [
            ("cargo test -p lock 2>&1 | tail -20", "", "cargo test -p lock"),
            ("cd svc && cargo test -p lock 2>&1 | grep -E 'FAILED|ok' | head", "svc", "cargo test -p lock"),
            ("cargo test > out.txt; cargo fmt | cat", "", "cargo test ; cargo fmt"),
            ("echo 'a | b' && cd x", "", "echo a | b && cd x"),
            ("cd svc", "", "cd svc"),
            ("", "", ""),
        ] {
            assert_eq!(of(command), (place.to_owned(), programs.to_owned()), "{command}");
        }
    }

    #[test]
    fn commands_that_leave_a_process_running_are_recognized() {
        for command in [
            "nohup node mock/vendor.js --port 9443 > /tmp/vendor.log 2>&1 &",
            "(cd gw && ./run.sh > /tmp/gw.log 2>&1) & echo $!",
            "docker compose -f dev.yml up -d gateway",
            "podman run --rm -dit db",
            "cd x && docker-compose up --detach",
            "ssh -p 2222 gpu3 'cd /data && nohup python train.py > run7.log 2>&1 & echo $!'",
            "bash -c \"./serve &\"",
        ] {
            assert!(leaves_running(command), "{command}");
        }
        for command in [
            "make 2>&1 | tail", "a &> log", "a && b", "echo 'a & b' \\&", "a & b & wait",
            "docker compose up", "docker compose down -v", "cargo run -d", "git commit -m 'up -d'",
            "ssh gpu3 'cat a && cat b'", "ssh gpu3 'a & wait'",
        ] {
            assert!(!leaves_running(command), "{command}");
        }
    }

    #[test]
    fn a_line_is_read_as_the_shell_would() {
        for (command, wanted) in [
            ("a b", "a b"),
            ("a 2>&1 | tail -5", "a | tail -5"),
            ("a |& tee x", "a | tee x"),
            ("cd x && a || true; echo done", "cd x; && a; || true; echo done"),
            ("a > out.txt 2>&1 & b", "a >out.txt &; b"),
            ("a &> 'my log'\nb", "a >my log; b"),
            ("(cd x && a) | tail", "(cd x; && a) | tail"),
            ("a && { b; c; } || d", "a; && (b; c); || d"),
            ("a 'x | y; z' \"p && \\\"q\\\"\"", "a x | y; z p && \"q\""),
            ("bash -lc 'a | b'", "(a | b)"),
            ("a \\\n  --b # c | d\n# e\nf", "a --b; f"),
            ("cat <<'EOF' | a\ncargo test\nEOF\nb", "cat | a; b"),
            ("if a; then b; else c; fi", "if; a; then; b; else; c; fi"),
            ("! a", "!; a"),
            ("echo $(a | b) c", "echo $(a | b) c"),
            ("", ""),
            ("'", ""),
            (")(", ""),
        ] {
            assert_eq!(shape(command), wanted, "{command}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(text in "[a-z'\"\\\\ |&;(){}<>$#\n-]{0,120}") {
            parse(&text);
        }
    }
}
