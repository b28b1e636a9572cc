//! The commands of a tape, as data.

use serde_json::Value;

use super::key::KeyChord;
use super::pattern::TapePattern;
use super::tape_text::TapeText;
use super::tape_time::TapeTime;

/// One command of a tape. Rows and columns are 1-based, the row first. Its text form is a line of a tape.
#[derive(Clone, Debug, PartialEq)]
pub enum TapeCommand {
    // Commands of VHS.
    /// `Output demo.gif`: write the recording to this file.
    Output(TapeText),
    /// `Require git`: the tape needs this program.
    Require(String),
    /// `Set FontSize 32`, which is in the settings of the tape: the text after `Set`, as it is in the tape.
    Set(String),
    /// `Set TypingSpeed 50ms`, which also counts behind the header: the pause after each key from here on.
    TypingSpeed(TapeTime),
    /// `Env NAME "value"`: for the program, wherever the line is in the tape.
    Env {
        name: String,
        value: TapeText,
    },
    /// `Type@10ms "text"`.
    Type {
        text: TapeText,
        /// The pause after each character; `TypingSpeed` unless given.
        speed: Option<TapeTime>,
    },
    /// `Enter`, `Up@50ms 3`, `Ctrl+Shift+O`, `Alt+Left`, `Key f5`.
    Key(KeyPress),
    /// `ScrollUp 10`, `ScrollDown 10`: move the viewport; nothing is sent.
    Scroll {
        up: bool,
        rows: u32,
        /// The pause after each row; `TypingSpeed` unless given.
        speed: Option<TapeTime>,
    },
    /// `Sleep 500ms`.
    Sleep(TapeTime),
    /// `Wait+Screen@5s /ready/`: until the pattern is there, new or old.
    Wait {
        scope: WaitScope,
        /// How long to wait; `WaitTimeout` unless given.
        limit: Option<TapeTime>,
        /// What to look for; `WaitPattern` unless given.
        pattern: Option<TapePattern>,
    },
    /// `Hide`: stop recording frames.
    Hide,
    /// `Show`: record frames again.
    Show,
    /// `Screenshot shot.png`, and `.svg`, `.txt`, `.ansi`, `.json`.
    Screenshot(TapeText),
    /// `Copy "text"`: put a text on the clipboard of the test.
    Copy(TapeText),
    /// `Paste`: type the content of the clipboard.
    PasteClipboard,

    // Starting programs.
    /// `Start vim notes.txt`: this program instead of a shell.
    Start(Vec<TapeText>),
    /// `Start+Shell "make | less"`: a command line of `sh`.
    StartShell(TapeText),
    /// `Run "git init"`: a command outside of the terminal, which must succeed before the tape continues.
    Run(TapeText),
    /// `File notes.txt "text"`: write a file into the directory of the test.
    File {
        /// Its path, within the directory of the test.
        path: TapeText,
        content: TapeText,
    },
    /// `Copy+File fixtures/project .`: copy a file or directory into the directory of the test.
    CopyFile {
        /// The source, relative to the tape.
        from: TapeText,
        /// The destination in the directory of the test; by default the same name.
        to: Option<TapeText>,
    },
    /// `On second`: the following commands are for this terminal of the test.
    On(String),
    /// `Attach rocket`: attach this terminal to a hopty session.
    Attach(String),
    Detach,

    // Input that VHS does not have.
    /// `Click "OK"`, `Click 3,10 right x2 Ctrl+`.
    Click(ClickCommand),
    /// `Drag "a" to 5,20`: press on the first place, release on the second.
    Drag {
        /// Where to press the button.
        from: TapePlace,
        /// Where to release it.
        to: TapePlace,
        button: PointerButton,
    },
    /// `Wheel Down 3 at "list"`.
    Wheel {
        direction: WheelDirection,
        notches: u32,
        /// The place under the pointer; by default the cursor's cell.
        at: Option<TapePlace>,
    },
    /// `Hover "OK"`: move the pointer there.
    Hover(TapePlace),
    /// `Paste "text"`: bracketed if the program has enabled that.
    Paste(TapeText),
    /// `Focus In`, `Focus Out`: true if the terminal gets the focus.
    Focus(bool),
    /// `Resize 120x40`: columns, rows.
    Resize {
        cols: u16,
        rows: u16,
    },
    /// `Signal TERM`: to the program's group.
    Signal(TapeSignal),
    /// `Raw $"\e[…"`: these bytes, as if the terminal had sent them.
    Raw(TapeText),

    // Commands that wait.
    /// `Expect "3/3"`: until this is new since the last input.
    Expect(ExpectCommand),
    /// `Expect+Not "error"`: it must not be there once the screen has settled.
    ExpectNot(ExpectCommand),
    /// `Gone "Loading"`: until it is gone.
    Gone(ExpectCommand),
    /// `Settle@5s 100ms except spinner`: until nothing changes.
    Settle {
        /// How long to wait.
        limit: Option<TapeTime>,
        /// How long nothing may change; by default `Set Settle`.
        quiet: Option<TapeTime>,
        /// Regions that may change.
        except: Vec<ScreenRegion>,
    },
    /// `Ready@10s`: until the shell waits for input.
    Ready {
        /// How long to wait.
        limit: Option<TapeTime>,
    },
    /// `Exit 0`, `Exit TERM`: until the program has ended in this way.
    Exit {
        /// How long to wait.
        limit: Option<TapeTime>,
        /// How it must end.
        end: ProgramEnd,
    },

    // Checks.
    /// `Status 1`: the exit status of the command that `Ready` waited for.
    Status(i32),
    /// `Snapshot edited logs +Style +Cursor +History`.
    Snapshot {
        name: String,
        /// Only this region.
        region: Option<ScreenRegion>,
        /// With colours and attributes.
        style: bool,
        cursor: bool,
        history: bool,
    },
    /// `Style "ERROR" fg=red bold !underline row=3`.
    Style(StyleCommand),
    /// `Cursor 4,5 bar hidden`: all given properties must match.
    Cursor {
        /// How long to wait.
        limit: Option<TapeTime>,
        position: Option<(u16, u16)>,
        shape: Option<CursorForm>,
        /// Whether it is drawn.
        visible: Option<bool>,
    },
    /// `Title "vim"`: the window title.
    Title {
        /// How long to wait.
        limit: Option<TapeTime>,
        /// What must be in it.
        pattern: TapePattern,
    },
    /// `Bell 1`: how often the bell rang since the last input.
    Bell {
        /// How long to wait.
        limit: Option<TapeTime>,
        times: u32,
    },
    /// `Mode ?1049 on`.
    Mode {
        /// How long to wait.
        limit: Option<TapeTime>,
        /// Whether it is a DEC private mode, written with a question mark.
        private: bool,
        number: u16,
        /// Whether it must be set.
        on: bool,
    },
    /// `Region logs 3,1 10x80`, `Region logs box "Logs"`: give a part of the screen a name.
    Region {
        name: String,
        shape: RegionShape,
    },
    /// `Expect+File out.txt /^banana$/`.
    ExpectFile {
        /// How long to wait.
        limit: Option<TapeTime>,
        /// Its path, within the directory of the test.
        path: TapeText,
        /// Whether the pattern must be absent.
        absent: bool,
        /// What must be in it.
        pattern: TapePattern,
    },

    // Claude Code.
    /// `Claude --model opus`: the program with the stand-in API.
    Claude {
        /// `Claude+StandIn`: hopty's own stand-in instead of the real program.
        stand_in: bool,
        /// `Claude+Hopty`: in a session of hopty.
        hopty: bool,
        arguments: Vec<TapeText>,
    },
    /// `Model text "done"`: the stand-in API's next answer.
    Model(ModelReply),
    /// `Plugin ./my-plugin`: a plugin directory that Claude loads.
    Plugin(TapeText),
    /// `Expect+Request 2 /denied/`: a request that the model received.
    ExpectRequest {
        /// How long to wait.
        limit: Option<TapeTime>,
        /// Which request of the test, from 1; any since the last input unless given.
        number: Option<u32>,
        /// What must be in it.
        pattern: TapePattern,
    },
    /// `Expect+Hook PreToolUse exit=2 /not allowed/ payload.tool_name=Bash`.
    ExpectHook(HookCommand),
    /// `Expect+State idle`: Claude's state.
    ExpectState {
        /// How long to wait.
        limit: Option<TapeTime>,
        state: AgentActivity,
    },
    /// `Expect+Statusline "42 %"`.
    ExpectStatusline {
        /// How long to wait.
        limit: Option<TapeTime>,
        /// What must be in it.
        pattern: TapePattern,
    },

    // Commands for viewers and evidence.
    /// `Mark "saved"`: a marker in the recording.
    Mark(TapeText),
    /// `Caption "Save the file"`: a caption in the recording.
    Caption(TapeText),
    /// `State screen.json`: write the state of the screen to a file.
    State(TapeText),
    /// `Pause`: leave the session to a person.
    Pause,
}

/// Keys that are pressed one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPress {
    /// The keys. Empty if a tape holds modifiers without pressing a key (`Ctrl+Alt`).
    pub chords: Vec<KeyChord>,
    /// The pause after each press; `TypingSpeed` unless given.
    pub speed: Option<TapeTime>,
    /// How often to press all of them.
    pub count: u32,
    /// What happens to the key.
    pub action: KeyAction,
}

impl KeyPress {
    /// One key, pressed once.
    pub fn once(chord: KeyChord) -> KeyPress {
        KeyPress { chords: vec![chord], speed: None, count: 1, action: KeyAction::Press }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAction {
    /// Pressed and released.
    Press,
    /// Pressed only; reported to programs with the kitty keyboard protocol.
    Down,
    /// Released only; reported to programs with the kitty keyboard protocol.
    Up,
}

/// Where `Wait` looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitScope {
    /// The row of the cursor.
    Line,
    Screen,
}

/// `Expect`, `Expect+Not` and `Gone`.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectCommand {
    pub area: ExpectArea,
    /// How long to wait.
    pub limit: Option<TapeTime>,
    /// How many matches there must be, exactly.
    pub times: Option<u32>,
    /// What to look for.
    pub pattern: TapePattern,
}

/// Where `Expect` looks.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectArea {
    Screen,
    /// The row of the cursor.
    Line,
    /// One row, 1-based.
    Row(u16),
    /// A part of the screen.
    Region(ScreenRegion),
    /// The scrollback and the screen.
    History,
    Title,
    /// The text that the program put on the clipboard (OSC 52).
    Clipboard,
}

/// A part of the screen, by its name from `Region` or by its cells.
#[derive(Clone, Debug, PartialEq)]
pub enum ScreenRegion {
    /// `logs`.
    Named(String),
    /// `3,1 10x80`.
    Rect(ScreenRect),
}

/// A rectangle of cells, 1-based: `3,1 10x80` begins in row 3, column 1 and has 10 rows of 80 columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenRect {
    pub row: u16,
    pub col: u16,
    /// How many rows it has.
    pub rows: u16,
    /// How many columns it has.
    pub cols: u16,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RegionShape {
    Rect(ScreenRect),
    /// The inside of the frame with this title.
    Box(TapeText),
}

/// A place on the screen, found when it is used.
#[derive(Clone, Debug, PartialEq)]
pub enum TapePlace {
    /// The middle of a match.
    Pattern(TapePattern),
    /// Row and column, 1-based.
    Cell(u16, u16),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClickCommand {
    pub place: TapePlace,
    pub button: PointerButton,
    /// 1 for a click, 2 for a double click.
    pub times: u32,
    /// The modifier keys that are held.
    pub modifiers: super::key::KeyModifiers,
}

impl ClickCommand {
    /// A click without modifier keys.
    #[must_use]
    pub fn once(place: &TapePlace, button: PointerButton) -> Self {
        ClickCommand {
            place: place.clone(),
            button,
            times: 1,
            modifiers: super::key::KeyModifiers::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PointerButton {
    #[default]
    Left,
    Middle,
    Right,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WheelDirection {
    /// Away from the person.
    Up,
    /// Towards the person.
    Down,
    Left,
    Right,
}

/// Signals by name.
pub(super) const SIGNALS: [&str; 28] = [
    "HUP", "INT", "QUIT", "ABRT", "KILL", "USR1", "USR2", "SEGV", "PIPE", "ALRM", "TERM", "CONT", "STOP",
    "TSTP", "WINCH", "CHLD", "BUS", "FPE", "ILL", "TRAP", "SYS", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF",
];

/// A signal by its name without `SIG`: `TERM`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeSignal(pub(super) &'static str);

impl TapeSignal {
    pub fn name(&self) -> &str {
        self.0
    }

    /// The signal with this name, if tapes know it.
    pub fn named(name: &str) -> Option<TapeSignal> {
        SIGNALS.into_iter().find(|known| *known == name).map(TapeSignal)
    }
}

/// How a program ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// With this exit status.
    Code(i32),
    /// By this signal.
    Signal(TapeSignal),
}

#[derive(Clone, Debug, PartialEq)]
pub struct StyleCommand {
    pub limit: Option<TapeTime>,
    pub target: StyleTarget,
    /// Only in this row, 1-based.
    pub row: Option<u16>,
    /// Whether every match must look like this, or one is enough.
    pub all: bool,
    /// The conditions, all of which must hold.
    pub style: Vec<StyleRule>,
}

/// The cells that `Style` checks.
#[derive(Clone, Debug, PartialEq)]
pub enum StyleTarget {
    /// A match of this pattern.
    Pattern(TapePattern),
    /// All cells of a region.
    Region(ScreenRegion),
}

#[derive(Clone, Debug, PartialEq)]
pub enum StyleRule {
    /// `fg=red`.
    Foreground(StyleColor),
    /// `bg=default`.
    Background(StyleColor),
    /// `bold`, `!bold`: whether it is on.
    Attribute(StyleAttribute, bool),
    /// `underline=curly`.
    Underline(UnderlineForm),
    /// `link=https://…`: the address of the hyperlink; empty for no link.
    Link(TapeText),
}

/// A colour as the program named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StyleColor {
    /// The terminal's own: `default`.
    Default,
    /// An entry of the palette: `red`, `bright-red`, `208`.
    Indexed(u8),
    /// Red, green, blue: `#ff8700`.
    Rgb(u8, u8, u8),
}

/// An attribute of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StyleAttribute {
    Bold,
    /// Dim or faint.
    Dim,
    Italic,
    /// Any underline.
    Underline,
    Blink,
    /// Foreground and background exchanged.
    Reverse,
    Hidden,
    Strike,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnderlineForm {
    /// One line.
    Single,
    /// Two lines.
    Double,
    /// A wave.
    Curly,
    /// Dots.
    Dotted,
    Dashed,
}

/// The form of the cursor, blinking or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorForm {
    Block,
    Bar,
    Underline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentActivity {
    /// A turn is running.
    Busy,
    /// It waits for a prompt.
    Idle,
    /// It waits for a person's answer.
    Blocked,
}

/// `Model`: an answer of the stand-in API.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelReply {
    /// The text block, if any.
    pub text: Option<TapeText>,
    /// Tool calls, in order.
    pub tools: Vec<ModelToolCall>,
    /// An error instead of a message.
    pub error: Option<ModelError>,
    /// How many tokens the answer reports for the request.
    pub tokens: Option<u64>,
    /// The delay from the request to the first byte.
    pub after: Option<TapeTime>,
    /// The time over which the text is streamed.
    pub over: Option<TapeTime>,
    /// Additional header fields of the answer.
    pub headers: Vec<(String, TapeText)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModelToolCall {
    /// The tool: `Bash`.
    pub name: String,
    pub input: ModelToolInput,
}

/// The input of a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelToolInput {
    /// The command of Bash.
    Command(TapeText),
    /// A JSON object.
    Json(Value),
}

/// An error of the stand-in API.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelError {
    /// The HTTP status: 529.
    pub status: u16,
    /// The `type` inside `error`: `overloaded_error`.
    pub kind: String,
    /// The `message` inside `error`.
    pub message: TapeText,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HookCommand {
    /// How long to wait.
    pub limit: Option<TapeTime>,
    /// Which call for the event in the test, from 1; any since the last input unless given.
    pub number: Option<u32>,
    /// The event: `PreToolUse`.
    pub event: String,
    /// The hook's exit status.
    pub exit: Option<i32>,
    /// What must be in its output.
    pub pattern: Option<TapePattern>,
    /// Fields of the payload: the path after `payload.`, and the value.
    pub payload: Vec<(String, TapeText)>,
}

impl TapeCommand {
    /// Whether it is `Set Shell`.
    pub fn is_shell_setting(&self) -> bool {
        matches!(self, TapeCommand::Set(setting) if setting.starts_with("Shell"))
    }

    /// Whether more settings may follow it: `Set`, `Output` and `Require`.
    pub fn belongs_to_header(&self) -> bool {
        use TapeCommand as C;
        matches!(self, C::Set(_) | C::TypingSpeed(_) | C::Output(_) | C::Require(_))
    }

    /// Whether it can fail because of what the program did, so that a tape with it is more than a smoke test.
    /// `Wait` cannot: its text may have been there before.
    pub fn is_check(&self) -> bool {
        use TapeCommand as C;
        matches!(
            self,
            C::Expect(_)
                | C::ExpectNot(_)
                | C::Gone(_)
                | C::Exit { .. }
                | C::Status(_)
                | C::Snapshot { .. }
                | C::Style(_)
                | C::Cursor { .. }
                | C::Title { .. }
                | C::Bell { .. }
                | C::Mode { .. }
                | C::ExpectFile { .. }
                | C::ExpectRequest { .. }
                | C::ExpectHook(_)
                | C::ExpectState { .. }
                | C::ExpectStatusline { .. }
        )
    }
}
