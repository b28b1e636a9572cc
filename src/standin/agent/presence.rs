//! `sessions/<pid>.json`, the status of a running agent for other programs, and the key file beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;

use serde_json::{Value, json};
use uuid::Uuid;

use super::options::VERSION;
use super::transcript::Persistence;
use crate::sys::process::start_ticks;

/// The agent's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentPresence {
    /// Idle, with an open prompt box.
    Idle,
    /// A turn runs.
    Busy,
    /// Waiting for an answer to a permission question.
    Waiting,
}

pub(super) struct Presence {
    file: Option<PathBuf>,
    key: PathBuf,
    content: Value,
    persistence: Persistence,
}

impl Presence {
    /// Writes only the key file: it is the only file while a start-up dialog is open, and for a child
    /// session (measured).
    pub(super) fn new(dir: &Path, persistence: Persistence) -> Presence {
        let _ = fs::create_dir_all(dir);
        let name = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let key = dir.join(format!("{}.{name}.key", process::id()));
        let token = json!({"peerToken": Uuid::new_v4().simple().to_string(), "procStart": proc_start()});
        let _ = fs::write(&key, token.to_string());
        let _ = fs::set_permissions(&key, fs::Permissions::from_mode(0o600));
        Presence { file: None, key, content: Value::Null, persistence }
    }

    /// Writes `<pid>.json`, without a status.
    pub(super) fn appear(&mut self, session: &str, cwd: &Path) {
        let name = cwd.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        self.content = json!({
            "pid": process::id(), "sessionId": session, "cwd": cwd.to_string_lossy(), "startedAt": millis(),
            "procStart": proc_start(), "version": VERSION, "peerProtocol": 1, "kind": "interactive",
            "entrypoint": "cli", "name": format!("{name}-{}", &Uuid::new_v4().simple().to_string()[..2]),
            "nameSource": "derived",
        });
        if self.persistence == Persistence::Off {
            return;
        }
        self.file = self.key.parent().map(|dir| dir.join(format!("{}.json", process::id())));
        self.write();
    }

    /// Writes the status.
    pub(super) fn status(&mut self, status: AgentPresence) {
        let (word, waiting_for) = match status {
            AgentPresence::Idle => ("idle", Value::Null),
            AgentPresence::Busy => ("busy", Value::Null),
            AgentPresence::Waiting => ("waiting", json!("permission prompt")),
        };
        self.content["status"] = json!(word);
        self.content["updatedAt"] = json!(millis());
        self.content["statusUpdatedAt"] = json!(millis());
        match (waiting_for, self.content.as_object_mut()) {
            (Value::Null, Some(map)) => drop(map.remove("waitingFor")),
            (reason, Some(map)) => drop(map.insert("waitingFor".into(), reason)),
            _ => {}
        }
        self.write();
    }

    /// Changes the conversation (`/clear`).
    pub(super) fn session(&mut self, session: &str) {
        self.content["sessionId"] = json!(session);
        self.write();
    }

    /// In place, as the real program does: a reader may see an incomplete file.
    fn write(&self) {
        if let Some(file) = &self.file {
            let _ = fs::write(file, self.content.to_string());
        }
    }
}

impl Presence {
    /// Removes both files; later calls write nothing.
    pub(super) fn vanish(&mut self) {
        let _ = fs::remove_file(&self.key);
        if let Some(file) = self.file.take() {
            let _ = fs::remove_file(file);
        }
    }
}

fn millis() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// The start time of this process, which identifies it together with the pid. `0` without `/proc`.
fn proc_start() -> String {
    start_ticks(process::id()).unwrap_or(0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_appear_and_disappear_as_measured() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(format!("{}.json", process::id()));
        let mut presence = Presence::new(dir.path(), Persistence::On);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        presence.status(AgentPresence::Idle);
        assert!(!file.exists());
        presence.appear("s1", Path::new("/home/u/proj"));
        let read = || serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap();
        assert_eq!((&read()["sessionId"], read().get("status")), (&json!("s1"), None));
        presence.status(AgentPresence::Waiting);
        assert_eq!(
            (&read()["status"], &read()["waitingFor"]),
            (&json!("waiting"), &json!("permission prompt"))
        );
        presence.status(AgentPresence::Busy);
        presence.session("s2");
        assert_eq!((&read()["sessionId"], read().get("waitingFor")), (&json!("s2"), None));
        presence.vanish();
        presence.status(AgentPresence::Idle);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
