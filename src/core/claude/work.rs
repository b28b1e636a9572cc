//! What tools did in a conversation beyond writing files: what was verified, what still runs, and what was used last.
//!
//! A command counts as a check when its words are those of a test, a build or a linter; whether it passed is what Claude's
//! tool said. It is evidence that a command ended so, no proof that the work is right.

use super::memory::Last;
use super::transcript::{ResultDetail, ToolResult, ToolUse};

/// How many checks are kept.
pub const CHECK_CAP: usize = 20;
/// How many things that run are kept; the oldest is forgotten.
pub const RUNNING_CAP: usize = 64;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Without an error.
    Passed,
    /// With one.
    Failed,
}

/// A command that verified something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The command, at most 300 bytes.
    pub command: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// Something that goes on after its tool has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The id that Claude's tools name it by.
    pub id: String,
    /// What it is: the tool, and what it was called for.
    pub what: String,
    /// The file that its output goes to, where Claude says so.
    pub output: Option<String>,
}

/// What tools did.
#[derive(Clone, Debug, Default)]
pub struct Work {
    checks: Last<Check, CHECK_CAP>,
    running: Vec<Running>,
    last: Option<ToolUse>,
}

impl Work {
    /// The checks that ended, oldest first.
    pub fn checks(&self) -> impl DoubleEndedIterator<Item = &Check> {
        self.checks.iter()
    }

    /// What was started in the background and has not been told to have ended.
    #[must_use]
    pub fn running(&self) -> &[Running] {
        &self.running
    }

    /// The last tool that answered.
    #[must_use]
    pub fn last(&self) -> Option<&ToolUse> {
        self.last.as_ref()
    }

    /// A tool answered.
    pub(super) fn answered(&mut self, call: &ToolUse, result: &ToolResult, detail: Option<&ResultDetail>) {
        self.last = Some(call.clone());
        let started = detail.and_then(|detail| detail.running.clone()).or_else(|| background_id(call, result));
        if let Some(id) = started.filter(|_| !result.is_error) {
            self.running.retain(|running| running.id != id);
            if self.running.len() >= RUNNING_CAP {
                self.running.remove(0);
            }
            let about = call.input.about.clone().unwrap_or_default();
            let output = detail.and_then(|detail| detail.output.clone()).or_else(|| output_of(&result.text));
            self.running.push(Running { id, what: format!("{}: {about}", call.name), output });
            return;
        }
        match (call.name.as_str(), &call.input.command) {
            ("Bash", Some(command)) if is_check(command) => {
                let outcome = if result.is_error { Outcome::Failed } else { Outcome::Passed };
                self.checks.put(Check { command: command.clone(), outcome });
            }
            ("KillShell" | "KillBash" | "TaskStop", _) if !result.is_error => {
                // The id is in the input under names that changed; the answer repeats it.
                self.running.retain(|running| !result.text.contains(&running.id));
            }
            _ => {}
        }
    }

    /// Claude was told something in the person's place: an agent or a shell may have ended.
    pub(super) fn told(&mut self, text: &str) {
        let Some((_, rest)) = text.split_once("<task-id>").filter(|_| text.starts_with("<task-notification>")) else { return };
        if let Some((id, rest)) = rest.split_once("</task-id>") {
            let running = rest.contains("<status>running</status>");
            self.running.retain(|one| running || one.id != id.trim());
        }
    }
}

/// `Command running in background with ID: X.`, where there is no structured answer.
fn background_id(call: &ToolUse, result: &ToolResult) -> Option<String> {
    let (_, rest) = result.text.split_once("in background with ID: ").filter(|_| call.name == "Bash")?;
    let id: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(64).collect();
    (!id.is_empty()).then_some(id)
}

/// `Output is being written to: PATH`.
fn output_of(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("utput is being written to: ")?;
    let path = rest.lines().next().unwrap_or_default().trim().trim_end_matches('.');
    (!path.is_empty()).then(|| path.to_owned())
}

/// Whether a command tests, builds or lints.
#[must_use]
pub fn is_check(command: &str) -> bool {
    const WHOLE: [&str; 24] = [
        "pytest",
        "tox",
        "nox",
        "jest",
        "vitest",
        "mocha",
        "ava",
        "rspec",
        "phpunit",
        "ctest",
        "bats",
        "shellcheck",
        "eslint",
        "tsc",
        "mypy",
        "pyright",
        "ruff",
        "flake8",
        "pylint",
        "clippy-driver",
        "golangci-lint",
        "rubocop",
        "hadolint",
        "playwright",
    ];
    const PAIRS: [(&str, &[&str]); 16] = [
        ("cargo", &["test", "nextest", "clippy", "check", "build", "t", "b", "fmt"]),
        ("go", &["test", "vet", "build"]),
        ("npm", &["test", "t"]),
        ("pnpm", &["test"]),
        ("yarn", &["test", "lint", "build"]),
        ("bun", &["test"]),
        ("deno", &["test", "lint", "check"]),
        ("make", &["test", "check", "lint", "build", "all"]),
        ("just", &["test", "check", "lint", "build"]),
        ("mvn", &["test", "verify", "package"]),
        ("gradle", &["test", "check", "build"]),
        ("gradlew", &["test", "check", "build"]),
        ("dotnet", &["test", "build"]),
        ("swift", &["test", "build"]),
        ("zig", &["test", "build"]),
        ("python", &["unittest", "pytest"]),
    ];
    // Each part of a line of commands is looked at by its first words; what stands in quotes is no command.
    command.split(['\n', ';', '|', '&', '(']).take(64).any(|part| {
        let mut words = part.split_whitespace().skip_while(|word| {
            matches!(*word, "sudo" | "time" | "npx" | "env" | "timeout" | "nice" | "exec" | "poetry" | "uv" | "bundle")
                || word.contains('=')
                || word.starts_with(|c: char| c.is_ascii_digit())
        });
        let Some(first) = words.next() else { return false };
        let name = first.rsplit('/').next().unwrap_or(first);
        let mut rest = words.filter(|word| !word.starts_with(['-', '+']) && *word != "run").take(2);
        let name = name.strip_suffix('3').unwrap_or(name);
        if WHOLE.contains(&name) {
            return true;
        }
        let Some((_, subs)) = PAIRS.iter().find(|(known, _)| *known == name) else { return false };
        rest.any(|word| {
            subs.contains(&word) || ["test", "lint", "build", "check", "typecheck"].iter().any(|kind| word.starts_with(kind))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_told_from_other_commands() {
        for command in [
            "cargo test --lib foo",
            "cd x && cargo +nightly nextest run",
            "npm run test:unit",
            "npx tsc --noEmit",
            "RUST_LOG=debug timeout 60 cargo clippy -- -D warnings",
            "python3 -m pytest -q",
            "./gradlew check",
            "make -j4 test",
        ] {
            assert!(is_check(command), "{command}");
        }
        for command in ["ls tests", "cat test.rs", "git commit -m 'cargo test'", "npm install", "make install", "echo test", ""] {
            assert!(!is_check(command), "{command}");
        }
    }
}
