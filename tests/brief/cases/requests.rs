//! What the person wants: the newest request, the older ones, steering, interrupts, pastes, constraints.

use super::kit::*;

pub fn all() -> Vec<Case> {
    vec![
        hi_then_a_long_task(),
        forget_that(),
        go_on(),
        steering_in_mid_turn(),
        two_steerings(),
        interrupted(),
        interrupted_while_it_streams(),
        paste_with_a_task_around_it(),
        prompt_of_20000_characters(),
        standing_constraints(),
        two_hundred_prompts(),
        letters_of_all_kinds(),
        draft_in_the_box(),
        queued_prompt(),
    ]
}

/// Twenty-four numbered requirements, about 3,000 characters.
fn requirements() -> String {
    const WORDS: [&str; 24] = [
        "Zephyrine", "Bolderwood", "Cinderpath", "Dovecote", "Elmsworth", "Foxglove", "Greywether",
        "Hartlepool", "Inchcape", "Jessamine", "Kettlewell", "Lambourn", "Mistletoe", "Netherby",
        "Oakhampton", "Penhallow", "Quantock", "Rosemarket", "Silverdale", "Thistledown", "Underhill",
        "Vellacott", "Wolverton", "Yarmouth",
    ];
    let mut text =
        "Build the observatory's data service after this list, each point in a module of its own:".to_owned();
    for (n, word) in WORDS.iter().enumerate() {
        let n = n + 1;
        text.push_str(&format!(
            "\n{n}. The {word} channel keeps its readings for {n} days, rejects what is late by a minute, \
             and logs it."
        ));
    }
    text
}

fn hi_then_a_long_task() -> Case {
    const SMALL: [&str; 8] = [
        "start with the Quillfeather parser, please",
        "is the Oxlip decoder covered by a test?",
        "rename the flag to --harrowgate",
        "use UTC everywhere, as in Saltmarsh",
        "the README needs a line on Tansy",
        "no new dependencies besides Umberlee",
        "what does the Wychwood table cost us?",
        "fine, leave Yaxley as it is",
    ];
    let mut of = case("hi_then_a_long_task")
        .talk("hi", "Hello. What shall we do?")
        .talk(requirements(), "Understood, 24 points.");
    for small in SMALL {
        of = of.talk(small, "Done.");
    }
    of.prompt(
        "finish the telemetry service Ombrelune",
        [say("The service answers; its flush interval is still to be set.").at(93)],
    )
    .hand_over()
    .know(facts![
        newest("finish the telemetry service Ombrelune", &["Zephyrine", "Quillfeather", "Yaxley"]),
        "Build the observatory's data service",
        "24. The Yarmouth channel keeps its readings for 24 days",
        SMALL[0],
        SMALL[1],
        SMALL[2],
        SMALL[3],
        SMALL[4],
        SMALL[5],
        SMALL[6],
        SMALL[7],
        "its flush interval is still to be set",
    ])
    .reach(facts![
        reachable("The Greywether channel keeps its readings for 7 days"),
        reachable("The Mistletoe channel keeps its readings for 13 days"),
        reachable("The Silverdale channel keeps its readings for 19 days"),
        names_transcript(),
    ])
    .lies(facts![line_leads("hi", "finish the telemetry service Ombrelune")])
}

fn forget_that() -> Case {
    case("forget_that")
        .prompt(
            "Build the Marrowgate greenhouse controller: sensors first, then valves, then the schedule.",
            [
                plan(&["Wire the Marrowgate sensors", "Open the Marrowgate valves"]),
                say("Planned. I begin with the sensors."),
            ],
        )
        .talk("good, and keep the old protocol", "I will.")
        .prompt(
            "forget that, first fix the leaking roof in tarnholm.py",
            [bash("ls"), say("There is no tarnholm.py here; I look for it in the branches.").at(84)],
        )
        .hand_over()
        .know(facts![
            newest(
                "forget that, first fix the leaking roof in tarnholm.py",
                &["Build the Marrowgate", "Wire the Marrowgate sensors"]
            ),
            "Build the Marrowgate greenhouse controller",
            "keep the old protocol",
            "I look for it in the branches",
        ])
        .lies(facts![
            before("Build the Marrowgate greenhouse controller", "first fix the leaking roof"),
            before("Wire the Marrowgate sensors", "first fix the leaking roof"),
        ])
}

fn go_on() -> Case {
    case("go_on")
        .talk("hello there", "Hello.")
        .talk("migrate the Larkhollow client to async, one file at a time", "I would begin with the pool.")
        .talk("ok", "The pool is migrated.")
        .prompt("continue", [say("The Larkhollow session cache is next: cache_of_larkhollow.py.").at(85)])
        .hand_over()
        .know(facts![
            leads("migrate the Larkhollow client to async, one file at a time", "hello there"),
            "The Larkhollow session cache is next",
            "continue",
        ])
        .reach(facts![reachable("I would begin with the pool."), reachable("The pool is migrated.")])
        .lies(facts![line_leads("hello there", "migrate the Larkhollow client")])
}

fn steering_in_mid_turn() -> Case {
    case("steering_in_mid_turn")
        .talk("what is in this directory?", "Nothing yet.")
        .prompt("build the start page of Wexcombe", [bash(WAITS)])
        .steer(
            "the header must be in German: Kopfzeile Wexcombe",
            [
                write("start.html", "<h1>Kopfzeile Wexcombe</h1>\n"),
                say("The start page stands, Ploverton style.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            "the header must be in German: Kopfzeile Wexcombe",
            newest("build the start page of Wexcombe", &["what is in this directory?"]),
            before("the header must be in German", "The start page stands, Ploverton style."),
            "start.html",
        ])
        .lies(facts![line_leads("what is in this directory?", "build the start page of Wexcombe")])
}

fn two_steerings() -> Case {
    case("two_steerings")
        .prompt("sort the archive of Bletchingley by year", [bash(WAITS)])
        .steer("leave out what is older than Gosforth", [bash(WAITS)])
        .steer("and write a list named pevensey.txt", [bash("echo 1950 > pevensey.txt").at(92)])
        .hand_over()
        .know(facts![
            "sort the archive of Bletchingley by year",
            "leave out what is older than Gosforth",
            "and write a list named pevensey.txt",
            leads("sort the archive of Bletchingley", "echo 1950"),
        ])
}

fn interrupted() -> Case {
    case("interrupted")
        .talk("look at the module Hexworthy", "It has four functions.")
        .prompt("rewrite everything in Cobol, the way Okehampton does it", [bash(WAITS)])
        .step(Step::Interrupt("until [ -e go-on ]"))
        .prompt(
            "no, only rename the module Hexworthy to Dunmere",
            [bash("echo renamed > dunmere.txt"), say("Renamed. The imports are left.").at(84)],
        )
        .hand_over()
        .know(facts![
            newest(
                "no, only rename the module Hexworthy to Dunmere",
                &["rewrite everything in Cobol", "look at the module Hexworthy"]
            ),
            near("rewrite everything in Cobol, the way Okehampton does it", &["interrupt"]),
            "look at the module Hexworthy",
            "The imports are left.",
        ])
        .lies(facts![before("rewrite everything in Cobol", "no, only rename the module Hexworthy")])
}

fn interrupted_while_it_streams() -> Case {
    let tale = "Once upon a time there was a miller at Walberswick.\n\n".repeat(20);
    case("interrupted_while_it_streams")
        .prompt("tell me all tales of Walberswick", [say(tale).streamed_over_ms(30_000)])
        .step(Step::Interrupt("miller at Walberswick"))
        .prompt(
            "only the one of the heron of Blythburgh",
            [say("The heron of Blythburgh stood on one leg.").at(84)],
        )
        .hand_over()
        .know(facts![
            newest("only the one of the heron of Blythburgh", &["tell me all tales of Walberswick"]),
            near("tell me all tales of Walberswick", &["interrupt"]),
            "The heron of Blythburgh stood on one leg.",
        ])
        .lies(facts![before("tell me all tales of Walberswick", "only the one of the heron of Blythburgh")])
}

fn log_of_pellworm() -> String {
    let lines: Vec<String> =
        (1..=60).map(|n| format!("{n:02}:00 pump {n} of Pellworm reports pressure {}", n * 7)).collect();
    lines.join("\n")
}

fn paste_with_a_task_around_it() -> Case {
    case("paste_with_a_task_around_it")
        .talk("good morning", "Good morning.")
        .step(Step::Paste {
            before: "find the first pump over 300 in this log and write it to pellworm.txt: ",
            pasted: log_of_pellworm(),
            after: " but do not restart anything in Hallig",
            replies: vec![bash("echo pump 43 > pellworm.txt"), say("Pump 43 is the first over 300.").at(84)],
        })
        .hand_over()
        .know(facts![
            newest("find the first pump over 300 in this log", &["good morning"]),
            "but do not restart anything in Hallig",
            "Pump 43 is the first over 300.",
        ])
        .reach(facts![
            reachable("31:00 pump 31 of Pellworm reports pressure 217"),
            reachable("60:00 pump 60 of Pellworm reports pressure 420"),
        ])
        .lies(facts![line_leads("good morning", "find the first pump over 300")])
}

fn prompt_of_20000_characters() -> Case {
    let lines: Vec<String> = (1..=250)
        .map(|n| match n {
            1 => "Rule 1 of Ardnamurchan: the gauge is read before the gate is opened, and twice after rain."
                .to_owned(),
            125 => "Rule 125 of Ballachulish: the gauge of the ferry slip is read by hand, never by wire."
                .to_owned(),
            250 => {
                "Rule 250 of Corrieshalloch: whoever closes the gate signs the book with time and weather."
                    .to_owned()
            }
            n => format!(
                "Rule {n}: gate {n} stays shut while the water of gauge {n} is higher than {n} inches.......",
            ),
        })
        .collect();
    case("prompt_of_20000_characters")
        .commit()
        .step(Step::Paste {
            before: "turn these rules into a table in gates.csv, one row a rule: ",
            pasted: lines.join("\n"),
            after: " and begin with the gates of Dalwhinnie",
            replies: vec![
                write("gates.csv", "rule,gate\n1,Ardnamurchan\n"),
                say("The first row is written.").at(84),
            ],
        })
        .hand_over()
        .know(facts![
            "turn these rules into a table in gates.csv",
            "and begin with the gates of Dalwhinnie",
            "gates.csv"
        ])
        .reach(facts![
            reachable("Rule 1 of Ardnamurchan: the gauge is read before"),
            reachable("Rule 125 of Ballachulish: the gauge of the ferry slip"),
            reachable("Rule 250 of Corrieshalloch: whoever closes the gate"),
            names_transcript(),
            names_file("changes.patch"),
            names_file("handoff.md"),
        ])
}

fn standing_constraints() -> Case {
    let between = (1..=28)
        .map(|n| (format!("now gauge {n} of the Tamarack series"), format!("Gauge {n} is done.")))
        .collect();
    case("standing_constraints")
        .talk("never touch config/prod.yaml, it belongs to Gravenor", "I will leave it alone.")
        .talk("answer in German from now on, like in Fallersleben", "Gern.")
        .step(Step::Resume(between))
        .prompt(
            "plot all Tamarack gauges into one chart",
            [bash("echo chart > tamarack.svg"), say("Das Diagramm steht, die Legende fehlt.").at(84)],
        )
        .hand_over()
        .know(facts![
            newest(
                "plot all Tamarack gauges into one chart",
                &["never touch config/prod.yaml", "now gauge 28"]
            ),
            "never touch config/prod.yaml, it belongs to Gravenor",
            "answer in German from now on, like in Fallersleben",
            "now gauge 28 of the Tamarack series",
            "Das Diagramm steht, die Legende fehlt.",
        ])
        .reach(facts![
            reachable("now gauge 3 of the Tamarack series"),
            reachable("now gauge 17 of the Tamarack series")
        ])
}

fn two_hundred_prompts() -> Case {
    let many = (1..=198)
        .map(|n| (format!("take step {n} towards Invergarry"), format!("Step {n} is taken.")))
        .collect();
    case("two_hundred_prompts")
        .talk("we walk from Mallaig, one step a prompt", "I am ready.")
        .step(Step::Resume(many))
        .prompt("and rest at Loch Lomondside", [say("We rest. Tomorrow we go on.").at(93)])
        .hand_over()
        .know(facts![
            newest(
                "and rest at Loch Lomondside",
                &["take step 198 towards Invergarry", "we walk from Mallaig"]
            ),
            "take step 198 towards Invergarry",
            "take step 195 towards Invergarry",
            "we walk from Mallaig, one step a prompt",
            "We rest. Tomorrow we go on.",
        ])
        .reach(facts![
            reachable("take step 1 towards Invergarry"),
            reachable("take step 57 towards Invergarry"),
            reachable("take step 123 towards Invergarry"),
            reachable("take step 180 towards Invergarry"),
        ])
        .lies(facts![before("we walk from Mallaig", "and rest at Loch Lomondside"), too_long()])
}

fn letters_of_all_kinds() -> Case {
    case("letters_of_all_kinds")
        .talk("Füge die Übersicht der Straßenschilder von Zwölfkirchen hinzu", "Gern, mit Bild.")
        .talk("名前は「水無月」にしてください", "水無月にします。")
        .prompt(
            "prüfe zum Schluß die Größe: höchstens 3 µm × 2 €",
            [say("Geprüft: Ærøskøbing ist zu groß.").at(84)],
        )
        .hand_over()
        .know(facts![
            "Füge die Übersicht der Straßenschilder von Zwölfkirchen hinzu",
            "名前は「水無月」にしてください",
            newest("prüfe zum Schluß die Größe: höchstens 3 µm × 2 €", &["Füge die Übersicht", "名前は"]),
            "Geprüft: Ærøskøbing ist zu groß.",
        ])
}

fn draft_in_the_box() -> Case {
    case("draft_in_the_box")
        .talk("make a list of the streets in Cullercoats", "There are twelve.")
        .step(Step::Draft("and leave out those of Wimblestraw"))
        .step(Step::Restart(&["--now"]))
        .know(facts![
            kept_draft("and leave out those of Wimblestraw"),
            "make a list of the streets in Cullercoats",
            "There are twelve.",
        ])
}

fn queued_prompt() -> Case {
    case("queued_prompt")
        .talk("first count the sheep of Swaledale", "There are nine.")
        .prompt("now shear them", [bash(WAITS).at(91)])
        .steer("then dye the wool in Masham blue", [])
        .hand_over()
        .know(facts![
            delivered("then dye the wool in Masham blue"),
            "now shear them",
            newest("now shear them", &["first count the sheep of Swaledale"]),
        ])
}
