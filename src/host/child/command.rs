//! The command of a run: its arguments and its environment.

use std::ffi::OsString;

use crate::core::claude::args::{NextRun, for_launch, for_next_run, for_resume, with_settings};
use crate::core::claude::environment::{Additions, of_child};
use crate::core::ids::ConversationId;
use crate::core::supervisor::Agent;
use crate::core::supervisor::phase::StartKind;
use crate::host::Host;

impl Host {
    /// The arguments and the environment of the run that is started now.
    pub(in crate::host) fn command(
        &mut self,
        number: u32,
        start: StartKind,
        conversation: Option<&ConversationId>,
    ) -> (Vec<OsString>, Vec<(OsString, OsString)>) {
        let args = self.arguments(start, conversation);
        self.log_command(&args);
        (args, self.environment(number))
    }

    /// The arguments of a run.
    fn arguments(&self, start: StartKind, conversation: Option<&ConversationId>) -> Vec<OsString> {
        let Some(id) = conversation.filter(|_| self.launch.agent == Agent::Claude) else {
            if self.launch.agent == Agent::Claude
                && let Some(plugin) = &self.child.launching.given.plugin
            {
                let mut words = vec![format!("--plugin-dir={}", plugin.display())];
                words.extend(self.args.iter().map(|a| a.to_string_lossy().into_owned()));
                return self.with_settings(words).into_iter().map(OsString::from).collect();
            }
            return self.args.clone();
        };
        let words: Vec<String> = self.args.iter().map(|a| a.to_string_lossy().into_owned()).collect();
        let plugin = self.child.launching.given.plugin.as_ref().map(|p| p.display().to_string());
        let next = NextRun {
            session_id: id.clone(),
            model: self.observer.started_model().map(str::to_owned),
            switched: self.observer.switched_model().map(str::to_owned),
            permission_mode: self.recorder.supervisor.permission_mode(),
            plugin_dir: plugin.clone(),
            settings: self.child.launching.given.settings.clone(),
        };
        let made = match start {
            StartKind::First => self.with_settings(for_launch(&words, plugin.as_deref(), id)),
            StartKind::Fresh => for_next_run(&words, &next),
            StartKind::Resume => for_resume(&words, &next),
        };
        made.into_iter().map(OsString::from).collect()
    }

    fn with_settings(&self, args: Vec<String>) -> Vec<String> {
        self.child
            .launching
            .given
            .settings
            .as_ref()
            .map_or(args.clone(), |settings| with_settings(&args, settings))
    }

    /// The terminal that a run is started for: its `TERM`.
    pub(in crate::host) fn child_term(&self) -> String {
        self.child.lent_env.get("TERM").cloned().unwrap_or_else(|| std::env::var("TERM").unwrap_or_default())
    }

    /// The environment of a run.
    fn environment(&self, number: u32) -> Vec<(OsString, OsString)> {
        let depth = std::env::var("HOPTY_DEPTH").ok().and_then(|d| d.parse::<u32>().ok()).unwrap_or(0);
        let add = Additions {
            session: self.claim.name.to_string(),
            socket: self.control.socket().as_os_str().to_owned(),
            run: number,
            depth: depth + 1,
            claude: self.launch.agent == Agent::Claude,
            no_flicker: self
                .child
                .full_screen
                .filter(|_| number > 1)
                .map(|full| if full { "1" } else { "0" }),
        };
        let own = std::env::vars_os()
            .filter(|(name, _)| name.to_str().is_none_or(|name| !self.child.lent_env.contains_key(name)));
        of_child(own.chain(self.child.lent_env.iter().map(|(name, value)| (name.into(), value.into()))), &add)
    }
}
