//! Secrets, replaced in what is shown to a model or a person.
//!
//! A net with wide meshes: keys by their well-known beginnings, values that are assigned to a name like `password`,
//! bearer tokens and private key blocks. It lowers the harm of a careless quote; it is no proof that none is left.

/// Beginnings of well-known keys, each followed by at least 12 characters of the key.
const KEYS: [&str; 17] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "eyJ",
];
/// Names whose assigned value is hidden.
const NAMES: [&str; 6] = ["secret", "token", "api_key", "apikey", "api-key", "private_key"];
/// What stands in place of a secret.
const HIDDEN: &str = "[redacted]";

/// `text` with what looks like a secret replaced by `[redacted]`.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut block = false;
    for line in text.split_inclusive('\n') {
        if block {
            block = !(line.contains("-----END ") && line.contains("PRIVATE KEY"));
        } else if let Some(at) = line.find("-----BEGIN ").filter(|_| line.contains("PRIVATE KEY-----")) {
            block = !line[at..].contains("-----END ");
            out.push_str(&line[..at]);
            out.push_str(HIDDEN);
            out.push('\n');
        } else {
            redact_line(line, &mut out);
        }
    }
    out
}

fn redact_line(line: &str, out: &mut String) {
    let mut from = 0;
    let mut hide_next = Hide::No;
    while from < line.len() {
        let rest = &line[from..];
        let word = rest.len() - rest.trim_start_matches(is_word).len();
        if word == 0 {
            let c = rest.chars().next().unwrap_or(' ');
            hide_next = match (c, hide_next) {
                (':' | '=', Hide::IfAssigned(least)) => Hide::Yes(least),
                (' ' | '\t' | '"' | '\'' | ':' | '=', hide) => hide,
                _ => Hide::No,
            };
            out.push(c);
            from += c.len_utf8();
            continue;
        }
        let word_text = &rest[..word];
        if matches!(hide_next, Hide::Yes(least) if hides(least, word_text)) || is_key(word_text) {
            out.push_str(HIDDEN);
            hide_next = Hide::No;
        } else {
            out.push_str(word_text);
            let lower = word_text.to_ascii_lowercase();
            hide_next = if is_scheme(word_text) {
                Hide::Yes(Least::LooksRandom)
            } else if lower.ends_with("password") || lower.ends_with("passwd") {
                Hide::IfAssigned(Least::Anything)
            } else if NAMES.iter().any(|name| lower.ends_with(name)) {
                Hide::IfAssigned(Least::LooksRandom)
            } else {
                Hide::No
            };
        }
        from += word;
    }
}

/// What happens to the next word.
#[derive(Clone, Copy)]
enum Hide {
    No,
    IfAssigned(Least),
    Yes(Least),
}

/// What a word must be at least to count as a value: talk of "a token: the next word" stays readable.
#[derive(Clone, Copy)]
enum Least {
    Anything,
    LooksRandom,
}

fn hides(least: Least, word: &str) -> bool {
    match least {
        Least::Anything => word.len() >= 4,
        Least::LooksRandom => word.len() >= 8 && word.bytes().any(|b| b.is_ascii_digit()) && !is_scheme(word),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '$')
}

/// `Authorization: Bearer X`: the scheme is no secret, what follows it is.
fn is_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic")
}

fn is_key(word: &str) -> bool {
    KEYS.iter().any(|key| {
        word.strip_prefix(key).is_some_and(|rest| rest.len() >= 12 && rest.bytes().any(|b| b.is_ascii_digit() || b == b'.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden() {
        for (text, shown) in [
            ("key sk-ant-api03-abcdefghijkl0", "key [redacted]"),
            ("export DB_PASSWORD='hunter22'", "export DB_PASSWORD='[redacted]'"),
            ("Authorization: Bearer abcd.efg1", "Authorization: Bearer [redacted]"),
            ("{\"api_key\": \"0123456789\"}", "{\"api_key\": \"[redacted]\"}"),
            ("a\n-----BEGIN RSA PRIVATE KEY-----\nxx\n-----END RSA PRIVATE KEY-----\nb\n", "a\n[redacted]\nb\n"),
        ] {
            assert_eq!(redact(text), shown);
        }
    }

    #[test]
    fn plain_talk_stays() {
        for text in [
            "the token count is 200000",
            "a token: the next word",
            "token = lexer.next()",
            "164000 tokens: fine",
            "src/secret/mod.rs",
            "sk-learn is a library",
            "eyJ",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}
