//! `hopty usage`: what Claude used, by day, project or model.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use chrono::{Days, NaiveDate};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::control::{HostControl, paths};
use super::conversations::{all_kept_sources, fold_white_space, token_count};
use super::error::{VerbError, note, say, stdout, visible};
use super::exit_codes::USAGE;
use super::list::PATIENCE;
use super::table::{self, BOLD, CYAN, TableStyle};
use crate::core::ids::ConversationId;
use crate::core::text::ellipsis::{begin_of, end_of_path};
use crate::core::token_usage::{
    ConversationUsage, TokenTotals, UsageEntry, UsageGroup, UsageReport, UsageRow, UsageSums, ledger,
};
use crate::fs::conversations::{AgentTranscript, Summaries, Transcripts, UsageFiles};
use crate::fs::paths::Paths;
use crate::fs::project::project_of;
use crate::fs::session;
use crate::sys::clock::{Clock, local_date};

/// How many days are shown by default.
const DAYS: u64 = 30;
/// The narrowest chart, in columns; in a narrower terminal a column is dropped.
const BAR_LEAST: usize = 8;
/// The widest chart, in columns.
const BAR_MOST: usize = 40;

impl ValueEnum for UsageGroup {
    fn value_variants<'a>() -> &'a [Self] {
        &UsageGroup::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.word()).help(match self {
            UsageGroup::Day => "By day",
            UsageGroup::Week => "By week, from Monday",
            UsageGroup::Month => "By month",
            UsageGroup::Project => "By the directory of the conversation",
            UsageGroup::Model => "By model",
            UsageGroup::Conversation => "By conversation",
        }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsageDay {
    Date(NaiveDate),
    DaysBack(u64),
}

impl UsageDay {
    fn date(self, today: NaiveDate) -> NaiveDate {
        match self {
            UsageDay::Date(date) => date,
            UsageDay::DaysBack(days) => today.checked_sub_days(Days::new(days)).unwrap_or(NaiveDate::MIN),
        }
    }
}

fn usage_day(text: &str) -> Result<UsageDay, String> {
    match text {
        "today" => return Ok(UsageDay::DaysBack(0)),
        "yesterday" => return Ok(UsageDay::DaysBack(1)),
        _ => {}
    }
    if let Some(days) = text.strip_suffix('d').and_then(|days| days.parse().ok()) {
        return Ok(UsageDay::DaysBack(days));
    }
    text.parse()
        .map(UsageDay::Date)
        .map_err(|_| "not a day: write 2026-11-20, 7d (days ago), today or yesterday".to_owned())
}

#[derive(Debug, Args)]
pub(super) struct UsageOptions {
    /// What each row stands for
    #[arg(long, value_enum, default_value_t = UsageGroup::Day, value_name = "WHAT",
        hide_possible_values = false)]
    pub by: UsageGroup,
    /// The first day: 2026-11-20, 7d (days ago), today or yesterday; 30 days ago by default
    #[arg(long, value_parser = usage_day, value_name = "DAY")]
    pub since: Option<UsageDay>,
    /// The last day, in the same forms
    #[arg(long, value_parser = usage_day, value_name = "DAY")]
    pub until: Option<UsageDay>,
    /// Show all days
    #[arg(long, conflicts_with = "since")]
    pub all: bool,
    /// Only conversations of this directory's project
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(super) fn usage(options: &UsageOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let today = local_date(Clock::wall());
    let until = options.until.map(|day| day.date(today));
    let since = match (options.all, options.since) {
        (true, _) => None,
        (false, day) => Some(day.unwrap_or(UsageDay::DaysBack(DAYS - 1)).date(today)),
    };
    if since.zip(until).is_some_and(|(since, until)| since > until) {
        return Err(VerbError::new(USAGE, "--since is after --until").hint("swap --since and --until"));
    }
    let found = Transcripts::all(&paths);
    let mut files = UsageFiles::load(&paths);
    let kept = all_kept_sources(&paths, found.files.iter().map(|file| file.id.clone()).collect());
    let read = files.read(&found.files, AgentTranscript::all(&paths), &kept);
    files.save();
    let conversations: Vec<ConversationUsage<'_>> = read
        .iter()
        .map(|usage| ConversationUsage { id: &usage.id, own: &usage.own, agents: &usage.agents })
        .collect();
    let mut entries = ledger(&conversations);
    let project = options.project.as_deref().map(|dir| known_project(dir, &entries)).transpose()?;
    entries.retain(|entry| {
        let day = local_date(entry.at);
        since.is_none_or(|since| day >= since) && until.is_none_or(|until| day <= until)
    });
    if let Some(project) = &project {
        let mut known: HashMap<&str, bool> = HashMap::new();
        entries.retain(|entry| {
            *known
                .entry(entry.dir)
                .or_insert_with(|| !entry.dir.is_empty() && project_of(Path::new(entry.dir)) == *project)
        });
    }
    let report = UsageReport::of(&entries, options.by, |entry: &UsageEntry<'_>| local_date(entry.at));
    if options.json {
        say(format_args!("{}", report_json(&report, options.by, since, until)))?;
    } else {
        let style = TableStyle::of_output();
        let names = row_names(&paths, &found, &report, options.by);
        stdout()?
            .write_all(UsagePage { report: &report, names: &names, style }.text(options.by).as_bytes())?;
        let period = UsagePeriod { since, until, project: project.as_deref() };
        note_incomplete(&report, &period);
        let without: HashSet<&ConversationId> = entries
            .iter()
            .filter(|entry| entry.usd.is_none() && entry.answers > 0)
            .map(|entry| entry.conversation)
            .collect();
        note_running(&paths, &without);
    }
    for (path, error) in files.failures() {
        note(format_args!("hopty: {}: {}", visible(&path.to_string_lossy()), visible(&error.to_string())));
    }
    Ok(0)
}

/// The project of a directory that exists, or that a conversation worked in before it was deleted.
fn known_project(dir: &Path, entries: &[UsageEntry<'_>]) -> Result<PathBuf, VerbError> {
    let path = std::path::absolute(dir)?;
    if !path.is_dir() && !entries.iter().any(|entry| Path::new(entry.dir).starts_with(&path)) {
        return Err(VerbError::new(USAGE, "there is no such directory")
            .about(dir.display())
            .hint("`hopty usage --by project` lists the projects"));
    }
    Ok(project_of(&path))
}

/// The days and the project of a report.
struct UsagePeriod<'a> {
    since: Option<NaiveDate>,
    until: Option<NaiveDate>,
    project: Option<&'a Path>,
}

impl UsagePeriod<'_> {
    /// The message for an empty report, with the option that shows more.
    fn nothing_used(&self) -> String {
        let project =
            self.project.map_or_else(String::new, |dir| format!(" in {}", visible(&dir.to_string_lossy())));
        let days = match (self.since, self.until) {
            (Some(since), Some(until)) => format!(" from {since} to {until}"),
            (Some(since), None) => format!(" since {since}"),
            (None, Some(until)) => format!(" until {until}"),
            (None, None) => String::new(),
        };
        let more = if self.since.is_some() { "; --all shows all days" } else { "" };
        format!("no conversation used anything{project}{days}{more}")
    }
}

/// Notes about figures that are not complete.
fn note_incomplete(report: &UsageReport, period: &UsagePeriod<'_>) {
    if report.rows.is_empty() {
        return note(format_args!("{}", period.nothing_used()));
    }
    let unknown = report.total.tokens_without_cost;
    if unknown > 0 {
        let sign = if report.total.usd > 0.0 { " (marked +)" } else { "" };
        note(format_args!("Claude reported no cost for {} of these tokens{sign}", token_count(unknown)));
    }
}

/// Prints what running sessions have cost so far, by Claude's own count: their transcripts do not have it
/// yet.
fn note_running(paths: &Paths, without_cost: &HashSet<&ConversationId>) {
    if without_cost.is_empty() {
        return;
    }
    for name in session::live_names(paths) {
        let status = HostControl::connect(paths, &name, Some(PATIENCE)).and_then(|mut host| host.status());
        let Ok(status) = status else { continue };
        let counts = status.conversation.as_ref().is_some_and(|id| without_cost.contains(id));
        if let Some(usd) = status.work.cost_usd.filter(|_| counts) {
            note(format_args!(
                "{name} is running and has cost ${usd:.2} so far, which is added when Claude ends"
            ));
        }
    }
}

/// The text for each row's key.
fn row_names(paths: &Paths, found: &Transcripts, report: &UsageReport, by: UsageGroup) -> Vec<String> {
    let home = paths.home.to_string_lossy();
    let titles: HashMap<String, String> = match by {
        UsageGroup::Conversation => {
            let wanted: HashSet<&str> = report.rows.iter().map(|row| row.key.as_str()).collect();
            let files: Vec<_> =
                found.files.iter().filter(|file| wanted.contains(file.id.as_str())).cloned().collect();
            let mut summaries = Summaries::load(paths);
            let read = summaries.read(&files);
            summaries.save();
            let named = files.iter().zip(read).filter_map(|(file, summary)| {
                Some((file.id.to_string(), fold_white_space(&summary.heading()?)))
            });
            named.collect()
        }
        _ => HashMap::new(),
    };
    let name = |row: &UsageRow| match by {
        _ if row.key.is_empty() => "(not known)".to_owned(),
        UsageGroup::Project => match row.key.strip_prefix(&*home) {
            Some(below) if !home.is_empty() && (below.is_empty() || below.starts_with('/')) => {
                visible(&format!("~{below}"))
            }
            _ => visible(&row.key),
        },
        UsageGroup::Conversation => {
            let id: String = row.key.chars().take(8).collect();
            titles.get(&row.key).map_or_else(|| id.clone(), |title| format!("{id} {title}"))
        }
        _ => visible(&row.key),
    };
    report.rows.iter().map(name).collect()
}

struct UsagePage<'a> {
    report: &'a UsageReport,
    names: &'a [String],
    style: TableStyle,
}

struct UsageColumn {
    heading: &'static str,
    from_width: usize,
    text: fn(&UsageSums) -> String,
}

const COLUMNS: [UsageColumn; 9] = [
    UsageColumn { heading: "COST", from_width: 0, text: |sums| sums.figures().cost_text() },
    UsageColumn { heading: "TOKENS", from_width: 0, text: |sums| token_count(sums.tokens.all()) },
    UsageColumn { heading: "INPUT", from_width: 110, text: |sums| token_count(sums.tokens.input) },
    UsageColumn { heading: "OUTPUT", from_width: 90, text: |sums| token_count(sums.tokens.output) },
    UsageColumn {
        heading: "CACHE-WR",
        from_width: 110,
        text: |sums| token_count(sums.tokens.cache_creation),
    },
    UsageColumn { heading: "CACHE-RD", from_width: 110, text: |sums| token_count(sums.tokens.cache_read) },
    UsageColumn { heading: "TIME", from_width: 60, text: |sums| work_time(sums.work_ms) },
    UsageColumn { heading: "CONV", from_width: 70, text: |sums| sums.conversations.to_string() },
    UsageColumn { heading: "HANDOVERS", from_width: 76, text: |sums| sums.handovers.to_string() },
];

impl UsagePage<'_> {
    fn text(&self, by: UsageGroup) -> String {
        let width = self.style.cols;
        let rows = &self.report.rows;
        let is_shown = |column: &&UsageColumn| match width {
            None => true,
            // A column without any known value is useless.
            Some(_) if column.heading == "COST" && self.report.total.usd == 0.0 => false,
            Some(width) => width >= column.from_width,
        };
        let columns: Vec<&UsageColumn> = COLUMNS.iter().filter(is_shown).collect();
        if rows.is_empty() {
            return String::new();
        }
        let cells = self.cells(&columns);
        let widths: Vec<usize> =
            (0..columns.len()).map(|at| cells.iter().map(|row| row[at].width()).max().unwrap_or(0)).collect();
        let figures: usize = widths.iter().map(|width| width + 2).sum();
        let (names, bar) = self.name_and_bar_width(by, figures);
        let by_cost = rows.iter().any(|row| row.sums.usd > 0.0);
        let size = |sums: &UsageSums| if by_cost { sums.usd } else { sums.tokens.all() as f64 };
        let most = rows.iter().map(|row| size(&row.sums)).fold(0.0, f64::max);
        let mut out = String::new();
        let heading = by.word().to_uppercase();
        let labels =
            std::iter::once(heading.as_str()).chain(self.names.iter().map(String::as_str)).chain(["total"]);
        for (at, (label, row)) in labels.zip(&cells).enumerate() {
            let is_path = by == UsageGroup::Project && (1..=rows.len()).contains(&at);
            let mut line = if is_path { end_of_path(label, names) } else { begin_of(label, names) };
            line.push_str(&" ".repeat(names.saturating_sub(line.width())));
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str("  ");
                line.push_str(&" ".repeat(width - cell.width()));
                line.push_str(cell);
            }
            let is_row = (1..=rows.len()).contains(&at);
            if !is_row {
                line = self.colored(BOLD, &line);
            } else if bar > 0 {
                let drawn = bar_of(size(&rows[at - 1].sums) / most, bar);
                line = format!("{line}  {}", self.colored(CYAN, &drawn));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// The heading, the rows and the total; digits are aligned where a figure ends in `+`.
    fn cells(&self, columns: &[&UsageColumn]) -> Vec<Vec<String>> {
        let sums = self.report.rows.iter().map(|row| &row.sums).chain([&self.report.total]);
        let mut cells = vec![columns.iter().map(|column| column.heading.to_owned()).collect()];
        cells.extend(sums.map(|sums| columns.iter().map(|column| (column.text)(sums)).collect::<Vec<_>>()));
        for at in 0..columns.len() {
            if cells.iter().any(|row| row[at].ends_with('+')) {
                let shorter = cells.iter_mut().map(|row| &mut row[at]).filter(|cell| !cell.ends_with('+'));
                shorter.for_each(|cell| cell.push(' '));
            }
        }
        cells
    }

    /// The width of the first column and of the chart, 0 for no chart: a long name is cut before a figure.
    fn name_and_bar_width(&self, by: UsageGroup, figures: usize) -> (usize, usize) {
        let wanted = self.names.iter().map(|name| name.width()).max().unwrap_or(0);
        let wanted = wanted.max(by.word().len()).max(5);
        let Some(width) = self.style.cols else { return (wanted, 0) };
        let left = width.saturating_sub(figures);
        let names = wanted.min(left.saturating_sub(BAR_LEAST + 2).max(8));
        let bar = left.saturating_sub(names + 2);
        (names, if bar < BAR_LEAST { 0 } else { bar.min(BAR_MOST) })
    }

    fn colored(&self, number: u8, text: &str) -> String {
        table::paint(self.style.colors, number, text)
    }
}

/// A bar of `share` of `cells` columns, in eighths; at least one eighth for more than nothing.
fn bar_of(share: f64, cells: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if share.is_nan() || share <= 0.0 {
        return String::new();
    }
    let eighths = ((share.min(1.0) * (cells * 8) as f64).round() as usize).max(1);
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// Such as `40s`, `12m` and `3h12m`.
fn work_time(ms: u64) -> String {
    let minutes = ms / 60_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{}s", ms / 1000),
        (0, minutes) => format!("{minutes}m"),
        (hours, minutes) => format!("{hours}h{minutes:02}m"),
    }
}

fn report_json(
    report: &UsageReport,
    by: UsageGroup,
    since: Option<NaiveDate>,
    until: Option<NaiveDate>,
) -> Value {
    let rows: Vec<Value> = report
        .rows
        .iter()
        .map(|row| {
            let mut sums = sums_json(&row.sums);
            sums[by.word()] = if row.key.is_empty() { Value::Null } else { json!(row.key) };
            sums
        })
        .collect();
    json!({
        "by": by.word(),
        "since": since.map(|day| day.to_string()),
        "until": until.map(|day| day.to_string()),
        "rows": rows,
        "total": sums_json(&report.total),
    })
}

fn sums_json(sums: &UsageSums) -> Value {
    let TokenTotals { input, output, cache_read, cache_creation } = sums.tokens;
    json!({
        "tokens": {
            "input": input, "output": output, "cache_read": cache_read, "cache_creation": cache_creation,
            "all": sums.tokens.all(),
        },
        "cost_usd": sums.figures().cost(),
        "tokens_without_cost": sums.tokens_without_cost,
        "work_ms": sums.work_ms,
        "answers": sums.answers,
        "conversations": sums.conversations,
        "handovers": sums.handovers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(usd: f64, tokens: u64, without: u64) -> UsageSums {
        UsageSums {
            usd,
            tokens: TokenTotals { output: tokens, ..TokenTotals::default() },
            tokens_without_cost: without,
            work_ms: 3_900_000,
            conversations: 2,
            ..UsageSums::default()
        }
    }

    fn page(cols: Option<usize>) -> String {
        page_by(UsageGroup::Day, ["2026-11-19", "2026-11-20"], cols)
    }

    fn page_by(by: UsageGroup, keys: [&str; 2], cols: Option<usize>) -> String {
        let rows = [(keys[0], sums(1.0, 900, 0)), (keys[1], sums(4.0, 1_500_000, 10))]
            .map(|(key, sums)| UsageRow { key: key.to_owned(), sums });
        let names: Vec<String> = rows.iter().map(|row| row.key.clone()).collect();
        let report = UsageReport { rows: rows.to_vec(), total: sums(5.0, 1_500_900, 10) };
        UsagePage { report: &report, names: &names, style: TableStyle { cols, colors: false } }.text(by)
    }

    #[test]
    fn a_project_keeps_the_end_of_its_directory() {
        let dirs = ["/home/user/work/projects/rocket", "/home/user/work/projects/parser"];
        let page = page_by(UsageGroup::Project, dirs, Some(40));
        assert!(page.contains("\n…/rocket  ") && page.contains("\n…/parser  "), "{page}");
        assert!(page_by(UsageGroup::Project, dirs, None).contains(dirs[0]));
    }

    #[test]
    fn the_table_fits_the_terminal_and_has_a_chart() {
        for cols in [40, 60, 80, 120, 200] {
            let page = page(Some(cols));
            let widest = page.lines().map(UnicodeWidthStr::width).max().unwrap();
            assert!(widest <= cols, "{widest} of {cols}\n{page}");
            assert!(page.contains("█████"), "{page}");
        }
        let narrow = page(Some(40));
        let lines: Vec<&str> = narrow.lines().collect();
        assert_eq!(lines[0], "DAY          COST   TOKENS");
        assert!(lines[1].starts_with("2026-11-19  $1.00      900  ██"), "{narrow}");
        assert_eq!(lines[3], "total       $5.00+    1.5M");
        assert!(!page(None).contains('█') && page(None).contains("CACHE-RD"));
    }

    #[test]
    fn cost_and_time_are_short() {
        let texts = [(0.0, 0), (0.0, 5), (0.001, 0), (1.239, 0), (2.0, 5)]
            .map(|(usd, n)| sums(usd, 9, n).figures().cost_text());
        assert_eq!(texts, ["$0.00", "-", "<$0.01", "$1.24", "$2.00+"]);
        assert_eq!([900, 40_000, 720_000, 11_520_000].map(work_time), ["0s", "40s", "12m", "3h12m"]);
        assert_eq!([0.0, 0.001, 0.5, 1.0].map(|share| bar_of(share, 2)), ["", "▏", "█", "██"]);
    }

    #[test]
    fn days_are_read_in_several_forms() {
        let today = "2026-11-20".parse().unwrap();
        let day = |text: &str| usage_day(text).map(|day| day.date(today).to_string());
        assert_eq!(day("2026-01-02").as_deref(), Ok("2026-01-02"));
        assert_eq!(day("7d").as_deref(), Ok("2026-11-13"));
        assert_eq!(day("yesterday").as_deref(), Ok("2026-11-19"));
        assert!(day("soon").is_err() && day("-1d").is_err() && day("2026-13-01").is_err());
        assert!(day("99999999999d").is_ok());
    }
}
