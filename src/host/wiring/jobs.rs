//! What jobs have brought, and the journal's lines.

use crate::core::supervisor::action::DecisionKind;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::jobs::log::log;
use crate::host::jobs::{JobEvent, JournalEvent};
use crate::sys::clock::Clock;

/// The version that journals name.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Host {
    /// Handles what the jobs have brought.
    pub(in crate::host) fn take_jobs(&mut self) {
        for event in self.jobs.take() {
            match event {
                JobEvent::Accepted(at, found) => {
                    self.jobs.code.accept_read(at, self.clock.now(), found);
                }
                JobEvent::Checked(number, found) => self.checked(number, &found),
                JobEvent::Scanned(reader, result) => self.scanned(reader, *result),
                JobEvent::Recalled(conversation, bytes) => self.recalled(&conversation, bytes.as_deref()),
                JobEvent::Site(run, site) => self.site_read(run, *site),
                JobEvent::Written(run, restored, given) => self.restored_and_written(run, *restored, given),
                JobEvent::Restored(restored, listener) => self.rebound(*restored, listener),
                JobEvent::Renamed(asked, name, done) => self.renamed(asked, name, done),
                JobEvent::Saved(mut brief, notices) => {
                    for text in std::mem::take(&mut brief.found) {
                        self.notice(DecisionKind::HandoffSaved, &text);
                    }
                    self.events.extend(notices.into_iter().map(|what| Event::Limited { what }));
                    self.events.push_back(Event::Saved { handoff: brief.id.clone(), mark: brief.mark });
                    self.channel.clone_from(&brief.made_in.1);
                    self.jobs.brief = Some(*brief);
                    self.write_layouts();
                }
                JobEvent::NotSaved(error) => self.events.push_back(Event::SaveFailed { error }),
                JobEvent::Recorded(hook, saved, found) => self.record_settled(hook, saved, found.as_ref()),
                JobEvent::Failed(error) => log(error),
                JobEvent::Limited(failed) => {
                    self.events.extend(failed.into_iter().map(|what| Event::Limited { what }))
                }
                JobEvent::Copied(due, copied) => self.backed_up(&due, copied),
                JobEvent::Known(dirs) => self.jobs.code.know(dirs),
                JobEvent::CastOpened(number, opened, order) => self.cast_opened(number, opened, *order),
                JobEvent::Page(client, text) => {
                    self.on_terminals(|terminals, scene| terminals.show_page(client, &text, scene));
                }
                JobEvent::Quiet => {}
            }
        }
        self.jobs.rest();
    }

    /// Opens the journal of this session with its first line.
    pub(in crate::host) fn begin_journal(&mut self) -> std::io::Result<()> {
        let now = self.clock.now();
        self.jobs.journal.open(now)?;
        let open = self.recorder.open_line(Stamp(0), self.began, VERSION);
        self.write_journal(&open);
        Ok(())
    }

    pub(in crate::host) fn write_journal(&mut self, lines: &str) {
        let now = self.clock.now();
        let recorder = &mut self.recorder;
        self.jobs.journal.write(lines, now, || recorder.open_line(now, Clock::wall(), VERSION));
        self.take_journal_events();
    }

    /// The journal's file was deleted or moved away: another one begins.
    pub(in crate::host) fn renew_journal(&mut self) {
        let open = self.recorder.open_line(self.clock.now(), Clock::wall(), VERSION);
        self.jobs.journal.renew(open);
        let what = "The journal was deleted or moved: a new one continues from here".to_owned();
        self.events.push_back(Event::Limited { what });
    }

    pub(in crate::host) fn tend_journal(&mut self) {
        let now = self.clock.now();
        let recorder = &mut self.recorder;
        self.jobs.journal.tend(now, |missing| recorder.resume_line(now, Clock::wall(), VERSION, missing));
        self.take_journal_events();
    }

    fn take_journal_events(&mut self) {
        while let Some(event) = self.jobs.journal.next_event() {
            match event {
                JournalEvent::Failed => self.events.push_back(Event::Degraded { part: "journal".to_owned() }),
                JournalEvent::Resumed { missing } => self.notice(
                    DecisionKind::Degraded,
                    &format!("The journal continues; {missing} lines are missing."),
                ),
            }
        }
    }
}
