//! Comparing and accepting the settings that run code when Claude starts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::claude::start_code::StartCodePaths;
use crate::core::claude::settings::{SettingsArgument, given};
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::Phase;
use crate::fs::trust;
use crate::host::Host;
use crate::host::jobs::{CodeFound, JobEvent};
use crate::host::terminals::repaint;

impl Host {
    fn places(&self) -> StartCodePaths {
        let file = |value: &&String| given(value) == SettingsArgument::File;
        let paths = |values: &[String]| values.iter().filter(file).map(PathBuf::from).collect();
        StartCodePaths {
            claude: self.paths.claude.clone(),
            state: self.paths.claude_json(),
            home: self.paths.home.clone(),
            settings: self.own.settings.as_ref().filter(file).map(PathBuf::from),
            mcp_configs: paths(&self.own.mcp_configs),
            plugin_dirs: self.own.plugin_dirs.iter().map(PathBuf::from).collect(),
            records: trust::places,
        }
    }

    fn next_dir(&self) -> Option<PathBuf> {
        self.recorder.supervisor.next_dir().map(PathBuf::from)
    }

    /// A person requests a restart.
    pub(super) fn restart_asked(&mut self, number: u64) {
        let next = self.next_dir();
        self.jobs.code.restart_requested(number, next);
    }

    /// A request was decided. If it was a person's restart and is accepted, so are the current settings.
    pub(super) fn restart_decided(&mut self, number: u64, accepted: bool) {
        let Some(asked) = self.jobs.code.restart_decided(number) else { return };
        if !accepted || self.launch.agent != Agent::Claude {
            return;
        }
        let (places, now) = (self.places(), self.clock.now());
        let dirs: BTreeSet<PathBuf> =
            [Some(self.dir.clone()), asked, self.next_dir()].into_iter().flatten().collect();
        self.jobs.read(move || {
            JobEvent::Accepted(now, dirs.iter().map(|dir| CodeFound::read(&places, dir)).collect())
        });
    }

    /// Collects the settings of the next run, for a thread that reads them. `dir` is its directory, if that
    /// is not the session's.
    pub(in crate::host) fn next_found(&self, dir: Option<&str>) -> impl FnOnce() -> CodeFound + Send + use<> {
        let (places, own, next) = (self.places(), self.dir.clone(), dir.map(PathBuf::from));
        move || CodeFound::read(&places, &next.filter(|dir| dir.is_dir()).unwrap_or(own))
    }

    /// Compares the settings while Claude still runs.
    pub(in crate::host) fn check_settings(&mut self) {
        let read = self.next_found(self.recorder.supervisor.next_dir());
        let number = self.jobs.code.begin_check(self.clock.now());
        self.jobs.read(move || JobEvent::Checked(number, read()));
    }

    /// The settings for a check were read.
    pub(super) fn checked(&mut self, number: u64, found: &CodeFound) {
        let changed = self.jobs.code.end_check(number, found);
        self.events.extend(changed.map(|changed| Event::Settings { changed }));
    }

    pub(in crate::host) fn give_up_check(&mut self) {
        let changed = self.jobs.code.due(self.clock.now());
        self.events.extend(changed.map(|changed| Event::Settings { changed }));
    }

    /// A restart may lead into any directory that Claude trusts: its current settings are the basis of
    /// comparison.
    pub(in crate::host) fn look_at_trusted(&mut self) {
        let (places, dir) = (self.places(), self.dir.clone());
        self.jobs.copy(move || JobEvent::Known(CodeFound::trusted(&places, &dir)));
    }

    /// While the next run is held nothing draws: the terminal shows the reason, and what to do.
    pub(in crate::host) fn print_held(&mut self) {
        let Phase::Cooling { held, .. } = self.phase() else { return };
        let name = &self.claim.name;
        let text = self.child.on_rows(&format!(
            "hopty: Claude is not started, because settings that run code have changed: {}\nhint: `hopty \
             restart {name}` in another terminal starts it anyway; Ctrl+C ends the session\n",
            held.join(", ")
        ));
        if let Some(run) = &mut self.child.run {
            if run.above.is_none() {
                run.above = run.model.look_so_far(repaint::above);
            }
            run.model.change(|screen| screen.feed(format!("\x1b[m\x1b[2J\x1b[H{text}").as_bytes()));
        }
        self.show(format!("\r\n{text}").as_bytes());
    }
}
