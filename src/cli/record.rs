//! `hopty record` and `hopty mark`: recordings of sessions as asciicasts.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{RecordOptions, RunOptions};
use super::control::ANSWER;
use super::control::{HostControl, Rule, live_session, paths};
use super::error::{VerbError, note, say, say_wrapped, visible};
use super::exit_codes::{FAILED, REFUSED, USAGE};
use super::run;
use crate::client::start::Forked;
use crate::core::cast::CastReader;
use crate::fs::cast_file::{CastFile, CastFileError, CastOpening};
use crate::fs::session;
use crate::ipc::answers::RecordAnswer;
use crate::ipc::message::{Record, Request};
use crate::recording::cut::cut_cast;
use crate::recording::play_position::micros;
use crate::recording::redacted_cast::redacted_cast;
use crate::sys::safe_file::{self, FileRule};

/// Bytes of a file that are read at once.
const PIECE: usize = 1 << 18;

/// The smallest file limit, in bytes: a screen fits.
const SIZE_MIN: u64 = 64 << 10;

pub(super) fn record(options: RecordOptions, host: Option<io::Result<Forked>>) -> Result<u8, VerbError> {
    if let [out, from] = options.redact.as_slice() {
        return redact(out, from, options.overwrite, options.json);
    }
    if let Some(tape) = &options.tape {
        return super::record_tape::record_tape(tape, &options.program, options.overwrite);
    }
    if let Some(output) = &options.output {
        is_recording(output)?;
    }
    if let (Some(last_us), Some(output)) = (options.last, &options.output) {
        return last(options.name.as_deref(), last_us, output, &options);
    }
    let order = Record {
        file: options.output.as_deref().map(absolute).transpose()?,
        input: options.input,
        append: options.append,
        overwrite: options.overwrite,
        max_bytes: options.max_size,
        stop: options.stop,
    };
    if options.program.is_empty() {
        return session(options.name.as_deref(), order, options.json);
    }
    let options = RunOptions {
        restored: false,
        before: None,
        name: options.name,
        labels: Vec::new(),
        detached: options.detached,
        max_restarts: None,
        no_inject: false,
        program: options.program,
    };
    run::program(options, Some(order), host.unwrap_or_else(Forked::new))
}

/// Refuses the name of a picture or a page: the file is an asciicast.
fn is_recording(output: &Path) -> Result<(), VerbError> {
    const MADE: [&str; 8] = ["gif", "svg", "html", "htm", "png", "mp4", "webm", "ansi"];
    let extension = output.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if !MADE.contains(&extension.as_str()) {
        return Ok(());
    }
    let name = visible(&output.to_string_lossy());
    let cast = visible(&output.with_extension("cast").to_string_lossy());
    let hint = format!("record to {cast}; `hopty play` writes .svg, .html and, with agg, .gif from it");
    Err(VerbError::new(USAGE, format!("{name}: a recording is an asciicast, which .{extension} is not"))
        .hint(hint))
}

/// Records a running session.
fn session(given: Option<&str>, order: Record, as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let name = live_session(&paths, given, Rule::Any)?;
    let stop = order.stop;
    let mut control = HostControl::connect(&paths, &name, Some(ANSWER))?;
    let done: RecordAnswer = control.ask(&Request::Record(order))?;
    let file = visible(&done.file);
    if as_json {
        say(format_args!("{}", json!(done)))?;
    } else if stop {
        let (bytes, ms) = (done.bytes.unwrap_or(0), done.duration_ms.unwrap_or(0));
        say_wrapped(format_args!("recorded {name} for {} s to {file} ({bytes} bytes)", ms / 1000))?;
    } else {
        say_wrapped(format_args!("recording {name} to {file}; `hopty record {name} --stop` ends it"))?;
    }
    Ok(0)
}

/// Writes the last part of a session's recording as a recording of its own.
fn last(given: Option<&str>, last_us: u64, output: &Path, options: &RecordOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let name = match given {
        Some(given) => super::control::parse_session_name(given)?,
        None => live_session(&paths, None, Rule::Any)?,
    };
    let refused = |what: String, hint: String| VerbError::new(REFUSED, what).about(&name).hint(hint);
    let running = crate::fs::session::status(&paths.session(&name)).ok().flatten();
    let running = running.and_then(|status| status.recording).map(|recording| PathBuf::from(recording.file));
    // The status in the session's file may name a recording that has just been replaced by the next.
    let own = super::play::newest_recording(&[paths.session(&name).join(session::RECORDINGS)]);
    let written = |file: &PathBuf| std::fs::metadata(file).and_then(|meta| meta.modified()).ok();
    let from = running.into_iter().chain(own).filter(|file| file.exists()).max_by_key(written);
    let Some(from) = from else {
        let hint =
            format!("`hopty record {name}` starts a recording, and `record.auto` records every session");
        return Err(refused("there is no recording of it".to_owned(), hint));
    };
    let timeline = super::play::load(&from).map_err(|failed| failed.about(from.display()))?;
    let end = timeline.duration_us();
    let part = cut_cast(&timeline, end.saturating_sub(last_us), end);
    let opening = if options.overwrite { CastOpening::Overwrite } else { CastOpening::New };
    let mut file = CastFile::open(output, opening, u64::MAX)
        .map_err(|error| refused(error.to_string(), error.hint()))?;
    file.write(&part).map_err(|error| refused(error.to_string(), "check the disk".to_owned()))?;
    let bytes = file.bytes();
    if options.json {
        say(format_args!("{}", json!({"file": output.to_string_lossy(), "bytes": bytes})))?;
    } else {
        say_wrapped(format_args!("wrote {} ({bytes} bytes)", visible(&output.to_string_lossy())))?;
    }
    Ok(0)
}

pub(super) fn last_part(text: &str) -> Result<u64, String> {
    micros(text).filter(|time| *time > 0).ok_or_else(|| "write a time such as 30s, 10m or 1:20".to_owned())
}

/// An absolute path: the host has another working directory.
fn absolute(path: &Path) -> Result<String, VerbError> {
    let whole = std::path::absolute(path)?;
    whole.into_os_string().into_string().map_err(|path| {
        VerbError::new(USAGE, "the file's name is not UTF-8")
            .about(PathBuf::from(path).display())
            .hint("rename it")
    })
}

/// `hopty record --redact OUT IN`.
fn redact(out: &Path, from: &Path, overwrite: bool, as_json: bool) -> Result<u8, VerbError> {
    let about = |error: &dyn std::fmt::Display, path: &Path| {
        VerbError::new(FAILED, error.to_string())
            .about(path.display())
            .hint("check the path and its permissions")
    };
    let rule = FileRule::of_claude(u64::MAX);
    let file = safe_file::open(from, rule).map_err(|error| about(&error, from))?;
    let mut file = file.ok_or_else(|| about(&"no such file", from))?;
    let mut reader = CastReader::new();
    let mut piece = vec![0; PIECE];
    let mut events = Vec::new();
    let mut torn = None;
    loop {
        let length = file.read(&mut piece).map_err(|error| about(&error, from))?;
        reader.push(&piece[..length]);
        if length == 0 {
            reader.finish();
        }
        while let Some(next) = reader.next() {
            match next {
                Ok(event) => events.push(event),
                Err(error) => torn = Some(error),
            }
        }
        if length == 0 {
            break;
        }
    }
    let Some(header) = reader.header() else {
        let why = torn.map_or_else(|| "it is empty".to_owned(), |error| error.to_string());
        return Err(VerbError::new(FAILED, why).about(from.display()).hint("name an asciicast file"));
    };
    let opening = if overwrite { CastOpening::Overwrite } else { CastOpening::New };
    let refused = |error: CastFileError| {
        let hint = match &error {
            CastFileError::Exists(_) => "use --overwrite to replace it, or another file".to_owned(),
            error => error.hint(),
        };
        VerbError::new(FAILED, error.to_string()).hint(hint)
    };
    let lines = redacted_cast(header, &events);
    let mut written = CastFile::open(out, opening, u64::MAX).map_err(refused)?;
    written.write(&lines).map_err(|error| about(&error, out))?;
    if let Some(error) = torn {
        let name = visible(&from.to_string_lossy());
        note(format_args!("hopty: {name}: {error}; hopty wrote what comes before it"));
    }
    if as_json {
        say(format_args!("{}", json!({"file": out.to_string_lossy(), "bytes": written.bytes()})))?;
    }
    Ok(0)
}

pub(super) fn mark(words: &[String], as_json: bool) -> Result<u8, VerbError> {
    let (given, label) = match words {
        [label] => (None, label),
        [name, label] => (Some(name.as_str()), label),
        _ => return Err(VerbError::new(USAGE, "give the marker's text").hint("`hopty mark NAME TEXT`")),
    };
    let paths = paths()?;
    let name = live_session(&paths, given, Rule::Any)?;
    let request = Request::Mark { label: label.clone() };
    let done: RecordAnswer = HostControl::connect(&paths, &name, Some(ANSWER))?.ask(&request)?;
    if as_json {
        say(format_args!("{}", json!(done)))?;
    }
    Ok(0)
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((end, unit)) if unit.is_ascii_alphabetic() => (&text[..end], unit.to_ascii_uppercase()),
        _ => (text, 'B'),
    };
    let shift = match unit {
        'B' => 0,
        'K' => 10,
        'M' => 20,
        'G' => 30,
        _ => return Err("a size is a number with K, M or G, such as 20M".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "a size is a number with K, M or G, such as 20M")?;
    let bytes = number.checked_mul(1 << shift).ok_or("that is larger than any disk")?;
    if bytes < SIZE_MIN {
        return Err(format!("the smallest is {}K", SIZE_MIN >> 10));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, wanted) in [("65536", 65_536), ("64k", 65_536), ("20M", 20 << 20), ("2G", 2 << 30)] {
            assert_eq!(size(text), Ok(wanted));
        }
        for text in ["", "M", "1", "63K", "-1M", "2T", "1.5G", "99999999999G", "20MB", "漢"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_is_absolute_for_the_host() {
        assert_eq!(absolute(Path::new("/a/b.cast")).unwrap(), "/a/b.cast");
        let here = std::env::current_dir().unwrap().join("b.cast");
        assert_eq!(Path::new(&absolute(Path::new("b.cast")).unwrap()), here);
    }
}
