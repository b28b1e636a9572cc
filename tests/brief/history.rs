//! Exchanges that a conversation had before, written into its transcript as Claude writes them.

use serde_json::{Value, json};
use uuid::Uuid;

use super::support::world::World;

/// Adds exchanges to the end of a conversation that nobody runs, in the form of those that it has.
pub fn add(world: &World, conversation: &str, exchanges: &[(String, String)]) {
    if exchanges.is_empty() {
        return;
    }
    let lines = world.transcript(conversation);
    let newest = |wanted: &dyn Fn(&Value) -> bool| {
        lines.iter().rev().find(|line| wanted(line)).expect("an exchange").clone()
    };
    let prompt =
        newest(&|line| line["type"] == "user" && line["isMeta"] != true && line["promptSource"] == "typed");
    let answer =
        newest(&|line| line["type"] == "assistant" && line["message"]["content"][0]["type"] == "text");
    let last = lines.iter().rev().find(|line| line["type"] == "last-prompt").cloned();
    let mut leaf = newest(&|line| line["uuid"].is_string() && line["isSidechain"] != true)["uuid"].clone();
    let mut text = String::new();
    let mut add = |mut line: Value, leaf: &mut Value| {
        line["parentUuid"] = leaf.clone();
        line["uuid"] = json!(Uuid::new_v4().to_string());
        *leaf = line["uuid"].clone();
        text.push_str(&format!("{line}\n"));
    };
    for (asked, said) in exchanges {
        let mut line = prompt.clone();
        line["message"]["content"] = json!(asked);
        line["promptId"] = json!(Uuid::new_v4().to_string());
        add(line, &mut leaf);
        let mut line = answer.clone();
        line["message"]["content"] = json!([{"type": "text", "text": said}]);
        line["message"]["id"] = json!(format!("msg_{}", Uuid::new_v4().simple()));
        add(line, &mut leaf);
    }
    if let Some(mut last) = last {
        last["lastPrompt"] = json!(exchanges.last().map(|(asked, _)| asked));
        last["leafUuid"] = leaf;
        text.push_str(&format!("{last}\n"));
    }
    let projects = world.claude_dir().join("projects");
    let dirs = std::fs::read_dir(projects).unwrap().flatten();
    let path = dirs
        .map(|dir| dir.path().join(format!("{conversation}.jsonl")))
        .find(|path| path.is_file())
        .expect("a transcript");
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
}
