//! The configuration files of the source documents, read only when their profile is chosen.
//!
//! They belong to other programs: unknown content is skipped, and the files are never written.

use crate::core::config::Profile;

/// A value from one of these files, as a setting of hopty's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::core) struct ProfileSetting {
    /// The key that it sets, such as `context.ask`.
    pub(in crate::core) key: &'static str,
    /// The value in the form of an environment variable. An invalid value stays unchanged, for the error
    /// message.
    pub(in crate::core) value: String,
    /// Its line, from 1.
    pub(in crate::core) line: u32,
}

impl Profile {
    /// The settings in `text`, the file of this profile's document.
    pub(in crate::core) fn settings_of_file(self, text: &str) -> Vec<ProfileSetting> {
        match self {
            Profile::S2 => of_the_orchestrator(text),
            Profile::S3 => of_the_question(text),
            Profile::Default | Profile::S0 | Profile::S1 | Profile::S4 | Profile::Test => Vec::new(),
        }
    }
}

/// `NAME=VALUE`, as a shell reads it.
fn of_the_question(text: &str) -> Vec<ProfileSetting> {
    let assigned = text.lines().zip(1..).filter_map(|(line, number)| {
        let line = line.trim();
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        let value = plain(value);
        let (key, value) = match name.trim_start() {
            "THRESHOLD" => ("context.ask", format!("{{ percent = {value} }}")),
            "SNOOZE_DURATION" => ("restart.snooze", format!("{value}s")),
            _ => return None,
        };
        Some(ProfileSetting { key, value, line: number })
    });
    assigned.collect()
}

/// The mapping `handoff:` of a YAML file.
fn of_the_orchestrator(text: &str) -> Vec<ProfileSetting> {
    let entries = entries(text);
    let of = |path: &[&str]| entries.iter().rev().find(|entry| entry.path == path);
    // If it is given, thresholds are shares of this number of tokens.
    let budget = of(&["handoff", "max_tokens"]);
    let level =
        |part: f64| match budget.map(|entry| (entry.value, entry.value.replace('_', "").parse::<f64>())) {
            Some((_, Ok(tokens))) => format!("{{ tokens = {:.0} }}", part * tokens),
            Some((no_number, Err(_))) => no_number.to_owned(),
            None => format!("{{ percent = {} }}", part * 100.0),
        };
    let mut found = Vec::new();
    let mut set = |key, value: String, line| found.push(ProfileSetting { key, value, line });
    for (key, name, usual) in
        [("context.warn", "warning_threshold", 0.7), ("context.handoff", "threshold", 0.8)]
    {
        match (of(&["handoff", name]), budget) {
            (Some(entry), _) => {
                set(key, entry.value.parse().map_or_else(|_| entry.value.to_owned(), level), entry.line)
            }
            (None, Some(entry)) => set(key, level(usual), entry.line),
            (None, None) => {}
        }
    }
    for (key, name) in [
        ("handoff.decisions", "max_decisions"),
        ("handoff.gotchas", "max_gotchas"),
        ("handoff.diff", "include_git_diff"),
    ] {
        if let Some(entry) = of(&["handoff", "context_summary", name]) {
            set(key, entry.value.to_owned(), entry.line);
        }
    }
    let no = |value: &str| ["false", "no", "off"].iter().any(|word| value.eq_ignore_ascii_case(word));
    let off = |name| of(&["handoff", "orchestrator", name]).filter(|entry| no(entry.value));
    if let Some(entry) = off("enabled").or_else(|| off("auto_continue")) {
        set("restart.mode", "manual".to_owned(), entry.line);
    }
    found
}

/// `key: value` with the keys above it.
struct ProfileLine<'a> {
    path: Vec<&'a str>,
    value: &'a str,
    line: u32,
}

/// The entries of nested mappings. Other forms (lists, several documents, values over several lines) are
/// skipped.
fn entries(text: &str) -> Vec<ProfileLine<'_>> {
    let mut above: Vec<(usize, &str)> = Vec::new();
    let mut entries = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        let Some((key, value)) = words.split_once(':').filter(|_| !words.starts_with(['#', '-'])) else {
            continue;
        };
        above.retain(|(column, _)| *column < indent);
        if above.len() >= DEPTH {
            continue;
        }
        above.push((indent, plain(key)));
        let value = plain(value);
        if !value.is_empty() {
            entries.push(ProfileLine {
                path: above.iter().map(|(_, key)| *key).collect(),
                value,
                line: number,
            });
        }
    }
    entries
}

/// How many levels of mappings are followed; the known files have three.
const DEPTH: usize = 8;

/// A word without its quotes and the comment behind it.
fn plain(text: &str) -> &str {
    let text = text.trim();
    match text.as_bytes() {
        [quote @ (b'"' | b'\''), ..] => text[1..].split(char::from(*quote)).next().unwrap_or_default(),
        [b'#', ..] => "",
        _ => text.split(" #").next().unwrap_or_default().trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use crate::core::config::{
        Config, File, Resolved, RestartMode, Sources, Threshold, ValueOrigin, resolve,
    };

    const CONF: &str = "# mine\nexport THRESHOLD=45 # early\nSNOOZE_DURATION=\"120\"\nOTHER=$(reboot)\n";
    const YAML: &str = "version: 1\nhandoff:\n  threshold: 0.9   # of max tokens\n  warning_threshold: \
                        0.5\n\n  context_summary:\n    \
                        max_decisions: 7\n    max_gotchas: 2\n    include_git_diff: false\n\n  \
                        orchestrator:\n    enabled: true\n    \
                        auto_continue: No\nother:\n  threshold: 0.1\n";

    fn read(own: &str, document: &str) -> Resolved {
        let file = |path, text| Some(File { path, text });
        resolve(&Sources {
            user: file("config.toml", own),
            document: file("theirs", document),
            ..Sources::default()
        })
    }

    #[test]
    fn item_108_the_file_of_who_is_asked_counts_with_its_profile() {
        let with = read("context.profile = 's3'", CONF);
        assert_eq!(with.problems, []);
        let Config { context, restart, .. } = &with.config;
        assert_eq!((context.ask, context.handoff), (Threshold::percent(45.0), Threshold::NEVER));
        assert_eq!((restart.snooze.ms(), restart.mode), (120_000, RestartMode::Ask));
        assert!(matches!(&with.origins["context.ask"],
                ValueOrigin::ProfileFile(at) if at.to_string() == "theirs:2"));
        assert_eq!(read("", CONF).config, Config::default(), "not without it");
        assert_eq!(
            read("context.profile = 's1'", CONF).config.context.ask,
            Threshold::kb(4096),
            "nor with another"
        );
        let own = read("[context]\nprofile = 's3'\nask = { percent = 70 }\n[restart]\nmode = 'auto'", CONF);
        assert_eq!(
            (own.config.context.ask, own.config.restart.mode),
            (Threshold::percent(70.0), RestartMode::Auto),
            "what is set here wins"
        );
    }

    #[test]
    fn item_100_the_orchestrator_s_file_counts_with_its_profile() {
        let with = read("context.profile = 's2'", YAML);
        assert_eq!(with.problems, []);
        let Config { context, restart, handoff, .. } = &with.config;
        assert_eq!((context.warn, context.handoff), (Threshold::percent(50.0), Threshold::percent(90.0)));
        assert_eq!((handoff.decisions, handoff.gotchas, handoff.diff), (7, 2, false));
        assert_eq!(restart.mode, RestartMode::Manual, "it does not go on by itself");
        assert_eq!(read("", YAML).config, Config::default(), "not without it");
        // The form of the document: shares of a number of tokens.
        let sample = "handoff:\n  threshold: 0.80        # 80% of max tokens\n  max_tokens: 100_000\n";
        let Config { context, .. } = read("context.profile = 's2'", sample).config;
        assert_eq!((context.warn.tokens, context.handoff.tokens), (Some(70_000), Some(80_000)));
        assert_eq!((context.handoff.percent, context.window), (None, 0), "the window is the model's");
    }

    #[test]
    fn an_invalid_value_is_reported_with_its_place_and_left_out() {
        let with = read("context.profile = 's3'", "THRESHOLD=$((3*20))\nSNOOZE_DURATION=-1\n");
        let told: Vec<String> = with.problems.iter().map(ToString::to_string).collect();
        assert!(told[0].starts_with("theirs:1: context.ask = "), "{told:?}");
        assert!(told[1].starts_with("theirs:2: restart.snooze = "), "{told:?}");
        assert_eq!(with.config.context.ask, Threshold::percent(60.0));
        let with = read("context.profile = 's2'", "handoff:\n  threshold: 80\n  warning_threshold: much\n");
        assert_eq!(with.problems.len(), 2, "{:?}", with.problems);
        assert_eq!(with.config.context.handoff, Threshold::percent(80.0));
        let with = read("context.profile = 's2'", "handoff:\n  threshold: 0.9\n  max_tokens: lots\n");
        assert_eq!(with.problems.len(), 2, "it is not taken for one without: {:?}", with.problems);
    }

    proptest::proptest! {
        #[test]
        fn any_file_is_a_configuration(own in "context.profile = 's[23]'",
            text in "(handoff:|THRESHOLD=|  threshold: |[ \"':#=\\n-]|.){0,40}") {
            read(&own, &text);
        }
    }
}
