//! Which secrets are replaced, and which other texts stay.

use super::SecretKind;
use super::lookalikes::LOOKALIKES;
use super::planted_secrets::planted;
use super::redact_text::{Redaction, redact, redactions, secret_ranges};
use super::secret_kind::mark;
use proptest::prelude::*;

#[test]
fn secrets_are_replaced_by_their_kind() {
    for (text, shown) in [
        ("key sk-ant-api03-abcdefghijkl0", "key [redacted: model provider key]"),
        ("export DB_PASSWORD='hunter22'", "export DB_PASSWORD='[redacted: password]'"),
        ("Authorization: Bearer abcd.efg1", "Authorization: Bearer [redacted: authorization]"),
        ("{\"api_key\": \"0123456789\"}", "{\"api_key\": \"[redacted: secret]\"}"),
        ("Pass \"after_first_write\" when it is done.", "Pass \"after_first_write\" when it is done."),
        ("user admin, pass \"Tr0ub4dor_3\"", "user admin, pass \"[redacted: secret]\""),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nxx\n-----END RSA PRIVATE KEY-----\nb\n",
            "a\n[redacted: private key]\nb\n",
        ),
    ] {
        assert_eq!(redact(text), shown);
    }
}

#[test]
fn two_names_and_a_number_are_a_password_where_one_is_told() {
    for (text, secret) in [
        ("the password is Karpion-Kinneret8", "Karpion-Kinneret8"),
        ("das Passwort ist Karpfen-Bodensee9", "Karpfen-Bodensee9"),
        ("סיסמה: Dagim-Yarden7", "Dagim-Yarden7"),
        ("รหัสผ่าน: PlaTu-Ranong7", "PlaTu-Ranong7"),
        ("รหัสผ่านคือ Pla#Tu991x", "Pla#Tu991x"),
        ("heslo je Kapr-Lipno5", "Kapr-Lipno5"),
        ("heslo k routeru je Kapr_Vltava77", "Kapr_Vltava77"),
        ("hasło do routera: Karp-Mazury8", "Karp-Mazury8"),
        ("mật khẩu wifi: CaHoi-Sapa12", "CaHoi-Sapa12"),
        ("пароль от роутера Shchuka-Ladoga6", "Shchuka-Ladoga6"),
        ("wifi password for guests: Char-Tromso21", "Char-Tromso21"),
        ("le mot de passe du wifi c'est Truite-Annecy3", "Truite-Annecy3"),
    ] {
        let shown = redact(text);
        assert!(!shown.contains(secret) && shown.contains("[redacted: "), "{shown}");
    }
    for text in [
        "the password is checked by auth-v2",
        "password for guests: see the wiki",
        "the password is the one of Windows Server2019",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn secrets_in_commands_and_files_of_many_tools_are_replaced() {
    let token = "uT432hGM4FuqD9A8Vx6F49BH";
    for text in [
        "SSHPASS=@ sshpass -e ssh x",
        "ADMIN_PSW=@",
        "x-honeycomb-team: @",
        "PASS=$(echo @)",
        "vault login @",
        "https://hook.eu1.make.com/@",
        "poetry config pypi-token.pypi @",
        "poetry config http-basic.foo bob @",
        "rootpw --plaintext @",
        "lftp -u bob,@ ftp://x",
        "net use Z: \\\\h\\s @ /user:bob",
        "echo -n @ | cryptsetup luksFormat /dev/x -",
        "echo \"@\" | su -c id",
        "BasicAuth::new(\"bob\", \"@\")",
        "<key>password</key>\n<string>@</string>",
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n@\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
    ] {
        let shown = redact(&text.replace('@', token));
        assert!(!shown.contains(token) && shown.contains("[redacted: "), "{text} -> {shown}");
    }
    let github = format!("run gh{}", "p_Ab3xYz9QwK7LmN2pRs5TuV8");
    for end in
        ["\\\nPt7gCxCOzXK3EyswTqX0 end", "\\\r\nPt7gCxCOzXK3EyswTqX0 end", "\r\nPt7gCxCOzXK3EyswTqX0\r\nend"]
    {
        let shown = redact(&format!("{github}{end}"));
        assert!(!shown.contains("CxCOzXK3"), "{shown}");
    }
    for kept in [
        "vault login userpass",
        "net use Z: \\\\host\\share /user:bob",
        "echo done | tee log; su - bob",
        "poetry config virtualenvs.in-project true",
        "<key>password</key>\n<true/>",
    ] {
        assert_eq!(redact(kept), kept);
    }
}

#[test]
fn the_ranges_of_secrets_are_what_is_replaced() {
    for seed in [1, 2] {
        for planted in planted(seed) {
            if planted.text.contains('\x1b') {
                continue;
            }
            let (mut text, mut from) = (String::new(), 0);
            for (range, kind) in secret_ranges(&planted.text) {
                text.push_str(&planted.text[from..range.start]);
                text.push_str(&mark(kind));
                from = range.end;
            }
            text.push_str(&planted.text[from..]);
            assert_eq!(text, redact(&planted.text));
        }
    }
}

#[test]
fn none_of_200_planted_secrets_of_20_kinds_is_left() {
    let mut left = Vec::new();
    for seed in [1, 2, 3, 4, 5] {
        let all = planted(seed);
        let kinds: std::collections::BTreeSet<_> = all.iter().map(|planted| planted.kind).collect();
        assert!(all.len() >= 200 && kinds.len() >= 20, "{} of {} kinds", all.len(), kinds.len());
        for planted in all {
            let shown = redact(&planted.text);
            let bare = planted.secrets.iter().any(|secret| shown.contains(secret.as_str()));
            // Not even a useful piece of one may be left.
            let piece = planted.secrets.iter().any(|s| {
                s.len() >= 12
                    && s.is_ascii()
                    && s.as_bytes().windows(8).any(|w| shown.as_bytes().windows(8).any(|o| o == w))
            });
            if bare || piece {
                left.push(format!("{}: {:?} -> {:?}", planted.kind, planted.text, shown));
            }
        }
    }
    assert!(left.is_empty(), "{} are left:\n{}", left.len(), left.join("\n"));
}

#[test]
fn of_200_lookalikes_at_most_10_are_harmed() {
    let all: Vec<&str> = LOOKALIKES.lines().collect();
    let harmed: Vec<String> = all
        .iter()
        .filter(|text| redact(text) != **text)
        .map(|text| format!("{text} -> {}", redact(text)))
        .collect();
    assert!(all.len() >= 200, "{}", all.len());
    assert!(harmed.len() <= 10, "{} are harmed:\n{}", harmed.len(), harmed.join("\n"));
    // Together in one text, too: a line must not be the context of the next.
    let text = LOOKALIKES.to_owned();
    let shown = redact(&text);
    let harmed = text.lines().zip(shown.lines()).filter(|(a, b)| a != b).count();
    assert!(text.lines().count() == shown.lines().count() && harmed <= 10, "{harmed}");
}

#[test]
fn redactions_are_listed_without_the_secret() {
    let text = "a\nDB_PASSWORD=hunter22 and ghp_0123456789abcdefghij\n";
    let all = redactions(text);
    assert_eq!(
        all,
        [
            Redaction { kind: SecretKind::Password, line: 2, column: 13 },
            Redaction { kind: SecretKind::GitHub, line: 2, column: 38 }
        ]
    );
    assert_eq!(redactions(&redact(text)), all, "a text that was stored redacted tells the same");
    assert_eq!(redactions("[redacted: nothing] [redacted"), []);
}

#[test]
fn a_mark_is_no_secret() {
    for kind in SecretKind::ALL {
        let mark = format!("[redacted: {kind}]");
        for text in [
            format!("password={mark}"),
            format!("\"token\": \"{mark}\""),
            format!("https://u:{mark}@h/"),
            format!("{mark}: x9y8z7w6v5"),
        ] {
            assert_eq!(redact(&text), text);
        }
    }
}

/// The processor time of this thread, in milliseconds: other load of the machine does not count.
fn busy_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1_000_000
}

/// Inputs that make careless code read the same bytes again and again. The bound is many times the cost of a
/// build without optimizations, and far below quadratic cost.
#[test]
fn hostile_inputs_cost_linear_time() {
    let begin = format!("-----BEGIN PRIV{} KEY-----", "ATE");
    let end = format!("-----END PRIV{} KEY-----", "ATE");
    let units = [
        "password=",
        "\n|--|",
        "|password|\n|--|\n",
        "\"kty\"",
        "kind: Secret\n",
        "kind: Secret\ndata:\n",
        "seed phrase ",
        "backup codes 1111 ",
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----",
        "\u{1b}[1",
        "{\"kty\"",
        "password=\"",
        "password=\\\"x",
        "password='\\\\\\\"",
        "password: ",
        "\"password\",",
        "password(",
        "key key key ",
        "token=<",
        "a",
        "eyJhbGciOi.",
        "eyJ",
        "sk-",
        "sk-xxxx",
        "ghp_",
        "ghp_your_",
        "://",
        "a://b:c",
        "a://@",
        "x@",
        "AKIA",
        "AKIAAAAAAAAAAAAAAAAA",
        "cookie:",
        "Cookie: a=b;",
        "login ",
        "login x password ",
        "Bearer ",
        "authorization:",
        "curl -u ",
        "mysql -p",
        "a:1234:b:c:",
        "1234567890:",
        "MII",
        "MIIEpAIBAAKCAQEA",
        "Private-Lines: ",
        "auth=",
        "\\",
        "\\n",
        "\"",
        "'",
        "\n",
        "&sig=",
        "hooks.slack.com/services/",
        "[redacted: password]",
        "[redacted: ",
        "\u{2192}1",
        &begin,
        &end,
        "name: password value",
        "curl '",
        "curl \\\"",
        "mysql -p'",
        "AUTH ",
        "login(\"a\",",
        "\u{1b}[1m",
        "\\u001b[",
        "x@tcp(",
        "password=,",
        "password={",
        "\"password\" {",
        "API_KEY --body ",
        "a:b:c:d:",
    ];
    for unit in units {
        let text = unit.repeat((64 << 10) / unit.len());
        let began = busy_ms();
        let shown = redact(&text);
        let took = busy_ms() - began;
        assert!(took < 2_500, "{unit:?} took {took} ms");
        assert!(shown.len() <= text.len() * 4);
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z0-9 =:\"'\\\\\n.,;@/<>()\\[\\]{}|_$-]{0,12}",
        prop::sample::select(vec![
            "password",
            "token=",
            "api_key: ",
            "secret",
            "ghp_",
            "sk-ant-",
            "eyJhbGciOi",
            "://",
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----END RSA PRIVATE KEY-----",
            "Bearer ",
            "Cookie: ",
            "[redacted: ",
            "[redacted: password]",
            "AKIA",
            "login ",
            "MII",
            "key",
            "is ",
            "curl -u ",
            "a1B2c3D4e5F6g7H8i9J0",
            "hunter22",
            "\\n",
            "\u{e9}\u{65e5}",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn twice_is_once(text in pieces()) {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let once = redact(&text);
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn a_planted_secret_is_found_in_any_surroundings(n in 0usize..200, before in "[a-z ]{0,40}\n",
        after in "\n[a-zA-Z ]{0,40}") {
        let planted = &planted(9)[n];
        let shown = redact(&format!("{before}{}{after}", planted.text));
        for secret in &planted.secrets {
            prop_assert!(!shown.contains(secret.as_str()), "{}", shown);
        }
    }
}

/// Where a password can be; `@` is its place.
const PLACES: [&str; 34] = [
    "DB_PASSWORD=@\n",
    "export DB_PASSWORD=@\n",
    "password: @\n",
    "  password: \"@\"\n",
    "password = '@'\n",
    "{\"password\":\"@\"}",
    "{\\\"password\\\":\\\"@\\\"}",
    "--password @ x",
    "--password=@ x",
    "password=@\n",
    "PGPASSWORD=@ psql",
    "mysql -p@ db",
    "sshpass -p @ ssh",
    "sshpass -p '@' ssh",
    "curl -u bob:@ https://x",
    "define('DB_PASSWORD', '@');",
    "Server=h;Password=@;Database=d",
    "<password>@</password>",
    "IDENTIFIED BY '@'",
    "ENV DB_PASSWORD @\n",
    "the password is @\n",
    "machine h login u password @\n",
    "h:5432:d:u:@\n",
    "setPassword(\"@\")",
    "redis://:@@h:6379/0",
    "postgres://u:@@h:5432/d",
    "password: '@', user: 'x'",
    "os.environ[\"PASSWORD\"] = \"@\"",
    "- name: PASSWORD\n  value: \"@\"\n",
    "password = \"@\" # x",
    "$env:PASSWORD = \"@\"",
    "set PASSWORD=@\r\n",
    "PASSWORD=@\\nFOO=1",
    "db.password=@\n",
];

proptest! {
    #[test]
    fn any_password_is_replaced_in_any_place(place in 0..PLACES.len(),
        secret in "[a-zA-Z]{5,12}[0-9]{2,4}[a-zA-Z]{1,4}") {
        let shown = redact(&PLACES[place].replacen('@', &secret, 1));
        prop_assert!(!shown.contains(&secret), "{}", shown);
    }
}
