//! The reports of one run: their kinds, their files, and all of them at once.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use super::console::ConsoleReport;
use super::github::GitHubReport;
use super::json_lines::JsonLinesReport;
use super::junit::JUnitReport;
use super::markdown::MarkdownReport;
use super::tap::TapReport;
use crate::testing::outcome::TestSummary;
use crate::testing::redaction::RedactedOutcome;

/// Receives the outcomes of one `hopty test` while the tapes are played.
pub trait TestReport {
    /// Called before the first tape; `tapes` is the number of tapes to play.
    fn begin(&mut self, tapes: usize) -> io::Result<()>;

    /// Called after each tape.
    fn finished(&mut self, outcome: &RedactedOutcome) -> io::Result<()>;

    /// Called after the last tape, even if a person stopped the tests early.
    fn end(&mut self, summary: &TestSummary) -> io::Result<()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// For a person at a terminal or reading a log.
    Console,
    /// Test Anything Protocol, version 14.
    Tap,
    JUnit,
    /// Annotations and step summary of GitHub Actions.
    GitHub,
    /// One JSON object per line.
    Json,
    /// A page of Markdown.
    Markdown,
}

impl ReportKind {
    pub const ALL: [ReportKind; 6] = [
        ReportKind::Console,
        ReportKind::Tap,
        ReportKind::JUnit,
        ReportKind::GitHub,
        ReportKind::Json,
        ReportKind::Markdown,
    ];

    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            ReportKind::Console => "console",
            ReportKind::Tap => "tap",
            ReportKind::JUnit => "junit",
            ReportKind::GitHub => "github",
            ReportKind::Json => "json",
            ReportKind::Markdown => "markdown",
        }
    }

    /// A report of this kind that writes to `out`.
    ///
    /// # Errors
    /// When the summary file of GitHub Actions cannot be opened.
    pub fn open(self, out: Box<dyn Write>, options: &ReportOptions) -> io::Result<Box<dyn TestReport>> {
        Ok(match self {
            ReportKind::Console => Box::new(ConsoleReport::new(out, options)),
            ReportKind::Tap => Box::new(TapReport::new(out)),
            ReportKind::JUnit => Box::new(JUnitReport::new(out)),
            ReportKind::Json => Box::new(JsonLinesReport::new(out)),
            ReportKind::Markdown => Box::new(MarkdownReport::new(out)),
            ReportKind::GitHub => {
                let summary: Box<dyn Write> = match &options.github_summary {
                    Some(path) => Box::new(File::options().append(true).create(true).open(path)?),
                    None => Box::new(io::sink()),
                };
                Box::new(GitHubReport::new(out, summary, options))
            }
        })
    }
}

/// A requested report: `--report KIND[=FILE]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportTarget {
    pub kind: ReportKind,
    /// The file; `None`: standard output.
    pub file: Option<PathBuf>,
}

/// A word that names no report.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ReportTargetError {
    /// The kind is unknown.
    #[error("there is no report {0:?}\nhint: console, tap, junit, github, json or markdown")]
    Kind(String),
    /// `KIND=` without a file.
    #[error("--report {0}= names no file\nhint: leave the = out to print the report")]
    NoFile(&'static str),
}

impl FromStr for ReportTarget {
    type Err = ReportTargetError;

    fn from_str(text: &str) -> Result<ReportTarget, ReportTargetError> {
        let (word, file) = text.split_once('=').map_or((text, None), |(word, file)| (word, Some(file)));
        let kind = ReportKind::ALL.into_iter().find(|kind| kind.word() == word);
        let kind = kind.ok_or_else(|| ReportTargetError::Kind(word.to_owned()))?;
        if file == Some("") {
            return Err(ReportTargetError::NoFile(kind.word()));
        }
        Ok(ReportTarget { kind, file: file.map(PathBuf::from) })
    }
}

impl ReportTarget {
    /// Opens it, and creates the directories of its file.
    pub fn open(&self, options: &ReportOptions) -> io::Result<Box<dyn TestReport>> {
        let Some(path) = &self.file else { return self.kind.open(Box::new(io::stdout()), options) };
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            fs::create_dir_all(dir).map_err(named)?;
        }
        let plain = ReportOptions { colors: false, cols: None, ..options.clone() };
        self.kind.open(Box::new(BufWriter::new(File::create(path).map_err(named)?)), &plain)
    }
}

/// The environment of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportOptions {
    /// Whether to use colours.
    pub colors: bool,
    /// Columns of the terminal; longer rows of a screen are cut. `None` cuts nothing.
    pub cols: Option<usize>,
    /// Whether the output is a log of GitHub Actions, which interprets some lines.
    pub github: bool,
    /// The file that is shown as the job's summary.
    pub github_summary: Option<PathBuf>,
    /// The path from the repository's root to the working directory, for annotations; mostly empty.
    pub github_prefix: PathBuf,
    /// Whether a flaky tape is only a warning.
    pub allow_flaky: bool,
}

impl ReportOptions {
    /// From environment variables: `GITHUB_ACTIONS`, `GITHUB_STEP_SUMMARY`, `GITHUB_WORKSPACE`, and
    /// `NO_COLOR` and `TERM` if the output is a terminal; `dir` is the working directory.
    pub fn from_env(
        var: impl Fn(&str) -> Option<String>,
        dir: &Path,
        terminal_cols: Option<usize>,
    ) -> ReportOptions {
        let var = |name: &str| var(name).filter(|value| !value.is_empty());
        let github = var("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let is_dumb = var("TERM").is_none_or(|term| term == "dumb");
        let workspace = var("GITHUB_WORKSPACE").filter(|_| github).map(PathBuf::from);
        ReportOptions {
            colors: terminal_cols.is_some() && !is_dumb && var("NO_COLOR").is_none(),
            cols: terminal_cols.filter(|cols| *cols > 0),
            github,
            github_summary: var("GITHUB_STEP_SUMMARY").filter(|_| github).map(PathBuf::from),
            github_prefix: workspace
                .and_then(|root| dir.strip_prefix(root).map(Path::to_owned).ok())
                .unwrap_or_default(),
            allow_flaky: false,
        }
    }
}

/// Several reports at once.
pub struct ReportSet(Vec<Box<dyn TestReport>>);

impl ReportSet {
    /// Opens the requested reports. If none goes to standard output, one for people does; in GitHub Actions
    /// annotations are added.
    pub fn open(targets: &[ReportTarget], options: &ReportOptions) -> io::Result<ReportSet> {
        let mut all = targets.to_vec();
        let here = |kind| ReportTarget { kind, file: None };
        if targets.iter().all(|target| target.file.is_some()) {
            all.push(here(ReportKind::Console));
        }
        let prints_lines = |kind| matches!(kind, ReportKind::Console | ReportKind::GitHub);
        let is_mixable = all.iter().all(|target| target.file.is_some() || prints_lines(target.kind));
        if options.github && is_mixable && all.iter().all(|target| target.kind != ReportKind::GitHub) {
            all.push(here(ReportKind::GitHub));
        }
        Ok(ReportSet(all.iter().map(|target| target.open(options)).collect::<io::Result<_>>()?))
    }

    pub fn of(reports: Vec<Box<dyn TestReport>>) -> ReportSet {
        ReportSet(reports)
    }
}

/// Calls all of them, even if one cannot write; returns the first error.
impl TestReport for ReportSet {
    fn begin(&mut self, tapes: usize) -> io::Result<()> {
        self.0.iter_mut().map(|report| report.begin(tapes)).fold(Ok(()), Result::and)
    }

    fn finished(&mut self, outcome: &RedactedOutcome) -> io::Result<()> {
        self.0.iter_mut().map(|report| report.finished(outcome)).fold(Ok(()), Result::and)
    }

    fn end(&mut self, summary: &TestSummary) -> io::Result<()> {
        self.0.iter_mut().map(|report| report.end(summary)).fold(Ok(()), Result::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_named_with_its_file() {
        let target = |text: &str| text.parse::<ReportTarget>();
        assert_eq!(target("tap"), Ok(ReportTarget { kind: ReportKind::Tap, file: None }));
        let file = Some(PathBuf::from("a=b.xml"));
        assert_eq!(target("junit=a=b.xml"), Ok(ReportTarget { kind: ReportKind::JUnit, file }));
        assert_eq!(target("junit="), Err(ReportTargetError::NoFile("junit")));
        assert!(target("xml").unwrap_err().to_string().contains("\nhint: console, tap"));
        for kind in ReportKind::ALL {
            assert_eq!(target(kind.word()).unwrap().kind, kind);
        }
    }

    #[test]
    fn the_environment_says_where_reports_are_read() {
        let of = |vars: &[(&str, &str)], cols| {
            let vars: Vec<(String, String)> =
                vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let var = move |name: &str| vars.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
            ReportOptions::from_env(var, Path::new("/w/repo/sub"), cols)
        };
        let term = ("TERM", "xterm");
        assert!(of(&[term], Some(80)).colors);
        assert!(!of(&[term, ("NO_COLOR", "1")], Some(80)).colors && !of(&[term], None).colors);
        assert!(of(&[term, ("NO_COLOR", "")], Some(80)).colors && !of(&[("TERM", "dumb")], Some(80)).colors);
        let github =
            [("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", "/s"), ("GITHUB_WORKSPACE", "/w/repo")];
        let options = of(&github, None);
        assert!(options.github && options.github_summary == Some(PathBuf::from("/s")));
        assert_eq!(options.github_prefix, Path::new("sub"));
        assert_eq!(of(&github[1..], None), ReportOptions::default());
    }

    #[test]
    fn files_are_made_with_their_directories() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a/b/r.tap");
        let target = ReportTarget { kind: ReportKind::Tap, file: Some(file.clone()) };
        let mut report = target.open(&ReportOptions::default()).unwrap();
        report.begin(0).unwrap();
        report.end(&TestSummary::default()).unwrap();
        drop(report);
        assert!(fs::read_to_string(file).unwrap().starts_with("TAP version 13\n"));
    }
}
