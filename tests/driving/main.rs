//! Driving Claude from outside: `send --submit`, `wait`, and what a session is said to do, with both agents.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod asking;
mod sending;
mod states;
mod steps;

use asking::*;
use sending::*;
use states::*;
use support::both;
use support::claude::Kind;

both! {
    idle_after_a_sent_prompt_is_never_early,
    a_prompt_reaches_the_model_as_it_was_sent,
    a_mark_of_a_prompt_is_older_than_its_answer,
    nothing_is_sent_into_a_permission_dialog,
    nothing_is_sent_behind_a_draft,
    a_busy_claude_queues_what_is_sent,
    without_hooks_the_transcript_is_the_proof,
    the_question_of_trust_blocks,
    an_interrupted_turn_is_over,
    commands_make_it_busy_and_idle_again,
    a_stopped_claude_is_stopped_until_somebody_attaches,
    a_question_is_answered_whole,
    an_answer_is_waited_for_through_a_hand_over,
    a_question_before_another_gets_its_own_answer,
    an_answer_that_a_hand_over_follows_is_the_answer,
    an_answer_that_does_not_come_is_told,
    a_reply_to_the_request_for_a_note_is_no_answer,
    an_answer_that_a_kill_cut_off_is_an_error,
    two_questions_at_once_are_both_answered,
    after_a_clear_nothing_was_asked,
    a_key_that_follows_blocked_at_once_is_taken,
    what_an_ended_session_did_not_answer_is_told,
}

/// Cases that the stand-in agent cannot play; each says why.
mod real_only {
    #[test]
    fn a_background_shell_keeps_nobody_waiting() {
        super::a_background_shell_keeps_nobody_waiting();
    }

    #[test]
    fn a_question_of_the_model_blocks() {
        super::a_question_of_the_model_blocks();
    }

    #[test]
    fn a_command_that_opens_a_panel_is_answered_at_once() {
        super::a_command_that_opens_a_panel_is_answered_at_once();
    }

    #[test]
    fn a_plan_that_waits_for_approval_blocks() {
        super::a_plan_that_waits_for_approval_blocks();
    }

    #[test]
    fn a_shell_command_of_the_persons_is_work() {
        super::a_shell_command_of_the_persons_is_work();
    }
}
