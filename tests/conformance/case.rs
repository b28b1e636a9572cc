//! A case: the same program, the same steps, in identical terminals, without hopty and with it, and the
//! comparison.

use hopty::core::terminal::{Modes, Size};

use super::emulator::{Emulator, View};
use super::outer::{Answers, Outer};
use super::support::LIMIT;
use super::support::claude::hopty;
use super::support::wait::wait_within;
use super::support::world::World;

/// How a program is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Without hopty.
    Bare,
    /// By hopty, which is handed the terminal.
    Handed,
    /// By hopty, whose client relays the bytes.
    Relayed,
}

/// What is compared of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Every byte that reached the terminal, and what is compared else.
    Bytes,
    /// The same of a program that leaves things on: what follows with hopty only turns these off.
    Emitted,
    /// Pictures, modes, what the window was told, exit code, the terminal's own modes.
    Pictures,
}

/// What came of one run.
#[derive(Debug)]
pub struct Outcome {
    pub bytes: Vec<u8>,
    pub looks: Vec<Look>,
    pub code: i32,
    pub restored: bool,
    pub last: View,
}

/// What was seen at a moment: the picture, and the modes (termios) of the program's own terminal.
#[derive(Clone, Debug)]
pub struct Look {
    pub name: String,
    pub view: View,
    pub modes: Option<Modes>,
}

/// A program and how it is run.
pub struct Case<'w> {
    world: &'w World,
    words: Vec<String>,
    size: Size,
    compare: Compare,
    answers: Answers,
    ways: &'static [Way],
    mask: fn(&mut View),
    prepare: &'w dyn Fn(&World),
    claude: bool,
    /// A line for `sh` around it, with `@` for what stands before a program's name.
    around: Option<String>,
    /// A script in a file, with `@` as well.
    file: Option<(std::path::PathBuf, String)>,
    /// What hopty adds at the end.
    says: Option<&'static str>,
}

/// One run of a case, for its steps.
pub struct Stage<'c> {
    pub outer: Outer,
    pub way: Way,
    world: &'c World,
    mask: fn(&mut View),
    wanted: &'c [Look],
    looks: Vec<Look>,
}

/// A world without a Claude.
///
/// The prefix key is off: with it, one key is hopty's, and tests/clients is about that.
pub fn world() -> World {
    let mut world = World::plain();
    world.set("HOPTY_TERMINAL_PREFIX", "");
    world
}

impl<'w> Case<'w> {
    /// `words` in a terminal of 80x24, compared byte for byte, in all ways.
    pub fn new(world: &'w World, words: &[&str]) -> Case<'w> {
        Case {
            world,
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            size: Size { cols: 80, rows: 24, xpixel: 640, ypixel: 408 },
            compare: Compare::Bytes,
            answers: Answers::Emulator,
            ways: &[Way::Handed, Way::Relayed],
            mask: |_| (),
            prepare: &|_| (),
            claude: false,
            around: None,
            file: None,
            says: None,
        }
    }

    /// A shell script.
    pub fn script(world: &'w World, script: &str) -> Case<'w> {
        Case::new(world, &["sh", "-c", script])
    }

    /// A line for `sh`, in which `@` is nothing, or hopty in front of a program.
    pub fn around(world: &'w World, line: &str) -> Case<'w> {
        Case { around: Some(line.to_owned()), ways: &[Way::Handed], ..Case::new(world, &["sh", "-c", line]) }
    }

    /// The same, with a script in a file that the line starts.
    pub fn around_file(world: &'w World, file: &std::path::Path, script: &str, line: &str) -> Case<'w> {
        Case { file: Some((file.to_owned(), script.to_owned())), ..Case::around(world, line) }
    }

    /// The world's Claude with these arguments, in its drop-in form.
    pub fn claude(world: &'w World, args: &[String]) -> Case<'w> {
        let program =
            world.env.iter().find(|(name, _)| name == "HOPTY_PROGRAM_CLAUDE").unwrap().1.to_str().unwrap();
        let words: Vec<&str> = std::iter::once(program).chain(args.iter().map(String::as_str)).collect();
        Case { claude: true, compare: Compare::Pictures, ways: &[Way::Handed], ..Case::new(world, &words) }
    }

    pub fn size(mut self, size: Size) -> Self {
        self.size = size;
        self
    }

    /// Only what is seen is compared, because the bytes depend on timing: why, says the case.
    pub fn pictures(mut self) -> Self {
        self.compare = Compare::Pictures;
        self
    }

    /// It leaves things on at its end: see [`Compare::Emitted`].
    pub fn leaves_things_on(mut self) -> Self {
        self.compare = Compare::Emitted;
        self
    }

    /// hopty has a word to say at its end.
    pub fn says(mut self, line: &'static str) -> Self {
        self.says = Some(line);
        self
    }

    pub fn answers(mut self, answers: Answers) -> Self {
        self.answers = answers;
        self
    }

    /// Only handed over: for what has nothing to do with how bytes travel.
    pub fn handed(mut self) -> Self {
        self.ways = &[Way::Handed];
        self
    }

    /// Makes two pictures comparable where they differ by nature.
    pub fn mask(mut self, mask: fn(&mut View)) -> Self {
        self.mask = mask;
        self
    }

    /// Fills home and project, which are the same and empty before every run.
    pub fn prepare(mut self, prepare: &'w dyn Fn(&World)) -> Self {
        self.prepare = prepare;
        self
    }

    /// Runs it in every way and compares. Gives what came of the run without hopty.
    pub fn run(&self, steps: impl Fn(&mut Stage)) -> Outcome {
        let bare = self.once(Way::Bare, &[], &steps);
        for way in self.ways {
            let with = self.once(*way, &bare.looks, &steps);
            self.same(*way, &bare, &with);
        }
        bare
    }

    fn once(&self, way: Way, wanted: &[Look], steps: &impl Fn(&mut Stage)) -> Outcome {
        self.world.renew();
        (self.prepare)(self.world);
        let words = self.command(way);
        let outer = Outer::start(&words, &self.world.env, &self.world.project, self.size, self.answers);
        let mut stage = Stage { outer, way, world: self.world, mask: self.mask, wanted, looks: Vec::new() };
        steps(&mut stage);
        let Stage { mut outer, looks, .. } = stage;
        let (code, after) = outer.finish();
        let mut last = outer.view();
        (self.mask)(&mut last);
        self.world.assert_nothing_left();
        Outcome { bytes: outer.bytes(), looks, code, restored: after == outer.before, last }
    }

    fn command(&self, way: Way) -> Vec<String> {
        let hopty = hopty().display().to_string();
        if let Some(line) = &self.around {
            let before = if way == Way::Bare { String::new() } else { format!("'{hopty}' run --") };
            if let Some((file, script)) = &self.file {
                std::fs::write(file, script.replace('@', &before)).unwrap();
            }
            return ["sh", "-c", &line.replace('@', &before)].map(str::to_owned).to_vec();
        }
        let mut words: Vec<String> = match way {
            Way::Bare => Vec::new(),
            Way::Handed => vec![hopty],
            // `/dev/tty` means another terminal in the host, so it is not taken.
            Way::Relayed => {
                ["sh", "-c", "exec \"$@\" </dev/tty >/dev/tty", "sh", &hopty].map(str::to_owned).to_vec()
            }
        };
        if way != Way::Bare && !self.claude {
            words.extend(["run", "--"].map(str::to_owned));
        }
        let given = if way != Way::Bare && self.claude { &self.words[1..] } else { &self.words[..] };
        words.extend_from_slice(given);
        words
    }

    fn same(&self, way: Way, bare: &Outcome, with: &Outcome) {
        let about = format!("{way:?}: {}", self.words.join(" "));
        for (a, b) in bare.looks.iter().zip(&with.looks) {
            assert_eq!(a.modes, b.modes, "{about}: the modes of the program's terminal at {:?}", a.name);
        }
        assert_eq!(bare.code, with.code, "{about}: exit codes");
        assert!(with.restored, "{about}: termios afterwards");
        let bytes = match &self.says {
            None => &with.bytes[..],
            Some(line) => {
                with.bytes.strip_suffix(format!("{line}\r\n").as_bytes()).expect("hopty's line at the end")
            }
        };
        if self.says.is_some() {
            return same_bytes(&about, &bare.bytes, bytes);
        }
        assert!(
            bare.restored || self.compare == Compare::Emitted,
            "{about}: termios afterwards without hopty"
        );
        match self.compare {
            Compare::Pictures => {}
            Compare::Bytes => same_bytes(&about, &bare.bytes, &with.bytes),
            Compare::Emitted => {
                same_bytes(&about, &bare.bytes, &with.bytes[..bare.bytes.len().min(with.bytes.len())]);
                let fresh = Emulator::new(self.size.cols, self.size.rows).view();
                assert_eq!(
                    (&with.last.modes, &with.last.shape),
                    (&fresh.modes, &fresh.shape),
                    "{about}: what is on at the end"
                );
                return;
            }
        }
        assert!(
            bare.last == with.last,
            "{about}: the last picture differs\n{}",
            bare.last.difference(&with.last)
        );
    }
}

/// That two streams are equal; else the place where they part.
pub fn same_bytes(about: &str, bare: &[u8], with: &[u8]) {
    if bare == with {
        return;
    }
    let at = bare.iter().zip(with).take_while(|(a, b)| a == b).count();
    let part = |bytes: &[u8]| {
        String::from_utf8_lossy(&bytes[at.saturating_sub(60).min(bytes.len())..(at + 60).min(bytes.len())])
            .into_owned()
    };
    panic!(
        "{about}: bytes differ at {at} (bare {}, hopty {})\n  bare:  {:?}\n  hopty: {:?}",
        bare.len(),
        with.len(),
        part(bare),
        part(with)
    );
}

impl Stage<'_> {
    pub fn send(&self, keys: impl AsRef<[u8]>) {
        self.outer.send(keys.as_ref());
    }

    pub fn wait_text(&self, text: &str) {
        self.outer.wait_text(text);
    }

    /// The process that is the program.
    pub fn program(&self) -> i32 {
        if self.way == Way::Bare {
            return self.outer.pid();
        }
        super::support::wait_for("the program", || {
            let output = self.world.hopty(&["status", "--json"]);
            let status: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
            i32::try_from(status["pid"].as_i64()?).ok()
        })
    }

    /// The terminal that the program has.
    pub fn terminal(&self) -> std::fs::File {
        let path = std::fs::read_link(format!("/proc/{}/fd/0", self.program())).unwrap();
        let path = if path == std::path::Path::new("/dev/tty") { "/proc/self/fd/0".into() } else { path };
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            std::fs::File::options().read(true),
            nix::libc::O_NOCTTY,
        )
        .open(path)
        .unwrap()
    }

    /// Compares what is seen and the modes of the program's terminal.
    pub fn look(&mut self, name: &str) {
        self.picture(name);
        let read = || Some(hopty::tty::modes::read(&self.terminal()).unwrap());
        // Some programs change their terminal's modes for a moment while they draw.
        let wanted = self.wanted.get(self.looks.len() - 1).map(|look| look.modes.clone());
        let as_wanted = || wanted.as_ref().is_none_or(|wanted| *wanted == read()).then_some(());
        let _ = wait_within(LIMIT / 3, as_wanted);
        let modes = read();
        if let Some(last) = self.looks.last_mut() {
            last.modes = modes;
        }
    }

    /// Compares what is seen now: bare, when it has come to rest; with hopty, as soon as it is the same.
    pub fn picture(&mut self, name: &str) {
        let mask = self.mask;
        let masked = |view: &View| {
            let mut view = view.clone();
            mask(&mut view);
            view
        };
        if let Some(wanted) = self.wanted.get(self.looks.len()) {
            let met = self.outer.sees(LIMIT / 3, |view| masked(view) == wanted.view);
            let now = masked(&self.outer.view());
            assert!(
                met || now == wanted.view,
                "{:?} at {name:?}\n{}",
                self.way,
                wanted.view.difference(&now)
            );
        } else {
            self.outer.wait_quiet();
        }
        let view = masked(&self.outer.view());
        self.looks.push(Look { name: name.to_owned(), view, modes: None });
    }
}
