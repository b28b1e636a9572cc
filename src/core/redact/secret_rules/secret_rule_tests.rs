use super::super::trial::Chance;
use super::super::{SecretKind, redact};
use super::rule_table::RULES;
use super::secret_rule::SecretRule;

/// The shape of each example of each rule, with the rule's name.
pub(in super::super) fn shapes_of_keys() -> impl Iterator<Item = (&'static str, String)> {
    let shapes = |rule: &'static SecretRule| {
        let shapes = move |start| rule.examples.iter().map(move |tail| (rule.name, format!("{start}{tail}")));
        rule.starts.iter().flat_map(shapes)
    };
    RULES.iter().flat_map(shapes)
}

#[test]
fn every_rule_finds_its_examples_and_no_placeholder() {
    let c = &mut Chance(23);
    for rule in RULES {
        assert!(!rule.examples.is_empty(), "{} has no example", rule.name);
        for (start, tail) in rule.starts.iter().flat_map(|s| rule.examples.iter().map(move |t| (s, t))) {
            let key = format!("{start}{}", c.fill(tail));
            let span = rule.matches(&key, 0);
            assert!(span.is_some_and(|span| span.to == key.len()), "{}: {key} {span:?}", rule.name);
            if rule.kind == SecretKind::Jwt {
                continue;
            }
            let placeholder = format!("{start}{}", "x".repeat(key.len() - start.len()));
            assert_eq!(redact(&placeholder), placeholder, "{}", rule.name);
        }
    }
}

#[test]
fn no_rule_finds_what_only_looks_like_a_key() {
    for rule in RULES {
        let text = rule.lookalike;
        assert_eq!(redact(text), text, "{}", rule.name);
        assert!(rule.starts.iter().any(|start| text.starts_with(start)), "{}: {text}", rule.name);
    }
}

#[test]
fn a_piece_of_a_key_is_none() {
    let c = &mut Chance(29);
    for rule in RULES {
        for start in rule.starts {
            let key = format!("{start}{}", c.fill(rule.examples[0]));
            let piece = &key[..start.len() + 3];
            assert_eq!(redact(piece), piece, "{}", rule.name);
        }
    }
}

#[test]
fn each_rule_has_a_name_of_its_own() {
    let mut names: Vec<(SecretKind, &str)> = RULES.iter().map(|rule| (rule.kind, rule.name)).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(all > 100 && names.len() == all, "{} of {all}", names.len());
}
