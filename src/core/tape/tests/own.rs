//! hopty's additions to the language.

use super::*;

#[test]
fn programs_and_files() {
    is_own("Start vim -Nu NONE notes.txt # edit", &["Start vim -Nu NONE notes.txt"]);
    is_own(
        "Start sh -c 'a | b' $\"${DIR}/x\" --flag=\"a b\"",
        &["Start sh -c \"a | b\" $\"${DIR}/x\" \"--flag=a b\""],
    );
    is_own("Start+Shell \"printf 'a' | cat\"", &["Start+Shell \"printf 'a' | cat\""]);
    is_own("Run 'git init'", &[r#"Run "git init""#]);
    is_own("File a.txt 'x'", &[r#"File a.txt "x""#]);
    is_own("File a.txt <<END\none\n\n  two\nEND\nShow", &[r#"File a.txt $"one\n\n  two\n""#, "Show"]);
    is_own("File a.txt $<<X\r\n\\e[1m${HOME}\r\nX\r\n", &[r#"File a.txt $"\e[1m${HOME}\n""#]);
    is_own("Copy+File fixtures/project .", &["Copy+File fixtures/project ."]);
    is_own("Copy+File a.txt", &["Copy+File a.txt"]);
    is_own("On second\nAttach rocket Detach", &["On second", "Attach rocket", "Detach"]);
}

#[test]
fn keys_that_vhs_does_not_have() {
    is_own("Home@5ms 2 End F5 F12", &["Home@5ms 2", "End", "F5", "F12"]);
    is_own(
        "Ctrl+Tab Ctrl+s Ctrl+1 Ctrl+/ Ctrl+_ Ctrl+Shift+F5 Ctrl+Home",
        &[
            "Key Ctrl+Tab", "Key Ctrl+s", "Key Ctrl+1", "Key Ctrl+/", "Key Ctrl+_", "Key Ctrl+Shift+F5",
            "Key Ctrl+Home",
        ],
    );
    is_own(
        "Shift+Left 3 Alt+Left@1ms Alt+Shift+Up Alt+s Shift+1",
        &["Key Shift+Left 3", "Key@1ms Alt+Left", "Key Alt+Shift+Up", "Key Alt+s", "Key Shift+1"],
    );
    is_own("Ctrl+Left@10ms 4", &["Key@10ms Ctrl+Left 4"]);
    is_own(
        "Key ctrl-shift-tab Key alt-enter Key é Key ctrl--",
        &["Key Ctrl+Shift+Tab", "Key Alt+Enter", "Key é", "Key Ctrl+-"],
    );
    is_own(
        "Key+Down w Key+Up w Key@5ms down 3 Super+x",
        &["Key+Down w", "Key+Up w", "Down@5ms 3", "Key Super+x"],
    );
    // In VHS these press the letters of the name.
    assert_eq!(lines(&read("Alt+F4 Shift+Home")), ["Key Alt+F4", "Key Shift+Home"]);
    assert_eq!(read_strictly("Alt+F4").warnings.len(), 1);
}

#[test]
fn the_mouse_and_the_window() {
    is_own("Click 'OK'", &[r#"Click "OK""#]);
    is_own("Click 3,10 right x2 Ctrl+Shift+", &["Click 3,10 right x2 Ctrl+Shift+"]);
    is_own("Drag 'a' to 5,20 middle\nDrag 1,1 2,2", &[r#"Drag "a" to 5,20 middle"#, "Drag 1,1 to 2,2"]);
    is_own("Wheel down 3 at /list/ Wheel Up", &["Wheel Down 3 at /list/", "Wheel Up 1"]);
    is_own(
        "Hover 'x' Focus In Focus out Resize 120x40",
        &[r#"Hover "x""#, "Focus In", "Focus Out", "Resize 120x40"],
    );
    is_own("Signal SIGTERM Signal int", &["Signal TERM", "Signal INT"]);
    is_own("Raw $\"\\e[<0;1;1M\"", &[r#"Raw $"\e[<0;1;1M""#]);
    is_own("Paste 'a'\nPaste <<X\na\nb\nX", &[r#"Paste "a""#, r#"Paste $"a\nb""#]);
}

#[test]
fn waits() {
    is_own("Expect '3/3' Enter", &[r#"Expect "3/3""#, "Enter"]);
    is_own(
        "Expect+Row 4@2s /^four$/\nExpect@2s+Row 4 /x/",
        &["Expect+Row@2s 4 /^four$/", "Expect+Row@2s 4 /x/"],
    );
    is_own(
        "Expect+Line 'a' Expect+History 'b' Expect+Title 'c' Expect+Clipboard 'd'",
        &[r#"Expect+Line "a""#, r#"Expect+History "b""#, r#"Expect+Title "c""#, r#"Expect+Clipboard "d""#],
    );
    is_own(
        "Expect+Region logs x2 'a' Expect+Region 3,1 10x80@1 'b'",
        &[r#"Expect+Region logs x2 "a""#, r#"Expect+Region@1s 3,1 10x80 "b""#],
    );
    is_own("Expect+Not+Line@1m30s 'a' Expect+Not 'b'", &[r#"Expect+Not+Line@90s "a""#, r#"Expect+Not "b""#]);
    is_own("Expect <<END\na\nb\nEND", &[r#"Expect $"a\nb""#]);
    is_own(
        "Gone 'a' Gone+Row 3 /b/ Gone@2s+Region logs 'c'",
        &[r#"Gone "a""#, "Gone+Row 3 /b/", r#"Gone+Region@2s logs "c""#],
    );
    is_own(
        "Settle Settle@5s 100ms except logs except 1,1 1x80 Enter",
        &["Settle", "Settle@5s 100ms except logs except 1,1 1x80", "Enter"],
    );
    is_own("Ready@10s Status 1 Ready", &["Ready@10s", "Status 1", "Ready"]);
    is_own("Exit 0\nExit@2s TERM", &["Exit 0", "Exit@2s TERM"]);
    is_own("Wait 'text'", &[r#"Wait "text""#]);
    is_own("Wait+Screen@5s $\"\\u{e9}\"", &[r#"Wait+Screen@5s "é""#]);
    is_own("Sleep 1m30s", &["Sleep 90s"]);
}

#[test]
fn checks() {
    is_own(
        "Snapshot edited\nSnapshot b logs +Style +Cursor +History\nSnapshot c 1,1 2x3",
        &["Snapshot edited", "Snapshot b logs +Style +Cursor +History", "Snapshot c 1,1 2x3"],
    );
    is_own(
        "Style 'ERROR' fg=red bg=default bold !underline row=3",
        &[r#"Style "ERROR" fg=red bg=default bold !underline row=3"#],
    );
    is_own(
        "Style@1s logs fg=bright-blue bg=#FF8700 all underline=curly",
        &["Style@1s logs fg=bright-blue bg=#ff8700 underline=curly all"],
    );
    is_own(
        "Style /x/ fg=12 fg=208 fg=gray dim italic blink reverse hidden strike link='https://x'",
        &["Style /x/ fg=bright-blue fg=208 fg=bright-black dim italic blink reverse hidden strike \
             link=\"https://x\""],
    );
    is_own(
        "Cursor 4,5 bar hidden\nCursor@1s block visible",
        &["Cursor 4,5 bar hidden", "Cursor@1s block visible"],
    );
    is_own(
        "Title 'vim' Bell 2 Mode ?1049 on Mode@1s 4 off",
        &[r#"Title "vim""#, "Bell 2", "Mode ?1049 on", "Mode@1s 4 off"],
    );
    is_own(
        "Region logs 3,1 10x80 Region menu box 'Menu'",
        &["Region logs 3,1 10x80", r#"Region menu box "Menu""#],
    );
    is_own(
        "Expect+File out.txt /^banana$/ Expect+Not+File 'a b' 'x'",
        &["Expect+File out.txt /^banana$/", r#"Expect+Not+File "a b" "x""#],
    );
}

#[test]
fn claude_and_the_model() {
    is_own(
        "Claude --model opus 'a b'\nClaude\nClaude+StandIn -c\nClaude+Hopty\nClaude+Hopty+StandIn -c",
        &[
            "Claude --model opus \"a b\"", "Claude", "Claude+StandIn -c", "Claude+Hopty",
            "Claude+StandIn+Hopty -c",
        ],
    );
    is_own(
        "Model text 'done' tokens=90000 after=300ms over=2s",
        &[r#"Model text "done" tokens=90000 after=300ms over=2s"#],
    );
    is_own("Model Bash 'rm -rf build'", &[r#"Model Bash "rm -rf build""#]);
    is_own(
        "Model text 'a' tool Edit {\"a\": {\"b\": [1,\n 2]}} Bash 'c'",
        &[r#"Model text "a" tool Edit {"a":{"b":[1,2]}} Bash "c""#],
    );
    is_own(
        "Model error 529 overloaded_error 'busy' header retry-after '5'",
        &[r#"Model error 529 overloaded_error "busy" header retry-after "5""#],
    );
    is_own("Plugin ./my-plugin", &["Plugin ./my-plugin"]);
    is_own(
        "Expect+Request 2 /denied/ Expect+Request@2s 'x'",
        &["Expect+Request 2 /denied/", r#"Expect+Request@2s "x""#],
    );
    is_own(
        "Expect+Hook PreToolUse exit=2 /not allowed/ payload.tool_input.command=\"rm -rf build\"",
        &["Expect+Hook PreToolUse exit=2 /not allowed/ payload.tool_input.command=\"rm -rf build\""],
    );
    is_own("Expect+Hook@3s Stop\nExpect+Hook 2 Stop", &["Expect+Hook@3s Stop", "Expect+Hook 2 Stop"]);
    is_own(
        "Expect+State idle Expect+State@9s busy Expect+Statusline '42 %'",
        &["Expect+State idle", "Expect+State@9s busy", r#"Expect+Statusline "42 %""#],
    );
}

#[test]
fn what_a_person_sees() {
    is_own(
        "Mark 'saved' Caption 'Save' State s.json Pause",
        &[r#"Mark "saved""#, r#"Caption "Save""#, "State s.json", "Pause"],
    );
    is_own(
        "Screenshot a.svg Screenshot b.txt Screenshot c.ansi Screenshot d.json",
        &[
            r#"Screenshot "a.svg""#, r#"Screenshot "b.txt""#, r#"Screenshot "c.ansi""#,
            r#"Screenshot "d.json""#,
        ],
    );
}

#[test]
fn settings_of_hopty() {
    is_own(
        "Set Term xterm-kitty Set Timezone Europe/Berlin Set Locale de_DE.UTF-8 Set Home keep Set Deadline \
         2m Set Settle 100ms \
         Set ExpectTimeout 10s Set Speed real Set Redact /id=\\d+/ 'id=[ID]' Set Retry 2 Set Needs core Set \
         Needs net \
         Set Leftovers allow Set Wait fresh",
        &[
            "Set Term xterm-kitty",
            "Set Timezone Europe/Berlin",
            "Set Locale de_DE.UTF-8",
            "Set Home keep",
            "Set Deadline 2m",
            "Set Settle 100ms",
            "Set ExpectTimeout 10s",
            "Set Speed real",
            "Set Redact /id=\\d+/ 'id=[ID]'",
            "Set Retry 2",
            "Set Needs core",
            "Set Needs net",
            "Set Leftovers allow",
            "Set Wait fresh",
        ],
    );
    let source = "Set Term xterm-kitty Set Timezone Europe/Berlin Set Locale de_DE.UTF-8 Set Home keep Set \
                  Deadline 2m Set Settle 100ms Set ExpectTimeout 10s Set Retry 2 Set Leftovers allow Set Wait \
                  fresh";
    let settings = TapeSettings {
        term: "xterm-kitty".to_owned(),
        timezone: "Europe/Berlin".to_owned(),
        locale: "de_DE.UTF-8".to_owned(),
        home: TapeHome::Keep,
        deadline: Some(TapeTime::from_millis(120_000)),
        settle: TapeTime::from_millis(100),
        expect_timeout: TapeTime::from_millis(10_000),
        retry: Some(2),
        leftovers: TapeLeftovers::Allow,
        wait: WaitRule::Fresh,
        ..TapeSettings::default()
    };
    assert_eq!(read(source).settings, settings);
    let settings = read("Set Needs net Set Redact 'a.b' 'X' Set Speed fast").settings;
    assert_eq!(settings.needs, [TapeNeed::Net]);
    assert_eq!(settings.speed, Some(TapeSpeed::Fast));
    let regex = settings.redactions[0].0.compile(false).unwrap();
    assert!(regex.is_match("a.b") && !regex.is_match("axb"));
}

#[test]
fn a_comment_with_an_arrow_is_a_command_also_for_vhs() {
    is(
        "#> Set Deadline 5s\n#>not this\n# > nor this\n  #> Type a b # c\nEnter #> Expect 'x' Tab\nShow",
        &["Set Deadline 5s", "Type \"a b\"", "Enter", "Expect \"x\"", "Tab", "Show"],
    );
    is("#> File a <<END\n#> one\n#>\n#>   two\n#> END\nShow", &[r#"File a $"one\n\n  two\n""#, "Show"]);
    is_wrong("#> Type a\n'b'", &[(2, 1)]);
    is_wrong("#> Expekt 'b'\nShow\n#> File a <<END\nb\nEND", &[(1, 4), (3, 11), (4, 1), (5, 1)]);
}

#[test]
fn words_of_a_text_end_before_a_line_of_hopty() {
    let source = "Type 'Go'\nExpect 'x'\nType a\n  Home\nCopy b\nMark 'c'";
    let commands = [r#"Type "Go""#, r#"Expect "x""#, r#"Type "a""#, "Home", r#"Copy "b""#, r#"Mark "c""#];
    assert_eq!(lines(&read(source)), commands);
    let strict = read_strictly("Type 'Go'\nExpect 'x'");
    assert_eq!(lines(&strict), [r#"Type "Go Expect x""#]);
    assert!(strict.report().contains("`Expect` is typed here, since VHS does not have such a command"));
    assert!(read("Type 'x' Home").report().contains("as a command it needs a line of its own"));
    assert!(read("Type make Home").warnings.is_empty());
}

#[test]
fn texts_with_escapes_and_variables() {
    let tape = read(r#"Type $"a\tb\x1b\u{1F600}\$\\\" ${USER} $5" Env A $"${HOME}/x""#);
    let TapeCommand::Type { text, .. } = &tape.steps[0].command else { panic!("{tape:?}") };
    assert_eq!(text.as_str(), "a\tb\u{1b}😀$\\\" ${USER} $5");
    let resolved = text.resolve(|name| (name == "USER").then(|| "${x}".to_owned()));
    assert_eq!(resolved.as_deref(), Ok("a\tb\u{1b}😀$\\\" ${x} $5"));
    assert_eq!(text.resolve(|_| None), Err("USER".to_owned()));
    again(&tape);
    // An escaped dollar sign starts no variable.
    again(&read(r#"Type $"\${A} ${B}" Type '${A}' Type $"'`\"\${A}""#));
}

#[test]
fn which_commands_check() {
    let tape = read("Type 'a' Wait /x/ Sleep 1\nExpect 'b'\nExit 0\nSnapshot c\nKey x\nSettle\nCtrl+Shift");
    let checks: Vec<bool> = tape.steps.iter().map(|step| step.command.is_check()).collect();
    assert_eq!(checks, [false, false, false, true, true, true, false, false, false]);
    assert!(tape.has_checks());
    assert!(!read("Type 'a' Wait /x/").has_checks());
}
