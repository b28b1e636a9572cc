//! Notifications for a person who is not at the keyboard: by a command, on the desktop and
//! on attached terminals.
//!
//! [`Notifier`] decides nothing about when ([`NotificationQueue`] does) and runs nothing on the loop: a
//! command that hangs or fails costs a line of `host.log`. What attached terminals should get comes from
//! [`Notifier::terminal_bytes`], and is written between two sequences of the program (`Terminals::ring`).
//!
//! | file | holds |
//! |---|---|
//! | `person_notifier` | which notifications are sent, and through which channels |
//! | `notify_command` | one command: input, environment, time limit |
//! | `payload` | the JSON and the variables that it gets |
//! | `notification_sequences` | the sequences for terminals |

mod notification_sequences;
mod notify_command;
mod payload;
mod person_notifier;

pub(super) use person_notifier::Notifier;
