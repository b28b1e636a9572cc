//! Work in hand: files that were read and written, to-dos, the state of the work tree, and no word too much.

use super::kit::*;

pub fn all() -> Vec<Case> {
    vec![
        files_that_were_read(),
        new_files(),
        nothing_twice(),
        work_tree(),
        half_a_change(),
        finished_and_open_todos(),
        more_than_fits(),
    ]
}

fn numbered(word: &str, lines: usize) -> String {
    (1..=lines).map(|n| format!("{word} line {n}\n")).collect()
}

fn files_that_were_read() -> Case {
    case("files_that_were_read")
        .file("docs/spec_of_lulworth.md", numbered("spec", 120))
        .file("store_of_lulworth.py", numbered("store", 200))
        .file("lib/kimmeridge.py", numbered("lib", 20))
        .prompt(
            "understand how Lulworth stores its tides",
            [
                read("docs/spec_of_lulworth.md"),
                read_lines("store_of_lulworth.py", 140, 31),
                bash("grep -n 'line 7' lib/kimmeridge.py"),
                say("The tides are kept in pages."),
            ],
        )
        .prompt(
            "then write the compaction",
            [write("compact_of_lulworth.py", "pass\n"), say("A first draft is there.").at(84)],
        )
        .hand_over()
        .know(facts![
            "spec_of_lulworth.md",
            "store_of_lulworth.py",
            near(
                "store_of_lulworth.py",
                &["140-170", "140 to 170", "140..170", "140–170", "from line 140", "140+31"]
            ),
            "kimmeridge.py",
            "compact_of_lulworth.py",
            newest("then write the compaction", &["understand how Lulworth stores its tides"]),
        ])
}

fn new_files() -> Case {
    case("new_files")
        .file("gauge.rs", "fn gauge() {}\n")
        .commit()
        .prompt(
            "add the gauge of Farrowmere",
            [
                read("gauge.rs"),
                edit("gauge.rs", "fn gauge() {}", "fn gauge() { farrowmere_calls(); }"),
                write("src/farrowmere.rs", "pub fn farrowmere_gauge() -> u8 {\n    42\n}\n"),
                bash("mkdir -p notes && echo 'the needle of Garstang sticks' > notes/garstang.md"),
                say("Both halves of Farrowmere are written.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            "src/farrowmere.rs",
            "notes/garstang.md",
            "gauge.rs",
            "Both halves of Farrowmere are written."
        ])
        .reach(facts![
            in_file(".patch", "farrowmere_calls()"),
            in_file(".patch", "pub fn farrowmere_gauge()"),
            in_file(".patch", "the needle of Garstang sticks"),
        ])
        .lies(facts!["not in changes.patch"])
}

fn nothing_twice() -> Case {
    case("nothing_twice")
        .prompt(
            "thatch the roof of Bovey Tracey with reed from Slapton",
            [
                plan(&["Cut the reed of Slapton", "Lay the ridge of Bovey"]),
                mark("in_progress", &[1]),
                write("roof/reed.txt", "cut\n"),
                say("The reed is cut, half of it."),
            ],
        )
        .prompt(
            "and keep a tally in tally.txt",
            [write("roof/tally.txt", "1\n"), say("The tally is kept.").at(84)],
        )
        .hand_over()
        .know(facts![
            "thatch the roof of Bovey Tracey with reed from Slapton",
            "Cut the reed of Slapton",
            "Lay the ridge of Bovey",
            "roof/reed.txt",
            "roof/tally.txt",
            "The tally is kept.",
        ])
        .lies(facts![
            twice("thatch the roof of Bovey Tracey"),
            twice("and keep a tally in tally.txt"),
            twice("Lay the ridge of Bovey"),
            twice("The tally is kept."),
            "TaskCreate",
            "TaskUpdate",
            absolute("roof/reed.txt"),
            twice("hannel:"),
        ])
}

fn work_tree() -> Case {
    case("work_tree")
        .file("loom.txt", "warp\n")
        .commit()
        .prompt(
            "weave the cloth of Hebden on a branch",
            [
                bash(
                    "git checkout -q -b weft-of-hebden && echo weft >> loom.txt && git -c user.name=A -c \
                      user.email=a@example.org commit -qam 'Weave Mytholmroyd'",
                ),
                bash("echo selvedge >> loom.txt"),
                say("The selvedge of Hebden is not committed yet.").at(84),
            ],
        )
        .hand_over()
        .know(facts!["weft-of-hebden", "loom.txt", "The selvedge of Hebden is not committed yet."])
        .reach(facts![in_file(".patch", "+selvedge"), names_file("changes.patch")])
}

/// Cut in the middle of a tool loop: what was written last and what was said before it.
fn half_a_change() -> Case {
    case("half_a_change")
        .talk("how is the harbour of Polruan built?", "In three basins.")
        .prompt(
            "add a basin to the harbour of Polruan",
            [
                say("First the wall of Lanteglos, then the gate, then the lights.")
                    .at(70)
                    .and_tool("Bash", serde_json::json!({"command": "echo wall", "description": "wall"})),
                write("basin/gate.txt", "half a gate\n").at(78),
                bash("echo 'gate hinge 3 of Polruan is missing'").at(92),
            ],
        )
        .hand_over()
        .know(facts![
            newest("add a basin to the harbour of Polruan", &["how is the harbour of Polruan built?"]),
            "First the wall of Lanteglos, then the gate, then the lights.",
            "basin/gate.txt",
            "gate hinge 3 of Polruan is missing",
        ])
        .lies(facts![line_leads("how is the harbour of Polruan built?", "add a basin to the harbour")])
}

fn finished_and_open_todos() -> Case {
    case("finished_and_open_todos")
        .prompt(
            "restore the organ of Crowcombe, stop by stop",
            [
                plan(&[
                    "Clean the pipes of Bagborough",
                    "Tune the reeds of Elworthy",
                    "Oil the bellows of Flaxpool",
                ]),
                mark("completed", &[1]),
                mark("in_progress", &[2]),
                bash("echo tuning"),
                say("Two stops are tuned.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            "Tune the reeds of Elworthy",
            open_todo("Tune the reeds of Elworthy"),
            "Oil the bellows of Flaxpool",
            "Two stops are tuned.",
        ])
        .lies(facts![open_todo("Clean the pipes of Bagborough")])
}

/// Long prompts, many to-dos, many files and a long answer: far more than the budget of a brief.
fn more_than_fits() -> Case {
    let filler =
        "It has three rooms, a cellar, and a garden that nobody has entered since the winter. ".repeat(6);
    let long = (1..=25).map(|n| {
        let rule = if n == 4 { "From now on every label carries the seal of Tewkesbury. " } else { "" };
        (
            format!("describe house {n} of Pershore. {rule}{filler}House {n} ends here."),
            format!("House {n} is described. {filler}"),
        )
    });
    let subjects: Vec<String> = (1..=60).map(|n| format!("Number house {n} of Bredon")).collect();
    let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
    let files = |from: u32| {
        (from..from + 40).fold(say(""), |reply, n| {
            let more = write(&format!("houses/house-{n}.txt"), "described\n");
            more.tools.into_iter().fold(reply, |reply, (name, input)| reply.and_tool(name, input))
        })
    };
    case("more_than_fits")
        .talk("we describe all houses between Pershore and Upton", "I am ready.")
        .step(Step::Resume(long.collect()))
        .prompt(
            "number the houses, and put the deeds of Hanley Castle into deeds.txt",
            [
                plan(&subjects),
                mark("completed", &[1, 2, 3]),
                mark("in_progress", &[4]),
                files(1),
                files(41),
                say(format!(
                    "{}\n\nDo the deeds of Hanley Castle go before the mill of Ripple (A) or behind it (B)?",
                    filler.repeat(6)
                ))
                .at(84),
            ],
        )
        .hand_over()
        .know(facts![
            newest(
                "number the houses, and put the deeds of Hanley Castle into deeds.txt",
                &["describe house 25 of Pershore", "we describe all houses"]
            ),
            "Do the deeds of Hanley Castle go before the mill of Ripple (A) or behind it (B)?",
            awaited(),
            open_todo("Number house 4 of Bredon"),
            open_todo("Number house 5 of Bredon"),
            "houses/house-80.txt",
            "describe house 25 of Pershore.",
            "we describe all houses between Pershore and Upton",
        ])
        .reach(facts![
            reachable("From now on every label carries the seal of Tewkesbury."),
            reachable("describe house 9 of Pershore."),
            reachable("House 17 is described."),
            reachable("Number house 60 of Bredon"),
            reachable("houses/house-1.txt"),
            names_transcript(),
        ])
        .lies(facts![broken_frame(), too_long(), open_todo("Number house 2 of Bredon")])
}
