//! Encryption of a backup by age (age-encryption.org): `age -d` opens it, too.

use std::io::{self, BufReader, Cursor, Read, Write};

use age::secrecy::SecretString;

use super::BackupFailure;
use crate::fs::package::PackageFailure;

/// The first bytes of every encrypted backup.
const AGE: &[u8] = b"age-encryption.org/";
/// The longest header that is read, in bytes: enough for 600 keys. It is read before anything authenticates
/// it.
const HEAD: u64 = 64 << 10;
/// The start of the header's last line, with the newline before it.
const HEAD_END: &[u8] = b"\n---";
/// The highest work factor of a passphrase that is accepted, as a power of two: 256 MiB of memory and some
/// seconds.
const WORK_MOST: u8 = 18;
/// The work factor of new backups. Unoptimized builds, which only tests use, would take a minute.
const WORK: u8 = if cfg!(debug_assertions) { 10 } else { WORK_MOST };

/// How a backup is encrypted.
pub enum BackupCipher {
    None,
    /// With a passphrase.
    Passphrase(String),
    /// To one of these public keys (`age1...`).
    Recipients(Vec<String>),
}

/// How to decrypt a backup.
pub enum BackupKey {
    None,
    Passphrase(String),
    /// The text of a key file, as `age-keygen` writes it.
    Identities(String),
}

/// Whether a file that starts with these bytes is encrypted.
pub fn is_encrypted(begin: &[u8]) -> bool {
    begin.starts_with(AGE)
}

impl BackupCipher {
    /// The key that decrypts the backup again, if this process has it.
    pub(super) fn key(&self) -> Option<BackupKey> {
        match self {
            BackupCipher::None => Some(BackupKey::None),
            BackupCipher::Passphrase(phrase) => Some(BackupKey::Passphrase(phrase.clone())),
            BackupCipher::Recipients(_) => None,
        }
    }

    /// An encrypting writer around `output`; the output itself if nothing is encrypted.
    pub(super) fn writer<W: Write>(
        &self,
        out: W,
    ) -> Result<Result<age::stream::StreamWriter<W>, W>, BackupFailure> {
        let failed = |why: String| BackupFailure::Key(why);
        let encryptor = match self {
            BackupCipher::None => return Ok(Err(out)),
            BackupCipher::Passphrase(phrase) => {
                let mut recipient = age::scrypt::Recipient::new(SecretString::from(phrase.clone()));
                recipient.set_work_factor(WORK);
                age::Encryptor::with_recipients([&recipient as &dyn age::Recipient].into_iter())
                    .map_err(|why| failed(why.to_string()))?
            }
            BackupCipher::Recipients(keys) => {
                let keys = keys
                    .iter()
                    .map(|key| {
                        key.parse::<age::x25519::Recipient>()
                            .map_err(|why| failed(format!("{key:?} is not a public key of age: {why}")))
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                let keys = keys.iter().map(|key| key as &dyn age::Recipient);
                age::Encryptor::with_recipients(keys).map_err(|why| failed(why.to_string()))?
            }
        };
        let wrapped = encryptor.wrap_output(out).map_err(|why| failed(format!("cannot encrypt: {why}")))?;
        Ok(Ok(wrapped))
    }
}

impl BackupKey {
    /// A decrypting reader around `input`.
    pub(super) fn reader<'a>(&self, mut input: impl Read + 'a) -> Result<Box<dyn Read + 'a>, BackupFailure> {
        let failed = |why: String| BackupFailure::Key(why);
        let mut begin = Vec::new();
        let read = input.by_ref().take(HEAD).read_to_end(&mut begin);
        read.map_err(|error| BackupFailure::from(PackageFailure::Input(error)))?;
        if memchr::memmem::find(&begin, HEAD_END).is_none() {
            return Err(failed("it cannot be decrypted: its header is incomplete".to_owned()));
        }
        let input = BufReader::new(Cursor::new(begin).chain(input));
        let decryptor = age::Decryptor::new_buffered(input)
            .map_err(|why| failed(format!("it cannot be decrypted: {why}")))?;
        let wrong = |why: age::DecryptError| {
            if let age::DecryptError::ExcessiveWork { required, .. } = why {
                return failed(format!(
                    "trying a passphrase would cost more than hopty spends on it (scrypt work factor \
                     {required}, at most {WORK_MOST})"
                ));
            }
            // age puts invisible marks around the values in its messages.
            let why = why.to_string().replace('\n', " ").replace(['\u{2068}', '\u{2069}'], "");
            failed(format!("it cannot be decrypted with this passphrase or key: {why}"))
        };
        match self {
            BackupKey::None => Err(failed("it is encrypted".to_owned())),
            BackupKey::Passphrase(phrase) => {
                let mut identity = age::scrypt::Identity::new(SecretString::from(phrase.clone()));
                identity.set_max_work_factor(WORK_MOST);
                let opened = decryptor.decrypt([&identity as &dyn age::Identity].into_iter());
                Ok(Box::new(opened.map_err(wrong)?))
            }
            BackupKey::Identities(text) => {
                let keys: Vec<age::x25519::Identity> = text
                    .lines()
                    .map(str::trim)
                    .filter(|line| !line.is_empty() && !line.starts_with('#'))
                    .filter_map(|line| line.parse().ok())
                    .collect();
                if keys.is_empty() {
                    return Err(failed("the file has no age key (AGE-SECRET-KEY-...)".to_owned()));
                }
                let keys = keys.iter().map(|key| key as &dyn age::Identity);
                Ok(Box::new(decryptor.decrypt(keys).map_err(wrong)?))
            }
        }
    }
}

/// Writes the end of an encrypted stream.
pub(super) fn finish<W: Write>(stream: age::stream::StreamWriter<W>) -> io::Result<W> {
    stream.finish()
}
