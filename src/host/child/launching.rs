//! Launching a run: from the order to its start. Threads do the reading and writing for it: one reads
//! Claude's and the project's files, another writes the files that hopty supplies. A hanging disk keeps
//! Claude from starting only where Claude would hang as well.

use std::io;
use std::path::{Path, PathBuf};

use super::run::ChildRun;
use crate::claude::plugin;
use crate::core::claude::offers::HookSet;
use crate::core::config::Span;
use crate::core::ids::{Channel, ConversationId};
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::StartKind;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;
use crate::fs::{atomic, registry, tasks};
use crate::host::Host;
use crate::host::jobs::JobEvent;
use crate::host::jobs::code_approval::{CodeFound, READ_MS, UNREADABLE};
use crate::host::jobs::log::log;
use crate::host::observer::status_line;
use crate::host::wiring::own_files::Restored;

/// How often to check whether the descendants of the last run have ended, while the next one waits for that,
/// in ms.
const CLEAR_LOOK_MS: u64 = 5;
/// How long writing the launch files may take, in ms; after that Claude starts without them.
const WRITE_MS: u64 = 2000;

/// A run that is about to start.
#[derive(Clone, Debug)]
pub(in crate::host) struct NextRun {
    pub number: u32,
    pub start: StartKind,
    pub conversation: Option<ConversationId>,
    pub dir: Option<String>,
    /// The person's prompt is its first one, as an argument.
    pub prompt: bool,
}

/// The run that is about to start, and the launch files of the current one.
#[derive(Debug, Default)]
pub(in crate::host) struct Launching {
    next: Option<(NextRun, Step)>,
    pub given: LaunchFiles,
    /// Why the program could not be started.
    pub failure: Option<String>,
}

/// The steps of a launch.
#[derive(Debug)]
enum Step {
    /// Waiting for the descendants of the run before: until they have ended they could change what is read.
    Clears,
    /// Reading the settings that it starts with.
    Reads { until: Stamp },
    /// Writing the launch files.
    Writes { until: Stamp },
}

/// The launch files: the plugin with hopty's hooks, and the file for `--settings`.
#[derive(Debug, Default)]
pub(in crate::host) struct LaunchFiles {
    pub plugin: Option<PathBuf>,
    pub settings: Option<String>,
}

impl LaunchFiles {
    /// Deletes them.
    pub fn remove(&self) {
        if let Some(plugin) = &self.plugin {
            let _ = std::fs::remove_dir_all(plugin);
        }
        if let Some(settings) = &self.settings {
            let _ = std::fs::remove_file(settings);
        }
    }
}

/// Where a run starts, and its settings.
#[derive(Debug)]
pub(in crate::host) struct Site {
    /// Another directory than the session's, and its channel.
    moved: Option<(PathBuf, Option<Channel>)>,
    found: CodeFound,
    /// The content of `--settings`.
    settings: Option<String>,
}

/// The files to write before a launch.
struct Order {
    dir: PathBuf,
    hooks: HookSet,
    ack: Span,
    settings: Option<String>,
    /// Copy Claude's tasks from one conversation to the next.
    tasks: Option<(Paths, ConversationId, ConversationId)>,
}

impl Order {
    /// Rewrites files that differ from the expected content, since they may have been changed. If that fails,
    /// Claude starts without them.
    fn write(self) -> io::Result<LaunchFiles> {
        if let Some((paths, before, next)) = self.tasks
            && let Err(error) = tasks::carry(&paths, &before, &next)
        {
            log(format_args!("cannot copy the task list: {error}"));
        }
        if self.hooks == HookSet::None {
            return Ok(LaunchFiles::default());
        }
        let plugin = plugin::write(&self.dir, &plugin::this_binary(), self.hooks, self.ack)?;
        // A file, because everybody can read arguments and their length is limited.
        let file = self.dir.join("settings.json");
        let stands = |text: &String| {
            plugin::holds(&file, text)
                || (plugin::remove(&file).is_ok() && atomic::swap(&file, text.as_bytes()).is_ok())
        };
        let settings = self.settings.filter(stands).map(|_| file.display().to_string());
        Ok(LaunchFiles { plugin: Some(plugin), settings })
    }
}

impl Host {
    pub(in crate::host) fn spawn(&mut self, next: NextRun) {
        self.child.launching.next = Some((next, Step::Clears));
        self.go_on_launching();
    }

    /// When a launch continues without an event.
    pub(in crate::host) fn launch_deadline(&self, now: Stamp) -> Option<Stamp> {
        match &self.child.launching.next.as_ref()?.1 {
            Step::Clears => Some(now.after(CLEAR_LOOK_MS)),
            Step::Reads { until } | Step::Writes { until } => Some(*until),
        }
    }

    /// Takes the next step of a launch, if it is due.
    pub(in crate::host) fn go_on_launching(&mut self) {
        let now = self.clock.now();
        let Some((next, step)) = &self.child.launching.next else { return };
        match step {
            Step::Clears if !self.child.run.as_ref().is_none_or(ChildRun::is_clear) => {}
            Step::Clears if self.launch.agent != Agent::Claude => self.start_next(LaunchFiles::default()),
            Step::Clears => {
                let number = next.number;
                let read = self.site(next.dir.as_deref());
                if number == 1 {
                    // A person starts it, so they accept what runs code now. Nothing is running yet that
                    // could wait.
                    let site = read();
                    let Site { found, settings, .. } = site;
                    self.jobs.code.accept(found);
                    self.look_at_trusted();
                    let given = self.order(settings).write();
                    return self.written(number, given);
                }
                self.reach(Step::Reads { until: now.after(READ_MS) });
                self.jobs.read(move || JobEvent::Site(number, Box::new(read())));
            }
            Step::Reads { until } if *until <= now => self.hold_start(vec![UNREADABLE.to_owned()]),
            Step::Writes { until } if *until <= now => {
                self.written(
                    next.number,
                    Err(io::Error::new(io::ErrorKind::TimedOut, "the disk does not answer")),
                );
            }
            Step::Reads { .. } | Step::Writes { .. } => {}
        }
    }

    fn reach(&mut self, reached: Step) {
        if let Some((_, step)) = &mut self.child.launching.next {
            *step = reached;
        }
    }

    /// Collects what the next run starts with, for a thread that reads it.
    fn site(&self, dir: Option<&str>) -> impl FnOnce() -> Site + Send + 'static {
        let found = self.next_found(dir);
        let (paths, own, asked, dir) =
            (self.paths.clone(), self.own.clone(), dir.map(PathBuf::from), self.dir.clone());
        move || {
            let moved = asked.filter(|dir| dir.is_dir());
            let settings = status_line::settings(&paths, moved.as_deref().unwrap_or(&dir), &own);
            let channel = |dir: &Path| registry::channel_of(&paths.claude, dir).ok();
            Site { moved: moved.map(|dir| (dir.clone(), channel(&dir))), found: found(), settings }
        }
    }

    /// The settings of the next run have been read: they must be what a person accepted.
    pub(in crate::host) fn site_read(&mut self, number: u32, site: Site) {
        if !matches!(&self.child.launching.next, Some((next, Step::Reads { .. })) if next.number == number) {
            return;
        }
        let changed = self.jobs.code.changes(&site.found);
        if let Some((dir, channel)) = site.moved {
            self.dir = dir;
            self.channel = channel.unwrap_or_else(|| self.channel.clone());
        }
        if !changed.is_empty() {
            return self.hold_start(changed);
        }
        let (restore, mut order) = (self.restore(), self.order(site.settings));
        self.reach(Step::Writes { until: self.clock.now().after(WRITE_MS) });
        self.jobs.write_launch(move || {
            let restored = restore.run();
            order.dir.clone_from(&restored.dir);
            JobEvent::Written(number, Box::new(restored), order.write())
        });
    }

    fn order(&self, settings: Option<String>) -> Order {
        let before = self.observer.transcript().map(|transcript| transcript.conversation.clone());
        let next = self.child.launching.next.as_ref().map(|(next, _)| next);
        let fresh =
            next.filter(|next| next.start == StartKind::Fresh).and_then(|next| next.conversation.clone());
        Order {
            dir: self.claim.dir.clone(),
            hooks: self.launch.offers.hooks,
            ack: self.launch.config.hooks.ack,
            settings,
            tasks: before.zip(fresh).map(|(before, next)| (self.paths.clone(), before, next)),
        }
    }

    /// The directory exists, and the launch files were written or failed. A late result does not change the
    /// directory.
    pub(in crate::host) fn restored_and_written(
        &mut self,
        number: u32,
        restored: Restored,
        given: io::Result<LaunchFiles>,
    ) {
        self.restored(restored);
        self.written(number, given);
    }

    /// The launch files of the next run were written or failed.
    fn written(&mut self, number: u32, given: io::Result<LaunchFiles>) {
        if self.child.launching.next.as_ref().is_none_or(|(next, _)| next.number != number) {
            return;
        }
        let given = given.unwrap_or_else(|e| {
            let what = format!("cannot write hopty's hooks ({e}): this run has none");
            self.events.push_back(Event::Limited { what });
            LaunchFiles::default()
        });
        self.start_next(given);
    }

    /// The next run does not start; tells the supervisor.
    fn hold_start(&mut self, changed: Vec<String>) {
        self.child.launching.next = None;
        self.events.push_back(Event::Settings { changed });
    }

    fn start_next(&mut self, given: LaunchFiles) {
        if let Some((next, _)) = self.child.launching.next.take() {
            self.child.launching.given = given;
            self.spawn_now(next);
            self.print_resuming();
        }
    }
}
