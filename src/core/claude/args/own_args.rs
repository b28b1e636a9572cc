//! What hopty reads from the person's own arguments.

use super::grammar::{self, ArgPiece, Grammar, OptionMeaning};

/// What hopty reads out of a person's arguments. Of an option given several times the last counts, as in
/// Claude itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnArgs {
    pub prompt: Option<String>,
    /// `--session-id`.
    pub session_id: Option<String>,
    /// `--resume`: the value, `Some(None)` when it stands alone and opens the picker.
    pub resume: Option<Option<String>>,
    /// Whether `--continue` is there.
    pub continues: bool,
    /// Whether `--fork-session` is there.
    pub forks: bool,
    /// Whether any option picks or names the conversation (these, `--from-pr`, `--teleport`).
    pub picks_conversation: bool,
    /// The last `--settings`; Claude uses no other (measured on 2.1.329).
    pub settings: Option<String>,
    /// Every `--plugin-dir`.
    pub plugin_dirs: Vec<String>,
    /// Every `--mcp-config` value: what starts servers.
    pub mcp_configs: Vec<String>,
    /// `--setting-sources`.
    pub setting_sources: Option<String>,
    /// `--name`: how the person calls the conversation.
    pub name: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--permission-mode`.
    pub permission_mode: Option<String>,
    /// Whether `--dangerously-skip-permissions` is there.
    pub skips_permissions: bool,
    /// Whether `--bare` is there: no hooks, no plugins.
    pub bare: bool,
    /// Whether `--safe-mode` is there: no hooks, no plugins.
    pub safe_mode: bool,
    /// `--worktree`: the value, `Some(None)` when Claude makes up a name (a new tree for every run).
    pub worktree: Option<Option<String>>,
}

impl OwnArgs {
    /// Reads `args`, which come without the program's name.
    pub fn of(args: &[String]) -> Self {
        let pieces = Grammar::new().parse(args);
        let prompt = grammar::prompt(&pieces, args).map(|at| args[at].clone());
        let mut own = OwnArgs { prompt, ..OwnArgs::default() };
        for piece in pieces {
            let ArgPiece::Option { name, values, means, .. } = piece else { continue };
            own.picks_conversation |= means == OptionMeaning::Identity;
            let value = values.last().cloned();
            match name.as_str() {
                "--session-id" => own.session_id = value,
                "--resume" => own.resume = Some(value),
                "--continue" => own.continues = true,
                "--fork-session" => own.forks = true,
                "--settings" => own.settings = value,
                "--plugin-dir" => own.plugin_dirs.extend(values),
                "--mcp-config" => own.mcp_configs.extend(values),
                "--setting-sources" => own.setting_sources = value,
                "--name" => own.name = value,
                "--model" => own.model = value,
                "--permission-mode" => own.permission_mode = value,
                "--dangerously-skip-permissions" => own.skips_permissions = true,
                "--bare" => own.bare = true,
                "--safe-mode" => own.safe_mode = true,
                "--worktree" => own.worktree = Some(value),
                _ => {}
            }
        }
        own
    }

    /// Whether the person's own arguments allow `bypassPermissions`.
    pub fn bypasses(&self) -> bool {
        self.skips_permissions || self.permission_mode.as_deref() == Some("bypassPermissions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn each_option_is_read_and_the_last_value_counts() {
        let read = OwnArgs::of(&args(
            "--settings a --model opus --settings={} -r abc --fork-session --plugin-dir p --plugin-dir=q \
             --permission-mode plan \
             --mcp-config m n --bare -w fix",
        ));
        assert_eq!(read.settings.as_deref(), Some("{}"));
        assert_eq!(read.model.as_deref(), Some("opus"));
        assert_eq!(read.name, None);
        assert_eq!(OwnArgs::of(&args("-n a --name=b")).name.as_deref(), Some("b"));
        assert_eq!(read.resume, Some(Some("abc".into())));
        assert_eq!(read.plugin_dirs, ["p", "q"]);
        assert_eq!(read.mcp_configs, ["m", "n"]);
        assert_eq!(read.worktree, Some(Some("fix".into())));
        assert!(read.forks && read.bare && read.picks_conversation && !read.continues && !read.bypasses());
        assert_eq!(read.prompt, None);
        assert_eq!(OwnArgs::of(&args("-r")).resume, Some(None));
        assert!(OwnArgs::of(&args("--dangerously-skip-permissions")).bypasses());
        assert!(OwnArgs::of(&args("--permission-mode bypassPermissions")).bypasses());
        assert!(
            !OwnArgs::of(&args(
                "--allow-dangerously-skip-permissions --system-prompt --dangerously-skip-permissions"
            ))
            .bypasses()
        );
    }

    #[test]
    fn the_prompt_is_no_value_and_no_value_is_the_prompt() {
        for (line, prompt) in [
            ("--model opus fix", Some("fix")),
            ("fix --model opus", Some("fix")),
            ("--model opus", None),
            ("--add-dir a b", None),
            ("--add-dir a -- b", Some("b")),
            ("--add-dir=a b", Some("b")),
            ("-- -p", Some("-p")),
            ("-d api fix", Some("fix")),
            ("-r id fix", Some("fix")),
            ("-- --", Some("--")),
            ("--brand-new val fix", Some("fix")),
            ("--brand-new val", None),
            ("one two", Some("one")),
        ] {
            assert_eq!(OwnArgs::of(&args(line)).prompt.as_deref(), prompt, "{line}");
        }
        let spaced = ["--brand-new".to_owned(), "fix the bug".to_owned()];
        assert_eq!(OwnArgs::of(&spaced).prompt.as_deref(), Some("fix the bug"));
        assert_eq!(OwnArgs::of(&[String::new()]).prompt.as_deref(), Some(""));
    }
}
