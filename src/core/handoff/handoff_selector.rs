//! The handoff that an argument selects: by its id, a unique prefix of it, or the id in the third source
//! document's form `chk-YYYYMMDD-HHMMSS`.

use thiserror::Error;

use crate::core::ids::{BadId, HandoffId};

/// Why an argument selects no handoff.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotPicked {
    /// It cannot be part of an id.
    #[error(transparent)]
    BadId(#[from] BadId),
    /// No id is equal to it or begins with it.
    #[error("there is no handoff {0}")]
    Unknown(String),
    /// Several ids begin with it: the newest of them, at most eight.
    #[error("{} handoffs begin with it", .0.len())]
    Several(Vec<HandoffId>),
}

/// The one of `ids` that `word` selects.
///
/// # Errors
/// When it is no prefix of an id, or not of exactly one.
pub fn pick<'a>(word: &str, ids: impl Iterator<Item = &'a HandoffId>) -> Result<HandoffId, NotPicked> {
    let bare = word.strip_prefix("HO-").or_else(|| word.strip_prefix("chk-")).unwrap_or(word);
    if bare.is_empty()
        || bare.len() > 24
        || !bare.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f' | b'-'))
    {
        return Err(word
            .parse::<HandoffId>()
            .err()
            .map_or_else(|| NotPicked::Unknown(word.to_owned()), NotPicked::BadId));
    }
    let mut meant: Vec<HandoffId> =
        ids.filter(|id| id.as_str()["HO-".len()..].starts_with(bare)).cloned().collect();
    meant.sort_unstable_by(|a, b| b.cmp(a));
    meant.dedup();
    match meant.len() {
        0 => Err(NotPicked::Unknown(word.to_owned())),
        1 => Ok(meant.swap_remove(0)),
        _ => {
            meant.truncate(8);
            Err(NotPicked::Several(meant))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_one_handoff_or_none() {
        let ids: Vec<HandoffId> =
            ["HO-20261120-142950-c74cc080", "HO-20261120-142951-c74cc080", "HO-20261119-000000-0b0c9c5e"]
                .iter()
                .map(|id| id.parse().unwrap())
                .collect();
        let of = |word: &str| pick(word, ids.iter());
        for word in [
            "HO-20261120-142950-c74cc080", "HO-20261120-142950", "chk-20261120-142950", "20261120-142950",
            "20261120-142950-c",
        ] {
            assert_eq!(of(word), Ok(ids[0].clone()), "{word}");
        }
        assert_eq!(of("20261119"), Ok(ids[2].clone()));
        assert_eq!(of("HO-20261120"), Err(NotPicked::Several(vec![ids[1].clone(), ids[0].clone()])));
        assert!(matches!(of("HO-20261121"), Err(NotPicked::Unknown(_))));
        for word in [
            "", "HO-", "../../etc/passwd", "HO-20261120-142950-c74cc080x", "HO-2026\n", "*", "-",
            "HO-20261120-142950-C74CC080",
        ] {
            assert!(!matches!(of(word), Ok(_) | Err(NotPicked::Several(_))) || word == "-", "{word:?}");
        }
        assert!(matches!(of("../x"), Err(NotPicked::BadId(_))));
    }
}
