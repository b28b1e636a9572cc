//! Collects what the output lines of one runner report.

use super::bash_result::display;
use super::check_verdict::{CheckOutcome, FAILING_CAP};
use super::invocation::RunnerCall;
use super::runners::{LineMeaning, LinePattern, OTHERS, Runner};

use crate::core::text::plural::plural_end;

/// The reports in the lines of one runner so far.
pub(super) struct Evidence {
    runner: &'static Runner,
    repeated: bool,
    sums: SummaryTotals,
    names: Vec<String>,
    errors: Vec<String>,
}

/// The sums of one summary. A runner that writes one summary starts them anew with each.
#[derive(Default)]
struct SummaryTotals {
    counts: Counts,
    counted: bool,
    total: Option<u64>,
    files_failed: u64,
    units: (u64, u64),
    done: Option<String>,
    failed: Option<String>,
    nothing: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    errors: u64,
    skipped: u64,
    total: u64,
}

impl Evidence {
    pub(super) fn of(run: &RunnerCall) -> Self {
        Self {
            runner: run.runner,
            repeated: run.repeated,
            sums: SummaryTotals::default(),
            names: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Takes a cleaned line.
    pub(super) fn line(&mut self, line: &str) {
        let others = OTHERS.iter().filter(|_| self.runner.runs_others);
        for forms in std::iter::once(&self.runner.forms).chain(others) {
            for form in *forms {
                if matches(form, line) && self.take(form, line) {
                    return;
                }
            }
        }
    }

    /// Returns whether the line reported something.
    fn take(&mut self, form: &LinePattern, line: &str) -> bool {
        if form.opens && self.runner.whole && !self.repeated {
            let counts = counts(line, form.says == LineMeaning::Keyed);
            if form.says == LineMeaning::Counts && counts == Counts::default() {
                return false;
            }
            self.sums = SummaryTotals::default();
        }
        let sums = &mut self.sums;
        match form.says {
            LineMeaning::Counts | LineMeaning::Keyed => {
                let Some(counts) = some_counts(line, form.says == LineMeaning::Keyed) else { return false };
                sums.counts.add(counts);
                sums.counted = true;
            }
            LineMeaning::Total => {
                let number = line.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty());
                let number = number.map_or(0, number_of);
                sums.total = Some(sums.total.unwrap_or(0).saturating_add(number));
            }
            LineMeaning::Files => {
                sums.files_failed = sums.files_failed.saturating_add(counts(line, false).failed);
            }
            LineMeaning::Problems => {
                let errors = counts(line, false).errors;
                sums.counts.errors = sums.counts.errors.saturating_add(errors);
                if errors == 0 {
                    sums.done.get_or_insert_with(|| display(line));
                }
            }
            LineMeaning::Done => {
                sums.counts.skipped = sums.counts.skipped.saturating_add(counts(line, true).skipped);
                sums.done.get_or_insert_with(|| display(line));
            }
            LineMeaning::Failed | LineMeaning::FailedCounts => {
                if form.says == LineMeaning::FailedCounts {
                    sums.counts.add(counts(line, true));
                }
                sums.failed.get_or_insert_with(|| display(line));
            }
            LineMeaning::Nothing => {
                sums.nothing.get_or_insert_with(|| display(line));
            }
            LineMeaning::Unit => sums.units.0 = sums.units.0.saturating_add(1),
            LineMeaning::UnitFailed => sums.units.1 = sums.units.1.saturating_add(1),
            LineMeaning::Noise => {}
            LineMeaning::Name => keep(&mut self.names, &bare(form, line)),
            LineMeaning::Error => keep(&mut self.errors, line),
        }
        true
    }

    /// The outcome that the lines report, if any, and the summary in words.
    pub(super) fn resolve(&self, exited_badly: bool) -> (Option<CheckOutcome>, String) {
        use CheckOutcome::{Failed, NothingRan, Passed};
        let sums = &self.sums;
        let mut counts = sums.counts;
        if let Some(total) =
            sums.total.filter(|_| (sums.done.is_some() || sums.failed.is_some()) && counts.passed == 0)
        {
            counts.passed = total
                .saturating_sub(counts.failed)
                .saturating_sub(counts.errors)
                .saturating_sub(counts.skipped);
        }
        let passed = counts.passed > 0 || sums.units.0 > 0;
        let nothing = sums.nothing.is_some()
            || sums.counted
            || sums.total == Some(0)
            || sums.total.is_some() && sums.done.is_some();
        let ended = passed || nothing || sums.done.is_some();
        let told = sums.failed.is_some()
            || counts.failed > 0
            || counts.errors > 0
            || sums.units.1 > 0
            || sums.files_failed > 0;
        // Where no summary covers the whole run, a failure in any line decides.
        let seen = !self.names.is_empty() && (!ended || !self.runner.whole && !self.runner.runs_others)
            || !self.errors.is_empty() && (!ended || exited_badly && !passed && sums.nothing.is_none());
        let builds = self.runner.builds && (sums.done.is_some() || sums.nothing.is_some());
        let outcome = if told || seen {
            Some(Failed)
        } else if passed || builds {
            Some(Passed)
        } else if nothing {
            Some(NothingRan)
        } else {
            sums.done.is_some().then_some(Passed)
        };
        (outcome, self.summary(counts, outcome))
    }

    fn summary(&self, counts: Counts, outcome: Option<CheckOutcome>) -> String {
        let sums = &self.sums;
        let mut parts = Vec::new();
        let mut part = |number: u64, words: &str| {
            if number > 0 {
                parts.push(format!("{number} {words}"));
            }
        };
        part(counts.failed, "failed");
        part(counts.errors, &format!("error{}", plural_end(counts.errors)));
        if counts.failed == 0 && counts.errors == 0 {
            part(
                sums.files_failed,
                if sums.files_failed == 1 { "test file failed" } else { "test files failed" },
            );
        }
        part(counts.passed, "passed");
        if counts == (Counts { skipped: counts.skipped, ..Counts::default() }) && !self.runner.unit.is_empty()
        {
            let units = |number: u64| format!("{}{}", self.runner.unit, plural_end(number));
            part(sums.units.1, &format!("{} failed", units(sums.units.1)));
            part(sums.units.0, &format!("{} passed", units(sums.units.0)));
        }
        let line = sums.failed.as_ref().or(self.errors.first()).or(self.names.first());
        if parts.is_empty() {
            match outcome {
                Some(CheckOutcome::NothingRan) => {
                    parts.push(sums.nothing.clone().unwrap_or_else(|| "0 tests".to_owned()))
                }
                Some(CheckOutcome::Failed) => return line.cloned().unwrap_or_default(),
                _ => return sums.done.as_ref().or(sums.nothing.as_ref()).cloned().unwrap_or_default(),
            }
        }
        if counts.skipped > 0 {
            parts.push(format!("{} skipped", counts.skipped));
        }
        parts.join(", ")
    }

    /// The names of the failing tests, or if there are none the first errors.
    pub(super) fn failing(self) -> Vec<String> {
        if self.names.is_empty() { self.errors } else { self.names }
    }
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.errors = self.errors.saturating_add(other.errors);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.total = self.total.saturating_add(other.total);
    }

    fn place(&mut self, word: &str) -> Option<&mut u64> {
        Some(match word {
            "passed" | "passing" | "pass" | "xfailed" | "xpassed" => &mut self.passed,
            "failed" | "failing" | "fail" | "failures" | "failure" | "timed" | "cancelled" => {
                &mut self.failed
            }
            "error" | "errors" => &mut self.errors,
            "skipped" | "ignored" | "pending" | "todo" | "deselected" | "filtered" => &mut self.skipped,
            "run" | "tests" | "total" => &mut self.total,
            _ => return None,
        })
    }
}

fn keep(list: &mut Vec<String>, line: &str) {
    if list.len() < FAILING_CAP {
        let line = display(line.trim_end_matches(':'));
        if !line.is_empty() && !list.contains(&line) {
            list.push(line);
        }
    }
}

/// The test's name: the line without the fixed words of the form.
fn bare(form: &LinePattern, line: &str) -> String {
    let line = line.strip_prefix(form.begins).filter(|_| form.begins.ends_with(' ')).unwrap_or(line);
    let has = form.has.trim_end_matches('$');
    line.strip_suffix(has).filter(|rest| has.starts_with(' ') && !rest.is_empty()).unwrap_or(line).to_owned()
}

fn matches(form: &LinePattern, line: &str) -> bool {
    let Some(rest) = after(form.begins, line) else { return false };
    match form.has.strip_suffix('$') {
        Some(end) => rest.ends_with(end),
        None => rest.contains(form.has),
    }
}

/// The rest of the line behind `begins`, in which `{n}` matches a number and `$` the end of the line.
fn after<'a>(begins: &str, line: &'a str) -> Option<&'a str> {
    let (begins, to_the_end) = begins.strip_suffix('$').map_or((begins, false), |begins| (begins, true));
    let mut parts = begins.split("{n}");
    let mut rest = line.strip_prefix(parts.next().unwrap_or_default())?;
    for part in parts {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest = rest[digits..].strip_prefix(part).filter(|_| digits > 0)?;
    }
    (!to_the_end || rest.is_empty()).then_some(rest)
}

fn some_counts(line: &str, keyed: bool) -> Option<Counts> {
    Some(counts(line, keyed)).filter(|_| {
        let mut known = Counts::default();
        line.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| known.place(&word.to_ascii_lowercase()).is_some())
    })
}

/// The numbers of a line, by the words that they belong to.
fn counts(line: &str, keyed: bool) -> Counts {
    let mut counts = Counts::default();
    let mut before: Option<&str> = None;
    for word in line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let (number, name) = if keyed { (word, before) } else { (before.unwrap_or_default(), Some(word)) };
        if number.bytes().all(|b| b.is_ascii_digit())
            && !number.is_empty()
            && let Some(place) = name.and_then(|name| counts.place(&name.to_ascii_lowercase()))
        {
            *place = place.saturating_add(number_of(number));
        }
        before = Some(word);
    }
    // A total and its failures give the number that passed.
    if keyed && counts.total > 0 && counts.passed == 0 {
        counts.passed = counts
            .total
            .saturating_sub(counts.failed)
            .saturating_sub(counts.errors)
            .saturating_sub(counts.skipped);
    }
    counts
}

/// The number, or `u64::MAX` if it is too long.
fn number_of(digits: &str) -> u64 {
    digits.parse().unwrap_or(u64::MAX)
}
