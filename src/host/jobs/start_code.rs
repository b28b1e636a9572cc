//! The settings that run code when Claude starts: accepted when the session begins and with every `hopty
//! restart` of a person, compared before a hand-over stops Claude, and once more when the next run starts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::claude::start_code::{Places, StartCode};
use crate::core::claude::code::{Change, CodeDigest};
use crate::core::claude::settings::{Given, given};
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::Phase;
use crate::core::time::Stamp;
use crate::fs::trust;
use crate::host::Host;
use crate::host::jobs::JobEvent;
use crate::host::terminals::repaint;

/// How long reading them may take, in ms: hopty does not wait for a hanging disk, and starts nothing
/// unchecked.
pub(in crate::host) const READ_MS: u64 = 5000;
/// The message if it takes longer.
pub(in crate::host) const UNREADABLE: &str = "its files cannot be read in time";
/// How many changes are listed by name.
const MOST_TOLD: usize = 20;

/// The settings that run code as a person last accepted them.
#[derive(Debug, Default)]
pub(in crate::host) struct AcceptedCode {
    everywhere: CodeDigest,
    /// By directory. In any other directory nothing was ever accepted.
    dirs: BTreeMap<PathBuf, CodeDigest>,
    /// A person's restart requests without a decision, by number, with the directory of each.
    restarts: BTreeMap<u64, Option<PathBuf>>,
}

impl AcceptedCode {
    pub fn take(&mut self, found: CodeFound) {
        self.everywhere = found.code.everywhere;
        self.dirs.insert(found.real, found.code.here);
    }

    /// The settings of other directories when the session began.
    pub fn know(&mut self, dirs: Vec<(PathBuf, CodeDigest)>) {
        for (dir, digest) in dirs {
            self.dirs.entry(dir).or_insert(digest);
        }
    }

    fn changes(&self, found: &CodeFound) -> Vec<(String, Change)> {
        let nothing = CodeDigest::default();
        let here = self.dirs.get(&found.real).unwrap_or(&nothing);
        let mut all: Vec<_> = self
            .everywhere
            .changes(&found.code.everywhere)
            .into_iter()
            .chain(here.changes(&found.code.here))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup();
        all
    }
}

/// The settings that run code in a directory, as read.
#[derive(Debug)]
pub(in crate::host) struct CodeFound {
    /// The directory, with links resolved.
    real: PathBuf,
    code: StartCode,
}

impl CodeFound {
    pub fn read(places: &Places, dir: &Path) -> CodeFound {
        CodeFound { real: real(dir), code: StartCode::read(places, dir) }
    }
}

/// A comparison, current or finished.
#[derive(Clone, Copy, Debug)]
pub(in crate::host) struct CodeCheck {
    number: u64,
    /// When to give it up.
    until: Option<Stamp>,
}

fn real(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

impl Host {
    pub(in crate::host) fn places(&self) -> Places {
        let file = |value: &&String| given(value) == Given::File;
        let paths = |values: &[String]| values.iter().filter(file).map(PathBuf::from).collect();
        Places {
            claude: self.paths.claude.clone(),
            state: self.paths.claude_json(),
            home: self.paths.home.clone(),
            settings: self.own.settings.as_ref().filter(file).map(PathBuf::from),
            mcp_configs: paths(&self.own.mcp_configs),
            plugin_dirs: self.own.plugin_dirs.iter().map(PathBuf::from).collect(),
            records: trust::places,
        }
    }

    /// A person requests a restart. Nothing is accepted before it is clear that there will be one.
    pub(in crate::host) fn restart_asked(&mut self, number: u64) {
        let next = self.recorder.supervisor.next_dir().map(PathBuf::from);
        self.accepted.restarts.insert(number, next);
    }

    /// A request was decided. If it was a person's restart and is accepted, so are the current settings.
    pub(in crate::host) fn restart_decided(&mut self, number: u64, accepted: bool) {
        let Some(asked) = self.accepted.restarts.remove(&number) else { return };
        if !accepted || self.launch.agent != Agent::Claude {
            return;
        }
        let (places, now) = (self.places(), self.clock.now());
        let next = self.recorder.supervisor.next_dir().map(PathBuf::from);
        let dirs: BTreeSet<PathBuf> = [Some(self.dir.clone()), asked, next].into_iter().flatten().collect();
        self.jobs.read(move || {
            JobEvent::Accepted(now, dirs.iter().map(|dir| CodeFound::read(&places, dir)).collect())
        });
    }

    /// The settings that a person accepted were read. A much later reading may include somebody else's
    /// changes.
    pub(in crate::host) fn accepted(&mut self, at: Stamp, found: Vec<CodeFound>) {
        if self.clock.now().since(at) < READ_MS {
            found.into_iter().for_each(|found| self.accepted.take(found));
        }
    }

    /// Collects the settings of the next run, for a thread that reads them. `dir` is its directory, if that
    /// is not the session's.
    pub(in crate::host) fn next_found(
        &self,
        dir: Option<&str>,
    ) -> impl FnOnce() -> CodeFound + Send + 'static {
        let (places, own, next) = (self.places(), self.dir.clone(), dir.map(PathBuf::from));
        move || CodeFound::read(&places, &next.filter(|dir| dir.is_dir()).unwrap_or(own))
    }

    /// The changes since a person last accepted the settings: a phrase for each.
    pub(in crate::host) fn start_code_changes(&self, found: &CodeFound) -> Vec<String> {
        let changes = self.accepted.changes(found);
        let more = changes.len().saturating_sub(MOST_TOLD);
        let told =
            changes.into_iter().take(MOST_TOLD).map(|(key, change)| format!("{key} {}", change.word()));
        told.chain((more > 0).then(|| format!("{more} more"))).collect()
    }

    /// Compares the settings while Claude still runs.
    pub(in crate::host) fn check_settings(&mut self) {
        let read = self.next_found(self.recorder.supervisor.next_dir());
        let number = self.check.map_or(0, |check| check.number) + 1;
        self.check = Some(CodeCheck { number, until: Some(self.clock.now().after(READ_MS)) });
        self.jobs.read(move || JobEvent::Checked(number, read()));
    }

    /// The settings for a check were read.
    pub(in crate::host) fn checked(&mut self, number: u64, found: &CodeFound) {
        if let Some(check) =
            self.check.as_mut().filter(|check| check.number == number && check.until.is_some())
        {
            check.until = None;
            let changed = self.start_code_changes(found);
            self.events.push_back(Event::Settings { changed });
        }
    }

    /// When to give up a check.
    pub(in crate::host) fn check_deadline(&self) -> Option<Stamp> {
        self.check.and_then(|check| check.until)
    }

    pub(in crate::host) fn give_up_check(&mut self) {
        let now = self.clock.now();
        if let Some(check) = self.check.as_mut().filter(|check| check.until.is_some_and(|at| at <= now)) {
            check.until = None;
            self.events.push_back(Event::Settings { changed: vec![UNREADABLE.to_owned()] });
        }
    }

    /// A restart may lead into any directory that Claude trusts: its current settings are the basis of
    /// comparison.
    pub(in crate::host) fn look_at_trusted(&mut self) {
        let (places, dir) = (self.places(), self.dir.clone());
        let job = move || {
            let dirs = StartCode::trusted(&places, &dir);
            JobEvent::Known(
                dirs.into_iter().map(|dir| (real(&dir), StartCode::here(&places, &dir))).collect(),
            )
        };
        self.jobs.copy(job);
    }

    /// While the next run is held nothing draws: the terminal shows the reason, and what to do.
    pub(in crate::host) fn print_held(&mut self) {
        let Phase::Cooling { held, .. } = self.phase() else { return };
        let name = &self.claim.name;
        let text = format!(
            "hopty: Claude is not started, settings that run code have changed: {}\r\nhint: `hopty restart {name}` in another terminal starts it \
             anyway; Ctrl+C ends the session\r\n",
            held.join(", ")
        );
        if let Some(run) = &mut self.child.run {
            if run.above.is_none() {
                run.above = run.model.look_so_far(repaint::above);
            }
            run.model.change(|screen| screen.feed(format!("\x1b[m\x1b[2J\x1b[H{text}").as_bytes()));
        }
        self.show(format!("\r\n{text}").as_bytes());
    }
}
