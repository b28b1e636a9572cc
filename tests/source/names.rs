//! The functions of each type and the variants of each enum, for what documents name.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use super::tokens::{Token, closing, item_end, sign, word};

/// The names that a document may name as `Type::name` or `module::name`.
#[derive(Debug, Default)]
pub struct Names {
    /// Functions and variants by the last name of the type.
    pub types: BTreeMap<String, BTreeSet<String>>,
    /// Variants by whole path, `core::supervisor::event::Event`.
    pub enums: BTreeMap<String, Vec<String>>,
    /// Functions by whole module path, `host::start::main`, where they are declared and where they are
    /// exported.
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
                    self.functions.insert(path_of(module, name));
                    i = item_end(tokens, i) - 1;
                }
                // A function that a module exports from a file of its own has the module's name, too.
                "use" if i > 0 && (word(tokens.get(i - 1)) == "pub" || sign(tokens.get(i - 1), ')')) => {
                    let end = (i..tokens.len()).find(|n| sign(tokens.get(*n), ';')).unwrap_or(tokens.len());
                    let last = (i + 1..end).filter(|n| !sign(tokens.get(n + 1), ':'));
                    let exported = last.map(|n| word(tokens.get(n))).filter(|name| !name.is_empty());
                    self.functions.extend(exported.map(|name| path_of(module, name)));
                    i = end;
                }
                _ => {}
            }
            i += 1;
        }
    }

    /// Whether `path` (`Host::typed`, `hooks::read`) is there.
    pub fn has(&self, path: &str) -> bool {
        let Some((of, name)) = path.rsplit_once("::") else { return false };
        let of_type = of
            .rsplit("::")
            .next()
            .is_some_and(|of| self.types.get(of).is_some_and(|known| known.contains(name)));
        of_type || self.functions.iter().any(|f| f == path || f.ends_with(&format!("::{path}")))
    }
}

fn path_of(module: &[String], name: &str) -> String {
    module.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::")
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
