//! `hopty play`: plays a recording, prints one screen of it, or converts it.

use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use clap::Args;

use super::control::paths;
use super::error::{VerbError, broken_page, note, say_wrapped, stdout, visible, working_dir};
use super::exit_codes::{FAILED, INTERNAL, NOT_FOUND, USAGE};
use crate::core::process_change::Signal;
use crate::core::text::shell_word::shell_word;
use crate::fs::session;
use crate::recording::cut::cut_cast;
use crate::recording::html::{TracePage, cast_of_page, has_cast, page};
use crate::recording::moment::Moment;
use crate::recording::play_position::{ClockTime, PlayPosition, micros};
use crate::recording::play_time::PlayTime;
use crate::recording::player::{self, PlayerEnd, PlayerOptions};
use crate::recording::svg::{AnimationRange, FILM_BYTES_MAX, animated_svg, theme_of};
use crate::recording::timeline::{Timeline, TimelineLoader};
use crate::recording::version_2::version_2;
use crate::screen::PictureLines;
use crate::sys::program_search::command_outside_of_projects;
use crate::sys::safe_file::{self, FileRule, WriteMode};
use crate::tty::can_draw;

/// Bytes of a file that are read at once.
const PIECE: usize = 1 << 20;
/// The largest HTML page that is read, in bytes.
const PAGE_MAX: usize = 2 << 30;
/// How far into a page its recording begins at the latest, in bytes.
const PAGE_HEAD: u64 = 1 << 20;
/// How much is read after its last piece, in bytes: more than the mark of its end has.
const PAGE_END: u64 = 256;
/// The default idle limit of pictures, in µs.
const PICTURE_IDLE_US: u64 = 2_000_000;
/// The hint when the player fails.
const HINT: &str = "`hopty play FILE -o FILE.txt` writes its last screen without the player";
/// The file formats of `-o`.
const FORMS: &str = "write to a file that ends in .svg, .html, .txt, .ansi, .cast or .gif";

#[derive(Debug, Args)]
pub(super) struct PlayRecordingOptions {
    /// The recording: an asciicast, or a page that hopty made of one; `-` reads standard input
    #[arg(required_unless_present = "last", conflicts_with = "last", value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// The newest recording of this directory: of its sessions, or a .cast file in it
    #[arg(long)]
    pub last: bool,
    /// With --last: the newest of all sessions
    #[arg(long, requires = "last")]
    pub all: bool,
    /// How fast to play, such as 0.5 or 4
    #[arg(long, default_value_t = 1.0, value_parser = speed, value_name = "N")]
    pub speed: f64,
    /// Cut pauses to this, such as 2s; `off` keeps them; the recording sets the default
    #[arg(long, visible_alias = "idle-limit", value_parser = idle, value_name = "TIME")]
    pub idle: Option<IdleLimit>,
    /// Begin here: a time (80, 1:20), a share (50%), marker:LABEL or /TEXT/
    #[arg(long, value_name = "WHERE")]
    pub from: Option<PlayPosition>,
    /// End here
    #[arg(long, value_name = "WHERE")]
    pub to: Option<PlayPosition>,
    /// Begin paused: `.` and `,` step through the frames
    #[arg(long)]
    pub step: bool,
    /// Begin again at the end
    #[arg(long = "loop")]
    pub looped: bool,
    /// Write the recorded output straight to this terminal
    #[arg(long)]
    pub raw: bool,
    /// Print a screen as text: the one at --at, or the last one
    #[arg(long, conflicts_with_all = ["output", "raw"])]
    pub text: bool,
    /// The screen to print, or to write as .svg, .txt or .ansi
    #[arg(long, value_name = "WHERE")]
    pub at: Option<PlayPosition>,
    /// Convert to this file: .svg, .html, .txt, .ansi, .cast, or .gif where agg is installed
    #[arg(long, short, value_name = "FILE", conflicts_with = "raw")]
    pub output: Option<PathBuf>,
    /// With --output: replace a file that exists
    #[arg(long, requires = "output")]
    pub overwrite: bool,
}

/// The longest pause in the output.
#[derive(Clone, Copy, Debug)]
pub(super) enum IdleLimit {
    /// Pauses stay as they are.
    Off,
    /// In µs.
    Micros(u64),
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.125..=64.0).contains(&speed) { Ok(speed) } else { Err("from 0.125 to 64".to_owned()) }
}

fn idle(text: &str) -> Result<IdleLimit, String> {
    match (text, micros(text)) {
        ("off", _) | (_, Some(0)) => Ok(IdleLimit::Off),
        (_, Some(limit)) => Ok(IdleLimit::Micros(limit)),
        _ => Err("write a time such as 2s, or off".to_owned()),
    }
}

struct PlayRange {
    time: PlayTime,
    idle_us: Option<u64>,
    from_us: u64,
    to_us: u64,
}

pub(super) fn play(options: &PlayRecordingOptions) -> Result<u8, VerbError> {
    let file = match &options.file {
        Some(file) => file.clone(),
        None => last_recording(options.all)?,
    };
    let name = visible(&file.to_string_lossy());
    if options.last {
        note(format_args!("hopty: the newest recording is {name}"));
    }
    let timeline = load(&file).map_err(|failed| failed.about(&name))?;
    if timeline.header().has_no_size {
        note(format_args!("hopty: play: {name}: it says 0x0 for the size of the terminal; 80x24 is used"));
    }
    let done = show(options, &file, &timeline).map_err(|failed| failed.about(&name))?;
    let Some(damage) = timeline.damage() else { return Ok(done) };
    note(format_args!("hopty: play: {name}: damaged, played up to {damage}", damage = visible(damage)));
    Ok(done.max(1))
}

fn show(options: &PlayRecordingOptions, file: &Path, timeline: &Timeline) -> Result<u8, VerbError> {
    let range = range(options, timeline)?;
    let at = match &options.at {
        Some(at) => Some(find(at, timeline, &range.time)?),
        None => None,
    };
    if let Some(output) = &options.output {
        may_write(file, output, options.overwrite)?;
        return convert(file, timeline, &range, at, output);
    }
    if options.text || at.is_some() || !can_draw() || !io::stdout().is_terminal() || !take_keys(file) {
        let text = screen_at(timeline, at.unwrap_or(range.to_us)).screen().text(PictureLines::Screen);
        stdout()?.write_all(text.as_bytes())?;
        return Ok(0);
    }
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.filter(|stem| stem != "-").unwrap_or_else(|| "recording".to_owned());
    let how = PlayerOptions {
        speed: options.speed,
        idle_us: range.idle_us,
        from_us: range.from_us,
        to_us: range.to_us,
        paused: options.step,
        looped: options.looped,
        raw: options.raw,
    };
    match catch_unwind(AssertUnwindSafe(|| player::run(timeline, how, &stem))) {
        Ok(Ok(PlayerEnd::Quit)) => Ok(0),
        Ok(Ok(PlayerEnd::Signal(signal))) => Ok(Signal(signal).exit_code()),
        Ok(Err(error)) => Err(broken_page(&error.to_string()).hint(HINT)),
        Err(_) => Err(broken_page("it failed").hint(HINT)),
    }
}

pub(super) fn load(path: &Path) -> Result<Timeline, VerbError> {
    let unreadable = |error: io::Error| {
        VerbError::new(USAGE, format!("it cannot be read: {error}"))
            .hint("give the path of an asciicast, or - for standard input")
    };
    let mut input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(open(path)?.map_err(unreadable)?)
    };
    let mut loader = TimelineLoader::default();
    let mut piece = Vec::new();
    let mut first = true;
    loop {
        piece.clear();
        input.by_ref().take(PIECE as u64).read_to_end(&mut piece).map_err(unreadable)?;
        if std::mem::take(&mut first) && piece.starts_with(b"<!doctype html>") {
            input.by_ref().take(PAGE_HEAD).read_to_end(&mut piece).map_err(unreadable)?;
            let mut goes_on = has_cast(&piece);
            while goes_on && piece.len() < PAGE_MAX {
                let from = piece.len();
                input.by_ref().take(PIECE as u64).read_to_end(&mut piece).map_err(unreadable)?;
                // Neither byte is in a recording: the first ends it, the second fills a sparse file.
                goes_on = piece.len() > from && memchr::memchr2(b'<', 0, &piece[from..]).is_none();
            }
            // The rest of the end.
            input.take(PAGE_END).read_to_end(&mut piece).map_err(unreadable)?;
            let cast = cast_of_page(&piece).ok_or_else(|| {
                VerbError::new(USAGE, "the page has no recording in it")
                    .hint("give an asciicast, or a page that `hopty play -o` made")
            })?;
            loader.push(&cast);
            break;
        }
        if piece.is_empty() || !loader.push(&piece) {
            break;
        }
    }
    loader.finish().map_err(|error| {
        VerbError::new(USAGE, error.to_string())
            .hint("`hopty play` reads asciicast 1, 2 and 3, and pages that it made")
    })
}

/// Opens a recording. A FIFO with a name may have no writer, and a device no end; a process substitution of a
/// shell has both.
fn open(path: &Path) -> Result<io::Result<File>, VerbError> {
    use std::os::unix::fs::FileTypeExt;
    let kind = std::fs::metadata(path).map(|meta| meta.file_type()).ok();
    let from_shell = ["/dev/fd", "/dev/stdin", "/proc/self/fd"].iter().any(|dir| path.starts_with(dir));
    let found = match kind {
        Some(kind) if kind.is_fifo() && !from_shell => "a FIFO",
        Some(kind) if kind.is_block_device() || kind.is_char_device() => "a device",
        _ => return Ok(File::open(path)),
    };
    Err(VerbError::new(2, format!("it is {found}, not a recording"))
        .hint("give the path of an asciicast, or - for standard input"))
}

/// The newest recording in these directories.
pub(super) fn newest_recording(dirs: &[PathBuf]) -> Option<PathBuf> {
    let files = dirs.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    files
        .filter(|entry| extension(&entry.path()) == "cast")
        .filter_map(|entry| Some((entry.metadata().ok().filter(Metadata::is_file)?, entry.path())))
        .filter_map(|(meta, path)| Some((meta.modified().ok()?, path)))
        .max()
        .map(|(_, path)| path)
}

/// The newest recording of this directory's sessions or in this directory, or of all sessions.
fn last_recording(all: bool) -> Result<PathBuf, VerbError> {
    let paths = paths()?;
    let here = working_dir()?;
    let real = |dir: &Path| dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let is_here = |dir: &Path| session::working_dir(dir).is_some_and(|dir| real(&dir) == real(&here));
    let sessions = session::list(&paths).into_iter().map(|listed| paths.session(&listed.name));
    let (mut dirs, others): (Vec<PathBuf>, Vec<PathBuf>) = sessions.partition(|dir| all || is_here(dir));
    dirs.iter_mut().for_each(|dir| dir.push(session::RECORDINGS));
    dirs.push(here.clone());
    let newest = newest_recording(&dirs)
        .map(|path| path.strip_prefix(&here).map_or_else(|_| path.clone(), Path::to_owned));
    newest.ok_or_else(|| {
        let which = if all { "there is no recording" } else { "there is no recording of this directory" };
        let elsewhere: Vec<PathBuf> = others.iter().map(|dir| dir.join(session::RECORDINGS)).collect();
        VerbError::new(NOT_FOUND, which).hint(match newest_recording(&elsewhere) {
            Some(path) => {
                let path = visible(&path.to_string_lossy());
                format!("the newest one of all is {path}: `hopty play --last --all` plays it")
            }
            None => "`hopty record` makes one, and `record.auto` records every session".to_owned(),
        })
    })
}

fn find(position: &PlayPosition, timeline: &Timeline, time: &PlayTime) -> Result<u64, VerbError> {
    position.find(timeline, time).map_err(|error| {
        let markers: Vec<&str> = timeline.markers().map(|(_, label)| label).take(10).collect();
        let failed = VerbError::new(USAGE, visible(&error.to_string()));
        match position {
            PlayPosition::Marker(_) if markers.is_empty() => failed.hint("the recording has no markers"),
            PlayPosition::Marker(_) => failed.hint(format!("markers: {}", visible(&markers.join(", ")))),
            _ => failed,
        }
    })
}

fn range(options: &PlayRecordingOptions, timeline: &Timeline) -> Result<PlayRange, VerbError> {
    let picture = options.output.as_deref().is_some_and(|path| extension(path) == "svg");
    let recorded = timeline.header().idle_time_limit.map(|limit| (limit * 1e6) as u64);
    let idle_us = match options.idle {
        Some(IdleLimit::Off) => None,
        Some(IdleLimit::Micros(limit)) => Some(limit),
        None => recorded.or(picture.then_some(PICTURE_IDLE_US)),
    };
    let time = PlayTime::new(timeline, idle_us);
    let place = |position: &Option<PlayPosition>, otherwise| match position {
        Some(position) => find(position, timeline, &time),
        None => Ok(otherwise),
    };
    let (from_us, to_us) = (place(&options.from, 0)?, place(&options.to, timeline.duration_us())?);
    if from_us > to_us {
        let hint = format!("--from is at {}, --to at {}", ClockTime(from_us), ClockTime(to_us));
        return Err(VerbError::new(USAGE, "--to is before --from").hint(hint));
    }
    Ok(PlayRange { time, idle_us, from_us, to_us })
}

fn screen_at(timeline: &Timeline, at_us: u64) -> Moment<'_> {
    let mut moment = Moment::new(timeline);
    moment.seek(at_us);
    moment
}

/// Makes the terminal standard input if the recording came through it; `false` without a terminal.
fn take_keys(file: &Path) -> bool {
    if io::stdin().is_terminal() {
        return file != Path::new("-");
    }
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    terminal.is_ok_and(|terminal| nix::unistd::dup2_stdin(&terminal).is_ok())
}

fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}

fn convert(
    file: &Path,
    timeline: &Timeline,
    range: &PlayRange,
    at: Option<u64>,
    output: &Path,
) -> Result<u8, VerbError> {
    let PlayRange { from_us, to_us, .. } = range;
    let still = || screen_at(timeline, at.unwrap_or(*to_us));
    let part = || cut_cast(timeline, *from_us, *to_us);
    let bytes = match extension(output).as_str() {
        "svg" if at.is_some() => {
            still().screen().themed_svg(PictureLines::Screen, &theme_of(timeline)).into_bytes()
        }
        "svg" => film(timeline, range)?,
        "txt" => still().screen().text(PictureLines::Screen).into_bytes(),
        "ansi" => still().screen().ansi(PictureLines::Screen).into_bytes(),
        "cast" => part(),
        "html" | "htm" => {
            let header = timeline.header();
            let title = header.title.clone().or_else(|| header.command.clone());
            let title =
                title.unwrap_or_else(|| file.file_name().unwrap_or_default().to_string_lossy().into_owned());
            page(&TracePage { title, cast: part(), ..TracePage::default() })
                .map_err(|error| VerbError::new(INTERNAL, error.to_string()).hint(FORMS))?
                .into_bytes()
        }
        "gif" => return gif(&part(), range.idle_us, output),
        other => {
            let what =
                if other.is_empty() { "a file without an extension".to_owned() } else { format!(".{other}") };
            return Err(VerbError::new(USAGE, format!("{} cannot be written", visible(&what))).hint(FORMS));
        }
    };
    write(output, &bytes)?;
    Ok(0)
}

/// Converts a recording with agg. If that fails, the recording is left beside the GIF for it, unless another
/// file has that name.
fn gif(cast: &[u8], idle_us: Option<u64>, output: &Path) -> Result<u8, VerbError> {
    let unwritable = |error: io::Error| unwritable(&output.with_extension("cast"), &error);
    let dir = output.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = |bytes: &[u8]| {
        let mut file = tempfile::Builder::new().prefix(".hopty-").suffix(".cast").tempfile_in(dir)?;
        file.write_all(bytes)?;
        Ok(file)
    };
    let input = temporary(&version_2(cast)).map_err(unwritable)?;
    // By default agg cuts pauses to 5 s.
    let limit = idle_us.map_or(1e9, |limit| limit as f64 / 1e6);
    let idle = format!("--idle-time-limit {limit} ");
    let is_new = !output.exists();
    let status = command_outside_of_projects("agg").and_then(|mut agg| {
        agg.args(idle.split_whitespace()).arg(input.path()).arg(output).stdin(Stdio::null()).status().ok()
    });
    if status.as_ref().is_some_and(ExitStatus::success) {
        return Ok(0);
    }
    if is_new {
        // agg left an incomplete GIF.
        let _ = std::fs::remove_file(output);
    }
    let kept = output.with_extension("cast");
    let kept = temporary(cast).map_err(unwritable)?.persist_noclobber(&kept).ok().map(|_| kept);
    let is_for_it = kept.as_ref().map_or(String::new(), |cast| format!("; {} is for it", cast.display()));
    let word = |path: &Path| shell_word(&path.to_string_lossy());
    let command = kept.map(|cast| format!("agg {idle}{} {}", word(&cast), word(output)));
    Err(match status {
        Some(status) => {
            let failed = VerbError::new(FAILED, format!("agg failed: {status}{is_for_it}"));
            command.into_iter().fold(failed, |failed, command| failed.hint(command))
        }
        None => {
            let message = format!("hopty needs agg for a GIF, and PATH has none{is_for_it}");
            let install = "install agg (https://github.com/asciinema/agg)";
            let or = command.map_or(String::new(), |command| format!(", or: {command}"));
            VerbError::new(FAILED, message).hint(format!("{install}{or}"))
        }
    })
}

fn film(timeline: &Timeline, range: &PlayRange) -> Result<Vec<u8>, VerbError> {
    let PlayRange { time, from_us, to_us, .. } = range;
    let film = animated_svg(timeline, AnimationRange { time, from_us: *from_us, to_us: *to_us });
    let kib = film.svg.len() / 1024;
    match film.fits_to_us {
        Some(fits) => note(format_args!(
            "hopty: play: {} frames, {kib} KiB: large for a page. `--to {}` keeps it below {} KiB",
            film.frames,
            ClockTime(fits),
            FILM_BYTES_MAX / 1024
        )),
        None => {
            say_wrapped(format_args!("{} frames, at most {} a second, {kib} KiB", film.frames, film.fps))?
        }
    }
    Ok(film.svg.into_bytes())
}

/// Whether the recording `file` may be converted to `path`: a new file, or with `overwrite` a regular one.
fn may_write(file: &Path, path: &Path, overwrite: bool) -> Result<(), VerbError> {
    let id = |path: &Path| std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    if id(path).is_some_and(|of_path| id(file) == Some(of_path)) {
        let hint = "choose another name; this would overwrite the recording";
        return Err(VerbError::new(USAGE, format!("{} is the recording itself", path.display())).hint(hint));
    }
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !overwrite {
        let hint = "use --overwrite to replace it, or another file";
        return Err(VerbError::new(FAILED, format!("{} exists", path.display())).hint(hint));
    }
    safe_file::check(path, &meta, FileRule::own(u64::MAX))
        .map_err(|error| VerbError::new(FAILED, error.to_string()).hint(error.hint()))
}

/// Writes a file that [`may_write`] allows. A file that has appeared meanwhile is an error or is replaced; a
/// link is never followed.
fn write(path: &Path, bytes: &[u8]) -> Result<(), VerbError> {
    let new = File::options().write(true).create_new(true).open(path);
    let file = match new {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            safe_file::open_to_write(path, WriteMode::Empty, FileRule::own(u64::MAX)).map_err(io::Error::from)
        }
        new => new,
    };
    file.and_then(|mut file| file.write_all(bytes)).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> VerbError {
    VerbError::new(FAILED, format!("{} cannot be written: {error}", path.display()))
        .hint("choose a file in a directory that you may write")
}
