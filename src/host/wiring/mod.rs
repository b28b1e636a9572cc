//! What joins the parts: what one part hands out is given to the others and to the supervisor. Nothing is
//! remembered here.

mod child;
mod compat;
mod connections;
mod handoffs;
mod hook_calls;
mod jobs;
mod launching;
mod notifications;
mod observer;
mod prefix_key;
mod prompts;
mod recording;
mod requests;
mod screen;
mod segment;
mod sends;
mod status;
mod terminals;
mod typing;
