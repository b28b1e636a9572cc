//! Plays a case: a person at a terminal, an API that answers from the case, and every brief on the way.

use std::collections::{HashMap, VecDeque};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hopty::core::config::ConfigKey;
use hopty::core::handoff::note::QUESTION;
use hopty::standin::request::ApiRequest;
use hopty::standin::script::{Script, ScriptedReply};

use super::brief::{Brief, Outcome, has_brief};
use super::case::{Case, Fill, Step, is_unsaid};
use super::history;
use super::support::claude::Kind;
use super::support::program_files;
use super::support::term::Term;
use super::support::wait::wait_within;
use super::support::wait_for;
use super::support::world::World;

/// After this long without a request a person presses Enter again.
const AGAIN: Duration = Duration::from_secs(5);
/// The same for a key that a dialog takes.
const PAUSE: Duration = Duration::from_millis(500);

/// What only the question in a tool loop says.
const LOOP: &str = "in front of its tool calls";

/// The answers that are still to be given.
#[derive(Default)]
struct Answers {
    replies: VecDeque<ScriptedReply>,
    /// How many of those that a case names were given.
    given: usize,
    /// How full the window was last.
    fill: u64,
    own_words: Option<&'static str>,
    /// Of each conversation, how often hopty had asked it for its own words.
    asked: HashMap<String, usize>,
    project: String,
}

impl Answers {
    fn next(&mut self, request: &ApiRequest) -> ScriptedReply {
        let conversation = request.session_id().unwrap_or_default().to_owned();
        let is_new = !self.asked.contains_key(&conversation);
        let asked: usize =
            request.texts().iter().map(|(_, text)| text.matches(&QUESTION[..60]).count()).sum();
        let before = self.asked.insert(conversation, asked).unwrap_or(0);
        if is_new && has_brief(request) {
            self.fill = 4000;
            return ScriptedReply::text("Continuing from where it was left.").filling(self.fill);
        }
        let texts = request.texts();
        // The newest question: in a tool loop it wants an answer in front of the next calls.
        let in_loop = texts
            .iter()
            .rev()
            .find(|(_, text)| text.contains(&QUESTION[..60]))
            .is_some_and(|(_, text)| text.contains(LOOP));
        let words =
            if asked > before { Some(self.own_words.unwrap_or("I have nothing to add.")) } else { None };
        if words.is_some() && !in_loop {
            self.fill += 1000;
            return ScriptedReply::text(words.unwrap_or_default()).filling(self.fill);
        }
        let mut reply = match self.replies.pop_front() {
            Some(reply) => {
                self.given += 1;
                reply
            }
            None => ScriptedReply::text("There is nothing more to do."),
        };
        if let Some(words) = words {
            reply = reply.saying(words);
        }
        if is_unsaid(&reply) {
            self.fill += 1000;
            reply = reply.filling(self.fill);
        }
        self.fill = reply.usage.input + reply.usage.cache_read;
        for (_, input) in &mut reply.tools {
            if let Some(path) = input
                .get("file_path")
                .and_then(|path| path.as_str())
                .map(|path| path.replace("PROJECT", &self.project))
            {
                input["file_path"] = path.into();
            }
        }
        reply
    }
}

/// A case that is being played.
struct Play {
    world: World,
    term: Option<Term>,
    answers: Arc<Mutex<Answers>>,
    briefs: Vec<Brief>,
    ordered: usize,
}

/// Plays a case to its end and looks at what came of it with `judge`; `None` where there is no such Claude.
pub fn play<T>(case: &Case, kind: Kind, judge: impl FnOnce(&Outcome) -> T) -> Option<T> {
    let answers = Arc::new(Mutex::new(Answers::default()));
    let for_script = Arc::clone(&answers);
    let script = Script::each(move |request, _| {
        for_script.lock().unwrap_or_else(PoisonError::into_inner).next(request)
    });
    let subagent = case.steps.iter().find_map(|step| match step {
        Step::SubagentSays(text) => Some(*text),
        _ => None,
    });
    let script =
        script.with_subagents(ScriptedReply::text(subagent.unwrap_or("The sub-agent is done.")).at(1));
    let mut world = World::new(kind, script)?;
    answers.lock().unwrap().project = world.project.display().to_string();
    if ConfigKey::find("restart", "wait_for_person").is_some() {
        // Nobody is waited for: a hand-over comes with the end of the turn.
        world.set("HOPTY_RESTART_WAIT_FOR_PERSON", "0s");
    }
    world.set("GIT_CONFIG_GLOBAL", "/dev/null");
    let mut play = Play { world, term: None, answers, briefs: Vec::new(), ordered: 0 };
    for step in &case.steps {
        play.step(step);
    }
    let verdict = judge(&play.outcome());
    play.leave();
    Some(verdict)
}

impl Play {
    fn step(&mut self, step: &Step) {
        match step {
            Step::File(path, content) => {
                let path = self.world.project.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, content).unwrap();
            }
            Step::Program(name, script) => self.program(name, script),
            Step::Commit => self.commit(),
            Step::Set(name, value) => self.world.set(name, value),
            Step::OwnWords(words) => {
                self.world.set("HOPTY_HANDOFF_SUMMARY", "auto");
                self.answers().own_words = Some(words);
            }
            Step::SubagentSays(_) => {}
            Step::Prompt(text, replies) => {
                self.ready();
                self.order(replies);
                self.type_text(text);
                self.enter();
            }
            Step::Paste { before, pasted, after, replies } => {
                self.ready();
                self.order(replies);
                self.type_text(before);
                self.term().send(format!("\x1b[200~{pasted}\x1b[201~"));
                self.term().wait_text("[Pasted text");
                self.type_text(after);
                self.enter();
            }
            Step::Steer(text, replies) => {
                self.order(replies);
                self.world.wait_state("busy");
                self.type_text(text);
                self.term().send("\r");
                let conversation = self.conversation();
                wait_for("the prompt in the queue", || {
                    let lines = self.world.transcript(&conversation);
                    lines
                        .iter()
                        .any(|l| l["operation"] == "enqueue" && l["content"].as_str() == Some(text))
                        .then_some(())
                });
                std::fs::write(self.world.project.join("go-on"), "").unwrap();
                self.answered();
            }
            Step::Interrupt(see) => {
                self.world.wait_state("busy");
                self.term().wait_text("esc to interrupt");
                if self.world.kind == Kind::Real {
                    self.term().wait_text(see);
                }
                self.term().send("\x1b");
                let conversation = self.conversation();
                wait_for("the interrupt", || {
                    let lines = self.world.transcript(&conversation);
                    lines
                        .iter()
                        .any(|l| l["message"].to_string().contains("Request interrupted"))
                        .then_some(())
                });
            }
            Step::Choose { see, down, replies } => {
                self.order(replies);
                self.term().wait_text(see);
                self.world.wait_state("blocked");
                for _ in 0..*down {
                    self.term().send("\x1b[B");
                }
                self.press_until_gone(see);
                self.answered();
            }
            Step::See(see) => {
                self.term().wait_text(see);
                self.world.wait_state("blocked");
                // Claude shows a dialog before it writes it down.
                let conversation = self.conversation();
                wait_for("the dialog in the transcript", || {
                    self.world
                        .transcript(&conversation)
                        .iter()
                        .any(|line| line["message"].to_string().contains(see))
                        .then_some(())
                });
            }
            Step::Command(command, see) => {
                self.ready();
                self.type_text(command);
                self.term().send("\r");
                self.term().wait_text(see);
            }
            Step::Panel(command, see) => {
                self.ready();
                self.type_text(command);
                self.term().send("\r");
                self.term().wait_text(see);
                self.term().send("\x1b");
                // What is typed right behind it would be a key with Alt.
                self.term().wait_box();
            }
            Step::Shell(command, answer) => {
                self.ready();
                self.type_text(command);
                self.order(&[ScriptedReply::text(*answer)]);
                self.term().send("\r");
                // The newest Claude says something about it, an older one does not.
                if wait_within(AGAIN, || (self.answers().given >= self.ordered).then_some(())).is_none() {
                    self.answers().replies.clear();
                    let given = self.answers().given;
                    self.ordered = given;
                }
            }
            Step::Compact => self.compact(),
            Step::Clear => self.clear(),
            Step::Draft(text) => {
                self.ready();
                self.type_text(text);
            }
            Step::Resume(exchanges) => self.resume(exchanges),
            Step::Restart(args) => {
                if args.is_empty() {
                    self.world.wait_state("idle");
                }
                self.world.ask(&[&["restart", "proj"], *args].concat());
                self.hand_over();
            }
            Step::HandOver => self.hand_over(),
        }
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn term(&self) -> &Term {
        self.term.as_ref().expect("a session")
    }

    /// Starts the session, or waits until the last turn is over.
    fn ready(&mut self) {
        if self.term.is_none() {
            self.term = Some(self.world.start_sized(&[], (120, 60)));
            self.term().wait_box();
        }
        self.world.wait_state("idle");
        self.term().wait_box();
    }

    fn order(&mut self, replies: &[ScriptedReply]) {
        self.ordered += replies.len();
        self.answers().replies.extend(replies.iter().cloned());
    }

    /// The conversation that asked last.
    fn conversation(&self) -> String {
        let last = self.world.api.main_requests().pop().expect("a request");
        last.session_id().unwrap_or_default().to_owned()
    }

    /// Types as a person does who sees what is typed: a line break is no Enter, and nothing is taken for a
    /// paste.
    fn type_text(&self, text: &str) {
        let squeeze = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        for (n, line) in text.split('\n').enumerate() {
            if n > 0 {
                self.term().send("\n");
            }
            let chars: Vec<char> = line.chars().collect();
            for piece in chars.chunks(60) {
                let piece: String = piece.iter().collect();
                self.term().send(&piece);
                let end: String =
                    squeeze(&piece).chars().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect();
                let shown = |screen: &hopty::screen::Screen| squeeze(&screen.lines().concat()).contains(&end);
                self.term().wait_for(&format!("{piece:?} in the box"), shown);
            }
        }
    }

    /// Presses Enter, until all answers were given that were ordered.
    fn enter(&self) {
        let before = self.answers().given;
        self.term().send("\r");
        if before < self.ordered
            && wait_within(AGAIN, || (self.answers().given > before).then_some(())).is_none()
        {
            self.term().send("\r");
        }
        self.answered();
    }

    fn answered(&self) {
        let given = || (self.answers().given >= self.ordered).then_some(());
        if wait_within(Duration::from_secs(30), given).is_none() {
            let left = self.answers().replies.len();
            panic!(
                "{left} answers were not asked for; the screen shows:\n{}",
                self.term().lines().join("\n")
            );
        }
    }

    fn press_until_gone(&self, see: &str) {
        let mut last = Instant::now() - PAUSE;
        wait_for("the dialog to close", || {
            let stands = self.term().lines().iter().any(|line| line.contains(see))
                && self.term().lines().join("\n").contains("Enter to select");
            if stands && last.elapsed() >= PAUSE {
                self.term().send("\r");
                last = Instant::now();
            }
            (!stands).then_some(())
        });
    }

    fn program(&mut self, name: &str, script: &str) {
        let dir = self.world.home.join("programs");
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(name);
        program_files::write(&path, &format!("#!/bin/sh\n{script}\n"));
        let rest = std::env::var("PATH").unwrap_or_default();
        self.world.set("PATH", &format!("{}:{rest}", dir.display()));
    }

    fn commit(&self) {
        for args in [
            &["init", "-q", "-b", "trunk"][..],
            &["add", "."],
            &["commit", "-q", "--allow-empty", "-m", "As it was"],
        ] {
            let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
            let mut git = Command::new("git");
            git.current_dir(&self.world.project).env("GIT_CONFIG_GLOBAL", "/dev/null").args(who).args(args);
            assert!(git.status().unwrap().success());
        }
    }

    fn compact(&mut self) {
        self.ready();
        let conversation = self.conversation();
        self.type_text("/compact");
        self.term().send("\r");
        wait_for("the compaction", || {
            let lines = self.world.transcript(&conversation);
            lines.iter().any(|line| line["subtype"] == "compact_boundary").then_some(())
        });
        // What was full is not any more.
        self.answers().fill = 20_000;
    }

    fn clear(&mut self) {
        self.ready();
        let old = self.conversation();
        self.type_text("/clear");
        self.term().send("\r");
        wait_for("another conversation", || {
            let now = self.world.status()["conversation"].as_str().unwrap_or_default().to_owned();
            (!now.is_empty() && now != old).then_some(())
        });
        self.answers().fill = 0;
    }

    fn resume(&mut self, exchanges: &[(String, String)]) {
        self.ready();
        let conversation = self.conversation();
        let mut term = self.term.take().expect("a session");
        term.submit("/exit");
        assert_eq!(term.wait_exit(), 0);
        self.world.assert_nothing_left();
        history::add(&self.world, &conversation, exchanges);
        self.term = Some(self.world.start_sized(&["--resume", &conversation], (120, 60)));
        self.term().wait_box();
    }

    /// Waits for the first request of one conversation more that begins with a brief.
    fn hand_over(&mut self) {
        let n = self.briefs.len();
        let find = || {
            let requests = self.world.api.main_requests();
            let mut told: Vec<String> = Vec::new();
            for (at, request) in requests.iter().enumerate().filter(|(_, request)| has_brief(request)) {
                let id = request.session_id().unwrap_or_default().to_owned();
                if !told.contains(&id) {
                    told.push(id);
                    if told.len() > n {
                        let old = requests[..at].last().and_then(|old| old.session_id()).unwrap_or_default();
                        return Some(Brief::of(request, old, &self.world.home, &self.world.project));
                    }
                }
            }
            None
        };
        let Some(brief) = wait_within(Duration::from_secs(40), find) else {
            let screen = self.term().lines().join("\n");
            panic!("hand-over {} does not come\n{}\nthe screen shows:\n{screen}", n + 1, self.world.story());
        };
        self.briefs.push(brief);
        self.world.wait_state("idle");
    }

    fn outcome(&mut self) -> Outcome {
        let conversation = self.conversation();
        let requests = self.world.api.requests_of(&conversation);
        let later = requests
            .iter()
            .skip(1)
            .flat_map(|request| request.texts())
            .map(|(_, text)| text + "\n")
            .collect();
        let screen = self.term().lines().join("\n");
        Outcome { briefs: std::mem::take(&mut self.briefs), screen, later }
    }

    fn leave(mut self) {
        self.world.ask(&["stop", "proj"]);
        if let Some(mut term) = self.term.take() {
            term.wait_exit();
        }
        self.world.assert_nothing_left();
    }
}
