//! What jobs have brought, and the journal's lines.

use crate::core::supervisor::action::DecisionKind;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::identity::RestoredFiles;
use crate::host::jobs::log::log;
use crate::host::jobs::{JobEvent, JournalEvent, recalled_ask_answer};
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
                JobEvent::Checked(number, found) => {
                    let changed = self.jobs.code.end_check(number, &found);
                    self.events.extend(changed.map(|changed| Event::Settings { changed }));
                }
                JobEvent::Scanned(reader, result) => self.scanned(reader, *result),
                JobEvent::Recalled(conversation, bytes) => {
                    let now = Clock::wall();
                    self.events.extend(recalled_ask_answer(&conversation, bytes.as_deref(), now));
                }
                JobEvent::Site(run, site) => self.site_read(run, *site),
                JobEvent::Written(run, restored, given) => {
                    // A late result does not change the directory.
                    self.restored(*restored);
                    self.launch_files_written(run, given);
                }
                JobEvent::Restored(restored, listener) => {
                    self.restored(*restored);
                    if let Some(listener) = listener {
                        self.control.rebound(listener);
                        // A new directory is not watched yet.
                        self.observer.scan_all();
                    }
                }
                JobEvent::Renamed(asked, name, done) => self.renamed(asked, name, done),
                JobEvent::Saved(mut brief, notices) => {
                    for text in std::mem::take(&mut brief.found) {
                        self.notice(DecisionKind::HandoffSaved, &text);
                    }
                    self.events.extend(notices.into_iter().map(|what| Event::Limited { what }));
                    self.events.push_back(Event::Saved { handoff: brief.id.clone(), mark: brief.mark });
                    self.session.channel.clone_from(&brief.made_in.1);
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
                JobEvent::CastOpened(number, opened, order) => self.cast_opened(number, opened, &order),
                JobEvent::Page(client, text) => {
                    self.on_terminals(|terminals, scene| terminals.show_page(client, &text, scene));
                }
                JobEvent::Quiet => {}
            }
        }
        self.jobs.rest();
    }

    /// The session's directory was restored, or nothing was missing.
    fn restored(&mut self, restored: RestoredFiles) {
        let RestoredFiles { claim, failed, lost, .. } = restored;
        if let Some(error) = failed {
            return log(format_args!("cannot recreate the session's directory: {error}"));
        }
        // A journal that was begun meanwhile is not lost.
        let lost = lost.is_some_and(|id| self.jobs.journal.writes_to(id));
        if claim.is_none() && !lost {
            return;
        }
        if let Some(claim) = claim {
            self.session.claim = claim;
            let name = self.session.name();
            self.control.renamed(name, self.session.paths.socket(name));
            self.jobs.journal.moved(&self.session.claim.dir);
            log("the session's directory was gone and is recreated");
            self.write_session_file();
        }
        if lost {
            self.renew_journal();
        }
        self.observer.scan_all();
    }

    /// Has a thread check that the session can be reached, and restore what is missing for that.
    pub(in crate::host) fn rebind(&mut self) {
        let order = self.session.restore_order(self.jobs.journal.journal_id());
        self.jobs.write_launch(move || {
            let (restored, listener) = order.run_with_socket();
            JobEvent::Restored(Box::new(restored), listener)
        });
    }

    /// Opens the journal of this session with its first line.
    pub(in crate::host) fn begin_journal(&mut self) -> std::io::Result<()> {
        let now = self.clock.now();
        self.jobs.journal.open(now)?;
        let open = self.recorder.open_line(Stamp(0), self.session.began, VERSION);
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
    fn renew_journal(&mut self) {
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
