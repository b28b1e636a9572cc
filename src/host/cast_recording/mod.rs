//! The recording of a session (`hopty record`).
//!
//! [`SessionCast`] owns it, and the requests that wait for its start or end. One thread opens files, another
//! writes the recording (`cast_thread`).

mod cast_thread;
mod session_cast;

pub(super) use session_cast::{CastOrder, CastPicture, CastSubject, SessionCast, UNASKED, remove_old};
