//! Messages about mistakes.

use super::*;

#[test]
fn the_nearest_word_is_named() {
    for (source, message) in [
        ("Tpye 'a'", "1:1: there is no command `Tpye` (did you mean `Type`?)"),
        ("Show\nExpekt 'a'", "2:1: there is no command `Expekt` (did you mean `Expect`?)"),
        ("FontSize 5", "1:1: there is no command `FontSize` (write `Set FontSize`)"),
        ("fontsize 5", "1:1: there is no command `fontsize` (did you mean `Set FontSize`?)"),
        ("Set Fontsize 5", "1:5: there is no setting `Fontsize` (did you mean `FontSize`?)"),
        ("Set Deadlin 5", "1:5: there is no setting `Deadlin` (did you mean `Deadline`?)"),
        ("'text'", "1:1: a command was expected, not `'text'` (write `Type` before a text to type it)"),
        ("Type s", "1:6: `Type` needs a text (quote it: \"s\")"),
        ("Env PORT 8080", "1:10: the value of `Env PORT` must be a text (quote it: \"8080\")"),
        ("Require gdb gcc", "1:13: there is no command `gcc` (one program a line: Require gcc)"),
        (
            "Exit zero",
            "1:6: `zero` is neither an exit status nor a signal (a number up to 255, or a name such as TERM)",
        ),
        ("Click OK", "1:7: `OK` is not a cell (row and column, from 1: 4,12; a text in quotes: \"OK\")"),
        ("Wait+Scren /a/", "1:6: `Wait+` is followed by Line or Screen (did you mean `Wait+Screen`?)"),
        ("Wait+line", "1:6: `Wait+` is followed by Line or Screen (did you mean `Wait+Line`?)"),
        ("Wait+Row /a/", "1:6: `Wait+` is followed by Line or Screen"),
        ("Gone+Titel 'a'", "1:6: `Gone` has no `+Titel` (did you mean `+Title`?)"),
        ("Start+Shel 'a'", "1:7: `Start+` is followed by Shell"),
        ("Expect+Lin 'a'", "1:8: `Expect` has no `+Lin` (did you mean `+Line`?)"),
        ("Key ctrl-entre", "1:5: there is no key `entre` (did you mean `Enter`?)"),
        ("Alt+#", "1:5: a key is missing after `+` (`#` begins a comment here; `Key alt-#` presses it)"),
        ("Signal TREM", "1:8: there is no signal `TREM` (did you mean `TERM`?)"),
        (
            "Style 'a' red",
            "1:11: `Style` has no option `red` (a colour of the text is `fg=red`, of the ground `bg=red`)",
        ),
        ("Sleep 1min", "1:8: there is no command `min` (times are written 500ms, 2s, 1m or 1m30s)"),
        (
            r#"Type "it's \"quoted\"""#,
            "1:20: a command was expected, not `\\` (a text has no escapes: use other quotes ('…' or `…`), or \
             $\"…\")",
        ),
        (
            "Set MarginFill “#674EFF”",
            "1:16: `“` begins no value (a text stands in quotes such as \"…\" or '…')",
        ),
        ("Style 'a' bolt", "1:11: `Style` has no option `bolt` (did you mean `bold`?)"),
        (
            "Style 'a' fg=rot",
            "1:11: there is no colour `rot` (default, red, bright-red, 208, or six digits as in #ff8700)",
        ),
        (
            "Expect 'a' and 'b'",
            "1:12: there is no command `and` (a command has one text or regex: write a line for each)",
        ),
        (
            "Key ctrl-nope",
            "1:5: there is no key `nope` (keys are called a, enter, f5, ctrl-c, alt-shift-left)",
        ),
        ("Expect+State sleepy", "1:14: `sleepy` is not a state (busy, idle, blocked)"),
    ] {
        assert_eq!(error(source), message, "{source}");
    }
}

#[test]
fn a_misspelt_command_behind_a_text_is_an_error_unless_the_tape_is_one_of_vhs() {
    let own = "Start cat\nType \"yes\"\nEntre\nExspect \"all is well\"\nCopy \"abc\"\nSnapshto end";
    let tape = read(own);
    let told: Vec<(u32, &str)> = tape
        .errors
        .iter()
        .map(|error| (error.span.line, error.hint.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        told,
        [
            (3, "did you mean `Enter`? Quote it to type it: \"Entre\""),
            (4, "did you mean `Expect`? Quote it to type it: \"Exspect\""),
            (6, "did you mean `Snapshot`? Quote it to type it: \"Snapshto\""),
        ],
        "{}",
        tape.report()
    );
    assert_eq!(
        error("Type\nentr\n#> Expect 'x'"),
        "2:1: `entr` is text here, not a command (did you mean `Enter`? Quote it to type it: \"entr\")"
    );
    // A tape of VHS types the same text as in VHS, with a warning.
    let vhs = "Type 'yes'\nEntre\nSleep 1";
    is(vhs, &["Type \"yes Entre\"", "Sleep 1s"]);
    assert!(read(vhs).report().contains("`Entre` is text here, not a command"));
    // Text that starts no line, resembles no command, or is quoted stays text.
    for text in ["Start cat\nType a Entre", "Start cat\nType a\nmake\ncd", "Start cat\nType a\n'Entre'"] {
        let tape = read(text);
        assert!(tape.errors.is_empty() && tape.warnings.is_empty(), "{text}\n{}", tape.report());
    }
}

#[test]
fn a_command_after_a_comment_mark_without_a_blank_is_reported() {
    for text in ["#>Expect 'zzz'", "#>Enter", "#>\tHome"] {
        let tape = read(&format!("Show\n{text}"));
        assert_eq!(tape.steps.len(), 1, "{text}");
        let warnings: Vec<&str> = tape.warnings.iter().map(|warning| warning.message.as_str()).collect();
        assert!(warnings.len() == 1 && warnings[0].contains("stands behind `#> `"), "{text}: {warnings:?}");
    }
    assert!(read("Show\n#>\n#>>> Expect\n#>expected\n# >Expect").warnings.is_empty());
}

#[test]
fn a_byte_order_mark_begins_no_command() {
    let tape = read("\u{feff}Show\nFoo");
    assert_eq!(
        (tape.steps.len(), tape.errors.len(), tape.errors[0].span.line),
        (1, 1, 2),
        "{}",
        tape.report()
    );
    assert_eq!(read_strictly("\u{feff}Show").errors.len(), 1, "as VHS has it");
}

#[test]
fn a_missing_argument_is_named() {
    for (source, message) in [
        ("Expect", "1:1: `Expect` needs a \"text\" or a /regex/ (for example \"text\")"),
        ("Expect # nothing", "1:1: `Expect` needs a \"text\" or a /regex/ (for example \"text\")"),
        (
            "Expect three words",
            "1:8: a \"text\" or a /regex/ was expected, not `three` (quote it: \"three words\")",
        ),
        ("Start", "1:1: `Start` needs a program"),
        (
            "Start a | b",
            "1:9: `Start` runs no shell, to which `|` belongs (write Start+Shell \"…\", or quote it)",
        ),
        ("Expect 'open", "1:8: this text has no closing quote"),
        ("Expect /open", "1:8: this regex has no closing slash (a slash in a regex is written \\/)"),
        ("Expect /x/i", "1:11: a regex has no flags behind it (write (?i) at its beginning)"),
        ("Expect ''", "1:8: an empty text is everywhere"),
        ("Expect 'a'b", "1:11: a blank is missing before `b`"),
        ("Expect@x 'a'", "1:7: `x` is not a time (for example @500ms, @2s, @1m30s)"),
        (
            "File a <<END\nx\n END\n",
            "1:8: no line `END` ends this text (the line holds nothing else, not even blanks)",
        ),
        (
            "Type $\"a\\q\"",
            "1:9: there is no escape `\\q` (the escapes are \\n \\r \\t \\e \\a \\b \\0 \\\\ \\\" \\$ \\xNN \
             \\u{NNNN})",
        ),
        ("Type $\"${}\"", "1:8: `` is not a variable name (write `\\$` for a dollar sign in `$\"…\"`)"),
        ("Expect /\\p{Greeks}/", "1:9: there is no class `\\p{Greeks}`"),
        ("Exit", "1:1: `Exit` needs an exit status or the name of a signal (for example Exit 0, Exit TERM)"),
        ("Exit 256", "1:6: an exit status is a number from 0 to 255, not `256`"),
        ("Resize 0x40", "1:8: `0x40` is not a size (columns and rows up to 1000: 120x40)"),
        (
            "Snapshot ../x",
            "1:10: `../x` is not a name (letters, digits, `-`, `_` and `.`, beginning with a letter or digit)",
        ),
        (
            "Model",
            "1:1: `Model` needs text \"…\", Bash \"…\", tool NAME {…} or error STATUS TYPE \"…\" (for \
             example Model text \"done\")",
        ),
        ("Model tool Edit {x}", "1:17: not JSON: key must be a string at line 1 column 2"),
        (
            "Mode 1049",
            "1:1: `Mode` needs `on` or `off` (for example Mode ?1049 on, Mode 4 off; a private mode has a `?`)",
        ),
        ("Require\nType 'a'", "1:1: `Require` needs the name of a program (for example Require git)"),
        ("Show\nSet Deadline 5", "2:5: `Set Deadline` comes too late (settings come before all commands)"),
    ] {
        assert_eq!(error(source), message, "{source}");
    }
}

#[test]
fn a_report_shows_the_line_and_the_place() {
    let tape = parse(
        "dir/a\u{1b}.tape",
        "Show\n\tType 'ü' Sleep fast\n".as_bytes(),
        ParseOptions::default(),
        &Shelf::default(),
    );
    assert_eq!(
        tape.report(),
        "dir/a\\u{1b}.tape:2:11: error: a time is missing after `Sleep`\n 2 |  Type 'ü' Sleep fast\n   \
         |           ^^^^^\n   \
         = hint: for example 500ms, 2s\n"
    );
}

#[test]
fn a_mistake_is_reported_once_and_one_on_the_next_line_too() {
    is_wrong("$ a | b > c\nShow\nFoo bar 'x' 5\nEnter ~ 'x'", &[(1, 1), (3, 1), (4, 7)]);
    // A valid command in between resets that.
    is_wrong("~ Show ~", &[(1, 1), (1, 8)]);
}

#[test]
fn control_characters_are_shown_safely() {
    let long = "\u{1b}]0;x\u{7}\u{202e}".repeat(2000);
    for source in [
        format!("{long} Show"),
        format!("Type 'a' {long}"),
        format!("Expect+{long}"),
        format!("Start {long} |"),
    ] {
        let report = read(&source).report();
        assert!(!report.is_empty() && report.len() < 4000, "{}", report.len());
        assert!(report.chars().all(|c| c == '\n' || !crate::core::text::visible::is_hidden(c)), "{report:?}");
    }
}

#[test]
fn a_hostile_tape_is_read_in_bounded_time_and_space() {
    let many = "Foo\n".repeat(200_000);
    let tape = read(&many);
    assert_eq!(tape.errors.len(), 101);
    assert!(tape.report().contains("too many errors"));
    assert!(read(&" ".repeat(5 << 20)).report().contains("larger than 4 MiB"));
    assert!(read(&"Enter ".repeat(60_000)).report().contains("more than 50000 commands"));
    for source in [
        "\"", "a ", "Type ", "Expect '", "#> ", "Ctrl+", "Start ", "Type a\nHome ", "/\\", "{", "$\"",
        "File a <<X\n", "Model tool A [[",
    ] {
        let long = source.repeat((1 << 20) / source.len());
        let tape = read(&long);
        assert!(tape.errors.len() <= 101 && tape.warnings.len() <= 100, "{source}");
    }
}

#[test]
fn files_that_name_one_another_are_bounded() {
    struct Endless;
    impl TapeFiles for Endless {
        fn read(&self, path: &str) -> Result<Vec<u8>, String> {
            let n: u32 = path.trim_end_matches(".tape").parse().map_err(|_| "no number".to_owned())?;
            Ok(format!("Source {}.tape\nSource {}.tape\nEnter", 2 * n, 2 * n + 1).into_bytes())
        }
    }
    // An unquoted file name must start with a letter or a dot.
    let tape = parse("a.tape", b"Source '1.tape'", ParseOptions::default(), &Endless);
    assert!(!tape.is_valid() && tape.errors.len() <= 101);
    struct Deep;
    impl TapeFiles for Deep {
        fn read(&self, path: &str) -> Result<Vec<u8>, String> {
            Ok(format!("Source x{path} Source y{path}").into_bytes())
        }
    }
    let tape = parse("a.tape", b"Source b.tape", ParseOptions::default(), &Deep);
    assert!(tape.report().contains("deeper than 16 files"), "{}", tape.report());
    assert!(tape.errors.len() <= 101);
}
