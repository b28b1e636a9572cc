//! Finds Claude on this machine, and its version.
//!
//! Searches the configured path, else `~/.local/bin`, `/usr/local/bin`, `/usr/bin`, then `PATH`. Never
//! finds hopty itself, under whatever name, link or small script. Reads the version from a file if
//! possible, else asks the program within a time limit.
//!
//! It installs nothing, reads no configuration, and skips relative directories in `PATH`: a program in the
//! working directory must not be run because of its name.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{AccessFlags, Pid, access};
use serde::Deserialize;
use thiserror::Error;

use crate::core::io_words::io_words;
use crate::sys::safe_file::{self, FileRule};

const PROGRAM: &str = "claude";
/// Directories that are searched between the one below the home directory and `PATH`.
const SYSTEM: [&str; 2] = ["/usr/local/bin", "/usr/bin"];
/// The directories before `PATH`, for a message.
const USUAL: &str = "~/.local/bin, /usr/local/bin or /usr/bin";
/// Claude's npm package.
const PACKAGE: &str = "@anthropic-ai/claude-code";
/// How deep hopty may be nested.
const MAX_DEPTH: u32 = 4;
/// The argument that makes hopty the stand-in agent.
const STAND_IN: &str = " __agent ";
/// The longest script that is searched for a call of hopty, in bytes; larger files are not wrappers.
const MAX_SCRIPT: u64 = 64 << 10;
/// The longest `package.json` that is read, in bytes.
const MAX_PACKAGE: u64 = 1 << 20;
/// How much of the answer to `--version` is read, in bytes.
const MAX_ANSWER: usize = 4 << 10;

/// Why there is no Claude to run.
#[derive(Debug, Error)]
pub enum FindClaudeError {
    /// The configured path does not exist.
    #[error("the configured program {} does not exist", path.display())]
    ConfiguredMissing { path: PathBuf },
    /// The configured path is relative and does not start with `~/`.
    #[error("the configured program {} is not an absolute path", path.display())]
    ConfiguredRelative { path: PathBuf },
    /// The configured path is hopty.
    #[error("the configured program {} is hopty itself", path.display())]
    ConfiguredSelf { path: PathBuf },
    /// There is a file, but it cannot be executed (exit code 126).
    #[error("{} is not an executable file", path.display())]
    NotExecutable {
        /// The first such file.
        path: PathBuf,
    },
    /// No file was found (exit code 127).
    #[error("Claude Code is neither in PATH nor in {}", USUAL)]
    NotFound {
        /// The searched places, in order.
        looked_in: Vec<PathBuf>,
    },
}

impl FindClaudeError {
    /// The text of the `hint:` line.
    pub fn hint(&self) -> &'static str {
        match self {
            FindClaudeError::NotFound { .. } => {
                "install it with `npm install -g @anthropic-ai/claude-code`; if it is elsewhere, set \
                 program.claude in config.toml (`hopty config init`) or HOPTY_PROGRAM_CLAUDE to its path; \
                 `hopty demo` and `hopty help` work without it"
            }
            FindClaudeError::NotExecutable { .. } => {
                "check the file's permissions, or reinstall Claude; `hopty demo` works without it"
            }
            FindClaudeError::ConfiguredMissing { .. }
            | FindClaudeError::ConfiguredRelative { .. }
            | FindClaudeError::ConfiguredSelf { .. } => {
                "set program.claude to the full path of claude, or to \"\" to search for it"
            }
        }
    }
}

/// A file by device and inode, which no name, symlink or hard link changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The file at `path`, following links.
    ///
    /// # Errors
    /// The error of `stat`.
    pub fn of(path: &Path) -> std::io::Result<Self> {
        fs::metadata(path).map(|meta| FileId { device: meta.dev(), inode: meta.ino() })
    }

    /// The running program; `None` if the system does not know it. Then only names can be compared.
    pub fn of_this_program() -> Option<Self> {
        let link = FileId::of(Path::new("/proc/self/exe"));
        link.or_else(|_| std::env::current_exe().and_then(|path| FileId::of(&path))).ok()
    }
}

/// Where to look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search<'a> {
    /// `program.claude`; `None` or empty: search.
    pub configured: Option<&'a Path>,
    pub home: Option<&'a Path>,
    pub path: Option<&'a OsStr>,
    /// hopty's own program, which is never the answer.
    pub own: Option<FileId>,
}

/// Finds Claude. Links in the path are not resolved, because Claude looks at its own name.
///
/// # Errors
/// [`FindClaudeError`], with a hint.
pub fn find(search: &Search<'_>) -> Result<PathBuf, FindClaudeError> {
    if let Some(path) = search.configured.filter(|path| !path.as_os_str().is_empty()) {
        return configured(search, path);
    }
    search_in(directories(search, &SYSTEM), search.own)
}

fn search_in(looked_in: Vec<PathBuf>, own: Option<FileId>) -> Result<PathBuf, FindClaudeError> {
    let mut not_executable = None;
    for directory in &looked_in {
        let path = directory.join(PROGRAM);
        match usable(&path, own) {
            Usable::Yes => return Ok(path),
            Usable::NotExecutable => not_executable = not_executable.or(Some(path)),
            Usable::Missing | Usable::Own => {}
        }
    }
    Err(match not_executable {
        Some(path) => FindClaudeError::NotExecutable { path },
        None => FindClaudeError::NotFound { looked_in },
    })
}

fn configured(search: &Search<'_>, path: &Path) -> Result<PathBuf, FindClaudeError> {
    let path = match (path.strip_prefix("~"), search.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    };
    if !path.is_absolute() {
        return Err(FindClaudeError::ConfiguredRelative { path });
    }
    match usable(&path, search.own) {
        Usable::Yes => Ok(path),
        Usable::Own => Err(FindClaudeError::ConfiguredSelf { path }),
        Usable::NotExecutable => Err(FindClaudeError::NotExecutable { path }),
        Usable::Missing => Err(FindClaudeError::ConfiguredMissing { path }),
    }
}

fn directories(search: &Search<'_>, system: &[&str]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = search.home.map(|home| home.join(".local/bin")).into_iter().collect();
    all.extend(system.iter().map(PathBuf::from));
    all.extend(search.path.iter().flat_map(|path| std::env::split_paths(path)));
    let mut unique: Vec<PathBuf> = Vec::new();
    for directory in all {
        if directory.is_absolute() && !unique.contains(&directory) {
            unique.push(directory);
        }
    }
    unique
}

enum Usable {
    Yes,
    Missing,
    NotExecutable,
    Own,
}

fn usable(path: &Path, own: Option<FileId>) -> Usable {
    let Ok(meta) = fs::metadata(path) else { return Usable::Missing };
    if !meta.is_file() || access(path, AccessFlags::X_OK).is_err() {
        return Usable::NotExecutable;
    }
    let same = own == Some(FileId { device: meta.dev(), inode: meta.ino() });
    if same || (meta.len() <= MAX_SCRIPT && calls_hopty(path, own)) { Usable::Own } else { Usable::Yes }
}

/// Whether a script contains hopty as a word: a wrapper that leads back here.
fn calls_hopty(path: &Path, own: Option<FileId>) -> bool {
    let Some(bytes) = read_at_most(path, MAX_SCRIPT).filter(|bytes| bytes.starts_with(b"#!")) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    // The stand-in agent is the same program in another role: it does not lead back here.
    if text.contains(STAND_IN) {
        return false;
    }
    let code =
        text.lines().map(str::trim_start).filter(|line| line.starts_with("#!") || !line.starts_with('#'));
    let mut words = code.flat_map(|line| line.split(|c: char| c.is_whitespace() || "'\"`;&|()=".contains(c)));
    words.any(|word| {
        let word = Path::new(word);
        let named = word.file_name() == Some(OsStr::new("hopty"));
        named || (own.is_some() && word.is_absolute() && FileId::of(word).ok() == own)
    })
}

/// Whether the program is a shell script. It may lead back here in ways that its text does not show; then
/// only the depth limit ends the recursion.
pub fn may_lead_back(path: &Path) -> bool {
    let small = fs::metadata(path).is_ok_and(|meta| meta.len() <= MAX_SCRIPT);
    let Some(bytes) = read_at_most(path, MAX_SCRIPT).filter(|_| small) else { return false };
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(words) = line.strip_prefix(b"#!") else { return false };
    let words = String::from_utf8_lossy(words).into_owned();
    words.split_whitespace().take(2).any(|word| {
        let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
        ["sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"].contains(&name)
    })
}

fn read_at_most(path: &Path, most: u64) -> Option<Vec<u8>> {
    let file = safe_file::open(path, FileRule::of_claude(u64::MAX)).ok()??;
    safe_file::first_bytes(file, most).ok()
}

/// hopty is nested too deep, because a wrapper calls itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("hopty runs inside hopty {0} times: your claude seems to start hopty")]
pub struct TooDeep(pub u32);

/// The value of `HOPTY_DEPTH` for programs that this hopty starts, from the inherited value. An invalid
/// value counts as none.
///
/// # Errors
/// [`TooDeep`] when this is the fifth nested hopty.
pub fn next_depth(found: Option<&str>) -> Result<u32, TooDeep> {
    let next = found.and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(0).saturating_add(1);
    if next > MAX_DEPTH { Err(TooDeep(next)) } else { Ok(next) }
}

/// Why the version is unknown.
#[derive(Debug, Error)]
pub enum VersionError {
    /// The program could not be started.
    #[error("cannot run {} --version: {}", path.display(), io_words(source))]
    Start { path: PathBuf, source: std::io::Error },
    /// It did not answer in time.
    #[error("{} --version did not answer within {limit_ms} ms", path.display())]
    Late {
        path: PathBuf,
        /// The limit in milliseconds.
        limit_ms: u128,
    },
    /// Its answer is not a version.
    #[error("{} --version answered {answer:?}", path.display())]
    NoVersion {
        path: PathBuf,
        /// The start of the answer.
        answer: String,
    },
}

/// Claude's version: from a file beside the program, else from its own answer within `limit`.
///
/// # Errors
/// [`VersionError`]; a session can run without the version.
pub fn version(program: &Path, limit: Duration) -> Result<String, VersionError> {
    match version_on_disk(program) {
        Some(version) => Ok(version),
        None => ask_version(program, limit),
    }
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// The version without running anything: npm puts a `package.json` beside or above the program, and the
/// native installer uses the version as the program's name.
pub fn version_on_disk(program: &Path) -> Option<String> {
    let real = fs::canonicalize(program).ok()?;
    let named = real.file_name().and_then(OsStr::to_str).and_then(as_version);
    named.or_else(|| {
        real.ancestors().skip(1).take(2).find_map(|directory| {
            let bytes = read_at_most(&directory.join("package.json"), MAX_PACKAGE)?;
            let package: Package = serde_json::from_slice(&bytes).ok()?;
            (package.name == PACKAGE).then(|| as_version(&package.version)).flatten()
        })
    })
}

fn ask_version(program: &Path, limit: Duration) -> Result<String, VersionError> {
    let path = || program.to_owned();
    let end = Instant::now() + limit;
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let mut child = command.spawn().map_err(|source| VersionError::Start { path: path(), source })?;
    let answer = first_line(&mut child, end);
    // It has its own group, so nothing that it started remains; an error means that it is already gone.
    let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
    let _ = child.wait();
    let answer = answer.ok_or_else(|| VersionError::Late { path: path(), limit_ms: limit.as_millis() })?;
    let word = answer.split_whitespace().next().and_then(as_version);
    word.ok_or_else(|| VersionError::NoVersion { path: path(), answer: answer.chars().take(80).collect() })
}

/// The child's output up to the first newline or the end; `None` on a timeout.
fn first_line(child: &mut Child, end: Instant) -> Option<String> {
    let mut stdout = child.stdout.take()?;
    let mut answer = Vec::new();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) => return None,
            Err(Errno::EINTR) => continue,
            Err(_) => break,
            Ok(_) => {}
        }
        let mut chunk = [0_u8; 512];
        match stdout.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(n) => answer.extend_from_slice(&chunk[..n]),
        }
        if answer.contains(&b'\n') || answer.len() >= MAX_ANSWER {
            break;
        }
    }
    let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Some(String::from_utf8_lossy(line).into_owned())
}

/// `text` if it is a version: three numbers, and perhaps a suffix.
fn as_version(text: &str) -> Option<String> {
    let (numbers, tail) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
    let parts: Vec<&str> = numbers.split('.').collect();
    let number =
        |part: &&str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let plain = tail.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'));
    (parts.len() == 3 && parts.iter().all(number) && plain && text.len() <= 64).then(|| text.to_owned())
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
