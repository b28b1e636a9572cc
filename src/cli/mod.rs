//! The command line: from the arguments to a verb of hopty, or to Claude. Each verb has a file.
//!
//! A first word that is one of hopty's verbs runs that verb. A word that looks like one, or that other tools
//! use as a verb, is refused, because as a prompt it would cost money. All other arguments are Claude's.
//!
//! | file | what |
//! |---|---|
//! | `verb_dispatch`, `args`, `usage`, `read_config` | from the arguments to a verb: clap's grammar, errors of usage, the configuration |
//! | `unknown_verb`, `version` | words that look like verbs; the versions of hopty and Claude |
//! | `run`, `kept_options`, `conversation_in_use` | starting a session; options that a handoff keeps; no conversation in two sessions |
//! | `detach_and_stop`, `restart`, `status`, `list` | `detach` and `stop`, `restart`, `status`, `ls` |
//! | `attach_session`, `session_picker`, `join_session` | `attach`: choosing a session, the list to pick one from, attaching this terminal |
//! | `control`, `conversation` | which session or conversation a verb is about; requests to its host |
//! | `restore`, `remove`, `systemd_unit` | ended sessions: `restore`, `rm` and `prune`, the systemd unit |
//! | `send`, `ask`, `screen`, `record`, `record_tape`, `back`, `backup`, `rename`, `token_usage`, `events`, `replay`, `context`, `conversations`, `handoff`, `channel`, `config`, `check`, `test`, `test_watch`, `dash`, `demo`, `play` | verbs |
//! | `wait`, `wait_conditions` | `wait` and its conditions |
//! | `screen_rows`, `settle_wait`, `poll_until` | new text on a session's screen, whether a session has settled, polling |
//! | `completions`, `man` | made from the tree of verbs |
//! | `hook`, `statusline`, `slash` | what Claude calls |
//! | `error`, `notice`, `prose`, `table`, `pager` | output for people: errors, notices at start and end, sentences, tables, long output |

#![deny(clippy::print_stderr, reason = "it panics where standard error is closed")]

mod args;
mod ask;
mod attach_session;
mod back;
mod backup;
mod channel;
mod check;
mod completions;
mod config;
mod context;
mod control;
mod conversation;
mod conversation_in_use;
mod conversations;
mod dash;
mod demo;
mod detach_and_stop;
mod error;
mod events;
mod handoff;
mod hook;
mod join_session;
mod kept_options;
mod list;
mod man;
mod notice;
mod pager;
mod play;
mod poll_until;
mod prose;
mod read_config;
mod record;
mod record_tape;
mod remove;
mod rename;
mod replay;
mod restart;
mod restore;
mod run;
mod screen;
mod screen_rows;
mod send;
mod session_picker;
mod settle_wait;
mod slash;
mod status;
mod statusline;
mod systemd_unit;
mod table;
mod test;
mod test_watch;
mod token_usage;
mod unknown_verb;
mod usage;
mod verb_dispatch;
mod version;
mod wait;
mod wait_conditions;

pub use verb_dispatch::main;
