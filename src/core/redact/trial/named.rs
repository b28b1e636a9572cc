//! Secrets without a shape of their own: their names, their values, and how they are assigned.

/// `NAME=shape`, one per line.
pub(super) const NAMED: &str = "\
AWS_SECRET_ACCESS_KEY={B40}
AWS_SESSION_TOKEN={B200}
TWILIO_AUTH_TOKEN={h32}
DATADOG_API_KEY={h32}
DD_APP_KEY={h40}
CLOUDFLARE_API_KEY={h37}
CLOUDFLARE_API_TOKEN={W40}
ALGOLIA_ADMIN_KEY={h32}
HEROKU_API_KEY={G}
SENTRY_AUTH_TOKEN={h64}
CODECOV_TOKEN={G}
SNYK_TOKEN={G}
CIRCLE_TOKEN={h40}
FASTLY_API_TOKEN={W32}
OKTA_API_TOKEN=00{W40}
AUTH0_CLIENT_SECRET={W64}
GITHUB_CLIENT_SECRET={h40}
LINKEDIN_CLIENT_SECRET={A16}
TWITTER_API_SECRET={A50}
TWITTER_ACCESS_TOKEN_SECRET={A45}
FACEBOOK_APP_SECRET={h32}
DISCORD_CLIENT_SECRET={W32}
SPOTIFY_CLIENT_SECRET={h32}
PAYPAL_CLIENT_SECRET=E{W79}
BRAINTREE_PRIVATE_KEY={h32}
DROPBOX_APP_SECRET={a15}
ZENDESK_API_TOKEN={A40}
COHERE_API_KEY={A40}
MISTRAL_API_KEY={A32}
TOGETHER_API_KEY={h64}
DEEPGRAM_API_KEY={h40}
ASSEMBLYAI_API_KEY={h32}
AZURE_OPENAI_KEY={h32}
AZURE_STORAGE_ACCOUNT_KEY={B86}==
AZURE_CLIENT_SECRET={S34}
RAILS_MASTER_KEY={h32}
SECRET_KEY_BASE={h128}
DJANGO_SECRET_KEY={S50}
FLASK_SECRET_KEY={h48}
JWT_SECRET={B43}=
SESSION_SECRET={L24}
COOKIE_SECRET={A32}
ENCRYPTION_KEY={B43}=
FERNET_KEY={W43}=
HMAC_KEY={h64}
ETH_PRIVATE_KEY=0x{h64}
INFURA_API_KEY={h32}
ETHERSCAN_API_KEY={U34}
BINANCE_SECRET_KEY={A64}
MINIO_SECRET_KEY={A40}
SONAR_TOKEN={h40}
NPM_TOKEN={G}
GH_TOKEN={h40}
CONSUL_HTTP_TOKEN={G}
VAULT_TOKEN=s.{A24}
ACCESS_TOKEN={A40}
REFRESH_TOKEN={W64}
BOT_TOKEN={W59}
WEBHOOK_SECRET={h40}
CONSUMER_SECRET={A50}
API_SECRET={a24}
SHARED_SECRET={P14}
CLIENT_SECRET={P16}
ADMIN_API_KEY={h24}:{h64}
SIGNING_KEY={h32}
LICENSE_KEY={X5}-{X5}-{X5}-{X5}
DEPLOY_TOKEN={A20}
STORAGE_ACCESS_KEY={B64}
PERSONAL_ACCESS_TOKEN={a52}
SERVICE_ROLE_KEY={A60}
SUBSCRIPTION_KEY={h32}
X_AUTH_TOKEN={A32}
CSRF_SECRET={h64}
";

/// Assignments. `%U`, `%l`, `%c`, `%k`, `%d` are the name as `DB_KEY`, `db_key`, `dbKey`, `db-key`, `db.key`;
/// `@` is the value, which cannot contain the characters behind the tab.
pub(super) const ASSIGNED: &[&str] = &[
    "%U=@\t#",
    "export %U=@\t#$;&|<>()*?![]{}~",
    "export %U=\"@\"\t$!",
    "export %U='@'",
    "%U = @\t#;,",
    "%U: @\t#,",
    "  %l: @\t#,{}[]&*!|>%@",
    "  %l: \"@\"",
    "  %l: '@'",
    "%l = \"@\"",
    "%l = '@'  # do not commit",
    "%l=@\t#;",
    "\"%l\": \"@\"",
    "\"%c\":\"@\",",
    "{\"a\":1,\"%l\":\"@\",\"b\":2}",
    "{'%l': '@', 'x': 1}",
    "{%c: '@'}",
    "  %c: \"@\",",
    "const %c = \"@\";",
    "const %U: &str = \"@\";",
    "let %l = \"@\".to_string();",
    "var %c = '@'",
    "%c := \"@\"",
    "private static final String %U = \"@\";",
    "public string %c { get; set; } = \"@\";",
    "%l: str = \"@\"",
    "os.environ[\"%U\"] = \"@\"",
    "os.environ.setdefault('%U', '@')",
    "os.getenv(\"%U\", \"@\")",
    "process.env.%U = '@';",
    "process.env.%U || \"@\"",
    "ENV['%U'] = '@'",
    "ENV.fetch('%U', '@')",
    "%U ?= @\t#$",
    "ENV %U=@\t#$;&|<>",
    "ENV %U @\t#$;&|<>",
    "ARG %U=@\t#$;&|<>",
    "docker run -e %U=@ img\t#$;&|<>()*?![]{}~",
    "docker run --env %U='@' img",
    "env %U=@ ./run\t#$;&|<>()*?![]{}~",
    "%U=@ npm test\t#$;&|<>()*?![]{}~",
    "setx %U \"@\"",
    "set %U=@\t&|<>^%",
    "$env:%U = \"@\"\t$",
    "$Env:%U='@'",
    "set -x %U @\t#$;&|<>()*?![]{}~",
    "./run --%k @\t#$;&|<>()*?![]{}~-",
    "./run --%k=@\t#$;&|<>()*?![]{}~",
    "./run --%k '@'",
    "./run --%k=\"@\" --verbose\t$!",
    "-D%d=@\t#$;&|<>()*?![]{}~",
    "%d=@\t#",
    "app.%d: @\t#,{}[]&*!|>%@",
    "<%l>@</%l>\t<&",
    "<%c>@</%c>\t<&",
    "<add key=\"%U\" value=\"@\" />\t<&",
    "<property name=\"%d\" value=\"@\"/>\t<&",
    "<string name=\"%l\">@</string>\t<&",
    "<env name=\"%U\">@</env>\t<&",
    "- name: %U\n  value: @\t#,{}[]&*!|>%@",
    "- name: %U\n  value: \"@\"",
    "{\"name\": \"%U\", \"value\": \"@\"}",
    "{\"Key\":\"%U\",\"Value\":\"@\"}",
    "variable \"%l\" {\n  default = \"@\"\n}",
    "%l = [\"@\"]",
    "https://x.test/a?%l=@\t#&+%=;?/",
    "https://x.test/a?b=1&%c=@&d=2\t#&+%=;?/",
    "curl -d %l=@ https://x.test\t#$;&|<>()*?![]{}~",
    "curl -d '{\"%l\":\"@\"}' https://x.test",
    "curl -F \"%l=@\" https://x.test\t$!;",
    "curl -H 'X-%k: @' https://x.test",
    "curl -H \"%k: @\" https://x.test\t$!",
    "X-%k: @",
    "> x-%k: @",
    "headers[\"X-%k\"] = \"@\"",
    "headers: { 'x-%k': '@' }",
    "{\"headers\":{\"X-%k\":\"@\"}}",
    "client = Client(%l=\"@\")",
    "Client(url, %l='@', timeout=3)",
    "new Client({ url, %c: '@' })",
    ".with_%l(\"@\")",
    "config.%l = '@'",
    "config[:%l] = '@'",
    ":%l => '@',",
    "%c: `@`",
    "Set(\"%l\", \"@\")",
    "git config --global x.%l @\t#$;&|<>()*?![]{}~",
    "aws configure set %l @\t#$;&|<>()*?![]{}~",
    "gh secret set %U --body \"@\"\t$!",
    "vault kv put secret/x %l=@\t#$;&|<>()*?![]{}~",
    "kubectl create secret generic x --from-literal=%l=@\t#$;&|<>()*?![]{}~",
    "helm install x --set auth.%c=@\t#$;&|<>()*?![]{},~",
    "| %U | @ |\t|`",
    "| `%U` | `@` |\t|`",
    "%U (from .env): @",
    "my %l is @\t,",
    "the %l is \"@\"",
    "the %l: `@`\t`",
    "set %U to @\t,",
    "Use %U=@ for now\t#,",
    "%U=@, FOO=1\t#,",
    "%U='@'; export %U",
    "%U=\"@\" FOO=1\t$!",
    "Error: invalid %l: @\t,",
    "Error: invalid %l '@'",
    "2026-11-20T10:00:00Z INFO using %l=@ user=x\t,",
    "level=info %l=@ user=x\t,",
    "level=info %l=\"@\" user=x",
    "INFO {%l=@, a=b}\t,{}[]()",
    "Config { %l: \"@\", a: 1 }",
    "Config { %l: Some(\"@\"), a: 1 }",
    "Config(%l='@', a=1)",
    "{:%l \"@\"}",
    "%l: >-\n  @\t#,{}[]&*!|>%@",
    "%U=$'@'\t'",
    "declare -x %U=\"@\"\t$!",
    "Environment=\"%U=@\"\t%",
    "Environment=%U=@\t%#",
    "fastcgi_param %U @;\t;#$",
    "SetEnv %U \"@\"",
    "credentials \"app.terraform.io\" { %l = \"@\" }",
];

/// Places of a password; `@` is the password, which cannot contain the characters behind the tab.
pub(super) const PASSWORDS: &[&str] = &[
    "DB_PASSWORD=@\t#",
    "export PGPASSWORD='@'",
    "PGPASSWORD=@ psql -h h\t#$;&|<>()*?![]{}~",
    "MYSQL_PWD=@ mysql\t#$;&|<>()*?![]{}~",
    "password: @\t#,{}[]&*!|>%@",
    "  password: \"@\"",
    "  password: '@'",
    "password = \"@\"",
    "password=@\t#;",
    "passwd=\"@\"",
    "pwd=\"@\"",
    "{\"user\":\"a\",\"password\":\"@\"}",
    "{'user': 'a', 'password': '@'}",
    "{user: 'a', pass: '@'}",
    "mysql -uroot -p@ db\t#$;&|<>()*?![]{}~",
    "mysql -u root -p'@' db",
    "mysql --password=@ db\t#$;&|<>()*?![]{}~",
    "mysqldump -h h -u u --password='@' db",
    "psql \"host=h user=u password=@ dbname=d\"\t$!",
    "psql 'postgresql://u:@@h/d'\t@/?#% []",
    "sshpass -p @ ssh h\t#$;&|<>()*?![]{}~-",
    "sshpass -p '@' ssh h",
    "sshpass -p\"@\" scp a h:\t$!",
    "curl -u admin:@ https://x.test\t#$;&|<>()*?![]{}~",
    "curl -u 'admin:@' https://x.test",
    "curl --user \"admin:@\" https://x.test\t$!",
    "curl -s -uadmin:@ https://x.test\t#$;&|<>()*?![]{}~",
    "wget --user=u --password='@' https://x.test",
    "wget --http-password=@ https://x.test\t#$;&|<>()*?![]{}~",
    "http -a u:@ GET x.test\t#$;&|<>()*?![]{}~",
    "redis-cli -h h -a @ ping\t#$;&|<>()*?![]{}~-",
    "redis-cli -a '@' ping",
    "requirepass @\t#\"'",
    "AUTH @\t#\"'",
    "mongosh \"mongodb://u:@@h/d\"\t@/?#% []$!",
    "mongosh -u u -p '@' --authenticationDatabase admin",
    "docker login -u u -p @ reg.test\t#$;&|<>()*?![]{}~-",
    "docker login -u u --password '@' reg.test",
    "echo @ | docker login -u u --password-stdin\t#$;&|<>()*?![]{}~-",
    "echo '@' | sudo -S apt update",
    "echo 'u:@' | chpasswd",
    "echo \"root:@\" | chpasswd\t$!",
    "htpasswd -bB f u '@'",
    "ldapsearch -x -D cn=admin -w @ -b dc=x\t#$;&|<>()*?![]{}~-",
    "ldapsearch -x -D cn=admin -w '@'",
    "smbclient //h/s -U 'u%@'",
    "mount -t cifs -o username=u,password=@ //h/s /m\t,#$;&|<>()*?![]{}~",
    "net use Z: \\\\h\\s /user:u @\t/",
    "openssl enc -aes-256-cbc -pass pass:@ -in f\t#$;&|<>()*?![]{}~",
    "openssl rsa -in k -passin 'pass:@'",
    "keytool -storepass @ -alias a\t#$;&|<>()*?![]{}~-",
    "unzip -P '@' f.zip",
    "7z x -p'@' f.7z",
    "gpg --batch --passphrase '@' -d f",
    "ansible-playbook -e ansible_password='@' p.yml",
    "ansible_ssh_pass='@'",
    "h ansible_user=u ansible_password=@\t#",
    "sqlcmd -S h -U sa -P '@'",
    "bcp d in f -U sa -P @ -S h\t#$;&|<>()*?![]{}~-",
    "sqlplus u/@@db\t@/\"#$;&|<>()*?![]{}~",
    "snowsql -u u --password '@'",
    "az login -u u -p '@'",
    "oc login -u u -p '@' https://x.test",
    "rclone config create r sftp user=u pass='@'",
    "svn co --username u --password '@' https://x.test",
    "nmcli dev wifi connect net password '@'",
    "wpa_passphrase net '@'",
    "psk=\"@\"",
    "xfreerdp /u:u /p:'@' /v:h",
    "Server=h;Database=d;User Id=sa;Password=@;\t;\"'",
    "Server=h;Password=@;Encrypt=true\t;\"'",
    "\"Server=tcp:h,1433;Uid=u;Pwd=@;\"\t;\"'",
    "Data Source=h;User ID=u;Password=@\t;\"'",
    "Password='@';Server=h\t'",
    "Driver={ODBC Driver 18};UID=u;PWD={@};\t{}",
    "Provider=SQLOLEDB;Uid=u;Pwd=@;\t;\"'",
    "jdbc:mysql://h/d?user=u&password=@\t&#?/%+=;",
    "jdbc:postgresql://h/d?user=u&password=@&ssl=true\t&#?/%+=;",
    "jdbc:sqlserver://h:1433;user=sa;password=@;encrypt=true\t;{}",
    "jdbc:sqlserver://h;password={@};a=b\t;{}",
    "jdbc:oracle:thin:u/@@h:1521:d\t@/:\"",
    "postgres://app:@@db:5432/x\t@/?#%[]",
    "DATABASE_URL=\"postgres://u:@@h/d\"\t@/?#%[]$!",
    "postgresql+psycopg2://u:@@localhost/db\t@/?#%[]",
    "mysql://root:@@127.0.0.1:3306/d\t@/?#%[]",
    "mongodb+srv://a:@@c0.x.mongodb.net/t?w=1\t@/?#%[]",
    "redis://:@@cache:6379/0\t@/?#%[]",
    "rediss://default:@@cache:6380\t@/?#%[]",
    "amqps://u:@@mq/v\t@/?#%[]",
    "https://u:@@git.x.test/r.git\t@/?#%[]",
    "git remote add o https://u:@@x.test/r\t@/?#%[]$!;&|<>()*~",
    "ftp://me:@@files.x.test\t@/?#%[]",
    "sftp://me:@@files.x.test:22/p\t@/?#%[]",
    "smtp://a%40b.c:@@mail:587\t@/?#%[]",
    "ldap://cn=a:@@h:389\t@/?#%[]",
    "clickhouse://u:@@h:9000/d\t@/?#%[]",
    "snowflake://u:@@acc/d\t@/?#%[]",
    "mssql+pyodbc://sa:@@h/d?driver=x\t@/?#%[]",
    "http_proxy=http://u:@@proxy:3128\t@/?#%[]$!;&|<>()*~",
    "socks5://u:@@proxy:1080\t@/?#%[]",
    "nats://u:@@h:4222\t@/?#%[]",
    "couchdb://u:@@h:5984\t@/?#%[]",
    "u:@@tcp(h:3306)/d\t@/:(),[]{}",
    "<password>@</password>\t<&",
    "<Password>@</Password>\t<&",
    "<server><id>x</id><username>u</username><password>@</password></server>\t<&",
    "<connectionStrings><add connectionString=\"Server=h;Password=@;\"/>\t;\"'<&",
    "<property name=\"password\" value=\"@\"/>\t<&",
    "<entry key=\"password\">@</entry>\t<&",
    "<input type=\"password\" value=\"@\">\t<&",
    "ALTER USER a WITH PASSWORD '@';",
    "CREATE USER 'a' IDENTIFIED BY '@';",
    "CREATE ROLE a LOGIN PASSWORD '@'",
    "CREATE LOGIN a WITH PASSWORD = '@'",
    "SET PASSWORD FOR a = '@'",
    "- name: DB_PASSWORD\n  value: \"@\"",
    "stringData:\n  password: @\t#,{}[]&*!|>%@",
    "spring.datasource.password=@\t#",
    "ENV DB_PASSWORD @\t#$;&|<>",
    "ENV DB_PASSWORD=\"@\"\t$",
    "machine h login u password @\t#\"'",
    "machine h\nlogin u\npassword @\n\t#\"'",
    "h:5432:d:u:@\t:\\",
    "*:*:*:u:@\t:\\",
    "//h.x.test/:_password=\"@\"",
    "define('DB_PASSWORD', '@');",
    "define( \"DB_PASSWORD\", \"@\" );\t$",
    "$db_password = '@';",
    "'password' => '@',",
    "'password' => env('DB_PASSWORD', '@'),",
    "os.environ['DB_PASSWORD'] = '@'",
    "const PASSWORD: &str = \"@\";",
    "password := \"@\"",
    "String password = \"@\";",
    "char *password = \"@\";",
    "let password: String = \"@\".into();",
    "connect(host='h', user='u', password='@')",
    "mysql.connector.connect(passwd=\"@\")",
    "new Pool({ user: 'u', password: '@' })",
    "config.setPassword(\"@\")",
    "auth=('u', '@')",
    "HTTPBasicAuth('u', '@')",
    "login(\"u\", \"@\")",
    "page.fill('#password', '@')",
    "cy.get('#password').type('@')",
    "client.login(username='u', password='@')",
    "the password is @\t,",
    "The password is \"@\".",
    "password is `@`\t`",
    "my password: @\t,",
    "Password: @\t,",
    "Username: u\nPassword: @\t,",
    "login with u and password @\t,",
    "use password '@' to log in",
    "with the password \"@\"",
    "Your new password is: @\t,",
    "Generated password: @\t,",
    "Temporary password: @\t,",
    "pw: @\t,#{}[]&*!|>%@",
    "root password = @\t,#",
    "| password | @ |\t|`",
    "**Password:** @\t,*",
    "**Password**: `@`\t`*",
    "https://x.test/login?user=a&password=@\t#&+%=;?/",
    "user=a&password=@&x=1\t#&+%=;?/",
    "--data-urlencode 'password=@'",
    "set password=@\t&|<>^%#",
    "$env:DB_PASSWORD = '@'",
    "ConvertTo-SecureString '@' -AsPlainText -Force",
    "password \"@\";",
    "db.password = @\t#;",
    "userPassword: @\t#,",
    "spawn ssh; expect \"password:\"; send \"@\\r\"",
    "passphrase: '@'",
    "Basic realm; user a, pass '@'",
    "rabbitmqctl add_user u @\t#$;&|<>()*?![]{}~-",
    "password_hash = None; password = '@'",
    "default_password='@'",
    "secret: '@'",
    "ssh_pass: \"@\"",
    "vault_password=@\t#;",
    "admin_password = \"@\"",
    "bind_password: '@'",
    "keystore.password=@\t#",
];
