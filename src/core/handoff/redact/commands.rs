//! Passwords in the arguments of commands that are known to take them.
//!
//! A flag like `--password` is found by its name (`assigned`). Here are the short flags, which mean something else in
//! every command, and the commands that take a password without one.

use super::names::Class;
use super::values::{Form, How, Place, is_placeholder, is_secret};
use super::{Kind, Span, run};

/// Flags that are followed by a password: the command, the flag, and whether the value sticks to it.
const FLAGS: [(&str, &str, Sticks); 24] = [
    ("sshpass", "-p", Sticks::May),
    ("mysql", "-p", Sticks::Must),
    ("mysqldump", "-p", Sticks::Must),
    ("mysqladmin", "-p", Sticks::Must),
    ("mariadb", "-p", Sticks::Must),
    ("mongo", "-p", Sticks::May),
    ("mongosh", "-p", Sticks::May),
    ("mongodump", "-p", Sticks::May),
    ("docker", "-p", Sticks::No),
    ("podman", "-p", Sticks::No),
    ("helm", "-p", Sticks::No),
    ("oc", "-p", Sticks::No),
    ("az", "-p", Sticks::No),
    ("redis-cli", "-a", Sticks::May),
    ("ldapsearch", "-w", Sticks::May),
    ("ldapmodify", "-w", Sticks::May),
    ("ldapadd", "-w", Sticks::May),
    ("sqlcmd", "-P", Sticks::May),
    ("unzip", "-P", Sticks::May),
    ("zip", "-P", Sticks::May),
    ("7z", "-p", Sticks::Must),
    ("cqlsh", "-p", Sticks::May),
    ("influx", "-t", Sticks::No),
    ("ipmitool", "-P", Sticks::May),
];

/// Commands that take a password in other ways.
const OTHERS: [&str; 10] = ["curl", "wget", "http", "https", "smbclient", "htpasswd", "openssl", "sqlplus", "echo", "rabbitmqctl"];

/// Whether a value stands in the same word as its flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sticks {
    No,
    May,
    Must,
}

/// A word of a command line and where it begins.
type Word<'a> = (usize, &'a str);

/// Finds them in `line`, which begins at `from` of the text.
pub(super) fn find(line: &str, from: usize, spans: &mut Vec<Span>) {
    let known = FLAGS.iter().any(|(name, ..)| line.contains(name)) || OTHERS.iter().any(|name| line.contains(name));
    if !known && !line.contains("pass:") {
        return;
    }
    let words = words(line);
    let mut command = "";
    for (n, (at, word)) in words.iter().enumerate() {
        let name = word.rsplit('/').next().unwrap_or(word);
        if FLAGS.iter().any(|(known, ..)| *known == name) || OTHERS.contains(&name) {
            command = name;
            continue;
        }
        if matches!(*word, "&&" | ";" | "||") || *word == "|" && command != "echo" {
            command = "";
        }
        let before = n.checked_sub(1).map_or("", |n| words[n].1);
        let found = [
            flagged(command, (*at, word), words.get(n + 1).copied()),
            pair(command, (*at, word), before),
            bare(command, (*at, word), &words, n),
        ];
        for (at, value) in found.into_iter().flatten() {
            spans.push(Span { from: from + at, to: from + at + value.len(), kind: Kind::Password });
        }
    }
}

fn is_password(value: &str) -> bool {
    is_secret(Class::Password, value, How { form: Form::Bare, place: Place::Flag })
}

/// The part of a word from its byte `n` on.
fn from(word: Word<'_>, n: usize) -> Word<'_> {
    (word.0 + n, &word.1[n..])
}

/// `-p X` and `-pX`.
fn flagged<'a>(command: &str, word: Word<'a>, next: Option<Word<'a>>) -> Option<Word<'a>> {
    let (_, flag, sticks) = FLAGS.iter().find(|(known, flag, _)| *known == command && word.1.starts_with(flag))?;
    let rest = from(word, flag.len());
    let value = match (rest.1.is_empty(), sticks) {
        (false, Sticks::May | Sticks::Must) => rest,
        (true, Sticks::May | Sticks::No) => next?,
        _ => return None,
    };
    // A port map of `docker run` is no password.
    let digits = value.1.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'/'));
    let is_map = digits && *sticks == Sticks::No && (value.1.contains(':') || value.1.len() <= 5);
    (!value.1.starts_with('-') && !is_map && is_password(value.1)).then_some(value)
}

/// `-u name:password`, `-U name%password`, `name/password@host`.
fn pair<'a>(command: &str, word: Word<'a>, before: &str) -> Option<Word<'a>> {
    let (joint, word) = match (command, before) {
        ("curl" | "http" | "https", "-u" | "--user" | "-a" | "--auth" | "-U" | "--proxy-user") => (':', word),
        ("curl", _) if word.1.starts_with("-u") => (':', from(word, 2)),
        ("smbclient", "-U") => ('%', word),
        ("sqlplus", _) => ('/', (word.0, word.1.split('@').next()?)),
        _ => return None,
    };
    let (name, password) = word.1.split_once(joint)?;
    let documented = matches!(password, "password" | "pass");
    (password.len() >= 3 && !name.is_empty() && !documented && !is_placeholder(password)).then(|| from(word, name.len() + 1))
}

/// A password that no flag names.
fn bare<'a>(command: &str, word: Word<'a>, words: &[Word<'a>], n: usize) -> Option<Word<'a>> {
    let before = |back: usize| n.checked_sub(back).map_or("", |n| words[n].1);
    // `echo X | docker login --password-stdin`, `echo X | sudo -S`
    let piped = || words[n + 1..].iter().take(8).any(|word| matches!(word.1, "--password-stdin" | "-S"));
    let value = match command {
        "echo" if before(1) == "echo" && piped() => word,
        "htpasswd" if n + 1 == words.len() && words[..n].iter().any(|w| w.1.starts_with('-') && w.1.contains('b')) => word,
        "rabbitmqctl" if matches!(before(2), "add_user" | "change_password") => word,
        _ => from(word, word.1.strip_prefix("pass:").map(|rest| word.1.len() - rest.len())?),
    };
    is_password(value.1).then_some(value)
}

/// The words of a command line, at most 256, without the quotes round them.
fn words(line: &str) -> Vec<Word<'_>> {
    let bytes = line.as_bytes();
    let mut words = Vec::new();
    let mut at = 0;
    while words.len() < 256 {
        at = run(bytes, at, |b| b.is_ascii_whitespace() || matches!(b, b'\\' | b'(' | b'`'));
        let Some(first) = bytes.get(at) else { break };
        let quoted = matches!(first, b'"' | b'\'');
        at += usize::from(quoted);
        let end = match quoted {
            true => run(bytes, at, |b| b != *first),
            false => run(bytes, at, |b| !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'`' | b'\\')),
        };
        if end > at {
            words.push((at, &line[at..end]));
        }
        at = bytes.len().min(end + usize::from(quoted));
    }
    words
}
