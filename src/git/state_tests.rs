//! Work trees of every ordinary kind, and their described state.

use std::fs;
use std::process::Command;

use super::*;

const LONG: GitLimits = GitLimits { time: Duration::from_secs(60), patch: 1 << 20 };

fn read(dir: &Path, limits: GitLimits) -> Result<Option<GitState>, GitError> {
    super::read(dir, dir, limits)
}

fn setup(dir: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-C"])
        .arg(dir)
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    setup(dir.path(), &["init", "-q"]);
    for name in ["a b", "c", "d"] {
        fs::write(dir.path().join(name), "one\n").unwrap();
    }
    setup(dir.path(), &["add", "."]);
    setup(dir.path(), &["commit", "-q", "-m", "x"]);
    dir
}

#[test]
fn a_work_tree_is_described() {
    let dir = repository();
    fs::write(dir.path().join("a b"), "two\n").unwrap();
    fs::write(dir.path().join("new\nline"), "x").unwrap();
    setup(dir.path(), &["mv", "c", "moved"]);
    let state = read(dir.path(), LONG).unwrap().unwrap();
    assert_eq!(state.branch.as_deref(), Some("main"));
    assert_eq!(state.head.as_ref().unwrap().len(), 40);
    let changed: Vec<_> = state.changed.iter().map(|(code, path)| (code.as_str(), path.as_str())).collect();
    assert_eq!(changed, [(".M", "a b"), ("R.", "moved"), ("??", "new\nline")]);
    assert!(state.stat.contains("a b") && state.stat.contains("moved"));
    let patch = String::from_utf8(state.patch).unwrap();
    assert!(patch.contains("-one\n+two\n") && patch.contains("rename to moved"));
    assert!(state.notes.is_empty());
}

#[test]
fn a_pipe_in_the_place_of_a_file_keeps_no_other_change_from_the_patch() {
    let dir = repository();
    fs::write(dir.path().join("d"), "two\n").unwrap();
    for name in ["a b", "c"] {
        fs::remove_file(dir.path().join(name)).unwrap();
        nix::unistd::mkfifo(&dir.path().join(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
    }
    let state = read(dir.path(), LONG).unwrap().unwrap();
    assert!(String::from_utf8(state.patch).unwrap().contains("-one\n+two\n"), "{:?}", state.notes);
    assert!(state.stat.contains("d |"), "{}", state.stat);
    assert_eq!(state.notes, ["not in changes.patch: a b, c (neither a file nor a link)"]);
}

#[test]
fn git_is_asked_as_configured() {
    let dir = repository();
    fs::write(dir.path().join("c"), "two\n").unwrap();
    let of = |diff, ms| {
        let git_timeout = crate::core::config::DurationMs::from_ms(ms);
        read(dir.path(), GitLimits::of(&Handoff { diff, git_timeout, ..Handoff::default() }))
    };
    let patch = |diff| of(diff, 60_000).unwrap().unwrap().patch;
    assert!(!patch(true).is_empty() && patch(false).is_empty());
    assert!(of(true, 0).is_err(), "there is no time");
}

#[test]
fn item_091_staged_and_unstaged_changes_are_kept_apart() {
    let dir = repository();
    fs::write(dir.path().join("c"), "two\n").unwrap();
    let only = read(dir.path(), LONG).unwrap().unwrap();
    assert!(only.staged.is_empty() && only.unstaged == only.patch && !only.patch.is_empty());
    setup(dir.path(), &["add", "c"]);
    let only = read(dir.path(), LONG).unwrap().unwrap();
    assert!(only.unstaged.is_empty() && only.staged == only.patch);
    fs::write(dir.path().join("d"), "three\n").unwrap();
    let both = read(dir.path(), LONG).unwrap().unwrap();
    let (staged, unstaged) =
        (String::from_utf8(both.staged).unwrap(), String::from_utf8(both.unstaged).unwrap());
    assert!(staged.contains("+two") && !staged.contains("+three"));
    assert!(unstaged.contains("+three") && !unstaged.contains("+two"));
}

#[test]
fn a_tracking_branch_reports_ahead_and_behind() {
    let (origin, clone) = (repository(), tempfile::tempdir().unwrap());
    setup(clone.path(), &["clone", "-q", origin.path().to_str().unwrap(), "w"]);
    let work = clone.path().join("w");
    setup(&work, &["commit", "-q", "--allow-empty", "-m", "mine"]);
    let state = read(&work, LONG).unwrap().unwrap();
    assert_eq!((state.upstream.as_deref(), state.ahead_behind), (Some("origin/main"), Some((1, 0))));
}

#[test]
fn worktrees_submodules_and_bare_repositories_do_no_harm() {
    let dir = repository();
    let other = tempfile::tempdir().unwrap();
    setup(dir.path(), &["worktree", "add", "-q", "-b", "side", other.path().join("w").to_str().unwrap()]);
    let state = read(&other.path().join("w"), LONG).unwrap().unwrap();
    assert_eq!(state.branch.as_deref(), Some("side"));
    let inner = repository();
    let from = inner.path().to_str().unwrap();
    setup(dir.path(), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "sub"]);
    fs::write(dir.path().join("sub/c"), "dirt\n").unwrap();
    let state = read(dir.path(), LONG).unwrap().unwrap();
    let changed: Vec<_> = state.changed.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(changed, [".gitmodules", "sub"], "what is inside of a submodule is not looked at");
    setup(dir.path(), &["clone", "-q", "--bare", ".", "bare.git"]);
    assert!(read(&dir.path().join("bare.git"), LONG).is_err(), "there is no work tree to tell of");
}

#[test]
fn a_moved_conversation_reports_its_current_work_tree() {
    let dir = repository();
    let other = tempfile::tempdir().unwrap();
    let side = other.path().join("w").display().to_string();
    setup(dir.path(), &["worktree", "add", "-q", "-b", "side", &side]);
    fs::write(other.path().join("w/c"), "brick\n").unwrap();
    let of = |moved: Option<&str>| of_work(dir.path(), moved, LONG).unwrap();
    let there = of(Some(&side));
    assert_eq!((there.dir.as_deref(), there.branch.as_deref()), (Some(&*side), Some("side")));
    assert!(String::from_utf8(there.patch).unwrap().contains("+brick"));
    // A directory that is gone or not in a repository leaves the session's own.
    for moved in [None, Some("/"), Some("/no/such/place")] {
        let here = of(moved);
        assert_eq!(
            (here.dir, here.branch.as_deref(), here.patch.is_empty()),
            (None, Some("main"), true),
            "{moved:?}"
        );
    }
}

#[test]
fn the_work_tree_of_the_newest_written_file_is_reported_too() {
    let dir = repository();
    let other = tempfile::tempdir().unwrap();
    let side = other.path().canonicalize().unwrap().join("w");
    setup(dir.path(), &["worktree", "add", "-q", "-b", "side", side.to_str().unwrap()]);
    fs::write(side.join("c"), "brick\n").unwrap();
    let plain = tempfile::tempdir().unwrap();
    let of = |files: &[&Path]| {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        of_written(dir.path(), None, &files, LONG).unwrap()
    };
    // A file in no work tree, or one of Claude's own, decides nothing.
    let [loose, plans] = [plain.path().join("x"), side.join(".claude/plan.md")];
    let there = of(&[&loose, &plans, &side.join("c"), &dir.path().join("d")]);
    assert_eq!((there.dir.as_deref(), there.branch.as_deref()), (side.to_str(), Some("side")));
    assert!(String::from_utf8(there.patch).unwrap().contains("+brick"));
    assert!(there.notes[0].contains(": branch main at ") && there.notes[0].ends_with(", 0 changed, 0 new"));
    let here = of(&[&dir.path().join("d"), &side.join("c")]);
    assert_eq!((here.dir, here.branch.as_deref(), here.notes.len()), (None, Some("main"), 0));
    fs::write(dir.path().join("d"), "two\n").unwrap();
    let both = of(&[&side.join("c")]);
    assert_eq!((both.dir, both.branch.as_deref()), (None, Some("main")), "its changes are in no commit");
    let told = format!("{}: branch side at ", side.display());
    assert!(both.notes[0].starts_with(&told), "{:?}", both.notes);
    assert!(both.notes[0].ends_with(", 1 changed, 0 new; not in changes.patch"), "{:?}", both.notes);
}

#[test]
fn repositories_below_the_directory_are_reported() {
    let dir = repository();
    let inner = dir.path().canonicalize().unwrap().join("vendor/tides");
    fs::create_dir_all(&inner).unwrap();
    setup(&inner, &["init", "-q", "-b", "fix/leap"]);
    fs::write(inner.join("t.c"), "one\n").unwrap();
    let files = [inner.join("t.c").display().to_string()];
    let state = of_written(&dir.path().canonicalize().unwrap(), None, &files, LONG).unwrap();
    let told = format!("{}: branch fix/leap at no commit, 0 changed, 1 new", inner.display());
    assert_eq!(
        (state.branch.as_deref(), state.notes.contains(&told)),
        (Some("main"), true),
        "{:?}",
        state.notes
    );
    assert_eq!(state.inner, [inner.display().to_string()]);
    fs::remove_dir_all(dir.path().join(".git")).unwrap();
    let state = of_written(&dir.path().canonicalize().unwrap(), None, &files, LONG).unwrap();
    assert_eq!((state.unknown, state.notes), (true, vec![told]), "the directory itself is none");
}

#[test]
fn outside_of_a_repository_there_is_no_state() {
    let dir = tempfile::tempdir().unwrap();
    assert!(read(dir.path(), LONG).unwrap().is_none());
    assert!(read(&dir.path().join("none"), LONG).is_err());
}

#[test]
fn a_repository_without_a_commit_is_described() {
    let dir = tempfile::tempdir().unwrap();
    setup(dir.path(), &["init", "-q"]);
    fs::write(dir.path().join("f"), "one\n").unwrap();
    setup(dir.path(), &["add", "f"]);
    let state = read(dir.path(), LONG).unwrap().unwrap();
    assert_eq!((state.branch.as_deref(), state.head), (Some("main"), None));
    assert!(String::from_utf8(state.patch).unwrap().contains("+one"));
}

#[test]
fn too_much_output_is_left_out_with_a_note() {
    let dir = repository();
    fs::write(dir.path().join("d"), "x\n".repeat(10_000)).unwrap();
    let state = read(dir.path(), GitLimits { patch: 1000, ..LONG }).unwrap().unwrap();
    assert!(state.patch.is_empty() && state.stat.contains("d "));
    assert_eq!(state.notes, ["the patch of the changes is too long"]);
    assert!(matches!(read(dir.path(), GitLimits { time: Duration::ZERO, ..LONG }), Err(GitError::TimedOut)));
}

#[test]
fn programs_that_the_repository_names_are_not_run() {
    let dir = repository();
    let ran = dir.path().join("ran");
    let program = format!("touch '{}'; cat", ran.display());
    for key in [
        "core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command", "core.pager", "pager.diff",
        "filter.a=b.clean", "filter.y.process", "filter.y.smudge",
    ] {
        setup(dir.path(), &["config", key, &program]);
    }
    setup(dir.path(), &["config", "filter.y.required", "true"]);
    fs::write(dir.path().join(".gitattributes"), "* diff=x\nc filter=y\nd filter=a=b\n").unwrap();
    fs::write(dir.path().join("d"), "two\n").unwrap();
    fs::write(dir.path().join("c"), "two\n").unwrap();
    let state = read(dir.path(), LONG).unwrap().unwrap();
    let patch = String::from_utf8(state.patch).unwrap();
    assert!(patch.contains("b/c") && patch.contains("b/d") && !ran.exists(), "{patch}");
    assert_eq!(state.notes, ["filters are not run (a=b, y): their files are compared as they are on disk"]);
    assert!(!dir.path().join(".git/index.lock").exists());
}
