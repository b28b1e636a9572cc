//! Rust source read as far as these tests need it: tokens without comments, test code cut away, and from what
//! is left the paths that are used, the functions of each type and the variants of each enum.
//!
//! It is no Rust parser: it knows `use` trees, `mod`, `impl`, `enum` and brackets, which is enough to hold an
//! arrow.

#![allow(dead_code, unused_imports, reason = "each test file uses its half")]

use std::collections::BTreeSet;
use std::path::Path;

mod checkout;
mod markdown;
mod names;
mod tokens;

pub use checkout::{files, root, text};
pub use markdown::{blocks, quoted};
pub use names::Names;
pub use tokens::{Token, tokens};
use tokens::{closing, item_end, sign, word};

/// One file below `src`, without its tests.
#[derive(Debug)]
pub struct Source {
    /// Below the crate: `src/host/run.rs`.
    pub file: String,
    /// `["host", "run"]`.
    pub module: Vec<String>,
    pub lines: usize,
    pub tokens: Vec<Token>,
}

/// A path that is used, resolved from the crate's root: `crate::fs::session`, `std::fs`, `serde_json::json`.
pub type UsedPath = Vec<String>;

/// The crate without its tests: `#[cfg(test)]` items are cut out of the files, and files that are such
/// modules are left out.
pub fn sources() -> Vec<Source> {
    let mut all = Vec::new();
    let mut tests = BTreeSet::new();
    for file in files("src", ".rs") {
        let content = text(&file);
        let mut module: Vec<String> =
            file.trim_start_matches("src/").trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        let dir = Path::new(&file).parent().unwrap().to_path_buf();
        let own_dir = match module.last().map(String::as_str) {
            Some("mod" | "lib" | "main") => dir.clone(),
            _ => Path::new(&file).with_extension(""),
        };
        if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
            module.pop();
        }
        let (tokens, cut) = without_tests(&tokens(&content));
        for name in cut {
            match name {
                Cut::Path(path) => drop(tests.insert(dir.join(path))),
                Cut::Module(name) => {
                    tests.insert(own_dir.join(format!("{name}.rs")));
                    tests.insert(own_dir.join(name));
                }
            }
        }
        all.push(Source { file, module, lines: content.lines().count(), tokens });
    }
    all.retain(|source| !tests.iter().any(|test| Path::new(&source.file).starts_with(test)));
    all
}

/// A module that was declared in test code.
enum Cut {
    Module(String),
    Path(String),
}

fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<Cut>) {
    let (mut kept, mut cut, mut i) = (Vec::new(), Vec::new(), 0);
    while i < tokens.len() {
        let attribute =
            sign(tokens.get(i), '#') && sign(tokens.get(i + 1), '[') && word(tokens.get(i + 2)) == "cfg";
        let end = if attribute { closing(tokens, i + 1) } else { i };
        let has = |name: &str| tokens[i..end].iter().any(|t| word(Some(t)) == name);
        if !attribute || !has("test") || has("not") {
            kept.push(tokens[i].clone());
            i += 1;
            continue;
        }
        let mut at = end + 1;
        let mut path = None;
        while sign(tokens.get(at), '#') {
            if word(tokens.get(at + 2)) == "path"
                && let Some(Token::Text(text)) = tokens.get(at + 4)
            {
                path = Some(text.clone());
            }
            at = closing(tokens, at + 1) + 1;
        }
        let item = at;
        i = item_end(tokens, at);
        if let Some(n) = tokens[item..i].iter().position(|t| word(Some(t)) == "mod") {
            cut.push(path.map_or_else(|| Cut::Module(word(tokens.get(item + n + 1)).to_owned()), Cut::Path));
        }
    }
    (kept, cut)
}

impl Source {
    /// The functions that are declared here, without those that a trait asks for.
    pub fn functions(&self) -> Vec<&str> {
        let (tokens, mut found, mut i) = (&self.tokens, Vec::new(), 0);
        while i < tokens.len() {
            if word(tokens.get(i)) == "impl"
                && let Some(body) = tokens[i..].iter().position(|token| *token == Token::Sign('{'))
                && tokens[i..i + body].iter().any(|token| word(Some(token)) == "for")
            {
                i = closing(tokens, i + body);
            } else if word(tokens.get(i)) == "fn" && !word(tokens.get(i + 1)).is_empty() {
                found.push(word(tokens.get(i + 1)));
            }
            i += 1;
        }
        found
    }

    /// Every word, in texts, too: attributes name functions there.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().flat_map(|token| {
            match token {
                Token::Word(text) | Token::Text(text) => text.as_str(),
                Token::Sep | Token::Sign(_) => "",
            }
            .split(|c: char| !c.is_alphanumeric() && c != '_')
        })
    }

    /// Every path that the file uses, in `use` lines and elsewhere.
    pub fn paths(&self) -> BTreeSet<UsedPath> {
        let mut found = BTreeSet::new();
        let mut module = self.module.clone();
        // Where inline modules end.
        let mut ends: Vec<usize> = Vec::new();
        let tokens = &self.tokens;
        let mut i = 0;
        while i < tokens.len() {
            while ends.last().is_some_and(|end| i >= *end) {
                ends.pop();
                module.pop();
            }
            if word(tokens.get(i)) == "mod" && sign(tokens.get(i + 2), '{') {
                module.push(word(tokens.get(i + 1)).to_owned());
                ends.push(closing(tokens, i + 2));
                i += 3;
            } else if word(tokens.get(i)) == "use" && !sign(tokens.get(i + 1), '<') {
                let mut paths = Vec::new();
                i = tree(tokens, i + 1, &[], &mut paths);
                found.extend(paths.into_iter().map(|path| resolve(&module, path)));
            } else if !word(tokens.get(i)).is_empty() && tokens.get(i + 1) == Some(&Token::Sep) {
                let mut path = vec![word(tokens.get(i)).to_owned()];
                while tokens.get(i + 1) == Some(&Token::Sep) && !word(tokens.get(i + 2)).is_empty() {
                    path.push(word(tokens.get(i + 2)).to_owned());
                    i += 2;
                }
                found.insert(resolve(&module, path));
                i += 1;
            } else {
                i += 1;
            }
        }
        found
    }

    /// The types that the file declares, also within functions, and not those that belong to a trait.
    pub fn declared_types(&self) -> Vec<&str> {
        let tokens = &self.tokens;
        let (mut found, mut end_of_item) = (Vec::new(), 0);
        for i in 0..tokens.len() {
            let name = word(tokens.get(i + 1));
            let begins = i == 0 || "};]{".chars().any(|c| sign(tokens.get(i - 1), c));
            let kind = word(tokens.get(i));
            if kind == "trait" || (kind == "impl" && begins) {
                let open = (i..tokens.len()).find(|n| sign(tokens.get(*n), '{')).unwrap_or(tokens.len());
                end_of_item = end_of_item.max(closing(tokens, open));
            }
            let declares = match kind {
                "struct" | "enum" | "trait" | "union" => true,
                "type" => i > end_of_item,
                _ => false,
            };
            if declares && !name.is_empty() {
                found.push(name);
            }
        }
        found
    }

    /// Words that stand before `sign` directly: macros for `!`, and methods for `(`.
    pub fn words_before(&self, c: char) -> BTreeSet<&str> {
        self.tokens.windows(2).filter(|pair| sign(pair.get(1), c)).map(|pair| word(pair.first())).collect()
    }
}

/// Reads a `use` tree from `at` on and gives the position behind it.
fn tree(tokens: &[Token], mut at: usize, before: &[String], out: &mut Vec<UsedPath>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(Token::Sep) => at += 1,
            Some(Token::Sign('{')) => {
                at += 1;
                while !sign(tokens.get(at), '}') && at < tokens.len() {
                    at = tree(tokens, at, &path, out);
                    if sign(tokens.get(at), ',') {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some(Token::Sign('*')) => {
                path.push("*".to_owned());
                at += 1;
            }
            Some(Token::Word(name)) if name == "as" => at += 2,
            Some(Token::Word(name)) => {
                path.push(name.clone());
                at += 1;
            }
            _ => {
                out.push(path);
                return at;
            }
        }
    }
}

/// `self` and `super` from the module's place; what is neither these nor `crate` stays as it is.
fn resolve(module: &[String], path: UsedPath) -> UsedPath {
    let mut rest = path.as_slice();
    let mut base = match rest.first().map(String::as_str) {
        Some("self" | "super") => module.to_vec(),
        _ => return path,
    };
    while let [first, tail @ ..] = rest {
        match first.as_str() {
            "self" => {}
            "super" => drop(base.pop()),
            _ => break,
        }
        rest = tail;
    }
    let mut out = vec!["crate".to_owned()];
    out.extend(base);
    out.extend(rest.iter().cloned());
    out
}
