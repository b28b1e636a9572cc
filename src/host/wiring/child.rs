//! The program's output, its end and its signals: to the terminals, the screen model and the supervisor.

use crate::core::process::Signal;
use crate::core::supervisor::event::Event;
use crate::host::Host;
use crate::host::terminals::Terminals;
use crate::sys::poll::FdReadiness;

/// The most reads of a master in a turn, of some 30 us each: everybody but the person who types waits that
/// long.
const READS: u32 = 8;
/// The most reads of output after a child's death.
const DRAIN_READS: u32 = 256;
/// The most reads of output before a program is muted, which may write forever.
const MUTE_READS: u32 = 16;

impl Host {
    /// The master is ready: first forward output, then feed it to the screen, then write waiting input.
    pub(in crate::host) fn master_ready(&mut self, ready: FdReadiness) {
        let Some(run) = &mut self.child.run else { return };
        if ready.write {
            run.flush();
        }
        let reads = if ready.read { READS } else { 0 };
        let _ = (0..reads).all(|_| self.read_output() && self.goes_on());
    }

    /// Reads some output. Returns whether there may be more.
    pub(super) fn read_output(&mut self) -> bool {
        self.on_terminals(Terminals::set_slow_aside);
        let Some(output) = self.child.run.as_mut().and_then(|run| run.read(&self.clock)) else {
            return false;
        };
        if let Some(bytes) = output.shown() {
            self.show(bytes);
        }
        self.child.run.as_mut().is_some_and(|run| run.feed(output))
    }

    /// Feeds the screen model if that is due.
    pub(in crate::host) fn feed_model(&mut self) {
        let Some(failed) = self.child.feed_when_due(&self.clock) else { return };
        if failed {
            self.events.push_back(Event::Degraded { part: "screen model".to_owned() });
            self.on_terminals(Terminals::fit);
        }
        self.on_terminals(Terminals::keep_notifications);
        self.child.note_screen(self.clock.now());
    }

    /// A process may have opened the terminal again after the child closed it.
    pub(in crate::host) fn look_for_opened(&mut self) {
        if self.child.may_be_open_again(self.clock.now()) {
            self.read_output();
        }
    }

    /// Output comes before the exit: the end is reported when the terminal is drained.
    pub(in crate::host) fn finish_run(&mut self) {
        if !self.child.is_ending() {
            return;
        }
        // Little output remains; more comes only from another process that keeps the terminal open.
        let mut left = DRAIN_READS;
        while left > 0 && self.read_output() {
            left -= 1;
        }
        let Some(finished) = self.child.finish(self.clock.now(), left == 0) else { return };
        let mut undo = finished.undo;
        if self.phase().next_run().is_some() {
            let line = self.going_on();
            undo.extend_from_slice(line.as_bytes());
            self.child.leave_line(&line);
        }
        if !undo.is_empty() {
            self.show(&undo);
        }
        self.drop_hooks();
        self.events.push_back(Event::Child { run: finished.number, end: finished.end });
    }

    pub(in crate::host) fn signal_child(&mut self, signal: Signal, group: bool) {
        if signal == Signal::TERM && self.phase().next_run().is_some() {
            // No prompt box can be found in half a frame, and output that is already written belongs to the
            // screen.
            (0..MUTE_READS).all(|_| self.read_output());
            let shown = self.view().and_then(|view| view.prompt_box);
            self.keyboard.draft.save(shown.as_ref());
            self.child.mute(shown.as_ref());
        }
        self.child.signal(signal, group, self.session.launch.agent);
    }
}
