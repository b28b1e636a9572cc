//! The settings of a tape, and their defaults.

use super::regex::TapeRegex;
use super::tape_text::TapeText;
use super::tape_time::TapeTime;

/// The home directory of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TapeHome {
    /// An empty directory.
    #[default]
    Fresh,
    /// The person's home.
    Keep,
}

/// How `Sleep` and typing are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapeSpeed {
    /// In real time.
    Real,
    /// A sleep ends when the screen has settled; typing has no pauses.
    Fast,
}

/// A resource that a tape needs exclusively, so that it runs alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapeNeed {
    Core,
    Net,
}

/// What to do about processes that outlive the tape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TapeLeftovers {
    /// The tape fails.
    #[default]
    Fail,
    /// They are killed without a failure.
    Allow,
}

/// What `Wait` does with text that was there before the last input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitRule {
    /// It matches, with a warning, as in VHS.
    #[default]
    Level,
    /// The tape fails.
    Fresh,
}

/// Everything that the header of a tape sets. Numbers are `int` and `float64` in VHS.
#[derive(Clone, Debug, PartialEq)]
pub struct TapeSettings {
    /// The shell: `bash`, `zsh`, `fish`, …
    pub shell: String,
    /// Fonts, by name.
    pub font_family: String,
    /// Pixels.
    pub font_size: i64,
    /// Pixels between characters.
    pub letter_spacing: f64,
    /// A factor of the font's size.
    pub line_height: f64,
    /// The pause after each typed character.
    pub typing_speed: TapeTime,
    /// The name of a theme, or JSON; empty for the default.
    pub theme: String,
    /// Pixels.
    pub width: i64,
    /// Pixels.
    pub height: i64,
    /// Pixels around the screen.
    pub padding: i64,
    /// Frames a second.
    pub framerate: i64,
    /// A factor.
    pub playback_speed: f64,
    /// Percent.
    pub loop_offset: f64,
    /// Pixels around the window.
    pub margin: i64,
    /// A colour or a picture; `None` for the background of the theme.
    pub margin_fill: Option<String>,
    /// The style of the window bar, or empty.
    pub window_bar: String,
    /// Pixels.
    pub window_bar_size: i64,
    /// Pixels.
    pub border_radius: i64,
    /// Whether the cursor blinks in the recording.
    pub cursor_blink: bool,
    /// How long `Wait` waits.
    pub wait_timeout: TapeTime,
    /// What `Wait` waits for.
    pub wait_pattern: TapeRegex,
    /// Rows of the screen, when given.
    pub rows: Option<u16>,
    /// Columns of the screen, when given.
    pub columns: Option<u16>,
    /// Whether a size in pixels is given, or a setting that affects it.
    pub has_pixel_size: bool,
    pub term: String,
    pub timezone: String,
    /// `LANG` and `LC_ALL`.
    pub locale: String,
    /// The home directory of the program.
    pub home: TapeHome,
    /// How long the whole tape may take, if it says so (`Tape::deadline`).
    pub deadline: Option<TapeTime>,
    /// How long `Expect` and the other checks wait.
    pub expect_timeout: TapeTime,
    /// How long nothing may change before the screen counts as settled.
    pub settle: TapeTime,
    /// How `Sleep` and typing are played, if the tape says so.
    pub speed: Option<TapeSpeed>,
    /// What snapshots show instead of the text that matches, in order.
    pub redactions: Vec<(TapeRegex, TapeText)>,
    /// How often a failing tape is retried, if the tape says so.
    pub retry: Option<u32>,
    /// What the tape needs exclusively.
    pub needs: Vec<TapeNeed>,
    /// Whether processes may remain.
    pub leftovers: TapeLeftovers,
    /// Whether `Wait` accepts text that was there before.
    pub wait: WaitRule,
}

impl Default for TapeSettings {
    fn default() -> Self {
        TapeSettings {
            shell: "bash".to_owned(),
            font_family: "JetBrains Mono".to_owned(),
            font_size: 22,
            letter_spacing: 1.0,
            line_height: 1.0,
            typing_speed: TapeTime::from_millis(50),
            theme: String::new(),
            width: 1200,
            height: 600,
            padding: 60,
            framerate: 50,
            playback_speed: 1.0,
            loop_offset: 0.0,
            margin: 0,
            margin_fill: None,
            window_bar: String::new(),
            window_bar_size: 30,
            border_radius: 0,
            cursor_blink: true,
            wait_timeout: TapeTime::from_millis(15_000),
            wait_pattern: TapeRegex::usual_prompt(),
            rows: None,
            columns: None,
            has_pixel_size: false,
            term: "xterm-256color".to_owned(),
            timezone: "UTC".to_owned(),
            locale: "C.UTF-8".to_owned(),
            home: TapeHome::default(),
            deadline: None,
            expect_timeout: TapeTime::from_millis(5000),
            settle: TapeTime::from_millis(50),
            speed: None,
            redactions: Vec::new(),
            retry: None,
            needs: Vec::new(),
            leftovers: TapeLeftovers::default(),
            wait: WaitRule::default(),
        }
    }
}

/// The default size: columns, rows.
const USUAL_GRID: (u16, u16) = (80, 24);
/// The most rows or columns of a screen.
pub(super) const LONGEST_SIDE: u16 = 1000;
/// The width of a cell relative to the font size. VHS measures the font in a browser; this is approximately
/// JetBrains Mono's.
const CELL_WIDTH: f64 = 0.56;

impl TapeSettings {
    /// The size of the screen in columns and rows: `Rows` and `Columns` if given, otherwise from the size in
    /// pixels, otherwise 80x24.
    pub fn grid_size(&self) -> (u16, u16) {
        let (cols, rows) = if self.has_pixel_size { self.grid_of_pixels() } else { USUAL_GRID };
        (self.columns.unwrap_or(cols), self.rows.unwrap_or(rows))
    }

    /// How many cells fit into the window.
    fn grid_of_pixels(&self) -> (u16, u16) {
        let around = self.padding.saturating_add(self.margin).saturating_mul(2);
        let bar = if self.window_bar.is_empty() { 0 } else { self.window_bar_size };
        let font = self.font_size as f64;
        let cells = |pixels: i64, cell: f64| {
            let cell = cell.ceil().max(1.0);
            let cells = (pixels as f64 / cell).floor();
            // The cast saturates at the range of the integer.
            (cells as u16).clamp(1, LONGEST_SIDE)
        };
        (
            cells(self.width.saturating_sub(around), font * CELL_WIDTH + self.letter_spacing),
            cells(self.height.saturating_sub(around).saturating_sub(bar), font * self.line_height),
        )
    }
}
