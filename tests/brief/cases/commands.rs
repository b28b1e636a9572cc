//! What is not the person's: slash commands, shell commands, summaries; and what outlives them.

use super::kit::*;

pub fn all() -> Vec<Case> {
    vec![compacted(), resumed(), cleared_after_a_hand_over(), slash_and_shell_commands(), unknown_command()]
}

fn compacted() -> Case {
    case("compacted")
        .talk("survey the moor of Wheddon, stone by stone", "There are forty stones.")
        .talk("never move a stone of Exford", "I will not.")
        .step(Step::Compact)
        .prompt(
            "now draw the map of Wheddon",
            [write("map.txt", "forty stones\n"), say("The map lacks its north.").at(84)],
        )
        .hand_over()
        .know(facts![
            newest(
                "now draw the map of Wheddon",
                &["survey the moor of Wheddon", "A summary of the work so far"]
            ),
            "survey the moor of Wheddon, stone by stone",
            "never move a stone of Exford",
            "The map lacks its north.",
        ])
        .lies(facts![
            "<local-command",
            "<command-name>",
            before("This session is being continued", "now draw the map of Wheddon")
        ])
}

fn resumed() -> Case {
    case("resumed")
        .talk("translate the charter of Luccombe", "Into which language?")
        .talk("into Cornish, please, and keep the seal of Selworthy", "I begin with the preamble.")
        .step(Step::Resume(Vec::new()))
        .prompt("where were we?", [say("The preamble of Luccombe is done; article 2 comes next.").at(84)])
        .hand_over()
        .know(facts![
            "translate the charter of Luccombe",
            "into Cornish, please, and keep the seal of Selworthy",
            "where were we?",
            "article 2 comes next",
        ])
        .reach(facts![reachable("I begin with the preamble.")])
}

fn cleared_after_a_hand_over() -> Case {
    case("cleared_after_a_hand_over")
        .prompt(
            "drain the fen of Wicken",
            [
                plan(&["Dig the lode of Burwell", "Raise the bank of Reach"]),
                mark("in_progress", &[1]),
                say("The lode is begun."),
            ],
        )
        .restart()
        .step(Step::Clear)
        .prompt(
            "write a song about Upware",
            [bash("echo la la > upware.txt"), say("The first verse stands; the refrain is missing.").at(84)],
        )
        .hand_over()
        .know(facts![
            "write a song about Upware",
            leads("write a song about Upware", "drain the fen of Wicken"),
            "the refrain is missing",
            "upware.txt",
        ])
        .lies(facts![
            before("drain the fen of Wicken", "write a song about Upware"),
            open_todo("Dig the lode of Burwell"),
            open_todo("Raise the bank of Reach"),
            own_prompt(),
        ])
}

fn slash_and_shell_commands() -> Case {
    case("slash_and_shell_commands")
        .real_only("the stand-in agent has neither /cost nor a shell mode")
        .talk("measure the well of Snodland", "It is nine metres deep.")
        .step(Step::Panel("/cost", "Estimated cost"))
        .step(Step::Shell("!echo water-of-Halling", "The water of Halling, I see."))
        .prompt("then measure the well of Cuxton", [say("Cuxton is deeper: eleven metres.").at(84)])
        .hand_over()
        .know(facts![
            newest("then measure the well of Cuxton", &["measure the well of Snodland", "water-of-Halling"]),
            "measure the well of Snodland",
            "Cuxton is deeper: eleven metres.",
        ])
        .lies(facts![
            "<local-command",
            "<command-name>",
            "<bash-stdout>",
            "Estimated cost",
            before("water-of-Halling", "then measure the well of Cuxton"),
        ])
}

fn unknown_command() -> Case {
    case("unknown_command")
        .talk("tile the floor of Ditcheat", "In which pattern?")
        .step(Step::Command("/wibblesnap", "nknown command"))
        .prompt("herringbone, as in Evercreech", [say("The first row of Ditcheat is laid.").at(84)])
        .hand_over()
        .know(facts![
            newest("herringbone, as in Evercreech", &["tile the floor of Ditcheat"]),
            "tile the floor of Ditcheat",
            "In which pattern?",
            "The first row of Ditcheat is laid.",
        ])
        .lies(facts!["wibblesnap", "<local-command"])
}
