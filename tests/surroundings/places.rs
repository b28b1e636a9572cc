//! The table of places and inherited things.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::poor::{As, Poor, Started, answers, said};
use super::support::{kill, skip};

/// Typed and not sent when the agent is killed.
const DRAFT: &str = "a thought not sent";

/// What is said of it.
enum Says {
    /// Nothing: nothing is missing.
    Nothing,
    /// The session lives in a directory of its own, for this reason.
    Private(&'static str),
    /// Claude runs without hopty, for this reason.
    Alone(&'static str),
    /// Something else, with these words.
    Words(&'static str),
}

struct Row {
    name: &'static str,
    who: As,
    /// What root does in a mount namespace before.
    root: &'static str,
    /// What the shell does that becomes hopty.
    before: &'static str,
    says: Says,
}

const fn row(name: &'static str, before: &'static str, says: Says) -> Row {
    Row { name, who: As::Anybody, root: "", before, says }
}

const fn ordinary(name: &'static str, before: &'static str, says: Says) -> Row {
    Row { name, who: As::Ordinary, root: "", before, says }
}

const fn by_root(name: &'static str, root: &'static str, says: Says) -> Row {
    Row { name, who: As::Root, root, before: "", says }
}

const NO_HOME: Says = Says::Private("HOME is not set to an absolute path");
const DENIED: Says = Says::Private("Permission denied");

const ROWS: &[Row] = &[
    row("nothing is missing", "", Says::Nothing),
    row("HOME unset", "unset HOME", NO_HOME),
    row("HOME empty", "HOME=", NO_HOME),
    row("HOME relative", "HOME=home", NO_HOME),
    row("HOME missing", "HOME=\"$ROOT/none\"", Says::Private("none does not exist")),
    row("HOME is a file", "rm -r \"$HOME\"; : >\"$HOME\"", Says::Private("home is not a real directory")),
    row(
        "HOME is a dangling link",
        "rm -r \"$HOME\"; ln -s nowhere \"$HOME\"",
        Says::Private("home does not exist"),
    ),
    ordinary("HOME read-only", "chmod 500 \"$HOME\"", DENIED),
    ordinary("HOME not searchable", "chmod 600 \"$HOME\"", DENIED),
    ordinary("HOME closed", "chmod 0 \"$HOME\"", DENIED),
    Row {
        who: As::OrdinaryByRoot,
        root: "chown root:root \"$HOME\"; chmod 755 \"$HOME\"",
        ..row("HOME of another owner", "", DENIED)
    },
    by_root(
        "HOME on a read-only disk",
        "mount --bind \"$HOME\" \"$HOME\"; mount -o remount,ro,bind \"$HOME\"",
        Says::Private("Read-only file system"),
    ),
    row("~/.local is a file", ": >\"$HOME/.local\"", Says::Private("Not a directory")),
    row(
        "~/.local/state is a file",
        "mkdir \"$HOME/.local\"; : >\"$HOME/.local/state\"",
        Says::Private("Not a directory"),
    ),
    row(
        "the state directory is a file",
        "mkdir -p \"$HOME/.local/state\"; : >\"$HOME/.local/state/hopty\"",
        Says::Private("not a real directory"),
    ),
    row(
        "the state directory is open to others",
        "mkdir -p \"$HOME/.local/state/hopty\"; chmod 777 \"$HOME/.local/state/hopty\"",
        Says::Private("is open to other users"),
    ),
    ordinary(
        "the state directory is read-only",
        "mkdir -p \"$HOME/.local/state/hopty\"; chmod 500 \"$HOME/.local/state/hopty\"",
        DENIED,
    ),
    ordinary("~/.claude read-only", "chmod 500 \"$HOME/.claude\"", Says::Words("so there is no hand-over")),
    row("no TMPDIR and no XDG_RUNTIME_DIR", "unset TMPDIR XDG_RUNTIME_DIR", Says::Nothing),
    row(
        "no HOME, TMPDIR missing, no XDG_RUNTIME_DIR",
        "unset HOME XDG_RUNTIME_DIR; TMPDIR=\"$ROOT/none\"",
        NO_HOME,
    ),
    row("no HOME, XDG_RUNTIME_DIR missing", "unset HOME; XDG_RUNTIME_DIR=\"$ROOT/none\"", NO_HOME),
    ordinary(
        "no HOME, TMPDIR and XDG_RUNTIME_DIR read-only",
        "unset HOME; chmod 500 \"$TMPDIR\" \"$XDG_RUNTIME_DIR\"",
        NO_HOME,
    ),
    row(
        "no HOME, TMPDIR and XDG_RUNTIME_DIR are files",
        "unset HOME; TMPDIR=/dev/null; XDG_RUNTIME_DIR=/dev/null",
        NO_HOME,
    ),
    row("no HOME, TMPDIR and XDG_RUNTIME_DIR relative", "unset HOME; TMPDIR=tmp; XDG_RUNTIME_DIR=.", NO_HOME),
    row(
        "no HOME, TMPDIR with a long path",
        "unset HOME XDG_RUNTIME_DIR; TMPDIR=$ROOT/tmp/$(printf %0150d 0); mkdir \"$TMPDIR\"; export TMPDIR",
        NO_HOME,
    ),
    by_root(
        "nothing can be written anywhere",
        "mount --bind /tmp /tmp; mount -o remount,ro,bind /tmp; mount -t tmpfs none /run; mount -o \
         remount,ro /run",
        Says::Alone("Read-only file system"),
    ),
    row(
        "XDG_STATE_HOME with a long path",
        "XDG_STATE_HOME=$ROOT/$(printf %0150d 0); export XDG_STATE_HOME",
        Says::Nothing,
    ),
    row(
        "XDG variables relative",
        "XDG_STATE_HOME=state XDG_CONFIG_HOME=config XDG_RUNTIME_DIR=run; export XDG_STATE_HOME \
         XDG_CONFIG_HOME",
        Says::Nothing,
    ),
    row(
        "XDG variables empty",
        "XDG_STATE_HOME= XDG_CONFIG_HOME= XDG_RUNTIME_DIR=; export XDG_STATE_HOME XDG_CONFIG_HOME",
        Says::Nothing,
    ),
    row("XDG_CONFIG_HOME is a device", "XDG_CONFIG_HOME=/dev/null; export XDG_CONFIG_HOME", Says::Nothing),
    row(
        "XDG_STATE_HOME is a device",
        "XDG_STATE_HOME=/dev/null; export XDG_STATE_HOME",
        Says::Private("Not a directory"),
    ),
    row("the working directory is deleted", "mkdir gone; cd gone; rmdir ../gone", Says::Nothing),
    ordinary(
        "the working directory is closed",
        "mkdir shut; cd shut; chmod 0 .",
        Says::Words(".hopty.toml: the file cannot be read"),
    ),
    ordinary(
        "a directory above the working directory is closed",
        "mkdir -p shut/in; cd shut/in; chmod 0 ..",
        Says::Words(".hopty.toml: the file cannot be read"),
    ),
    by_root(
        "the disk of sessions is full",
        "mkdir -p \"$HOME/.local/state\"; mount -t tmpfs -o size=64k none \"$HOME/.local/state\"; mkdir -m \
         700 \"$HOME/.local/state/hopty\"; \
         cat /dev/zero >\"$HOME/.local/state/filler\" 2>/dev/null || :",
        Says::Private("is full: 0 KB left"),
    ),
    by_root(
        "the disk of sessions takes no more files",
        "mkdir -p \"$HOME/.local/state\"; mount -t tmpfs -o nr_inodes=3 none \"$HOME/.local/state\"; \
         mkdir -m 700 \"$HOME/.local/state/hopty\"; : >\"$HOME/.local/state/filler\"",
        Says::Private("No space left on device"),
    ),
    row("the file-size limit is 0", "ulimit -f 0", Says::Alone("File too large")),
    row("the file-size limit is 512 bytes", "ulimit -f 1", Says::Words("The journal failed")),
    by_root("no /proc", "mount -t tmpfs none /proc", Says::Nothing),
    by_root(
        "no /proc, and a long path",
        "mount -t tmpfs none /proc; XDG_STATE_HOME=$ROOT/$(printf %0150d 0); export XDG_STATE_HOME",
        Says::Private("No such file or directory"),
    ),
    Row {
        who: As::Root,
        ..row(
            "no inotify to be had",
            "exec unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_inotify_instances; exec \
             \"$ROOT/hopty\" --model claude-sonnet-4-5'",
            Says::Nothing,
        )
    },
    Row {
        who: As::Root,
        ..row(
            "no inotify watch to be had",
            "exec unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_inotify_watches; exec \
             \"$ROOT/hopty\" --model claude-sonnet-4-5'",
            Says::Nothing,
        )
    },
    by_root("no /dev/tty", "mount --bind /dev/null /dev/tty", Says::Nothing),
    by_root("no /dev/pts", "mount -t tmpfs none /dev/pts; mount --bind /dev/null /dev/ptmx", Says::Alone("")),
    row("umask 0", "umask 0", Says::Nothing),
    row("umask 777", "umask 777", Says::Nothing),
    ordinary("umask 277", "umask 277", Says::Nothing),
    ordinary("umask 777 and no HOME", "umask 777; unset HOME", NO_HOME),
    row("no controlling terminal", "exec setsid -w \"$ROOT/hopty\" --model claude-sonnet-4-5", Says::Nothing),
    row("TERM unset", "unset TERM", Says::Nothing),
    row("TERM empty", "TERM=", Says::Nothing),
    row("TERM unknown", "TERM=unheard-of", Says::Nothing),
    row("TERM dumb", "TERM=dumb", Says::Nothing),
    row("LANG unset", "unset LANG", Says::Nothing),
    row("PATH unset", "unset PATH", Says::Nothing),
    row("standard error closed", "exec 2>&-", Says::Nothing),
    row("standard error is a full disk", "exec 2>/dev/full; unset HOME", Says::Nothing),
    row(
        "every signal ignored",
        "trap '' HUP INT QUIT USR1 USR2 PIPE ALRM TERM CHLD TSTP TTIN TTOU WINCH XFSZ",
        Says::Nothing,
    ),
    row(
        "signals blocked",
        "exec env --block-signal=HUP,INT,TERM,CHLD,WINCH,USR1,TSTP,CONT \"$ROOT/hopty\" --model \
         claude-sonnet-4-5",
        Says::Nothing,
    ),
];

#[test]
fn where_claude_runs_hopty_runs() {
    let only = std::env::var("HOPTY_TEST_ROW").ok();
    let rows: Vec<&Row> =
        ROWS.iter().filter(|row| only.as_deref().is_none_or(|only| row.name.contains(only))).collect();
    let failed = std::sync::Mutex::new(Vec::new());
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let name = "places::where_claude_runs_hopty_runs".to_owned();
            let work = || {
                while let Some(row) = rows.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if std::panic::catch_unwind(|| play(row)).is_err() {
                        failed.lock().unwrap().push(row.name);
                    }
                }
            };
            std::thread::Builder::new().name(name).spawn_scoped(scope, work).unwrap();
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} rows failed: {failed:#?}", failed.len(), rows.len());
}

fn play(row: &Row) {
    let Some(mut poor) = Poor::new(row.who, row.root) else {
        skip(format!("row {:?} needs root with a mount namespace, or setpriv", row.name));
        return;
    };
    poor.world.set("HOPTY_RECOVERY_QUICK_DEATHS", "1");
    let mut term = poor.start(row.before, Started::Hopty);
    answers(&term);
    let state = poor.state_in_use();
    let private = state.as_ref().filter(|state| state.file_name().unwrap() != "hopty");
    match row.says {
        Says::Private(_) => {
            let private = private.unwrap_or_else(|| panic!("{}: {state:?}", row.name));
            if row.who != As::Root {
                let mode = std::fs::symlink_metadata(private).unwrap().permissions().mode();
                assert_eq!(mode & 0o7777, 0o700, "{}: {}", row.name, private.display());
            }
        }
        Says::Alone(_) => assert!(state.is_none(), "{}: {state:?}", row.name),
        Says::Nothing | Says::Words(_) => assert!(state.is_some(), "{}: {state:?}", row.name),
    }
    let drafted = matches!(row.says, Says::Private(_) | Says::Words(_));
    let code = if drafted {
        term.send(DRAFT);
        term.wait_text(DRAFT);
        kill(poor.agent(), nix::libc::SIGKILL);
        137
    } else {
        term.submit("/exit");
        0
    };
    assert_eq!(term.wait_exit(), code, "{}: {}", row.name, term.lines().join("\n"));
    term.drained();
    let mut said = said(&term);
    if drafted {
        let last = said.pop().unwrap_or_default();
        let path = last.split("Your unsent input is in ").nth(1).and_then(|path| path.strip_suffix('.'));
        let path = PathBuf::from(path.unwrap_or_else(|| panic!("{}: no file is named: {last}", row.name)));
        let kept = std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{}: {}: {e}", row.name, path.display()));
        let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o7777;
        // Where Claude can write no transcript, only the hook at the end of the turn tells that it has
        // answered the prompt, and Claude may have died before that hook has run.
        let draft = kept.strip_prefix("hi\n").unwrap_or(&kept);
        assert_eq!((draft, mode), (DRAFT, 0o600), "{}: {}", row.name, path.display());
        std::fs::remove_file(&path).unwrap();
    }
    let wanted: Vec<String> = match row.says {
        Says::Nothing => Vec::new(),
        Says::Private(why) => {
            vec![
                why.to_owned(),
                ": this session keeps no journal, and no other terminal can attach to it".to_owned(),
            ]
        }
        Says::Alone(why) => vec![why.to_owned(), "; running Claude without hopty".to_owned()],
        Says::Words(words) => vec![words.to_owned()],
    };
    assert_eq!(said.len(), usize::from(!wanted.is_empty()), "{}: {said:#?}", row.name);
    assert!(wanted.iter().all(|words| said[0].contains(words.as_str())), "{}: {said:#?}", row.name);
    term.assert_whole();
    if !row.before.contains("%0150d") {
        poor.assert_nothing_left(row.name);
    }
    if let Some(private) = private {
        let about = format!("{}: the end of {}", row.name, private.display());
        super::support::wait_for(&about, || (!private.exists()).then_some(()));
    }
    assert!(
        !poor.root.join("none/.local").exists() && !poor.root.join("none/.claude/handoff").exists(),
        "{}: a home was made",
        row.name
    );
}
