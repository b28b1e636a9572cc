//! The answer to `screen`: the state of the screen as escape sequences, for clients that draw it.

use crate::host::child::ScreenModel;
use crate::ipc::answers::ScreenAnswer;
use crate::ipc::message::{Code, MAX_LINE, RequestError, error_line, ok_line};
use crate::screen::Screen;

/// Columns and rows of a session whose program has not started.
const UNSTARTED: (u16, u16) = (80, 24);

/// The answer to a request: the screen, with as many of the newest lines above it as fit if `history`. A
/// session without a run shows an empty screen.
pub(in crate::host) fn answer(request: u64, mut model: Option<&mut ScreenModel>, history: bool) -> String {
    let mut lines = match &mut model {
        Some(model) if history => model.look(Screen::history_len).unwrap_or_default(),
        _ => 0,
    };
    loop {
        let line = ok_line(request, &picture_of(model.as_deref_mut(), lines));
        if line.len() <= MAX_LINE {
            return line;
        }
        if lines == 0 {
            let failure = RequestError::new(
                Code::TooLarge,
                "the screen does not fit into an answer",
                "make the terminal smaller",
            );
            return error_line(request, &failure);
        }
        lines /= 2;
    }
}

/// The screen, with this many lines above it.
pub(in crate::host) fn picture_of(model: Option<&mut ScreenModel>, lines: usize) -> ScreenAnswer {
    let Some(model) = model else {
        let (cols, rows) = UNSTARTED;
        return ScreenAnswer { cols, rows, ..ScreenAnswer::default() };
    };
    let dump = model.dump(lines);
    let text = dump.as_ref().map(|dump| [&dump.history[..], &dump.screen].concat()).unwrap_or_default();
    let (cols, rows) = model.size();
    ScreenAnswer { cols, rows, dump: String::from_utf8_lossy(&text).into_owned(), degraded: dump.is_none() }
}
