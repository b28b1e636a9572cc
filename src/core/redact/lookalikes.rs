//! More than 200 texts that look like secrets and contain none, so that they must stay.

/// One per line; `\n` in it is two characters.
pub(super) const LOOKALIKES: &str = r#"commit 7427911c0f7a3c1e9c4b8a1d2e3f405162738495
git show 779a8a0
index 3b18e51..a4acccc 100644
parent 829c51d2f9f7aa61e8d2a07b7a2a1bb0e1a40f5e
Merge 5d62e41 into main
c74cc080-94b9-4841-b82f-a62cfb8efdc0
conversation 0b0c9c5e-0000-4000-8000-000000000000
session_id: c74cc080-94b9-4841-b82f-a62cfb8efdc0
"sessionId":"c74cc080-94b9-4841-b82f-a62cfb8efdc0"
HO-20261120-142950-c74cc080
chk-20261120-142950
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  target/debug/hopty
md5: d41d8cd98f00b204e9800998ecf8427e
"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="
checksum = "3b3c4b2d9c4ef9fd0a1f1e2b7c4f38b2b84f7f0a6a1d2e3f405162738495a6b7"
image: nginx@sha256:2d17cc4981bf1e22a87ef3b3dd20fbb72c3868738e3f307662eb40e2630d4320
etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
src/secret/mod.rs
src/core/handoff/redact/mod.rs
/home/u/.claude/projects/-home-u-proj/c74cc080-94b9-4841-b82f-a62cfb8efdc0.jsonl
/etc/ssl/private/server.key
password_file=/run/secrets/db_password
PASSWORD_FILE=/run/secrets/pg
--password-file ./secrets.txt
key_path: ./keys/id_ed25519
private_key = "/etc/letsencrypt/live/example.com/privkey.pem"
IdentityFile ~/.ssh/id_ed25519
token_path = ~/.config/gh/hosts.yml
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXX0=
the token count is 200000
164000 tokens: fine
max_tokens: 4096
"max_tokens": 100000
tokens_used=82000
input_tokens: 18234
"cache_read_input_tokens":164000
total tokens = 128k
token budget: 80 % of 200000
a token: the next word
token = lexer.next()
let token = self.tokens[self.position];
token := scanner.Text()
const token = await getToken();
token: Token
token: &'a str
fn parse(token: &str) -> Result<Token, Error>
match token { Token::Ident(name) => name }
token.kind == TokenKind::Semicolon
this.token = token;
return token
expected token: identifier
unexpected token: '}'
SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON
next_token: None
nextPageToken: ""
"pad_token": "<pad>", "eos_token": "</s>"
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
token_type: "bearer"
"token_type":"Bearer"
csrf_token = form.csrf_token
{{ csrf_token }}
{% csrf_token %}
cancellation_token: CancellationToken
password: string
password: String,
password?: string;
password: Option<String>
password: z.string().min(8)
password = Column(String(128))
password VARCHAR(255) NOT NULL
password = input("Password: ")
password = getpass.getpass()
password = os.environ["DB_PASSWORD"]
password = os.getenv("DB_PASSWORD")
password = config.database.password
password: process.env.DB_PASSWORD,
password = None
password: null,
"password": ""
password = ""
if password == "":
if (!password) return;
self.password = password
User(name=name, password=password)
hash_password(password)
check_password_hash(user.password_hash, password)
def set_password(self, password):
fn with_password(mut self, password: impl Into<String>) -> Self
bcrypt.compare(password, user.password)
password_length = 12
password_min_length: 8
"passwordStrength": "weak"
showPassword: false
resetPassword: "/account/reset"
forgot_password: "Forgot your password?"
"password": "Enter your password"
label for password: Your password
Password must be at least 8 characters
error: password is required
the password is wrong
your password was changed
Password: ********
Enter password:
[sudo] password for u:
username/password combination
PASSWORD=$1
PASSWORD=$DB_PASSWORD
PASSWORD="${DB_PASSWORD}"
PASSWORD=${DB_PASSWORD:-}
PASSWORD=$(cat /run/secrets/db)
DB_PASSWORD=<your-password>
DB_PASSWORD=your-password-here
DB_PASSWORD=changeme
API_KEY=<your-key>
API_KEY=YOUR_API_KEY
API_KEY=xxxxxxxxxxxxxxxx
API_KEY=
api_key: "your-api-key"
api_key = "<API_KEY>"
apiKey: process.env.API_KEY
api_key=os.environ.get("OPENAI_API_KEY")
apiKey: import.meta.env.VITE_API_KEY,
"apiKey": "{{API_KEY}}"
token: ${{ secrets.GITHUB_TOKEN }}
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
ANTHROPIC_API_KEY=sk-ant-...
OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx
OPENAI_API_KEY=sk-your-key-here
export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
glpat-XxXxXxXxXxXxXxXxXxXx
SECRET_KEY=***
secret: [hidden]
client_secret: <redacted>
%API_TOKEN%
secretName: my-app-tls
secretKeyRef:
  name: db-credentials
kubectl get secret my-secret -o yaml
kubectl create secret generic db-creds --from-file=./creds
env names: HOPTY_SESSION HOPTY_SOCKET HOPTY_RUN
unset ANTHROPIC_API_KEY AWS_SECRET_ACCESS_KEY
env | grep -i token
set the environment variable GITHUB_TOKEN
"required": ["username", "password"]
fields = ("email", "password", "token")
"react": "^18.2.0", "typescript": "5.4.5"
serde = { version = "1.0.219", features = ["derive"] }
npm install @types/node@20.11.5
npm_config_registry=https://registry.example.org/
npm_package_version 1.2.3-beta.4+build.567
rustc 1.91.0 (f8297e351 2026-10-28)
claude-opus-4-5-20251101
model: claude-3-5-sonnet-20241022
sk-learn is a library
<div class="sk-estimator-doc-link sk-toggleable__content">
import sklearn
https://example.com/a/b?page=2&sort=asc
https://github.com/rust-lang/rust/commit/9a038989604e8da62ecddbe2094b16ce1b778be1
https://registry.example.org/@babel/core/-/core-7.24.0.tgz
https://medium.com/@someone/a-post-1a2b3c4d5e6f
http://localhost:8080/path@v1.2.3
git@github.com:owner/repo.git
ssh://git@github.com/owner/repo.git
postgres://localhost:5432/mydb
postgres://user@localhost/mydb
postgres://user:password@localhost:5432/mydb
redis://cache:6379/0
mongodb://localhost:27017
user@example.com
Co-authored-by: Some One <someone@example.com>
mailto:first.last+tag@example.co.uk
SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8
RSA key fingerprint is SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDJJZCLVvYxY9q8Rmo.
256 SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU host (ED25519)
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl github.com
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQCj7ndNxQowgcQnjshcLrqPEiiphnt+VTTvDP6mHBL9j1aNUkY4Ue1gvwnGLVlOhGeYrnZaMgRK6+PKCUXaDbC7qtbW8gIkhL7aGCsOr/C56SJMy/BCZfxd1nWzAOxSDPgVsmerOBYfNqltV9/hWCqBywINIR+5dIg6JTJ72pcEpEjcYgXkE2YEFXV1JHnsKgbLWNlhScqb2UmyRkQyytRLtL+38TGxkxCflmO+5Z8CSSNY7GidjMIZ7Q4zMjA2n1nGrlTDkzwDCsw+wqFPGQA179cnfGWOWRVruj16z6XyvxvjJwbz0wQZ75XK5tKSb7FNyeIEs4TT4jk+S4dhPeAUC5y+bDYirYgM4GC7uEnztnZyaVWQ7B381AK4Qdrwt51ZqExKbQpTUNn+EjqoTwvqNj4kqx5QUCI0ThS/YkOxJCXmPUWZbhjpCg56i+2aB6CmK2JGhn57K5mj0MNdBXA4/WnwH6XoPWJzK5Nyu2zB3nAZp+S5hpQs+p1vN1/wsjk=
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ
public_key = "Gc3Q0RXJM2CUNbgKpUMnkPtOfOzeFzsW"
primary_key: "user_id"
cache_key = "user:1234:profile"
key: "value"
"key": "src/main.rs"
Key::Char('c') => quit(),
keyboard: us-intl
monkey = "patched42times"
LLM_SECRET_NAME = "NEXUS-GPT4-API-KEY"
AWS_REGION=us-east-1 AWS_PROFILE=dev
arn:aws:iam::123456789012:role/deploy
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer ${TOKEN}
basic authentication and bearer tokens
Bearer authentication is used
Cookie: theme=dark; lang=en
cookies are cleared on logout
author: "Jane Doe"
pass: 12, fail: 0
test result: ok. 42 passed; 0 failed; 0 ignored
bypass = true
compass: "north"
pwd: /home/u/proj
PWD=/tmp/hopty-x8Qz41/dir
OLDPWD=/tmp/hopty-x8Qz41
PWD=/home/u/proj
127.0.0.1:8080:80
src/main.rs:10:5:12:fn_main
2001:0db8:85a3:0000:0000:8a2e:0370:7334
00:1B:44:11:3A:B7
1700000000000
version = "0.9.0-rc.1+20261120"
$2 and $HOME are expanded
Passwort ändern geht nicht
Passwort: mindestens 12 Zeichen
Passwort: für alle gleich
das Passwort ist zu kurz
Passwort für die Datenbank fehlt noch
Passwort-Feld: siehe Formular2
Kennwort vergessen?
Passwort wiederherstellen geht nicht
das Passwort ist aufgeschrieben
password authentication failed for user app
der Passwortmanager ist Bitwarden
mot de passe oublié
le mot de passe est obligatoire
le mot de passe doit être changé tous les 90 jours
contraseña incorrecta, inténtelo de nuevo
la contraseña es obligatoria
la contraseña se guarda con argon2id
пароль неверный
пароль: минимум 12 символов
пароль хранится как bcrypt
токен живёт 15 минут
パスワードは必須です
パスワード: 12文字以上
パスワードを変更できません
密码不能为空
密码至少8位
密码是必填项
senha inválida
비밀번호는 필수입니다
wachtwoord vergeten
hasło musi mieć 12 znaków
API-Schlüssel fehlt in der Datei
clave de API: ver el archivo .env
ключ API не задан
basic auth on localhost:8080
image nginx:1.25-alpine with basic auth
login is handled by auth/session.rs
pin 8 of the connector to GND
pin: 4711 must blink"#;
