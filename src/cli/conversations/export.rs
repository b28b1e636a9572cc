//! `hopty conversations export`: writes a conversation as a package, to a file or a pipe.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::conversations_args::ExportPackageOptions;
use super::named_conversation::named_conversation;
use super::size;
use super::transfer::{failed, one_summary, open_by};
use crate::cli::control::paths;
use crate::cli::error::{VerbError, note, stdout, visible};
use crate::cli::exit_codes::USAGE;
use crate::core::package::PackageLimits;
use crate::core::text::plural::plural;
use crate::fs::atomic;
use crate::fs::conversation_transfer::{self, ExportReport, TransferError};
use crate::fs::conversations::{ConversationFiles, FileRole};
use crate::fs::file_error::FsError;
use crate::fs::package::PackageReader;
use crate::sys::clock::Clock;

pub(super) fn export(options: &ExportPackageOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let to = options.output.as_deref().filter(|path| *path != Path::new("-"));
    if to.is_none() && io::stdout().is_terminal() {
        return Err(VerbError::new(USAGE, "a terminal cannot show a package")
            .hint("write it to a file with -o FILE, or into a pipe"));
    }
    let file = named_conversation(&paths, &options.which)?;
    let about = |error: TransferError| failed(error).about(&file.id);
    let check_closed = || match open_by(&paths, &file.id) {
        Some(who) => Err(about(TransferError::Open(who))),
        None => Ok(()),
    };
    check_closed()?;
    let summary = one_summary(&paths, &file);
    let found = ConversationFiles::of(&paths, &file, summary.plan.as_deref())
        .map_err(|source| about(FsError::Io { doing: "read", path: file.path.clone(), source }.into()))?;
    let how = conversation_transfer::ExportOptions {
        dir: summary.dir.clone(),
        redact: options.redact,
        now: Clock::wall(),
    };
    let (report, packed) = match to {
        None => {
            let out = BufWriter::new(stdout()?.lock());
            let (_, report) =
                conversation_transfer::export(out, &paths.claude, &found, &how).map_err(about)?;
            (report, None)
        }
        Some(to) => {
            let (report, packed) = to_file(to, |out| {
                let (_, report) = conversation_transfer::export(out, &paths.claude, &found, &how)?;
                Ok(report)
            })
            .map_err(about)?;
            (report, Some((to, packed)))
        }
    };
    print_result(options, &found, &report, packed);
    Ok(0)
}

fn print_result(
    options: &ExportPackageOptions,
    found: &ConversationFiles,
    report: &ExportReport,
    packed: Option<(&Path, u64)>,
) {
    let bytes = match packed {
        Some((_, packed)) => format!("{} -> {}", size(report.bytes), size(packed)),
        None => size(report.bytes),
    };
    let to = packed.map(|(to, _)| format!(" to {}", visible(&to.to_string_lossy()))).unwrap_or_default();
    note(format_args!("exported {}{to}: {}, {bytes}", found.id, plural(report.files, "file")));
    if options.redact {
        let history = found.files.iter().filter(|file| file.role == FileRole::FileHistory).count();
        note(format_args!(
            "secrets hidden in {}; look before you share: hopty misses unknown shapes, and secrets that an \
             image shows",
            plural(usize::try_from(report.redacted).unwrap_or(usize::MAX), "line"),
        ));
        if history > 0 {
            note(format_args!("left out: {} of its file history", plural(history, "file")));
        }
    }
    let is_history = |path: &PathBuf| {
        found.files.iter().any(|file| file.role == FileRole::FileHistory && file.path == *path)
    };
    for path in report.skipped.iter().filter(|path| !options.redact || !is_history(path)) {
        note(format_args!("left out (not a regular file of yours): {}", visible(&path.to_string_lossy())));
    }
}

/// Writes a new file, reads it back, and gives it its name. Returns its length in bytes.
fn to_file(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut File>) -> Result<ExportReport, TransferError>,
) -> Result<(ExportReport, u64), TransferError> {
    let exists = || TransferError::Exists(path.to_owned());
    if path.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    atomic::sweep_older(dir, atomic::LEFT_OVER);
    let mut temp = atomic::temporary_in(dir)?;
    let mut out = BufWriter::new(temp.as_file_mut());
    let report = fill(&mut out)?;
    out.flush().map_err(FsError::io("write", path))?;
    drop(out);
    temp.as_file().sync_all().map_err(FsError::io("sync", path))?;
    let again = temp.reopen().map_err(FsError::io("open", path))?;
    let packed = again.metadata().map_err(FsError::io("look at", path))?.len();
    PackageReader::open(again, &PackageLimits::default())?.verify()?;
    atomic::persist_new(temp, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(),
        _ => FsError::io("rename to", path)(error).into(),
    })?;
    atomic::sync_dir(dir)?;
    Ok((report, packed))
}
