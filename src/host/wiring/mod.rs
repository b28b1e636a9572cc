//! Passes what one part reports to the others and to the supervisor. No state is
//! kept here.
//!
//! | file | holds |
//! |---|---|
//! | `requests` | the control socket: connections, requests and their answers, what clients send |
//! | `terminals` | people's terminals: what they show, and what is typed on them |
//! | `program` | the program: its output, its end and its screen |
//! | `program_launch`, `program_sends` | the start of the next run; what scripts and hopty type into it |
//! | `observer`, `hook_calls` | Claude's files, and the records made of a conversation; its hooks, and their answers |
//! | `jobs` | results of jobs; the journal, recordings, notifications |
//! | `session_status` | the session's status, from what each part knows |

mod hook_calls;
mod jobs;
mod observer;
mod program;
mod program_launch;
mod program_sends;
mod requests;
mod session_status;
mod terminals;
