//! The player without a terminal: keys and time are the input, what to show is the output. Pure.

use crate::core::input::plain_keys::PlainKey;
use crate::recording::moment::Moment;
use crate::recording::play_position::ClockTime;
use crate::recording::play_time::PlayTime;
use crate::recording::timeline::Timeline;
use crate::recording::timeline_search::{SearchDirection, SearchTurn, TimelineHit, TimelineSearch};

/// The step of the arrow keys, in µs.
const NEAR_US: u64 = 5_000_000;
const FAR_US: u64 = 30_000_000;
/// The idle limit that `i` switches on if none was given, in µs.
const IDLE_US: u64 = 2_000_000;
/// How long the bar stays after a key while the recording plays, and how long a message does, in µs.
const BAR_US: u64 = 2_000_000;
/// The slowest and the fastest speed.
const SPEEDS: (f64, f64) = (0.125, 64.0);
/// By how many keys the list of keys scrolls, and the last one that it may begin with.
const HELP_STEP: usize = 5;
const HELP_LAST: usize = 15;
/// The longest text that is searched for, in characters.
const SEARCH_MAX: usize = 200;

/// Options of the player.
#[derive(Clone, Copy, Debug)]
pub struct PlayerOptions {
    /// The speed; 1 is the original.
    pub speed: f64,
    /// Pauses are cut to this, in µs.
    pub idle_us: Option<u64>,
    /// The start, in µs of the recording.
    pub from_us: u64,
    pub to_us: u64,
    pub paused: bool,
    /// Start again at the end.
    pub looped: bool,
    /// Write the output to the terminal unchanged.
    pub raw: bool,
}

/// What the terminal's side has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerAction {
    Quit,
    /// Stop the process, as after Ctrl+Z.
    Suspend,
    /// Draw everything again.
    Redraw,
    /// Write what is shown to files.
    Save,
    /// Start or stop writing the output to the terminal unchanged.
    Raw,
}

#[derive(Debug)]
pub struct PlayerState<'a> {
    moment: Moment<'a>,
    time: PlayTime,
    options: PlayerOptions,
    idle_us: Option<u64>,
    clock: PlayClock,
    /// The time of the last key or tick.
    now_us: u64,
    prompt: Option<SearchPrompt>,
    search: Option<TimelineSearch<'a>>,
    /// The search has gone on at the other end of the recording.
    search_wrapped: bool,
    searched: Option<(String, SearchDirection)>,
    hit: Option<TimelineHit>,
    words: Option<(String, u64)>,
    /// The first key in the list of keys, from 0, while that is shown.
    help: Option<usize>,
    /// The selected marker in the list, while that is shown.
    chosen: Option<usize>,
    bar_until: u64,
    /// How much of the output the terminal has received, as a count of events.
    written: Option<usize>,
}

/// The clock of the playing time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PlayClock {
    /// Paused at this playing time.
    Paused(u64),
    /// Running; it was at the first playing time at the second time.
    Running(u64, u64),
}

/// A search text being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPrompt {
    pub direction: SearchDirection,
    pub text: String,
}

impl<'a> PlayerState<'a> {
    /// The player at its start, at `now_us` of any steady clock.
    #[must_use]
    pub fn new(timeline: &'a Timeline, options: PlayerOptions, now_us: u64) -> Self {
        let time = PlayTime::new(timeline, options.idle_us);
        let start = time.playing(options.from_us);
        let mut moment = Moment::new(timeline);
        moment.seek(options.from_us);
        Self {
            moment,
            time,
            idle_us: options.idle_us,
            clock: if options.paused { PlayClock::Paused(start) } else { PlayClock::Running(now_us, start) },
            now_us,
            options,
            prompt: None,
            search: None,
            search_wrapped: false,
            searched: None,
            hit: None,
            words: None,
            help: None,
            chosen: None,
            bar_until: now_us + BAR_US,
            written: None,
        }
    }

    pub fn moment(&self) -> &Moment<'a> {
        &self.moment
    }

    /// The search result, while it is shown.
    pub fn hit(&self) -> Option<TimelineHit> {
        self.hit.filter(|hit| hit.events == self.moment.events())
    }

    pub fn prompt(&self) -> Option<&SearchPrompt> {
        self.prompt.as_ref()
    }

    /// The current message.
    pub fn words(&self) -> Option<&str> {
        self.words.as_ref().map(|(words, _)| words.as_str())
    }

    /// The first key to show in the list of keys, from 0; `None` while the list is not shown.
    pub fn first_help(&self) -> Option<usize> {
        self.help
    }

    /// The selected marker in the list, from 0; `None` while the list is not shown.
    pub fn chosen_marker(&self) -> Option<usize> {
        self.chosen
    }

    pub fn is_playing(&self) -> bool {
        matches!(self.clock, PlayClock::Running(..))
    }

    /// Whether the output is written to the terminal unchanged.
    pub fn is_raw(&self) -> bool {
        self.options.raw
    }

    pub fn speed(&self) -> f64 {
        self.options.speed
    }

    /// The idle limit in force, in µs.
    pub fn idle_us(&self) -> Option<u64> {
        self.idle_us
    }

    /// The conversion of playing times.
    pub fn time(&self) -> &PlayTime {
        &self.time
    }

    /// Whether to show the bar if it covers a row of the picture.
    pub fn wants_bar(&self, now_us: u64) -> bool {
        let busy = self.prompt.is_some() || self.search.is_some() || self.words.is_some();
        !self.is_playing() || busy || now_us < self.bar_until
    }

    /// Shows a message below the picture for a while.
    pub fn say(&mut self, words: impl Into<String>, now_us: u64) {
        self.now_us = now_us;
        self.say_now(words);
    }

    fn say_now(&mut self, words: impl Into<String>) {
        self.words = Some((words.into(), self.now_us + BAR_US));
    }

    /// Handles a key. `now_us`: the time in µs on the clock of [`PlayerState::new`]. Returns what the loop
    /// must do.
    pub fn key(&mut self, key: PlainKey, now_us: u64) -> Option<PlayerAction> {
        self.now_us = now_us;
        self.bar_until = now_us + BAR_US;
        self.words = None;
        match key {
            PlainKey::Suspend => return Some(PlayerAction::Suspend),
            PlainKey::Redraw => return Some(PlayerAction::Redraw),
            _ => {}
        }
        if self.prompt.is_some() {
            self.prompt_key(key);
            return None;
        }
        if let Some(chosen) = self.chosen.take() {
            self.marker_key(key, chosen);
            return None;
        }
        let help = self.help.take();
        if let Some(first) = help {
            match key {
                PlainKey::Down | PlainKey::Char('j') => self.help = Some((first + HELP_STEP).min(HELP_LAST)),
                PlainKey::Up | PlainKey::Char('k') => self.help = Some(first.saturating_sub(HELP_STEP)),
                _ => {}
            }
            if self.help.is_some() {
                return None;
            }
        }
        if help.is_some() || self.search.take().is_some() {
            // Any other key closes the list of keys and ends a search; Escape and `h` do nothing else.
            if matches!(key, PlainKey::Escape | PlainKey::Char('h')) {
                return None;
            }
        }
        match key {
            PlainKey::Char('q') | PlainKey::Cancel => return Some(PlayerAction::Quit),
            PlainKey::Char(' ') | PlainKey::Enter => self.toggle(),
            PlainKey::Char('.') => self.step(true),
            PlainKey::Char(',') => self.step(false),
            PlainKey::Right => self.skip(NEAR_US, true),
            PlainKey::Left => self.skip(NEAR_US, false),
            PlainKey::FarRight => self.skip(FAR_US, true),
            PlainKey::FarLeft => self.skip(FAR_US, false),
            PlainKey::Home => self.go_to(self.options.from_us),
            PlainKey::End => self.go_to(self.options.to_us),
            PlainKey::Char(']') => self.next_marker(true),
            PlainKey::Char('[') => self.next_marker(false),
            PlainKey::Char(digit @ '0'..='9') => {
                let tenth = u64::from(digit as u32 - u32::from(b'0'));
                self.go_to(self.time.recorded(self.time.duration_us() * tenth / 10));
            }
            PlainKey::Char('>') => self.set_speed(self.options.speed * 2.0),
            PlainKey::Char('<') => self.set_speed(self.options.speed / 2.0),
            PlainKey::Char('i') => self.toggle_idle(),
            PlainKey::Char('h') => self.help = Some(0),
            PlainKey::Char('m') if !self.options.raw => self.list_markers(),
            PlainKey::Char('s') => return Some(PlayerAction::Save),
            PlainKey::Char('r') => {
                self.options.raw = !self.options.raw;
                self.written = None;
                return Some(PlayerAction::Raw);
            }
            PlainKey::Char('/') if !self.options.raw => self.ask(SearchDirection::Forward),
            PlainKey::Char('?') if !self.options.raw => self.ask(SearchDirection::Backward),
            PlainKey::Char('n') => self.search_again(true),
            PlainKey::Char('N') => self.search_again(false),
            _ => {}
        }
        None
    }

    /// Advances the time. True at the end if nothing follows.
    pub fn tick(&mut self, now_us: u64) -> bool {
        self.now_us = now_us;
        if self.words.as_ref().is_some_and(|(_, until)| now_us >= *until) {
            self.words = None;
        }
        if let Some(search) = &mut self.search {
            match search.turn() {
                SearchTurn::Working => {}
                SearchTurn::Found(hit) => self.found(hit),
                SearchTurn::Nothing if !self.search_wrapped => {
                    self.search_wrapped = true;
                    *search = search.from_other_end();
                }
                SearchTurn::Nothing => {
                    self.search = None;
                    let text = self.searched.as_ref().map_or("", |(text, _)| text.as_str());
                    self.say_now(format!("not found: {text}"));
                }
            }
            return false;
        }
        if !self.is_playing() {
            return false;
        }
        let recorded = self.time.recorded(self.playing(now_us));
        if recorded < self.options.to_us.min(self.moment.timeline().duration_us()) {
            self.moment.seek(recorded.max(self.moment.at_us()));
            return false;
        }
        self.moment.seek(self.options.to_us);
        if self.options.looped
            && self.time.playing(self.options.to_us) > self.time.playing(self.options.from_us)
        {
            self.go_to(self.options.from_us);
            return false;
        }
        self.clock = PlayClock::Paused(self.time.playing(self.options.to_us));
        true
    }

    /// When [`PlayerState::tick`] is due next; `None` if not before a key.
    pub fn next_due(&self, now_us: u64) -> Option<u64> {
        if self.search.is_some() {
            return Some(now_us);
        }
        let words = self.words.as_ref().map(|(_, until)| *until);
        let PlayClock::Running(since, from) = self.clock else { return words };
        let at = |playing: u64| since + (playing.saturating_sub(from) as f64 / self.options.speed) as u64;
        let end = self.options.to_us.min(self.moment.timeline().duration_us());
        let next = self.moment.next_us().unwrap_or(end).min(end);
        let second = (self.playing(now_us) / 1_000_000 + 1) * 1_000_000;
        let bar = (now_us < self.bar_until).then_some(self.bar_until);
        [Some(at(self.time.playing(next))), Some(at(second)), words, bar].into_iter().flatten().min()
    }

    /// The output that the terminal should receive, in raw mode.
    pub fn take_raw(&mut self) -> Vec<u8> {
        let events = self.moment.events();
        let bytes = match self.written {
            Some(written) if written <= events => self.moment.timeline().output_of(written, events).to_vec(),
            _ => {
                let dump = self.moment.screen().dump();
                [b"\x1b[H\x1b[2J".to_vec(), dump.screen, dump.unfinished].concat()
            }
        };
        self.written = Some(events);
        bytes
    }

    /// Forgets what the terminal has received: the player moved back, or the terminal was used otherwise.
    pub fn forget_raw(&mut self) {
        self.written = None;
    }

    fn playing(&self, now_us: u64) -> u64 {
        match self.clock {
            PlayClock::Paused(at) => at,
            PlayClock::Running(since, from) => {
                from + (now_us.saturating_sub(since) as f64 * self.options.speed) as u64
            }
        }
    }

    /// Moves to a time of the recording; playing or paused as before.
    fn go_to(&mut self, recorded_us: u64) {
        let before = self.moment.events();
        self.moment.seek(recorded_us);
        if self.moment.events() < before {
            self.written = None;
        }
        let at = self.time.playing(self.moment.at_us());
        self.clock = match self.clock {
            PlayClock::Paused(_) => PlayClock::Paused(at),
            PlayClock::Running(..) => PlayClock::Running(self.now_us, at),
        };
    }

    fn pause(&mut self) {
        self.clock = PlayClock::Paused(self.time.playing(self.moment.at_us()));
    }

    fn toggle(&mut self) {
        if self.is_playing() {
            self.clock = PlayClock::Paused(self.playing(self.now_us));
            return;
        }
        if self.moment.at_us() >= self.options.to_us.min(self.moment.timeline().duration_us()) {
            self.go_to(self.options.from_us);
        }
        self.clock = PlayClock::Running(self.now_us, self.playing(self.now_us));
    }

    fn step(&mut self, forward: bool) {
        let moved = if forward { self.moment.step_forward() } else { self.moment.step_back() };
        if !forward {
            self.written = None;
        }
        self.pause();
        if !moved {
            self.say_now(if forward { "the end" } else { "the start" });
        }
    }

    fn skip(&mut self, by_us: u64, forward: bool) {
        let at = self.time.playing(self.moment.at_us()).max(match self.clock {
            PlayClock::Running(..) => self.playing(self.now_us),
            PlayClock::Paused(at) => at,
        });
        let to = if forward { at.saturating_add(by_us) } else { at.saturating_sub(by_us) };
        self.go_to(self.time.recorded(to));
    }

    fn next_marker(&mut self, forward: bool) {
        let here = self.moment.at_us();
        let mut markers = self.moment.timeline().markers();
        let found = if forward {
            markers.find(|(at, _)| *at > here)
        } else {
            markers.rfind(|(at, _)| *at < here.saturating_sub(if self.is_playing() { 500_000 } else { 0 }))
        };
        match found {
            Some((at, label)) => {
                self.go_to(at);
                self.say_now(label);
            }
            None if forward => self.say_now("no marker after this"),
            None => self.say_now("no marker before this"),
        }
    }

    fn list_markers(&mut self) {
        let here = self.moment.at_us();
        let timeline = self.moment.timeline();
        if timeline.markers().next().is_none() {
            return self.say_now("the recording has no markers");
        }
        self.chosen = Some(timeline.markers().take_while(|(at, _)| *at <= here).count().saturating_sub(1));
        self.pause();
    }

    /// Handles a key in the list of markers; unknown keys close it.
    fn marker_key(&mut self, key: PlainKey, chosen: usize) {
        let last = self.moment.timeline().markers().count().saturating_sub(1);
        match key {
            PlainKey::Up | PlainKey::Char('k') => self.chosen = Some(chosen.saturating_sub(1)),
            PlainKey::Down | PlainKey::Char('j') => self.chosen = Some((chosen + 1).min(last)),
            PlainKey::Home => self.chosen = Some(0),
            PlainKey::End => self.chosen = Some(last),
            PlainKey::Enter => {
                let at = self.moment.timeline().markers().nth(chosen).map(|(at, _)| at);
                at.into_iter().for_each(|at| self.go_to(at));
            }
            _ => {}
        }
    }

    fn set_speed(&mut self, speed: f64) {
        let at = self.playing(self.now_us);
        self.options.speed = speed.clamp(SPEEDS.0, SPEEDS.1);
        if self.is_playing() {
            self.clock = PlayClock::Running(self.now_us, at);
        }
        self.say_now(format!("speed {}", self.options.speed));
    }

    fn toggle_idle(&mut self) {
        let recorded = self.time.recorded(self.playing(self.now_us));
        self.idle_us = match self.idle_us {
            Some(_) => None,
            None => Some(self.options.idle_us.unwrap_or(IDLE_US)),
        };
        self.time = PlayTime::new(self.moment.timeline(), self.idle_us);
        let at = self.time.playing(recorded);
        self.clock = match self.clock {
            PlayClock::Paused(_) => PlayClock::Paused(at),
            PlayClock::Running(..) => PlayClock::Running(self.now_us, at),
        };
        match self.idle_us {
            Some(limit) => self.say_now(format!("pauses are cut to {} s", limit as f64 / 1e6)),
            None => self.say_now("pauses are as long as recorded"),
        }
    }

    fn ask(&mut self, direction: SearchDirection) {
        self.pause();
        self.prompt = Some(SearchPrompt { direction, text: String::new() });
    }

    fn prompt_key(&mut self, key: PlainKey) {
        let Some(prompt) = &mut self.prompt else { return };
        match key {
            PlainKey::Char(ch) if prompt.text.chars().count() < SEARCH_MAX => prompt.text.push(ch),
            PlainKey::Paste(pasted) => {
                let room = SEARCH_MAX.saturating_sub(prompt.text.chars().count());
                prompt.text.extend(pasted.chars().filter(|ch| !ch.is_control()).take(room));
            }
            PlainKey::Backspace if !prompt.text.is_empty() => drop(prompt.text.pop()),
            PlainKey::Enter => {
                let Some(prompt) = self.prompt.take() else { return };
                if !prompt.text.is_empty() {
                    self.searched = Some((prompt.text, prompt.direction));
                }
                self.begin_search(true);
            }
            PlainKey::Escape | PlainKey::Cancel | PlainKey::Backspace => self.prompt = None,
            _ => {}
        }
    }

    fn search_again(&mut self, same: bool) {
        if self.searched.is_none() {
            self.say_now("no search yet: / searches");
        }
        self.pause();
        self.begin_search(same);
    }

    fn begin_search(&mut self, same: bool) {
        let Some((text, direction)) = &self.searched else { return };
        let direction = match (direction, same) {
            (SearchDirection::Forward, true) | (SearchDirection::Backward, false) => SearchDirection::Forward,
            _ => SearchDirection::Backward,
        };
        self.search = Some(TimelineSearch::new(&self.moment, text, direction));
        self.search_wrapped = false;
    }

    fn found(&mut self, hit: TimelineHit) {
        let direction = self.search.take().map(|search| search.direction());
        if self.search_wrapped {
            let end = if direction == Some(SearchDirection::Backward) { "end" } else { "start" };
            self.say_now(format!("wrapped to the {end}"));
        }
        self.moment.go_to(hit.events);
        self.hit = Some(hit);
        self.written = None;
        self.pause();
    }

    /// The position of a running search, for the bar.
    pub fn search_progress(&self) -> Option<ClockTime> {
        self.search.as_ref().map(|search| ClockTime(search.at_us()))
    }
}
