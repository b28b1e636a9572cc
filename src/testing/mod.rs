//! `hopty test`: programs under test, the tapes that drive them, and what comes of that.
//!
//! | file | what |
//! |---|---|
//! | [`echo`] | the terminal's own echo, which is no news |
//! | `pasted_text` | what a line editor shows in reverse video until the next key, which is no news then |
//! | `typed_ahead` | what a busy shell shows again behind its next prompt, which is no news |
//! | [`input`] | the bytes of keys, the mouse, pastes and the focus |
//! | [`look`] | text, patterns and where they are looked for |
//! | [`runner`] | many tapes at the same time |
//! | [`tape_player`] | one tape, command by command |
//! | [`discovery`] | which tapes are meant, and under which names |
//! | [`isolation`] | a test's own directories and environment |
//! | [`shells`] | the shells that a tape may type into |
//! | [`test_pause`], [`pause_window`] | a test that stops for a person, and what shows it |
//! | [`tape_watch`] | which tapes a change concerns |
//! | `file_fingerprint` | whether a file was written |
//! | [`stress`] | what a loaded machine does, from a seed |
//! | [`hook_probe`] | what Claude's hooks did in a test |
//! | `evidence_cast` | the recording that is kept of a test that failed |
//! | [`outcome`] | what came of a tape: verdict, failure, screens, and the exit code of all |
//! | [`redaction`] | what reports and snapshots must not show |
//! | [`report`] | for people, TAP, JUnit, GitHub, Markdown, JSON |
//! | [`snapshot`] | screens as text files beside the tapes |
//! | [`library`] | tests in Rust: [`Terminal`] |
//! | [`processes`] | the processes of a program: what they do, what is left |
//! | [`fresh_text_watch`] | a program's screen, and what is new on it since a mark |
//! | [`test_terminal`] | a program in a pseudo-terminal of its own |
//! | [`program_wait`] | waiting for text, quiet, a prompt, the end |

pub mod discovery;
pub mod echo;
mod evidence_cast;
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
mod pasted_text;
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
pub mod test_pause;
pub mod test_terminal;
mod typed_ahead;

pub use library::{
    TapesFailed, Terminal, TerminalBuilder, TestFailure, TestResult, check_tape_list, play_listed_tape,
    play_tapes, play_tapes_with,
};
