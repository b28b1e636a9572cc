//! What a value is: random characters, a placeholder, a piece of code, or words.
//!
//! The answer is a guess. Where a name says `password` almost anything is taken for one; the weaker the name, the more
//! random the value has to look.

use super::MARK;
use super::names::{Class, class};

/// How a value stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct How {
    /// How it is written.
    pub(super) form: Form,
    /// Where it stands.
    pub(super) place: Place,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Between quotes.
    Quoted,
    /// Between quotes, as an argument of some function.
    Argument,
    /// As it is.
    Bare,
}

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `NAME=value` at the beginning of a line: a shell or an environment file.
    Shell,
    /// It is all that a line assigns: YAML, TOML, INI.
    Line,
    /// Behind a flag of a command.
    Flag,
    /// One of several pairs: `;Password=value;` or `&password=value&`.
    Pair,
    /// Within other text.
    Inside,
    /// In a sentence: `the password is X`.
    Talk,
}

/// How much of a value is looked at, in bytes.
const LOOK: usize = 200;

/// Whether `value`, assigned to a name of this class, is a secret.
pub(super) fn is_secret(class: Class, value: &str, how: How) -> bool {
    let value = value.trim();
    let looked = crate::core::handoff::text::cut_bytes(value, LOOK);
    if value.len() < 3 || looked.contains(MARK.trim_end()) || is_placeholder(looked) {
        return false;
    }
    let bare = how.form == Form::Bare;
    if bare && (how.place != Place::Shell && is_code(looked) || is_word_of_types(looked)) {
        return false;
    }
    let words = looked.split_whitespace().count();
    match class {
        Class::Phrase => words >= 6 && looked.split_whitespace().all(|w| w.bytes().all(|b| b.is_ascii_lowercase())),
        _ if words > 1 => class == Class::Password && !bare && how.form != Form::Argument && !is_prose(looked),
        _ if is_path(looked) || is_url(looked) || is_name(looked) => false,
        Class::Password => is_password(looked, how),
        Class::Secret => {
            let many = looked.len() >= 6;
            many && (is_random(looked) || has_digit_and_letter(looked) && !is_versioned_words(looked) || has_symbol(looked))
                || matches!(how.place, Place::Shell | Place::Flag) && bare && looked.len() >= 8 && !looked.contains(['.', '/', ':'])
                || !bare && how.form == Form::Quoted && looked.len() >= 12 && !looked.contains([' ', '.', '/', ':'])
        }
        Class::Token if bare && how.place == Place::Talk => looked.len() >= 16 && is_random(looked),
        Class::Token => {
            looked.len() >= 8 && (is_random(looked) || !bare && is_number(looked))
                || matches!(how.place, Place::Shell | Place::Line | Place::Flag) && looked.len() >= 16 && is_one_run(looked)
        }
        Class::Weak => is_very_random(looked),
    }
}

fn is_password(value: &str, how: How) -> bool {
    let mixed = value.bytes().any(|b| b.is_ascii_digit())
        || has_symbol(value)
        || !value.is_ascii()
        || is_mixed_case(value)
        || value.len() >= 8 && is_one_run(value) && is_unspeakable(value);
    match (how.form, how.place) {
        (Form::Quoted, Place::Talk) => mixed,
        (Form::Quoted, _) => value.len() >= 4 && !is_word_of_types(value),
        (Form::Argument, _) | (Form::Bare, Place::Talk) => {
            value.len() >= 6 && mixed && !is_versioned_words(value) || value.len() >= 14 && is_one_run(value)
        }
        (Form::Bare, Place::Inside) => value.len() >= 4 && mixed,
        (Form::Bare, Place::Shell | Place::Line | Place::Flag | Place::Pair) => value.len() >= 4 || mixed,
    }
}

/// Whether characters that stand for a key were made up: `your-key`, `xxxx`, `...`.
pub(super) fn made_up(body: &str) -> bool {
    let body = &body[..body.len().min(200)];
    let lower = body.to_ascii_lowercase();
    let repeated = ["xxxx", "....", "****", "0000000", "-your-", "_your_", "placeholder"];
    repeated.iter().any(|part| lower.contains(part)) || lower.starts_with("your") || distinct(body) < 5.min(body.len())
}

fn distinct(text: &str) -> usize {
    let mut seen = [false; 256];
    text.bytes().for_each(|b| seen[usize::from(b)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// References, patterns to be filled in, and words that stand for a value.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let inner = lower.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if inner.is_empty()
        || distinct(value) <= 1
        || is_reference(value)
        || value.contains("...")
        || value.contains('\u{2026}')
        || is_format(value)
    {
        return true;
    }
    let crossed = inner.bytes().filter(|b| *b == b'x').count();
    if inner.contains("xxxx") && crossed * 2 >= inner.len() || inner.contains("****") {
        return true;
    }
    const STARTS: [&str; 9] =
        ["your", "changeme", "change_me", "change-me", "changeit", "placeholder", "redacted", "<your", "replace"];
    if STARTS.iter().any(|start| inner.starts_with(start)) {
        return true;
    }
    const PARTS: [&str; 14] = [
        "your",
        "example",
        "placeholder",
        "redacted",
        "replace",
        "insert",
        "dummy",
        "todo",
        "here",
        "fill",
        "put",
        "enter",
        "sample",
        "changeme",
    ];
    let mut parts = inner.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let plain = |part: &str| !part.bytes().any(|b| b.is_ascii_digit());
    parts.clone().all(plain) && parts.any(|part| PARTS.contains(&part))
}

/// Nothing but `%s` and what joins them.
fn is_format(value: &str) -> bool {
    value.contains("%s") && value.replace("%s", "").bytes().all(|b| b.is_ascii_punctuation() || b.is_ascii_whitespace())
}

/// `$NAME`, `${...}`, `$(...)`, `{{...}}`, `<name>`, `%NAME%`, `%s`, `{0}`, `#{...}`, `@Name@`.
fn is_reference(value: &str) -> bool {
    let ident = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if let Some(rest) = value.strip_prefix('$') {
        let name = &rest[..rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()];
        let member = rest[name.len()..].strip_prefix("->").or_else(|| rest[name.len()..].strip_prefix('.'));
        let indexed = rest[name.len()..].starts_with(['[']);
        return rest.starts_with(['{', '('])
            || ident(name) && !is_dense(name) && (name.len() == rest.len() || indexed || member.is_some_and(is_word_case));
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
        || value.starts_with('<') && !value[1..].contains(|c: char| !(c.is_ascii_alphanumeric() || " _-.>|:".contains(c)))
        || [("{", "}"), ("[", "]"), ("%", "%"), ("@", "@"), ("__", "__")].iter().any(|(open, close)| named(open, close))
        || value.len() <= 3 && value.starts_with('%')
        || value.starts_with("!secret")
        || value.starts_with("!Ref")
        || [
            "env:",
            "file:",
            "vault:",
            "ssm:",
            "secretsmanager:",
            "op:",
            "ref+",
            "arn:aws:",
            "env.",
            "process.env",
            "secrets.",
            "vars.",
        ]
        .iter()
        .any(|start| value.starts_with(start))
}

/// A call, an index, a member, a path of a module.
fn is_code(value: &str) -> bool {
    let value = value.trim_start_matches(['&', '*', '!', '(', '-', '+']);
    let name = value.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    if name == 0 {
        return value.starts_with(['[', '{', '(', '"', '\'', '|']);
    }
    let (head, rest) = value.split_at(name);
    let plain = head.bytes().filter(u8::is_ascii_digit).count() <= 1 && !head.as_bytes()[0].is_ascii_digit();
    let expression = rest.bytes().all(|b| {
        b.is_ascii_alphanumeric()
            || matches!(b, b'_' | b'.' | b':' | b'-' | b'>' | b'<' | b'&' | b'?' | b'!' | b'\'' | b',' | b';' | b'[' | b']')
    });
    let words =
        || value.split(['.', ':', '-', '>', '<', '&', '?', '!', '[', ']', ',', ';']).all(|part| is_word_case(part) && !is_dense(part));
    match rest.as_bytes() {
        [b'(', ..] | [b'[', ..] => plain,
        [b':', b':', ..] | [b'-', b'>', ..] | [b'<', ..] | [b'?', b'.', ..] => plain && (rest.contains('(') || expression && words()),
        [b'!', b'(', ..] => true,
        [b'.', next, ..] if next.is_ascii_alphabetic() || *next == b'_' => {
            let ident = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_');
            let call = rest.find('(').is_some_and(|at| rest[..at].bytes().all(ident));
            let few = rest.bytes().filter(u8::is_ascii_digit).count() <= 1;
            call || plain && few && expression && words()
        }
        [b'+' | b'?' | b'=' | b'|', ..] if rest.len() == 1 => plain,
        // A variable that is named after what it holds: `password_mgr`, `raw_token`.
        [] => {
            let named = ["pass", "pwd", "secret", "token", "key", "cred", "auth"].iter().any(|part| head.contains(part));
            named && head.contains('_') && head.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        }
        [b'=', next, ..] => plain && head.len() >= 3 && *next != b'=' && head.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
        _ => false,
    }
}

/// Words of types, of states and of talk, that follow a name without being its value.
fn is_word_of_types(value: &str) -> bool {
    const WORDS: &str = " string str text varchar char bytes byte bool boolean int integer number numeric float double any object \
        array list vec option optional some none null nil undefined nan true false yes no on off required missing invalid unset \
        empty set hidden masked encrypted hashed unknown todo wrong incorrect correct okay failed expired valid prompt ask env \
        vault default value type self this new let const var input output password passwd passphrase pwd pass secret token key \
        user username login name data result config settings request response args params options body form field fields \
        label placeholder error message state props event context session client server auth basic bearer plain plaintext \
        not the and for from with was were has had are will can must may should that this these those when where which who \
        your our their its his her one two all only also already enabled disabled disable enable generated rotated updated changed \
        removed stored saved check checks checked mismatch strength reset length policy manager prompted hash file path \
        return async await function func def impl pub fn struct enum void static final char* vec<u8> sensitive readonly \
        sha256 sha512 sha1 md5 base64 utf8 oauth oauth2 argon2 argon2id bcrypt x509 http2 mysql8 redacted same there here then else stdin getpass raw obj opts cfg val res req ctx tmp temp foo bar baz provided given typed \
        supplied needed used unused required. ";
    let word = value.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    if word.is_empty() {
        return true;
    }
    // The words hold no quotes and no spaces, so a word between two spaces is one of them.
    word.len() <= 12 && !word.contains(' ') && WORDS.contains(&format!(" {word} "))
}

/// Words of a sentence about a secret.
fn is_prose(value: &str) -> bool {
    const WORDS: &str = " a an the is are be was at of to for in on or and not no must should can cannot your you my our their please \
        enter type confirm repeat reset change forgot forgotten choose create new old current wrong invalid incorrect required \
        missing least characters character letters digits long short weak strong match matches field empty blank password \
        passwords passphrase username user login email account saved updated changed sent expired with without has have does \
        do don't doesn't this that it if when use used using stored set via from by ";
    let hits = value.split_whitespace().filter(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'').to_lowercase();
        word.len() > 1 && WORDS.contains(&format!(" {word} "))
    });
    hits.count() >= 1 || value.split_whitespace().count() > 12
}

/// A value that is itself the name of a secret: `"password"`, `db_password`, `API_KEY`, `access-token`.
fn is_name(value: &str) -> bool {
    let plain = value.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b'.' | b' '));
    // `mysecretpassword` is a bad password, `password` and `db_password` are names.
    let apart = value.contains(['_', '-', '.', ' ']) || is_mixed(value) || value.len() <= 12;
    plain && apart && class(value.as_bytes()).is_some()
        || plain
            && value.contains(['_', '-'])
            && ["name", "file", "path", "field", "type", "ref"].iter().any(|end| value.ends_with(end))
}

fn is_mixed(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_uppercase()) && value.bytes().any(|b| b.is_ascii_lowercase())
}

/// A path has words between its slashes and no other signs; random characters with a slash among them are none.
fn is_path(value: &str) -> bool {
    let rooted = ["/", "./", "../", "~/", "@/", "file://", "C:\\", "c:\\"].iter().find_map(|start| value.strip_prefix(start));
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' ' | b':'));
    let wordy = |part: &str| plain(part) && part.len() <= 40 && !is_dense(part);
    match rooted {
        Some(rest) => {
            rest.split(['/', '\\']).all(|part| wordy(part) && !part.contains(':')) && rest.bytes().any(|b| b.is_ascii_alphabetic())
        }
        None => {
            let ends = |part: &str| part.trim_start_matches(|c: char| !c.is_ascii_digit()).bytes().all(|b| !b.is_ascii_alphabetic());
            let word = |part: &str| {
                wordy(part) && part.len() >= 2 && ends(part) && part.bytes().any(|b| b.is_ascii_alphabetic()) && is_word_case(part)
            };
            value.contains('/') && value.split('/').all(word)
        }
    }
}

/// Letters as in words and identifiers: `dbPassword`, `Config`, `API`, `max_len`; not `uyDXT3`.
fn is_word_case(part: &str) -> bool {
    let letters = part.as_bytes();
    let capitals = letters.iter().all(|b| !b.is_ascii_lowercase());
    let turns = |pair: &[u8]| pair[0].is_ascii_uppercase() && (pair[1].is_ascii_uppercase() || pair[1].is_ascii_digit());
    let ends = letters.last().is_some_and(u8::is_ascii_uppercase);
    capitals || !letters.windows(2).any(turns) && !ends
}

/// Whether letters can hardly be a word: many consonants in a row.
fn is_unspeakable(value: &str) -> bool {
    let vowel = |b: u8| matches!(b.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    value.as_bytes().split(|b| vowel(*b)).any(|run| run.len() >= 5) || !value.bytes().any(vowel)
}

fn is_url(value: &str) -> bool {
    value
        .split_once("://")
        .is_some_and(|(scheme, _)| (2..=24).contains(&scheme.len()) && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+'))
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'_')
}

fn has_symbol(value: &str) -> bool {
    value
        .bytes()
        .any(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'-' | b'.' | b'/' | b':' | b',' | b';' | b'(' | b')' | b'[' | b']'))
}

fn has_digit_and_letter(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic())
}

fn is_mixed_case(value: &str) -> bool {
    let turns = value.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()).count();
    turns >= 2 && !value.contains(['_', '-', '.'])
}

fn is_one_run(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')) && !is_number(value)
}

/// Letters and digits in one part, as a version, a model or a date in words does not have them.
fn is_dense(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
    let kinds = |b: u8| (b.is_ascii_digit(), b.is_ascii_uppercase());
    let turns = part.as_bytes().windows(2).filter(|pair| kinds(pair[0]) != kinds(pair[1])).count();
    let mixed = digits >= 1 && letters >= 2 && turns >= 3 && part.len() >= 8;
    mixed || part.len() >= 20 && turns >= 6
}

/// Words with versions behind: `claude-3-opus-20240229`, `node18-alpine`, `v1.2.3`, `hunter22` is not among them.
fn is_versioned_words(value: &str) -> bool {
    let mut parts = value.split(['-', '_', '.', '/', ':', '@']);
    let wordy = |part: &str| {
        let letters = part.bytes().take_while(u8::is_ascii_alphabetic).count();
        part[letters..].bytes().all(|b| b.is_ascii_digit()) && (letters == 0 || part.len() - letters <= 3)
    };
    value.contains(['-', '_', '.', '/', ':', '@']) && parts.all(|part| part.is_ascii() && wordy(part))
}

/// Whether a value of at least 8 characters looks like one that a program made.
pub(super) fn is_random(value: &str) -> bool {
    if value.len() < 8 || is_number(value) || is_versioned_words(value) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let parts = || value.split(['-', '_', '.', '/', ':', '+', '=']);
    parts().any(is_dense)
        || digits >= 3 && letters >= 3 && parts().any(|part| part.len() >= 8 && has_digit_and_letter(part))
        || digits >= 1
            && letters >= 1
            && (has_symbol(value) || value.len() >= 20 && parts().any(|part| part.len() >= 12 && has_digit_and_letter(part)))
        || value.len() >= 20 && is_mixed_case(value) && distinct(value) >= 10
}

/// At least 20 characters of all kinds, or a long hexadecimal number that is no UUID.
fn is_very_random(value: &str) -> bool {
    let one = value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'));
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|b| kind(&b));
    one && value.len() >= 20
        && distinct(value) >= 12
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && value.split(['-', '_', '/']).any(is_dense)
}
