//! The workspace of a test: its directories, and the variables of its programs and texts.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::step_failure::{StepFailure, StepResult};
use crate::core::tape::{Tape, TapeCommand, TapeHome, TapePattern, TapeText};
use crate::testing::isolation::{EnvironmentRules, TestDirs, TestHome};
use crate::testing::look::TextPattern;

pub(super) struct TestWorkspace {
    dirs: TestDirs,
    /// The directory of the tape's own file.
    tape_dir: PathBuf,
    rules: EnvironmentRules,
    /// The environment of its programs; empty until `set_environment`.
    env: Vec<(OsString, OsString)>,
}

impl TestWorkspace {
    /// Creates the directories for a tape. `passed`: variables of this process to pass on.
    pub fn create(tape_file: &Path, tape: &Tape, passed: &[String]) -> io::Result<Self> {
        let path = tape_file.canonicalize().unwrap_or_else(|_| tape_file.to_owned());
        let settings = tape.settings.clone();
        let rules = EnvironmentRules {
            term: settings.term,
            timezone: settings.timezone,
            locale: settings.locale,
            home: match settings.home {
                TapeHome::Fresh => TestHome::Fresh,
                TapeHome::Keep => TestHome::Keep,
            },
            passed: passed.to_owned(),
            set: Vec::new(),
        };
        let tape_dir = path.parent().map_or_else(|| ".".into(), Path::to_path_buf);
        Ok(TestWorkspace { dirs: TestDirs::create()?, tape_dir, rules, env: Vec::new() })
    }

    /// Sets the environment: from the header and every `Env`, wherever it is.
    pub fn set_environment(&mut self, tape: &Tape) -> StepResult {
        self.env = self.dirs.environment(&self.rules, &|name| std::env::var_os(name));
        for step in &tape.steps {
            if let TapeCommand::Env { name, value } = &step.command {
                let value = self.text(value).map_err(|failure| failure.at(&step.span))?;
                self.rules.set.push((name.clone(), value));
                self.env = self.dirs.environment(&self.rules, &|name| std::env::var_os(name));
            }
        }
        Ok(())
    }

    pub fn dirs(&self) -> &TestDirs {
        &self.dirs
    }

    pub fn tape_dir(&self) -> &Path {
        &self.tape_dir
    }

    pub fn env(&self) -> &[(OsString, OsString)] {
        &self.env
    }

    /// Keeps the directories and returns their path.
    pub fn keep(self) -> PathBuf {
        self.dirs.keep()
    }

    /// Whether the tape sets a variable itself.
    pub fn sets(&self, name: &str) -> bool {
        self.rules.set.iter().any(|(known, _)| known == name)
    }

    /// Whether the value of a variable comes from outside of the tape and so may be a secret.
    pub fn is_passed(&self, name: &str) -> bool {
        self.rules.passed.iter().any(|passed| passed == name)
    }

    /// A text with its variables resolved.
    pub fn text(&self, text: &TapeText) -> StepResult<String> {
        text.resolve(|name| self.variable(name)).map_err(|name| {
            let hint = if self.is_passed(&name) {
                format!("`--env {name}` passes yours, and your environment has none")
            } else {
                format!("set it with `Env {name} \"…\"`, or pass yours with `--env {name}`")
            };
            StepFailure::command(format!("there is no variable {name}")).hint(hint)
        })
    }

    /// A text for the report, with the names of the variables that were passed to the test.
    pub fn reported_text(&self, text: &TapeText) -> String {
        let shown = text.resolve(|name| match self.is_passed(name) {
            true => Some(format!("${{{name}}}")),
            false => self.variable(name),
        });
        format!("{:?}", shown.unwrap_or_default())
    }

    /// The words of a command line.
    pub fn words(&self, words: &[TapeText]) -> StepResult<Vec<OsString>> {
        words.iter().map(|word| Ok(self.text(word)?.into())).collect()
    }

    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "DIR" => return Some(self.dirs.dir().display().to_string()),
            "TAPE" => return Some(self.tape_dir.display().to_string()),
            _ => {}
        }
        let found = self.env.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.to_string_lossy().into_owned())
    }

    /// A pattern for the terminal. `lines`: `^` and `$` match at each row.
    pub fn pattern(&self, pattern: &TapePattern, lines: bool) -> StepResult<TextPattern> {
        match pattern {
            TapePattern::Text(text) => Ok(TextPattern::Text(self.text(text)?)),
            TapePattern::Regex(regex) => {
                regex.compile(lines).map(TextPattern::Regex).map_err(StepFailure::command)
            }
        }
    }

    /// A program from the test's `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let path = PathBuf::from(name);
            return path.is_file().then_some(path);
        }
        let path = self.env.iter().find(|(known, _)| known == "PATH").map(|(_, value)| value.clone());
        let path = path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| is_executable(path))
    }

    /// A path within the test's directory.
    pub fn inside(&self, path: &TapeText) -> StepResult<PathBuf> {
        let path = self.text(path)?;
        let relative = Path::new(&path);
        let base = [self.dirs.dir(), &self.dirs.home(), self.dirs.base()];
        if relative.is_absolute() && base.iter().any(|base| relative.starts_with(base)) {
            return Ok(relative.to_owned());
        }
        let is_inside =
            relative.is_relative() && !relative.components().any(|part| part == Component::ParentDir);
        if !is_inside {
            return Err(StepFailure::command(format!("{path} is not within the directory of the test")));
        }
        Ok(self.dirs.dir().join(relative))
    }

    /// Creates the directory for a file, which must not be outside of the test's own directory, even through
    /// a link.
    pub fn make_room(&self, target: &Path, failed: impl Fn(io::Error) -> Box<StepFailure>) -> StepResult {
        let Some(parent) = target.parent() else { return Ok(()) };
        fs::create_dir_all(parent).map_err(&failed)?;
        let is_inside = parent.canonicalize().map_err(&failed)?.starts_with(self.dirs.base());
        if is_inside && !target.is_symlink() {
            return Ok(());
        }
        Err(failed(io::Error::other("a symbolic link leads out of the directory of the test")))
    }
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tape::{TapeSpan, TapeStep};

    fn workspace(env: &[(&str, TapeText)]) -> StepResult<TestWorkspace> {
        let steps = env.iter().zip(1..).map(|((name, value), line)| TapeStep {
            command: TapeCommand::Env { name: (*name).to_owned(), value: value.clone() },
            span: TapeSpan { file: "t.tape".to_owned(), line, column: 1 },
            ignored: false,
        });
        let tape = Tape { steps: steps.collect(), ..Tape::default() };
        let passed = ["CARGO_MANIFEST_DIR".to_owned(), "NOT_SET".to_owned()];
        let mut workspace = TestWorkspace::create(Path::new("t.tape"), &tape, &passed).unwrap();
        workspace.set_environment(&tape)?;
        Ok(workspace)
    }

    #[test]
    fn a_variable_of_the_tape_may_use_those_before_it() {
        let two = [("ONE", TapeText::plain("1")), ("TWO", TapeText::of_variable("ONE"))];
        let workspace = workspace(&two).unwrap();
        assert_eq!(workspace.text(&TapeText::of_variable("TWO")).unwrap(), "1");
        assert!(workspace.sets("TWO") && !workspace.sets("HOME"));
        let turned = [("TWO", TapeText::of_variable("ONE")), ("ONE", TapeText::plain("1"))];
        let failure = self::workspace(&turned).err().unwrap();
        assert_eq!(failure.message, "there is no variable ONE");
        assert_eq!(failure.place.map(|place| place.line), Some(1));
    }

    #[test]
    fn a_missing_variable_tells_where_it_may_come_from() {
        let workspace = workspace(&[]).unwrap();
        let hint = |name| workspace.text(&TapeText::of_variable(name)).unwrap_err().hint.unwrap();
        assert!(hint("NOT_SET").contains("your environment has none"));
        assert!(hint("OTHER").starts_with("set it with `Env OTHER"));
    }

    #[test]
    fn a_report_names_a_variable_that_was_passed_and_shows_any_other() {
        let workspace = workspace(&[("ONE", TapeText::plain("1"))]).unwrap();
        let reported = |name| workspace.reported_text(&TapeText::of_variable(name));
        assert_eq!(reported("CARGO_MANIFEST_DIR"), "\"${CARGO_MANIFEST_DIR}\"");
        assert_eq!(reported("ONE"), "\"1\"");
    }

    #[test]
    fn a_path_stays_within_the_directories_of_the_test() {
        let workspace = workspace(&[]).unwrap();
        let inside = |path: &str| workspace.inside(&TapeText::plain(path)).ok();
        assert_eq!(inside("a/b"), Some(workspace.dirs().dir().join("a/b")));
        let home = workspace.dirs().home().join("x");
        assert_eq!(inside(&home.display().to_string()), Some(home));
        assert_eq!(inside("../a"), None);
        assert_eq!(inside("/etc/passwd"), None);
    }
}
