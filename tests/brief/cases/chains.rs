//! More than one hand-over: what is over goes, what holds stays, and nothing grows.

use super::kit::*;

pub fn all() -> Vec<Case> {
    vec![
        a_new_task_after_a_hand_over(),
        five_hand_overs(),
        unfinished_task_over_two(),
        resumed_after_a_hand_over(),
    ]
}

fn a_new_task_after_a_hand_over() -> Case {
    case("a_new_task_after_a_hand_over")
        .prompt(
            "lay the rails of Oxenholme and test them",
            [
                plan(&["Lay the rails of Oxenholme", "Test the points of Kendal"]),
                mark("in_progress", &[1]),
                write("rails.txt", "laid\n"),
                mark("completed", &[1, 2]),
                say("Both are done; the rails carry."),
            ],
        )
        .talk("reviewed, thank you, that is good", "Glad to hear it.")
        .restart()
        .prompt(
            "a new task: write a changelog for Brimstead",
            [
                write("CHANGES-brimstead.md", "# Brimstead\n"),
                say("The heading stands; version 2 is to be described.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            newest(
                "a new task: write a changelog for Brimstead",
                &["lay the rails of Oxenholme", "reviewed, thank you, that is good"]
            ),
            "CHANGES-brimstead.md",
            "version 2 is to be described",
        ])
        .reach(facts![
            reachable("lay the rails of Oxenholme and test them"),
            reachable("reviewed, thank you, that is good")
        ])
        .lies(facts![
            before("lay the rails of Oxenholme", "write a changelog for Brimstead"),
            open_todo("Lay the rails of Oxenholme"),
            open_todo("Test the points of Kendal"),
            own_prompt(),
        ])
}

fn five_hand_overs() -> Case {
    let round = |of: Case, n: u32, place: &str| {
        of.prompt(
            format!("build bridge {n} over the water of {place}, with a rail on both sides"),
            [
                mark("in_progress", &[n]),
                write(&format!("bridge-{n}.txt"), "a bridge\n"),
                bash(&format!("echo bridge {n} carries the load")),
                mark("completed", &[n]),
                say(format!("Bridge {n} over the water of {place} stands, with both rails.")).at(84),
            ],
        )
        .hand_over()
    };
    let of = case("five_hand_overs").commit().prompt(
        "we build five bridges; never push to origin in Skelwith, and ask before you buy stone",
        [
            plan(&[
                "Build bridge 1 at Elterwater",
                "Build bridge 2 at Colwith",
                "Build bridge 3 at Hawkshead",
                "Build bridge 4 at Grizedale",
                "Build bridge 5 at Satterthwaite",
                "Open all bridges at Rusland",
            ]),
            say("Six points are planned."),
        ],
    );
    // As long as a brief can be from the first one on.
    let sketches = (1..=20).map(|n| {
        let wish = "drawn in ink on paper that outlives the bridge, with the height of the water in spring \
                    and in autumn beside it";
        (
            format!("sketch arch {n} of the bridges, {wish}, and a second one of its foundation, {wish}"),
            format!("Arch {n} is drawn."),
        )
    });
    let of = of.step(Step::Resume(sketches.collect()));
    let places = ["Elterwater", "Colwith", "Hawkshead", "Grizedale", "Satterthwaite"];
    (1..=5)
        .zip(places)
        .fold(of, |of, (n, place)| round(of, n, place))
        .know(facts![
            in_every("never push to origin in Skelwith"),
            "and ask before you buy stone",
            newest(
                "build bridge 5 over the water of Satterthwaite",
                &["build bridge 1 over the water", "build bridge 4 over the water", "we build five bridges"],
            ),
            open_todo("Open all bridges at Rusland"),
            "Bridge 5 over the water of Satterthwaite stands",
            "bridge-5.txt",
            does_not_grow(),
        ])
        .reach(facts![
            reachable("build bridge 1 over the water of Elterwater"),
            reachable("build bridge 3 over the water of Hawkshead"),
            reachable("we build five bridges"),
        ])
        .lies(facts![
            open_todo("Build bridge 1 at Elterwater"),
            open_todo("Build bridge 5 at Satterthwaite"),
            before("we build five bridges", "build bridge 5 over the water"),
            own_prompt(),
        ])
}

fn unfinished_task_over_two() -> Case {
    case("unfinished_task_over_two")
        .prompt(
            "catalogue the books of Chetham, shelf by shelf, in Latin",
            [bash("echo shelf 1 > shelves.txt"), say("Shelf 1 is done, 40 are left.").at(84)],
        )
        .hand_over()
        .prompt(
            "go on",
            [
                bash("echo shelf 2 >> shelves.txt"),
                say("Shelf 2 is done, 39 are left; the folio of Prestwich is torn.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            "catalogue the books of Chetham, shelf by shelf, in Latin",
            "Shelf 2 is done, 39 are left",
            "the folio of Prestwich is torn",
            "shelves.txt",
        ])
        .reach(facts![reachable("Shelf 1 is done, 40 are left.")])
        .lies(facts![own_prompt()])
}

fn resumed_after_a_hand_over() -> Case {
    case("resumed_after_a_hand_over")
        .talk("restore the clock of Wimborne, and leave its dial alone", "The clock stands still.")
        .restart()
        .talk("is the weight of Shapwick heavy enough?", "It is.")
        .step(Step::Resume(Vec::new()))
        .prompt("then wind it up", [bash("echo tick > tock.txt"), say("It ticks, a little slow.").at(84)])
        .hand_over()
        .know(facts![
            newest(
                "then wind it up",
                &["restore the clock of Wimborne", "is the weight of Shapwick heavy enough?"]
            ),
            "restore the clock of Wimborne, and leave its dial alone",
            "is the weight of Shapwick heavy enough?",
            "It ticks, a little slow.",
        ])
        .reach(facts![reachable("The clock stands still.")])
        .lies(facts![own_prompt()])
}
