//! A conversation from its first prompt to `/exit`, and where another begins.

use std::process::Command;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::json;

use super::steps::{assert_handed_over, main_requests, quiet_talk, submit, talk, text_of};
use super::support::claude::Kind;
use super::support::wait_for;
use super::support::world::World;

pub fn a_prompt_is_answered_and_exit_leaves_a_whole_terminal(kind: Kind) {
    let Some(world) =
        World::new(kind, Script::list([ScriptedReply::text("The answer is 42.").filling(1000)]))
    else {
        return;
    };
    let settings = std::fs::read(world.claude_dir().join("settings.json")).unwrap();
    let term = world.start(&[]);
    submit(&term, "what is the answer?");
    term.wait_text("The answer is 42.");
    world.wait_state("idle");
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    assert!(!world.transcript(&conversation).is_empty(), "a transcript is written");
    world.leave(term);
    assert_eq!(
        std::fs::read(world.claude_dir().join("settings.json")).unwrap(),
        settings,
        "settings are left alone"
    );
}

pub fn item_002_clear_begins_another_conversation_and_it_is_followed(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    submit(&term, "/clear");
    let changed = world.wait_decision("conversation.changed", 1);
    let new = text_of(&changed, "conversation");
    assert_ne!(new, conversation);
    // A signal that names the old one is foreign now; one that names the new one is obeyed.
    let signal = world.claude_dir().join(".restart-session");
    std::fs::write(&signal, format!("{conversation}:{}", world.project.display())).unwrap();
    world.wait_decision("restart.ignored", 1);
    submit(&term, "Say hello to me, newly.");
    wait_for("the answer", || (main_requests(&world, &new).len() == 1).then_some(()));
    world.wait_state("idle");
    let replaced = signal.with_extension("new");
    std::fs::write(&replaced, format!("{new}:{}", world.project.display())).unwrap();
    std::fs::rename(&replaced, &signal).unwrap();
    world.wait_decision("handoff.consumed", 1);
    let submitted = world.wait_decision("delivery.submitted", 1);
    let first = main_requests(&world, &text_of(&submitted, "conversation")).into_iter().next().unwrap();
    assert!(
        first.contains(&format!("Previous Session: {new}")),
        "the handoff is of the conversation that asked"
    );
    assert!(
        first.contains("Say hello to me, newly.") && !first.contains("Say hello to me."),
        "the goal is what came after `/clear`"
    );
    world.leave(term);
}

pub fn a_claude_inside_a_claude_writes_its_transcript(kind: Kind) {
    let Some(mut world) = World::new(kind, quiet_talk()) else { return };
    for name in [
        "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT",
        "AI_AGENT",
    ] {
        world.set(name, "1");
    }
    let (term, conversation) = talk(&world);
    wait_for("the transcript", || (!world.transcript(&conversation).is_empty()).then_some(()));
    world.leave(term);
}

/// After a hand-over, too: an empty list of tasks, no goal of before, and nothing of it in the next handoff.
pub fn clear_after_a_hand_over_is_a_new_job(kind: Kind) {
    let script =
        Script::each(|request, _| match (request.continued_handoff(), request.assistant_messages()) {
            (None, 0) if request.contains("Build the old wall.") => {
                let subjects = ["Lay the old bricks", "Paint the old wall"];
                let reply = ScriptedReply::text("").filling(3000);
                subjects.iter().fold(reply, |reply, subject| {
                    reply.and_tool("TaskCreate", json!({"subject": subject, "description": "d"}))
                })
            }
            (None, 0) if request.contains("Write the new song.") => {
                ScriptedReply::tool("TaskList", json!({})).filling(3000)
            }
            (Some(id), _) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
            _ => ScriptedReply::text("Hello.").filling(3000),
        });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    submit(&term, "Build the old wall.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    world.ask(&["restart", "proj"]);
    let (_, second) = assert_handed_over(&world, 1, "Build the old wall.");
    let first = main_requests(&world, &second).remove(0);
    assert!(first.contains("Paint the old wall"), "the hand-over takes the tasks along");
    let list = world.claude_dir().join("tasks").join(&second);
    assert!(list.join("2.json").is_file(), "and Claude's own list");
    submit(&term, "/clear");
    let third = wait_for("another conversation", || {
        Some(text_of(&world.status(), "conversation")).filter(|now| *now != second)
    });
    submit(&term, "Write the new song.");
    wait_for("the list of tasks to be read", || (main_requests(&world, &third).len() >= 2).then_some(()));
    world.wait_state("idle");
    let told = main_requests(&world, &third).pop().unwrap();
    assert!(!told.contains("old bricks") && !told.contains("old wall"), "the new job's list is empty");
    assert!(list.join("2.json").is_file(), "the old one is left alone");
    world.ask(&["restart", "proj"]);
    let (old, new) = assert_handed_over(&world, 2, "Write the new song.");
    assert_eq!(old, second, "the run began with it");
    let first = main_requests(&world, &new).remove(0);
    assert!(!first.contains("old bricks") && !first.contains("old wall"), "{}", world.story());
    world.leave(term);
}

/// Two Claudes on one transcript would spoil it for both.
pub fn a_conversation_that_a_session_runs_is_not_started_twice(kind: Kind) {
    let Some(world) = World::new(kind, quiet_talk()) else { return };
    let (term, conversation) = talk(&world);
    for args in
        [&["--resume", conversation.as_str()][..], &["-r", conversation.as_str()], &["--continue"], &["-c"]]
    {
        let mut second = world.start(args);
        second.wait_text("proj: this session already runs the conversation");
        second.wait_text("hint: `hopty attach proj` attaches to it; add `--fork-session`");
        assert_eq!(second.wait_exit(), 4, "{args:?}");
    }
    assert_eq!(text_of(&world.status(), "conversation"), conversation);
    if kind == Kind::Real {
        let mut fork = world.start(&["--resume", conversation.as_str(), "--fork-session"]);
        fork.wait_box();
        world.ask(&["stop", "proj-2"]);
        assert_eq!(fork.wait_exit(), 143);
    }
    world.leave(term);
    let mut again = world.start(&["--resume", conversation.as_str()]);
    again.wait_box();
    world.ask(&["stop", "proj"]);
    assert_eq!(again.wait_exit(), 143);
}

/// Where it works is what git is asked about: the branch, the changes and what is new are the worktree's, and
/// the handoff says which directory that is.
pub fn git_is_of_the_worktree_that_the_conversation_went_to(kind: Kind) {
    let go = "git worktree add -q -b side .claude/worktrees/side && cd .claude/worktrees/side && echo two \
              bricks > wall.txt";
    let script =
        Script::each(move |request, _| match (request.continued_handoff(), request.assistant_messages()) {
            (Some(id), _) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
            (None, 0) => ScriptedReply::bash(go).filling(20_000),
            (None, 1) => ScriptedReply::bash("cat wall.txt").filling(190_000),
            (None, _) => ScriptedReply::text("No more.").filling(191_000),
        });
    let Some(world) = World::new(kind, script) else { return };
    std::fs::write(world.project.join("wall.txt"), "one brick\n").unwrap();
    for args in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", "A brick"]] {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let mut git = Command::new("git");
        assert!(
            git.current_dir(&world.project)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .args(who)
                .args(args)
                .status()
                .unwrap()
                .success()
        );
    }
    let term = world.start(&[]);
    submit(&term, "Build the wall higher.");
    let (_, new) = assert_handed_over(&world, 1, "Build the wall higher.");
    let side = world.project.join(".claude/worktrees/side");
    let first = main_requests(&world, &new).remove(0);
    for text in [format!("git in {}: branch side at ", side.display()), ".M wall.txt".to_owned()] {
        assert!(first.contains(&text), "{text} is missing\n{}", world.story());
    }
    let id = text_of(&world.wait_decision("handoff.saved", 1), "handoff");
    let record = world.claude_dir().join("handoff/records").join(id);
    assert!(std::fs::read_to_string(record.join("changes.patch")).unwrap().contains("+two bricks"));
    world.leave(term);
}
