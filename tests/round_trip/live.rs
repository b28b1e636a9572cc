//! A program in a session, whose terminal goes away and comes back at state after state.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hopty::core::terminal::Size;
use serde_json::{Value, json};

use super::judge::{Picture, filled, is_in_frame, picture, shown};
use super::outer::{Answers, Outer};
use super::support::claude::hopty;
use super::support::wait::wait_within;
use super::support::wait_for;
use super::support::world::World;

/// How long two pictures may take to become one before that is a difference.
const DEADLINE: Duration = Duration::from_secs(20);

/// How long to look at a picture before the host is asked once more.
const MOMENT: Duration = Duration::from_secs(1);

/// How often a program may draw just when its terminal comes back.
const TRIES: usize = 5;

/// What a terminal was sent, and its size.
pub type Recording = (Vec<u8>, (u16, u16));

/// A session and the terminal at it.
pub struct Live<'w> {
    pub world: &'w World,
    outer: Option<Outer>,
    size: (u16, u16),
    name: String,
    /// Whether the rows above the screen are compared, too.
    above: bool,
    states: usize,
    wrong: Vec<String>,
    recordings: Vec<Recording>,
}

/// A world without a Claude.
pub fn world() -> World {
    let mut world = World::plain();
    world.set("HOPTY_TERMINAL_PREFIX", "");
    world
}

fn pixels((cols, rows): (u16, u16)) -> Size {
    Size { cols, rows, xpixel: cols * 8, ypixel: rows * 17 }
}

impl<'w> Live<'w> {
    /// Starts `hopty WORDS` in a terminal of 80x24.
    pub fn start(world: &'w World, name: &str, words: &[&str]) -> Live<'w> {
        let size = (80, 24);
        let words: Vec<String> = std::iter::once(hopty().display().to_string())
            .chain(words.iter().map(|w| (*w).to_owned()))
            .collect();
        let outer = Some(Outer::start(&words, &world.env, &world.project, pixels(size), Answers::Emulator));
        Live {
            world,
            outer,
            size,
            name: name.to_owned(),
            above: false,
            states: 0,
            wrong: Vec::new(),
            recordings: Vec::new(),
        }
    }

    /// Starts a line of shell, whose programs are children of the session's program and can be held still.
    pub fn shell(world: &'w World, name: &str, line: &str) -> Live<'w> {
        Live::start(world, name, &["run", "--", "sh", "-c", &format!("{line}; exit $?")])
    }

    /// Compares the rows above the screen, too: for what clears no screen, because alacritty then keeps what
    /// stood there.
    pub fn with_rows_above(mut self) -> Self {
        self.above = true;
        self
    }

    /// The terminal.
    pub fn outer(&self) -> &Outer {
        self.outer.as_ref().unwrap()
    }

    /// Types, and waits for a text.
    pub fn type_for(&self, keys: &str, text: &str) {
        self.outer().send(keys.as_bytes());
        self.outer().wait_text(text);
    }

    /// One state: the terminal goes away, another one of the same size comes, and shows the same. The program
    /// is held still.
    pub fn state(&mut self, what: &str) {
        self.outer().wait_quiet();
        self.state_in_motion(what);
    }

    /// The same of a program that never comes to rest by itself.
    pub fn state_in_motion(&mut self, what: &str) {
        let held = wait_for("a complete frame", || {
            let held = self.hold();
            // Of a frame that is not complete, the terminal shows nothing yet.
            let complete = self.meets(MOMENT).is_ok() || !is_in_frame(&self.outer().bytes());
            if !complete {
                signal(&held, nix::libc::SIGCONT);
            }
            complete.then_some(held)
        });
        let difference = self.there_and_back(what);
        self.wrong.extend(difference.map(|difference| format!("{}, {what}: {difference}", self.name)));
        self.states += 1;
        signal(&held, nix::libc::SIGCONT);
    }

    /// The same of a program that rests but for a word now and then, and draws itself anew wherever it was
    /// held: if it draws meanwhile, once more.
    pub fn state_at_rest(&mut self, what: &str) {
        self.outer().wait_quiet();
        let difference = (0..TRIES).map_while(|_| self.there_and_back(what)).collect::<Vec<_>>();
        if difference.len() == TRIES {
            self.wrong.push(format!("{}, {what}: {}", self.name, difference[0]));
        }
        self.states += 1;
    }

    /// What is not the same when the terminal has gone and another one has come.
    fn there_and_back(&mut self, what: &str) -> Option<String> {
        let before = self.agreed(what);
        let above = filled(&self.outer().view());
        self.come_back(self.size);
        let rows = self.size.1;
        self.outer().sees(MOMENT, |view| picture(view.clone(), rows) == before);
        // What the host thinks has not changed by that, and nothing comes behind it.
        let after = self.agreed(what);
        let again = filled(&self.outer().view());
        let rows_above =
            (self.above && above != again).then(|| format!("the rows above: {above:#?}\nare {again:#?}"));
        before.difference(&after).or(rows_above)
    }

    /// Another terminal comes, of another size; the program may draw itself anew.
    pub fn move_to(&mut self, size: (u16, u16)) {
        self.come_back(size);
        wait_for("the new size", || {
            (self.world.status()["size"] == json!({"cols": size.0, "rows": size.1})).then_some(())
        });
    }

    /// Takes the terminal away, by `hopty detach` or by its end, in turns, and gives the session another one.
    fn come_back(&mut self, size: (u16, u16)) {
        let mut old = self.outer.take().unwrap();
        self.recordings.push((old.bytes(), self.size));
        if self.states.is_multiple_of(2) {
            self.world.ask(&["detach"]);
            assert_eq!(old.finish().0, 0);
        }
        drop(old);
        wait_for("the client to be gone", || (self.world.status()["clients"] == json!([])).then_some(()));
        self.outer = Some(attach(self.world, size));
        self.size = size;
    }

    /// The picture in the terminal, when it is the one that the host would give: all is here that the program
    /// wrote.
    fn agreed(&self, what: &str) -> Picture {
        let met = self.meets(DEADLINE);
        met.unwrap_or_else(|difference| {
            panic!("{}, {what}: the terminal and the host never agree: {difference}", self.name)
        })
    }

    fn meets(&self, limit: Duration) -> Result<Picture, String> {
        let rows = self.size.1;
        let mut last = None;
        let met = wait_within(limit, || {
            // When the second answer was given, what the program had written was read.
            let (first, second) = (ask_screen(self.world), ask_screen(self.world));
            let host = picture(shown(second["dump"].as_str().unwrap().as_bytes(), self.size).view(), rows);
            let met =
                first == second && self.outer().sees(MOMENT, |view| picture(view.clone(), rows) == host);
            last = picture(self.outer().view(), rows).difference(&host);
            met.then_some(host)
        });
        met.ok_or_else(|| last.unwrap_or_default())
    }

    /// Holds everything still that the session's program has started.
    fn hold(&self) -> Vec<i32> {
        let root = i32::try_from(self.world.status()["pid"].as_i64().unwrap()).unwrap();
        let mut held = Vec::new();
        loop {
            let mut found = vec![root];
            let mut at = 0;
            while let Some(parent) = found.get(at) {
                found.extend(children(*parent));
                at += 1;
            }
            found.retain(|pid| *pid != root && !held.contains(pid));
            if found.is_empty() {
                return held;
            }
            // One that runs may start another meanwhile.
            signal(&found, nix::libc::SIGSTOP);
            held.extend(found);
        }
    }

    /// Ends the session, and gives the states, what differed, and the recordings.
    pub fn end(mut self) -> (usize, Vec<String>, Vec<Recording>) {
        let old = self.outer.take().unwrap();
        self.world.ask(&["stop", "proj", "--kill"]);
        self.recordings.push((old.bytes(), self.size));
        drop(old);
        self.world.assert_nothing_left();
        (self.states, self.wrong, self.recordings)
    }
}

/// To processes of which some may have ended.
fn signal(pids: &[i32], signal: i32) {
    for pid in pids {
        // SAFETY: kill takes two numbers.
        let _ = unsafe { nix::libc::kill(*pid, signal) };
    }
}

fn attach(world: &World, size: (u16, u16)) -> Outer {
    let words = [hopty().display().to_string(), "attach".to_owned()];
    Outer::start(&words, &world.env, &world.project, pixels(size), Answers::Emulator)
}

fn children(parent: i32) -> Vec<i32> {
    let read =
        |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
    tasks
        .flatten()
        .flat_map(|task| read(task).split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The answer to the request, as any script gets it.
fn ask_screen(world: &World) -> Value {
    let mut socket = UnixStream::connect(world.state_dir().join("run/proj.sock")).unwrap();
    socket.write_all(b"{\"hopty\":1}\n{\"id\":1,\"do\":\"screen\"}\n").unwrap();
    let mut lines = BufReader::new(socket).lines();
    lines.next().unwrap().unwrap();
    serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["ok"].clone()
}
