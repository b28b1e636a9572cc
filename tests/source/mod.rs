//! Rust source read as far as these tests need it: tokens without comments, test code cut away, and from what is left the
//! paths that are used, the functions of each type and the variants of each enum.
//!
//! It is no Rust parser: it knows `use` trees, `mod`, `impl`, `enum` and brackets, which is enough to hold an arrow.

#![allow(dead_code, reason = "each test file uses its half")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A piece of source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Word(String),
    /// The content of a string literal.
    Text(String),
    /// `::`
    Sep,
    Sign(char),
}

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

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A file of the checkout.
pub fn text(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// Every file below `dir` whose name ends in `end`, as paths below the crate.
pub fn files(dir: &str, end: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![root().join(dir)];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path.strip_prefix(root()).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// The crate without its tests: `#[cfg(test)]` items are cut out of the files, and files that are such modules are left out.
pub fn sources() -> Vec<Source> {
    let mut all = Vec::new();
    let mut tests = BTreeSet::new();
    for file in files("src", ".rs") {
        let content = text(&file);
        let mut module: Vec<String> = file.trim_start_matches("src/").trim_end_matches(".rs").split('/').map(str::to_owned).collect();
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

/// The tokens of a text.
pub fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |n: usize| chars.get(n).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        let c = at(i);
        if c == '/' && at(i + 1) == '/' {
            while i < chars.len() && at(i) != '\n' {
                i += 1;
            }
        } else if c == '/' && at(i + 1) == '*' {
            let mut depth = 0;
            loop {
                match (at(i), at(i + 1)) {
                    ('/', '*') => (depth, i) = (depth + 1, i + 2),
                    ('*', '/') => (depth, i) = (depth - 1, i + 2),
                    _ => i += 1,
                }
                if depth == 0 || i >= chars.len() {
                    break;
                }
            }
        } else if c == '"' {
            let from = i + 1;
            i = from;
            while i < chars.len() && at(i) != '"' {
                i += if at(i) == '\\' { 2 } else { 1 };
            }
            out.push(Token::Text(chars[from..i.min(chars.len())].iter().collect()));
            i += 1;
        } else if c == 'r' && (at(i + 1) == '"' || (at(i + 1) == '#' && matches!(at(i + 2), '#' | '"'))) {
            let hashes = chars[i + 1..].iter().take_while(|c| **c == '#').count();
            let from = i + 2 + hashes;
            i = from;
            let ends = |i: usize| at(i) == '"' && (1..=hashes).all(|n| at(i + n) == '#');
            while i < chars.len() && !ends(i) {
                i += 1;
            }
            out.push(Token::Text(chars[from..i.min(chars.len())].iter().collect()));
            i += 1 + hashes;
        } else if c == '\'' {
            // A character, or a lifetime.
            if at(i + 1) == '\\' {
                i += 3;
                while i < chars.len() && at(i) != '\'' {
                    i += 1;
                }
                i += 1;
            } else if at(i + 2) == '\'' {
                i += 3;
            } else {
                i += 1;
                while is_word(at(i)) {
                    i += 1;
                }
            }
        } else if c == 'b'
            && matches!(at(i + 1), '"' | '\'' | 'r')
            && !is_word(at(i.wrapping_sub(1)))
            && (at(i + 1) != 'r' || matches!(at(i + 2), '"' | '#'))
        {
            i += 1;
        } else if is_word(c) {
            let from = i;
            while is_word(at(i)) {
                i += 1;
            }
            out.push(Token::Word(chars[from..i].iter().collect()));
        } else if c == ':' && at(i + 1) == ':' {
            out.push(Token::Sep);
            i += 2;
        } else {
            if !c.is_whitespace() {
                out.push(Token::Sign(c));
            }
            i += 1;
        }
    }
    out
}

/// A module that was declared in test code.
enum Cut {
    Module(String),
    Path(String),
}

fn word(token: Option<&Token>) -> &str {
    match token {
        Some(Token::Word(word)) => word,
        _ => "",
    }
}

fn sign(token: Option<&Token>, c: char) -> bool {
    token == Some(&Token::Sign(c))
}

/// Where the bracket that opens at `at` closes.
fn closing(tokens: &[Token], at: usize) -> usize {
    let Some(Token::Sign(open)) = tokens.get(at) else { return at };
    let close = match open {
        '{' => '}',
        '[' => ']',
        _ => ')',
    };
    let mut depth = 0;
    for (n, token) in tokens.iter().enumerate().skip(at) {
        depth += i32::from(sign(Some(token), *open)) - i32::from(sign(Some(token), close));
        if depth == 0 {
            return n;
        }
    }
    tokens.len()
}

/// The end of the item that begins at `at`: behind its `;` or its block.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    while at < tokens.len() {
        match &tokens[at] {
            Token::Sign(';') => return at + 1,
            Token::Sign('{') => return closing(tokens, at) + 1,
            Token::Sign('(' | '[') => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    at
}

fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<Cut>) {
    let (mut kept, mut cut, mut i) = (Vec::new(), Vec::new(), 0);
    while i < tokens.len() {
        let attribute = sign(tokens.get(i), '#') && sign(tokens.get(i + 1), '[') && word(tokens.get(i + 2)) == "cfg";
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
            } else if word(tokens.get(i)) == "use" {
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

/// The names that a document may name as `Type::name` or `module::name`.
#[derive(Debug, Default)]
pub struct Names {
    /// Functions and variants by the last name of the type.
    pub types: BTreeMap<String, BTreeSet<String>>,
    /// Variants by whole path, `core::supervisor::event::Event`.
    pub enums: BTreeMap<String, Vec<String>>,
    /// Functions by whole module path, `host::start::main`.
    pub functions: BTreeSet<String>,
}

impl Names {
    pub fn read(sources: &[Source]) -> Names {
        let mut names = Names::default();
        for source in sources {
            names.items(&source.tokens, &source.module);
        }
        names
    }

    fn items(&mut self, tokens: &[Token], module: &[String]) {
        let mut i = 0;
        while i < tokens.len() {
            match word(tokens.get(i)) {
                "impl" => {
                    let open = (i..tokens.len()).find(|n| sign(tokens.get(*n), '{')).unwrap_or(tokens.len());
                    let of = type_name(&tokens[i + 1..open]);
                    let end = closing(tokens, open);
                    let known = self.types.entry(of).or_default();
                    for (n, token) in tokens[open..end].iter().enumerate() {
                        if word(Some(token)) == "fn" {
                            known.insert(word(tokens.get(open + n + 1)).to_owned());
                        }
                    }
                    i = end;
                }
                "enum" => {
                    let name = word(tokens.get(i + 1)).to_owned();
                    let open = (i..tokens.len()).find(|n| sign(tokens.get(*n), '{')).unwrap_or(tokens.len());
                    let end = closing(tokens, open);
                    let found = variants(&tokens[open + 1..end]);
                    self.enums.insert(format!("{}::{name}", module.join("::")), found.clone());
                    self.types.entry(name).or_default().extend(found);
                    i = end;
                }
                "fn" => {
                    let name = word(tokens.get(i + 1));
                    self.functions.insert(module.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::"));
                    i = item_end(tokens, i) - 1;
                }
                _ => {}
            }
            i += 1;
        }
    }

    /// Whether `path` (`Host::typed`, `hooks::read`) is there.
    pub fn has(&self, path: &str) -> bool {
        let Some((of, name)) = path.rsplit_once("::") else { return false };
        let of_type = of.rsplit("::").next().is_some_and(|of| self.types.get(of).is_some_and(|known| known.contains(name)));
        of_type || self.functions.iter().any(|f| f == path || f.ends_with(&format!("::{path}")))
    }
}

/// The last word of the type that `impl ... {` is for.
fn type_name(head: &[Token]) -> String {
    let mut depth = 0;
    let mut name = "";
    for token in head {
        match token {
            Token::Sign('<') => depth += 1,
            Token::Sign('>') => depth -= 1,
            Token::Word(word) if depth == 0 && word == "where" => break,
            Token::Word(word) if depth == 0 && word != "for" => name = word,
            _ => {}
        }
    }
    name.to_owned()
}

fn variants(body: &[Token]) -> Vec<String> {
    let (mut out, mut i, mut fresh) = (Vec::new(), 0, true);
    while i < body.len() {
        match &body[i] {
            Token::Sign('#') => i = closing(body, i + 1),
            Token::Sign('{' | '(') => i = closing(body, i),
            Token::Sign(',') => fresh = true,
            Token::Word(name) if fresh => {
                out.push(name.clone());
                fresh = false;
            }
            _ => {}
        }
        i += 1;
    }
    out
}

/// What stands between backticks in a document, code blocks left out.
pub fn quoted(markdown: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut in_block = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            out.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    out
}

/// The lines of the fenced blocks of a kind: ```` ```json ````.
pub fn blocks(markdown: &str, kind: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        match line.strip_prefix("```") {
            Some(of) => inside = !inside && of == kind,
            None if inside => out.push(line.to_owned()),
            None => {}
        }
    }
    out
}
