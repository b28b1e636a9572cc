//! A case of the exam as data: what the person does, what Claude answers, and what the next Claude must know.

use hopty::standin::script::{ReplyUsage, ScriptedReply};
use serde_json::json;

use super::facts::Fact;

/// What happens next in a session.
pub enum Step {
    /// A file of the project.
    File(&'static str, String),
    /// A shell script of this name in front of everything else in `PATH`.
    Program(&'static str, &'static str),
    /// Everything so far is the first commit of a repository.
    Commit,
    /// An environment variable for hopty and Claude.
    Set(&'static str, &'static str),
    /// Claude's answer whenever hopty asks it for its own words.
    OwnWords(&'static str),
    /// Every sub-agent's report.
    SubagentSays(&'static str),
    /// The person types a prompt and sees Claude give these answers.
    Prompt(String, Vec<ScriptedReply>),
    /// The same with a paste between what is typed before and after it.
    Paste { before: &'static str, pasted: String, after: &'static str, replies: Vec<ScriptedReply> },
    /// While a tool of the answer before waits (`WAITS`), the person types a prompt; then the tool ends.
    Steer(&'static str, Vec<ScriptedReply>),
    /// While a tool of the answer before waits, or the answer comes, the person sees this text and presses
    /// Esc. The stand-in agent shows an answer when it is whole, so there it is pressed at once.
    Interrupt(&'static str),
    /// Once `see` is on the screen, the person goes down `down` options and presses Enter.
    Choose { see: &'static str, down: usize, replies: Vec<ScriptedReply> },
    /// The person leaves it at that once `see` is on the screen.
    See(&'static str),
    /// A slash command, until the second text is on the screen.
    Command(&'static str, &'static str),
    /// The same with a panel that Esc closes.
    Panel(&'static str, &'static str),
    /// A shell command (`!`), and what Claude says to it where it says anything.
    Shell(&'static str, &'static str),
    /// `/compact`, until it is done.
    Compact,
    /// `/clear`, until there is another conversation.
    Clear,
    /// The person types and does not press Enter.
    Draft(&'static str),
    /// `/exit`, then `--resume`; meanwhile these exchanges are added to the transcript.
    Resume(Vec<(String, String)>),
    /// `hopty restart` with these arguments, until the new conversation has been told.
    Restart(&'static [&'static str]),
    /// The hand-over that the last answer has caused, until the new conversation has been told.
    HandOver,
}

/// A command that waits until the person has done something.
pub const WAITS: &str = "until [ -e go-on ]; do sleep 0.05; done; rm go-on";

/// One case.
pub struct Case {
    pub name: &'static str,
    /// Why the stand-in agent cannot play it.
    pub real_only: Option<&'static str>,
    pub steps: Vec<Step>,
    /// Must stand in what the new conversation is told first.
    pub know: Vec<Fact>,
    /// Must stand there, or in a file that it names.
    pub reach: Vec<Fact>,
    /// Must not be so: the new conversation would be told something that is not true.
    pub lies: Vec<Fact>,
}

/// A case without steps.
pub fn case(name: &'static str) -> Case {
    Case { name, real_only: None, steps: Vec::new(), know: Vec::new(), reach: Vec::new(), lies: Vec::new() }
}

/// Facts of any kind, texts among them.
macro_rules! facts {
    ($($fact:expr),* $(,)?) => { vec![$($crate::facts::Fact::from($fact)),*] };
}
pub(crate) use facts;

impl Case {
    pub fn step(mut self, step: Step) -> Case {
        self.steps.push(step);
        self
    }

    pub fn real_only(mut self, why: &'static str) -> Case {
        self.real_only = Some(why);
        self
    }

    pub fn file(self, path: &'static str, content: impl Into<String>) -> Case {
        self.step(Step::File(path, content.into()))
    }

    pub fn program(self, name: &'static str, script: &'static str) -> Case {
        self.step(Step::Program(name, script))
    }

    pub fn commit(self) -> Case {
        self.step(Step::Commit)
    }

    pub fn prompt(self, text: impl Into<String>, replies: impl IntoIterator<Item = ScriptedReply>) -> Case {
        self.step(Step::Prompt(text.into(), replies.into_iter().collect()))
    }

    /// A prompt that is answered by a text.
    pub fn talk(self, text: impl Into<String>, answer: impl Into<String>) -> Case {
        self.prompt(text, [say(answer)])
    }

    pub fn steer(self, text: &'static str, replies: impl IntoIterator<Item = ScriptedReply>) -> Case {
        self.step(Step::Steer(text, replies.into_iter().collect()))
    }

    pub fn hand_over(self) -> Case {
        self.step(Step::HandOver)
    }

    pub fn restart(self) -> Case {
        self.step(Step::Restart(&[]))
    }

    pub fn know(mut self, facts: Vec<Fact>) -> Case {
        self.know.extend(facts);
        self
    }

    pub fn reach(mut self, facts: Vec<Fact>) -> Case {
        self.reach.extend(facts);
        self
    }

    pub fn lies(mut self, facts: Vec<Fact>) -> Case {
        self.lies.extend(facts);
        self
    }
}

/// How full an answer says that the window of 200,000 tokens is. One that says nothing is a little fuller
/// than the one before.
pub trait Fill {
    fn at(self, percent: u64) -> ScriptedReply;
}

impl Fill for ScriptedReply {
    fn at(self, percent: u64) -> ScriptedReply {
        self.filling(percent * 2000)
    }
}

/// The fill of an answer that says nothing about it.
pub fn is_unsaid(reply: &ScriptedReply) -> bool {
    reply.usage == ReplyUsage::filled(1000)
}

pub fn say(text: impl Into<String>) -> ScriptedReply {
    ScriptedReply::text(text)
}

pub fn bash(command: &str) -> ScriptedReply {
    ScriptedReply::bash(command)
}

/// Claude's real tools want absolute paths: the driver puts the project's directory for `PROJECT`.
pub fn write(path: &str, content: &str) -> ScriptedReply {
    ScriptedReply::tool("Write", json!({"file_path": format!("PROJECT/{path}"), "content": content}))
}

pub fn read(path: &str) -> ScriptedReply {
    ScriptedReply::tool("Read", json!({"file_path": format!("PROJECT/{path}")}))
}

pub fn read_lines(path: &str, offset: u64, limit: u64) -> ScriptedReply {
    ScriptedReply::tool(
        "Read",
        json!({"file_path": format!("PROJECT/{path}"), "offset": offset, "limit": limit}),
    )
}

pub fn edit(path: &str, old: &str, new: &str) -> ScriptedReply {
    ScriptedReply::tool(
        "Edit",
        json!({"file_path": format!("PROJECT/{path}"), "old_string": old, "new_string": new}),
    )
}

/// New to-dos, all in one answer.
pub fn plan(subjects: &[&str]) -> ScriptedReply {
    let add = |reply: ScriptedReply, subject: &&str| {
        reply.and_tool("TaskCreate", json!({"subject": subject, "description": "planned"}))
    };
    subjects.iter().fold(say(""), add)
}

/// To-dos by their numbers, all in one answer.
pub fn mark(status: &str, numbers: &[u32]) -> ScriptedReply {
    let add = |reply: ScriptedReply, n: &u32| {
        reply.and_tool("TaskUpdate", json!({"taskId": n.to_string(), "status": status}))
    };
    numbers.iter().fold(say(""), add)
}

/// Claude's question dialog.
pub fn ask(question: &str, options: &[&str]) -> ScriptedReply {
    let options: Vec<_> = options
        .iter()
        .map(|label| json!({"label": label, "description": format!("takes {label}")}))
        .collect();
    let asked = json!({"question": question, "header": "Choice", "options": options, "multiSelect": false});
    ScriptedReply::tool("AskUserQuestion", json!({"questions": [asked]}))
}
