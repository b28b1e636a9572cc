//! The shells that a tape may type into (`Set Shell`), each without the person's configuration, without
//! history, and with the prompt `> `.
//!
//! bash, zsh and fish also report the start and the end of every command (OSC 133), which `Ready` and
//! `Status` use instead of a pattern. Programs do not notice: terminals ignore unknown sequences.

use std::ffi::OsString;

/// How a shell is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellStart {
    /// The program's name, looked up in the test's `PATH`, and its arguments.
    pub argv: Vec<OsString>,
    /// Variables that its prompt needs.
    pub env: Vec<(String, String)>,
    /// Whether it reports the ends of commands (OSC 133).
    pub reports_commands: bool,
}

/// The names for `Set Shell`.
pub const SHELL_NAMES: [&str; 9] = ["bash", "zsh", "fish", "nu", "osh", "xonsh", "pwsh", "powershell", "cmd"];

/// Other programs with a command prompt.
const OTHER_SHELLS: [&str; 10] =
    ["sh", "dash", "ash", "ksh", "mksh", "csh", "tcsh", "yash", "elvish", "oils"];

/// Whether this is the name of a shell, such as `bash`, `-zsh` or `ksh93`.
pub fn is_shell(program: &str) -> bool {
    let name = program.trim_start_matches('-');
    let end = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
    SHELL_NAMES.contains(&&name[..end]) || OTHER_SHELLS.contains(&&name[..end])
}

/// Whether a shell with these arguments runs a command line or a script and so shows no prompt. Known only
/// for shells with the options of `sh`.
pub fn runs_script(argv: &[String]) -> bool {
    let Some((program, args)) = argv.split_first() else { return false };
    let name = program.rsplit('/').next().unwrap_or_default().trim_start_matches('-');
    if !["sh", "bash", "dash", "ash", "ksh", "mksh", "yash", "zsh", "fish"].contains(&name) {
        return false;
    }
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "-" | "--" => return args.next().is_some(),
            "--rcfile" | "-rcfile" | "--init-file" | "-init-file" | "-o" | "+o" | "-O" | "+O" | "-C"
            | "--init-command" => drop(args.next()),
            "--command" => return true,
            // Words with one dash that bash reads as long options.
            "-norc" | "-restricted" => {}
            arg if arg.starts_with("--") || arg.starts_with('+') => {}
            arg if arg.starts_with('-') && arg.contains('c') => return true,
            arg if arg.starts_with('-') && arg.contains('s') => return false,
            arg if arg.starts_with('-') => {}
            _ => return true,
        }
    }
    false
}

/// `> ` in the colour #5B56E0.
const PROMPT: &str = "\x1b[38;2;91;86;224m> \x1b[m";

/// How to start the shell with this name; `None` for a name that VHS does not have.
pub fn shell(name: &str) -> Option<ShellStart> {
    let start = |argv: &[&str], env: &[(&str, &str)], reports_commands| {
        let argv = argv.iter().map(OsString::from).collect();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Some(ShellStart { argv, env, reports_commands })
    };
    match name {
        // The marks are not in PS1, so that they stay if a tape sets a prompt of its own.
        "bash" => start(
            &["bash", "--noprofile", "--norc", "--login", "+o", "history"],
            &[
                ("PS1", r"\[\e[38;2;91;86;224m\]> \[\e[m\]"),
                ("PS0", r"\e]133;C\a"),
                ("PROMPT_COMMAND", r#"printf '\e]133;D;%s\a\e]133;A\a' "$?""#),
                ("BASH_SILENCE_DEPRECATION_WARNING", "1"),
            ],
            true,
        ),
        "zsh" => start(
            &["zsh", "--histnostore", "--no-rcs"],
            &[("PROMPT", "%{\x1b]133;D;%?\x07\x1b]133;A\x07%}%F{#5B56E0}> %f")],
            true,
        ),
        "fish" => start(
            &[
                "fish",
                "--login",
                "--no-config",
                "--private",
                "-C",
                "function fish_greeting; end",
                "-C",
                r"function fish_prompt; printf '\e]133;D;%s\a\e]133;A\a' $status; set_color 5B56E0; printf '> '; set_color normal; end",
            ],
            &[],
            true,
        ),
        "nu" => {
            let prompt = format!(
                "$env.PROMPT_COMMAND = {{ \"{PROMPT}\" }}; $env.PROMPT_INDICATOR = \"\"; \
                 $env.PROMPT_COMMAND_RIGHT = {{ \"\" }}"
            );
            start(&["nu", "--no-config-file", "--no-history", "--execute", &prompt], &[], false)
        }
        "osh" => start(&["osh", "--norc"], &[("PS1", r"\[\e[38;2;91;86;224m\]> \[\e[m\]")], false),
        "xonsh" => {
            let prompt = format!("PROMPT={PROMPT}");
            start(&["xonsh", "--no-rc", "-D", &prompt], &[], false)
        }
        "pwsh" | "powershell" => start(
            &[
                name,
                "-Login",
                "-NoLogo",
                "-NoExit",
                "-NoProfile",
                "-Command",
                "Set-PSReadLineOption -HistorySaveStyle SaveNothing; function prompt { Write-Host '>' \
                 -NoNewline -ForegroundColor Blue; ' ' }",
            ],
            &[],
            false,
        ),
        "cmd" => start(&["cmd.exe", "/k", "prompt=$G$S"], &[], false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_starts_a_shell_and_no_other_does() {
        for name in SHELL_NAMES {
            let start = shell(name).unwrap();
            assert!(start.argv[0].to_str().unwrap().starts_with(name));
        }
        for name in ["sh", "-bash", "ksh93", "bash-5.2"] {
            assert!(is_shell(name), "{name}");
        }
        for name in ["sleep", "python3", "ssh", "menu.sh", ""] {
            assert!(!is_shell(name), "{name}");
        }
        let runs = |line: &str| runs_script(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in
            ["sh -c x", "/bin/bash -ic x", "dash run.sh", "bash -- x", "fish --command x", "-zsh -lc x"]
        {
            assert!(runs(line), "{line}");
        }
        for line in [
            "sh", "-bash", "bash --norc -i", "bash -norc", "bash --rcfile x -i", "sh -s x", "zsh -o emacs",
            "fish -C x", "nu -c x",
        ] {
            assert!(!runs(line), "{line}");
        }
        assert_eq!(shell("sh"), None);
        assert_eq!(shell("Bash"), None);
    }
}
