//! Tokens of a source without its comments, and brackets.

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

pub fn word(token: Option<&Token>) -> &str {
    match token {
        Some(Token::Word(word)) => word,
        _ => "",
    }
}

pub fn sign(token: Option<&Token>, c: char) -> bool {
    token == Some(&Token::Sign(c))
}

/// Where the bracket that opens at `at` closes.
pub fn closing(tokens: &[Token], at: usize) -> usize {
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
pub fn item_end(tokens: &[Token], mut at: usize) -> usize {
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
