//! Passwords in the arguments of commands that are known to take them.
//!
//! A flag like `--password` is found by its name (`assigned`). Here are the short flags, which mean something
//! else in every command, and the commands that take a password without one.

use super::SecretKind;
use super::byte_scan::run_end;
use super::placeholders::is_placeholder;
use super::secret_spans::SecretSpan;
use super::secret_values::is_random;

/// Flags that are followed by a password: the command, the flag, and whether the value sticks to it.
const FLAGS: [(&str, &str, ValueAttachment); 33] = [
    ("sshpass", "-p", ValueAttachment::Either),
    ("mysql", "-p", ValueAttachment::Attached),
    ("mysqldump", "-p", ValueAttachment::Attached),
    ("mysqladmin", "-p", ValueAttachment::Attached),
    ("mariadb", "-p", ValueAttachment::Attached),
    ("mongo", "-p", ValueAttachment::Either),
    ("mongosh", "-p", ValueAttachment::Either),
    ("mongodump", "-p", ValueAttachment::Either),
    ("docker", "-p", ValueAttachment::Separate),
    ("podman", "-p", ValueAttachment::Separate),
    ("helm", "-p", ValueAttachment::Separate),
    ("oc", "-p", ValueAttachment::Separate),
    ("az", "-p", ValueAttachment::Separate),
    ("redis-cli", "-a", ValueAttachment::Either),
    ("ldapsearch", "-w", ValueAttachment::Either),
    ("ldapmodify", "-w", ValueAttachment::Either),
    ("ldapadd", "-w", ValueAttachment::Either),
    ("sqlcmd", "-P", ValueAttachment::Either),
    ("unzip", "-P", ValueAttachment::Either),
    ("zip", "-P", ValueAttachment::Either),
    ("7z", "-p", ValueAttachment::Attached),
    ("cqlsh", "-p", ValueAttachment::Either),
    ("influx", "-t", ValueAttachment::Separate),
    ("ipmitool", "-P", ValueAttachment::Either),
    ("bcp", "-P", ValueAttachment::Either),
    ("mysqlimport", "-p", ValueAttachment::Attached),
    ("mysqlshow", "-p", ValueAttachment::Attached),
    ("mongorestore", "-p", ValueAttachment::Either),
    ("7za", "-p", ValueAttachment::Attached),
    ("rar", "-p", ValueAttachment::Attached),
    ("unrar", "-p", ValueAttachment::Attached),
    ("xfreerdp", "/p:", ValueAttachment::Attached),
    ("impacket-psexec", "-p", ValueAttachment::Separate),
];

/// Commands that take a password in other ways.
const OTHERS: [&str; 18] = [
    "curl", "wget", "http", "https", "smbclient", "htpasswd", "openssl", "sqlplus", "echo", "printf",
    "rabbitmqctl", "wpa_passphrase", "ConvertTo-SecureString", "send", "lftp", "vault", "poetry", "rootpw",
];

/// Whether a value stands in the same word as its flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueAttachment {
    Separate,
    Either,
    Attached,
}

/// How many quoted commands may stand in each other: `ssh h "bash -c 'x'"`.
const DEPTH: usize = 3;
/// How many words of a line are looked at.
const WORDS: usize = 256;

/// A word of a command line: where it begins, and whether it sticks to the one before it (`-p'X'`).
#[derive(Clone, Copy)]
struct ShellWord<'a> {
    at: usize,
    text: &'a str,
    sticks: bool,
}

/// Finds them in `line`, which begins at `from` of the text.
pub(super) fn find(line: &str, from: usize, spans: &mut Vec<SecretSpan>) {
    let known =
        FLAGS.iter().any(|(name, ..)| line.contains(name)) || OTHERS.iter().any(|name| line.contains(name));
    if known || ["pass:", "/user:"].iter().any(|part| line.contains(part)) {
        command_line(line, from, DEPTH, spans);
    }
}

fn command_line(line: &str, from: usize, depth: usize, spans: &mut Vec<SecretSpan>) {
    let words = words(line);
    let mut command = "";
    for (n, word) in words.iter().enumerate() {
        let name = name(word.text);
        if !word.sticks && (FLAGS.iter().any(|(known, ..)| *known == name) || OTHERS.contains(&name)) {
            command = name;
            continue;
        }
        if matches!(word.text, "&&" | ";" | "||") || word.text == "|" && command != "echo" {
            command = "";
        }
        let before = n.checked_sub(1).map_or("", |n| words[n].text);
        let found = [flagged(command, &words, n), pair(command, *word, before), bare(command, &words, n)];
        for value in found.into_iter().flatten() {
            spans.push(SecretSpan {
                from: from + value.at,
                to: from + value.at + value.text.len(),
                kind: SecretKind::Password,
            });
        }
        if depth > 0 && word.text.contains(' ') {
            command_line(word.text, from + word.at, depth - 1, spans);
        }
    }
}

/// The name of the command in a word that may have a path, a prompt or the mark of a diff or a listing before
/// it.
fn name(word: &str) -> &str {
    let start = word
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
        .map_or(0, |n| n + word[n..].chars().next().map_or(0, char::len_utf8));
    word[start..].trim_start_matches(['-', '+'])
}

fn is_password(value: &str) -> bool {
    value.len() >= 3 && !is_placeholder(value)
}

/// The part of a word from its byte `n` on.
fn from(word: ShellWord<'_>, n: usize) -> ShellWord<'_> {
    ShellWord { at: word.at + n, text: &word.text[n..], ..word }
}

/// `-p X`, `-pX` and `-p'X'`.
fn flagged<'a>(command: &str, words: &[ShellWord<'a>], n: usize) -> Option<ShellWord<'a>> {
    let word = words[n];
    let (_, flag, sticks) =
        FLAGS.iter().find(|(known, flag, _)| *known == command && word.text.starts_with(flag))?;
    let rest = from(word, flag.len());
    let next = words.get(n + 1).copied();
    let value = match (rest.text.is_empty(), sticks) {
        (false, ValueAttachment::Either | ValueAttachment::Attached) => rest,
        (true, ValueAttachment::Attached) => next.filter(|next| next.sticks)?,
        (true, _) => next?,
        _ => return None,
    };
    // A port map of `docker run` is no password.
    let digits = value.text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'/'));
    let is_map =
        digits && *sticks == ValueAttachment::Separate && (value.text.contains(':') || value.text.len() <= 5);
    let is_flag = value.text.starts_with("--") || value.text.starts_with('-') && value.text.len() <= 3;
    (!is_flag && !is_map && is_password(value.text)).then_some(value)
}

/// `-u name:password`, `-U name%password`, `name/password@host`, `name:password | chpasswd`.
fn pair<'a>(command: &str, word: ShellWord<'a>, before: &str) -> Option<ShellWord<'a>> {
    let (joint, word) = match (command, before) {
        ("curl" | "http" | "https", "-u" | "--user" | "-a" | "--auth" | "-U" | "--proxy-user") => (':', word),
        ("curl", _) if word.text.starts_with("-u") => (':', from(word, 2)),
        ("curl", _) => (':', from(word, word.text.find("--user=").map(|n| n + 7)?)),
        ("smbclient", "-U") => ('%', word),
        ("lftp", "-u") => (',', word),
        ("sqlplus", _) => ('/', ShellWord { text: word.text.split('@').next()?, ..word }),
        _ => return None,
    };
    let (name, password) = word.text.split_once(joint)?;
    let documented = matches!(password, "password" | "pass");
    (!name.is_empty() && !documented && is_password(password)).then(|| from(word, name.len() + 1))
}

/// A password that no flag names.
fn bare<'a>(command: &str, words: &[ShellWord<'a>], n: usize) -> Option<ShellWord<'a>> {
    let word = words[n];
    let before = |back: usize| n.checked_sub(back).map_or("", |n| words[n].text);
    // `echo X | docker login --password-stdin`, `echo X | sudo -S`, `echo name:X | chpasswd`
    let piped = |to: &[&str]| {
        words[n + 1..].iter().take(8).any(|word| to.contains(&name(word.text)) || to.contains(&word.text))
    };
    let value = match command {
        "echo" | "printf"
            if matches!(name(before(1)), "echo" | "printf") || matches!(before(1), "-n" | "-e" | "%s") =>
        {
            let asks = words[n + 1..]
                .windows(2)
                .take(8)
                .any(|pair| pair[0].text == "|" && matches!(name(pair[1].text), "su" | "cryptsetup"));
            if asks || piped(&["--password-stdin", "-S", "--with-token", "--stdin"]) {
                word
            } else if piped(&["chpasswd"]) {
                from(word, word.text.find(':')? + 1)
            } else {
                return None;
            }
        }
        "htpasswd"
            if n + 1 == words.len()
                && words[..n].iter().any(|w| w.text.starts_with('-') && w.text.contains('b')) =>
        {
            word
        }
        "rabbitmqctl" if matches!(before(2), "add_user" | "change_password" | "authenticate_user") => word,
        "wpa_passphrase" if name(before(2)) == command => word,
        "rootpw" if before(1) == "--plaintext" => word,
        "vault" if before(1) == "login" && is_random(word.text) => word,
        "poetry" if before(1).starts_with("pypi-token.") || before(2).starts_with("http-basic.") => word,
        // `net use Z: \\\\host\\share X /user:bob`
        _ if words.get(n + 1).is_some_and(|next| next.text.to_ascii_lowercase().starts_with("/user:"))
            && words[..n].iter().any(|word| word.text == "use")
            && is_random(word.text) =>
        {
            word
        }
        _ if before(1).to_ascii_lowercase().starts_with("/user:") && before(1).len() > 6 => word,
        "ConvertTo-SecureString" if matches!(name(before(1)), "ConvertTo-SecureString" | "String") => word,
        // An answer of `expect` to the question for a password.
        "send"
            if name(before(1)) == "send"
                && words[..n].iter().any(|w| w.text.to_ascii_lowercase().contains("assword")) =>
        {
            ShellWord { text: word.text.split("\\r").next()?, ..word }
        }
        _ => from(word, word.text.strip_prefix("pass:").map(|rest| word.text.len() - rest.len())?),
    };
    (is_password(value.text) && !value.text.starts_with('/')).then_some(value)
}

/// The words of a command line, without the quotes round them. A quote that is never closed is none.
fn words(line: &str) -> Vec<ShellWord<'_>> {
    let bytes = line.as_bytes();
    let mut words = Vec::new();
    let mut at = 0;
    // Where the last quote of each kind stands: behind it none can be closed.
    let last = [b'"', b'\''].map(|quote| memchr::memrchr(quote, bytes).unwrap_or(0));
    while words.len() < WORDS && at < bytes.len() {
        let b = bytes[at];
        if b.is_ascii_whitespace() || matches!(b, b'(' | b'`') {
            at += 1;
            continue;
        }
        // In a JSON string the line breaks are written as `\n`, in one within another as `\\n`.
        let slashes = run_end(bytes, at, |b| b == b'\\') - at;
        if slashes > 0 && matches!(bytes.get(at + slashes), Some(b'n' | b'r' | b't')) {
            at += slashes + 1;
            continue;
        }
        let sticks =
            at > 0 && words.last().is_some_and(|word: &ShellWord<'_>| word.at + word.text.len() == at);
        match bytes.get(at + slashes) {
            Some(quote @ (b'"' | b'\'')) => {
                let from = at + slashes + 1;
                let closed = if from <= last[usize::from(*quote == b'\'')] {
                    closing(bytes, from, *quote, slashes)
                } else {
                    None
                };
                if let Some((to, end)) = closed {
                    words.push(ShellWord { at: from, text: &line[from..to], sticks });
                    at = end;
                } else {
                    at = from;
                }
            }
            None => break,
            Some(_) if slashes > 0 => at += slashes,
            Some(_) => {
                let mut end = at;
                while end < bytes.len()
                    && !(bytes[end].is_ascii_whitespace()
                        || matches!(bytes[end], b'"' | b'\'' | b'`' | b'\\'))
                {
                    end += 1;
                }
                words.push(ShellWord { at, text: &line[at..end], sticks });
                at = end;
            }
        }
    }
    words
}

/// Where what a quote opened ends, and where its closing quote does; the quotes are escaped with so many
/// backslashes.
fn closing(bytes: &[u8], from: usize, quote: u8, slashes: usize) -> Option<(usize, usize)> {
    let mut before = 0;
    for (n, b) in bytes[from..].iter().enumerate() {
        match *b {
            b'\\' => before += 1,
            b if b == quote && before <= slashes => return Some((from + n - before, from + n + 1)),
            _ => before = 0,
        }
    }
    None
}
