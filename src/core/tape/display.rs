//! Commands as lines of a tape. Reading a written line gives the same command.

use std::fmt::{self, Display, Formatter};

use super::command::*;
use super::key::{KeyChord, KeyModifiers, KeyName};
use super::lexer::{TapeLexer, TokenKind};
use super::tape_text::TapeText;
use super::tape_time::TapeTime;

/// A value as one token of VHS: plain if possible, otherwise in quotes.
struct PlainValue<'a>(&'a str);

impl Display for PlainValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let token = TapeLexer { source: self.0, limit: self.0.len(), has_escapes: true }.token(0);
        let whole = token.start == 0 && token.end == self.0.len() && token.closed;
        if whole && matches!(token.kind, TokenKind::Bare | TokenKind::Number | TokenKind::Json) {
            return f.write_str(self.0);
        }
        let quote = ['"', '\'', '`'].into_iter().find(|quote| !self.0.contains(*quote)).unwrap_or('"');
        write!(f, "{quote}{}{quote}", self.0)
    }
}

/// A word of hopty's own commands: plain if possible, otherwise in quotes.
struct TapeWord<'a>(&'a TapeText);

impl Display for TapeWord<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = self.0.as_str();
        let plain = |c: char| c.is_alphanumeric() || "-_./:,@%+=".contains(c);
        if !text.is_empty() && !self.0.has_variables() && text.chars().all(plain) {
            f.write_str(text)
        } else {
            self.0.fmt(f)
        }
    }
}

struct Limit(Option<TapeTime>);

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |time| write!(f, "@{time}"))
    }
}

fn words(f: &mut Formatter<'_>, words: &[TapeText]) -> fmt::Result {
    words.iter().try_for_each(|word| write!(f, " {}", TapeWord(word)))
}

impl Display for TapeCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use TapeCommand as C;
        match self {
            C::Output(path) => write!(f, "Output {path}"),
            C::Require(program) => write!(f, "Require {}", PlainValue(program)),
            C::Set(setting) => write!(f, "Set {setting}"),
            C::TypingSpeed(time) => write!(f, "Set TypingSpeed {time}"),
            C::Env { name, value } => write!(f, "Env {} {value}", PlainValue(name)),
            C::Type { text, speed } => write!(f, "Type{} {text}", Limit(*speed)),
            C::Key(press) => press.fmt(f),
            C::Scroll { up, rows, speed } => {
                f.write_str(if *up { "ScrollUp" } else { "ScrollDown" })?;
                write!(f, "{}{}", Limit(*speed), Count(*rows))
            }
            C::Sleep(time) => write!(f, "Sleep {time}"),
            C::Wait { scope, limit, pattern } => {
                f.write_str(match scope {
                    WaitScope::Line => "Wait",
                    WaitScope::Screen => "Wait+Screen",
                })?;
                Limit(*limit).fmt(f)?;
                pattern.as_ref().map_or(Ok(()), |pattern| write!(f, " {pattern}"))
            }
            C::Hide => f.write_str("Hide"),
            C::Show => f.write_str("Show"),
            C::Screenshot(path) => write!(f, "Screenshot {path}"),
            C::Copy(text) => write!(f, "Copy {text}"),
            C::PasteClipboard => f.write_str("Paste"),
            C::Start(program) => {
                f.write_str("Start")?;
                words(f, program)
            }
            C::StartShell(line) => write!(f, "Start+Shell {line}"),
            C::Run(line) => write!(f, "Run {line}"),
            C::File { path, content } => write!(f, "File {} {content}", TapeWord(path)),
            C::CopyFile { from, to } => {
                write!(f, "Copy+File {}", TapeWord(from))?;
                to.as_ref().map_or(Ok(()), |to| write!(f, " {}", TapeWord(to)))
            }
            C::On(name) => write!(f, "On {name}"),
            C::Attach(name) => write!(f, "Attach {name}"),
            C::Detach => f.write_str("Detach"),
            C::Click(click) => click.fmt(f),
            C::Drag { from, to, button } => {
                write!(f, "Drag {from} to {to}")?;
                if *button == PointerButton::Left { Ok(()) } else { write!(f, " {}", button.name()) }
            }
            C::Wheel { direction, notches, at } => {
                write!(f, "Wheel {direction:?} {notches}")?;
                at.as_ref().map_or(Ok(()), |at| write!(f, " at {at}"))
            }
            C::Hover(place) => write!(f, "Hover {place}"),
            C::Paste(text) => write!(f, "Paste {text}"),
            C::Focus(gained) => f.write_str(if *gained { "Focus In" } else { "Focus Out" }),
            C::Resize { cols, rows } => write!(f, "Resize {cols}x{rows}"),
            C::Signal(signal) => write!(f, "Signal {}", signal.name()),
            C::Raw(text) => write!(f, "Raw {text}"),
            C::Expect(what) => write!(f, "Expect{what}"),
            C::ExpectNot(what) => write!(f, "Expect+Not{what}"),
            C::Gone(what) => write!(f, "Gone{what}"),
            C::Settle { limit, quiet, except } => {
                write!(f, "Settle{}", Limit(*limit))?;
                quiet.map_or(Ok(()), |quiet| write!(f, " {quiet}"))?;
                except.iter().try_for_each(|region| write!(f, " except {region}"))
            }
            C::Ready { limit } => write!(f, "Ready{}", Limit(*limit)),
            C::Exit { limit, end: ProgramEnd::Code(code) } => write!(f, "Exit{} {code}", Limit(*limit)),
            C::Exit { limit, end: ProgramEnd::Signal(signal) } => {
                write!(f, "Exit{} {}", Limit(*limit), signal.name())
            }
            C::Status(status) => write!(f, "Status {status}"),
            C::Snapshot { name, region, style, cursor, history } => {
                write!(f, "Snapshot {name}")?;
                region.as_ref().map_or(Ok(()), |region| write!(f, " {region}"))?;
                let parts = [(style, "Style"), (cursor, "Cursor"), (history, "History")];
                parts.iter().filter(|(on, _)| **on).try_for_each(|(_, name)| write!(f, " +{name}"))
            }
            C::Style(style) => style.fmt(f),
            C::Cursor { limit, position, shape, visible } => {
                write!(f, "Cursor{}", Limit(*limit))?;
                position.map_or(Ok(()), |(row, col)| write!(f, " {row},{col}"))?;
                shape.map_or(Ok(()), |shape| write!(f, " {}", shape.name()))?;
                visible.map_or(Ok(()), |visible| f.write_str(if visible { " visible" } else { " hidden" }))
            }
            C::Title { limit, pattern } => write!(f, "Title{} {pattern}", Limit(*limit)),
            C::Bell { limit, times } => write!(f, "Bell{} {times}", Limit(*limit)),
            C::Mode { limit, private, number, on } => {
                let (mark, state) = (if *private { "?" } else { "" }, if *on { "on" } else { "off" });
                write!(f, "Mode{} {mark}{number} {state}", Limit(*limit))
            }
            C::Region { name, shape: RegionShape::Rect(rect) } => write!(f, "Region {name} {rect}"),
            C::Region { name, shape: RegionShape::Box(title) } => write!(f, "Region {name} box {title}"),
            C::ExpectFile { limit, path, absent, pattern } => {
                let not = if *absent { "+Not" } else { "" };
                write!(f, "Expect{not}+File{} {} {pattern}", Limit(*limit), TapeWord(path))
            }
            C::Claude { stand_in, hopty, arguments } => {
                f.write_str("Claude")?;
                f.write_str(if *stand_in { "+StandIn" } else { "" })?;
                f.write_str(if *hopty { "+Hopty" } else { "" })?;
                words(f, arguments)
            }
            C::Model(reply) => reply.fmt(f),
            C::Plugin(path) => write!(f, "Plugin {}", TapeWord(path)),
            C::ExpectRequest { limit, number, pattern } => {
                write!(f, "Expect+Request{}", Limit(*limit))?;
                number.map_or(Ok(()), |number| write!(f, " {number}"))?;
                write!(f, " {pattern}")
            }
            C::ExpectHook(hook) => hook.fmt(f),
            C::ExpectState { limit, state } => write!(f, "Expect+State{} {}", Limit(*limit), state.name()),
            C::ExpectStatusline { limit, pattern } => {
                write!(f, "Expect+Statusline{} {pattern}", Limit(*limit))
            }
            C::Mark(label) => write!(f, "Mark {label}"),
            C::Caption(text) => write!(f, "Caption {text}"),
            C::State(path) => write!(f, "State {}", TapeWord(path)),
            C::Pause => f.write_str("Pause"),
        }
    }
}

struct Count(u32);

impl Display for Count {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 == 1 { Ok(()) } else { write!(f, " {}", self.0) }
    }
}

impl Display for KeyPress {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let speed = Limit(self.speed);
        match (self.action, self.chords.as_slice()) {
            // Modifiers without a key press nothing.
            (_, []) => f.write_str("Ctrl+Shift"),
            (KeyAction::Press, [KeyChord { key, modifiers }])
                if modifiers.is_empty() && !matches!(key, KeyName::Char(_)) =>
            {
                write!(f, "{key}{speed}{}", Count(self.count))
            }
            (action, [chord]) => {
                let action = match action {
                    KeyAction::Press => "",
                    KeyAction::Down => "+Down",
                    KeyAction::Up => "+Up",
                };
                let chord = TapeText::plain(chord.to_string());
                write!(f, "Key{action}{speed} {}{}", TapeWord(&chord), Count(self.count))
            }
            (_, several) => {
                write_chords(f, several)?;
                write!(f, "{speed}{}", Count(self.count))
            }
        }
    }
}

/// Several keys with the same modifiers, as VHS writes them.
fn write_chords(f: &mut Formatter<'_>, chords: &[KeyChord]) -> fmt::Result {
    let modifiers = chords.first().map(|chord| chord.modifiers).unwrap_or_default();
    if !modifiers.ctrl {
        // `Alt+` and `Shift+` take a text.
        let text: String = chords.iter().map(|chord| chord.key.to_string()).collect();
        return write!(f, "{modifiers}{}", TapeText::plain(text));
    }
    write!(f, "{}", KeyModifiers { super_key: false, ..modifiers }.to_string().trim_end_matches('+'))?;
    chords.iter().try_for_each(|chord| match chord.key {
        KeyName::Char(c @ ('a'..='z' | 'A'..='Z' | '-' | '@' | '[' | ']' | '^' | '\\')) => write!(f, "+{c}"),
        KeyName::Char(c) => write!(f, "+{}", PlainValue(&c.to_string())),
        key => write!(f, "+{key}"),
    })
}

impl Display for ExpectCommand {
    /// The text after the name of the command.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let limit = Limit(self.limit);
        match &self.area {
            ExpectArea::Screen => write!(f, "{limit}")?,
            ExpectArea::Line => write!(f, "+Line{limit}")?,
            ExpectArea::Row(row) => write!(f, "+Row{limit} {row}")?,
            ExpectArea::Region(region) => write!(f, "+Region{limit} {region}")?,
            ExpectArea::History => write!(f, "+History{limit}")?,
            ExpectArea::Title => write!(f, "+Title{limit}")?,
            ExpectArea::Clipboard => write!(f, "+Clipboard{limit}")?,
        }
        self.times.map_or(Ok(()), |times| write!(f, " x{times}"))?;
        write!(f, " {}", self.pattern)
    }
}

impl Display for ScreenRect {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{},{} {}x{}", self.row, self.col, self.rows, self.cols)
    }
}

impl Display for ScreenRegion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ScreenRegion::Named(name) => f.write_str(name),
            ScreenRegion::Rect(rect) => rect.fmt(f),
        }
    }
}

impl Display for TapePlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TapePlace::Pattern(pattern) => pattern.fmt(f),
            TapePlace::Cell(row, col) => write!(f, "{row},{col}"),
        }
    }
}

impl PointerButton {
    pub fn name(self) -> &'static str {
        match self {
            PointerButton::Left => "left",
            PointerButton::Middle => "middle",
            PointerButton::Right => "right",
        }
    }
}

impl CursorForm {
    pub fn name(self) -> &'static str {
        match self {
            CursorForm::Block => "block",
            CursorForm::Bar => "bar",
            CursorForm::Underline => "underline",
        }
    }
}

impl AgentActivity {
    pub fn name(self) -> &'static str {
        match self {
            AgentActivity::Busy => "busy",
            AgentActivity::Idle => "idle",
            AgentActivity::Blocked => "blocked",
        }
    }
}

impl Display for ClickCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Click {}", self.place)?;
        if self.button != PointerButton::Left {
            write!(f, " {}", self.button.name())?;
        }
        if self.times != 1 {
            write!(f, " x{}", self.times)?;
        }
        if self.modifiers.is_empty() { Ok(()) } else { write!(f, " {}", self.modifiers) }
    }
}

impl Display for StyleCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Style{} ", Limit(self.limit))?;
        match &self.target {
            StyleTarget::Pattern(pattern) => pattern.fmt(f)?,
            StyleTarget::Region(region) => region.fmt(f)?,
        }
        for rule in &self.style {
            match rule {
                StyleRule::Foreground(color) => write!(f, " fg={}", color.name())?,
                StyleRule::Background(color) => write!(f, " bg={}", color.name())?,
                StyleRule::Attribute(attribute, true) => write!(f, " {}", attribute.name())?,
                StyleRule::Attribute(attribute, false) => write!(f, " !{}", attribute.name())?,
                StyleRule::Underline(form) => write!(f, " underline={}", form.name())?,
                StyleRule::Link(address) => write!(f, " link={address}")?,
            }
        }
        if self.all {
            f.write_str(" all")?;
        }
        self.row.map_or(Ok(()), |row| write!(f, " row={row}"))
    }
}

impl Display for ModelReply {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Model")?;
        self.text.as_ref().map_or(Ok(()), |text| write!(f, " text {text}"))?;
        for ModelToolCall { name, input } in &self.tools {
            match input {
                ModelToolInput::Command(command) => write!(f, " {name} {command}")?,
                ModelToolInput::Json(value) => write!(f, " tool {name} {value}")?,
            }
        }
        if let Some(ModelError { status, kind, message }) = &self.error {
            write!(f, " error {status} {kind} {message}")?;
        }
        for (name, value) in &self.headers {
            write!(f, " header {name} {value}")?;
        }
        self.tokens.map_or(Ok(()), |tokens| write!(f, " tokens={tokens}"))?;
        self.after.map_or(Ok(()), |after| write!(f, " after={after}"))?;
        self.over.map_or(Ok(()), |over| write!(f, " over={over}"))
    }
}

impl Display for HookCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Expect+Hook{}", Limit(self.limit))?;
        self.number.map_or(Ok(()), |number| write!(f, " {number}"))?;
        write!(f, " {}", self.event)?;
        self.exit.map_or(Ok(()), |exit| write!(f, " exit={exit}"))?;
        self.pattern.as_ref().map_or(Ok(()), |pattern| write!(f, " {pattern}"))?;
        self.payload.iter().try_for_each(|(path, value)| write!(f, " payload.{path}={value}"))
    }
}
