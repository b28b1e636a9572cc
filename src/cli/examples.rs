//! Examples of verbs, for their manual pages.

/// A verb, and its examples: a command line, and what it does.
type VerbExamples = (&'static str, &'static [(&'static str, &'static str)]);

/// The verbs that have examples.
pub(super) const EXAMPLES: &[VerbExamples] = &[
    (
        "",
        &[
            ("hopty", "Run Claude Code in this directory, supervised."),
            ("hopty --model opus \"Fix the build\"", "The same with options and a first prompt of Claude's."),
            ("hopty --name \"Fix the parser\"", "Name the conversation, and the session fix-the-parser."),
            ("hopty --handoff", "Start from the handoff that waits in this directory."),
            ("hopty ls", "List sessions, those that wait for you first."),
            ("hopty attach", "Attach this terminal to a session."),
        ],
    ),
    (
        "run",
        &[
            ("hopty run -- vim notes.txt", "Keep vim when the terminal closes."),
            (
                "hopty run --name api --detached -- claude \"Run the tests\"",
                "Start a named session in the background.",
            ),
        ],
    ),
    (
        "rename",
        &[
            ("hopty rename rocket saturn", "Call session rocket saturn from now on."),
            ("hopty rename saturn", "Rename the session of this directory."),
        ],
    ),
    (
        "label",
        &[
            ("hopty label rocket work", "Give session rocket the label work."),
            ("hopty label rocket +api -work", "Add one label and remove another."),
            ("hopty label rocket", "Print its labels."),
        ],
    ),
    (
        "ls",
        &[
            ("hopty ls --watch", "Refresh the list every two seconds."),
            ("hopty ls --all", "Include ended sessions."),
            ("hopty ls --format '{name}: {state} {context}'", "One line for each session, for a script."),
            (
                "hopty ls --json | jq -r '.[] | select(.state == \"blocked\") | .name'",
                "Names of the blocked sessions.",
            ),
        ],
    ),
    ("dash", &[("hopty dash", "Watch all sessions; `?` shows the keys.")]),
    (
        "attach",
        &[("hopty attach rocket", "Attach to a session."), ("hopty attach -r rocket", "Only watch it.")],
    ),
    (
        "ask",
        &[
            ("hopty ask rocket \"Which tests fail?\"", "Ask a running session and print the answer."),
            (
                "git diff | hopty ask rocket --stdin --json",
                "Send standard input as the prompt; print JSON with tokens and cost.",
            ),
        ],
    ),
    (
        "record",
        &[
            ("hopty record rocket -o demo.cast", "Record a session from what is on its screen now."),
            ("hopty record rocket --stop", "End the recording."),
            ("hopty record -o make.cast -- make", "Record a program from its start."),
            (
                "hopty record --tape vim.tape -- vim notes.txt",
                "Write what you do as a test for `hopty test`.",
            ),
        ],
    ),
    (
        "test",
        &[
            ("hopty test", "Play the tapes in tests/ and tapes/."),
            ("hopty test login.tape --keep", "Play one tape, and keep its directory."),
            ("hopty test --rerun-failed", "Play again only what failed."),
            ("hopty test --report junit=report.xml", "Write a report for CI."),
        ],
    ),
    (
        "setup",
        &[
            ("hopty setup", "Show the unit, and install it after a yes."),
            ("hopty setup --yes", "Install it without asking, from a script."),
        ],
    ),
    ("answer", &[("hopty answer rocket > answer.md", "Save the last answer, whole.")]),
    (
        "send",
        &[
            ("hopty send rocket \"Go on.\" --submit", "Submit a prompt and report whether Claude took it."),
            ("hopty send rocket --keys ctrl-c", "Press a key."),
            ("hopty send rocket --stdin < notes.txt", "Type a file into the prompt box."),
            (
                "mark=$(hopty send build --mark $'make\\r')",
                "Run a command, and name the moment before its output.",
            ),
            (
                "mark=$(hopty send rocket 'Run the tests.' --submit --mark) && hopty wait rocket \
                 'text=[0-9]+ passed' --since \"$mark\" --timeout 10m",
                "Submit a prompt, and wait for words of its answer.",
            ),
        ],
    ),
    (
        "wait",
        &[
            ("hopty wait rocket idle --timeout 10m", "Wait until Claude has finished."),
            ("hopty wait rocket 'text=[0-9]+ passed'", "Wait until the screen shows a text."),
            (
                "hopty wait build 'text=[0-9]+ passed' --since 118.1.42",
                "The same for a text that was drawn after the mark of `send --mark`.",
            ),
            (
                "hopty wait rocket blocked && notify-send 'rocket needs you'",
                "Run a command when it needs you.",
            ),
        ],
    ),
    (
        "screen",
        &[
            ("hopty screen rocket", "Print the screen as text."),
            ("hopty screen rocket --svg > rocket.svg", "Save it as an SVG image."),
        ],
    ),
    ("restart", &[("hopty restart rocket --wait", "Hand over to a fresh conversation and wait for it.")]),
    ("back", &[("hopty back rocket", "Return to the conversation before the last hand-over.")]),
    (
        "stop",
        &[
            ("hopty stop rocket", "End a session."),
            ("hopty stop --all", "End every session, after asking you."),
            ("hopty stop --all --yes", "End every session without asking, from a script."),
        ],
    ),
    (
        "rm",
        &[
            ("hopty rm rocket", "Remove an ended session, with its journal."),
            ("hopty rm rocket parser", "Remove two."),
        ],
    ),
    (
        "restore",
        &[
            ("hopty restore --dry-run", "List the sessions that died with the machine."),
            ("hopty restore", "Resume them, each in its own directory."),
            ("hopty restore rocket", "Resume an ended session, whatever ended it."),
        ],
    ),
    ("prune", &[("hopty prune --older 24h", "Remove sessions that ended more than a day ago.")]),
    (
        "play",
        &[
            ("hopty play build.cast --idle 2s", "Play a recording with its pauses cut to 2 seconds."),
            ("hopty play build.cast --from /FAILED/", "Start where a text appears on the screen."),
            ("hopty play build.cast --at 1:20", "Print the screen at a time."),
            (
                "hopty play build.cast -o build.svg --to 0:30",
                "Make an animated image of the first 30 seconds.",
            ),
            ("hopty play build.cast -o build.html", "Make a page with a scrubber."),
        ],
    ),
    ("events", &[("hopty events rocket --follow | jq -r .sentence", "Follow a session's decisions.")]),
    (
        "conversations",
        &[
            ("hopty conversations ls --all", "List the conversations of all projects."),
            ("hopty conversations search 'deadlock|race' -i", "Find where something was said."),
        ],
    ),
    (
        "usage",
        &[
            ("hopty usage", "Show the last 30 days, with a chart."),
            ("hopty usage --by project --since 7d", "Show which projects used most in the last week."),
            ("hopty usage --by model --all --json", "Show what each model used, as JSON."),
        ],
    ),
    (
        "conversations archive",
        &[
            (
                "hopty conversations archive --dry-run",
                "List what would be archived, and when Claude deletes conversations.",
            ),
            ("hopty conversations archive --older-than 60d --remove", "Archive and remove old ones."),
            ("hopty conversations archive --list", "List the archive."),
        ],
    ),
    (
        "conversations restore",
        &[("hopty conversations restore 3f2a", "Bring an archived conversation back.")],
    ),
    (
        "conversations move",
        &[
            ("hopty conversations move 3f2a --to ~/work/api", "Move one conversation."),
            (
                "hopty conversations move --from ~/work/old-name --to ~/work/new-name",
                "Move the conversations of a directory that you renamed.",
            ),
        ],
    ),
    (
        "conversations copy",
        &[(
            "hopty conversations copy 3f2a --to ~/work/api",
            "Continue the same conversation in two directories.",
        )],
    ),
    (
        "conversations export",
        &[
            ("hopty conversations export 3f2a -o parser.tar.gz", "Write a conversation to a file."),
            ("hopty conversations export 3f2a --redact > parser.tar.gz", "Replace the secrets in it."),
        ],
    ),
    (
        "conversations import",
        &[
            ("hopty conversations import parser.tar.gz --to ~/work/parser", "Import it into a directory."),
            (
                "ssh build hopty conversations export 3f2a | hopty conversations import - --to .",
                "Bring a conversation over from another machine.",
            ),
        ],
    ),
    (
        "backup",
        &[
            ("hopty backup create", "Back up conversations, handoffs, settings and the archive."),
            ("hopty backup create today.age --passphrase", "Encrypt the backup with a passphrase."),
            ("hopty backup restore today.tar.gz --dry-run", "List what a restore would do."),
        ],
    ),
    (
        "conversations show",
        &[
            ("hopty conversations show 3f2a", "Read a conversation; a prefix of its id is enough."),
            ("hopty conversations show \"Fix the parser\" --html > parser.html", "Make a page to share."),
        ],
    ),
    (
        "handoff",
        &[
            ("hopty handoff create", "Save a handoff of this directory's conversation."),
            ("hopty handoff list", "List handoffs."),
        ],
    ),
    (
        "config",
        &[
            ("hopty config init", "Write a configuration file that explains every key."),
            ("hopty config", "Show what is in force here, and the source of each value."),
        ],
    ),
    (
        "detach",
        &[
            ("hopty detach rocket", "Detach all terminals; the session keeps running."),
            ("hopty detach --all", "Detach the terminals of every session."),
        ],
    ),
    ("mark", &[("hopty mark rocket \"tests pass\"", "Put a marker into the recording of a session.")]),
    (
        "replay",
        &[("hopty replay journal.jsonl", "Check that the events of a journal lead to its decisions.")],
    ),
    (
        "screen-dump",
        &[("cat typescript | hopty screen-dump --ansi", "Show what a terminal has after these bytes.")],
    ),
    (
        "status",
        &[
            ("hopty status rocket", "Show a session in full."),
            ("hopty status rocket --json | jq .context", "Its context usage, for a script."),
        ],
    ),
    ("log", &[("hopty log rocket --follow", "Watch what hopty decides in a session.")]),
    ("why", &[("hopty why rocket", "Explain what a session waits for.")]),
    (
        "context",
        &[
            ("hopty context rocket --explain", "Show where each number comes from."),
            ("hopty context --status", "Print one word for this conversation, for a script."),
        ],
    ),
    ("channel", &[("hopty channel", "Show the channel of this directory's handoffs.")]),
    ("check", &[("hopty check", "Find what is missing; exit code 1 if something is.")]),
    ("man", &[("hopty man --roff > hopty.1", "Write the manual page for your man path.")]),
    ("unsetup", &[("hopty unsetup", "Restore no sessions at login any more.")]),
    ("version", &[("hopty version", "Print both versions, for a bug report.")]),
    ("demo", &[("hopty demo", "See a hand-over without an account.")]),
    (
        "completions",
        &[("source <(hopty completions bash)", "Complete verbs and session names in this shell.")],
    ),
];
