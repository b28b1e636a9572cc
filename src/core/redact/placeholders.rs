//! Recognizes what is no value: placeholders, references, code, names of types and ordinary words.

use super::secret_values::{distinct, is_dense, is_versioned, is_word_case};

/// References, templates, and words that replace a value.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let inner = lower.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if inner.is_empty()
        || distinct(value) <= 1
        || is_reference(value)
        || value.contains("...")
        || value.contains('\u{2026}')
        || is_format(value)
        || is_pattern(value)
    {
        return true;
    }
    let crossed = inner.bytes().filter(|b| *b == b'x').count();
    if inner.contains("xxxx") && crossed * 2 >= inner.len() || inner.contains("****") {
        return true;
    }
    const STARTS: [&str; 9] = [
        "your", "changeme", "change_me", "change-me", "changeit", "placeholder", "redacted", "<your",
        "replace",
    ];
    if STARTS.iter().any(|start| inner.starts_with(start)) {
        return true;
    }
    const PARTS: [&str; 14] = [
        "your", "example", "placeholder", "redacted", "replace", "insert", "dummy", "todo", "here", "fill",
        "put", "enter", "sample", "changeme",
    ];
    let mut parts = inner.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let plain = |part: &str| !part.bytes().any(|b| b.is_ascii_digit());
    parts.clone().all(plain) && parts.any(|part| PARTS.contains(&part))
}

/// A part of a regular expression.
fn is_pattern(value: &str) -> bool {
    const PARTS: [&str; 10] = ["[a-z", "[A-Z", "[0-9", "[^", "\\S", "\\w", "\\d", "\\s", "(.*", "(.+"];
    value.contains(['[', '(', '\\']) && PARTS.iter().any(|part| value.contains(part))
}

/// Nothing but `%s` and punctuation between them.
pub(super) fn is_format(value: &str) -> bool {
    value.contains("%s")
        && value.replace("%s", "").bytes().all(|b| b.is_ascii_punctuation() || b.is_ascii_whitespace())
}

/// `$NAME`, `${...}`, `$(...)`, `{{...}}`, `<name>`, `%NAME%`, `%s`, `{0}`, `#{...}`, `@Name@`.
pub(super) fn is_reference(value: &str) -> bool {
    let ident = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if let Some(rest) = value.strip_prefix('$') {
        let name = &rest[..rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()];
        let member = rest[name.len()..].strip_prefix("->").or_else(|| rest[name.len()..].strip_prefix('.'));
        let indexed = rest[name.len()..].starts_with(['[']);
        return rest.starts_with(['{', '('])
            || ident(name)
                && !is_dense(name)
                && (name.len() == rest.len() || indexed || member.is_some_and(is_word_case));
    }
    let named = |open: &str, close: &str| {
        let inner = value.strip_prefix(open).and_then(|inner| inner.strip_suffix(close));
        inner.is_some_and(|inner| {
            inner.len() < 40
                && !is_dense(inner)
                && inner.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' '))
        })
    };
    value.starts_with("{{")
        || value.starts_with("${")
        || value.starts_with("#{")
        || value.starts_with("<%")
        || value.starts_with('<')
            && !value[1..].contains(|c: char| !(c.is_ascii_alphanumeric() || " _-.>|:".contains(c)))
            && (value.ends_with('>') || !value.bytes().any(|b| b.is_ascii_digit()))
            && !is_dense(value)
        || [("{", "}"), ("[", "]"), ("%", "%"), ("@", "@"), ("__", "__")]
            .iter()
            .any(|(open, close)| named(open, close))
        || value.len() <= 3 && value.starts_with('%')
        || value.starts_with("!secret")
        || value.starts_with("!Ref")
        || [
            "env:", "file:", "vault:", "ssm:", "secretsmanager:", "op:", "ref+", "arn:aws:", "env.",
            "process.env", "secrets.", "vars.",
        ]
        .iter()
        .any(|start| value.starts_with(start))
}

/// A call, an index, a member, or a path of a module.
pub(super) fn is_code(value: &str) -> bool {
    let value = value.trim_start_matches(['&', '*', '!', '(', '-', '+']);
    let name = value.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    if name == 0 {
        return value.starts_with(['[', '{', '(', '"', '\'', '|']);
    }
    let (head, rest) = value.split_at(name);
    let named = |part: &str| part.split('_').all(is_versioned);
    let plain = (head.bytes().filter(u8::is_ascii_digit).count() <= 1 || named(head))
        && !head.as_bytes()[0].is_ascii_digit();
    let in_expression = |b: u8| b.is_ascii_alphanumeric() || b"_.:-><&?!',;[]".contains(&b);
    let expression = rest.bytes().all(in_expression);
    let words = || {
        value
            .split(['.', ':', '-', '>', '<', '&', '?', '!', '[', ']', ',', ';'])
            .all(|part| is_word_case(part) && !is_dense(part))
    };
    match rest.as_bytes() {
        [b'(', ..] | [b'[', ..] => plain,
        [b':', b':', ..] | [b'-', b'>', ..] | [b'<', ..] | [b'?', b'.', ..] => {
            plain && (rest.contains('(') || expression && words())
        }
        [b'!', b'(', ..] => true,
        [b'.', next, ..] if next.is_ascii_alphabetic() || *next == b'_' => {
            let ident = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_');
            let call = rest.find('(').is_some_and(|at| rest[..at].bytes().all(ident));
            let few = rest.bytes().filter(u8::is_ascii_digit).count() <= 1 || rest[1..].split('.').all(named);
            call || plain && few && expression && words()
        }
        [b'+' | b'?' | b'=' | b'|', ..] if rest.len() == 1 => plain,
        // A variable that is named for its content: `password_mgr`, `raw_token`.
        [] => {
            let named = ["pass", "pwd", "secret", "token", "key", "cred", "auth"]
                .iter()
                .any(|part| head.contains(part));
            named && head.contains('_') && head.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        }
        [b'=', next, ..] => {
            plain
                && head.len() >= 3
                && *next != b'='
                && head.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        }
        _ => false,
    }
}

/// Punctuation or digits that no expression without spaces has: what began like code is a password.
pub(super) fn is_not_code(value: &str) -> bool {
    let sign = |b: u8| {
        matches!(b, b'#' | b'$' | b'%' | b'^' | b'|' | b'~' | b'@' | b'{' | b'}' | b'\\' | b'=' | b'+' | b'/')
    };
    let signs = value.bytes().enumerate().filter(|(n, b)| *n > 0 && sign(*b)).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let unclosed = value.contains('(') && !value.contains(')') && !value.ends_with(['(', ',']);
    let mixed = value
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|part| !is_word_case(part) && part.len() > 1 || is_dense(part));
    let opened = [('(', ')'), ('[', ']'), ('<', '>')]
        .iter()
        .any(|(open, close)| value.contains(*open) && !value.contains(*close));
    let opened = opened && !value.ends_with(['(', '[', ',']);
    let number = value.len() - value.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let numbered = number >= 3 && value.contains(['<', '>', '(', ')', '[', ']']);
    value.len() >= 6
        && (numbered
            || opened && mixed
            || digits >= 2 && unclosed
            || signs >= 1 && (mixed || digits >= 1)
            || signs >= 2
            || digits >= 1 && mixed)
}

/// Names of types and states, and ordinary words, that follow a name without being its value.
pub(super) fn is_type_word(value: &str) -> bool {
    const WORDS: &str = " string str text varchar char bytes byte bool boolean int integer number numeric \
                         float double any object \
        array list vec option optional some none null nil undefined nan true false yes no on off required \
        missing invalid unset \
        empty set hidden masked encrypted hashed unknown todo wrong incorrect correct okay failed expired \
        valid prompt ask env \
        vault default value type self this new let const var input output password passwd passphrase pwd \
        pass secret token key \
        user username login name data result config settings request response args params options body form \
        field fields \
        label placeholder error message state props event context session client server auth basic bearer \
        plain plaintext \
        not the and for from with was were has had are will can must may should that this these those when \
        where which who \
        your our their its his her one two all only also already enabled disabled disable enable generated \
        rotated updated changed \
        removed stored saved check checks checked mismatch strength reset length policy manager prompted \
        hash file path \
        return async await function func def impl pub fn struct enum void static final char* vec<u8> \
        sensitive readonly \
        sha256 sha512 sha1 md5 base64 utf8 oauth oauth2 argon2 argon2id bcrypt x509 http2 mysql8 redacted \
        same there here then else stdin getpass raw obj opts cfg val res req ctx tmp temp foo bar baz \
        provided given typed \
        supplied needed used unused required. ";
    let word = value.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    if word.is_empty() {
        return true;
    }
    // The words contain no quotes and no spaces, so a word between two spaces is one of them.
    word.len() <= 12 && !word.contains(' ') && WORDS.contains(&format!(" {word} "))
}

/// Whether a value reads like a sentence about a secret.
pub(super) fn is_prose(value: &str) -> bool {
    const WORDS: &str = " a an the is are be was at of to for in on or and not no must should can cannot \
                         your you my our their please \
        enter type confirm repeat reset change forgot forgotten choose create new old current wrong invalid \
        incorrect required \
        missing least characters character letters digits long short weak strong match matches field empty \
        blank password \
        passwords passphrase username user login email account saved updated changed sent expired with \
        without has have does \
        do don't doesn't this that it if when use used using stored set via from by ";
    let hits = value.split_whitespace().filter(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'').to_lowercase();
        word.len() > 1 && WORDS.contains(&format!(" {word} "))
    });
    hits.count() >= 1 || value.split_whitespace().count() > 12
}
