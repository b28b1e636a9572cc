//! The words of sentences that contain secrets, in many languages. Data, in lower case.

/// Words for a password.
pub(super) const PASSWORDS: [&str; 42] = [
    "parola", "parolă", "הסיסמה", "passwort", "kennwort", "mot de passe", "mdp", "clave", "lozinka",
    "पासवर्ड", "رمز عبور", "گذرواژه", "contraseña", "contrasena", "clave de acceso", "senha", "palavra-passe",
    "parola d'ordine", "hasło", "wachtwoord", "lösenord", "adgangskode", "passord", "salasana", "heslo",
    "jelszó", "şifre", "kata sandi", "mật khẩu", "парол", "κωδικός", "סיסמה", "كلمة المرور", "كلمة السر",
    "パスワード", "暗証番号", "密码", "密碼", "口令", "비밀번호", "암호", "รหัสผ่าน",
];

/// English words for a password, in a sentence of any language. Most English sentences with them contain no
/// password, so a verb must link the value.
pub(super) const ENGLISH: [&str; 3] = ["password", "passphrase", "passcode"];
/// Verbs that link one of them with the value.
pub(super) const VERBS: [&str; 12] = [
    " is ", " ist ", " lautet ", " heißt ", " est ", " es ", " è ", " é ", " är ", " este ", " είναι ",
    " היא ",
];

/// Words for a key or a token. Only random characters count as the value.
pub(super) const TOKENS: [&str; 27] = [
    "unseal key", "totp seed", "otp seed", "2fa secret", "api-schlüssel", "api schlüssel",
    "zugriffsschlüssel", "clé api", "clé d'api", "clave de api", "clave api", "chave de api", "chave api",
    "chiave api", "klucz api", "api-sleutel", "api-nyckel", "ключ api", "api-ключ", "api ключ", "токен",
    "секрет", "apiキー", "トークン", "api密钥", "密钥", "api 키",
];

/// The words between such a word and its value.
pub(super) const LINKS: [&str; 38] = [
    " are ", " este ", " είναι ", " היא ", ":", "c'est ", " je ", " है ", "：", "=", "＝", " lautet", " ist ",
    " heißt ", " est ", " es ", " è ", " é ", " is ", " är ", " er ", " on ", " to ", " jest ", " это ",
    " — ", " – ", " - ", " -> ", "は", "是", "为", "為", "는 ", "은 ", " là ", " هي ", "คือ",
];

/// Beginnings of a sentence that tells what the one before has named: `here is the key. its X`.
pub(super) const IT_IS: [&str; 10] = [
    " its ", " it's ", " it\u{2019}s ", " it is ", " here it is: ", " here: ", " das ist ", " es ist ",
    " er ist ", " er lautet ",
];

/// Words before a name and its password: `login is root / X`.
pub(super) const LOGINS: [&str; 10] = [
    "login", "credentials", "creds", "zugangsdaten", "identifiants", "credenciales", "credenciais", "логин",
    "ログイン", "账号",
];

/// Words that may be between a verb and the value.
pub(super) const FILLERS: [&str; 16] = [
    "jetzt", "nun", "nur", "now", "still", "ahora", "maintenant", "ora", "adesso", "agora", "теперь",
    "сейчас", "nu", "teraz", "nyní", "şimdi",
];
/// Prepositions that begin the owner of a password: `пароль для сервера X`.
pub(super) const WHOSE: [&str; 22] = [
    "для", "от", "к", "до", "на", "з", "від", "von", "vom", "für", "fürs", "du", "de", "des", "del", "della",
    "do", "da", "van", "voor", "för", "till",
];

/// Names of a one-time code.
pub(super) const CODES: [&str; 20] = [
    "2fa",
    "2fa code",
    "2fa-code",
    "mfa code",
    "otp",
    "otp code",
    "totp",
    "totp code",
    "sms code",
    "sms-code",
    "one-time code",
    "one-time password",
    "verification code",
    "security code",
    "einmalcode",
    "bestätigungscode",
    "code de vérification",
    "código de verificación",
    "код подтверждения",
    "验证码",
];
/// Names of a payment card.
pub(super) const CARDS: [&str; 10] =
    ["card", "visa", "mastercard", "amex", "karte", "kreditkarte", "tarjeta", "cartão", "carte", "карта"];
/// Names of the digits on its back.
pub(super) const CARD_CHECKS: [&str; 3] = ["cvc", "cvv", "cvv2"];
/// Words of sentences about a passphrase. A text with one of them is no passphrase.
pub(super) const IN_SENTENCES: &str = "the and for not all any are was were has had have its our your their his her \
     this that these those with without from into onto over under inside outside only also too \
     now then than still yet just never always often again once twice one two three four \
     five six seven eight ten more most less least long longer short shorter strong weak \
     wrong empty plain clear text same other another old new secret safe hidden known \
     visible random word words character characters letter letters digit digits case \
     sensitive read write set get kept sent put lost gone there here where when why how \
     who which what will would can could may might must should does did been being very \
     quite enough required optional default stored because since until before after while \
     each every both either neither part file disk vault keyring keychain login user \
     everywhere nowhere anywhere everybody nobody everyone somebody someone good bad fine \
     okay mandatory invalid valid unknown equal identical different broken";

/// Names of the words that open a wallet.
pub(super) const WALLETS: [&str; 7] = [
    "seed phrase", "recovery phrase", "backup phrase", "mnemonic", "wallet words", "seed words",
    "recovery words",
];
/// Names of codes that each open an account once.
pub(super) const RECOVERY_CODES: [&str; 2] = ["recovery codes", "backup codes"];
/// Phrases behind a password: `use X as the password`.
pub(super) const AS_PASSWORD: [&str; 8] = [
    " as the password", " as password", " as my password", " as its password", " as the passphrase",
    " als passwort", " comme mot de passe", " como contraseña",
];

/// Names of a way to authenticate.
pub(super) const PROOFS: [&str; 2] = ["basic auth", "basic-auth"];
