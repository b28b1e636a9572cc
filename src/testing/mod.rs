//! `hopty test`: programs under test, the tapes that drive them, and what comes of that.
//!
//! | file | what |
//! |---|---|
//! | [`outcome`] | what came of a tape: verdict, failure, screens, and the exit code of all |

pub mod outcome;
