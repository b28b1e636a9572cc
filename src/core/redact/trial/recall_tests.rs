//! How many secrets are left, and how many harmless texts are changed.

use std::collections::BTreeMap;

use super::super::secret_rules::shapes_of_keys;
use super::chance::Chance;
use super::harmless;
use super::named::{ASSIGNED, NAMED, PASSWORDS};
use super::shaped::{ANYWHERE, SHAPED};
use super::wraps::Wrap;
use crate::core::text::safe_text::{cut_words, safe};

/// The longest piece of `secret` that may be left, in bytes; what stands in the pattern itself does not
/// count.
fn is_left(shown: &str, secret: &str, pattern: &str) -> bool {
    let piece = match secret.len() {
        0..8 => secret.len(),
        8..24 => 6.max(secret.len() / 2),
        _ => 12,
    };
    let chars: Vec<char> = secret.chars().collect();
    chars.windows(piece).any(|window| {
        let window: String = window.iter().collect();
        shown.contains(&window) && !pattern.contains(&window)
    })
}

#[derive(Default)]
struct Score {
    tried: u64,
    left: u64,
    by: BTreeMap<String, (u64, u64)>,
    samples: Vec<String>,
}

impl Score {
    fn count(&mut self, by: &[String], text: &str, secret: &str, pattern: &str) {
        let shown = safe(text);
        let left = is_left(&shown, secret, pattern);
        self.tried += 1;
        self.left += u64::from(left);
        for by in by {
            let entry = self.by.entry(by.clone()).or_default();
            entry.0 += 1;
            entry.1 += u64::from(left);
        }
        if left {
            self.samples.push(format!("{text:?} -> {shown:?}"));
        }
    }

    /// None of the round that every run makes; of more rounds at most one in two thousand.
    fn is_good(&self) -> bool {
        self.left == 0 || rounds() > 1 && self.left * 2000 <= self.tried
    }

    fn tell(&self, name: &str) -> String {
        let mut worst: Vec<_> = self.by.iter().filter(|(_, (_, left))| *left > 0).collect();
        worst.sort_by_key(|(_, (tried, left))| std::cmp::Reverse(left * 10_000 / tried));
        let worst: Vec<String> =
            worst.iter().take(60).map(|(by, (tried, left))| format!("  {left} of {tried}: {by}")).collect();
        let step = self.samples.len().div_ceil(40).max(1);
        let samples: Vec<&str> = self.samples.iter().step_by(step).map(String::as_str).collect();
        format!("{name}: {} of {} left\n{}\n{}", self.left, self.tried, worst.join("\n"), samples.join("\n"))
    }
}

/// How many rounds are made: more than one where `HOPTY_TEST_REDACT` says so.
fn rounds() -> usize {
    std::env::var("HOPTY_TEST_REDACT").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

#[test]
fn keys_of_known_services_are_replaced_wherever_they_stand() {
    let (mut c, mut score) = (Chance(7), Score::default());
    for _ in 0..rounds() {
        let placed = SHAPED.lines().filter_map(|line| line.split_once('='));
        let placed = placed.map(|(kind, shape)| (kind, shape.replace('|', "")));
        for (kind, shape) in shapes_of_keys().chain(placed) {
            for place in ANYWHERE {
                let wrap = Wrap::ALL[c.next(Wrap::ALL.len())];
                let secret = c.fill(&shape);
                let by = [format!("kind {kind}"), format!("place {place}"), format!("wrap {wrap:?}")];
                score.count(&by, &wrap.write(place, &secret), &secret, &format!("{place}{shape}"));
            }
        }
    }
    assert!(score.is_good(), "{}", score.tell("keys"));
}

/// A name as a language writes it.
fn written(name: &str, style: char) -> String {
    let lower = name.to_ascii_lowercase();
    match style {
        'U' => name.to_owned(),
        'l' => lower,
        'k' => lower.replace('_', "-"),
        'd' => lower.replace('_', "."),
        _ => {
            let mut words = lower.split('_');
            let first = words.next().unwrap_or_default().to_owned();
            words.fold(first, |all, word| all + &word[..1].to_ascii_uppercase() + &word[1..])
        }
    }
}

#[test]
fn secrets_that_have_a_name_are_replaced_however_they_are_assigned() {
    let (mut c, mut score) = (Chance(11), Score::default());
    for _ in 0..rounds() {
        for place in ASSIGNED {
            let (pattern, not) = place.split_once('\t').unwrap_or((place, ""));
            for line in NAMED.lines() {
                let (name, shape) = line.split_once('=').unwrap();
                let wrap = Wrap::ALL[c.next(Wrap::ALL.len())];
                let mut secret = c.fill(shape);
                secret.retain(|ch| {
                    ch.is_ascii_alphanumeric()
                        || matches!(ch, '-' | '_' | '=' | '+' | '/' | '.' | ':')
                        || !not.contains(ch)
                });
                let secret = secret.trim_start_matches('-').to_owned();
                let mut named = pattern.to_owned();
                for style in ['U', 'l', 'c', 'k', 'd'] {
                    named = named.replace(&format!("%{style}"), &written(name, style));
                }
                let by = [format!("name {name}"), format!("place {pattern}"), format!("wrap {wrap:?}")];
                score.count(&by, &wrap.write(&named, &secret), &secret, &named);
            }
        }
    }
    assert!(score.is_good(), "{}", score.tell("named"));
}

#[test]
fn passwords_of_every_make_are_replaced_in_every_place() {
    let (mut c, mut score) = (Chance(13), Score::default());
    for _ in 0..rounds() {
        for place in PASSWORDS {
            let (pattern, not) = place.split_once('\t').unwrap_or((place, ""));
            for n in 0..40 {
                let wrap = Wrap::ALL[c.next(Wrap::ALL.len())];
                let secret = c.password(n % 5, &format!("{not}\\\"'`"));
                let by = [format!("make {}", n % 5), format!("place {pattern}"), format!("wrap {wrap:?}")];
                score.count(&by, &wrap.write(pattern, &secret), &secret, pattern);
            }
        }
    }
    assert!(score.left * 1000 <= score.tried * 3, "{}", score.tell("passwords"));
}

#[test]
fn of_thousands_of_harmless_texts_at_most_one_in_two_hundred_is_harmed() {
    let texts = harmless::texts(&mut Chance(17), 20 * rounds());
    let mut by: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (line, text) in &texts {
        let shown = safe(text);
        if shown != *text {
            by.entry(line).or_default().push(format!("{text:?} -> {shown:?}"));
        }
    }
    let harmed: usize = by.values().map(Vec::len).sum();
    let told: Vec<String> = by.values().map(|all| format!("{}: {}", all.len(), all[0])).collect();
    assert!(harmed * 200 <= texts.len(), "{harmed} of {} are harmed\n{}", texts.len(), told.join("\n"));
}

/// A field's cap can fall into the middle of a secret: half of one must not be left either.
#[test]
fn no_half_of_a_password_is_left_by_a_cut() {
    let mut c = Chance(19);
    let mut score = Score::default();
    for place in PASSWORDS {
        let (pattern, not) = place.split_once('\t').unwrap_or((place, ""));
        for make in [1, 2] {
            let secret = c.password(make, &format!("{not}\\\"'`"));
            let text = Wrap::Lines.write(pattern, &secret);
            let at = text.find(&secret).unwrap();
            for kept in [4, secret.len() / 2, secret.len() - 1] {
                let cut = cut_words(&text, at + kept);
                score.count(&[format!("place {pattern}")], cut, &secret[..kept], pattern);
            }
        }
    }
    assert!(score.left == 0, "{}", score.tell("cut"));
}
