//! `hopty test`: programs under test, the tapes that drive them, and what comes of that.
//!
//! | file | what |
//! |---|---|
//! | [`echo`] | the terminal's own echo, which is no news |
//! | [`look`] | text, patterns and where they are looked for |
//! | [`outcome`] | what came of a tape: verdict, failure, screens, and the exit code of all |
//! | [`processes`] | the processes of a program: what they do, what is left |
//! | [`screen_watch`] | a program's screen, and what has become new on it since a mark |
//! | [`terminal`] | a program in a pseudo-terminal of its own |
//! | [`wait`] | waiting for text, quiet, a prompt, the end |

pub mod echo;
pub mod look;
pub mod outcome;
pub mod processes;
pub mod screen_watch;
pub mod terminal;
pub mod wait;
