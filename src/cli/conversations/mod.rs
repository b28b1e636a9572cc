//! `hopty conversations`: the conversations that Claude keeps, for people and scripts. Each verb has its
//! file.
//!
//! The verbs read Claude's files and hopty's, and connect to no session.

mod archive;
mod chain;
pub(super) mod conversations_args;
mod export;
mod import;
mod kept_transcripts;
mod ls;
mod named_conversation;
mod omissions;
pub(super) mod open_conversations;
mod restore;
mod search;
mod show;
mod transfer;

use super::error::VerbError;
pub(super) use archive::before_cleanup;
use conversations_args::ConversationsVerb;
pub(super) use kept_transcripts::all_kept_sources;
pub(super) use ls::{fold_white_space, size, token_count};
pub(super) use omissions::{MAY_BE_LEFT_OUT, left_out_json, left_out_words};

pub(super) fn conversations(verb: &ConversationsVerb) -> Result<u8, VerbError> {
    match verb {
        ConversationsVerb::Ls(options) => ls::ls(options),
        ConversationsVerb::Show(options) => show::show(options),
        ConversationsVerb::Search(options) => search::search(options),
        ConversationsVerb::Chain(options) => chain::chain(options),
        ConversationsVerb::Archive(options) => archive::archive(options),
        ConversationsVerb::Restore(options) => restore::restore(options),
        ConversationsVerb::Move(options) => transfer::move_conversations(options),
        ConversationsVerb::Copy(options) => transfer::copy(options),
        ConversationsVerb::Export(options) => export::export(options),
        ConversationsVerb::Import(options) => import::import(options),
    }
}
