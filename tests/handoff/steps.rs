//! What the tests do alike: a home with a project, transcripts in it, and hopty run there.

use std::path::PathBuf;

use hopty::standin::script::Script;
use serde_json::{Value, json};

use super::support::claude::Kind;
use super::support::term::Term;
use super::support::world::World;

pub const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
pub const OTHER: &str = "0b0c9c5e-1111-4222-8333-444444444444";

/// A world in which no Claude runs.
pub fn world() -> World {
    World::with(
        Kind::StandIn,
        None,
        Script::each(|_, _| hopty::standin::script::ScriptedReply::text("Hello.").filling(3000)),
    )
}

/// A prompt and an answer that fills the window with `tokens`.
pub fn exchange(world: &World, id: &str, prompt: &str, answer: &str, tokens: u64) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": tokens - 10,
        "cache_creation_input_tokens": 0, "output_tokens": 77});
    let common = |mut line: Value| {
        line["cwd"] = json!(world.project);
        line["sessionId"] = json!(id);
        line["timestamp"] = json!("2026-11-20T14:29:50.000Z");
        line["isSidechain"] = json!(false);
        line
    };
    vec![
        common(json!({"type": "user", "message": {"role": "user", "content": prompt}})),
        common(json!({"type": "assistant", "message": {"id": format!("msg_{tokens}"),
                "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
            "usage": usage, "content": [{"type": "text", "text": answer}]}})),
    ]
}

/// Writes a transcript where Claude would.
pub fn transcript(world: &World, id: &str, lines: &[Value]) -> PathBuf {
    let name: String = world
        .project
        .to_str()
        .unwrap()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let dir = world.claude_dir().join("projects").join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(format!("{id}.jsonl"));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).unwrap();
    path
}

/// A transcript of one exchange.
pub fn talk(world: &World, id: &str, prompt: &str) -> PathBuf {
    transcript(world, id, &exchange(world, id, prompt, "It is done.", 50_000))
}

/// A handoff of one exchange; its id.
pub fn create(world: &World) -> String {
    talk(world, ID, "Build the bridge.");
    world.ask(&["handoff", "create"]).trim().to_owned()
}

/// A session in a terminal, after its first answer.
pub fn greeted(world: &World) -> Term {
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Say hello to me.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    term
}

pub fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

/// A verb that must fail with `code`; what it says on standard error.
pub fn fails(world: &World, args: &[&str], code: i32) -> String {
    let output = world.hopty(args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}{}", text(&output.stdout));
    assert!(
        said.starts_with("hopty: ") && said.lines().any(|line| line.starts_with("hint: ")),
        "{args:?}: {said}"
    );
    assert!(!said.contains("panicked"), "{said}");
    said
}

pub fn json_of(world: &World, args: &[&str]) -> Value {
    serde_json::from_str(&world.ask(args)).unwrap()
}

pub fn manifest_path(world: &World) -> PathBuf {
    world.claude_dir().join("handoff/global.manifest.json")
}

pub fn manifest(world: &World) -> Value {
    serde_json::from_slice(&std::fs::read(manifest_path(world)).unwrap()).unwrap()
}

/// A process that a claim is taken for. It ends with the test, however that ends.
pub struct Holder(std::process::Child);

impl Holder {
    pub fn new() -> Holder {
        let null = std::process::Stdio::null;
        let mut command = std::process::Command::new("sleep");
        Holder(command.arg("1000").stdin(null()).stdout(null()).stderr(null()).spawn().unwrap())
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.end();
    }
}
