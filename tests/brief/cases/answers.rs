//! What Claude said last: its end, its questions, its reasons.

use super::kit::*;

pub fn all() -> Vec<Case> {
    vec![
        question_with_options(),
        long_answer(),
        short_answer_b(),
        decisions_in_text(),
        answer_with_code(),
        own_words_in_a_loop(),
        own_words_at_the_end(),
    ]
}

fn question_with_options() -> Case {
    let reasons =
        "The store needs transactions, a backup every night and a file format that outlives us all. "
            .repeat(8);
    case("question_with_options")
        .talk("which store does the ledger of Velloquine need?", "I will look at the load first.")
        .prompt(
            "then decide with me",
            [say(format!(
                "{reasons}\n\nWhich one shall it be for Velloquine: PostgreSQL on the Aldwych host (A), \
                 SQLite beside the app (B) or DuckDB in \
                 memory (C)? I advise B, because one process writes."
            ))
            .at(84)],
        )
        .hand_over()
        .know(facts![
            "Which one shall it be for Velloquine",
            "PostgreSQL on the Aldwych host (A)",
            "SQLite beside the app (B)",
            "DuckDB in memory (C)",
            "I advise B, because one process writes.",
            awaited(),
            newest("then decide with me", &["which store does the ledger of Velloquine need?"]),
        ])
        .lies(facts!["see whether the goal is reached"])
}

fn long_answer() -> Case {
    let mut text =
        "I went through all pumps of Ultramont. Finding 1: the intake of Xanthe leaks.\n".to_owned();
    for n in 2..=58 {
        text.push_str(&format!(
            "Finding {n}: valve {n} opens late by {n} ms, which is within what the makers allow for it.\n"
        ));
    }
    text.push_str(
        "The worst is Finding 59: the lock in pump_of_ultramont.rs:88 is never released. I would \
                   repair that first.",
    );
    case("long_answer")
        .prompt("inspect every pump of Ultramont and tell me all", [say(text).at(85)])
        .hand_over()
        .know(facts![
            "the lock in pump_of_ultramont.rs:88 is never released",
            "I would repair that first.",
            "inspect every pump of Ultramont and tell me all",
        ])
        .reach(facts![
            reachable("Finding 1: the intake of Xanthe leaks."),
            reachable("Finding 12: valve 12 opens late by 12 ms"),
            reachable("Finding 33: valve 33 opens late by 33 ms"),
        ])
}

fn short_answer_b() -> Case {
    case("short_answer_b")
        .talk(
            "the labels of Mossbank need a language",
            "Shall the labels of Mossbank be Welsh (A), Cornish (B) or Manx (C)?",
        )
        .prompt(
            "B",
            [
                write("labels.txt", "Kernewek\n"),
                say("The labels are Cornish now; the tooltips are not.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            "Shall the labels of Mossbank be Welsh (A), Cornish (B) or Manx (C)?",
            near(
                "Shall the labels of Mossbank be Welsh (A), Cornish (B) or Manx (C)?",
                &[" b ", "\"b\"", "'b'", "“b”"]
            ),
            "the labels of Mossbank need a language",
            "The labels are Cornish now; the tooltips are not.",
            "labels.txt",
        ])
        .lies(facts![awaited()])
}

fn decisions_in_text() -> Case {
    let small = (1..=14)
        .map(|n| (format!("and icon {n} of the menu?"), format!("Icon {n} stays as it is.")))
        .collect();
    case("decisions_in_text")
        .prompt(
            "make the menu of Brindlemark translatable",
            [
                bash("echo menu").at(20),
                bash("echo plural").at(21),
                say(
                    "I take gettext rather than a dictionary, because the plural forms of Lithuanian differ.",
                )
                .and_tool(
                    "Bash",
                    serde_json::json!({"command": "echo catalogue", "description": "scripted"}),
                ),
                say("The catalogue is in place."),
            ],
        )
        .prompt(
            "and the login?",
            [say(
                "I decided against cookies: Brindlemark uses bearer tokens, since the kiosk has no browser.",
            )],
        )
        .step(Step::Resume(small))
        .prompt("then go on with the footer", [say("The footer has its three links.").at(84)])
        .hand_over()
        .know(facts![
            "gettext rather than a dictionary",
            "because the plural forms of Lithuanian differ",
            "Brindlemark uses bearer tokens",
            "since the kiosk has no browser",
            newest("then go on with the footer", &["make the menu of Brindlemark translatable"]),
        ])
}

fn answer_with_code() -> Case {
    let code = "Here is the change for Kirkoswald:\n\n```rust\nfn kirkoswald() {\n    // ## Next\n    \
                count(1)\n}\n```\n\nand the call:\n\n````text\n\
                ```\nnested\n```\n````\n\nTell me whether `kirkoswald()` may return early.";
    case("answer_with_code")
        .prompt("show me the function for Kirkoswald", [say(code).at(84)])
        .hand_over()
        .know(facts![
            "Tell me whether `kirkoswald()` may return early.",
            "fn kirkoswald()",
            "show me the function for Kirkoswald"
        ])
        .lies(facts![broken_frame()])
}

fn own_words_in_a_loop() -> Case {
    case("own_words_in_a_loop")
        .step(Step::OwnWords(
            r#"{"doing": "moving the relays of Gundersholm", "done": ["relay 1 of Fossbury"], "next": ["solder relay 9 of Gundersholm"],
                "decisions": ["silver rather than tin, because Gundersholm is damp"], "gotchas": ["the fuse of Hinxworth blows"]}"#,
        ))
        .talk("what is a relay?", "A switch that is moved by a magnet.")
        .prompt(
            "move all relays of Gundersholm",
            [bash("echo relay one").at(74), bash("echo relay two").at(83), bash("echo relay three").at(91)],
        )
        .hand_over()
        .know(facts![
            newest("move all relays of Gundersholm", &["what is a relay?"]),
            "solder relay 9 of Gundersholm",
            "silver rather than tin, because Gundersholm is damp",
            "the fuse of Hinxworth blows",
        ])
}

fn own_words_at_the_end() -> Case {
    case("own_words_at_the_end")
        .step(Step::OwnWords(
            r#"{"doing": "binding the atlas of Cotehele", "done": ["the maps of Calstock"], "next": ["glue the spine of Gunnislake"],
                "decisions": ["linen rather than leather, because Cotehele is damp"], "gotchas": ["the press of Kelly sticks"]}"#,
        ))
        .prompt("bind the atlas of Cotehele", [bash("echo maps").at(78), say("The maps are bound.").at(84)])
        .hand_over()
        .know(facts![
            "bind the atlas of Cotehele",
            "glue the spine of Gunnislake",
            "linen rather than leather, because Cotehele is damp",
            "the press of Kelly sticks",
            "The maps are bound.",
        ])
        .lies(facts![open_todo("the maps of Calstock"), "nothing else, at most 4000 characters",
            "see whether the goal is reached",])
}
