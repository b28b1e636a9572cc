//! What surrounds a line in a transcript: quotes of other formats, diffs, numbers, colours, line ends.

/// A form in which a text is written. The secret is written in the same form if its characters change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrap {
    Plain,
    Lines,
    Added,
    Removed,
    Numbered,
    Found,
    Quoted,
    Indented,
    Fenced,
    Json,
    JsonTwice,
    CarriageReturns,
    Coloured,
    ColouredJson,
    Comment,
}

impl Wrap {
    pub(super) const ALL: [Wrap; 15] = [
        Wrap::Plain,
        Wrap::Lines,
        Wrap::Added,
        Wrap::Removed,
        Wrap::Numbered,
        Wrap::Found,
        Wrap::Quoted,
        Wrap::Indented,
        Wrap::Fenced,
        Wrap::Json,
        Wrap::JsonTwice,
        Wrap::CarriageReturns,
        Wrap::Coloured,
        Wrap::ColouredJson,
        Wrap::Comment,
    ];

    /// `pattern` with `secret` in place of its `@`, in this form.
    pub(super) fn write(self, pattern: &str, secret: &str) -> String {
        let plain = || put(pattern, secret);
        match self {
            Wrap::Plain => plain(),
            Wrap::Lines => format!("before it\n{}\nbehind it\n", plain()),
            Wrap::Added => format!("@@ -1,2 +1,3 @@\n context\n{}\n context\n", each(&plain(), "+")),
            Wrap::Removed => format!("--- a/x\n+++ b/x\n{}\n", each(&plain(), "-")),
            Wrap::Numbered => plain()
                .lines()
                .enumerate()
                .map(|(n, line)| format!("{:>6}\u{2192}{line}\n", n + 9))
                .collect::<String>(),
            Wrap::Found => each(&plain(), "src/config/app.env:12:"),
            Wrap::Quoted => each(&plain(), "> "),
            Wrap::Indented => each(&plain(), "        "),
            Wrap::Fenced => format!("```\n{}\n```\n", plain()),
            Wrap::Json => json(&format!("one\n{}\ntwo", plain())),
            Wrap::JsonTwice => json(&json(&format!("one\n{}\ntwo", plain()))),
            Wrap::CarriageReturns => format!("a\r\n{}\r\nb\r\n", plain().replace('\n', "\r\n")),
            Wrap::Coloured => put(pattern, &format!("\u{1b}[1;32m{secret}\u{1b}[0m")),
            Wrap::ColouredJson => json(&put(pattern, &format!("\u{1b}[32m{secret}\u{1b}[0m"))),
            Wrap::Comment => each(&plain(), "# "),
        }
    }
}

/// `@@` in a pattern is the secret and then an at sign.
fn put(pattern: &str, secret: &str) -> String {
    pattern.replacen('@', secret, 1)
}

fn each(text: &str, before: &str) -> String {
    text.lines().map(|line| format!("{before}{line}")).collect::<Vec<_>>().join("\n")
}

fn json(text: &str) -> String {
    serde_json::json!({"type": "user", "content": text}).to_string()
}
