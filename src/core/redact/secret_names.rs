//! Names whose value is a secret, by their last words.
//!
//! The last word says what a value is: `password_file` is a file and `token_count` a count,
//! `DB_PASSWORD_PROD` is a password still.

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameClass {
    /// Almost any value is a secret.
    Password,
    /// Most values are.
    Secret,
    /// A value that looks random is.
    Token,
    /// Words of a phrase that opens a wallet.
    Phrase,
    /// A value that looks very random is.
    Weak,
}

/// The longest name that is looked at; of a longer one its end.
const LONGEST: usize = 64;

/// Words behind the one that counts.
const BEHIND: [&str; 22] = [
    "prod", "production", "dev", "development", "staging", "stage", "test", "testing", "live", "old", "new",
    "primary", "secondary", "value", "default", "base", "b64", "base64", "hex", "raw", "plain", "plaintext",
];

/// Ends of names, joined and in small letters.
const ENDS: &[(&str, NameClass)] = &[
    ("password", NameClass::Password),
    ("passwd", NameClass::Password),
    ("passphrase", NameClass::Password),
    ("passwort", NameClass::Password),
    ("passcode", NameClass::Password),
    ("userpass", NameClass::Password),
    ("dbpass", NameClass::Password),
    ("keypass", NameClass::Password),
    ("storepass", NameClass::Password),
    ("rootpw", NameClass::Password),
    ("psk", NameClass::Password),
    ("bindpw", NameClass::Password),
    ("userpw", NameClass::Password),
    ("pswd", NameClass::Password),
    ("pwd", NameClass::Password),
    ("psw", NameClass::Password),
    ("sshpass", NameClass::Password),
    ("rediscliauth", NameClass::Password),
    ("requirepass", NameClass::Password),
    ("masterauth", NameClass::Password),
    ("identifiedby", NameClass::Password),
    ("secret", NameClass::Secret),
    ("credential", NameClass::Token),
    ("credentials", NameClass::Token),
    ("token", NameClass::Token),
    ("apikey", NameClass::Token),
    ("apikeys", NameClass::Token),
    ("apitokens", NameClass::Token),
    ("keydata", NameClass::Token),
    ("honeycombteam", NameClass::Token),
    ("mnemonic", NameClass::Phrase),
    ("seedphrase", NameClass::Phrase),
    ("recoveryphrase", NameClass::Phrase),
    ("phpsessid", NameClass::Token),
    ("jsessionid", NameClass::Token),
    ("connectsid", NameClass::Token),
    ("aspnetsessionid", NameClass::Token),
    ("connectionstring", NameClass::Weak),
    ("accesskeyid", NameClass::Weak),
];

/// What makes a key one that is kept secret; the word before `key`, joined.
const KEYS: [&str; 46] = [
    "secret", "private", "access", "auth", "signing", "sign", "encryption", "encrypt", "decryption",
    "master", "account", "shared", "storage", "service", "license", "client", "app", "application",
    "webhook", "deploy", "admin", "root", "session", "hmac", "jwt", "aes", "rsa", "crypto", "cipher",
    "subscription", "function", "server", "personal", "user", "team", "org", "write", "read", "stripe",
    "openai", "anthropic", "google", "maps", "preshared", "psk", "integration",
];

/// Names that end like a secret and hold none.
const NOT: [&str; 17] = [
    "nexttoken", "pagetoken", "continuationtoken", "cancellationtoken", "canceltoken", "synctoken",
    "pushtoken", "stoptoken", "starttoken", "endtoken", "eostoken", "padtoken", "bostoken", "unktoken",
    "publictoken", "nosecret", "parsetoken",
];

/// What the name says, where it says anything.
pub(super) fn name_class(name: &[u8]) -> Option<NameClass> {
    let name = &name[name.len().saturating_sub(LONGEST)..];
    let mut name: Vec<u8> = name.to_vec();
    let mut words = String::with_capacity(name.len() + 8);
    // `dbPassword`, `db-password` and `DB_PASSWORD` are the same words.
    let mut before = b'_';
    for b in name.drain(..) {
        if b.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            words.push(' ');
        }
        match b {
            b'_' | b'-' | b'.' | b' ' => words.push(' '),
            _ => words.push(char::from(b.to_ascii_lowercase())),
        }
        before = b;
    }
    let mut words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    while words.len() > 1
        && words.last().is_some_and(|last| BEHIND.contains(last) || last.bytes().all(|b| b.is_ascii_digit()))
    {
        words.pop();
    }
    let last = words.last()?.trim_end_matches(|c: char| c.is_ascii_digit());
    let joined = words[..words.len() - 1].concat() + last;
    if NOT.iter().any(|not| joined.ends_with(not)) {
        return None;
    }
    if let Some((_, class)) = ENDS.iter().find(|(end, _)| joined.ends_with(end)) {
        return Some(*class);
    }
    if let Some(kind) = joined.strip_suffix("key") {
        if kind.ends_with("public") || kind.ends_with("host") {
            return None;
        }
        if KEYS.iter().any(|key| kind.ends_with(key)) {
            return Some(NameClass::Token);
        }
        return (last == "key").then_some(NameClass::Weak);
    }
    match last {
        "pass" | "pw" if words.len() > 1 => Some(NameClass::Password),
        "pass" | "pw" => Some(NameClass::Secret),
        "pin" | "otp" | "creds" | "pat" | "passkey" | "sas" | "pepper" | "salt" | "totp" | "bearer" => {
            Some(NameClass::Token)
        }
        "auth" | "authorization" | "cookie" | "sessionid" | "sid" | "signature" | "sig" | "seed"
        | "nonce" | "cert" => Some(NameClass::Weak),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_says_what_a_value_is() {
        for (name, expected) in [
            ("DB_PASSWORD_PROD", Some(NameClass::Password)),
            ("dbPassword2", Some(NameClass::Password)),
            ("--password", Some(NameClass::Password)),
            ("SMTP_PASS", Some(NameClass::Password)),
            ("SSHPASS", Some(NameClass::Password)),
            ("ADMIN_PSW", Some(NameClass::Password)),
            ("x-honeycomb-team", Some(NameClass::Token)),
            ("compass", None),
            ("password_file", None),
            ("token_count", None),
            ("max_tokens", None),
            ("nextPageToken", None),
            ("spring.datasource.password", Some(NameClass::Password)),
            ("clientSecret", Some(NameClass::Secret)),
            ("SECRET_KEY_BASE", Some(NameClass::Token)),
            ("aws_secret_access_key", Some(NameClass::Token)),
            ("primary_key", Some(NameClass::Weak)),
            ("public_key", None),
            ("monkey", None),
            ("X-Api-Key", Some(NameClass::Token)),
        ] {
            assert_eq!(name_class(name.as_bytes()), expected, "{name}");
        }
    }
}
