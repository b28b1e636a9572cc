//! Replaces secrets in text that a model or a person will see.
//!
//! Each file finds one kind of evidence: the shape of a known service's key (`secret_rules`), a private key
//! (`private_keys`), a URL (`url_credentials`), an assignment to a name such as `password` (`assignments`, with
//! `secret_names` and `secret_values`), a sentence in one of many languages (`prose`, `prose_codes`), a layout of several
//! lines (`secret_layouts`), a header or password file (`credential_places`), a command line
//! (`command_secrets`). Each reads the text once, so that the cost is linear for every input.
//!
//! This lowers the harm of a careless quote and guarantees nothing: a secret without a known shape, a name or
//! a place looks like a digest, and digests stay.

mod argv;
mod assignments;
mod byte_scan;
mod command_secrets;
mod credential_places;
mod placeholders;
mod plain_text;
mod private_keys;
mod prose;
mod prose_codes;
mod prose_words;
mod redact_text;
mod secret_kind;
mod secret_layouts;
mod secret_names;
mod secret_rules;
mod secret_spans;
mod secret_values;
mod url_credentials;

#[cfg(test)]
mod lookalikes;
#[cfg(test)]
mod planted_secrets;
#[cfg(test)]
mod redact_tests;
#[cfg(test)]
mod trial;

pub use argv::redact_words;
pub use redact_text::{Redaction, redact, redactions, secret_ranges};
pub use secret_kind::{SecretKind, mark};
