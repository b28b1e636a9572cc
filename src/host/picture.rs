//! The answer to `screen`: the state of the screen as escape sequences, for clients that draw it.

use serde_json::{Value, json};

use super::Host;
use crate::ipc::message::{Code, Failure, MAX_LINE, error_line, ok_line};
use crate::screen::Screen;

/// Columns and rows of a session whose program has not started.
const UNSTARTED: (u16, u16) = (80, 24);

/// Whether to include the lines above the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Above {
    /// As many of the newest as fit into the answer.
    Wanted,
    /// None.
    Left,
}

impl Host {
    /// Answers with the screen. A session without a run shows an empty one.
    pub(super) fn screen(&mut self, id: u64, request: u64, above: Above) {
        let mut lines = match (&mut self.child.run, above) {
            (Some(run), Above::Wanted) => run.model.look(Screen::history_len).unwrap_or_default(),
            _ => 0,
        };
        loop {
            let line = ok_line(request, &self.picture(lines));
            if line.len() <= MAX_LINE {
                return self.send(id, &line);
            }
            if lines == 0 {
                let failure = Failure::new(
                    Code::TooLarge,
                    "the screen does not fit into an answer",
                    "make the terminal smaller",
                );
                return self.send(id, &error_line(request, &failure));
            }
            lines /= 2;
        }
    }

    /// The screen, with this many lines above it.
    fn picture(&mut self, lines: usize) -> Value {
        let Some(run) = &mut self.child.run else { return picture(UNSTARTED, "", false) };
        let dump = run.model.dump(lines);
        let size = run.model.size();
        let text = dump.as_ref().map(|dump| [&dump.history[..], &dump.screen].concat()).unwrap_or_default();
        picture(size, &String::from_utf8_lossy(&text), dump.is_none())
    }

    /// Keeps the last screen of a program that nobody was watching for `hopty screen`: it often shows why the
    /// program ended.
    pub(super) fn keep_last_screen(&mut self, seen: bool) {
        let path = self.paths.last_screen(&self.claim.name);
        if seen {
            self.journal.remove_file(path);
        } else {
            let picture = self.picture(0).to_string().into_bytes();
            self.journal.put_file(path, picture);
        }
    }
}

fn picture((cols, rows): (u16, u16), dump: &str, degraded: bool) -> Value {
    json!({"cols": cols, "rows": rows, "dump": dump, "degraded": degraded})
}
