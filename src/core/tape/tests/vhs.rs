//! The language of VHS, including its oddities.

use super::*;

#[test]
fn commands_need_no_lines() {
    is("Type 'a' Enter 2 Sleep .5", &[r#"Type "a""#, "Enter 2", "Sleep 500ms"]);
    is("Type\n\"a\"\r\nSleep\n\t1\nms", &[r#"Type "a""#, "Sleep 1ms"]);
    is("Enter#c\n# only a comment\nTab # and behind", &["Enter", "Tab"]);
}

#[test]
fn a_comment_is_a_token_where_a_value_is_wanted() {
    is("Set MarginFill #ff0000\nShow", &["Set MarginFill #ff0000", "Show"]);
    assert_eq!(read("Set MarginFill #ff0000\nShow").settings.margin_fill.as_deref(), Some("ff0000"));
    assert!(read("Set MarginFill #ff0000").report().contains("quote the colour"));
    is_wrong("Sleep # 5", &[(1, 1)]);
}

#[test]
fn texts_have_no_escapes_and_end_with_their_line() {
    is(r#"Type "a\n" Type 'b"c' Type `d'e`"#, &[r#"Type "a\n""#, r#"Type 'b"c'"#, r#"Type "d'e""#]);
    is("Type \"open\nEnter", &[r#"Type "open""#, "Enter"]);
    is("Type 'open\r\nEnter", &[r#"Type "open""#, "Enter"]);
    is("Type `open", &[r#"Type "open""#]);
    assert!(read("Type 'open").report().contains("no closing quote"));
    is("Type \"\"", &[r#"Type """#]);
}

#[test]
fn a_regex_ends_at_a_slash_behind_an_even_number_of_backslashes() {
    is(r"Wait /a\/b/ Show", &[r"Wait /a\/b/", "Show"]);
    is(r"Wait /a\\/ Show", &[r"Wait /a\\/", "Show"]);
    is(r"Wait /a\\\/b/ Show", &[r"Wait /a\\\/b/", "Show"]);
    is("Wait /open\nShow", &["Wait /open/", "Show"]);
    is("Wait //", &["Wait //"]);
}

#[test]
fn json_ends_at_the_first_brace_and_may_have_lines() {
    is(
        "Set Theme { \"name\": \"x\",\n \"red\": \"#f00\" }\nShow",
        &["Set Theme { \"name\": \"x\",\n \"red\": \"#f00\" }", "Show"],
    );
    is_wrong("Set Theme { \"a\": {} }", &[(1, 21)]);
    assert_eq!(read("Set Theme {\n}\n\nFoo").errors[0].span.line, 4);
}

#[test]
fn numbers_have_no_sign() {
    let settings = read("Set Padding 5 Set LineHeight 1.5 Set LetterSpacing .5").settings;
    assert_eq!((settings.padding, settings.line_height, settings.letter_spacing), (5, 1.5, 0.5));
    is_wrong("Set Padding -5", &[(1, 13)]);
    is("Set Padding '-5'", &["Set Padding '-5'"]);
    assert_eq!(read("Set Padding '-5'").settings.padding, -5);
}

#[test]
fn words_need_no_quotes_unless_they_are_keywords() {
    is("Type ls", &[r#"Type "ls""#]);
    is("Type cargo run ./x_y-z/50%", &[r#"Type "cargo run ./x_y-z/50%""#]);
    is("Type one\n'two'\n`three`\nEnter", &[r#"Type "one two three""#, "Enter"]);
    for word in ["s", "m", "ms", "em", "px", "true", "Set", "End", "Theme", "5", "[", "-la"] {
        is_wrong(&format!("Type {word}"), &[(1, 6)]);
        is(&format!("Type '{word}'"), &[&format!("Type \"{word}\"")]);
    }
    is_wrong("Type ls s", &[(1, 9)]);
    // Words of hopty's own are plain words within a line.
    is("Type Home Expect F5 Mark", &[r#"Type "Home Expect F5 Mark""#]);
}

#[test]
fn an_illegal_character_is_not_a_command() {
    for sign in
        ["$", "<", ">", "(", ",", ";", ":", "~", "*", "&", "|", "!", "ä", "漢", "@", "=", "+", "%", "^", "\\"]
    {
        is_wrong(&format!("{sign} Show"), &[(1, 1)]);
    }
    is("Type 'ä漢 $<>'", &[r#"Type "ä漢 $<>""#]);
}

#[test]
fn a_nul_byte_ends_the_tape() {
    is("Show\0 nonsense $", &["Show"]);
    assert!(read("Show\0x").report().contains("a NUL byte ends the tape"));
    is("Type 'a\0Show", &[r#"Type "a""#, "Show"]);
}

#[test]
fn outputs_name_their_format() {
    is(
        "Output a.gif Output b.mp4 Output 'c d.txt' Output frames/ Output x.unknown",
        &[
            r#"Output "a.gif""#, r#"Output "b.mp4""#, r#"Output "c d.txt""#, r#"Output "frames/""#,
            r#"Output "x.unknown""#,
        ],
    );
    is("Output \"/tmp/a.webm\"", &[r#"Output "/tmp/a.webm""#]);
    is_wrong("Output frames", &[(1, 8)]);
    is_wrong("Output /tmp/a.gif", &[(1, 1)]);
    is_wrong("Output ~/a.gif", &[(1, 1)]);
    is_wrong("Output", &[(1, 1)]);
}

#[test]
fn require_env_copy_and_the_rest() {
    is(
        "Require git Env PORT '8080' Copy a b Paste Hide Show Screenshot s.png",
        &[
            "Require git", r#"Env PORT "8080""#, r#"Copy "a b""#, "Paste", "Hide", "Show",
            r#"Screenshot "s.png""#,
        ],
    );
    is_wrong("Env PORT 8080", &[(1, 10)]);
    is_wrong("Require 5", &[(1, 9)]);
    is_wrong("Screenshot s.jpg", &[(1, 12)]);
    is_wrong("Screenshot", &[(1, 1)]);
    is_wrong("Copy", &[(1, 5)]);
}

#[test]
fn keys_have_a_speed_and_a_count() {
    is(
        "Enter@10ms 3 Up 2 Space Tab Backspace@1 Delete Insert Escape Down Left Right PageUp PageDown",
        &[
            "Enter@10ms 3", "Up 2", "Space", "Tab", "Backspace@1s", "Delete", "Insert", "Escape", "Down",
            "Left", "Right", "PageUp", "PageDown",
        ],
    );
    is("ScrollUp 3 ScrollDown@1ms", &["ScrollUp 3", "ScrollDown@1ms"]);
    is("Enter 1.5 Up 0", &["Enter", "Up 0"]);
    is("Enter@1.2.3 2", &["Enter 2"]);
    is("Enter\n3", &["Enter 3"]);
}

#[test]
fn ctrl_takes_modifiers_first_and_one_character() {
    is("Ctrl+c", &["Key Ctrl+c"]);
    is("Ctrl+Alt+Shift+P", &["Key Ctrl+Alt+Shift+P"]);
    is("Ctrl + Shift + Alt + x", &["Key Ctrl+Alt+Shift+x"]);
    is("Ctrl+a+b", &["Ctrl+a+b"]);
    is("Ctrl+Enter Ctrl+Up Ctrl+Space", &["Key Ctrl+Enter", "Key Ctrl+Up", "Key Ctrl+Space"]);
    is(
        r"Ctrl+- Ctrl+@ Ctrl+[ Ctrl+] Ctrl+^ Ctrl+\",
        &[
            "Key Ctrl+-", "Key Ctrl+@", "Key \"Ctrl+[\"", "Key \"Ctrl+]\"", "Key \"Ctrl+^\"",
            "Key \"Ctrl+\\\"",
        ],
    );
    is("Ctrl+'_' Ctrl+. Ctrl+S", &["Key Ctrl+_", "Key Ctrl+.", "Key Ctrl+S"]);
    is("Ctrl+Shift", &["Ctrl+Shift"]);
    is_wrong("Ctrl", &[(1, 1)]);
    is_wrong("Ctrl+ab", &[(1, 6)]);
    is_wrong("Ctrl+a+Shift", &[(1, 8)]);
    assert!(read_strictly("Ctrl+s").report().contains("`Ctrl+s` is an extension"));
}

#[test]
fn alt_and_shift_take_texts() {
    is(
        "Alt+. Alt+x Shift+Tab Alt+Enter Shift+A",
        &["Key Alt+.", "Key Alt+x", "Key Shift+Tab", "Key Alt+Enter", "Key Shift+A"],
    );
    is("Alt+abc Shift+'x y'", &["Alt+\"abc\"", "Shift+\"x y\""]);
    is("Alt+[ Shift+]", &["Key \"Alt+[\"", "Key \"Shift+]\""]);
    is("Alt+'Tab' Alt+'Up'", &["Key Alt+Tab", "Ctrl+Shift"]);
    is_wrong("Alt", &[(1, 1)]);
}

#[test]
fn times_are_numbers_with_a_unit() {
    is(
        "Sleep 1 Sleep 2s Sleep 500ms Sleep 2m Sleep 1.5 Sleep 1 s Sleep 0",
        &["Sleep 1s", "Sleep 2s", "Sleep 500ms", "Sleep 120s", "Sleep 1.5s", "Sleep 1s", "Sleep 0s"],
    );
    is("Type@5 a Type@10ms 'b'", &[r#"Type@5s "a""#, r#"Type@10ms "b""#]);
    is_wrong("Sleep", &[(1, 1)]);
    is_wrong("Sleep foo", &[(1, 1)]);
    is_wrong("Type@ a", &[(1, 5)]);
    // VHS reads these but fails to play them.
    is_wrong("Sleep 1.2.3", &[(1, 7)]);
    is_wrong("Type@1.2.3 a", &[(1, 6)]);
    is_wrong("Sleep 99999999999999999999", &[(1, 7)]);
}

#[test]
fn wait_has_its_parts_in_order() {
    is("Wait", &["Wait"]);
    is(
        "Wait+Line Wait+Screen Wait@5s Wait+Screen@1 /x y/",
        &["Wait", "Wait+Screen", "Wait@5s", "Wait+Screen@1s /x y/"],
    );
    is("Wait\n/x/", &["Wait /x/"]);
    is_wrong("Wait@5s+Screen", &[(1, 8)]);
    is_wrong("Wait 5s", &[(1, 6)]);
    is_wrong("Wait+Row /x/", &[(1, 6)]);
    is_wrong("Wait@0 /x/", &[(1, 6)]);
    is_wrong("Wait /(/", &[(1, 7)]);
}

#[test]
fn settings_take_one_token() {
    let source = "Set Shell fish Set FontFamily 'Fira Code' Set FontSize 32 Set Width 800 Set Height 400 Set \
                  Framerate 30 Set PlaybackSpeed 0.5 Set LoopOffset 20% Set Margin 1 Set WindowBar Rings Set \
                  WindowBarSize 4 Set BorderRadius 8 Set CursorBlink false Set Theme Dracula Set MarginFill \
                  '#6B50FF' Set Padding 7 Set LineHeight 2 Set LetterSpacing 3 Set TypingSpeed 10ms Set \
                  WaitTimeout 2m Set WaitPattern 'a$' Set Rows 12\nSet Columns 60";
    let tape = read(source);
    assert!(tape.is_valid() && tape == read_strictly(source), "{}", tape.report());
    let settings = TapeSettings {
        shell: "fish".to_owned(),
        font_family: "Fira Code".to_owned(),
        font_size: 32,
        width: 800,
        height: 400,
        framerate: 30,
        playback_speed: 0.5,
        loop_offset: 20.0,
        margin: 1,
        window_bar: "Rings".to_owned(),
        window_bar_size: 4,
        border_radius: 8,
        cursor_blink: false,
        theme: "Dracula".to_owned(),
        margin_fill: Some("#6B50FF".to_owned()),
        padding: 7,
        line_height: 2.0,
        letter_spacing: 3.0,
        typing_speed: TapeTime::from_millis(10),
        wait_timeout: TapeTime::from_millis(120_000),
        wait_pattern: regex::TapeRegex::parse("a$").unwrap(),
        rows: Some(12),
        columns: Some(60),
        has_pixel_size: true,
        ..TapeSettings::default()
    };
    assert_eq!(tape.settings, settings);
    let last = |source: &str| read(source).settings;
    assert_eq!(last("Set LoopOffset 20% Set LoopOffset 5").loop_offset, 5.0);
    assert_eq!(last("Set WindowBar Rings Set WindowBar ''").window_bar, "");
    is(
        "Set TypingSpeed 10ms Set TypingSpeed 2 Set TypingSpeed .1s",
        &["Set TypingSpeed 10ms", "Set TypingSpeed 2s", "Set TypingSpeed 100ms"],
    );
    assert_eq!(last("Set WaitPattern /b/").wait_pattern.source(), "b");
    assert_eq!(last("Set WaitPattern c").wait_pattern.source(), "c");
    is("Set LoopOffset 20% Set Theme 'a b'", &["Set LoopOffset 20%", "Set Theme 'a b'"]);
    is_wrong("Set Font 5", &[(1, 5)]);
    is_wrong("Set", &[(1, 4)]);
    is_wrong("Set WindowBar Round", &[(1, 15)]);
    assert!(!read_strictly("Set WindowBar\n").is_valid());
    is_wrong("Set MarginFill '#12345'", &[(1, 16)]);
    is_wrong("Set CursorBlink 'true'", &[(1, 17)]);
    is_wrong("Set TypingSpeed 1m", &[(1, 18)]);
    is_wrong("Set WaitPattern '('", &[(1, 18)]);
    is_wrong("Set FontSize big", &[(1, 14)]);
}

#[test]
fn the_header_ends_at_the_first_other_command() {
    let tape = read(
        "Set Width 800\nOutput a.gif\nRequire git\nSet Height 300\nEnv A 'b'\nSet Width 900\nSet FontSize \
         huge\nRequire sh\nSet TypingSpeed 1ms\nSet Shell zsh",
    );
    let ignored: Vec<bool> = tape.steps.iter().map(|step| step.ignored).collect();
    assert_eq!(ignored, [false, false, false, false, false, true, true, true, false, false]);
    let settings = &tape.settings;
    assert_eq!((settings.width, settings.height, settings.font_size), (800, 300, 22));
    assert_eq!(settings.typing_speed, TapeTime::from_millis(50), "the header's");
    assert_eq!(settings.shell, "zsh", "VHS takes the shell from anywhere");
    assert_eq!(tape.warnings.len(), 3, "{}", tape.report());
    assert!(tape.report().contains("settings come before every other command"));
}

#[test]
fn the_defaults_are_those_of_vhs() {
    let settings = read("Show").settings;
    assert_eq!(settings, TapeSettings::default());
    assert_eq!((settings.width, settings.height, settings.padding, settings.font_size), (1200, 600, 60, 22));
    assert_eq!(settings.wait_pattern.source(), ">$");
    assert_eq!(settings.wait_timeout.as_millis(), 15_000);
}

#[test]
fn the_size_of_the_screen() {
    for (source, size) in [
        ("Show", (80, 24)),
        ("Set TypingSpeed 1ms", (80, 24)),
        ("Set Width 1200", (77, 21)),
        ("Set FontSize 22", (77, 21)),
        ("Set Width 1200 Set Rows 40", (77, 40)),
        ("Set Rows 12 Set Columns 60", (60, 12)),
        ("Set Rows 12", (80, 12)),
        ("Set Padding 0", (85, 27)),
        ("Set Margin 10 Set WindowBar Rings", (75, 19)),
        ("Set FontSize 32 Set LineHeight 1.5 Set LetterSpacing 0", (60, 10)),
        ("Set Width 1", (1, 21)),
        ("Set FontSize 0 Set LetterSpacing 0", (1000, 480)),
        ("Set Width 99999999999999", (1000, 21)),
    ] {
        assert_eq!(read(source).settings.grid_size(), size, "{source}");
    }
}

#[test]
fn source_puts_commands_in_its_place() {
    let files = shelf(&[
        ("setup.tape", "Output wrong.gif\nSet Width 800\nType 'in'"),
        ("outer.tape", "Source setup.tape\nTab"),
        ("loop.tape", "Source loop.tape"),
        ("empty.tape", ""),
        ("broken.tape", "Show\nFoo"),
    ]);
    let read = |source: &str| parse("a.tape", source.as_bytes(), ParseOptions::default(), &files);
    let tape = read("Output a.gif\nSource setup.tape\nSet Height 1\nEnter");
    assert_eq!(lines(&tape), [r#"Output "a.gif""#, "Set Width 800", r#"Type "in""#, "Set Height 1", "Enter"]);
    assert!(tape.steps[3].ignored, "the file has a command that ends the header");
    assert_eq!(tape.steps[2].span.to_string(), "setup.tape:3:1");
    // VHS refuses this with its own words: it looks for `Source` in what it has inserted.
    assert_eq!(lines(&read("Source outer.tape")), ["Set Width 800", r#"Type "in""#, "Tab"]);
    for (source, message) in [
        ("Source none.tape", "cannot be read: no such file"),
        ("Source empty.tape", "is empty"),
        ("Source loop.tape", "this file is being read: a.tape → loop.tape → loop.tape"),
        ("Source setup.txt", "files that end in .tape"),
        ("Source", "needs the path of a tape"),
        ("Source broken.tape", "there is no command `Foo`"),
    ] {
        let tape = read(source);
        assert!(tape.report().contains(message), "{source}: {}", tape.report());
    }
    assert_eq!(read("Source broken.tape").errors[0].span.to_string(), "broken.tape:2:1");
}

#[test]
fn every_command_is_read_again() {
    again(&read(
        "Output a.gif Require git Env A 'b' Type@1ms 'x' Enter 3 Up@1s Ctrl+c Ctrl+a+b Alt+abc Shift+Tab \
         ScrollUp 2 \
         Sleep 1.5 Wait+Screen@5s /a\\/b/ Hide Show Screenshot s.png Copy 'c' Paste",
    ));
}
