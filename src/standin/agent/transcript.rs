//! The transcript file and its lines.
//!
//! As in the real program, the file does not exist before the first prompt, lines are written about 0.1 s
//! after they were made (so a hook can be faster than the file), and a killed agent loses lines that were
//! not written. The lines are those of 2.1.329 (samples of the real program), without the parts that nobody
//! reads.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::agent_shared::lock;
use super::options::VERSION;

/// The delay before lines are written.
const FLUSH: Duration = Duration::from_millis(100);

/// The current time as in a transcript: RFC 3339, UTC, milliseconds.
pub(super) fn now() -> String {
    chrono::Utc::now().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Whether a conversation is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    On,
    /// It is not, because `CLAUDE_CODE_CHILD_SESSION` was inherited.
    Off,
}

/// The transcript file of an agent; `/clear` switches to another.
pub(super) struct TranscriptOutput {
    shared: Arc<AgentFileShared>,
    writer: Option<JoinHandle<()>>,
    persistence: Persistence,
}

#[derive(Default)]
struct AgentFileShared {
    state: Mutex<AgentFileState>,
    changed: Condvar,
}

#[derive(Default)]
struct AgentFileState {
    path: PathBuf,
    open: bool,
    over: bool,
    waiting: Vec<u8>,
}

impl TranscriptOutput {
    /// A transcript that will be at `path` once it is opened.
    pub(super) fn new(path: PathBuf, persistence: Persistence) -> TranscriptOutput {
        let shared = Arc::new(AgentFileShared {
            state: Mutex::new(AgentFileState { path, ..AgentFileState::default() }),
            ..AgentFileShared::default()
        });
        let for_thread = Arc::clone(&shared);
        let writer = (persistence == Persistence::On).then(|| thread::spawn(move || write_on(&for_thread)));
        TranscriptOutput { shared, writer, persistence }
    }

    pub(super) fn path(&self) -> PathBuf {
        lock(&self.shared.state).path.clone()
    }

    /// Writes lines to the file from now on: the first prompt was accepted.
    pub(super) fn open(&self) {
        lock(&self.shared.state).open = true;
        self.shared.changed.notify_all();
    }

    pub(super) fn line(&self, line: &Value) {
        if self.persistence == Persistence::On {
            let mut state = lock(&self.shared.state);
            if state.over {
                return;
            }
            state.waiting.extend_from_slice(line.to_string().as_bytes());
            state.waiting.push(b'\n');
            drop(state);
            self.shared.changed.notify_all();
        }
    }

    /// Writes waiting lines, then continues in another file, which [`TranscriptOutput::open`] creates.
    pub(super) fn switch(&self, path: PathBuf) {
        self.flush();
        let mut state = lock(&self.shared.state);
        state.path = path;
        state.open = false;
        state.waiting.clear();
    }

    /// Writes waiting lines if the file was opened.
    pub(super) fn flush(&self) {
        write_out(&mut lock(&self.shared.state));
    }

    /// Writes waiting lines, and drops later ones: the result of a tool that the exit kills is never
    /// written.
    pub(super) fn end(&self) {
        self.flush();
        lock(&self.shared.state).over = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for TranscriptOutput {
    fn drop(&mut self) {
        lock(&self.shared.state).over = true;
        self.shared.changed.notify_all();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn write_on(shared: &AgentFileShared) {
    let mut state = lock(&shared.state);
    loop {
        while !state.over && (!state.open || state.waiting.is_empty()) {
            state = shared.changed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        if !state.over {
            drop(state);
            thread::sleep(FLUSH);
            state = lock(&shared.state);
        }
        write_out(&mut state);
        if state.over {
            return;
        }
    }
}

fn write_out(state: &mut AgentFileState) {
    if !state.open || state.waiting.is_empty() {
        return;
    }
    if let Some(dir) = state.path.parent() {
        let _ = fs::create_dir_all(dir);
    }
    // Whole lines in one write, as the real program does: a reader sees no partial line unless the disk is
    // full.
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).mode(0o600).open(&state.path) {
        let _ = file.write_all(&state.waiting);
    }
    state.waiting.clear();
}

/// Creates the lines of one conversation, each naming the previous one.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) session: String,
    cwd: String,
    branch: String,
    parent: Option<String>,
}

impl Chain {
    pub(super) fn new(session: &str, cwd: &str, branch: &str) -> Chain {
        Chain { session: session.into(), cwd: cwd.into(), branch: branch.into(), parent: None }
    }

    /// Changes the working directory of the next lines.
    pub(super) fn go(&mut self, cwd: &str) {
        cwd.clone_into(&mut self.cwd);
    }

    /// A line of the conversation itself (user, assistant, system, attachment); returns the line and its
    /// id.
    pub(super) fn link(&mut self, kind: &str, fields: Value) -> (Value, String) {
        let id = Uuid::new_v4().to_string();
        let mut line = Map::new();
        line.insert("parentUuid".into(), json!(self.parent));
        line.insert("isSidechain".into(), json!(false));
        line.insert("type".into(), json!(kind));
        line.extend(object(fields));
        line.insert("uuid".into(), json!(id));
        line.insert("timestamp".into(), json!(now()));
        for (key, value) in [
            ("userType", "external"),
            ("entrypoint", "cli"),
            ("cwd", self.cwd.as_str()),
            ("sessionId", self.session.as_str()),
            ("version", VERSION),
            ("gitBranch", self.branch.as_str()),
        ] {
            line.insert(key.into(), json!(value));
        }
        self.parent = Some(id.clone());
        (Value::Object(line), id)
    }

    /// A line about the conversation (mode, queue-operation, ...), outside of the chain.
    pub(super) fn note(&self, kind: &str, fields: Value) -> Value {
        let mut line = Map::new();
        line.insert("type".into(), json!(kind));
        line.extend(object(fields));
        line.insert("sessionId".into(), json!(self.session));
        Value::Object(line)
    }

    /// The id of the newest line.
    pub(super) fn leaf(&self) -> Option<&str> {
        self.parent.as_deref()
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_after_the_first_prompt() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("a/one.jsonl"), dir.path().join("two.jsonl"));
        let transcript = TranscriptOutput::new(one.clone(), Persistence::On);
        transcript.line(&json!({"n": 1}));
        transcript.flush();
        assert!(!one.exists());
        transcript.open();
        transcript.line(&json!({"n": 2}));
        transcript.switch(two.clone());
        transcript.line(&json!({"n": 3}));
        drop(transcript);
        assert_eq!(fs::read_to_string(&one).unwrap(), "{\"n\":1}\n{\"n\":2}\n");
        assert!(!two.exists());
    }

    #[test]
    fn the_end_writes_waiting_lines_and_a_child_session_none() {
        let dir = tempfile::tempdir().unwrap();
        for (persistence, there) in [(Persistence::On, true), (Persistence::Off, false)] {
            let path = dir.path().join(format!("{there}.jsonl"));
            let transcript = TranscriptOutput::new(path.clone(), persistence);
            transcript.open();
            transcript.line(&json!({}));
            drop(transcript);
            assert_eq!(path.exists(), there);
        }
    }

    #[test]
    fn lines_name_their_parents() {
        let mut chain = Chain::new("s", "/p", "main");
        let (first, id) = chain.link("user", json!({"message": {"role": "user"}}));
        assert_eq!((&first["parentUuid"], &first["sessionId"]), (&Value::Null, &json!("s")));
        let (second, _) = chain.link("assistant", json!({}));
        assert_eq!(second["parentUuid"], json!(id));
        assert_eq!(
            chain.note("mode", json!({"mode": "normal"})),
            json!({"type": "mode", "mode": "normal", "sessionId": "s"})
        );
    }
}
