//! People's terminals: who is attached, what each terminal shows, and how it is given back.
//!
//! | file | holds |
//! |---|---|
//! | `detach` | a terminal is taken, shown what the child writes, and given back whole |
//! | `viewport` | who leads, how large the session is, what each client sees of it |
//! | `diff_painter` | a mirror: pictures of the session, drawn by difference |
//! | `repaint` | the whole picture, for a terminal that comes late |
//! | `capabilities` | what a terminal cannot do |
//! | `rescue` | a terminal is put back whose host or client has died |
//! | `scrollback` | how much of the history each terminal has been shown |
//! | `notices` | what people are told while a program has the screen |
//! | `undelivered` | what was typed and the program did not read |

mod capabilities;
mod detach;
mod diff_painter;
mod notices;
pub(super) mod repaint;
mod rescue;
mod scrollback;
mod undelivered;
mod viewport;

pub(super) use capabilities::{Capabilities, takes_window_names};
pub(super) use detach::{ANSWER_MS, AfterFlush, Transport};
pub(super) use notices::Notices;
pub(super) use scrollback::{ScrollbackPositions, TerminalId};
pub(super) use undelivered::Unread;
pub(super) use viewport::{StaleUntil, Viewport};
