//! What the tests do alike: a talk, a hand-over, and a look at the project's files.

use std::path::{Path, PathBuf};

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use super::support::claude::Kind;
use super::support::term::Term;
use super::support::world::World;

/// A world whose stand-in says hello and goes on from handoffs, with these views.
pub fn world(views: &str) -> World {
    world_of(Kind::StandIn, views).unwrap()
}

/// The same with this Claude.
pub fn world_of(kind: Kind, views: &str) -> Option<World> {
    answering(kind, views, |continued| match continued {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => ScriptedReply::text("Hello.").filling(3000),
    })
}

/// The same with other answers, by the handoff that is gone on from.
pub fn with(views: &str, answer: impl Fn(Option<String>) -> ScriptedReply + Send + Sync + 'static) -> World {
    answering(Kind::StandIn, views, answer).unwrap()
}

fn answering(
    kind: Kind,
    views: &str,
    answer: impl Fn(Option<String>) -> ScriptedReply + Send + Sync + 'static,
) -> Option<World> {
    let script = Script::each(move |request, _| answer(request.continued_handoff().map(|id| id.to_string())));
    let mut world = World::new(kind, script)?;
    if !views.is_empty() {
        world.set("HOPTY_HANDOFF_VIEWS", views);
    }
    Some(world)
}

/// Says hello; the conversation.
pub fn talk(world: &World) -> (Term, String) {
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Say hello to me.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    (term, conversation)
}

/// A hand-over that was asked for, to its end; the handoff's id.
pub fn hand_over(world: &World, n: usize) -> String {
    world.ask(&["restart", "proj"]);
    consumed(world, n)
}

pub fn consumed(world: &World, n: usize) -> String {
    world.wait_decision("handoff.consumed", n)["handoff"].as_str().unwrap().to_owned()
}

pub fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
        .unwrap()
}

/// The kinds of decisions so far.
pub fn kinds(world: &World) -> Vec<String> {
    world.decisions().iter().map(|d| d["kind"].as_str().unwrap().to_owned()).collect()
}

/// The files directly below a directory.
pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A file of a while ago: file times are as coarse as the kernel's tick, so one of this very moment counts as
/// new.
pub fn of_before(path: &Path) {
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(2);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

pub fn below(world: &World, path: &str) -> PathBuf {
    world.project.join(path)
}

/// What the terminal was sent so far, without escape sequences being read.
pub fn sent(term: &Term) -> String {
    term.drained();
    String::from_utf8_lossy(&term.bytes()).into_owned()
}
