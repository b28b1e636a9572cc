//! The main job, end to end, with the stand-in agent and with the real Claude Code: the same cases for both,
//! so that the stand-in cannot drift into fiction. `docs/TESTING.md` has the table.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod asking;
mod back;
mod boxes;
mod commands;
mod compaction;
mod conversations;
mod drafts;
mod frames;
mod interrupts;
mod levels;
mod limits;
mod permissions;
mod signals;
mod steps;
mod waiting;
mod words;

use asking::*;
use back::*;
use boxes::*;
use commands::*;
use compaction::*;
use conversations::*;
use drafts::*;
use frames::*;
use interrupts::*;
use levels::*;
use limits::*;
use permissions::*;
use signals::*;
use support::both;
use support::claude::Kind;
use waiting::*;
use words::*;

both! {
    a_prompt_is_answered_and_exit_leaves_a_whole_terminal,
    a_tool_loop_over_the_hard_level_hands_over_at_a_tool_boundary,
    each_level_is_told_once_on_the_way_up,
    item_066_the_facts_alone_carry_a_task_over,
    a_test_that_is_being_written_is_completed_before_the_hand_over,
    item_117_the_21_boxes_hold_in_one_run,
    item_118_from_a_fresh_session_over_the_question_to_the_new_conversation,
    hand_overs_in_a_row_lose_nothing,
    a_turn_that_ends_over_the_handoff_level_hands_over,
    claudes_own_words_are_in_the_handoff,
    in_a_tool_loop_the_note_takes_the_place_of_the_next_step,
    words_of_another_form_are_left_out_and_the_facts_are_enough,
    item_003_a_signal_file_hands_over,
    foreign_stale_and_malformed_signals_are_left_alone,
    hopty_restart_hands_over_an_idle_session,
    a_restart_from_inside_claudes_own_bash,
    a_late_hook_approves_no_permission,
    a_long_goal_many_tasks_and_files_fit_the_frame,
    open_tasks_are_carried_over_every_hand_over,
    ctrl_c_twice_ends_it_in_every_encoding,
    ctrl_c_during_a_hand_over_wins,
    a_kill_from_outside_is_resumed,
    a_draft_and_keys_typed_meanwhile_are_carried_over,
    a_draft_outlives_a_crash,
    a_queued_prompt_is_carried_over,
    after_a_usage_limit_the_work_goes_on_and_the_hand_over_comes,
    hopty_goes_on_where_claude_does_not,
    a_turn_that_an_api_error_ended_is_continued_after_a_pause,
    a_turn_that_a_lost_network_ended_is_continued,
    a_failed_login_is_left_to_a_person,
    a_task_that_does_not_move_is_handed_over_no_more,
    a_handoff_expires_later_by_a_limit_that_was_waited_for,
    changed_settings_hold_an_automatic_hand_over,
    a_pending_handoff_is_loaded_on_request,
    item_002_clear_begins_another_conversation_and_it_is_followed,
    clear_after_a_hand_over_is_a_new_job,
    back_resumes_the_conversation_before_the_hand_over,
    back_goes_one_further_back_each_time,
    a_level_does_not_hand_over_what_was_gone_back_to,
    back_waits_for_nobody_who_is_at_work_unless_asked_to,
    a_hand_over_that_ctrl_c_breaks_off_names_the_old_conversation,
    a_hand_over_that_was_broken_off_goes_on_with_name_model_and_mode,
    a_conversation_that_a_session_runs_is_not_started_twice,
    a_claude_inside_a_claude_writes_its_transcript,
    git_is_of_the_worktree_that_the_conversation_went_to,
    a_record_is_saved_before_a_persons_compact_in_every_mode,
    nothing_is_saved_before_a_compact_with_nothing_to_compact,
    the_next_prompt_of_somebody_who_is_there_begins_the_fresh_conversation,
    a_long_prompt_arrives_as_it_was_written,
    a_prompt_that_nobody_typed_stays_where_it_was_submitted,
    when_nobody_types_any_more_it_hands_over_by_itself,
    when_the_terminal_goes_it_hands_over_at_once,
    a_slash_command_stays_where_it_was_typed,
    not_yet_and_now_are_keys_and_commands,
    prompts_that_were_queued_follow_in_order,
    in_a_tool_loop_the_note_is_asked_for_at_the_level_and_used_at_the_next,
}
