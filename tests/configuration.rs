//! The configuration is held to the code: something acts on every key, and on every word that a key takes.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod source;

use std::collections::BTreeSet;

use hopty::core::config::{ConfigKey, KEYS, ValueKind};
use source::{Source, Token, sources, text};

/// The files that may act by the configuration: not its own, nor those that only set it for a show.
fn acting() -> Vec<Source> {
    let aside = ["src/core/config/", "src/core/compat/profile", "src/standin", "src/demo"];
    sources().into_iter().filter(|source| !aside.iter().any(|dir| source.file.starts_with(dir))).collect()
}

fn word_of(token: &Token) -> &str {
    if let Token::Word(word) = token { word } else { "" }
}

/// What a file calls a section: by its own name, by a `let` that ends in it, or as an argument of the
/// section's type.
fn names_of<'a>(section: &'a str, tokens: &'a [Token]) -> BTreeSet<&'a str> {
    let of_type = section[..1].to_uppercase() + &section[1..];
    let mut names = BTreeSet::from([section]);
    for (at, token) in tokens.iter().enumerate() {
        if word_of(token) == section && tokens.get(at + 1) == Some(&Token::Sign(';')) {
            let statement = tokens[..at]
                .iter()
                .rposition(|token| matches!(token, Token::Sign(';' | '{' | '}')))
                .map_or(0, |n| n + 1);
            names.extend((word_of(&tokens[statement]) == "let").then(|| word_of(&tokens[statement + 1])));
        }
        if word_of(token) == of_type && at > 4 {
            // `&Terminal` as well as `&config::Terminal`.
            let qualified = tokens[at - 1] == Token::Sep && word_of(&tokens[at - 2]) == "config";
            let at = if qualified { at - 2 } else { at };
            let colon = if tokens[at - 1] == Token::Sign('&') { at - 2 } else { at - 1 };
            names.extend((tokens[colon] == Token::Sign(':')).then(|| word_of(&tokens[colon - 1])));
        }
    }
    names
}

/// Whether a file reads the key: `section.name`, or the name of what it calls the section. A field of the
/// same name elsewhere is none.
fn reads(tokens: &[Token], key: &ConfigKey) -> bool {
    let mut names = names_of(key.section, tokens);
    // The four levels are read together (`Context::levels`).
    if key.section == "context" && matches!(key.kind, ValueKind::Level) {
        names = BTreeSet::from(["levels"]);
    }
    tokens
        .windows(3)
        .any(|t| names.contains(word_of(&t[0])) && t[1] == Token::Sign('.') && word_of(&t[2]) == key.name)
}

#[test]
fn every_key_is_acted_on() {
    let acting = acting();
    let unused = |key: &&ConfigKey| !acting.iter().any(|source| reads(&source.tokens, key));
    let unused: Vec<String> = KEYS.iter().filter(unused).map(ConfigKey::path).collect();
    assert!(unused.is_empty(), "keys that nothing acts on: {unused:?}");
    let of = |text: &str, path: &str| {
        let key = KEYS.iter().find(|key| key.path() == path).unwrap();
        reads(&source::tokens(text), key)
    };
    assert!(
        of("let c = &self.policy.config.restart; c.grace", "restart.grace")
            && of("x.restart.grace", "restart.grace")
    );
    assert!(of("fn f(c: &Handoff) { c.diff }", "handoff.diff") && of("levels.hard", "context.hard"));
    assert!(
        !of("let c = &self.config.handoff; c.grace", "restart.grace")
            && !of("capture.summary", "handoff.summary")
    );
}

/// Of the words that a key takes one may be what happens else; each other has to be asked for somewhere.
#[test]
fn every_word_of_a_key_is_acted_on() {
    let acting = acting();
    let schema = source::tokens(&text("src/core/config/schema.rs"));
    let (mut seen, mut unused) = (0, Vec::new());
    for at in schema
        .windows(3)
        .enumerate()
        .filter(|(_, t)| word_of(&t[0]) == "choice" && t[1] == Token::Sign('!'))
        .map(|(at, _)| at)
    {
        let (name, open) = (word_of(&schema[at + 3]), at + 4);
        let close = (open..schema.len()).find(|n| schema[*n] == Token::Sign('}')).unwrap();
        let variants = schema[open..close]
            .windows(3)
            .filter(|t| t[1] == Token::Sign('=') && matches!(t[2], Token::Text(_)));
        let named = |variant: &str| {
            let is = |t: &[Token]| word_of(&t[0]) == name && t[1] == Token::Sep && word_of(&t[2]) == variant;
            acting.iter().any(|source| source.tokens.windows(3).any(is))
        };
        let silent: Vec<&str> = variants.map(|t| word_of(&t[0])).filter(|variant| !named(variant)).collect();
        // A profile is a set of numbers, which `src/core/compat/profiles.rs` has.
        if silent.len() > 1 && name != "Profile" {
            unused.push(format!("{name}: {}", silent.join(", ")));
        }
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} kinds of words were found");
    assert!(unused.is_empty(), "words that nothing acts on: {unused:?}");
}
