//! The exam: what the first request of a new conversation knows of the one before it. Each case plays a
//! session of natural prompts and scripted answers to a hand-over and looks for planted facts: those that the
//! brief must hold (`know`), those that must stand in a file that it names (`reach`), and statements that
//! would be false (`lies`).
//!
//! `HOPTY_TEST_BRIEF=NAME` plays one case and prints its briefs whole.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

#[allow(clippy::module_inception)]
mod brief;
mod case;
mod cases;
mod drive;
mod facts;
mod history;
mod judges;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use brief::Outcome;
use case::Case;
use facts::Fact;
use support::claude::{Kind, real, say};

/// The least that is known and reached of a hundred facts, and the most lies that are told, by the stand-in
/// agent and by the real Claude. Raise it with every improvement.
const FLOOR: [(Kind, Score); 2] = [
    (Kind::StandIn, Score { know: 100, reach: 100, lies: 0 }),
    (Kind::Real, Score { know: 98, reach: 98, lies: 0 }),
];
/// What the real Claude plays beside the cases that only it can play; `HOPTY_TEST_BRIEF=all` plays all of
/// them. A case takes it eight seconds and more.
const REAL: [&str; 10] = [
    "hi_then_a_long_task", "steering_in_mid_turn", "interrupted", "paste_with_a_task_around_it",
    "question_with_options", "own_words_in_a_loop", "failure_behind_a_pipe", "new_files", "compacted",
    "five_hand_overs",
];
/// Cases at a time on the stand-in agent.
const AT_A_TIME: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Score {
    know: usize,
    reach: usize,
    lies: usize,
}

/// What one case came to.
struct Marks {
    name: &'static str,
    /// Of each kind, the names of the facts that hold, and of those that do not.
    know: (usize, Vec<String>),
    reach: (usize, Vec<String>),
    /// The lies that were told.
    lies: Vec<String>,
    /// Why it could not be played.
    broken: Option<String>,
}

fn sort(facts: &[Fact], outcome: &Outcome) -> (usize, Vec<String>) {
    let missed: Vec<String> =
        facts.iter().filter(|fact| !fact.holds(outcome)).map(|fact| fact.name.clone()).collect();
    (facts.len() - missed.len(), missed)
}

impl Marks {
    fn of(case: &Case, outcome: &Outcome) -> Marks {
        let told =
            case.lies.iter().filter(|fact| fact.holds(outcome)).map(|fact| fact.name.clone()).collect();
        let (know, reach) = (sort(&case.know, outcome), sort(&case.reach, outcome));
        Marks { name: case.name, know, reach, lies: told, broken: None }
    }

    fn broken(case: &Case, why: String) -> Marks {
        let missed = |facts: &[Fact]| (0, facts.iter().map(|fact| fact.name.clone()).collect());
        Marks {
            name: case.name,
            know: missed(&case.know),
            reach: missed(&case.reach),
            lies: Vec::new(),
            broken: Some(why),
        }
    }

    fn line(&self) -> String {
        let count = |(held, missed): &(usize, Vec<String>)| format!("{held}/{}", held + missed.len());
        let mut line = format!(
            "{:<32} know {:>5}  reach {:>4}  lies {}",
            self.name,
            count(&self.know),
            count(&self.reach),
            self.lies.len()
        );
        if let Some(why) = &self.broken {
            line.push_str(&format!("  NOT PLAYED: {}", why.lines().next().unwrap_or_default()));
            return line;
        }
        let missed: Vec<&str> = self.know.1.iter().chain(&self.reach.1).map(String::as_str).collect();
        if !missed.is_empty() {
            line.push_str(&format!("  missed: {}", missed.join("; ")));
        }
        if !self.lies.is_empty() {
            line.push_str(&format!("  lies: {}", self.lies.join("; ")));
        }
        line
    }
}

/// Plays one case and marks it.
fn examine(case: &Case, kind: Kind, show: bool) -> Option<Marks> {
    let judge = |outcome: &Outcome| {
        if show {
            for (n, brief) in outcome.briefs.iter().enumerate() {
                let units = brief.block.encode_utf16().count();
                say(&format!(
                    "{} brief {} of {units} units:\n{}\nPROMPT: {}\n",
                    case.name,
                    n + 1,
                    brief.block,
                    brief.prompt
                ));
                let outside: Vec<&String> = brief
                    .named()
                    .iter()
                    .filter(|path| !std::path::Path::new(path).starts_with(&brief.project))
                    .collect();
                say(&format!("outside of the project it names {outside:#?}"));
            }
        }
        Marks::of(case, outcome)
    };
    match catch_unwind(AssertUnwindSafe(|| drive::play(case, kind, judge))) {
        Ok(marks) => marks,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            if show {
                say(text.as_deref().unwrap_or("it panicked"));
            }
            Some(Marks::broken(case, text.unwrap_or_else(|| "it panicked".to_owned())))
        }
    }
}

fn exam(kind: Kind) {
    if kind == Kind::Real && real().is_none() {
        return;
    }
    let wanted = std::env::var("HOPTY_TEST_BRIEF").ok();
    let only = wanted.clone().filter(|wanted| wanted != "all");
    let mut cases = cases::all();
    cases.retain(|case| match &only {
        Some(only) => only == case.name,
        None => {
            kind == Kind::StandIn || wanted.is_some() || case.real_only.is_some() || REAL.contains(&case.name)
        }
    });
    assert!(!cases.is_empty(), "HOPTY_TEST_BRIEF names no case");
    let (played, left_out): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| kind == Kind::Real || case.real_only.is_none());
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..if kind == Kind::Real { 1 } else { AT_A_TIME } {
            scope.spawn(|| {
                while let Some((at, case)) =
                    Some(next.fetch_add(1, Ordering::SeqCst)).and_then(|at| Some((at, played.get(at)?)))
                {
                    let marks = examine(case, kind, only.is_some());
                    all.lock().unwrap().extend(marks.map(|marks| (at, marks)));
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap();
    all.sort_by_key(|(at, _)| *at);
    let all: Vec<Marks> = all.into_iter().map(|(_, marks)| marks).collect();
    let mut table = format!("the exam, {kind:?}\n");
    all.iter().for_each(|marks| table.push_str(&(marks.line() + "\n")));
    for case in &left_out {
        table.push_str(&format!(
            "{:<32} only with the real Claude: {}\n",
            case.name,
            case.real_only.unwrap_or_default()
        ));
    }
    let sum = |of: fn(&Marks) -> &(usize, Vec<String>)| {
        all.iter().map(of).fold((0, 0), |(held, of), (now, missed)| (held + now, of + now + missed.len()))
    };
    let ((know, of_know), (reach, of_reach)) = (sum(|marks| &marks.know), sum(|marks| &marks.reach));
    let lies: usize = all.iter().map(|marks| marks.lies.len()).sum();
    table.push_str(&format!("total: know {know}/{of_know}, lies {lies}, reach {reach}/{of_reach}"));
    say(&table);
    let broken: Vec<&str> =
        all.iter().filter(|marks| marks.broken.is_some()).map(|marks| marks.name).collect();
    assert!(broken.is_empty(), "not played to the end: {broken:?}");
    if only.is_none() {
        let floor = FLOOR.iter().find(|(agent, _)| *agent == kind).unwrap().1;
        let percent = |held: usize, of: usize| held * 100 / of.max(1);
        let score = Score { know: percent(know, of_know), reach: percent(reach, of_reach), lies };
        let holds = score.know >= floor.know && score.reach >= floor.reach && score.lies <= floor.lies;
        assert!(holds, "{score:?} is worse than {floor:?}");
    }
}

mod stand_in {
    #[test]
    fn exam() {
        super::exam(super::Kind::StandIn);
    }
}

mod real {
    #[test]
    fn exam() {
        super::exam(super::Kind::Real);
    }
}
