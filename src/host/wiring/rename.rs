//! `hopty rename` and `hopty label`: the session has another name or other labels from now on, and the program
//! notices nothing.

use std::path::PathBuf;

use crate::core::ids::{LABEL_HINT, SessionName, change_labels};
use crate::fs::session::SessionError;
use crate::host::Host;
use crate::host::jobs::JobEvent;
use crate::host::jobs::log::log;
use crate::ipc::answers::{LabelAnswer, RenameAnswer};
use crate::ipc::message::{Code, Failure, error_line, ok_line};

impl Host {
    /// Has a thread move the session's directory. The socket gets a second name at once, because the running
    /// program connects by the first.
    pub(super) fn rename(&mut self, id: u64, request: u64, name: &str) {
        let name: SessionName = match name.parse() {
            Ok(name) => name,
            Err(error) => {
                let hint = "a name has 1 to 48 lower-case letters, digits, `.`, `_` and `-`";
                let failure = Failure::new(Code::BadRequest, format!("{error}"), hint);
                return self.send(id, &error_line(request, &failure));
            }
        };
        if name == *self.name() {
            let answer = RenameAnswer { name: name.clone(), before: name };
            return self.send(id, &ok_line(request, &answer));
        }
        if self.exit.is_some() {
            let failure = Failure::new(Code::Ended, "the session has ended", "");
            return self.send(id, &error_line(request, &failure));
        }
        let (keeper, paths, socket) =
            (self.claim.keeper(), self.paths.clone(), self.control.socket().to_owned());
        self.jobs.write_launch(move || {
            let done = keeper.rename(&paths, &name);
            if done.is_ok() {
                let linked = paths.socket(&name);
                let _ = std::fs::remove_file(&linked);
                if let Err(error) = std::fs::hard_link(&socket, &linked) {
                    // It is bound again when it is missed.
                    log(format_args!("cannot give the socket its new name: {error}"));
                }
            }
            JobEvent::Renamed((id, request), name, done)
        });
    }

    /// Adds labels and removes others; all of them or none.
    pub(super) fn label(&mut self, id: u64, request: u64, add: &[String], remove: &[String]) {
        let mut labels = self.launch.labels.clone();
        if let Err(error) = change_labels(&mut labels, add, remove) {
            let failure = Failure::new(Code::BadRequest, error.to_string(), LABEL_HINT);
            return self.send(id, &error_line(request, &failure));
        }
        if labels != self.launch.labels {
            self.launch.labels = labels;
            self.write_session_file();
        }
        self.send(id, &ok_line(request, &LabelAnswer { labels: self.launch.labels.clone() }));
    }

    /// The directory has moved, or could not be moved.
    pub(super) fn renamed(
        &mut self,
        (id, request): (u64, u64),
        name: SessionName,
        done: Result<PathBuf, SessionError>,
    ) {
        let dir = match done {
            Ok(dir) => dir,
            Err(error) => {
                let code = match error {
                    SessionError::Taken(_) | SessionError::Former { .. } | SessionError::Ended(_) => {
                        Code::Refused
                    }
                    _ => Code::Internal,
                };
                let failure = Failure::new(code, format!("{name}: {error}"), error.hint());
                return self.send(id, &error_line(request, &failure));
            }
        };
        let before = self.name().clone();
        self.claim.renamed(name.clone(), dir);
        self.control.rename(&name, self.paths.socket(&name));
        self.jobs.journal.moved(&self.claim.dir);
        self.write_session_file();
        self.observer.scan_all();
        self.segment_may_differ();
        self.send(id, &ok_line(request, &RenameAnswer { name, before }));
    }
}
