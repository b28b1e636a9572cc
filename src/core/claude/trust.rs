//! Whether the person trusts a directory, by Claude's own record in `.claude.json`.

use serde_json::Value;

/// Whether the record of one of `places` says that its trust dialog was accepted. `state` is the text of
/// `.claude.json`; invalid JSON accepts nothing.
pub fn is_accepted(state: &[u8], places: &[String]) -> bool {
    let Ok(state) = serde_json::from_slice::<Value>(state) else { return false };
    let accepted =
        |place: &String| state.get("projects")?.get(place)?.get("hasTrustDialogAccepted")?.as_bool();
    places.iter().any(|place| accepted(place) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_record_that_says_true_is_trust() {
        let places = ["/w/p".to_owned(), "/w".to_owned()];
        for (state, expected) in [
            (r#"{"projects":{"/w/p":{"hasTrustDialogAccepted":true}}}"#, true),
            (
                r#"{"projects":{"/w":{"hasTrustDialogAccepted":true},"/w/p":{"hasTrustDialogAccepted":false}}}"#,
                true,
            ),
            (r#"{"projects":{"/w/p":{"hasTrustDialogAccepted":false}}}"#, false),
            (r#"{"projects":{"/w/p":{"hasTrustDialogAccepted":"true"}}}"#, false),
            (r#"{"projects":{"/w/p":{}}}"#, false),
            (r#"{"projects":{"/w/p/q":{"hasTrustDialogAccepted":true}}}"#, false),
            (r#"{"projects":["/w/p"]}"#, false),
            ("[]", false),
            ("", false),
            ("{\"projects\":{\"/w/p\":{\"hasTrustDialogAccepted\":true}}", false),
        ] {
            assert_eq!(is_accepted(state.as_bytes(), &places), expected, "{state}");
        }
        assert!(!is_accepted(br#"{"projects":{"/w/p":{"hasTrustDialogAccepted":true}}}"#, &[]));
    }
}
