//! Performs every action of the supervisor. Nothing is decided here.

use super::child::LaunchPlan;
use super::jobs::RestartReason;
use super::keyboard::paste;
use super::session_exit::HostExit;
use super::terminals::Terminals;
use super::{Host, LAST_WRITES};
use crate::core::claude::screen_reading::Press;
use crate::core::config::{Reap, RestartMode};
use crate::core::supervisor::action::{Action, Decision, DecisionKind, SignalTarget, Typing};
use crate::core::supervisor::phase::Phase;
use crate::ipc::answers::RestartAnswer;

impl Host {
    pub(super) fn perform(&mut self, action: Action) {
        match action {
            Action::Spawn { run, start, conversation, dir, prompt } => {
                self.control.begin_run(run);
                self.spawn(LaunchPlan { number: run, start, conversation, dir, prompt });
            }
            Action::Signal { signal, to } => self.signal_child(signal, to == SignalTarget::Group),
            Action::CollectTree if self.session.launch.config.restart.reap == Reap::Tree => {
                self.child.collect_tree()
            }
            Action::CollectTree => {}
            Action::ReapTree => self.child.reap_tree(self.clock.now(), &mut self.events),
            Action::HoldHook { id } => {
                self.keep_late_prompt(id);
                self.hold_hook(id);
            }
            Action::ReturnPrompt { submit } => self.keyboard.return_prompt(submit),
            Action::TakeQueued => self.keyboard.carried.take_first_queued(self.recorder.supervisor.run()),
            Action::DropPrompt => self.keyboard.carried.drop_taken(),
            Action::AnswerHook { id, with } => self.answer_hook(id, &with),
            Action::AwaitLines { id, want, until } => self.await_lines(id, want, until),
            Action::WaitSafePoint { .. } => {}
            Action::CheckSettings => {
                let read = self.session.next_found(self.recorder.supervisor.next_dir());
                self.jobs.check_settings(read, self.clock.now());
            }
            Action::Save { by, claim_for } => self.save(by, &claim_for),
            Action::HoldKeys => self.keyboard.held.hold(),
            Action::PassKeys => self.keyboard.held.pass(),
            Action::ReleaseKeys { draft } => self.release_keys(draft),
            Action::Type { typing } => self.type_for_supervisor(&typing),
            Action::Follow { conversation, transcript, anew } => {
                self.follow(&conversation, transcript.as_deref(), anew);
                if self.session.launch.config.restart.mode != RestartMode::Manual {
                    self.jobs.recall_ask_answer(&self.session.claim.dir, &conversation);
                }
                self.cast.follow(conversation, &self.clock);
            }
            Action::ConsumeSignal { file } => self.observer.consume_signal(file),
            Action::Consume { handoff, conversation } => self.consume(&handoff, &conversation),
            Action::Clear { handoff } => self.jobs.discard(handoff),
            Action::KeepAsk { conversation, answer, left } => {
                self.jobs.keep_ask_answer(&self.session.claim.dir, conversation, answer, left);
            }
            Action::KeepHandoffs { until } => self.jobs.keep_handoffs(self.session.channel.clone(), until),
            Action::Suspend => self.on_terminals(Terminals::suspend_leader),
            Action::Notice { about, text } => self.notice(about, &text),
            Action::Reply { id, with } => self.reply(id, &with),
            Action::Decide { decision } => self.decided(&decision),
            Action::Close { cause, code } => self.close(HostExit::new(cause, code, self.child.last_end)),
        }
    }

    fn type_for_supervisor(&mut self, typing: &Typing) {
        match typing {
            Typing::Prompt { frame: with_frame, .. } => {
                let Some(brief) = &mut self.jobs.brief else { return };
                let text = brief.prompt(*with_frame);
                brief.typed = Some(text.clone());
                self.type_in(&paste(&text));
            }
            Typing::Carried { .. } => self.type_carried(),
            Typing::Text { .. } => self.paste_sent(),
            Typing::GoOn { after } => self.paste_own(after.prompt()),
            Typing::Enter
                if self.keyboard.queue.is_submitting()
                    && !matches!(self.phase(), Phase::Delivering { .. }) =>
            {
                self.enter_sent()
            }
            Typing::Enter => self.type_in(b"\r"),
            Typing::Interrupt => self.interrupt(),
            Typing::DialogKey { dialog } => {
                let shown = self.view().and_then(|view| view.dialog).filter(|shown| shown.name == *dialog);
                match shown.and_then(|shown| shown.press) {
                    Some(Press::Enter) => self.type_in(b"\r"),
                    Some(Press::Up) => self.type_in(b"\x1b[A"),
                    Some(Press::Down) => self.type_in(b"\x1b[B"),
                    None => {}
                }
            }
        }
    }

    fn decided(&mut self, decision: &Decision) {
        use DecisionKind as K;
        self.explanation.take(decision, self.recorder.supervisor.fill(), self.session.launch.restored);
        if decision.kind == K::RestartRequested {
            self.jobs.reason = RestartReason { sentence: decision.sentence.clone(), by: decision.by };
        }
        if decision.kind == K::RunEnded {
            self.save_lost_draft();
        }
        self.log_decision(decision);
        self.notify_of(decision);
        self.cast.decided(decision, &self.clock);
        self.segment_may_differ();
        match decision.kind {
            K::LevelCrossed => {
                let percent = u64::from(self.recorder.supervisor.fill().percent());
                let text = decision.level.and_then(|level| self.compat.level_reached(level, percent));
                if let Some(text) = text {
                    self.notice(decision.kind, &text);
                }
            }
            K::DeliverySubmitted => {
                let (handoff, conversation) = (decision.handoff.clone(), decision.conversation.clone());
                self.restart_settled(&Ok(RestartAnswer { handoff, conversation }));
                self.carried_submitted(decision.conversation.as_ref());
                self.jobs.compress_transcripts();
            }
            K::RestartCancelled | K::DeliveryFailed | K::SessionEnded => {
                self.restart_settled(&Err(decision.sentence.clone()));
                if decision.kind == K::RestartCancelled {
                    // The prompts are still in the queue of the Claude that continues.
                    self.keyboard.carried.forget_queued();
                } else {
                    self.jobs.compress_transcripts();
                }
            }
            K::RunSpawned => {
                if self.session.launch.detached || self.recorder.supervisor.run() > 1 {
                    self.write_session_file();
                } else {
                    self.write_session_file_soon();
                }
                if !matches!(self.phase(), Phase::Delivering { .. }) {
                    // No prompt follows, so there is nothing else to wait for.
                    let conversation = decision.conversation.clone();
                    self.restart_settled(&Ok(RestartAnswer { handoff: None, conversation }));
                }
            }
            // The new run has died: later prompts are not the requested one.
            K::RunEnded if matches!(self.phase(), Phase::Cooling { .. }) => {
                self.restart_settled(&Err(decision.sentence.clone()));
            }
            K::RunHeld => {
                self.restart_settled(&Err(decision.sentence.clone()));
                self.print_held();
                self.write_session_file();
            }
            K::ConversationChanged => self.write_session_file(),
            _ => {}
        }
    }

    /// The message for the person at the end; `None` if the program simply ended.
    pub(super) fn last_word(&self) -> Option<String> {
        use crate::core::supervisor::phase::EndCause;
        let plain =
            self.exit.is_none_or(|exit| matches!(exit.cause, EndCause::Finished | EndCause::UserInterrupt));
        let waiting = self.recorder.supervisor.active_handoff().is_some();
        let completed = self.recorder.supervisor.task_completed().then_some("Task completed!");
        let why =
            (self.keyboard.unsent.is_some() || !plain || waiting).then_some(self.explanation.sentence());
        let words: Vec<&str> =
            completed.into_iter().chain(why).chain(self.keyboard.unsent.as_deref()).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// The session is over: tells every client, after the last byte.
    fn close(&mut self, exit: HostExit) {
        self.exit = Some(exit);
        // Clients that wait to type are told now: the host may be gone in the next turn.
        self.type_sends();
        self.keep_undelivered();
        self.back_up_last();
        // A private directory is deleted at the end of its session.
        self.keyboard
            .keep_unsent(self.session.private.is_none().then(|| self.session.claim.dir.join("unsent.txt")));
        self.cast.exit(exit.code(), &self.clock);
        let message = self.last_word();
        // A client that learns of the end may read the file at once.
        self.write_session_file();
        self.jobs.journal.flush(LAST_WRITES);
        let attached = self.terminals.clients().next().is_some();
        self.keep_last_screen(attached);
        self.on_terminals(|terminals, scene| terminals.disconnect_all(message.as_deref(), scene));
    }
}
