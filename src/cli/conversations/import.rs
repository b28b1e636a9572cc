//! `hopty conversations import`: reads a conversation from a package.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use serde_json::json;

use super::conversations_args::ImportOptions;
use super::transfer::{begin, existing_directory, failed, new_id, open_by, say_resume};
use super::{MAY_BE_LEFT_OUT, left_out_json, left_out_words, size};
use crate::cli::control::paths;
use crate::cli::error::{VerbError, note, say, say_wrapped, visible};
use crate::cli::exit_codes::{FAILED, USAGE};
use crate::cli::read_config;
use crate::core::ids::ConversationId;
use crate::core::package::PackageLimits;
use crate::core::text::plural::plural;
use crate::core::time::WallTime;
use crate::fs::conversation_transfer::{
    PackedConversation, TransferError, TransferPlan, TransferReport, TransferTarget, conversations_of,
};
use crate::fs::conversations::Transcripts;
use crate::fs::package::PackageReader;
use crate::fs::paths::Paths;
use crate::ipc::message::Code;
use crate::sys::clock::Clock;

pub(super) fn import(options: &ImportOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let to = options.to.as_deref().map(existing_directory).transpose()?;
    let limits = PackageLimits::default();
    let about = |error: TransferError| failed(error).about(options.file.display());
    let input = input(&options.file)?;
    let is_open = |id: &ConversationId| open_by(&paths, id);
    let Some(transfers) = begin(&paths, &is_open, options.dry_run)? else {
        let reader = PackageReader::open(input, &limits).map_err(|error| about(error.into()))?;
        let packed = conversations_of(reader.manifest(), Path::new("")).map_err(about)?;
        reader.verify().map_err(|error| about(error.into()))?;
        for one in &packed {
            let target = target(&paths, one, to.as_deref(), options)?;
            print_result(one, &target, None, options)?;
        }
        return Ok(0);
    };
    let package = transfers.unpack(input, &limits).map_err(about)?;
    for one in &package.conversations {
        let target = target(&paths, one, to.as_deref(), options)?;
        let is_due = is_due(&paths, one, options);
        if is_due {
            one.date_now().map_err(about)?;
        }
        let plan = TransferPlan::of_package(&paths.claude, one, &target).map_err(about)?;
        for path in &plan.skipped {
            note(format_args!("hopty: {} is there already and stays", visible(&path.to_string_lossy())));
        }
        let report = transfers.place(&plan).map_err(about)?;
        print_result(one, &target, Some((&report, is_due)), options)?;
    }
    Ok(0)
}

fn input(file: &Path) -> Result<Box<dyn Read>, VerbError> {
    if file == Path::new("-") {
        if io::stdin().is_terminal() {
            return Err(VerbError::new(USAGE, "standard input is a terminal, not a package").hint(
                "name a file, or pipe it in: ssh HOST hopty conversations export ID | hopty \
                       conversations import -",
            ));
        }
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = File::open(file).map_err(|error| {
        let code = if error.kind() == io::ErrorKind::NotFound { Code::NotFound } else { Code::Refused };
        VerbError::new(FAILED, error.to_string()).called(code).about(file.display()).hint("check its name")
    })?;
    Ok(Box::new(opened))
}

/// The directory and the id that it gets.
fn target(
    paths: &Paths,
    packed: &PackedConversation,
    to: Option<&str>,
    options: &ImportOptions,
) -> Result<TransferTarget, VerbError> {
    let dir = match (to, &packed.dir) {
        (Some(to), _) => to.to_owned(),
        (None, Some(dir)) if Path::new(dir).is_dir() => existing_directory(Path::new(dir))?,
        (None, dir) => {
            let why = match dir {
                Some(dir) => format!("it belonged to {dir}, which does not exist here"),
                None => "its lines name no directory".to_owned(),
            };
            return Err(VerbError::new(FAILED, why)
                .about(&packed.id)
                .hint("choose its directory with --to DIR"));
        }
    };
    if options.new_id {
        return Ok(TransferTarget { dir, id: new_id()? });
    }
    let there = Transcripts::all(paths).files.into_iter().find(|file| file.id == packed.id);
    match there {
        Some(file) => Err(failed(TransferError::SameId { id: file.id, path: file.path })),
        None => Ok(TransferTarget { dir, id: packed.id.clone() }),
    }
}

/// Whether Claude would delete it soon because of its age.
fn is_due(paths: &Paths, packed: &PackedConversation, options: &ImportOptions) -> bool {
    let used = WallTime(i64::try_from(packed.modified_ms).unwrap_or(i64::MAX));
    !options.keep_times && read_config::cleanup_period_here(paths).deletes_soon(used, Clock::wall())
}

/// `done` is absent in a dry run.
fn print_result(
    packed: &PackedConversation,
    target: &TransferTarget,
    done: Option<(&TransferReport, bool)>,
    options: &ImportOptions,
) -> Result<(), VerbError> {
    if options.json {
        let report = done.map(|(report, _)| report);
        say(format_args!(
            "{}",
            json!({
                "id": packed.id, "new_id": target.id, "from": packed.dir, "to": target.dir,
                "state": if done.is_some() { "imported" } else { "would" },
                "files": report.map_or(packed.files(), |report| report.files),
                "bytes": report.map_or(packed.bytes, |report| report.bytes),
                "transcript": report.map(|report| report.transcript.to_string_lossy().into_owned()),
                "lines": report.map(|report| report.lines.lines),
                "lines_changed": report.map(|report| report.lines.changed),
                "redacted": packed.is_redacted,
                "left_out": report.map(|_| left_out_json(packed.left_out)),
                "times": if done.is_some_and(|(_, is_due)| is_due) { "now" } else { "original" },
            })
        ))?;
        return Ok(());
    }
    let (id, dir) = (packed.id.short(), visible(&target.dir));
    let Some((report, is_due)) = done else {
        say_wrapped(format_args!(
            "would import {id} to {dir}: {}, {}; the package is whole",
            plural(packed.files(), "file"),
            size(packed.bytes)
        ))?;
        say_wrapped(format_args!("Of its transcript, {MAY_BE_LEFT_OUT} would be left out."))?;
        return Ok(());
    };
    let as_new = match target.id == packed.id {
        true => String::new(),
        false => format!(" as {}", target.id.short()),
    };
    say_wrapped(format_args!(
        "imported {id} to {dir}{as_new}: {}, {}, {} of {} lines changed",
        plural(report.files, "file"),
        size(report.bytes),
        report.lines.changed,
        report.lines.lines
    ))?;
    if packed.is_redacted {
        say_wrapped(format_args!("Secrets in it were hidden when it was exported."))?;
    }
    if let Some(parts) = left_out_words(packed.left_out) {
        say_wrapped(format_args!("Left out of its transcript: {parts}."))?;
    }
    if is_due {
        say_wrapped(format_args!(
            "Its files are dated now, because Claude deletes old conversations; --keep-times keeps their \
             times."
        ))?;
    }
    Ok(say_resume(target)?)
}
