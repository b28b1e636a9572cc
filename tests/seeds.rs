//! `docs/SEEDS.md` is held to the code: every item of the source documents has its row, in order, with a
//! status, a place that exists and a test that runs; and every such test is in the table.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use hopty::core::config::KEYS;
use source::{Names, Token, files, root, sources, text, tokens};

const PAGE: &str = "docs/SEEDS.md";
/// The items of the five source documents.
const ITEMS: RangeInclusive<u32> = 1..=136;
/// What later work brings.
const LATER: [RangeInclusive<u32>; 1] = [124..=129];
/// The boxes to tick of the fourth document, and its risks.
const LISTS: [(&str, RangeInclusive<u32>); 2] = [("box", 1..=21), ("risk", 1..=7)];

/// A row of the page's tables: `| NNN | what | status | where | test or reason |`.
#[derive(Debug)]
struct Row {
    item: u32,
    status: String,
    place: String,
    shown: String,
}

fn rows() -> Vec<Row> {
    let page = text(PAGE);
    let cells = |line: &str| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let items = page.split("\n## Boxes").next().unwrap();
    items
        .lines()
        .filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit())
        .map(cells)
        .filter(|cells| cells[0].len() == 3)
        .map(|cells| {
            let [item, _, status, place, shown] = &cells[..] else { panic!("five cells: {cells:?}") };
            Row {
                item: item.parse().unwrap(),
                status: status.clone(),
                place: place.clone(),
                shown: shown.clone(),
            }
        })
        .collect()
}

/// What stands between backticks.
fn words(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Every function `item_NNN_...` in the tree, with the file it stands in; what is ignored or no test is a
/// finding.
fn item_tests(wrong: &mut Vec<String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let all: Vec<String> = files("src", ".rs").into_iter().chain(files("tests", ".rs")).collect();
    // Functions that stand in the list of a macro become tests by it.
    let mut listed = BTreeSet::new();
    for file in &all {
        let tokens = tokens(&text(file));
        for pair in tokens.windows(2) {
            if let [Token::Word(name), Token::Sign(',')] = pair {
                listed.insert(name.clone());
            }
        }
    }
    for file in &all {
        let tokens = tokens(&text(file));
        for (at, pair) in tokens.windows(2).enumerate() {
            let [Token::Word(key), Token::Word(name)] = pair else { continue };
            if key != "fn" || number(name).is_none() {
                continue;
            }
            // The attributes before it reach back to the end of what stands before.
            let before: Vec<&str> = tokens[..at]
                .iter()
                .rev()
                .take_while(|token| !matches!(token, Token::Sign('}' | ';' | '{')))
                .filter_map(|token| if let Token::Word(word) = token { Some(word.as_str()) } else { None })
                .collect();
            if before.contains(&"ignore") {
                wrong.push(format!("{file}: {name} is ignored"));
            }
            if !before.contains(&"test") && !listed.contains(name) {
                wrong.push(format!("{file}: {name} is no test"));
            }
            if let Some(other) = found.insert(name.clone(), file.clone()) {
                wrong.push(format!("{name} stands in {other} and in {file}"));
            }
        }
    }
    found
}

/// The names of all functions in the tree.
fn functions() -> BTreeSet<String> {
    let named = |pair: &[Token]| match pair {
        [Token::Word(key), Token::Word(name)] if key == "fn" => Some(name.clone()),
        _ => None,
    };
    let all = files("src", ".rs").into_iter().chain(files("tests", ".rs"));
    all.flat_map(|file| tokens(&text(&file)).windows(2).filter_map(named).collect::<Vec<_>>()).collect()
}

/// 7 of `item_007_...`.
fn number(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("item_")?;
    rest.get(..3).filter(|_| rest.as_bytes().get(3) == Some(&b'_'))?.parse().ok()
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// `hopty VERB` and `hopty VERB SUBVERB`, also those that are reserved.
fn verbs() -> BTreeSet<String> {
    let names = Names::read(&sources());
    let of = |path: &str| names.enums[path].iter().map(|name| kebab(name)).collect::<Vec<_>>();
    let mut all: BTreeSet<String> =
        of("cli::args::Verb").into_iter().map(|verb| format!("hopty {verb}")).collect();
    for (verb, path) in [
        ("handoff", "cli::handoff::handoff_args::HandoffVerb"),
        ("channel", "cli::channel::ChannelVerb"),
        ("conversations", "cli::conversations::conversations_args::ConversationsVerb"),
    ] {
        all.extend(of(path).into_iter().map(|sub| format!("hopty {verb} {sub}")));
    }
    // Read before anything else is, and those of later work.
    for verb in ["hook", "slash", "statusline"] {
        all.insert(format!("hopty {verb}"));
    }
    all
}

fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{PAGE} and the code differ:\n  {}", wrong.join("\n  "));
}

#[test]
fn every_item_has_its_row_its_status_and_its_tests() {
    let mut wrong = Vec::new();
    let tests = item_tests(&mut wrong);
    let rows = rows();
    assert_eq!(
        rows.iter().map(|row| row.item).collect::<Vec<_>>(),
        ITEMS.collect::<Vec<_>>(),
        "one row an item, in order"
    );
    let (functions, mut named) = (functions(), BTreeSet::new());
    for row in &rows {
        let item = row.item;
        let others =
            words(&row.shown).into_iter().filter(|word| word.contains('_') && number(word).is_none());
        wrong.extend(
            others
                .filter(|name| !functions.contains(*name))
                .map(|name| format!("{item:03}: there is no test {name}")),
        );
        let shown: Vec<&str> = words(&row.shown).into_iter().filter(|word| number(word).is_some()).collect();
        for name in &shown {
            if !tests.contains_key(*name) {
                wrong.push(format!("{item:03}: there is no test {name}"));
            }
            if number(name) == Some(item) && !named.insert((*name).to_owned()) {
                wrong.push(format!("{item:03}: {name} is named twice"));
            }
        }
        let own = shown.iter().filter(|name| number(name) == Some(item)).count();
        match row.status.as_str() {
            "built" | "different" => {
                if own == 0 {
                    wrong.push(format!("{item:03}: no test item_{item:03}_..."));
                }
                if row.status == "different" && !row.shown.contains("why: ") {
                    wrong.push(format!("{item:03}: why is it different?"));
                }
            }
            "later" => {
                if !row.shown.starts_with("later: ") {
                    wrong.push(format!("{item:03}: what is it left to?"));
                }
                if !LATER.iter().any(|range| range.contains(&item)) {
                    wrong.push(format!("{item:03}: is not for later"));
                }
            }
            other => wrong.push(format!("{item:03}: status {other:?}")),
        }
    }
    wrong.extend(
        tests
            .iter()
            .filter(|(name, _)| !named.contains(*name))
            .map(|(name, file)| format!("{file}: {name} is in no row")),
    );
    none(&wrong);
}

#[test]
fn what_the_rows_point_to_exists() {
    let (verbs, mut wrong) = (verbs(), Vec::new());
    let keys: BTreeSet<String> = KEYS.iter().map(|key| format!("{}.{}", key.section, key.name)).collect();
    let later: BTreeSet<&str> =
        ["hopty conversations", "hopty backup", "hopty restore", "hopty setup"].into();
    for row in rows() {
        let places = words(&row.place);
        if places.is_empty() {
            wrong.push(format!("{:03}: where?", row.item));
        }
        for place in places {
            let there = match place {
                "hopty" => true,
                verb if verb.starts_with("hopty ") => {
                    verbs.contains(verb) || row.status == "later" && later.contains(verb)
                }
                path if path.contains('/') => root().join(path).exists(),
                key => keys.contains(key),
            };
            if !there {
                wrong.push(format!("{:03}: `{place}` is not there", row.item));
            }
        }
    }
    none(&wrong);
}

#[test]
fn every_contradiction_is_held() {
    let page = text(PAGE);
    let held: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| K")?.split(' ').next().map(str::to_owned))
        .collect();
    assert_eq!(held, (1..=28).map(|n| n.to_string()).collect::<Vec<_>>());
}

/// The fourth document's lists of what a person would verify by hand, and of what may go wrong.
#[test]
fn every_box_and_every_risk_names_tests_that_exist() {
    let functions = functions();
    let page = text(PAGE);
    for (what, numbers) in LISTS {
        let head = format!("| {what} ");
        let of = |line: &str| line.strip_prefix(&head)?.split(' ').next()?.parse::<u32>().ok();
        let rows: Vec<(u32, Vec<&str>)> = page
            .lines()
            .filter_map(|line| Some((of(line)?, words(line.trim_matches('|').split(" | ").nth(2)?))))
            .collect();
        assert_eq!(
            rows.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            numbers.collect::<Vec<_>>(),
            "{what}"
        );
        for (number, tests) in rows {
            let missing: Vec<&&str> = tests.iter().filter(|test| !functions.contains(**test)).collect();
            assert!(!tests.is_empty() && missing.is_empty(), "{what} {number}: there is no test {missing:?}");
        }
    }
}
