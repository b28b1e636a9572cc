//! `hopty backup`: everything that hopty keeps, and what you need to continue with Claude, in one file.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use nix::errno::Errno;
use serde_json::json;

use super::control::paths;
use super::conversations::{MAY_BE_LEFT_OUT, left_out_json, left_out_words, size};
use super::error::{VerbError, note, say, say_wrapped, visible};
use super::exit_codes::{FAILED, INTERNAL, USAGE};
use crate::core::text::plural::plural;
use crate::fs::atomic;
use crate::fs::backup::{
    BackupCipher, BackupFailure, BackupKey, RestoreOutcome, RestorePlan, RestoreReport, create, is_encrypted,
    plan, restore, verify,
};
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::sys::clock::Clock;
use crate::sys::inherited;
use crate::sys::safe_file::{self, FileRule};
use crate::tty::passphrase;

/// The longest passphrase or file of keys that is read, in bytes.
const KEY_CAP: u64 = 64 << 10;

/// Where a passphrase comes from. Never the command line, where other users could see it.
#[derive(Debug, Args)]
pub(super) struct PhraseOptions {
    /// Ask for a passphrase on the terminal
    #[arg(long, conflicts_with = "passphrase_fd")]
    passphrase: bool,
    /// Read the passphrase from this open file descriptor, up to its end or a newline
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..=1023))]
    passphrase_fd: Option<i32>,
}

#[derive(Debug, Subcommand)]
pub(super) enum BackupVerb {
    /// Write a backup
    ///
    /// It has Claude's conversations, tasks, settings, commands, agents and CLAUDE.md, hopty's handoffs,
    /// sessions, configuration and archive, and never credentials or keys. It is read back and compared
    /// before it gets its name, and only you can read it.
    Create {
        /// The file; by default one with the time in its name in ~/.local/share/hopty/backups
        file: Option<PathBuf>,
        /// Encrypt it for the owner of this age public key (age1...); repeatable
        #[arg(long, value_name = "RECIPIENT", conflicts_with_all = ["passphrase", "passphrase_fd"])]
        encrypt_to: Vec<String>,
        #[command(flatten)]
        phrase: PhraseOptions,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Verify a backup: read and compare all of it
    Verify {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        phrase: PhraseOptions,
        /// A file with keys of age, as age-keygen writes it
        #[arg(long, value_name = "FILE")]
        identity: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore a backup, never over a file that differs unless you say --overwrite
    ///
    /// hopty unpacks and compares all of it before it restores the first file. Settings, commands, agents,
    /// sessions, memory and the like can run programs and steer Claude: they are restored only with
    /// --with-settings.
    Restore {
        /// The file
        file: PathBuf,
        /// Only list what would be done
        #[arg(long)]
        dry_run: bool,
        /// Restore below this directory instead of your home
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
        /// Replace files that differ; each old one stays beside the new one
        #[arg(long)]
        overwrite: bool,
        /// Restore Claude's settings, commands, agents, skills, hooks, memory and CLAUDE.md, and hopty's
        /// sessions and config.toml, too
        #[arg(long)]
        with_settings: bool,
        /// Keep the times of transcripts even if Claude would delete them soon because of their age
        #[arg(long)]
        keep_times: bool,
        #[command(flatten)]
        phrase: PhraseOptions,
        /// A file with keys of age, as age-keygen writes it
        #[arg(long, value_name = "FILE")]
        identity: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// By the file's name.
fn is_encrypted_name(name: &Path) -> bool {
    name.extension().is_some_and(|end| end.eq_ignore_ascii_case("age"))
}

pub(super) fn backup(verb: BackupVerb) -> Result<u8, VerbError> {
    match verb {
        BackupVerb::Create { file, encrypt_to, phrase, json } => {
            let is_plain = encrypt_to.is_empty() && !phrase.passphrase && phrase.passphrase_fd.is_none();
            if let Some(name) = file.as_ref().filter(|name| is_plain && is_encrypted_name(name)) {
                return Err(VerbError::new(USAGE, "a backup of this name is encrypted, and no key is given")
                    .about(name.display())
                    .hint("add `--passphrase` or `--encrypt-to RECIPIENT`, or leave out `.age`"));
            }
            let cipher = if encrypt_to.is_empty() {
                phrase_of(&phrase, true)?.map_or(BackupCipher::None, BackupCipher::Passphrase)
            } else {
                BackupCipher::Recipients(encrypt_to)
            };
            make(file, &cipher, json)
        }
        BackupVerb::Verify { file, phrase, identity, json } => {
            let key = key_of(&file, &phrase, identity.as_deref())?;
            let manifest = verify(&file, &key).map_err(|failure| failed(&file, failure))?;
            let (files, bytes) = (manifest.files.len(), manifest.total_bytes());
            if json {
                say(format_args!(
                    "{}",
                    json!({"files": files, "bytes": bytes, "created_ms": manifest.created_ms})
                ))?;
            } else {
                say_wrapped(format_args!("intact: {}, {}", plural(files, "file"), size(bytes)))?;
            }
            Ok(0)
        }
        BackupVerb::Restore {
            file,
            dry_run,
            into,
            overwrite,
            with_settings,
            keep_times,
            phrase,
            identity,
            json,
        } => {
            let to = match &into {
                None => paths()?,
                Some(dir) => below(dir)?,
            };
            let key = key_of(&file, &phrase, identity.as_deref())?;
            let cleanup = (!keep_times).then(|| super::read_config::cleanup_period_here(&to));
            let how = RestorePlan { overwrite, with_settings, now: Clock::wall(), cleanup };
            let done = if dry_run { plan(&to, &file, &key, &how) } else { restore(&to, &file, &key, &how) };
            print_report(&done.map_err(|failure| not_restored(&file, failure, dry_run))?, &how, dry_run, json)
        }
    }
}

fn failed(file: &Path, failure: BackupFailure) -> VerbError {
    failed_with(file, failure.to_string(), failure.hint())
}

fn failed_with(file: &Path, cause: String, hint: &str) -> VerbError {
    let file = file.display().to_string();
    let name = if cause.contains(&file) { String::new() } else { file };
    VerbError::new(FAILED, cause).about(name).hint(hint)
}

/// The error of a restore, with the files that it had already written.
fn not_restored(file: &Path, failure: BackupFailure, dry_run: bool) -> VerbError {
    let nothing = match &failure {
        _ if dry_run => "",
        BackupFailure::Partly { .. } => "",
        _ => "; nothing was restored",
    };
    failed_with(file, format!("{failure}{nothing}"), failure.hint())
}

/// The paths of a home directory, which need not be this user's.
fn below(dir: &Path) -> Result<Paths, VerbError> {
    let dir = std::path::absolute(dir)?;
    if !dir.is_dir() {
        return Err(VerbError::new(FAILED, "there is no such directory")
            .about(dir.display())
            .hint("create it first"));
    }
    let home = dir.into_os_string();
    Paths::from_env(|name| (name == "HOME").then(|| home.clone())).ok_or_else(|| {
        VerbError::new(INTERNAL, "the directory to restore to has no absolute path")
            .hint("give --into a full path")
    })
}

fn make(file: Option<PathBuf>, cipher: &BackupCipher, as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let now = Clock::wall();
    let file = match file {
        Some(file) => file,
        None => {
            let dir = paths.backups();
            atomic::private_dir(&dir).map_err(|error| {
                VerbError::new(FAILED, error.to_string()).hint("name a file for the backup")
            })?;
            let end = if matches!(cipher, BackupCipher::None) { "" } else { ".age" };
            dir.join(format!("hopty-{}.tar.gz{end}", now.compact()))
        }
    };
    let done = create(&paths, &file, cipher, now).map_err(|failure| failed(&file, failure))?;
    if as_json {
        let left_out = done.secrets.iter().chain(&done.odd).map(|path| path.to_string_lossy());
        let left_out: Vec<_> = left_out.collect();
        say(format_args!(
            "{}",
            json!({
                "file": done.path.to_string_lossy(), "packed_bytes": done.packed_bytes, "files": done.files,
                "bytes": done.bytes, "read_back": done.was_read_back,
                "left_out": left_out,
            })
        ))?;
        return Ok(0);
    }
    say(format_args!("{}", visible(&done.path.to_string_lossy())))?;
    let back = if done.was_read_back {
        "read back and compared"
    } else {
        "not read back, because only the keys' owners can: hopty backup verify --identity FILE"
    };
    say_wrapped(format_args!(
        "{}, {} -> {}, {back}",
        plural(done.files, "file"),
        size(done.bytes),
        size(done.packed_bytes)
    ))?;
    for path in &done.secrets {
        note(format_args!("left out (credentials or a key): {}", visible(&path.to_string_lossy())));
    }
    for path in &done.odd {
        note(format_args!("left out (not a regular file of yours): {}", visible(&path.to_string_lossy())));
    }
    Ok(0)
}

fn print_report(
    report: &RestoreReport,
    how: &RestorePlan,
    dry_run: bool,
    as_json: bool,
) -> Result<u8, VerbError> {
    if as_json {
        print_json(report, dry_run)?;
    } else {
        print_files(report, dry_run)?;
        print_notes(report);
        if dry_run && !how.with_settings {
            note(format_args!(
                "of transcripts, {MAY_BE_LEFT_OUT} are left out; --with-settings restores them as they were"
            ));
        }
    }
    Ok(u8::from(count(report, RestoreOutcome::Differs) > 0))
}

fn count(report: &RestoreReport, put: RestoreOutcome) -> usize {
    report.files.iter().filter(|(_, what)| *what == put).count()
}

fn print_json(report: &RestoreReport, dry_run: bool) -> Result<(), VerbError> {
    let word = |put: RestoreOutcome| match put {
        RestoreOutcome::New => "new",
        RestoreOutcome::Same => "same",
        RestoreOutcome::Differs => "differs",
        RestoreOutcome::Replaced => "replaced",
        RestoreOutcome::LeftOut => "left_out",
        RestoreOutcome::HookScript => "hook_script",
    };
    let files: Vec<_> = report
        .files
        .iter()
        .map(|(path, put)| json!({"file": path.to_string_lossy(), "state": word(*put)}))
        .collect();
    // A dry run has not read the transcripts.
    let left_out = (!dry_run).then(|| left_out_json(report.left_out));
    say(format_args!(
        "{}",
        json!({
            "dry_run": dry_run, "dated_now": report.dated_now, "interrupted": report.was_interrupted,
            "files": files, "left_out": left_out,
        })
    ))?;
    Ok(())
}

fn print_files(report: &RestoreReport, dry_run: bool) -> Result<(), VerbError> {
    let count = |put| count(report, put);
    if report.was_interrupted {
        note(format_args!(
            "an earlier restore was interrupted; in place already: {}, restored now: {}",
            plural(count(RestoreOutcome::Same), "file"),
            plural(count(RestoreOutcome::New) + count(RestoreOutcome::Replaced), "file")
        ));
    }
    for (path, put) in &report.files {
        let told = match put {
            RestoreOutcome::Differs => "differs, left as it is",
            RestoreOutcome::Replaced if dry_run => "would be replaced",
            RestoreOutcome::Replaced => "replaced; the old one is beside it",
            RestoreOutcome::New if dry_run => "new",
            _ => continue,
        };
        say_wrapped(format_args!("{told}: {}", visible(&path.to_string_lossy())))?;
    }
    let done = if dry_run { "would be restored" } else { "restored" };
    let differ = if count(RestoreOutcome::Differs) == 1 { "differs and stays" } else { "differ and stay" };
    say_wrapped(format_args!(
        "{} {done}, {} the same already, {} {differ}, {} replaced",
        plural(count(RestoreOutcome::New), "file"),
        count(RestoreOutcome::Same),
        count(RestoreOutcome::Differs),
        count(RestoreOutcome::Replaced)
    ))?;
    Ok(())
}

fn print_notes(report: &RestoreReport) {
    let count = |put| count(report, put);
    if count(RestoreOutcome::LeftOut) > 0 {
        let (are, they, them) = match count(RestoreOutcome::LeftOut) {
            1 => ("is", "it", "it"),
            _ => ("are", "they", "them"),
        };
        note(format_args!(
            "{} of settings, commands, sessions, memory and the like {are} left out: {they} can run \
             programs and steer Claude; --with-settings restores {them}",
            plural(count(RestoreOutcome::LeftOut), "file")
        ));
    }
    let is_session = |(path, put): &&(PathBuf, RestoreOutcome)| {
        *put == RestoreOutcome::LeftOut && path.file_name().is_some_and(|name| name == session::STATUS)
    };
    let sessions = report.files.iter().filter(is_session).count();
    if sessions > 0 {
        note(format_args!(
            "of them {} of sessions, whose command lines `hopty restore` would run; `hopty --resume ID` \
             resumes a conversation without its session",
            plural(sessions, "file")
        ));
    }
    if let Some(parts) = left_out_words(report.left_out) {
        note(format_args!("left out of transcripts: {parts}; --with-settings restores them as they were"));
    }
    if count(RestoreOutcome::HookScript) > 0 {
        note(format_args!(
            "not restored: {} of hooks (session-env), which hooks write again",
            plural(count(RestoreOutcome::HookScript), "script")
        ));
    }
    if report.dated_now > 0 {
        let (are, times) = if report.dated_now == 1 { ("is", "its time") } else { ("are", "their times") };
        note(format_args!(
            "{} {are} dated now, because Claude deletes old conversations; --keep-times keeps {times}",
            plural(report.dated_now, "file")
        ));
    }
    if count(RestoreOutcome::Differs) > 0 {
        note(format_args!("hint: --overwrite replaces those that differ, and keeps a copy of each old one"));
    }
}

/// The key of a backup. If an encrypted one has no options, hopty asks for its passphrase in a terminal.
fn key_of(file: &Path, phrase: &PhraseOptions, identity: Option<&Path>) -> Result<BackupKey, VerbError> {
    if let Some(path) = identity {
        let text = safe_file::read_text(path, FileRule::configuration(KEY_CAP))
            .map_err(|error| VerbError::new(FAILED, error.to_string()).hint(error.hint()))?;
        let text =
            text.ok_or_else(|| VerbError::new(FAILED, "there is no such file").about(path.display()))?;
        return Ok(BackupKey::Identities(text));
    }
    if let Some(phrase) = phrase_of(phrase, false)? {
        return Ok(BackupKey::Passphrase(phrase));
    }
    Ok(BackupKey::None)
        .and_then(|none| match begins_encrypted(file) && super::run::in_terminal() {
            true => passphrase::ask("Passphrase of the backup: ").map(BackupKey::Passphrase),
            false => Ok(none),
        })
        .map_err(VerbError::from)
}

fn begins_encrypted(file: &Path) -> bool {
    let opened = safe_file::open(file, FileRule::of_claude(u64::MAX)).ok().flatten();
    let begin = opened.and_then(|file| safe_file::first_bytes(file, 64).ok());
    begin.is_some_and(|begin| is_encrypted(&begin))
}

/// The text behind a descriptor that the caller of hopty opened, which is closed afterwards.
fn read_descriptor(fd: i32) -> io::Result<String> {
    if !inherited::has_descriptor(fd) {
        return Err(Errno::EBADF.into());
    }
    // SAFETY: it is inherited and hopty's options name it once, so nothing else in this process owns it.
    let file = unsafe { File::from_raw_fd(fd) };
    let mut text = String::new();
    file.take(KEY_CAP).read_to_string(&mut text)?;
    Ok(text)
}

/// The passphrase from the options; hopty asks twice for a new one.
fn phrase_of(options: &PhraseOptions, is_new: bool) -> Result<Option<String>, VerbError> {
    let phrase = if let Some(fd) = options.passphrase_fd {
        let text = read_descriptor(fd).map_err(|error| {
            VerbError::new(FAILED, format!("cannot read the passphrase from descriptor {fd}: {error}"))
                .hint("open it for hopty, as in `3< FILE` with `--passphrase-fd 3`")
        })?;
        text.lines().next().unwrap_or_default().to_owned()
    } else if options.passphrase {
        let first = passphrase::ask("Passphrase: ")?;
        if is_new && passphrase::ask("Repeat it: ")? != first {
            return Err(VerbError::new(FAILED, "the two passphrases differ").hint("run it again"));
        }
        first
    } else {
        return Ok(None);
    };
    if phrase.is_empty() {
        return Err(VerbError::new(USAGE, "the passphrase is empty").hint("give one, or omit the option"));
    }
    Ok(Some(phrase))
}
