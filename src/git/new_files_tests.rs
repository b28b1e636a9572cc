//! New files of every kind, written as a patch and applied with git.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output};
use std::time::Duration;

use super::super::ask_git::{GitLimits, read};
use super::*;

const LONG: GitLimits = GitLimits { time: Duration::from_secs(60), patch: 8 << 20 };

fn git(dir: &Path, args: &[&str]) -> Output {
    let who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-C"];
    let mut command = Command::new("git");
    command
        .args(who)
        .arg(dir)
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.output().unwrap()
}

fn done(dir: &Path, args: &[&str]) -> String {
    let output = git(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    done(dir.path(), &["init", "-q"]);
    fs::write(dir.path().join("tracked"), "one\n").unwrap();
    fs::write(dir.path().join(".gitignore"), "ignored\n").unwrap();
    done(dir.path(), &["add", "."]);
    done(dir.path(), &["commit", "-q", "-m", "x"]);
    dir
}

fn state(dir: &Path) -> GitState {
    read(dir, dir, LONG).unwrap().unwrap()
}

/// The tree that committing the work tree would create, without these paths.
fn tree(dir: &Path, without: &[&str]) -> String {
    let excluded: Vec<String> = without.iter().map(|path| format!(":(exclude){path}")).collect();
    done(dir, &["reset", "-q"]);
    let args: Vec<&str> =
        ["add", "-A", "--", "."].into_iter().chain(excluded.iter().map(String::as_str)).collect();
    done(dir, &args);
    done(dir, &["write-tree"])
}

/// A clone with the patch applied.
fn applied(dir: &Path, state: &GitState) -> tempfile::TempDir {
    let clone = tempfile::tempdir().unwrap();
    done(clone.path(), &["clone", "-q", dir.to_str().unwrap(), "."]);
    let patch = clone.path().join(".git/changes.patch");
    fs::write(&patch, [&*state.patch, &*state.new_files].concat()).unwrap();
    done(clone.path(), &["apply", "--whitespace=nowarn", patch.to_str().unwrap()]);
    clone
}

#[test]
fn the_patch_makes_the_same_tree_in_a_clone() {
    let dir = repository();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("tracked"), "two\n").unwrap();
    fs::create_dir_all(at("deep/er")).unwrap();
    let files: [(&str, &[u8]); 14] = [
        ("plain", b"one\ntwo\n"),
        ("no end", b"one\ntwo"),
        ("one line", b"one"),
        ("empty", b""),
        ("an empty one", b""),
        ("deep/er/file", b"\n\n"),
        ("quote\"back\\slash\ttab\nline", b"odd\n"),
        ("gr\u{fc}n", "gr\u{fc}n\n".as_bytes()),
        ("crlf", b"one\r\ntwo\r"),
        ("latin", b"gr\xfcn\n"),
        (" lead and trail ", b"x\n"),
        (
            "diff",
            b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-no\n+yes\ndiff --git a/x b/x\n\\ No newline at end of file\n",
        ),
        ("-n", b"x\n"),
        ("b => c", b"  \t\n"),
    ];
    for (name, content) in files {
        fs::write(at(name), content).unwrap();
    }
    fs::write(dir.path().join(OsStr::from_bytes(b"by\xfftes")), "x\n").unwrap();
    fs::write(at("run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(at("run"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("deep/er/file", at("link")).unwrap();
    symlink("/etc/passwd", at("deep/link out")).unwrap();
    fs::write(at("ignored"), "x\n").unwrap();
    let state = state(dir.path());
    assert!(state.notes.is_empty(), "{:?}", state.notes);
    let clone = applied(dir.path(), &state);
    assert_eq!(tree(clone.path(), &[]), tree(dir.path(), &[]));
    assert_eq!(fs::read_link(clone.path().join("deep/link out")).unwrap(), Path::new("/etc/passwd"));
    assert!(!String::from_utf8_lossy(&state.new_files).contains("root:"), "a link is not followed");
}

#[test]
fn left_out_files_are_named() {
    let dir = repository();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("small"), "x\n").unwrap();
    fs::write(at("binary"), b"a\0b").unwrap();
    fs::write(at("big"), "x".repeat(256 * 1024 + 1)).unwrap();
    fs::write(at("just"), "x".repeat(256 * 1024)).unwrap();
    nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    done(dir.path(), &["init", "-q", "inner"]);
    fs::write(at("inner/f"), "x\n").unwrap();
    let state = state(dir.path());
    let clone = applied(dir.path(), &state);
    assert_eq!(tree(clone.path(), &[]), tree(dir.path(), &["binary", "big", "inner", "fifo"]));
    assert_eq!(
        state.notes,
        ["not in changes.patch: big (over 256 KiB), binary (binary), inner/ (a nested repository)"]
    );
}

#[test]
fn no_patch_has_a_file_of_keys() {
    let dir = repository();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("deploy")).unwrap();
    fs::write(at("deploy/prod.env"), "KEY=old\n").unwrap();
    fs::write(at("code"), "old\n").unwrap();
    done(dir.path(), &["add", "-f", "."]);
    done(dir.path(), &["commit", "-q", "-m", "x"]);
    fs::write(at("deploy/prod.env"), "KEY=tracked\n").unwrap();
    fs::write(at("code"), "new\n").unwrap();
    fs::write(at(".env"), "KEY=untracked\n").unwrap();
    fs::write(at("id_ed25519"), "KEY=untracked\n").unwrap();
    let state = state(dir.path());
    let patches = [&*state.patch, &*state.new_files, &*state.staged, &*state.unstaged].concat();
    let text = String::from_utf8(patches).unwrap();
    assert!(text.contains("+new") && !text.contains("KEY="), "{text}");
    assert_eq!(
        state.notes,
        [
            "not in changes.patch: prod.env (may hold a key, by its name)",
            "not in changes.patch: .env (may hold a key, by its name), id_ed25519 (may hold a key, by its name)"
        ]
    );
}

#[test]
fn there_is_an_end_to_files_and_bytes() {
    let dir = repository();
    for n in 0..230 {
        fs::write(dir.path().join(format!("{n:03}")), "x\n").unwrap();
    }
    let many = state(dir.path());
    assert_eq!(many.new_files.windows(13).filter(|text| *text == b"new file mode").count(), 200);
    let said = many.notes.join("\n");
    assert!(
        said.contains("200 (over the limit), 201") && said.ends_with("219 (over the limit), and 10 more"),
        "{said}"
    );
    for n in 0..230 {
        fs::write(dir.path().join(format!("{n:03}")), "x".repeat(100_000)).unwrap();
    }
    let long = state(dir.path());
    assert!((1 << 20..=PATCH_CAP).contains(&long.new_files.len()));
    assert!(long.notes[0].contains("(over 2 MiB in all)"), "{:?}", long.notes);
    applied(dir.path(), &long);
}

#[test]
fn a_linked_directory_leads_nowhere() {
    let (dir, out) = (repository(), tempfile::tempdir().unwrap());
    let top = dir.path().canonicalize().unwrap();
    fs::write(out.path().join("secret"), "x\n").unwrap();
    symlink(out.path(), top.join("way")).unwrap();
    assert_eq!(one(&top, b"way/secret", 1000), Err("outside the work tree"));
    assert_eq!(one(&top, b"gone", 1000), Err("gone"));
    assert!(one(&top, b"way", 1000).unwrap().starts_with(b"diff --git a/way b/way\nnew file mode 120000\n"));
}
