//! Random texts and passwords, the same in every run.

/// Numbers from a seed.
pub(in super::super) struct Chance(pub(in super::super) u64);

impl Chance {
    pub(super) fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    pub(super) fn of(&mut self, alphabet: &str, len: usize) -> String {
        (0..len).map(|_| char::from(alphabet.as_bytes()[self.next(alphabet.len())])).collect()
    }

    /// `shape` with each `{A36}` replaced by 36 characters of the alphabet `A`, and each `|` left out.
    pub(in super::super) fn fill(&mut self, shape: &str) -> String {
        const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut out = String::new();
        for part in shape.replace('|', "").split('{') {
            let Some((spec, rest)) = part.split_once('}') else {
                out.push_str(part);
                continue;
            };
            let len = spec[1..].parse().unwrap_or(0);
            out.push_str(&match &spec[..1] {
                "A" => self.of(ALNUM, len),
                "a" => self.of(&ALNUM[26..], len),
                "L" => self.of(&ALNUM[26..52], len),
                "C" => self.of(&ALNUM[..52], len),
                "U" => self.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", len),
                "X" => self.of("0123456789ABCDEF", len),
                "h" => self.of("0123456789abcdef", len),
                "D" => self.of("0123456789", len),
                "d" => self.of("123456789", len),
                "W" => self.of(&format!("{ALNUM}-_"), len - 1) + &self.of(ALNUM, 1),
                "B" => self.of(&format!("{ALNUM}+/"), len),
                "G" => [8, 4, 4, 4, 12].map(|len| self.of("0123456789abcdef", len)).join("-"),
                "S" => self.of(&format!("{ALNUM}!@#$%^&*(-_=+)"), len),
                "P" => self.word() + &self.of("0123456789", 3),
                _ => unreachable!("{spec}"),
            });
            out.push_str(rest);
        }
        out
    }

    /// As `fill`, where braces that are no shape stay, and so does a `|`.
    pub(super) fn fill_known(&mut self, line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(at) = rest.find('{') {
            let (before, behind) = rest.split_at(at);
            out.push_str(before);
            let end = behind.find('}').map_or(0, |n| n + 1);
            let shape = behind[..end].trim_matches(['{', '}']);
            let known = shape == "G"
                || shape.len() > 1 && shape.is_ascii() && shape[1..].bytes().all(|b| b.is_ascii_digit());
            let len = if known { end } else { 1 };
            out.push_str(&if known { self.fill(&behind[..end]) } else { behind[..1].to_owned() });
            rest = &behind[len..];
        }
        out + rest
    }

    pub(super) fn word(&mut self) -> String {
        const WORDS: [&str; 10] = [
            "hunter", "Summer", "dragon", "Tr0ub4dor", "letmein", "Monkey", "sunshine", "Admin", "qwerty",
            "Passw0rd",
        ];
        WORDS[self.next(WORDS.len())].to_owned()
    }

    /// A password without the signs of `not`, by `make`: of a program, of a person, of a rule, of letters.
    pub(super) fn password(&mut self, make: usize, not: &str) -> String {
        const ALL: &str =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&()*+,-./:;<=>?@[]^_{|}~";
        const PLAIN: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let allowed: String = ALL.chars().filter(|c| !not.contains(*c)).collect();
        let len = 8 + self.next(17);
        match make {
            0 => self.of(PLAIN, 1) + &self.of(&allowed, len),
            1 => self.of(&allowed, len),
            2 => self.of(PLAIN, len),
            3 => self.word() + &self.of("0123456789", 2 + len % 3) + if not.contains('!') { "" } else { "!" },
            _ => {
                self.word()
                    + &self.of(&allowed.chars().filter(char::is_ascii_punctuation).collect::<String>(), 1)
                    + &self.of("0123456789", 4)
            }
        }
    }
}
