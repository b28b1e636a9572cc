//! Keys of services that are known by how they begin.
//!
//! The table is what the services themselves document, or what their keys look like. A key counts only where
//! a word can begin, when enough characters of its alphabet follow, and when these are no placeholder.

use super::values::made_up;
use super::{Kind, Span, begins_word, blocks, run};

/// How much of what follows is looked at, in bytes; a key is hidden to its end.
const LOOK: usize = 300;

/// The alphabet of what follows the beginning.
#[derive(Clone, Copy)]
enum Set {
    /// `A-Z a-z 0-9`.
    Alnum,
    /// `A-Z 0-9`.
    Upper,
    /// `0-9 a-f A-F`.
    Hex,
    /// `A-Z a-z 0-9 _ -`.
    Word,
    /// As `Word`, and `.`.
    Dotted,
    /// Base64 of both kinds, percent codes, and `.`.
    Base64,
    /// The alphabet of `crypt(3)`.
    Crypt,
}

impl Set {
    fn has(self, b: u8) -> bool {
        match self {
            Set::Alnum => b.is_ascii_alphanumeric(),
            Set::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Set::Hex => b.is_ascii_hexdigit(),
            Set::Word => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'),
            Set::Dotted => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'),
            Set::Base64 => {
                b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'%')
            }
            Set::Crypt => b.is_ascii_alphanumeric() || matches!(b, b'.' | b'/' | b'$' | b'=' | b',' | b'+'),
        }
    }
}

struct Key {
    start: &'static str,
    set: Set,
    /// The fewest and the most characters that follow.
    len: (usize, usize),
    kind: Kind,
}

const fn key(kind: Kind, start: &'static str, set: Set, least: usize) -> Key {
    Key { start, set, len: (least, usize::MAX), kind }
}

const fn exact(kind: Kind, start: &'static str, set: Set, len: usize) -> Key {
    Key { start, set, len: (len, len), kind }
}

use Set::{Alnum, Base64, Crypt, Dotted, Hex, Upper, Word};

const KEYS: &[Key] = &[
    exact(Kind::Aws, "AKIA", Upper, 16),
    exact(Kind::Aws, "ASIA", Upper, 16),
    exact(Kind::Aws, "ABIA", Upper, 16),
    exact(Kind::Aws, "ACCA", Upper, 16),
    key(Kind::Aws, "ABSK", Base64, 60),
    key(Kind::Aws, "bedrock-api-key-", Base64, 20),
    key(Kind::Google, "AIza", Word, 30),
    key(Kind::Google, "GOCSPX-", Word, 16),
    key(Kind::Google, "ya29.", Dotted, 20),
    key(Kind::Google, "1//0", Word, 20),
    key(Kind::GitHub, "ghp_", Word, 12),
    key(Kind::GitHub, "gho_", Word, 12),
    key(Kind::GitHub, "ghu_", Word, 12),
    key(Kind::GitHub, "ghs_", Dotted, 12),
    key(Kind::GitHub, "ghr_", Word, 12),
    key(Kind::GitHub, "github_pat_", Word, 12),
    key(Kind::GitLab, "glpat-", Dotted, 12),
    key(Kind::GitLab, "gldt-", Dotted, 12),
    key(Kind::GitLab, "glrt-", Dotted, 12),
    key(Kind::GitLab, "glrtr-", Dotted, 12),
    key(Kind::GitLab, "glcbt-", Dotted, 12),
    key(Kind::GitLab, "glptt-", Dotted, 12),
    key(Kind::GitLab, "glft-", Dotted, 12),
    key(Kind::GitLab, "glimt-", Dotted, 12),
    key(Kind::GitLab, "glagent-", Dotted, 12),
    key(Kind::GitLab, "gloas-", Dotted, 12),
    key(Kind::GitLab, "glsoat-", Dotted, 12),
    key(Kind::GitLab, "glffct-", Dotted, 12),
    key(Kind::GitLab, "glwt-", Dotted, 12),
    key(Kind::GitLab, "GR1348941", Word, 16),
    key(Kind::Slack, "xoxb-", Base64, 10),
    key(Kind::Slack, "xoxp-", Base64, 10),
    key(Kind::Slack, "xoxa-", Base64, 10),
    key(Kind::Slack, "xoxr-", Base64, 10),
    key(Kind::Slack, "xoxs-", Base64, 10),
    key(Kind::Slack, "xoxo-", Base64, 10),
    key(Kind::Slack, "xoxc-", Base64, 10),
    key(Kind::Slack, "xoxd-", Base64, 10),
    key(Kind::Slack, "xoxe-", Base64, 10),
    key(Kind::Slack, "xoxe.", Base64, 10),
    key(Kind::Slack, "xapp-", Base64, 10),
    key(Kind::Slack, "xwfp-", Base64, 10),
    key(Kind::Stripe, "sk_live_", Word, 10),
    key(Kind::Stripe, "sk_test_", Word, 10),
    key(Kind::Stripe, "sk_org_", Word, 16),
    key(Kind::Stripe, "rk_live_", Word, 10),
    key(Kind::Stripe, "rk_test_", Word, 10),
    key(Kind::Stripe, "whsec_", Base64, 16),
    key(Kind::Model, "sk-ant-", Word, 12),
    key(Kind::Model, "sk-proj-", Word, 12),
    key(Kind::Model, "sk-svcacct-", Word, 12),
    key(Kind::Model, "sk-admin-", Word, 12),
    key(Kind::Model, "sk-or-v1-", Word, 12),
    key(Kind::Model, "sk-lf-", Word, 16),
    key(Kind::Model, "sk-None-", Word, 12),
    key(Kind::Model, "hf_", Alnum, 16),
    key(Kind::Model, "api_org_", Alnum, 20),
    key(Kind::Model, "gsk_", Alnum, 20),
    key(Kind::Model, "xai-", Alnum, 20),
    key(Kind::Model, "pplx-", Alnum, 20),
    key(Kind::Model, "nvapi-", Word, 20),
    key(Kind::Model, "r8_", Alnum, 20),
    key(Kind::Model, "tgp_v1_", Word, 20),
    key(Kind::Model, "pcsk_", Word, 20),
    key(Kind::Model, "lsv2_", Word, 20),
    key(Kind::Model, "tvly-", Word, 16),
    key(Kind::Model, "jina_", Alnum, 30),
    key(Kind::Model, "e2b_", Hex, 30),
    key(Kind::Registry, "npm_", Alnum, 20),
    key(Kind::Registry, "pypi-", Word, 20),
    key(Kind::Registry, "dckr_pat_", Word, 12),
    key(Kind::Registry, "dckr_oat_", Word, 12),
    key(Kind::Registry, "rubygems_", Hex, 32),
    exact(Kind::Registry, "cio", Alnum, 32),
    exact(Kind::Registry, "oy2", Alnum, 43),
    key(Kind::Registry, "AKCp", Alnum, 60),
    key(Kind::Registry, "CLOJARS_", Alnum, 40),
    key(Kind::Registry, "jsrp_", Alnum, 20),
    key(Kind::Service, "hvs.", Word, 16),
    key(Kind::Service, "hvb.", Word, 16),
    key(Kind::Service, "hvr.", Word, 16),
    key(Kind::Service, "HRKU-", Word, 16),
    key(Kind::Service, "dop_v1_", Hex, 16),
    key(Kind::Service, "doo_v1_", Hex, 16),
    key(Kind::Service, "dor_v1_", Hex, 16),
    exact(Kind::Service, "SK", Hex, 32),
    key(Kind::Service, "shpat_", Alnum, 16),
    key(Kind::Service, "shpss_", Alnum, 16),
    key(Kind::Service, "shpca_", Alnum, 16),
    key(Kind::Service, "shppa_", Alnum, 16),
    key(Kind::Service, "shptka_", Alnum, 16),
    key(Kind::Service, "sq0atp-", Word, 16),
    key(Kind::Service, "sq0csp-", Word, 16),
    key(Kind::Service, "EAAA", Word, 50),
    exact(Kind::Service, "key-", Hex, 32),
    key(Kind::Service, "dapi", Hex, 32),
    key(Kind::Service, "dkea", Hex, 32),
    key(Kind::Service, "pul-", Hex, 32),
    key(Kind::Service, "PMAK-", Word, 20),
    key(Kind::Service, "PMAT-", Word, 20),
    key(Kind::Service, "lin_api_", Alnum, 16),
    key(Kind::Service, "lin_oauth_", Alnum, 16),
    key(Kind::Service, "ntn_", Alnum, 30),
    key(Kind::Service, "secret_", Alnum, 40),
    key(Kind::Service, "figd_", Word, 16),
    key(Kind::Service, "figu_", Word, 16),
    key(Kind::Service, "ATATT3", Base64, 20),
    key(Kind::Service, "ATCTT3", Base64, 20),
    key(Kind::Service, "ATBB", Base64, 24),
    key(Kind::Service, "glsa_", Word, 16),
    key(Kind::Service, "glc_eyJ", Base64, 16),
    key(Kind::Service, "NRAK-", Alnum, 16),
    key(Kind::Service, "NRII-", Word, 16),
    key(Kind::Service, "NRJS-", Alnum, 16),
    key(Kind::Service, "NRAA-", Alnum, 16),
    key(Kind::Service, "sntrys_", Base64, 20),
    key(Kind::Service, "sntryu_", Alnum, 20),
    key(Kind::Service, "pscale_tkn_", Dotted, 16),
    key(Kind::Service, "pscale_pw_", Dotted, 16),
    key(Kind::Service, "pscale_oauth_", Dotted, 16),
    key(Kind::Service, "sbp_", Alnum, 20),
    key(Kind::Service, "sb_secret_", Word, 16),
    key(Kind::Service, "nfp_", Alnum, 20),
    key(Kind::Service, "dp.pt.", Alnum, 16),
    key(Kind::Service, "dp.st.", Dotted, 16),
    key(Kind::Service, "dp.ct.", Alnum, 16),
    key(Kind::Service, "dp.sa.", Alnum, 16),
    key(Kind::Service, "dp.scim.", Alnum, 16),
    key(Kind::Service, "dp.audit.", Alnum, 16),
    key(Kind::Service, "tskey-", Word, 12),
    key(Kind::Service, "xkeysib-", Word, 20),
    key(Kind::Service, "xsmtpsib-", Word, 20),
    key(Kind::Service, "dt0c01.", Dotted, 20),
    key(Kind::Service, "dt0s01.", Dotted, 20),
    key(Kind::Service, "EZAK", Alnum, 40),
    key(Kind::Service, "EZTK", Alnum, 40),
    key(Kind::Service, "FLWSECK", Word, 12),
    key(Kind::Service, "squ_", Hex, 32),
    key(Kind::Service, "sqp_", Hex, 32),
    key(Kind::Service, "sqa_", Hex, 32),
    key(Kind::Service, "sgp_", Word, 32),
    key(Kind::Service, "CCIPAT_", Word, 20),
    key(Kind::Service, "CCIPRJ_", Word, 20),
    key(Kind::Service, "bkua_", Hex, 32),
    key(Kind::Service, "CFPAT-", Word, 20),
    key(Kind::Service, "rdme_", Alnum, 40),
    key(Kind::Service, "pnu_", Alnum, 30),
    key(Kind::Service, "duffel_live_", Word, 20),
    key(Kind::Service, "duffel_test_", Word, 20),
    key(Kind::Service, "shippo_live_", Hex, 20),
    key(Kind::Service, "shippo_test_", Hex, 20),
    key(Kind::Service, "p8e-", Alnum, 30),
    key(Kind::Service, "LTAI", Alnum, 12),
    key(Kind::Service, "AKID", Alnum, 32),
    key(Kind::Service, "ops_eyJ", Base64, 40),
    key(Kind::Service, "rnd_", Alnum, 24),
    key(Kind::Service, "fo1_", Word, 30),
    key(Kind::Service, "fm2_", Base64, 40),
    key(Kind::Service, "fm1r_", Base64, 40),
    key(Kind::Service, "apify_api_", Alnum, 20),
    key(Kind::Service, "phx_", Alnum, 30),
    key(Kind::Service, "pylf_v1_", Word, 20),
    key(Kind::Service, "pat-na1-", Word, 20),
    key(Kind::Service, "pat-eu1-", Word, 20),
    key(Kind::Service, "zpka_", Word, 30),
    key(Kind::Service, "tfp_", Base64, 40),
    key(Kind::Service, "sl.", Word, 60),
    key(Kind::Service, "EAAC", Alnum, 60),
    key(Kind::Service, "EAAG", Alnum, 60),
    key(Kind::Service, "IGQV", Word, 60),
    key(Kind::Service, "AAAAAAAAAAAAAAAAAAAAA", Base64, 40),
    key(Kind::Service, "access-production-", Word, 20),
    key(Kind::Service, "access-sandbox-", Word, 20),
    key(Kind::Service, "esecret_", Alnum, 20),
    key(Kind::Registry, "cmVmdGtu", Alnum, 50),
    key(Kind::Service, "xaat-", Word, 30),
    key(Kind::Service, "xapt-", Word, 30),
    key(Kind::Model, "csk-", Alnum, 40),
    key(Kind::Model, "fw_", Alnum, 22),
    key(Kind::Model, "sk_", Hex, 40),
    key(Kind::Model, "ls__", Alnum, 30),
    key(Kind::Model, "fc-", Hex, 32),
    exact(Kind::Model, "pa-", Word, 43),
    key(Kind::Service, "v1.0-", Word, 150),
    key(Kind::Service, "ddp_", Alnum, 30),
    exact(Kind::Service, "live_", Word, 40),
    exact(Kind::Service, "live_", Hex, 35),
    exact(Kind::Service, "test_", Hex, 35),
    key(Kind::Service, "ico-", Alnum, 30),
    key(Kind::Service, "s-s4t2ud-", Hex, 60),
    key(Kind::Service, "s-s4t2af-", Hex, 60),
    key(Kind::Service, "mlsn.", Hex, 40),
    key(Kind::Service, "sha256~", Word, 40),
    key(Kind::Service, "rzp_live_", Alnum, 12),
    key(Kind::Service, "rzp_test_", Alnum, 12),
    key(Kind::Service, "rootly_", Hex, 40),
    exact(Kind::Service, "tk-us-", Word, 48),
    key(Kind::Service, "sm_pat_", Alnum, 16),
    key(Kind::Service, "sm_aat_", Alnum, 16),
    key(Kind::Service, "sm_sat_", Alnum, 16),
    key(Kind::Service, "snyk_uat.", Dotted, 20),
    key(Kind::Service, "snyk_sat.", Dotted, 20),
    key(Kind::Service, "vtwn_", Alnum, 20),
    key(Kind::Service, "vcp_", Alnum, 24),
    key(Kind::Service, "vca_", Alnum, 24),
    key(Kind::Service, "vck_", Alnum, 24),
    key(Kind::Service, "vci_", Alnum, 24),
    key(Kind::Service, "waka_", Word, 30),
    key(Kind::Service, "AQVN", Word, 34),
    key(Kind::Service, "YCAJE", Word, 20),
    key(Kind::Service, "t1.", Base64, 80),
    key(Kind::Service, "tr_prod_", Alnum, 16),
    key(Kind::Service, "tr_dev_", Alnum, 16),
    key(Kind::Service, "aio_", Alnum, 26),
    key(Kind::Service, "ory_at_", Word, 20),
    key(Kind::Service, "ory_pat_", Word, 20),
    key(Kind::Service, "nfc_", Alnum, 30),
    key(Kind::Service, "nfo_", Alnum, 30),
    key(Kind::Service, "ol_api_", Alnum, 30),
    key(Kind::Service, "hf_oauth_", Word, 20),
    key(Kind::Service, "sl.u.", Word, 60),
    key(Kind::PasswordFile, "$1$", Crypt, 20),
    key(Kind::PasswordFile, "$2a$", Crypt, 40),
    key(Kind::PasswordFile, "$2b$", Crypt, 40),
    key(Kind::PasswordFile, "$2y$", Crypt, 40),
    key(Kind::PasswordFile, "$5$", Crypt, 30),
    key(Kind::PasswordFile, "$6$", Crypt, 30),
    key(Kind::PasswordFile, "$y$", Crypt, 30),
    key(Kind::PasswordFile, "$argon2", Crypt, 30),
    key(Kind::PrivateKey, "AGE-SECRET-KEY-", Upper, 40),
    // The bodies of private keys without their frames: OpenSSH, and PEM that was encoded once more.
    key(Kind::PrivateKey, "b3BlbnNzaC1rZXktdjE", Base64, 20),
    key(Kind::PrivateKey, "LS0tLS1CRUdJTiBSU0EgUFJJVkFURS", Base64, 20),
    key(Kind::PrivateKey, "LS0tLS1CRUdJTiBEU0EgUFJJVkFURS", Base64, 20),
    key(Kind::PrivateKey, "LS0tLS1CRUdJTiBFQyBQUklWQVRF", Base64, 20),
    key(Kind::PrivateKey, "LS0tLS1CRUdJTiBQUklWQVRF", Base64, 20),
    key(Kind::PrivateKey, "LS0tLS1CRUdJTiBPUEVOU1NI", Base64, 20),
    key(Kind::PrivateKey, "LS0tLS1CRUdJTiBFTkNSWVBU", Base64, 20),
    key(Kind::PrivateKey, "LS0tLS1CRUdJTiBQR1AgUFJJVkFURS", Base64, 20),
];

/// Which bytes a beginning can begin with.
const FIRST: [bool; 256] = {
    let mut first = [false; 256];
    let mut i = 0;
    while i < KEYS.len() {
        first[KEYS[i].start.as_bytes()[0] as usize] = true;
        i += 1;
    }
    first
};

/// Finds them.
pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !FIRST[usize::from(bytes[at])] || !begins_word(bytes, at) {
            at += 1;
            continue;
        }
        let span = KEYS.iter().find_map(|key| matches(key, text, at)).or_else(|| plain(text, at));
        at = span.map_or(at + 1, |span| span.to);
        spans.extend(span);
    }
}

fn matches(key: &Key, text: &str, at: usize) -> Option<Span> {
    let bytes = text.as_bytes();
    if bytes[at] != key.start.as_bytes()[0] || !bytes[at..].starts_with(key.start.as_bytes()) {
        return None;
    }
    let from = at + key.start.len();
    let most = key.len.1.min(LOOK) + 1;
    let end = run(&bytes[..bytes.len().min(from + most)], from, |b| key.set.has(b));
    if !(key.len.0..=key.len.1).contains(&(end - from)) || made_up(&text[from..end]) {
        return None;
    }
    let end = match key.len.1 {
        usize::MAX => run(bytes, end, |b| key.set.has(b)),
        _ => end,
    };
    let end = end - trailing(&bytes[from..end]);
    let to = if key.kind == Kind::PrivateKey { blocks::body(bytes, end) } else { end };
    Some(Span { from: at, to, kind: key.kind })
}

/// Points at the end are those of a sentence.
fn trailing(body: &[u8]) -> usize {
    body.iter().rev().take_while(|b| matches!(b, b'.' | b',')).count()
}

/// `sk-` alone begins words too (`sk-learn`, class names of web pages), so one long run must follow it.
fn plain(text: &str, at: usize) -> Option<Span> {
    let bytes = text.as_bytes();
    // A minus at the beginning of a line is that of a diff.
    let inside = at > 1 && matches!(bytes[at - 1], b'-' | b'_') && bytes[at - 2] != b'\n';
    if inside || !bytes[at..].starts_with(b"sk-") {
        return None;
    }
    let end = run(&bytes[..bytes.len().min(at + LOOK)], at + 3, |b| Set::Word.has(b));
    let body = &text[at + 3..end];
    let long = |part: &str| part.len() >= 16 && part.bytes().any(|b| b.is_ascii_digit());
    let is_key = body.split(['-', '_']).any(long) && !made_up(body);
    is_key.then(|| Span { from: at, to: run(bytes, end, |b| Set::Word.has(b)), kind: Kind::Model })
}
