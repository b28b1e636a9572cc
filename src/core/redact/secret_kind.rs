//! The kinds of secrets, and the marks that replace them.

use std::fmt;

/// How a mark begins; a kind and `]` follow.
pub(super) const MARK: &str = "[redacted: ";

/// What a secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretKind {
    /// A value assigned to a name like `password`.
    Password,
    /// A value assigned to a name like `token`, `secret` or `api_key`.
    Secret,
    /// Name and password, or a token, in a URL.
    Url,
    /// A URL that is itself the permission to post.
    Webhook,
    /// A private key: a block, or its encoded body.
    PrivateKey,
    /// A JSON web token.
    Jwt,
    /// What follows `Authorization:`, `Bearer` or `Basic`.
    Authorization,
    /// The values of a cookie.
    Cookie,
    /// A line of `.netrc`, `.pgpass` or `/etc/shadow`.
    PasswordFile,
    /// Amazon Web Services.
    Aws,
    Google,
    /// Microsoft Azure.
    Azure,
    GitHub,
    GitLab,
    Slack,
    Stripe,
    /// A model provider: Anthropic, OpenAI, Hugging Face and others.
    Model,
    /// A package registry: npm, PyPI, Docker Hub and others.
    Registry,
    /// Any other service whose keys are known by their shape.
    Service,
}

impl SecretKind {
    pub(super) const ALL: [SecretKind; 19] = [
        SecretKind::Password,
        SecretKind::Secret,
        SecretKind::Url,
        SecretKind::Webhook,
        SecretKind::PrivateKey,
        SecretKind::Jwt,
        SecretKind::Authorization,
        SecretKind::Cookie,
        SecretKind::PasswordFile,
        SecretKind::Aws,
        SecretKind::Google,
        SecretKind::Azure,
        SecretKind::GitHub,
        SecretKind::GitLab,
        SecretKind::Slack,
        SecretKind::Stripe,
        SecretKind::Model,
        SecretKind::Registry,
        SecretKind::Service,
    ];

    /// The word in the mark.
    pub fn word(self) -> &'static str {
        match self {
            SecretKind::Password => "password",
            SecretKind::Secret => "secret",
            SecretKind::Url => "credentials in a URL",
            SecretKind::Webhook => "webhook",
            SecretKind::PrivateKey => "private key",
            SecretKind::Jwt => "JSON web token",
            SecretKind::Authorization => "authorization",
            SecretKind::Cookie => "cookie",
            SecretKind::PasswordFile => "password file",
            SecretKind::Aws => "AWS key",
            SecretKind::Google => "Google key",
            SecretKind::Azure => "Azure key",
            SecretKind::GitHub => "GitHub token",
            SecretKind::GitLab => "GitLab token",
            SecretKind::Slack => "Slack token",
            SecretKind::Stripe => "Stripe key",
            SecretKind::Model => "model provider key",
            SecretKind::Registry => "registry token",
            SecretKind::Service => "service key",
        }
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What is written in place of a secret.
pub fn mark(kind: SecretKind) -> String {
    format!("{MARK}{}]", kind.word())
}

/// The marks in `text`: where each begins and ends, and its kind.
pub(super) fn marks(text: &str) -> impl Iterator<Item = (usize, usize, SecretKind)> + '_ {
    text.match_indices(MARK).filter_map(|(at, _)| {
        let rest = &text[at + MARK.len()..];
        let kind = SecretKind::ALL
            .into_iter()
            .find(|kind| rest.strip_prefix(kind.word()).is_some_and(|r| r.starts_with(']')))?;
        Some((at, at + MARK.len() + kind.word().len() + 1, kind))
    })
}
