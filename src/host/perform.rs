//! Performs the supervisor's actions, without decisions of its own.

use serde_json::json;

use super::Host;
use super::child::LaunchPlan;
use super::control::{OpenHookCall, restart_outcome, screen_answer};
use super::event_loop::LAST_WRITES;
use super::jobs::RestartReason;
use super::keyboard::leaves_draft;
use super::keyboard::paste;
use super::session_exit::HostExit;
use super::terminals::Terminals;
use crate::core::claude::pasted_prompt::SentPrompt;
use crate::core::claude::screen_reading::Press;
use crate::core::config::{Reap, RestartMode};
use crate::core::supervisor::action::{Action, Decision, DecisionKind, SignalTarget, Typing};
use crate::core::supervisor::phase::Phase;
use crate::core::supervisor::screen_facts::PromptBox;
use crate::fs::session;
use crate::sys::clock;

impl Host {
    pub(super) fn perform(&mut self, action: Action) {
        match action {
            Action::Spawn { run, start, conversation, dir, prompt, first_prompt } => {
                self.control.begin_run(run);
                let next = LaunchPlan { number: run, start, conversation, dir, prompt, first_prompt };
                self.child.launching.begin(next);
                self.go_on_launching();
            }
            Action::Signal { signal, to } => self.signal_child(signal, to == SignalTarget::Group),
            Action::CollectTree if self.session.launch.config.restart.reap == Reap::Tree => {
                self.child.collect_tree()
            }
            Action::CollectTree => {}
            Action::ReapTree => self.child.reap_tree(self.clock.now(), &mut self.events),
            Action::HoldHook { id } => {
                // A prompt that arrives while its run is being stopped gets no answer.
                if matches!(self.phase(), Phase::Stopping { .. })
                    && let Some(prompt) = self.control.hooks.get(id).and_then(OpenHookCall::persons_prompt)
                {
                    self.keyboard.carried.stop(prompt);
                }
                self.control.hold_hook(id, self.clock.now());
            }
            Action::ReturnPrompt { submit } => self.keyboard.return_prompt(submit),
            Action::TakeQueued => self.keyboard.carried.take_first_queued(self.recorder.supervisor.run()),
            Action::TakeArgument => {
                let prompt = self.session.own.prompt.as_deref().unwrap_or_default();
                self.keyboard.carried.take_argument(prompt, self.recorder.supervisor.run());
            }
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
            Action::ReleaseKeys { draft } => {
                self.keyboard.release(self.clock.now(), draft);
                self.type_held();
            }
            Action::Type { typing } => self.type_for_supervisor(&typing),
            Action::Follow { conversation, transcript, anew } => {
                self.follow(&conversation, transcript.as_deref(), anew);
                let (paths, name) = (&self.session.paths, self.session.name());
                self.jobs.check_shared_conversation(paths, name, &conversation);
                if self.session.launch.config.restart.mode != RestartMode::Manual {
                    self.jobs.recall_ask_answer(&self.session.claim.dir, &conversation);
                }
                self.cast.follow(conversation);
            }
            Action::ConsumeSignal { file } => self.observer.consume_signal(file),
            Action::Consume { handoff, conversation } => {
                let work = self.compat.handoff_consumed(&handoff);
                self.do_compat(work);
                self.jobs.consume(&handoff, &conversation);
            }
            Action::Clear { handoff } => self.jobs.discard(handoff),
            Action::KeepAsk { conversation, answer, left } => {
                self.jobs.keep_ask_answer(&self.session.claim.dir, conversation, answer, left);
            }
            Action::KeepHandoffs { until } => self.jobs.keep_handoffs(self.session.channel.clone(), until),
            Action::Suspend => self.on_terminals(Terminals::suspend_leader),
            // The question of mode `ask`, and the notice that the next prompt hands over.
            Action::Notice { about: DecisionKind::LevelCrossed | DecisionKind::RestartWaits, text } => {
                self.notice_of_wait(&text);
            }
            Action::Notice { about, text } => self.notice(about, &text),
            Action::Reply { id, with } => self.reply(id, &with),
            Action::Decide { decision } => self.decided(&decision),
            Action::Close { cause, code } => self.close(HostExit::new(cause, code, self.child.last_end)),
        }
    }

    fn type_for_supervisor(&mut self, typing: &Typing) {
        match typing {
            Typing::Prompt { has_brief, .. } => {
                let Some(brief) = &mut self.jobs.brief else { return };
                let text = brief.prompt(*has_brief);
                brief.typed = Some(text.clone());
                self.type_own(&paste(&text));
            }
            Typing::Carried { .. } => {
                // If the carried prompt is gone, the one that names the handoff is typed instead.
                let carried = self.keyboard.carried.text().map(str::to_owned);
                let names_it = || self.jobs.brief.as_ref().map(|brief| brief.prompt(true));
                let Some(text) = carried.or_else(names_it) else { return };
                let keys = paste(&text);
                if let Some(brief) = &mut self.jobs.brief {
                    brief.typed = Some(text);
                }
                self.type_own(&keys);
            }
            Typing::Text { .. } => {
                let (keyboard, mut program) = self.typing();
                keyboard.paste_sent(&mut program);
            }
            Typing::GoOn { after } => {
                // A prompt that a person has submitted meanwhile goes first.
                if !self.keyboard.queue.is_submitting()
                    && let Ok(sent) = SentPrompt::new(after.prompt())
                {
                    self.keyboard.queue.submit(0, sent, false);
                    self.child.force_look();
                    let (keyboard, mut program) = self.typing();
                    keyboard.paste_sent(&mut program);
                }
            }
            Typing::Enter if self.keyboard.queue.is_submitting() && !self.phase().is_delivering() => {
                self.enter_sent()
            }
            Typing::Enter => self.type_own(b"\r"),
            Typing::Interrupt => {
                self.keyboard.held.interrupt(self.child.run.as_ref().map(|run| run.number));
                self.type_held();
            }
            Typing::DialogKey { dialog } => {
                let shown = self.child.view(&mut self.events).and_then(|view| view.dialog);
                match shown.filter(|shown| shown.name == *dialog).and_then(|shown| shown.press) {
                    Some(Press::Enter) => self.type_own(b"\r"),
                    Some(Press::Up) => self.type_own(b"\x1b[A"),
                    Some(Press::Down) => self.type_own(b"\x1b[B"),
                    None => {}
                }
            }
        }
    }

    fn decided(&mut self, decision: &Decision) {
        use DecisionKind as K;
        let over = settled_notices(decision.kind);
        self.on_terminals(|terminals, scene| terminals.settle_notices(over, scene));
        let fill = self.recorder.supervisor.fill();
        self.explanation.take(decision, fill, self.session.launch.restored, clock::Clock::wall());
        if decision.kind == K::RestartRequested {
            self.jobs.reason = RestartReason { sentence: decision.sentence.clone(), by: decision.by };
        }
        if decision.kind == K::RunEnded {
            if self.session.is_claude() && self.keyboard.would_lose_draft(self.phase()) {
                // Where the box shows hopty's own prompt, only the keys behind it are a draft.
                let ours = self.child.facts().is_some_and(|facts| facts.prompt == PromptBox::Ours);
                let shown = self.child.view(&mut self.events).and_then(|view| view.prompt_box);
                self.save_draft(shown.filter(|_| !ours).as_ref());
            }
            if self.session.is_claude() && leaves_draft(self.phase()) {
                for prompt in self.keyboard.unrecorded.take(self.clock.now()).iter().rev() {
                    self.keyboard.draft.put_first(&format!("{prompt}\n"));
                }
                self.keep_queue();
            }
        }
        let (session, restarts) = (&self.session, self.recorder.supervisor.restarts());
        let code = self.child.last_end.map_or(0, |end| end.code());
        let work = self.compat.decided(decision, || session.about(restarts, code));
        self.do_compat(work);
        let (now, cooling) = (self.clock.now(), matches!(self.phase(), Phase::Cooling { .. }));
        let shutdown = self.machine.shutdown;
        if let Some(told) = self.notifier.decided(decision, cooling, shutdown, now, clock::day_ms()) {
            let (at, status) = (self.session.wall(told.at), self.status());
            self.notifier.send(&told, at, &status);
        }
        self.cast.decided(decision);
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
                let hoptys = self.jobs.brief.as_ref().is_some_and(|brief| brief.typed.is_some());
                self.keyboard.carried.submitted(decision.conversation.as_ref(), hoptys);
                self.report_carried_prompt();
                self.jobs.compress_transcripts();
            }
            // The prompts are still in the queue of the Claude that continues.
            K::RestartCancelled => {
                let run = self.recorder.supervisor.run();
                self.keyboard.carried.forget_queued(run);
            }
            K::DeliveryFailed | K::SessionEnded => self.jobs.compress_transcripts(),
            K::RunSpawned if self.session.launch.detached || self.recorder.supervisor.run() > 1 => {
                self.write_session_file();
            }
            K::RunSpawned => self.jobs.session_file.write_soon(now),
            K::RunHeld => {
                self.print_held();
                self.write_session_file();
            }
            K::ConversationChanged => self.write_session_file(),
            _ => {}
        }
        if let Some(outcome) = restart_outcome(decision, self.recorder.supervisor.phase()) {
            self.control.settle_restarts(&outcome, now);
        }
    }

    /// What a person is told at the end of the session: a completed task, why it ended, unsent input.
    pub(super) fn farewell_message(&self) -> Option<String> {
        use crate::core::supervisor::phase::EndCause;
        let plain =
            self.exit.is_none_or(|exit| matches!(exit.cause, EndCause::Finished | EndCause::UserInterrupt));
        let waiting = self.recorder.supervisor.active_handoff().is_some();
        let completed = self.recorder.supervisor.task_completed().then_some("Task completed!");
        let why =
            (self.keyboard.unsent.is_some() || !plain || waiting).then_some(self.explanation.sentence());
        let is_restorable = self.machine.shutdown && session::waits_for_restore(&self.status());
        let restored = is_restorable.then(|| format!("`hopty restore {}` resumes it.", self.session.name()));
        let unsent = self.keyboard.unsent.as_deref();
        let words: Vec<&str> =
            completed.into_iter().chain(why).chain(restored.as_deref()).chain(unsent).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Ends the session: tells every client, after the last byte.
    fn close(&mut self, exit: HostExit) {
        self.exit = Some(exit);
        // Send queued text now: the host may be gone in the next turn.
        self.type_sends();
        // Input that a person typed and the program did not read goes to the leader's shell.
        if let Some(bytes) = self.child.take_unread() {
            self.terminals.keep_unread(bytes);
        }
        let conversation = self.recorder.supervisor.conversation().cloned();
        if let Some(reason) = self.compat.session_ended(conversation.as_ref()) {
            self.copy_transcript(conversation.as_ref(), reason);
        }
        // A private directory is deleted at the end of its session.
        self.keyboard
            .keep_unsent(self.session.private.is_none().then(|| self.session.claim.dir.join("unsent.txt")));
        self.cast.exit(exit.code());
        // A recording that fails with its last bytes is told while the clients are there.
        self.cast.wait(LAST_WRITES);
        self.recording_ended();
        if let Some(bytes) = self.child.end_pastes() {
            self.show(bytes);
        }
        let message = self.farewell_message();
        // A client that learns of the end may read the file immediately.
        self.write_session_file();
        self.jobs.journal.flush(LAST_WRITES);
        let attached = self.terminals.clients().next().is_some();
        // The last screen often shows why the program ended: `hopty screen` shows it if no client was
        // attached.
        if attached {
            self.jobs.journal.remove_file(self.session.last_screen());
        } else {
            let model = self.child.run.as_mut().map(|run| &mut run.model);
            let picture = json!(screen_answer::picture_of(model, 0)).to_string().into_bytes();
            self.jobs.journal.put_file(self.session.last_screen(), picture);
        }
        self.on_terminals(|terminals, scene| terminals.disconnect_all(message.as_deref(), scene));
    }
}

/// The notices that this decision settles: what they announced has happened, or will not happen.
fn settled_notices(kind: DecisionKind) -> &'static [DecisionKind] {
    use DecisionKind as K;
    match kind {
        K::RestartRequested => &[K::LevelCrossed, K::RestartIgnored],
        K::RestartIgnored => &[K::LevelCrossed],
        K::RestartCancelled => &[K::RestartWaits],
        K::SafePointReached | K::ConversationChanged | K::SessionEnded => {
            &[K::LevelCrossed, K::RestartIgnored, K::RestartWaits]
        }
        _ => &[],
    }
}
