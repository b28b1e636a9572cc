use super::*;

fn matches(source: &str, text: &str) -> bool {
    TapeRegex::parse(source)
        .unwrap_or_else(|e| panic!("{source}: {e}"))
        .compile(false)
        .unwrap()
        .is_match(text)
}

#[test]
fn the_meaning_is_that_of_go() {
    for (source, yes, no) in [
        (r"^a$", "a", "b\na"),
        (r"(?m)^a$", "b\na", "ab"),
        (r"a.b", "axb", "a\nb"),
        (r"(?s)a.b", "a\nb", "ab"),
        (r"^\s$", " ", "\u{b}"),
        (r"^\S$", "\u{b}", " "),
        (r"^\d$", "5", "٣"),
        (r"^[\w-]+$", "a-_9", "é"),
        (r"^[\W]$", "é", "_"),
        (r"^[a&&b]+$", "a&b", "c"),
        (r"^[+--b]+$", "b,", "a"),
        (r"^[]a]+$", "]a", "b"),
        (r"^[^]a]$", "b", "]"),
        (r"^[a-]$", "-", "b"),
        (r"^[[a]$", "[", "b"),
        (r"^[[:upper:]\d]+$", "A1", "a"),
        (r"^[[:^digit:]]$", "a", "1"),
        (r"^\<\>$", "<>", "a"),
        (r"\bfoo\b", "a foo b", "foot"),
        (r"^a{2}$", "aa", "a"),
        (r"^a{,2}$", "a{,2}", "aa"),
        (r"^a{x$", "a{x", "ax"),
        (r"^x{0}y$", "y", "xy"),
        (r"^\Qa.b\E+$", "a.bb", "axb"),
        (r"^\Qa*", "a*", "aa"),
        (r"^\x41\x{42}\103$", "ABC", "abc"),
        (r"^\a\f\t\n\r\v$", "\u{7}\u{c}\t\n\r\u{b}", ""),
        (r"(?i)straße", "STRAßE", "strasse"),
        (r"(?i)^é$", "É", "e"),
        (r"(?i)^[à-ý]$", "É", "e"),
        (r"^\p{Greek}\pL$", "ωé", "oé"),
        (r"^\p{^Lu}\P{Lu}\PN$", "aaa", "aAa"),
        (r"^[\p{Greek}\d]+$", "ω5", "o"),
        (r"^[^\p{L}]\p{Any}$", "5é", "aé"),
        (r"(?i)^\W$", "é", "\u{17f}"),
        (r"(?i)^\w$", "\u{17f}", "é"),
        (r"\bé", "aé", "é"),
        (r"(?i:a)b", "Ab", "AB"),
        (r"^(?i)[a-c\x41-\x{43}x]+$", "CbX", "d"),
        (r"^(?P<n>a)(?<m>b)$", "ab", "a"),
        (r"^(|a)b$", "b", "c"),
        (r"^(?U)a+?$", "aa", ""),
        (r"a\/b", "a/b", "a\\/b"),
        (r"^}]$", "}]", ""),
        (r"^[\x00-\x{10FFFF}]$", "\n", ""),
        (r"(?)a", "a", "b"),
    ] {
        assert!(matches(source, yes), "{source} should match {yes:?}");
        assert!(no.is_empty() || !matches(source, no), "{source} should not match {no:?}");
    }
}

#[test]
fn expressions_that_go_refuses_are_refused() {
    for (source, at, message) in [
        ("(", 0, "not closed"),
        ("a)", 1, "closes no group"),
        ("*a", 0, "nothing to repeat"),
        ("(*)", 1, "nothing to repeat"),
        ("a|+", 2, "nothing to repeat"),
        ("a**", 2, "repetition of a repetition"),
        ("a*??", 3, "repetition of a repetition"),
        ("a{2}{3}", 4, "repetition of a repetition"),
        ("a{1001}", 1, "over 1000"),
        ("a{5,2}", 1, "swapped"),
        ("(a{100}){100}", 8, "in one another"),
        ("[a", 0, "not closed"),
        ("[]", 0, "not closed"),
        ("[z-a]", 1, "swapped"),
        ("[[:foo:]]", 1, "no class"),
        (r"\p{Greeks}", 0, "no class"),
        (r"\p{greek}", 0, "no class"),
        (r"\p{Alphabetic}", 0, "no class"),
        (r"\p{L", 0, "no class"),
        (r"a\p", 1, "no class"),
        (r"[\Pq]", 1, "no class"),
        (r"\1", 0, "back references"),
        (r"a\", 1, "nothing behind"),
        (r"\e", 0, "no escape"),
        (r"\C", 0, "no escape"),
        (r"\x{110000}", 0, "not a character number"),
        (r"\x4", 0, "not a character number"),
        ("(?=a)", 0, "lookahead"),
        ("(?<=a)", 0, "lookbehind"),
        ("(?x)a", 0, "flags"),
        ("(?i", 0, "flags"),
        ("(?i-)a", 0, "flags"),
        ("(?P<a>x)(?P<a>y)", 8, "two groups"),
    ] {
        let error = TapeRegex::parse(source).expect_err(source);
        assert!(
            error.at == at && error.message.contains(message),
            "{source}: {} {}",
            error.at,
            error.message
        );
    }
}

#[test]
fn lines_make_edges_of_rows() {
    let regex = TapeRegex::parse("^b$").unwrap();
    assert!(!regex.compile(false).unwrap().is_match("a\nb\nc"));
    assert!(regex.compile(true).unwrap().is_match("a\nb\nc"));
}

#[test]
fn size_is_bounded() {
    for source in [
        "((a{30}){30}){30}",
        &"(?:".repeat(300),
        &"(a|b){1000}".repeat(40),
        &"[a-z]".repeat(90_000),
        &"x{1000}".repeat(6),
    ] {
        assert!(TapeRegex::parse(source).is_err(), "{}", source.len());
    }
    assert!(TapeRegex::parse(&"(a".repeat(100)).is_err());
    assert!(TapeRegex::parse(&format!("{}{}", "(a".repeat(150), ")".repeat(150))).is_ok());
    assert!(TapeRegex::parse("x{1000}").is_ok());
}
