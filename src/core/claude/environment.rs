//! The environment of the child: the person's own, without what an outer Claude left in it, plus hopty's
//! variables.

use std::ffi::{OsStr, OsString};

/// Variables that Claude sets for its children and that would change an inner Claude. With the second one, it
/// writes no transcript.
pub const REMOVED: [&str; 16] = [
    "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PID",
    "CLAUDE_EFFORT", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR", "AI_AGENT",
];

/// The variables that hopty adds for one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    pub session: String,
    /// The path of the session's socket.
    pub socket: OsString,
    pub run: u32,
    /// How many hopty are nested, including this one.
    pub depth: u32,
    /// The program is Claude: keep its session in this terminal.
    pub claude: bool,
    /// The renderer of the first run, for run 2 and later: `1` full-screen, `0` inline.
    pub no_flicker: Option<&'static str>,
}

/// The child's environment, from the host's own.
pub fn of_child(
    own: impl IntoIterator<Item = (OsString, OsString)>,
    add: &Additions,
) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = own
        .into_iter()
        .filter(|(name, _)| !REMOVED.iter().any(|removed| name == OsStr::new(removed)))
        .collect();
    let mut set = |name: &str, value: OsString, keep: bool| {
        let at = env.iter().position(|(n, _)| n == OsStr::new(name));
        match at {
            Some(_) if keep => {}
            Some(at) => env[at].1 = value,
            None => env.push((name.into(), value)),
        }
    };
    set("HOPTY_SESSION", add.session.clone().into(), false);
    set("HOPTY_SOCKET", add.socket.clone(), false);
    set("HOPTY_RUN", add.run.to_string().into(), false);
    set("HOPTY_DEPTH", add.depth.to_string().into(), false);
    if add.claude {
        // Otherwise the left arrow on an empty prompt moves the session into Claude's own daemon.
        set("CLAUDE_CODE_DISABLE_AGENT_VIEW", "1".into(), false);
        if let Some(value) = add.no_flicker {
            set("CLAUDE_CODE_NO_FLICKER", value.into(), true);
        }
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(n, v)| (OsString::from(n), OsString::from(v))).collect()
    }

    #[test]
    fn exactly_the_named_variables_are_removed_and_the_rest_is_the_persons() {
        let mut before = own(&[
            ("PATH", "/bin"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "5"),
            ("HOPTY_RUN", "9"),
        ]);
        before.extend(own(&REMOVED.map(|name| (name, "x"))));
        let add = Additions {
            session: "s".into(),
            socket: "/x".into(),
            run: 1,
            depth: 1,
            claude: true,
            ..Additions::default()
        };
        let names: Vec<String> = of_child(before, &add)
            .into_iter()
            .map(|(n, v)| format!("{}={}", n.display(), v.display()))
            .collect();
        assert_eq!(
            names,
            [
                "PATH=/bin",
                "CLAUDE_CONFIG_DIR=/c",
                "CLAUDE_CODE_MAX_OUTPUT_TOKENS=5",
                "HOPTY_RUN=1",
                "HOPTY_SESSION=s",
                "HOPTY_SOCKET=/x",
                "HOPTY_DEPTH=1",
                "CLAUDE_CODE_DISABLE_AGENT_VIEW=1"
            ]
        );
    }

    #[test]
    fn a_task_list_and_a_renderer_of_the_persons_own_stay() {
        let add = Additions { claude: true, no_flicker: Some("1"), ..Additions::default() };
        let env = of_child(own(&[("CLAUDE_CODE_TASK_LIST_ID", "theirs")]), &add);
        assert!(env.contains(&("CLAUDE_CODE_TASK_LIST_ID".into(), "theirs".into())));
        assert!(env.contains(&("CLAUDE_CODE_NO_FLICKER".into(), "1".into())));
    }
}
