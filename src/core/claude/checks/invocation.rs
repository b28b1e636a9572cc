//! The runners that a command line starts, what part of their output is visible, and whether the line's exit
//! status is theirs.

use super::runners::{RUNNERS, Runner, Subs};
use super::shell::{Join, Pipeline, PipelineStage, parse};

/// The longest command that is read, in bytes: of a longer one the end is missing, and with it a pipe.
pub(super) const COMMAND_CAP: usize = 4096;
/// A longer command, in bytes, may have been cut, and its end does more than look.
const LOOK_CAP: usize = 1024;
/// How many runners of one command are told apart.
const RUNS: usize = 8;
/// Programs that run the program in their arguments.
const WRAPPERS: &[&str] = &[
    "sudo", "time", "npx", "bunx", "env", "timeout", "nice", "nohup", "exec", "poetry", "pipenv", "uv",
    "uvx", "bundle", "stdbuf", "xvfb-run", "xargs", "cross-env", "dotenv", "rtk",
];
/// Options that take the next word as their value, before a program's own command.
const VALUED: &[&str] = &[
    "--manifest-path", "--prefix", "--filter", "-F", "--cwd", "--dir", "--directory", "-C", "-f", "--file",
    "--project", "--config", "-Z", "-w", "-p", "--project-dir", "--color",
];

/// A runner that a command starts, once or several times.
#[derive(Clone, Debug)]
pub(super) struct RunnerCall {
    pub(super) runner: &'static Runner,
    /// Its short name: `cargo test`.
    pub(super) tool: String,
    /// Whether it may run more than once.
    pub(super) repeated: bool,
    /// Whether exit status 0 of the whole command says that it ended with 0.
    pub(super) success_is_its_own: bool,
    /// Whether another exit status of the whole command says that it failed.
    pub(super) failure_is_its_own: bool,
    /// Whether it goes on after a failure and what it says of it at the end is thrown away.
    pub(super) goes_on_after_failure: bool,
    /// What its output goes through.
    pub(super) filters: Vec<Filter>,
}

/// What part of a runner's output reaches the tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// Its first lines, at most so many.
    First(usize),
    /// Its last lines.
    Last(usize),
    /// Lines of a certain kind.
    Matching {
        /// Whether lines of failures are left out.
        passes_only: bool,
    },
    /// Text of another program as well, that may look the same.
    Foreign,
}

/// The runners in a command, each once.
pub(super) fn invocations(command: &str) -> Vec<RunnerCall> {
    let pipelines = parse(command);
    let mut walk = Walk { masked: command.len() >= COMMAND_CAP, ..Walk::default() };
    walk.options(&pipelines);
    let masked = walk.masked;
    walk.list(&pipelines, StatusScope { success: !masked, failure: !masked }, &[]);
    walk.readers(&pipelines);
    walk.runs
}

/// Whether a command tests, builds or lints.
pub fn is_check(command: &str) -> bool {
    !invocations(command).is_empty()
}

/// Whether exit status 0 of a command says that no part of it failed. It does not where a pipe, `;`, a loop
/// or `|| true` discards the status of a part.
pub fn is_exit_status_its_own(command: &str) -> bool {
    let pipelines = parse(command);
    let mut walk = Walk { masked: command.len() >= COMMAND_CAP, ..Walk::default() };
    walk.options(&pipelines);
    !walk.masked && walk.passes_failure_on(&pipelines)
}

/// Whether a command changes nothing and only shows files or state: `rg`, `sed -n`, `git status`.
pub fn only_looks(command: &str) -> bool {
    let (mut looks, mut changes) = (false, false);
    programs(&parse(command), &mut |words, files, _| {
        looks |= shows(words);
        let is_harmless = shows(words) || matches!(name(words), "cd" | "echo" | "true");
        changes |= !is_harmless || files.iter().any(|file| file != "/dev/null");
    });
    looks && !changes && command.len() < LOOK_CAP
}

/// Whether a program only shows what is there. What counts or compares says something.
fn shows(words: &[String]) -> bool {
    let has = |flag: fn(&str) -> bool| words[1..].iter().any(|word| flag(word));
    match name(words) {
        "ls" | "cat" | "bat" | "head" | "tail" | "less" | "tree" | "nl" | "pwd" | "which" => true,
        "rg" | "grep" | "egrep" | "fgrep" | "ag" => !has(|word| matches!(word, "-c" | "--count" | "-L")),
        "sed" => has(|word| word == "-n") && !has(|word| word.starts_with("-i")),
        "find" => !has(|word| word.starts_with("-exec") || word.starts_with("-ok") || word == "-delete"),
        "git" => {
            matches!(words.get(1).map(String::as_str), Some("status" | "diff" | "log" | "show" | "blame"))
        }
        _ => false,
    }
}

/// What `echo` and its like print, as far as the command shows it.
pub(super) fn echoes(command: &str) -> Vec<String> {
    let mut all = Vec::new();
    programs(&parse(command), &mut |words, _, _| {
        if matches!(name(words), "echo" | "printf") {
            all.push(words[1..].join(" "));
        }
    });
    all
}

/// Calls `each` with the words and files of every program, and whether it is the first of its pipeline.
fn programs<'a>(list: &'a [Pipeline], each: &mut impl FnMut(&'a [String], &'a [String], bool)) {
    for pipeline in list {
        for (at, stage) in pipeline.stages.iter().enumerate() {
            match stage {
                PipelineStage::Program { words, files } => each(words, files, at == 0),
                PipelineStage::Group(list) => programs(list, each),
            }
        }
    }
}

/// Whether the exit status of the whole command tells of a part of it.
#[derive(Clone, Copy)]
struct StatusScope {
    success: bool,
    failure: bool,
}

#[derive(Default)]
struct Walk {
    runs: Vec<RunnerCall>,
    /// Files that the output of a runner goes to.
    files: Vec<String>,
    masked: bool,
    loops: bool,
    errexit: bool,
    pipefail: bool,
}

impl Walk {
    /// What holds for the whole line: options of the shell, and compound commands, whose exit status nobody
    /// follows here.
    fn options(&mut self, list: &[Pipeline]) {
        programs(list, &mut |words, _, _| match name(words) {
            "set" => {
                let short = |word: &&String| word.starts_with('-') && !word.starts_with("--");
                self.errexit |= words.iter().filter(short).any(|word| word.contains('e'));
                self.pipefail |= words.iter().any(|word| word == "pipefail");
            }
            "for" | "while" | "until" => {
                self.masked = true;
                self.loops = true;
            }
            "if" | "case" | "!" => self.masked = true,
            "xargs" | "find" => self.loops = true,
            _ => {}
        });
    }

    /// Whether a failure in the list is one of the whole list.
    fn passes_failure_on(&self, list: &[Pipeline]) -> bool {
        list.iter().enumerate().all(|(at, pipeline)| {
            let is_last = at + 1 == list.len();
            let behind = |next: &Pipeline| match next.join {
                Join::And => true,
                Join::Or => fails(next),
                Join::Then => self.errexit || is_preparation(pipeline),
            };
            let last = pipeline.stages.len().saturating_sub(1);
            let piped = |at: usize, stage: &PipelineStage| match stage {
                PipelineStage::Group(list) => (at == last || self.pipefail) && self.passes_failure_on(list),
                PipelineStage::Program { words, .. } => {
                    at == last || self.pipefail || matches!(name(words), "echo" | "printf" | "cat" | "yes")
                }
            };
            !pipeline.background
                && (is_last || list[at + 1..].iter().all(behind))
                && pipeline.stages.iter().enumerate().all(|(at, stage)| piped(at, stage))
        })
    }

    fn list(&mut self, list: &[Pipeline], around: StatusScope, filters: &[Filter]) {
        for (at, pipeline) in list.iter().enumerate() {
            let mut status = around;
            if pipeline.background {
                status = StatusScope { success: false, failure: false };
            }
            // Where the one before it succeeded, it did not run.
            status.success &= pipeline.join != Join::Or;
            for next in &list[at + 1..] {
                match next.join {
                    Join::And => status.failure &= is_harmless(next),
                    Join::Or => status.success &= fails(next),
                    Join::Then if self.errexit => status.failure &= is_harmless(next),
                    Join::Then => status = StatusScope { success: false, failure: false },
                }
            }
            self.pipeline(pipeline, status, filters);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, status: StatusScope, around: &[Filter]) {
        for (at, stage) in pipeline.stages.iter().enumerate() {
            let later = &pipeline.stages[at + 1..];
            let handed_on = later.is_empty() || self.pipefail && later.iter().all(reads_to_the_end);
            let status = if handed_on { status } else { StatusScope { success: false, failure: false } };
            let mut filters: Vec<Filter> = later.iter().filter_map(filter_of).collect();
            filters.extend_from_slice(around);
            match stage {
                PipelineStage::Group(list) => self.list(list, status, &filters),
                PipelineStage::Program { words, files } => {
                    if let Some((runner, tool)) = find(words) {
                        self.files.extend(files.iter().filter(|file| *file != "/dev/null").cloned());
                        for stage in later {
                            if let PipelineStage::Program { words, .. } = stage
                                && name(words) == "tee"
                            {
                                self.files.extend(words[1..].iter().cloned());
                            }
                        }
                        let goes_on = words.iter().any(|word| word == "--no-fail-fast")
                            && files.iter().any(|file| file == "/dev/null");
                        self.note(runner, tool, status, filters, goes_on);
                    }
                }
            }
        }
    }

    fn note(
        &mut self,
        runner: &'static Runner,
        tool: String,
        status: StatusScope,
        filters: Vec<Filter>,
        goes_on: bool,
    ) {
        if let Some(known) = self.runs.iter_mut().find(|run| std::ptr::eq(run.runner, runner)) {
            known.repeated = true;
            known.success_is_its_own &= status.success;
            known.failure_is_its_own |= status.failure;
            known.goes_on_after_failure |= goes_on;
            known.filters.extend(filters);
        } else if self.runs.len() < RUNS {
            self.runs.push(RunnerCall {
                runner,
                tool,
                repeated: self.loops,
                success_is_its_own: status.success,
                failure_is_its_own: status.failure,
                goes_on_after_failure: goes_on,
                filters,
            });
        }
    }

    /// Programs that print files: one that a runner wrote shows a part of its output, and another may hold
    /// anything.
    fn readers(&mut self, list: &[Pipeline]) {
        let mut read = Vec::new();
        programs(list, &mut |words, _, first| {
            let reads = matches!(
                name(words),
                "cat" | "tail" | "head" | "less" | "more" | "bat" | "grep" | "rg" | "sed" | "awk"
            );
            if reads && words.iter().any(|word| self.files.contains(word)) {
                read.extend(filter_of_words(words));
            } else if first && (reads && words[1..].iter().any(|word| is_log(word)) || prints_logs(words)) {
                read.push(Filter::Foreign);
            }
        });
        for run in &mut self.runs {
            run.filters.extend_from_slice(&read);
        }
    }
}

/// The program's name without its folder.
fn name(words: &[String]) -> &str {
    words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
}

fn is_log(word: &str) -> bool {
    !word.starts_with('-') && [".log", ".txt", ".out", "/tmp/", "log"].iter().any(|part| word.contains(part))
}

fn prints_logs(words: &[String]) -> bool {
    match name(words) {
        "journalctl" | "curl" => true,
        "docker" | "kubectl" => words.iter().any(|word| word == "logs"),
        "gh" => words.iter().any(|word| word == "run"),
        "git" => words.iter().any(|word| matches!(word.as_str(), "log" | "show" | "diff")),
        _ => false,
    }
}

/// Whether it cannot fail, as far as anybody minds.
fn is_harmless(pipeline: &Pipeline) -> bool {
    matches!(pipeline.stages.as_slice(), [PipelineStage::Program { words, .. }] if matches!(name(words),
        "echo" | "printf" | "true" | ":"))
}

/// Whether nobody would take its end for that of the command: `cd`, `export`, and what cannot fail.
fn is_preparation(pipeline: &Pipeline) -> bool {
    is_harmless(pipeline)
        || matches!(pipeline.stages.as_slice(), [PipelineStage::Program { words, .. }] if words.iter().all(|word| word.contains('='))
            || matches!(name(words), "cd" | "export" | "set" | "source" | "." | "unset" | "umask" | "ulimit" | "shopt" | "pushd"))
}

/// Whether it ends with a failure: `|| exit 1`.
fn fails(pipeline: &Pipeline) -> bool {
    match pipeline.stages.as_slice() {
        [PipelineStage::Program { words, .. }] => {
            name(words) == "false"
                || matches!(name(words), "exit" | "return") && words.get(1).is_some_and(|code| code != "0")
        }
        [PipelineStage::Group(list)] => list.last().is_some_and(fails),
        _ => false,
    }
}

fn reads_to_the_end(stage: &PipelineStage) -> bool {
    matches!(stage, PipelineStage::Program { words, .. } if matches!(name(words),
        "tail" | "cat" | "tee" | "sed" | "tr" | "ts"))
}

fn filter_of(stage: &PipelineStage) -> Option<Filter> {
    match stage {
        PipelineStage::Program { words, .. } => filter_of_words(words),
        PipelineStage::Group(_) => None,
    }
}

fn filter_of_words(words: &[String]) -> Option<Filter> {
    let args = words.get(1..).unwrap_or_default();
    match name(words) {
        "head" => Some(Filter::First(line_count(args))),
        "tail" => Some(Filter::Last(line_count(args))),
        "sed" if args.iter().any(|word| word == "-n") => Some(Filter::First(1)),
        "grep" | "egrep" | "rg" | "awk" => {
            let has = |wanted: &str| {
                let is_wanted = |part: &str| part.eq_ignore_ascii_case(wanted);
                args.iter().any(|word| word.split(|c: char| !c.is_ascii_alphanumeric()).any(is_wanted))
            };
            let fails = ["fail", "failed", "failures", "error", "errors"].iter().any(|word| has(word));
            Some(Filter::Matching { passes_only: has("ok") && !fails })
        }
        _ => None,
    }
}

/// How many lines `head` and `tail` print: `-5`, `-n 5`, `-n5`, `--lines=5`; 1 where it is said in another
/// way.
fn line_count(args: &[String]) -> usize {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let number = match arg.as_str() {
            "-n" | "--lines" => args.next().map(String::as_str),
            "-c" => return 1,
            arg => arg.strip_prefix("--lines=").or(arg.strip_prefix("-n")).or(arg.strip_prefix('-')),
        };
        if let Some(number) = number {
            return number.parse().unwrap_or(1);
        }
    }
    10
}

/// The runner that these words start, and its short name.
fn find(words: &[String]) -> Option<(&'static Runner, String)> {
    let mut words: Vec<&str> = words.iter().take(200).map(String::as_str).collect();
    let mut wrapped = false;
    // Behind a wrapper its options, their values and what it is to set are read over.
    loop {
        let first = *words.first()?;
        let base = first.rsplit('/').next().unwrap_or(first);
        let is_setting =
            first.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains(['/', ' ']));
        if WRAPPERS.contains(&base) {
            wrapped = true;
            words.remove(0);
        } else if is_setting
            || wrapped
                && (first == "run" || first == "exec" || first.starts_with(|c: char| c.is_ascii_digit()))
        {
            words.remove(0);
        } else if wrapped && first.starts_with('-') {
            words.remove(0);
            if words.len() > 1 && row_of(&words).is_none() && row_of(&words[1..]).is_some() {
                words.remove(0);
            }
        } else {
            return row_of(&words);
        }
    }
}

fn row_of(words: &[&str]) -> Option<(&'static Runner, String)> {
    let (first, mut args) = words.split_first()?;
    let mut program = first.rsplit('/').next().unwrap_or(first);
    let version = |c: char| c.is_ascii_digit() || c == '.';
    if matches!(program.trim_end_matches(version), "python" | "py" | "coverage") {
        let module = args
            .iter()
            .position(|word| *word == "-m")
            .and_then(|at| args.get(at..))
            .and_then(|rest| rest.get(1..));
        match module.and_then(|module| module.split_first()) {
            Some((module, rest)) => (program, args) = (module, rest),
            None => program = python_file(args)?,
        }
    }
    if args.iter().any(|word| matches!(*word, "--version" | "--help")) {
        return None;
    }
    let plain = plain_words(args);
    RUNNERS.iter().find_map(|row| {
        if !row.programs.contains(&program) || !row.needs.is_empty() && !args.contains(&row.needs) {
            return None;
        }
        let tool = match row.subs {
            Subs::Any => format!("{program} {}", row.needs).trim_end().to_owned(),
            Subs::Bare if plain.is_empty() => program.to_owned(),
            Subs::Bare => return None,
            Subs::First(subs) => format!("{program} {}", plain.first().filter(|word| subs.contains(*word))?),
            Subs::Among(subs) => {
                let installs = matches!(
                    plain.first(),
                    Some(&("install" | "i" | "add" | "ci" | "remove" | "exec" | "create"))
                ) && row.runs_others;
                let word = plain
                    .iter()
                    .take(8)
                    .find(|word| subs.iter().any(|sub| is_kind(word, sub)))
                    .filter(|_| !installs)?;
                format!("{program} {}", crate::core::text::safe_text::cut_bytes(word, 60))
            }
        };
        Some((row, tool))
    })
}

/// A test file or Django's `manage.py test`, whose output is unittest's.
fn python_file(args: &[&str]) -> Option<&'static str> {
    let plain = plain_words(args);
    let file = plain.first()?.rsplit('/').next()?;
    let is_test = file.starts_with("test_") && file.ends_with(".py") || file.ends_with("_test.py");
    (is_test || file == "manage.py" && plain.get(1) == Some(&"test")).then_some("unittest")
}

/// The words that are neither options nor their values; `run` says nothing.
fn plain_words<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let mut plain = Vec::new();
    let mut args = args.iter();
    while let Some(word) = args.next() {
        if VALUED.contains(word) {
            args.next();
        } else if *word == "--" {
            break;
        } else if !word.starts_with(['-', '+']) && !word.contains('=') {
            plain.push(*word);
        }
    }
    if plain.first() == Some(&"run") && plain.len() > 1 && plain[1] != "run" {
        plain.remove(0);
    }
    plain
}

/// Whether a script or a task is of this kind: `test`, `test:unit`, `:app:testDebug`, but not `testing`.
fn is_kind(word: &str, kind: &str) -> bool {
    let last = word.rsplit_once(':').map_or(word, |(_, last)| last);
    [word, last].into_iter().any(|word| {
        word.strip_prefix(kind)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '.' || c == '/'))
    })
}
