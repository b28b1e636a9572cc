//! What joins the parts: what one part hands out is given to the others and to the supervisor. Nothing is
//! remembered here.

mod ask;
mod child;
mod compat;
mod connections;
mod conversation_before;
mod handoffs;
mod hook_calls;
mod jobs;
mod launching;
mod notifications;
mod observer;
pub(super) mod own_files;
mod prefix_key;
mod prompts;
mod recording;
mod rename;
mod requests;
mod screen;
mod segment;
mod sends;
mod start_code;
mod status;
mod terminals;
mod typing;
mod waits;
