//! 200 secrets of 20 kinds in the places where they stand in prompts, outputs and files.
//!
//! They are put together when the test runs, so that no scanner of a code host takes this file for a leak.

/// A text with a secret in it.
pub(super) struct Planted {
    pub(super) kind: &'static str,
    pub(super) text: String,
    /// What must not be left of it: all of these.
    pub(super) secrets: Vec<String>,
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Characters from a generator with a seed, so that a failure can be seen again.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap()
    }

    fn of(&mut self, alphabet: &str, len: usize) -> String {
        let all = alphabet.as_bytes();
        // The last characters hold all kinds, as a long random text nearly always does.
        let mut text: String = (0..len).map(|_| char::from(all[self.next() % all.len()])).collect();
        if alphabet != HEX && len >= 12 {
            text.replace_range(len - 3.., if alphabet == UPPER { "K7Q" } else { "k7q" });
        }
        text
    }

    fn uuid(&mut self) -> String {
        [8, 4, 4, 4, 12].map(|len| self.of(HEX, len)).join("-")
    }

    /// Lines of base64 as they stand in a key.
    fn lines(&mut self, count: usize) -> String {
        (0..count).map(|_| self.of(BASE64, 64)).collect::<Vec<_>>().join("\n")
            + "\n"
            + &self.of(BASE64, 22)
            + "=="
    }
}

/// The secrets, from this seed.
pub(super) fn planted(seed: u64) -> Vec<Planted> {
    let c = &mut Chance(seed);
    let mut all = Vec::new();
    // In each pattern `@` stands for the secret.
    let mut plant = |kind: &'static str, secret: String, pattern: &str| {
        all.push(Planted { kind, text: pattern.replacen('@', &secret, 1), secrets: vec![secret] });
    };
    for pattern in [
        "aws_access_key_id = @",
        "key @ was used",
        "AccessKeyId: \"@\"",
        "AWS_ACCESS_KEY_ID=@ aws s3 ls",
        "https://s3/?X-Amz-Credential=@%2F20261120",
    ] {
        plant("aws", format!("AK{}{}", "IA", c.of(UPPER, 16)), pattern);
    }
    for pattern in [
        "aws_secret_access_key = @",
        "export AWS_SECRET_ACCESS_KEY=\"@\"",
        "{\"SecretAccessKey\": \"@\"}",
        "secretAccessKey: '@',",
        "AWS_SESSION_TOKEN=@",
    ] {
        plant("aws secret", c.of(BASE64, 40), pattern);
    }
    for (start, pattern) in [
        ("gh|p_", "git clone https://@@github.com/o/r"),
        ("gh|o_", "GITHUB_TOKEN=@"),
        ("gh|u_", "token: @"),
        ("gh|s_", "Authorization: token @"),
        ("gh|r_", "\"refresh\":\"@\""),
        ("github|_pat_", "gh auth login --with-token <<< @"),
        ("gh|p_", "The token is @."),
        ("gh|p_", "{\\\"token\\\":\\\"@\\\"}"),
        ("gh|p_", "a\\n@\\nb"),
        ("gh|s_", "x-access-token:@"),
    ] {
        let text = format!("{}{}", start.replace('|', ""), c.of(ALNUM, 36));
        plant("github", text, pattern);
    }
    for (start, pattern) in [
        ("gl|pat-", "PRIVATE-TOKEN: @"),
        ("gl|dt-", "deploy @"),
        ("gl|rt-", "registration_token = '@'"),
        ("gl|ptt-", "curl -F token=@ -F ref=main https://gitlab.com/api/v4/trigger"),
        ("gl|cbt-", "CI_JOB_TOKEN=@"),
        ("gl|ft-", "feed @ end"),
        ("gl|soat-", "(@)"),
        ("gl|agent-", "token: \"@\""),
        ("gl|pat-", "https://oauth2:@@gitlab.com/a/b.git"),
        ("gl|oas-", "[@]"),
    ] {
        plant("gitlab", format!("{}{}", start.replace('|', ""), c.of(WORD, 20)), pattern);
    }
    for (start, pattern) in [
        ("xo|xb-", "SLACK_BOT_TOKEN=@"),
        ("xo|xp-", "slack: @"),
        ("xa|pp-1-", "'@'"),
        ("xo|xe.xoxp-1-", "{\"access_token\":\"@\"}"),
        ("xo|xc-", "token=@&channel=C1"),
        ("xo|xs-", "<@>"),
        ("xo|xr-", "refresh @"),
    ] {
        let text = format!(
            "{}{}-{}-{}",
            start.replace('|', ""),
            c.of("0123456789", 11),
            c.of("0123456789", 12),
            c.of(ALNUM, 24)
        );
        plant("slack", text, pattern);
    }
    for pattern in [
        "https://hooks.slack.com/services/@",
        "url: https://hooks.slack.com/services/@\n",
        "curl -d '{}' https://hooks.slack.com/services/@ && x",
    ] {
        plant("slack", format!("T{}/B{}/{}", c.of(UPPER, 8), c.of(UPPER, 8), c.of(ALNUM, 24)), pattern);
    }
    for (start, pattern) in [
        ("sk|_live_", "STRIPE_SECRET_KEY=@"),
        ("rk|_live_", "stripe.api_key = \"@\""),
        ("sk|_test_", "Stripe('@')"),
        ("wh|sec_", "webhook secret @"),
        ("sk|_live_", "curl https://api.stripe.com/v1/charges -u @:"),
    ] {
        plant("stripe", format!("{}{}", start.replace('|', ""), c.of(ALNUM, 24)), pattern);
    }
    for pattern in ["TWILIO_AUTH_TOKEN=@", "twilio_auth_token: '@'", "client = Client(sid, auth_token=\"@\")"]
    {
        plant("twilio", c.of(HEX, 32), pattern);
    }
    for pattern in ["SENDGRID_API_KEY=@", "Authorization: Bearer @"] {
        plant("twilio", format!("S{}{}.{}", "G.", c.of(WORD, 22), c.of(WORD, 43)), pattern);
    }
    for (start, len, pattern) in [
        ("npm|_", 36, "//registry.example.org/:_authToken=@"),
        ("npm|_", 36, "NPM_TOKEN: @"),
        ("py|pi-AgEIcHlwaS5vcmc", 120, "password = @"),
        ("py|pi-AgEIcHlwaS5vcmc", 120, "twine upload -u __token__ -p @"),
        ("dck|r_pat_", 27, "docker login -u me -p @"),
        ("ruby|gems_a1", 46, ":gem_api_key: @"),
    ] {
        let alphabet = if start.contains("gems") { HEX } else { ALNUM };
        plant("registry", format!("{}{}", start.replace('|', ""), c.of(alphabet, len)), pattern);
    }
    for (start, len, pattern) in [
        ("sk|-ant-api03-", 93, "ANTHROPIC_API_KEY=@"),
        ("sk|-ant-oat01-", 93, "x-api-key: @"),
        ("sk|-proj-", 120, "openai.api_key = \"@\""),
        ("sk|-", 48, "key: @"),
        ("sk|-svcacct-", 60, "use @ please"),
        ("hf|_", 34, "huggingface-cli login --token @"),
        ("gs|k_", 52, "GROQ=@"),
        ("r8|_", 37, "REPLICATE_API_TOKEN=@"),
        ("AI|za", 35, "https://maps.googleapis.com/?key=@"),
        ("AI|za", 35, "apiKey: \"@\","),
    ] {
        let alphabet = if start.starts_with("AI") || start.contains("ant") { WORD } else { ALNUM };
        plant("model", format!("{}{}", start.replace('|', ""), c.of(alphabet, len)), pattern);
    }
    for (start, len, pattern) in [
        ("GOC|SPX-", 28, "\"client_secret\":\"@\""),
        ("ya|29.a0", 120, "access_token=@"),
        ("1|//0g", 60, "\"refresh_token\": \"@\""),
        ("dop|_v1_", 64, "DIGITALOCEAN_TOKEN=@"),
        ("hv|s.", 24, "export VAULT_TOKEN=@"),
        ("hv|s.CAESI", 90, "root token: @"),
        ("shp|at_", 32, "X-Shopify-Access-Token: @"),
        ("lin|_api_", 40, "linear @"),
        ("gl|sa_", 32, "grafana: @"),
        ("HRK|U-", 36, "HEROKU_API_KEY=@"),
    ] {
        let alphabet = if start.contains("dop") || start.contains("shp") { HEX } else { ALNUM };
        plant("service", format!("{}{}", start.replace('|', ""), c.of(alphabet, len)), pattern);
    }
    for pattern in ["HEROKU_API_KEY=@", "heroku_api_key: \"@\""] {
        plant("service", c.uuid(), pattern);
    }
    for pattern in
        ["https://api.telegram.org/bot@/getMe", "TELEGRAM_BOT_TOKEN=@", "bot @ works", "token: '@'"]
    {
        plant("bot", format!("{}:AA{}", c.of("123456789", 10), c.of(WORD, 33)), pattern);
    }
    for pattern in ["DISCORD_TOKEN=@", "client.login('@')", "Authorization: Bot @"] {
        plant("bot", format!("M{}.{}.{}", c.of(ALNUM, 23), c.of(ALNUM, 6), c.of(WORD, 38)), pattern);
    }
    plant("bot", c.of(WORD, 68), "https://discord.com/api/webhooks/123456789012345678/@");
    for pattern in [
        "AccountKey=@;EndpointSuffix=core.windows.net",
        "AZURE_STORAGE_KEY=@",
        "SharedAccessKey=@",
        "\"accountKey\": \"@\"",
    ] {
        plant("azure", c.of(BASE64, 86) + "==", pattern);
    }
    for pattern in ["AZURE_CLIENT_SECRET=@", "client_secret: @", "the value is @"] {
        plant("azure", format!("{}8{}{}", c.of(ALNUM, 3), "Q~", c.of(ALNUM, 34)), pattern);
    }
    plant(
        "azure",
        c.of(ALNUM, 43) + "%3D",
        "https://a.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig=@&se=2026",
    );
    for pattern in [
        "Authorization: Bearer @",
        "jwt=@",
        "{\"id_token\":\"@\"}",
        "@",
        "Cookie: session=@; theme=dark",
        "curl -H 'Authorization: Bearer @' https://x",
    ] {
        plant(
            "jwt",
            format!(
                "ey{}{}.ey{}{}.{}",
                "JhbGciOiJIUzI1NiJ9",
                c.of(ALNUM, 4),
                "JzdWIiOiIx",
                c.of(ALNUM, 40),
                c.of(WORD, 43)
            ),
            pattern,
        );
    }
    for pattern in [
        "Authorization: Bearer @",
        "authorization: bearer @\r\n",
        "-H \"Authorization: Bearer @\"",
        "headers={'Authorization': 'Bearer @'}",
        "Proxy-Authorization: Bearer @",
    ] {
        plant("header", c.of(ALNUM, 40), pattern);
    }
    for pattern in [
        "Authorization: Basic @",
        "\"Authorization\": \"Basic @\"",
        "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"@\"}}}",
    ] {
        let pair = format!("admin:{}", c.of(ALNUM, 13));
        plant("header", base64::Engine::encode(&base64::prelude::BASE64_STANDARD, &pair), pattern);
    }
    plant("header", c.of(ALNUM, 32), "X-Api-Key: @");
    plant("header", c.of(HEX, 40), "X-Auth-Token: @");
    for pattern in [
        "Cookie: sessionid=@; lang=en",
        "Set-Cookie: sid=@; Path=/; HttpOnly",
        "curl -b 'JSESSIONID=@' https://x",
        "document.cookie = \"auth=@\"",
        "Cookie: a=1; connect.sid=@",
    ] {
        plant("cookie", c.of(ALNUM, 32), pattern);
    }
    for (n, pattern) in [
        "DB_PASSWORD=@",
        "export PGPASSWORD='@'",
        "password: @",
        "  password: \"@\"",
        "{\"user\":\"a\",\"password\":\"@\"}",
        "{\\\"password\\\": \\\"@\\\"}",
        "password = \"@\"",
        "passwd=@",
        "mysql -uroot -p@ db",
        "mysql --password=@ db",
        "psql \"host=h user=u password=@ dbname=d\"",
        "createuser --password @",
        "sshpass -p @ ssh host",
        "sshpass -p '@' ssh host",
        "curl -u admin:@ https://x",
        "redis-cli -a @ ping",
        "const PASSWORD: &str = \"@\";",
        "os.environ['DB_PASSWORD'] = '@'",
        "define('DB_PASSWORD', '@');",
        "Server=db;User Id=sa;Password=@;Encrypt=true",
        "<password>@</password>",
        "ALTER USER a WITH PASSWORD '@';",
        "CREATE USER 'a'@'%' IDENTIFIED BY '@';",
        "- name: DB_PASSWORD\n  value: @",
        "spring.datasource.password=@",
        "ENV DB_PASSWORD @",
        "the password is @",
        "Password: @",
        "     3\u{2192}PASSWORD=@",
        "https://x/login?user=a&password=@",
        "config.setPassword(\"@\")",
        "password=password, passwd=\"@\"",
    ]
    .into_iter()
    .enumerate()
    {
        let secret = match n % 4 {
            0 => c.of(ALNUM, 14),
            1 => format!("{}!{}", c.of(LOWER, 6), c.of("0123456789", 3)),
            2 => format!("Tr0ub4dor&{}", c.of("0123456789", 2)),
            _ => format!("hunter{}", c.of("0123456789", 4)),
        };
        let secret = if pattern.contains("://x/login") { secret.replace('&', "-") } else { secret };
        // The placeholder of a host in SQL is not the secret's.
        let pattern = pattern.replace("'a'@'%'", "'a'");
        plant("password", secret, &pattern);
    }
    for (n, pattern) in [
        "postgres://app:@@db:5432/x",
        "postgresql+psycopg2://u:@@localhost/db",
        "mysql://root:@@127.0.0.1:3306/d",
        "mongodb+srv://admin:@@c0.abc.mongodb.net/t?retryWrites=true",
        "redis://:@@cache:6379/0",
        "amqps://user:@@mq/vhost",
        "https://deploy:@@git.example.com/r.git",
        "DATABASE_URL=\"postgres://u:@@h/d\"",
        "ftp://me:@@files.host",
        "smtp://a%40b.c:@@mail:587",
    ]
    .into_iter()
    .enumerate()
    {
        let secret = match n % 5 {
            0 => c.of(ALNUM, 12),
            1 => format!("p@ss{}", c.of(LOWER, 5)),
            2 => format!("a%40{}%2F", c.of(ALNUM, 6)),
            3 => format!("{}/{}", c.of(ALNUM, 5), c.of(ALNUM, 5)),
            _ => format!("x#{}", c.of(LOWER, 8)),
        };
        plant("url", secret, pattern);
    }
    for label in ["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED ", "DSA "] {
        let body = c.lines(4);
        let secrets: Vec<String> = body.lines().map(str::to_owned).collect();
        let (begin, end) = (
            format!("-----BEGIN {label}PRIV{} KEY-----", "ATE"),
            format!("-----END {label}PRIV{} KEY-----", "ATE"),
        );
        let text = match label {
            "RSA " => format!("cat key\n{begin}\n{body}\n{end}\nok"),
            "EC " => format!("{{\"private_key\":\"{begin}\\n{}\\n{end}\\n\"}}", body.replace('\n', "\\n")),
            "OPENSSH " => format!("{begin}\n{body}"),
            "" => format!("key: |\n    {begin}\n    {}\n    {end}\n", body.replace('\n', "\n    ")),
            "ENCRYPTED " => {
                format!("     1\u{2192}{begin}\n     2\u{2192}{}", body.replace('\n', "\n     3\u{2192}"))
            }
            _ => format!("{body}\n{end}"),
        };
        all.push(Planted { kind: "private key", text, secrets });
    }
    let mut plant = |kind: &'static str, secret: String, pattern: &str| {
        all.push(Planted { kind, text: pattern.replacen('@', &secret, 1), secrets: vec![secret] });
    };
    plant(
        "private key",
        c.lines(2),
        &format!(
            "-----BEGIN PGP PRIV{0} KEY BLOCK-----\nVersion: GnuPG v2\n\n@\n-----END PGP PRIV{0} KEY \
             BLOCK-----",
            "ATE"
        ),
    );
    plant("private key", format!("AGE-SECRET-{}-1{}", "KEY", c.of(UPPER, 58)), "# created\n@\n");
    plant("private key", c.of(BASE64, 43) + "=", "[Interface]\nPrivateKey = @\nAddress = 10.0.0.1/32");
    plant(
        "private key",
        format!("LS0tLS1CRUdJTiBSU0Eg{}{}", "UFJJVkFURSBLRVkt", c.of(BASE64, 200)),
        "client-key-data: @",
    );
    for pattern in [
        "machine api.heroku.com login me@x.com password \u{1}",
        "machine h\n  login me\n  password \u{1}\n",
        "db.host:5432:app:me:\u{1}",
        "*:*:*:postgres:\u{1}\n",
    ] {
        let secret = c.of(ALNUM, 14);
        all.push(Planted {
            kind: "password file",
            text: pattern.replace('\u{1}', &secret),
            secrets: vec![secret],
        });
    }
    let mut plant = |kind: &'static str, secret: String, pattern: &str| {
        all.push(Planted { kind, text: pattern.replacen('@', &secret, 1), secrets: vec![secret] });
    };
    plant("password file", format!("$6${}${}", c.of(ALNUM, 8), c.of(ALNUM, 86)), "root:@:19000:0:99999:7:::");
    for (n, pattern) in [
        "das Passwort ist @",
        "Passwort für die Datenbank lautet: @, Benutzer app",
        "Kennwort: @",
        "mot de passe : @",
        "le mot de passe est @",
        "contraseña: @",
        "la contraseña es @, usuario app",
        "пароль: @",
        "Пароль от базы: @",
        "senha: @",
        "hasło: @",
        "wachtwoord: @",
        "密码是 @",
        "密码：@，用户 app",
        "パスワード: @",
        "パスワードは @ です",
        "비밀번호: @",
        "use admin:@ for basic auth",
        "login is root / @",
    ]
    .into_iter()
    .enumerate()
    {
        let secret = match n % 4 {
            0 => c.of(ALNUM, 14),
            1 => format!("{}!{}", c.of(LOWER, 6), c.of("0123456789", 3)),
            2 => format!("Tr0ub4dor&{}", c.of("0123456789", 2)),
            _ => format!("hunter{}", c.of("0123456789", 4)),
        };
        plant("told password", secret, pattern);
    }
    for (n, pattern) in [
        "SECRET_KEY_BASE=@",
        "JWT_SECRET=@",
        "client_secret: \"@\"",
        "ENCRYPTION_KEY=@",
        "app.secret = '@'",
        "\"apiKey\": \"@\"",
        "--api-key @",
        "--token=@ run",
        "api_key=@&q=1",
        "refreshToken: '@',",
        "DJANGO_SECRET_KEY = '@'",
        "signing_secret=@",
        "set DATADOG_API_KEY=@",
        "license_key: @",
        "new Client({ apiSecret: '@' })",
        "process.env.ACCESS_TOKEN = \"@\";",
        "webhookSecret := \"@\"",
        "| API key | @ |",
        "cloudflare_api_token = \"@\"",
        "let token = \"@\".to_string();",
        "getenv(\"API_TOKEN\", \"@\")",
        "\"name\": \"API_TOKEN\", \"value\": \"@\"",
        "x-vault-token: @",
        "CSRF_SECRET=@",
        "aws: {secret: @}",
        "client_secret=@&grant_type=client_credentials",
        "Api-Token: @",
        "curl -H 'X-Auth-Key: @' https://x",
        "auth_token is @",
        "db.auth.token=@",
        "SECRET=@",
        "NEXTAUTH_SECRET='@'",
        "ACCESS_KEY: @",
        "secretKey=@",
    ]
    .into_iter()
    .enumerate()
    {
        let secret = match n % 4 {
            0 => c.of(HEX, 64),
            1 => c.of(ALNUM, 32),
            2 => c.of(WORD, 40),
            _ => c.of(LOWER, 24),
        };
        plant("secret", secret, pattern);
    }
    all
}
