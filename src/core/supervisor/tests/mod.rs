//! Scenarios: whole histories, event by event, with the expected actions.

mod ask_mode;
mod asking;
mod back_over_handover;
mod crashes;
mod delivery;
mod given_prompts;
mod hookless;
mod interrupts;
mod items;
mod limits;
mod person_present;
mod policy_keys;
mod progress;
mod safe_point_waits;
mod stop_requests;
mod submitting;
mod supervisor_scene;
mod task;
mod telling;
mod whole_handover;
mod words_before_handover;

// Each file of scenarios imports these with `super::*`.
use super::action::{Action, DecisionKind, Reply};
use super::event::{
    Asker, AttachKind, Event, HookEvent, HookFacts, KeyClass, PromptOf, RestartOrder, SessionsFileStatus,
    StartSource,
};
use super::phase::{EndCause, Phase, StartKind};
use super::reported_state::{SessionState, StateSource};
use super::screen_facts::{PromptBox, ScreenFacts};
use super::{Policy, RULES};
use crate::core::claude::carry_over::CarryMethod;
use crate::core::config::{Config, DurationMs};
use crate::core::handoff::operation::Cut;
use crate::core::ids::ConversationId;
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::supervisor::restart_signal::{NamedDir, RestartSignal};
use crate::core::time::Stamp;
pub(super) use supervisor_scene::{
    Session, TERM_CODE, claude, conversation, handoff, hook, named, plain, signal, span, word,
};
