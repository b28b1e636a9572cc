//! What runs code when Claude starts: accepted when the session begins and with every `hopty restart` of a person, compared before
//! a hand-over stops Claude, and once more when the next run starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::run::Run;
use super::save::Done;
use super::{Host, repaint, statusline};
use crate::claude::plugin;
use crate::claude::start_code::{Places, StartCode};
use crate::core::claude::code::{Change, CodeDigest};
use crate::core::claude::offers::HookSet;
use crate::core::claude::settings::{Given, given};
use crate::core::ids::ConversationId;
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::{Phase, StartKind};
use crate::fs::atomic;

use super::log::log;

/// How many changes a person is told by name.
const MOST_TOLD: usize = 20;

/// What runs code as a person last accepted it.
#[derive(Debug, Default)]
pub(super) struct Accepted {
    everywhere: CodeDigest,
    /// By directory. In one that is not here nothing was ever accepted.
    dirs: BTreeMap<PathBuf, CodeDigest>,
}

impl Accepted {
    fn take(&mut self, dir: &Path, found: StartCode) {
        self.everywhere = found.everywhere;
        self.dirs.insert(real(dir), found.here);
    }

    /// What stood in other directories when the session began.
    pub fn know(&mut self, dirs: Vec<(PathBuf, CodeDigest)>) {
        for (dir, digest) in dirs {
            self.dirs.entry(dir).or_insert(digest);
        }
    }

    fn changes(&self, dir: &Path, found: &StartCode) -> Vec<(String, Change)> {
        let nothing = CodeDigest::default();
        let here = self.dirs.get(&real(dir)).unwrap_or(&nothing);
        let mut all: Vec<_> = self.everywhere.changes(&found.everywhere).into_iter().chain(here.changes(&found.here)).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup();
        all
    }
}

fn real(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

/// A run that is to start.
#[derive(Clone, Debug)]
pub(super) struct NextRun {
    pub number: u32,
    pub start: StartKind,
    pub conversation: Option<ConversationId>,
    pub dir: Option<String>,
}

impl Host {
    pub(super) fn spawn(&mut self, next: NextRun) {
        self.next_run = Some(next);
        self.spawn_when_clear();
    }

    /// Starts the next run once the last one and all that hung on it have ended: until then they could change what it starts with.
    pub(super) fn spawn_when_clear(&mut self) {
        if self.run.as_ref().is_none_or(Run::is_clear)
            && let Some(next) = self.next_run.take()
        {
            self.spawn_now(next);
            self.print_resuming();
        }
    }

    fn places(&self) -> Places {
        let file = |value: &&String| given(value) == Given::File;
        let paths = |values: &[String]| values.iter().filter(file).map(PathBuf::from).collect();
        Places {
            claude: self.paths.claude.clone(),
            state: self.paths.claude_json(),
            home: self.paths.home.clone(),
            settings: self.own.settings.as_ref().filter(file).map(PathBuf::from),
            mcp_configs: paths(&self.own.mcp_configs),
            plugin_dirs: self.own.plugin_dirs.iter().map(PathBuf::from).collect(),
        }
    }

    /// A person starts Claude, or starts it again: what runs code now is what they mean.
    pub(super) fn accept_start_code(&mut self) {
        if self.launch.agent != Agent::Claude {
            return;
        }
        let places = self.places();
        let next = self.recorder.supervisor.next_dir().map(PathBuf::from);
        for dir in [Some(self.dir.clone()), next].into_iter().flatten() {
            self.accepted.take(&dir, StartCode::read(&places, &dir));
        }
    }

    /// What changed of it since, for a start in `dir`: a phrase for each.
    fn start_code_changes(&self, dir: &Path) -> Vec<String> {
        let changes = self.accepted.changes(dir, &StartCode::read(&self.places(), dir));
        let more = changes.len().saturating_sub(MOST_TOLD);
        let told = changes.into_iter().take(MOST_TOLD).map(|(key, change)| format!("{key} {}", change.word()));
        told.chain((more > 0).then(|| format!("{more} more"))).collect()
    }

    /// What changed of what the next run would start with.
    pub(super) fn changed_for_next_run(&self) -> Vec<String> {
        let next = self.recorder.supervisor.next_dir().map(PathBuf::from).filter(|dir| dir.is_dir());
        self.start_code_changes(&next.unwrap_or_else(|| self.dir.clone()))
    }

    /// Compares it while Claude still runs.
    pub(super) fn check_settings(&mut self) {
        let changed = self.changed_for_next_run();
        self.events.push_back(Event::Settings { changed });
    }

    /// The same at the last moment. `false` when the run must not start, which the supervisor is told.
    pub(super) fn may_start(&mut self, run: u32) -> bool {
        if self.launch.agent != Agent::Claude {
            return true;
        }
        if run == 1 {
            self.accept_start_code();
            self.look_at_trusted();
            return true;
        }
        let changed = self.start_code_changes(&self.dir.clone());
        if changed.is_empty() {
            return true;
        }
        self.events.push_back(Event::Settings { changed });
        false
    }

    /// A restart may lead into any directory that Claude trusts: what stands there now is what it is compared with.
    fn look_at_trusted(&mut self) {
        let (places, dir) = (self.places(), self.dir.clone());
        let job = move || {
            let dirs = StartCode::trusted(&places, &dir);
            Done::Known(dirs.into_iter().map(|dir| (real(&dir), StartCode::here(&places, &dir))).collect())
        };
        if let Err(e) = self.copier.submit(job) {
            log(format_args!("the copier cannot be started: {e}"));
        }
    }

    /// Writes what a launch is given, the plugin with hopty's hooks and its `--settings`, from what is known here: what lies there
    /// may have been changed. Where they cannot be written, Claude starts without them.
    pub(super) fn write_launch_files(&mut self) {
        (self.plugin, self.settings) = (None, None);
        let set = self.launch.offers.hooks;
        if self.launch.agent != Agent::Claude || set == HookSet::None {
            return;
        }
        let settings = statusline::settings(&self.paths, &self.dir, &self.own);
        if self.claim.dir.is_symlink() {
            // Made by somebody who moved the directory away: it is not followed, and the directory made again.
            let _ = std::fs::remove_file(&self.claim.dir);
        }
        self.restore_session_dir();
        match plugin::write(&self.claim.dir, &plugin::this_binary(), set, self.launch.config.hooks.ack) {
            Ok(plugin) => self.plugin = Some(plugin),
            Err(e) => {
                let what = format!("hopty's hooks cannot be written ({e}): this run goes without them");
                self.events.push_back(Event::Limited { what });
                return;
            }
        }
        // A file, because arguments can be read by everybody and are limited in length.
        let file = self.claim.dir.join("settings.json");
        let written = |text: &String| plugin::remove(&file).is_ok() && atomic::swap(&file, text.as_bytes()).is_ok();
        self.settings = settings.filter(written).map(|_| file.display().to_string());
    }

    /// While the next run is held nothing draws: the terminal says why, and what to do.
    pub(super) fn print_held(&mut self) {
        let Phase::Cooling { held, .. } = self.phase() else { return };
        let name = &self.claim.name;
        let text = format!(
            "hopty: Claude is not started, what runs code has changed: {}\r\nhint: `hopty restart {name}` in another terminal starts it all \
             the same; Ctrl+C ends the session\r\n",
            held.join(", ")
        );
        if let Some(run) = &mut self.run {
            if run.above.is_none() {
                run.above = run.model.look_so_far(repaint::above);
            }
            run.model.change(|screen| screen.feed(format!("\x1b[m\x1b[2J\x1b[H{text}").as_bytes()));
        }
        self.show(format!("\r\n{text}").as_bytes());
    }
}
