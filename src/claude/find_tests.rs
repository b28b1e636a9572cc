use super::*;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use tempfile::TempDir;

struct Place {
    root: TempDir,
}

impl Place {
    fn new() -> Self {
        Place { root: tempfile::tempdir().unwrap() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn file(&self, path: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn find(&self, own: &str, path: &str) -> Result<PathBuf, FindClaudeError> {
        let dirs: Vec<PathBuf> =
            path.split(':').map(|dir| if dir.starts_with('.') { dir.into() } else { self.at(dir) }).collect();
        let path = std::env::join_paths(dirs).unwrap();
        let own = FileId::of(&self.at(own)).ok();
        // Without the system's directories: this machine may have a Claude there.
        let search = Search { configured: None, home: Some(&self.at("home")), path: Some(&path), own };
        search_in(directories(&search, &[]), own)
    }

    fn configured(&self, path: &Path) -> Result<PathBuf, FindClaudeError> {
        let own = FileId::of(&self.at("hopty")).ok();
        find(&Search { configured: Some(path), home: Some(&self.at("home")), path: None, own })
    }
}

const CLAUDE: &str = "#!/bin/sh\necho 2.1.329 '(Claude Code)'\n";

#[test]
fn the_home_directory_comes_first_then_path_in_order() {
    let place = Place::new();
    place.file("b/claude", CLAUDE, 0o755);
    assert_eq!(place.find("hopty", "a:b").unwrap(), place.at("b/claude"));
    place.file("a/claude", CLAUDE, 0o755);
    assert_eq!(place.find("hopty", "a:b").unwrap(), place.at("a/claude"));
    place.file("home/.local/bin/claude", CLAUDE, 0o755);
    assert_eq!(place.find("hopty", "a:b").unwrap(), place.at("home/.local/bin/claude"));
}

#[test]
fn item_044_the_order_is_that_of_the_checklist() {
    let search = Search {
        home: Some(Path::new("/h")),
        path: Some(OsStr::new("/x:/usr/bin::rel:/y")),
        ..Search::default()
    };
    let dirs = directories(&search, &SYSTEM);
    let dirs: Vec<&str> = dirs.iter().map(|dir| dir.to_str().unwrap()).collect();
    assert_eq!(
        dirs,
        ["/h/.local/bin", "/usr/local/bin", "/usr/bin", "/x", "/y"],
        "relative directories are left out"
    );
}

#[test]
fn hopty_is_never_the_answer_under_any_name_or_link() {
    let place = Place::new();
    let own = place.file("hopty", "not a script", 0o755);
    let real = place.file("z/claude", CLAUDE, 0o755);
    fs::create_dir_all(place.at("a")).unwrap();
    symlink(&own, place.at("a/middle")).unwrap();
    symlink(place.at("a/middle"), place.at("a/claude")).unwrap();
    fs::create_dir_all(place.at("b")).unwrap();
    fs::hard_link(&own, place.at("b/claude")).unwrap();
    place.file("c/claude", "#!/bin/sh\nexec hopty \"$@\"\n", 0o755);
    place.file(
        "d/claude",
        &format!("#!/bin/bash\nexec '{}' \"$@\"\n", place.at("b/claude").display()),
        0o755,
    );
    place.file("e/claude", "#!/usr/local/bin/hopty run\n", 0o755);
    assert_eq!(place.find("hopty", "a:b:c:d:e:z").unwrap(), real);
    assert!(matches!(place.find("hopty", "a:b:c:d:e"), Err(FindClaudeError::NotFound { .. })));
}

#[test]
fn a_script_that_only_mentions_hopty_is_claude() {
    let place = Place::new();
    place.file("a/claude", "#!/bin/sh\n# hopty is not used here\nexec /x/hoptyish \"$@\"\n", 0o755);
    assert_eq!(place.find("hopty", "a").unwrap(), place.at("a/claude"));
}

#[test]
fn a_program_that_cannot_be_run_is_skipped_and_named() {
    let place = Place::new();
    place.file("a/claude", CLAUDE, 0o644);
    fs::create_dir_all(place.at("b/claude")).unwrap();
    fs::create_dir_all(place.at("c")).unwrap();
    symlink(place.at("nowhere"), place.at("c/claude")).unwrap();
    match place.find("hopty", "a:b:c") {
        Err(FindClaudeError::NotExecutable { path }) => assert_eq!(path, place.at("a/claude")),
        other => panic!("{other:?}"),
    }
    place.file("d/claude", CLAUDE, 0o755);
    assert_eq!(place.find("hopty", "a:b:c:d").unwrap(), place.at("d/claude"));
}

#[test]
fn a_missing_claude_has_a_hint_how_to_install_it() {
    let place = Place::new();
    let error = place.find("hopty", "a").unwrap_err();
    assert!(matches!(&error, FindClaudeError::NotFound { looked_in } if looked_in.len() == 2));
    assert!(
        error.hint().contains("npm install -g @anthropic-ai/claude-code")
            && error.hint().contains("hopty demo")
    );
}

#[test]
fn a_configured_path_is_taken_or_refused_but_never_replaced() {
    let place = Place::new();
    let own = place.file("hopty", "x", 0o755);
    place.file("home/.local/bin/claude", CLAUDE, 0o755);
    let mine = place.file("home/my-claude", CLAUDE, 0o755);
    assert_eq!(place.configured(&mine).unwrap(), mine);
    assert_eq!(place.configured(Path::new("~/my-claude")).unwrap(), mine);
    assert_eq!(place.configured(Path::new("")).unwrap(), place.at("home/.local/bin/claude"));
    assert!(matches!(place.configured(&own), Err(FindClaudeError::ConfiguredSelf { .. })));
    assert!(matches!(place.configured(&place.at("none")), Err(FindClaudeError::ConfiguredMissing { .. })));
    assert!(matches!(
        place.configured(Path::new("my-claude")),
        Err(FindClaudeError::ConfiguredRelative { .. })
    ));
    let plain = place.file("plain", CLAUDE, 0o600);
    assert!(matches!(place.configured(&plain), Err(FindClaudeError::NotExecutable { .. })));
}

#[test]
fn the_running_program_knows_itself() {
    let own = FileId::of_this_program().unwrap();
    assert_eq!(FileId::of(&std::env::current_exe().unwrap()).unwrap(), own);
}

#[test]
fn a_fifth_hopty_refuses() {
    assert_eq!(next_depth(None), Ok(1));
    assert_eq!(next_depth(Some("3")), Ok(4));
    assert_eq!(next_depth(Some("4")), Err(TooDeep(5)));
    assert_eq!(next_depth(Some("4294967295")), Err(TooDeep(u32::MAX)));
    for odd in ["", "x", "-1"] {
        assert_eq!(next_depth(Some(odd)), Ok(1), "{odd:?}");
    }
}

#[test]
fn the_version_without_running_anything() {
    let place = Place::new();
    place.file("pkg/package.json", r#"{"name":"@anthropic-ai/claude-code","version":"2.1.329"}"#, 0o644);
    let program = place.file("pkg/bin/claude.exe", "#!/bin/false\n", 0o755);
    symlink(&program, place.at("claude")).unwrap();
    assert_eq!(version_on_disk(&place.at("claude")).as_deref(), Some("2.1.329"));
    let beside = place.file("old/cli.js", "#!/bin/false\n", 0o755);
    place.file("old/package.json", r#"{"name":"@anthropic-ai/claude-code","version":"2.0.76"}"#, 0o644);
    assert_eq!(version_on_disk(&beside).as_deref(), Some("2.0.76"));
    let native = place.file("versions/2.1.400", "#!/bin/false\n", 0o755);
    assert_eq!(version_on_disk(&native).as_deref(), Some("2.1.400"));
    place.file("other/package.json", r#"{"name":"left-pad","version":"9.9.9"}"#, 0o644);
    assert_eq!(version_on_disk(&place.file("other/claude", "x", 0o755)), None);
    place.file("torn/package.json", r#"{"name":"@anthropic"#, 0o644);
    assert_eq!(version_on_disk(&place.file("torn/claude", "x", 0o755)), None);
}

/// `version`, retried while a parallel test holds the new script open for writing across its fork.
fn asked(program: &Path, limit: Duration) -> Result<String, VersionError> {
    loop {
        match version(program, limit) {
            Err(VersionError::Start { source, .. })
                if source.kind() == std::io::ErrorKind::ExecutableFileBusy =>
            {
                std::thread::yield_now()
            }
            answer => return answer,
        }
    }
}

#[test]
fn the_version_from_its_own_answer() {
    let place = Place::new();
    let long = Duration::from_secs(20);
    assert_eq!(asked(&place.file("a/claude", CLAUDE, 0o755), long).unwrap(), "2.1.329");
    let silent = place.file("b/claude", "#!/bin/sh\necho hello\n", 0o755);
    assert!(matches!(asked(&silent, long), Err(VersionError::NoVersion { .. })));
    assert!(matches!(asked(&place.at("none"), long), Err(VersionError::Start { .. })));
    let flood = place.file("c/claude", "#!/bin/sh\nwhile :; do printf xxxxxxxxxxxxxxxx; done\n", 0o755);
    assert!(matches!(asked(&flood, long), Err(VersionError::NoVersion { .. })));
}

#[test]
fn a_program_that_hangs_is_ended_with_all_it_started() {
    let place = Place::new();
    let pipe = place.at("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let script = format!("#!/bin/sh\nexec 3<>'{}'\necho up >&3\nsleep 60 &\nwait\n", pipe.display());
    let hangs = place.file("claude", &script, 0o755);
    let begun = Instant::now();
    // Opened for reading and writing, so that neither side waits for the other to open it.
    let mut reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let error = asked(&hangs, Duration::from_millis(500)).unwrap_err();
    assert!(matches!(error, VersionError::Late { limit_ms: 500, .. }));
    let mut up = [0_u8; 3];
    reader.read_exact(&mut up).unwrap();
    // Now only the sleeper, if it lives, holds the other side: the read below ends when it is gone.
    let mut last = fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(&pipe).unwrap();
    drop(reader);
    let flags = nix::fcntl::OFlag::empty();
    nix::fcntl::fcntl(&last, nix::fcntl::FcntlArg::F_SETFL(flags)).unwrap();
    assert_eq!(last.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert!(begun.elapsed() < Duration::from_secs(40), "the sleeper was left to itself");
}

#[test]
fn versions() {
    for good in ["2.1.329", "1.0.128", "2.2.0-beta.1", "2.1.0+build"] {
        assert_eq!(as_version(good).as_deref(), Some(good));
    }
    for bad in ["", "claude", "2.1", "2.1.x", "2.1.3.4", "v2.1.3", "2.1.3-\u{1b}[2J", "2..3"] {
        assert_eq!(as_version(bad), None, "{bad:?}");
    }
}

#[test]
fn only_a_small_shell_script_may_lead_back_unseen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("claude");
    for (text, may) in [
        ("#!/bin/sh\nexec x", true),
        ("#!/usr/bin/env bash\n", true),
        ("#! /usr/local/bin/zsh -f\n", true),
        ("#!/usr/bin/env node\n", false),
        ("\u{7f}ELF", false),
        ("", false),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(may_lead_back(&path), may, "{text:?}");
    }
    std::fs::write(&path, format!("#!/bin/sh\n{}", "#".repeat(70_000))).unwrap();
    assert!(!may_lead_back(&path), "no wrapper is that long");
    assert!(!may_lead_back(dir.path()));
}
