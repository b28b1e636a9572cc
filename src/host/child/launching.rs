//! Launching a run: from the order to its start. Threads do the reading and writing for it: one reads
//! Claude's and the project's files, another writes the files that hopty supplies. A hanging disk keeps
//! Claude from starting only where Claude would hang as well.
//!
//! [`Launching`] tracks a launch. It returns the next thing to do as a [`LaunchStep`], which
//! `wiring/program_launch` does.

use std::io;
use std::path::{Path, PathBuf};

use crate::claude::plugin::{self, PluginParts};
use crate::core::claude::args::OwnArgs;
use crate::core::claude::version_features::HookSet;
use crate::core::ids::{Channel, ConversationId};
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::phase::StartKind;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;
use crate::fs::{atomic, registry, task_files};
use crate::host::jobs::code_approval::{CodeFound, READ_MS, UNREADABLE};
use crate::host::jobs::log::log;
use crate::host::observer::status_line;
use crate::pty::spawn::SpawnError;

/// How often to check whether the descendants of the last run have ended, while the next one waits for that,
/// in ms.
const CLEAR_LOOK_MS: u64 = 5;
/// How long writing the launch files may take, in ms; after that Claude starts without them.
const WRITE_MS: u64 = 2000;
/// How often to retry a start for which the machine lacks a resource, and the time between, in ms: ten
/// seconds.
const START_TRIES: u32 = 40;
const LAUNCH_RETRY_MS: u64 = 250;
/// How often to retry where the program's file or directory is missing: five minutes. An update removes the
/// file for a while.
const FILE_TRIES: u32 = 1200;

/// A run that is about to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) struct LaunchPlan {
    pub number: u32,
    pub start: StartKind,
    pub conversation: Option<ConversationId>,
    pub dir: Option<String>,
    /// The person's prompt is passed as an argument.
    pub prompt: bool,
    /// The first prompt in the person's arguments still has to be sent: no earlier run has taken it.
    pub first_prompt: bool,
}

/// The run that is about to start, and the launch files of the current one.
#[derive(Debug, Default)]
pub(in crate::host) struct Launching {
    next: Option<(LaunchPlan, LaunchStage)>,
    pub given: LaunchFiles,
    /// Failed attempts to start this run.
    tries: u32,
    /// Why the program could not be started.
    pub failure: Option<String>,
}

#[derive(Debug)]
enum LaunchStage {
    /// Waiting for the descendants of the previous run: until they end they could change the files that are
    /// read.
    Clears,
    /// Reading the settings for the run.
    Reads { until: Stamp },
    /// Writing the launch files.
    Writes { until: Stamp },
    /// Waiting for the missing resource.
    Lacks { until: Stamp },
}

/// What a launch needs next.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::host) enum LaunchStep {
    /// Read the run's directory and settings; then call [`Launching::launch_settings_read`], or for the first
    /// run [`Launching::written`].
    Read { number: u32, dir: Option<String> },
    /// Write the launch files; then call [`Launching::written`].
    Write { number: u32 },
    /// Start the run. `without_hooks`: why it has no hooks although it should.
    Start { next: LaunchPlan, without_hooks: Option<String> },
    /// Do not start it: these settings have changed since a person accepted them.
    Hold { changed: Vec<String> },
}

impl Launching {
    /// Plans a run. It is launched once the descendants of the last run have ended.
    pub fn begin(&mut self, next: LaunchPlan) {
        self.next = Some((next, LaunchStage::Clears));
        self.tries = 0;
    }

    /// The machine lacks a resource for this run, or the program's file: plans another try. Returns which try
    /// failed; `None` after too many.
    pub fn retry_start(&mut self, next: LaunchPlan, error: &SpawnError, now: Stamp) -> Option<u32> {
        let tries = if error.is_of_file() { FILE_TRIES } else { START_TRIES };
        self.tries += 1;
        if self.tries >= tries || !(error.may_pass() || error.is_of_file()) {
            return None;
        }
        self.next = Some((next, LaunchStage::Lacks { until: now.after(LAUNCH_RETRY_MS) }));
        Some(self.tries)
    }

    /// When a launch continues without an event.
    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        match &self.next.as_ref()?.1 {
            LaunchStage::Clears => Some(now.after(CLEAR_LOOK_MS)),
            LaunchStage::Reads { until } | LaunchStage::Writes { until } | LaunchStage::Lacks { until } => {
                Some(*until)
            }
        }
    }

    /// The run that is about to start.
    fn next(&self) -> Option<&LaunchPlan> {
        self.next.as_ref().map(|(next, _)| next)
    }

    /// The conversation that is about to start, if it is a fresh one.
    pub fn fresh_conversation(&self) -> Option<&ConversationId> {
        self.next().filter(|next| next.start == StartKind::Fresh)?.conversation.as_ref()
    }

    /// The next step, if one is due. `is_clear`: no descendant of the previous run is left.
    pub fn due(&mut self, now: Stamp, is_clear: bool, agent: ProgramKind) -> Option<LaunchStep> {
        let (next, stage) = self.next.as_mut()?;
        match stage {
            LaunchStage::Clears if !is_clear => None,
            LaunchStage::Clears if agent != ProgramKind::Claude => self.start(Ok(LaunchFiles::default())),
            LaunchStage::Clears => {
                *stage = LaunchStage::Reads { until: now.after(READ_MS) };
                Some(LaunchStep::Read { number: next.number, dir: next.dir.clone() })
            }
            LaunchStage::Reads { until } if *until <= now => self.hold(vec![UNREADABLE.to_owned()]),
            LaunchStage::Writes { until } if *until <= now => {
                self.start(Err(io::Error::new(io::ErrorKind::TimedOut, "the disk does not answer")))
            }
            LaunchStage::Lacks { until } if *until <= now => {
                let (next, _) = self.next.take()?;
                Some(LaunchStep::Start { next, without_hooks: None })
            }
            LaunchStage::Reads { .. } | LaunchStage::Writes { .. } | LaunchStage::Lacks { .. } => None,
        }
    }

    /// Whether this run waits for its settings to be read.
    pub fn reads(&self, number: u32) -> bool {
        matches!(&self.next, Some((next, LaunchStage::Reads { .. })) if next.number == number)
    }

    /// The settings for this run were read. `changed`: what differs from what a person accepted.
    pub fn launch_settings_read(
        &mut self,
        number: u32,
        changed: Vec<String>,
        now: Stamp,
    ) -> Option<LaunchStep> {
        if !self.reads(number) {
            return None;
        }
        if !changed.is_empty() {
            return self.hold(changed);
        }
        let (next, stage) = self.next.as_mut()?;
        *stage = LaunchStage::Writes { until: now.after(WRITE_MS) };
        Some(LaunchStep::Write { number: next.number })
    }

    /// The launch files of this run were written, or could not be.
    pub fn written(&mut self, number: u32, given: io::Result<LaunchFiles>) -> Option<LaunchStep> {
        if self.next()?.number != number {
            return None;
        }
        self.start(given)
    }

    fn start(&mut self, given: io::Result<LaunchFiles>) -> Option<LaunchStep> {
        let (next, _) = self.next.take()?;
        let without_hooks =
            given.as_ref().err().map(|e| format!("cannot write hopty's hooks ({e}): this run has none"));
        self.given = given.unwrap_or_default();
        Some(LaunchStep::Start { next, without_hooks })
    }

    fn hold(&mut self, changed: Vec<String>) -> Option<LaunchStep> {
        self.next = None;
        Some(LaunchStep::Hold { changed })
    }
}

/// The launch files: the plugin with hopty's hooks, and the file for `--settings`.
#[derive(Debug, Default)]
pub(in crate::host) struct LaunchFiles {
    pub plugin: Option<PathBuf>,
    pub settings: Option<String>,
}

impl LaunchFiles {
    pub fn remove(&self) {
        if let Some(plugin) = &self.plugin {
            let _ = std::fs::remove_dir_all(plugin);
        }
        if let Some(settings) = &self.settings {
            let _ = std::fs::remove_file(settings);
        }
    }
}

/// The directory that a run starts in, and its settings.
#[derive(Debug)]
pub(in crate::host) struct LaunchSettings {
    /// A directory other than the session's, and its channel.
    pub moved: Option<(PathBuf, Option<Channel>)>,
    pub found: CodeFound,
    /// The content of `--settings`.
    pub settings: Option<String>,
}

impl LaunchSettings {
    /// Reads it. `asked`: the directory requested for the run, if that is not the session's `dir`.
    /// `refresh_s`: how often Claude runs the status line without a reason.
    pub fn read(
        paths: &Paths,
        own: &OwnArgs,
        asked: Option<PathBuf>,
        dir: &Path,
        refresh_s: Option<u64>,
        found: impl FnOnce() -> CodeFound,
    ) -> Self {
        let moved = asked.filter(|dir| dir.is_dir());
        let settings = status_line::settings(paths, moved.as_deref().unwrap_or(dir), own, refresh_s);
        let channel = |dir: &Path| registry::channel_of(&paths.claude, dir).ok();
        LaunchSettings { moved: moved.map(|dir| (dir.clone(), channel(&dir))), found: found(), settings }
    }
}

/// The files to write before a launch.
#[derive(Debug)]
pub(in crate::host) struct LaunchOrder {
    pub dir: PathBuf,
    pub parts: PluginParts,
    pub settings: Option<String>,
    /// Copy Claude's tasks from one conversation to the next.
    pub tasks: Option<(Paths, ConversationId, ConversationId)>,
}

impl LaunchOrder {
    /// Rewrites files that differ from the expected content, since they may have been changed. If that fails,
    /// Claude starts without them.
    pub fn write(self) -> io::Result<LaunchFiles> {
        if let Some((paths, before, next)) = self.tasks
            && let Err(error) = task_files::carry(&paths, &before, &next)
        {
            log(format_args!("cannot copy the task list: {error}"));
        }
        if self.parts.hooks == HookSet::None {
            return Ok(LaunchFiles::default());
        }
        let plugin = plugin::write(&self.dir, &plugin::this_binary(), self.parts)?;
        // In a file, because arguments are visible to every user and limited in length.
        let file = self.dir.join("settings.json");
        let stands = |text: &String| {
            plugin::holds(&file, text)
                || (plugin::remove(&file).is_ok() && atomic::swap(&file, text.as_bytes()).is_ok())
        };
        let settings = self.settings.filter(stands).map(|_| file.display().to_string());
        Ok(LaunchFiles { plugin: Some(plugin), settings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(number: u32) -> LaunchPlan {
        let start = StartKind::Fresh;
        LaunchPlan { number, start, conversation: None, dir: None, prompt: false, first_prompt: false }
    }

    fn launching(number: u32) -> Launching {
        let mut launching = Launching::default();
        launching.begin(next(number));
        launching
    }

    fn read(number: u32) -> Option<LaunchStep> {
        Some(LaunchStep::Read { number, dir: None })
    }

    #[test]
    fn a_start_for_which_the_machine_lacks_something_is_tried_for_ten_seconds() {
        let mut launching = launching(2);
        let mut now = Stamp(0);
        launching.next = None;
        let used_up = SpawnError::Other(io::Error::from_raw_os_error(nix::libc::EAGAIN));
        while launching.retry_start(next(2), &used_up, now).is_some() {
            assert_eq!(launching.due(now, true, ProgramKind::Plain), None);
            now = launching.deadline(now).unwrap();
            let start = LaunchStep::Start { next: next(2), without_hooks: None };
            assert_eq!(launching.due(now, true, ProgramKind::Plain), Some(start));
        }
        assert_eq!(
            (now, launching.deadline(now)),
            (Stamp(u64::from(START_TRIES - 1) * LAUNCH_RETRY_MS), None)
        );
    }

    #[test]
    fn a_program_that_an_update_has_removed_is_tried_for_longer() {
        let mut launching = launching(2);
        for tried in 1..FILE_TRIES {
            assert_eq!(launching.retry_start(next(2), &SpawnError::NotFound, Stamp(0)), Some(tried));
        }
        assert_eq!(launching.retry_start(next(2), &SpawnError::NotFound, Stamp(0)), None);
        let gone = SpawnError::NoDirectory("/gone".into());
        assert_eq!(Launching::default().retry_start(next(2), &gone, Stamp(0)), Some(1), "a directory, too");
    }

    #[test]
    fn a_run_waits_for_what_is_left_of_the_one_before_and_a_plain_program_for_nothing_else() {
        let mut launching = launching(2);
        assert_eq!(launching.due(Stamp(0), false, ProgramKind::Plain), None);
        assert_eq!(launching.deadline(Stamp(0)), Some(Stamp(CLEAR_LOOK_MS)));
        let start = LaunchStep::Start { next: next(2), without_hooks: None };
        assert_eq!(launching.due(Stamp(5), true, ProgramKind::Plain), Some(start));
        assert_eq!((launching.next(), launching.deadline(Stamp(5))), (None, None));
    }

    #[test]
    fn what_runs_code_is_read_before_the_files_are_written() {
        let mut launching = launching(2);
        assert_eq!(launching.due(Stamp(0), true, ProgramKind::Claude), read(2));
        assert_eq!(launching.due(Stamp(1), true, ProgramKind::Claude), None);
        assert_eq!(launching.launch_settings_read(1, Vec::new(), Stamp(2)), None);
        assert_eq!(
            launching.launch_settings_read(2, Vec::new(), Stamp(2)),
            Some(LaunchStep::Write { number: 2 })
        );
        assert_eq!(launching.launch_settings_read(2, Vec::new(), Stamp(2)), None);
        let given = LaunchFiles { plugin: Some("plugin".into()), settings: None };
        let start = LaunchStep::Start { next: next(2), without_hooks: None };
        assert_eq!(launching.written(2, Ok(given)), Some(start));
        assert_eq!(launching.given.plugin, Some("plugin".into()));
        assert_eq!(launching.written(2, Ok(LaunchFiles::default())), None);
    }

    #[test]
    fn a_change_holds_the_run_and_so_does_a_disk_that_cannot_be_read() {
        let mut changed = launching(2);
        assert_eq!(changed.due(Stamp(0), true, ProgramKind::Claude), read(2));
        let hold = |changed: &str| Some(LaunchStep::Hold { changed: vec![changed.to_owned()] });
        assert_eq!(
            changed.launch_settings_read(2, vec![".mcp.json".to_owned()], Stamp(1)),
            hold(".mcp.json")
        );
        assert_eq!(changed.next(), None);
        let mut hangs = launching(2);
        assert_eq!(hangs.due(Stamp(0), true, ProgramKind::Claude), read(2));
        assert_eq!(hangs.due(Stamp(READ_MS), true, ProgramKind::Claude), hold(UNREADABLE));
    }

    #[test]
    fn a_disk_that_takes_no_files_costs_the_run_its_hooks() {
        let mut launching = launching(3);
        assert_eq!(launching.due(Stamp(0), true, ProgramKind::Claude), read(3));
        assert!(launching.launch_settings_read(3, Vec::new(), Stamp(0)).is_some());
        let step = launching.due(Stamp(WRITE_MS), true, ProgramKind::Claude);
        let Some(LaunchStep::Start { without_hooks: Some(why), .. }) = step else { panic!("{step:?}") };
        assert!(why.contains("the disk does not answer") && launching.given.plugin.is_none(), "{why}");
    }
}
