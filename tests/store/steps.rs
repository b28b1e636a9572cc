//! What the tests do alike: captures, claims, places, dice, and processes that play a part.

use std::path::Path;

use hopty::core::claude::transcript_facts::TranscriptFacts;
use hopty::core::handoff::capture::{Capture, HandoffOrigin};
use hopty::core::handoff::manifest_entry::{Claim, HandoffKind};
use hopty::core::ids::Channel;
use hopty::core::time::WallTime;
use hopty::sys::process;

/// A moment, so many seconds after the first.
pub fn at(second: i64) -> WallTime {
    WallTime(1_795_000_000_000 + second * 1000)
}

/// What a handoff of a session is made from.
pub fn capture(session: &str, second: i64) -> Capture {
    let origin = HandoffOrigin {
        conversation: "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap(),
        channel: Channel::global(),
        kind: HandoffKind::Auto,
        created_at: at(second),
        working_dir: "/home/u/proj".to_owned(),
        transcript: String::new(),
        session: Some(session.parse().unwrap()),
        pid: std::process::id(),
        predecessor: None,
    };
    let mut capture = Capture::new(origin, &TranscriptFacts::new());
    capture.goal = Some("Build the bridge.".to_owned());
    capture
}

/// This process's claim for a conversation with a number.
pub fn claim(conversation: u64, now: WallTime) -> Claim {
    let by_pid = std::process::id();
    let session_id = format!("00000000-0000-4000-8000-{conversation:012}").parse().unwrap();
    Claim {
        by_pid,
        by_start: process::start_ticks(by_pid).unwrap(),
        session_id,
        at: now,
        other: Default::default(),
    }
}

/// A place for a store: memory where there is some. What is tested here does not depend on the disk.
pub fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// A number from the environment.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Numbers that look random; the same for the same seed.
pub struct Dice(pub u64);

impl Dice {
    /// Below `n`; splitmix64.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// This test binary once more, to run one function of it as a process of its own.
pub fn part(function: &str, variable: &str, value: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([function, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).env(variable, value);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    command
}

/// A file system of its own, as small as wanted.
pub struct Small(pub std::path::PathBuf);

impl Small {
    /// `None` where only root may have one; then the test is reported as skipped.
    pub fn mount(dir: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(dir).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "none"])
            .arg(dir)
            .output();
        if mounted.is_ok_and(|done| done.status.success()) {
            return Some(Small(dir.to_owned()));
        }
        super::support::skip("no file system can be mounted here");
        None
    }

    /// Takes all of it but `left` bytes.
    pub fn take_all_but(&self, left: u64) {
        let mut file = std::fs::File::options().create(true).append(true).open(self.filler()).unwrap();
        while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
        file.set_len(file.metadata().unwrap().len().saturating_sub(left) / 4096 * 4096).unwrap();
    }

    /// Gives it back.
    pub fn give_back(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> std::path::PathBuf {
        self.0.join("filler")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
