//! The exit codes of hopty's verbs. 0 means success.

/// It failed, or has nothing to act on.
pub(super) const FAILED: u8 = 1;
/// The arguments are wrong.
pub(super) const USAGE: u8 = 2;
/// There is no such session, conversation or handoff.
pub(super) const NOT_FOUND: u8 = 3;
/// It was understood and refused.
pub(super) const REFUSED: u8 = 4;
/// hopty or the system failed.
pub(super) const INTERNAL: u8 = 125;
/// The program cannot be executed.
pub(super) const NOT_EXECUTABLE: u8 = 126;
/// The program does not exist.
pub(super) const NO_PROGRAM: u8 = 127;
