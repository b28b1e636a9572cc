//! What a transcript adds up to: the fill of the window, and everything that a handoff says without asking a
//! model.
//!
//! [`TranscriptFacts`] reads each line once and tells its parts, one a file, what happened. A part owns what
//! it knows, in bounds whatever the file holds, and takes back itself what the person took back. Nothing is
//! decided here: levels, safe points and texts are made elsewhere from what the parts say.
//!
//! Lines of sub-agents are read over: their usage and their tools are not the conversation's. A tool counts
//! when its answer came, so that a refused edit is no touched file and a refused list no list of tasks.

mod agent_reports;
mod background_work;
mod bounded_memory;
mod call_answer;
mod check_history;
mod claude_answers;
mod conversation_settings;
mod decision_sentences;
mod earlier_answers;
mod facts;
mod files_read;
mod last_message;
mod persons_decisions;
mod prompt_proof;
mod queued_prompts;
mod recent_exchanges;
mod scheduled_prompts;
mod shell_commands;
mod task_history;
mod tool_calls;
mod tool_log;
mod tool_steps;
mod touched_files;
mod turn_starts;
mod turn_state;
mod window_fill;

pub use agent_reports::{AgentReport, AgentReports};
pub use background_work::{BackgroundWork, DETACHED_CAP, DetachedCommand, EndedWork, RunningWork};
pub use call_answer::purpose;
pub use check_history::{Check, CheckHistory};
pub use claude_answers::{AnswerText, ClaudeAnswers};
pub use conversation_settings::ConversationSettings;
pub use decision_sentences::StatedDecision;
pub use earlier_answers::{EarlierAnswer, REPLY_CAP, says_much, tells_finding};
pub use facts::TranscriptFacts;
pub use files_read::{FileRead, FilesRead};
pub use last_message::LastMessage;
pub use persons_decisions::{AnsweredQuestion, ApprovedPlan, PLAN_APPROVED, PersonsDecisions, REFUSED};
pub use prompt_proof::PromptProof;
pub use queued_prompts::QueuedPrompts;
pub(super) use queued_prompts::SCHEDULED_BYTES;
pub use recent_exchanges::{Exchange, RecentExchanges, TranscriptSpeaker};
pub use scheduled_prompts::{ScheduledPrompt, ScheduledPrompts};
pub use shell_commands::{ShellCommand, ShellCommands};
pub use task_history::TaskHistory;
pub use tool_calls::ToolCalls;
pub use tool_log::{ToolError, ToolLog};
pub use tool_steps::{ToolOutcome, ToolStep, tells_of_an_error};
pub use touched_files::TouchedFiles;
pub use turn_state::TurnState;
pub use window_fill::{MessageUsage, WindowFill};

#[cfg(test)]
mod facts_tests;
