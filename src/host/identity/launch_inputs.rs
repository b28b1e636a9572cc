//! The inputs of the next run: the settings that run code, the directory, and the files that hopty supplies.
//! Each is read or written by a job on a thread, because a disk may hang.

use std::path::PathBuf;

use super::SessionIdentity;
use crate::claude::plugin::PluginParts;
use crate::claude::start_code::StartCodePaths;
use crate::core::claude::settings::SettingsArgument;
use crate::core::config::RestartMode;
use crate::core::ids::{Channel, ConversationId};
use crate::fs::trusted_dirs;
use crate::host::child::{LaunchOrder, LaunchSettings};
use crate::host::jobs::CodeFound;

/// How often Claude runs the status line while it may contain a question, in seconds.
const REFRESH_S: u64 = 5;

impl SessionIdentity {
    /// Where settings that run code may be.
    pub fn start_code_paths(&self) -> StartCodePaths {
        let file = |value: &&String| SettingsArgument::of(value) == SettingsArgument::File;
        let paths = |values: &[String]| values.iter().filter(file).map(PathBuf::from).collect();
        StartCodePaths {
            claude: self.paths.claude.clone(),
            state: self.paths.claude_json(),
            home: self.paths.home.clone(),
            settings: self.own.settings.as_ref().filter(file).map(PathBuf::from),
            mcp_configs: paths(&self.own.mcp_configs),
            plugin_dirs: self.own.plugin_dirs.iter().map(PathBuf::from).collect(),
            records: trusted_dirs::places,
        }
    }

    /// Collects the settings of the next run. `dir` is its directory, if that is not the session's.
    pub fn next_found(&self, dir: Option<&str>) -> impl FnOnce() -> CodeFound + Send + use<> {
        let (places, own, next) = (self.start_code_paths(), self.dir.clone(), dir.map(PathBuf::from));
        move || CodeFound::read(&places, &next.filter(|dir| dir.is_dir()).unwrap_or(own))
    }

    /// Reads the directory of the next run, and its settings.
    pub fn next_launch_settings(
        &self,
        asked: Option<String>,
    ) -> impl FnOnce() -> LaunchSettings + Send + use<> {
        let found = self.next_found(asked.as_deref());
        let (paths, own, dir) = (self.paths.clone(), self.own.clone(), self.dir.clone());
        let config = &self.launch.config;
        // An unanswered question says how long it has waited; nothing else in the segment changes by itself.
        let asks = config.terminal.segment && config.restart.mode == RestartMode::Ask;
        let refresh_s = asks.then_some(REFRESH_S);
        move || LaunchSettings::read(&paths, &own, asked.map(PathBuf::from), &dir, refresh_s, found)
    }

    /// The launch files of the next run. `tasks`: from which conversation to which Claude's tasks are copied.
    pub fn launch_order(
        &self,
        settings: Option<String>,
        tasks: Option<(ConversationId, ConversationId)>,
    ) -> LaunchOrder {
        LaunchOrder {
            dir: self.claim.dir.clone(),
            parts: PluginParts {
                hooks: self.launch.offers.hooks,
                ack: self.launch.config.hooks.ack,
                commands: self.launch.config.hooks.commands,
            },
            settings,
            tasks: tasks.map(|(before, next)| (self.paths.clone(), before, next)),
        }
    }

    /// The next run starts in another directory.
    pub fn move_to(&mut self, moved: Option<(PathBuf, Option<Channel>)>) {
        if let Some((dir, channel)) = moved {
            self.dir = dir;
            self.channel = channel.unwrap_or_else(|| self.channel.clone());
        }
    }
}
