//! Claude's question dialog, and background work: the stand-in agent has neither.

use super::kit::*;

const NO_DIALOG: &str = "the stand-in agent has no question dialog";

pub fn all() -> Vec<Case> {
    vec![question_answered(), question_open(), sub_agent_report(), background_shell()]
}

fn question_answered() -> Case {
    case("question_answered")
        .real_only(NO_DIALOG)
        .prompt(
            "paint the shutters of Abbotsinch",
            [ask("Which colour do the shutters of Abbotsinch get?", &["Kestrelblue", "Foxbrown", "Owlgrey"])],
        )
        .step(Step::Choose {
            see: "Which colour do the shutters",
            down: 1,
            replies: vec![say("The shutters are brown, the doors are not.").at(84)],
        })
        .hand_over()
        .know(facts![
            "Which colour do the shutters of Abbotsinch get?",
            chosen("Foxbrown", "Kestrelblue"),
            "paint the shutters of Abbotsinch",
            "The shutters are brown, the doors are not.",
        ])
        .lies(facts![awaited()])
}

fn question_open() -> Case {
    case("question_open")
        .real_only(NO_DIALOG)
        .prompt(
            "plan the ferry of Eriskay",
            [ask(
                "How often does the ferry of Eriskay run?",
                &["Hourly from Barra", "Twice a day", "Only on Uistdays"],
            )],
        )
        .step(Step::See("How often does the ferry"))
        .step(Step::Restart(&["--now"]))
        .know(facts![
            "How often does the ferry of Eriskay run?",
            "Hourly from Barra",
            "Only on Uistdays",
            awaited(),
            "plan the ferry of Eriskay",
        ])
}

fn sub_agent_report() -> Case {
    case("sub_agent_report")
        .real_only("the stand-in agent has no sub-agents")
        .step(Step::SubagentSays("I found the bell of Cattistock in lane 7."))
        .talk("we look for bells today", "Good.")
        .prompt(
            "let somebody find the bell of Cattistock",
            [
                hopty::standin::script::ScriptedReply::tool(
                    "Agent",
                    serde_json::json!({"description": "find the bell",
                        "prompt": "Find the bell of Cattistock.", "subagent_type": "general-purpose"}),
                ),
                say("Somebody looks for it."),
                say("The bell hangs in lane 7."),
            ],
        )
        .prompt(
            "good, then ring it twice for Evershot",
            [bash("echo ring ring"), say("It rang twice.").at(84)],
        )
        .hand_over()
        .know(facts![
            newest(
                "good, then ring it twice for Evershot",
                &["let somebody find the bell of Cattistock", "we look for bells today"]
            ),
            "let somebody find the bell of Cattistock",
            "It rang twice.",
        ])
        .reach(facts![reachable("I found the bell of Cattistock in lane 7.")])
        .lies(facts![
            "task-notification",
            before("I found the bell of Cattistock", "good, then ring it twice")
        ])
}

fn background_shell() -> Case {
    let watch = "until [ -e gloamwatch-ends ]; do sleep 0.2; done";
    case("background_shell")
        .real_only("the stand-in agent has no background shells")
        .step(Step::Set("HOPTY_RESTART_WORK_WAIT", "1s"))
        .prompt(
            "start the watch of Gloamwatch and leave it running",
            [
                hopty::standin::script::ScriptedReply::tool(
                    "Bash",
                    serde_json::json!({"command": watch, "description": "watch Gloamwatch",
                        "run_in_background": true}),
                ),
                say("The watch runs; I will look at it when the tide turns.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            "gloamwatch-ends",
            near("gloamwatch-ends", &["running", "background"]),
            "start the watch of Gloamwatch and leave it running",
            "I will look at it when the tide turns.",
        ])
}
