//! `hopty test`: programs under test, the tapes that drive them, and the results.
//!
//! | file | what |
//! |---|---|
//! | [`echo_filter`] | the terminal's own echo, which does not count as new |
//! | `entered_text` | what a tape typed or pasted: where only its colours change, that does not count as new |
//! | `typeahead_echo` | input that a busy shell shows again after its next prompt, which does not count as new |
//! | [`input`] | the bytes of keys, the mouse, pastes and the focus |
//! | [`terminal_input`] | the pauses that input needs |
//! | [`look`] | searching for text and patterns |
//! | [`runner`] | many tapes at the same time |
//! | [`tape_player`] | one tape, command by command |
//! | [`discovery`] | finding and naming tapes |
//! | [`isolation`] | a test's own directories and environment |
//! | [`shells`] | the shells that a tape may type into |
//! | [`test_pause`], [`pause_window`] | a test that stops for a person, and the window that shows it |
//! | [`tape_watch`] | which tapes a change affects |
//! | `file_fingerprint` | whether a file has changed |
//! | [`stress`] | simulating a loaded machine, from a seed |
//! | [`hook_probe`] | what Claude's hooks did in a test |
//! | `evidence_cast` | the recording of a failed test |
//! | `evidence_files` | the files of a failed test, and their directory |
//! | [`outcome`] | the outcome of a tape: verdict, failure, screens, and the exit code of all |
//! | [`redaction`] | removing what reports and snapshots must not show |
//! | [`report`] | for people, TAP, JUnit, GitHub, Markdown, JSON |
//! | [`snapshot`] | screens as text files beside the tapes |
//! | [`library`] | tests in Rust: [`Terminal`] |
//! | [`processes`] | the processes of a program: what they do, which of them remain |
//! | [`fresh_text_watch`] | a program's screen, and what is new on it since a mark |
//! | [`test_terminal`] | a program in a pseudo-terminal of its own |
//! | [`program_wait`] | waiting for text, quiet, a prompt, the end |

pub mod discovery;
pub mod echo_filter;
mod entered_text;
mod evidence_cast;
mod evidence_files;
mod file_fingerprint;
#[cfg(test)]
mod fresh_text_laws;
pub mod fresh_text_watch;
pub mod hook_probe;
pub mod input;
pub mod isolation;
pub mod library;
pub mod look;
pub mod outcome;
pub mod pause_window;
pub mod processes;
pub mod program_wait;
pub mod redaction;
pub mod report;
pub mod runner;
pub mod shells;
pub mod snapshot;
pub mod stress;
pub mod tape_player;
pub mod tape_watch;
pub mod terminal_input;
pub mod test_pause;
pub mod test_terminal;
mod typeahead_echo;

pub use crate::screen::Attr;
pub use look::ScreenArea;
pub use outcome::ScreenCopy;

pub use library::{
    TapesFailed, Terminal, TerminalBuilder, TestFailure, TestResult, check_tape_list, play_listed_tape,
    play_tapes, play_tapes_with,
};
