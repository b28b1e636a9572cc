//! The command of a run: its arguments and its environment.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::Child;
use crate::claude::find_claude::{TooDeep, next_depth};
use crate::core::claude::args::{
    NextRunArgs, for_launch, for_next_run, for_resume, with_name, with_settings,
};
use crate::core::claude::environment::{Additions, of_child};
use crate::core::claude::permission::PermissionMode;
use crate::core::ids::{ConversationId, SessionName};
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::phase::StartKind;

/// The inputs from which the arguments of a run are made, besides hopty's launch files.
#[derive(Debug)]
pub(in crate::host) struct ArgumentSources<'a> {
    pub agent: ProgramKind,
    /// The person's own arguments.
    pub own: &'a [OsString],
    pub start: StartKind,
    /// The conversation to run; `None` if Claude picks it.
    pub conversation: Option<&'a ConversationId>,
    /// The model that the previous run was started with.
    pub model: Option<&'a str>,
    /// The model that the person switched to.
    pub switched: Option<&'a str>,
    pub permission_mode: Option<PermissionMode>,
    /// Claude builds its system prompt again instead of taking it from the transcript, which any program of
    /// this user can write, unless the person's own arguments decide otherwise.
    pub renews_system_prompt: bool,
    /// The conversation's name, if it gets one.
    pub name: Option<&'a str>,
}

impl Child {
    pub fn arguments(&self, of: &ArgumentSources<'_>) -> Vec<OsString> {
        if of.agent != ProgramKind::Claude {
            return of.own.to_vec();
        }
        let given = &self.launching.given;
        let plugin = given.plugin.as_ref().map(|plugin| plugin.display().to_string());
        let own: Vec<String> = of.own.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut words = with_name(&own, of.name);
        if of.renews_system_prompt {
            // Before the person's own: the last one wins.
            words.insert(0, "--system-prompt-snapshot=off".to_owned());
        }
        let with_settings = |args: Vec<String>| match &given.settings {
            Some(settings) => with_settings(&args, settings),
            None => args,
        };
        let made = match (of.conversation, of.start) {
            (None, _) => match plugin {
                // Keeps the original bytes, which need not be text.
                None if words == own => return of.own.to_vec(),
                None => words,
                Some(plugin) => {
                    let mut with_plugin = vec![format!("--plugin-dir={plugin}")];
                    with_plugin.extend(words);
                    with_settings(with_plugin)
                }
            },
            (Some(id), StartKind::First) => with_settings(for_launch(&words, plugin.as_deref(), id)),
            (Some(id), start) => {
                let next = NextRunArgs {
                    session_id: id.clone(),
                    model: of.model.map(str::to_owned),
                    switched: of.switched.map(str::to_owned),
                    permission_mode: of.permission_mode,
                    plugin_dir: plugin,
                    settings: given.settings.clone(),
                };
                if start == StartKind::Resume {
                    for_resume(&words, &next)
                } else {
                    for_next_run(&words, &next)
                }
            }
        };
        made.into_iter().map(OsString::from).collect()
    }

    /// The session begins without a terminal, as at a login or by cron. Any terminal may attach later, so a
    /// `term` that cannot draw becomes that of hopty's own screen.
    pub fn begin_detached(&mut self, term: Option<&str>) {
        if matches!(term, None | Some("" | "dumb")) {
            self.client_env.insert("TERM".to_owned(), "xterm-256color".to_owned());
        }
    }

    /// The terminal that a run is started for: its `TERM`.
    pub fn term(&self) -> String {
        self.client_env.get("TERM").cloned().unwrap_or_else(|| std::env::var("TERM").unwrap_or_default())
    }

    /// The environment of run `number` of this session.
    pub fn environment(
        &self,
        number: u32,
        agent: ProgramKind,
        session: &SessionName,
        socket: &Path,
    ) -> Vec<(OsString, OsString)> {
        // A hopty nested too deeply was refused before the host started.
        let depth =
            next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref()).unwrap_or_else(|TooDeep(next)| next);
        let full_screen = self.full_screen.filter(|_| number > 1);
        let add = Additions {
            session: session.to_string(),
            socket: socket.as_os_str().to_owned(),
            run: number,
            depth,
            claude: agent == ProgramKind::Claude,
            no_flicker: full_screen.map(|full| if full { "1" } else { "0" }),
        };
        let from_client = |name: &OsStr| name.to_str().is_some_and(|name| self.client_env.contains_key(name));
        let own = std::env::vars_os().filter(|(name, _)| !from_client(name));
        of_child(own.chain(self.client_env.iter().map(|(name, value)| (name.into(), value.into()))), &add)
    }
}
