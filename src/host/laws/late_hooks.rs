//! Hook calls that arrive too late for an answer: what they report is not lost.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{World, config};
use crate::core::process_change::ProcessEnd;
use crate::core::supervisor::phase::Phase;

impl World {
    /// A Claude at its prompt.
    fn at_its_prompt() -> World {
        let mut world = World::new(false, config());
        for _ in 0..3 {
            world.rest();
            world.act(9);
        }
        world.rest();
        world
    }

    fn submit(&mut self, prompt: &str) {
        let now = self.now();
        self.host.keyboard.draft.note(format!("{prompt}\r").as_bytes(), now);
        self.hook("UserPromptSubmit", json!({ "prompt": prompt }));
    }

    /// Claude writes the prompt to its transcript.
    fn record(&mut self, prompt: &str) {
        let line = json!({"type": "user", "uuid": prompt, "message": {"role": "user", "content": prompt}});
        let mut file = std::fs::OpenOptions::new().append(true).open(self.transcript()).unwrap();
        writeln!(file, "{line}").unwrap();
        self.host.observer.read_on();
        self.rest();
    }

    /// Rests until the host stops the run.
    fn stops(&mut self) {
        for _ in 0..9 {
            if matches!(self.host.phase(), Phase::Stopping { .. }) {
                break;
            }
            self.work();
            self.rest();
        }
        assert!(matches!(self.host.phase(), Phase::Stopping { .. }), "{}", self.story());
    }

    /// The run ends as requested, and the next one takes everything that was kept for it.
    fn goes_on_with(&mut self, prompt: &str) {
        self.end(ProcessEnd::Exited(143));
        self.rest();
        // On a busy machine the run's processes are reaped later.
        let until = Instant::now() + Duration::from_secs(30);
        while matches!(self.host.phase(), Phase::Stopping { .. }) && Instant::now() < until {
            self.work();
            self.rest();
        }
        let kept: Vec<&str> = self.host.keyboard.carried.unsent().collect();
        assert_eq!(kept, [prompt], "{}", self.story());
    }
}

#[test]
fn a_call_whose_process_has_given_up_is_heard() {
    let mut world = World::at_its_prompt();
    let turn = |world: &World| json!(world.host.recorder.supervisor)["run"]["turn"]["state"].clone();
    assert_eq!(turn(&world), "idle");
    world.submit("count the stars");
    // The host was busy: it reads the call and the end of the connection together.
    world.callers.clear();
    world.pass_resting(500);
    assert_eq!(turn(&world), "busy", "{}", world.story());
    assert!(world.host.control.hooks.is_empty());
}

#[test]
fn a_prompt_that_no_scan_has_followed_goes_to_the_next_run() {
    let mut world = World::at_its_prompt();
    world.request(json!({"do": "restart", "no_handoff": true}), 1000);
    world.rest();
    assert!(matches!(world.host.phase(), Phase::Stopping { .. }), "{:?}", world.host.phase());
    world.hangs_until = Some(world.now().after(10_000));
    world.submit("count the stars");
    world.rest();
    world.goes_on_with("count the stars");
}

#[test]
fn a_prompt_that_comes_before_a_run_is_stopped_right_away_goes_to_the_next_one() {
    let mut world = World::at_its_prompt();
    world.submit("name the planets");
    world.rest();
    world.record("name the planets");
    world.request(json!({"do": "restart", "now": true}), 1000);
    world.rest();
    assert!(matches!(world.host.phase(), Phase::Saving { .. }), "{:?}", world.host.phase());
    world.submit("count the stars");
    world.rest();
    world.stops();
    world.goes_on_with("count the stars");
}

#[test]
fn a_prompt_that_claude_has_not_written_down_goes_to_the_next_run() {
    let mut world = World::at_its_prompt();
    world.submit("name the planets");
    world.rest();
    world.request(json!({"do": "restart", "now": true}), 1000);
    world.stops();
    world.goes_on_with("name the planets");
}
