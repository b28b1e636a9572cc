//! Compares the state of ordinary repositories with the output of plain git.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use super::*;

/// Shell commands that create each repository in an empty directory: the work tree is `w`, which already
/// has the files a, b and c.
const TABLE: [(&str, &str); 31] = [
    ("changed", "echo two >a; echo new >d"),
    (
        "staged and changed",
        "echo two >a; git add a; echo three >a; git rm -q b; mkdir d; echo x >d/e; git add -N d/e",
    ),
    ("renamed", "seq 100 >l; git add l; git commit -qm l; git mv l m; echo more >>m; git mv a n"),
    ("binary", "head -c 5000 /bin/sh >a; head -c 300 /bin/sh >n; git add n"),
    ("mode and kind", "chmod +x a; ln -sf a b; rm c; mkdir c; echo x >c/d"),
    ("mode is not looked at", "git config core.filemode false; chmod +x a; echo two >b"),
    ("links", "ln -s a l; git add l; git commit -qm l; ln -sf b l"),
    (
        "names",
        "printf x >\"$(printf 'n\\303\\244me')\"; printf x >'new\nline'; printf x >'quo\"te'; git add .; \
         echo two >a",
    ),
    (
        "names that are not UTF-8",
        "printf x >\"$(printf 'n\\344me')\"; git add .; git commit -qm n; printf y >\"$(printf 'n\\344me')\"",
    ),
    (
        "ignored",
        "echo '*.o' >.gitignore; echo i >.git/info/exclude; touch x.o i j; echo k >../k; git config \
         core.excludesFile ../k; touch k",
    ),
    (
        "line ends of the work tree",
        "git config core.autocrlf true; rm a; git checkout -q a; printf 'two\\r\\n' >b; printf 'o\\r\\n' >n; \
         git add n",
    ),
    (
        "line ends by attribute",
        "printf '* text eol=crlf\\nc -text\\n' >.gitattributes; git add .; printf 'one\\r\\n' >a; printf \
         'x\\r\\n' >c; echo b >b",
    ),
    (
        "encoding by attribute",
        "echo 'u working-tree-encoding=UTF-16LE' >.gitattributes; printf 'a\\0\\n\\0' >u; git add .; git \
         commit -qm u; printf 'b\\0\\n\\0' >u",
    ),
    ("detached", "git checkout -q --detach; echo two >a"),
    ("unborn", "rm -rf .git; git init -q -b first; git add a; echo two >b"),
    ("packed", "git gc -q; git pack-refs --all; git tag x; echo two >a"),
    (
        "follows another",
        "git branch up; git branch -q -u up; git commit -q --allow-empty -m 1; git checkout -q up; git \
         commit -q --allow-empty -m 2; git checkout -q main",
    ),
    (
        "a clone",
        "cd ..; git clone -q w v; rm -rf w; mv v w; cd w; git commit -q --allow-empty -m 1; echo two >a",
    ),
    (
        "a shallow clone",
        "git commit -q --allow-empty -m 1; cd ..; git clone -q --depth 1 file://$PWD/w v; mv w u; mv v w; cd \
         w; git commit -q --allow-empty -m 2",
    ),
    (
        "a partial clone",
        "git config uploadpack.allowFilter true; cd ..; git clone -q --filter=blob:none file://$PWD/w v; mv \
         w u; mv v w; cd w; echo two >a",
    ),
    (
        "objects elsewhere",
        "cd ..; git clone -q --shared w v; mv w u; mv v w; cd w; echo ../../../u/.git/objects \
         >.git/objects/info/alternates; echo two >a",
    ),
    (
        "a linked worktree",
        "git worktree add -q -b side ../v; cd ..; mv w u; mv v w; cd w; git -C ../u worktree repair ../w \
         2>&- >&-; echo two >a; git branch -u main",
    ),
    ("a directory of its own", "git init -q --separate-git-dir ../s; echo two >a"),
    (
        "a submodule",
        "git clone -q . ../s; git -c protocol.file.allow=always submodule --quiet add ../s sub; git commit \
         -qm s; cd sub; git commit -q --allow-empty -m 1; echo dirt >a; touch new",
    ),
    (
        "a submodule of which nothing is there",
        "git clone -q . ../s; git -c protocol.file.allow=always submodule --quiet add ../s sub; git commit \
         -qm s; git submodule -q deinit -f sub; echo two >a",
    ),
    (
        "another repository in it",
        "git clone -q . in; touch in/new; mkdir d; git clone -q . d/in; echo two >a",
    ),
    (
        "sparse",
        "mkdir d e; touch d/x e/x; git add .; git commit -qm d; git sparse-checkout init --cone; git \
         sparse-checkout set d; echo 1 >d/x; touch d/y",
    ),
    (
        "sparse index",
        "mkdir d e; touch d/x e/x; git add .; git commit -qm d; git sparse-checkout init --cone \
         --sparse-index; git sparse-checkout set d; echo 1 >d/x",
    ),
    (
        "split index",
        "git update-index --split-index; echo two >a; git add a; echo three >b; git update-index \
         --untracked-cache; touch n",
    ),
    (
        "a conflict",
        "git checkout -q -b x; echo x >a; git commit -qam x; git checkout -q main; echo y >a; git commit \
         -qam y; git merge -q x >&-; touch n",
    ),
    (
        "other ways to tell",
        "seq 100 >l; git add l; git commit -qm l; git mv l m; git config diff.renames false; git config \
         status.renames false; git config diff.context 7; git config diff.algorithm histogram; echo >>m",
    ),
];

fn sh(dir: &Path, script: &str) -> bool {
    let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"]
        .map(|name| (name, "t"));
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(dir).envs(who).env("GIT_CONFIG_COUNT", "0");
    let output = command.output().unwrap();
    assert!(output.status.code().is_some());
    output.status.success()
}

fn plain(dir: &Path, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new("git");
    command
        .args(["--no-optional-locks", "-c", "core.quotePath=false"])
        .args(args)
        .current_dir(dir)
        .env("LC_ALL", "C");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Compares `read` with plain git, twice, and checks that nothing was written.
fn compare(what: &str, work: &Path) {
    let expected = parse_status(&plain(work, &STATUS_ARGS));
    let base = if expected.head.is_some() { "HEAD" } else { "--cached" };
    let diff =
        |how: &[&str]| plain(work, &[&["diff", "--ignore-submodules=dirty", "--no-color"], how].concat());
    let (patch, stat) = (diff(&["--binary", base]), diff(&["--stat=120", base]));
    let index =
        || work.join(String::from_utf8(plain(work, &["rev-parse", "--git-path", "index"])).unwrap().trim());
    let stamp =
        |path: &Path| fs::metadata(path).map(|meta| (meta.ino(), meta.mtime(), meta.mtime_nsec())).ok();
    let before = stamp(&index());
    let limits = GitLimits { time: Duration::from_secs(60), patch: 1 << 20 };
    let state = read(work, work, limits).unwrap_or_else(|error| panic!("{what}: {error}")).unwrap();
    let notes: Vec<&String> =
        state.notes.iter().filter(|note| !note.ends_with("/ (a nested repository)")).collect();
    assert_eq!(notes, Vec::<&String>::new(), "{what}");
    let facts = |state: &GitState| {
        (state.branch.clone(), state.head.clone(), state.upstream.clone(), state.ahead_behind)
    };
    assert_eq!(facts(&state), facts(&expected), "{what}");
    assert_eq!(state.changed, expected.changed, "{what}");
    assert_eq!(String::from_utf8_lossy(&state.patch), String::from_utf8_lossy(&patch), "{what}");
    assert_eq!(state.stat, String::from_utf8_lossy(&stat), "{what}");
    assert_eq!(stamp(&index()), before, "{what}: the index is as it was");
    assert!(!state.changed.is_empty() || state.ahead_behind.is_some(), "{what}: there is nothing to compare");
}

fn made(script: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    assert!(sh(
        dir.path(),
        "git init -q -b main w && cd w && touch b c && echo one >a && git add . && git commit -qm x"
    ));
    sh(&dir.path().join("w"), script);
    dir
}

#[test]
fn ordinary_repositories_have_the_state_that_plain_git_reports() {
    for (what, script) in TABLE {
        let dir = made(script);
        compare(what, &dir.path().join("w"));
    }
}

#[test]
fn a_patch_can_be_applied() {
    let dir = made("head -c 5000 /bin/sh >a; git add a; chmod +x b; ln -s a l; git add l; git mv c d");
    let work = dir.path().join("w");
    let state = read(&work, &work, GitLimits::default()).unwrap().unwrap();
    fs::write(dir.path().join("changes.patch"), &state.patch).unwrap();
    assert!(sh(
        dir.path(),
        "cp -r w v && cd v && git reset -q --hard && git apply ../changes.patch && cmp a ../w/a"
    ));
    assert!(sh(&dir.path().join("v"), "test -x b && test -L l && test -e d && test ! -e c"));
}
