//! The API errors that end a turn, in words for people.

use std::borrow::Cow;

/// The meaning of an error, for "an API error ended the turn (...)". `name` is Claude's own (`server_error`).
/// An unknown name is printed without punctuation.
pub fn api_error_words(name: &str) -> Cow<'_, str> {
    Cow::Borrowed(match name {
        "server_error" => "the server failed or could not be reached",
        "rate_limit" => "too many requests, or a limit of the account",
        "overloaded" => "the server is overloaded",
        "authentication_failed" => "the login failed",
        "oauth_org_not_allowed" => "your organization is not allowed",
        "billing_error" => "a billing problem",
        "invalid_request" => "the request was refused as invalid",
        "max_output_tokens" => "the answer became too long",
        "unknown" => "Claude does not say which",
        other => return Cow::Owned(other.replace('_', " ")),
    })
}

#[cfg(test)]
mod tests {
    use super::api_error_words;

    #[test]
    fn an_error_has_words_and_an_unknown_one_its_name() {
        assert_eq!(api_error_words("authentication_failed"), "the login failed");
        assert_eq!(api_error_words("new_kind_of_error"), "new kind of error");
        assert!(!api_error_words("server_error").contains('_'));
    }
}
