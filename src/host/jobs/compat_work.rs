//! The source documents' own forms: what [`SessionCompat`] asks for is done on the worker. A failure never
//! delays a hand-over and becomes a line of the journal.
//!
//! [`SessionCompat`]: crate::core::compat::SessionCompat

use super::{JobEvent, Jobs};
use crate::core::compat::{CompatWork, LayoutPlace};
use crate::core::file_edit::FileEdit;
use crate::core::handoff::capture::Capture;
use crate::core::ids::HandoffId;
use crate::fs::edits::{self, Disk};
use crate::sys::clock::{Clock, local};

impl Jobs {
    /// Does what a form asks for. `capture`: the state of the conversation.
    pub fn do_compat(&mut self, work: CompatWork, place: LayoutPlace, capture: Option<Capture>) {
        let now = Clock::wall();
        match work {
            CompatWork::WriteLayouts(chosen, of) => {
                self.work(move || JobEvent::Limited(edits::make_each(place.write(&chosen, &of, &Disk, now))))
            }
            CompatWork::SettleLayouts(id) => self.settle_layouts(&id, place),
            CompatWork::CopyTranscript(reason, due) => {
                self.work(move || {
                    let copy = place.copy(&reason, &Disk, now, capture.as_ref());
                    let made = copy.map(|(copy, steps)| edits::make(steps).map(|()| copy)).transpose();
                    let failed = |e| format!("The transcript could not be copied for layout memory: {e}");
                    JobEvent::Copied(due, made.map_err(failed))
                });
            }
            CompatWork::WriteFile(name, text) => self.write_small(place.claude.join(name), text),
            CompatWork::AppendLines(name, lines) => {
                let path = place.claude.join(name);
                self.work(move || {
                    let at = local(now);
                    let text: String = lines.iter().map(|line| format!("[{at}] {line}\n")).collect();
                    edits::make(vec![Ok(FileEdit::Append(path, text))])
                        .map_or_else(JobEvent::Failed, |()| JobEvent::Quiet)
                });
            }
        }
    }

    /// Removes the files of a handoff's layouts that only waited for its end. A restart may have led
    /// elsewhere; the files are where the handoff was made.
    fn settle_layouts(&mut self, id: &HandoffId, mut place: LayoutPlace) {
        if let Some(brief) = self.brief_of(id) {
            (place.project, place.channel) = brief.made_in.clone();
        }
        let id = id.clone();
        self.work(move || {
            for steps in place.settle(&id, &Disk) {
                let _ = edits::make(steps);
            }
            JobEvent::Quiet
        });
    }
}
