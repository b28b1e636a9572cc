//! Reports of `hopty test`: for people, for continuous integration, for programs.
//!
//! | kind | consumer |
//! |---|---|
//! | `console` | a person: one line per tape, failures in full |
//! | `tap` | TAP 14 with a YAML block for each tape that is not just ok |
//! | `junit` | Jenkins, GitLab and others: JUnit XML |
//! | `github` | annotations in a pull request, and the job's summary |
//! | `markdown` | that summary alone |
//! | `json_lines` | programs (`--report json`): one JSON object per line, versioned |
//!
//! | file | what they share |
//! |---|---|
//! | `report_target` | which reports are requested, and where they go |
//! | `failure_text` | the text of a failure |
//! | `ink` | lines in colour |
//!
//! They get redacted outcomes. Whatever a screen shows, it cannot leave its place in a
//! report: hidden characters are written as `\u{1b}`, and each format adds its own escapes.

mod console;
pub(in crate::testing) mod failure_text;
mod github;
pub(in crate::testing) mod ink;
mod json_lines;
mod junit;
mod markdown;
mod report_target;
#[cfg(test)]
mod samples;
mod tap;

pub use console::ConsoleReport;
pub use github::GitHubReport;
pub use json_lines::{JSON_REPORT_VERSION, JsonLinesReport};
pub use junit::JUnitReport;
pub use markdown::MarkdownReport;
pub use report_target::{ReportKind, ReportOptions, ReportSet, ReportTarget, ReportTargetError, TestReport};
pub use tap::TapReport;
