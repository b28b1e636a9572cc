//! What is done in each program.

use super::super::live::Live;
use super::super::support::world::World;

pub fn vim(world: &World) -> Live<'_> {
    let mut live = Live::shell(world, "vim", "vim -u NONE -i NONE -N --cmd 'set ruler nomore mouse=a' text");
    live.outer().wait_text("first line");
    live.type_for("\x0c", "1,1");
    live.state("at the start");
    live.type_for("100Gofünf 漢", "INSERT");
    live.state("while typing");
    live.type_for("\x1b:syntax on | set number hlsearch\r/line 12\r", "121,1");
    live.state("numbers and a search");
    live.type_for(":vsplit | normal gg\r", "first");
    live.state("two windows");
    live.move_to((100, 30));
    live.type_for("\x0cv3j", "VISUAL");
    live.state("a selection, in another size");
    live.type_for("\x1b:!echo in$((1))side\r", "Press ENTER");
    live.state("its shell");
    live
}

pub fn less(world: &World) -> Live<'_> {
    let mut live = Live::shell(world, "less", "less text");
    live.outer().wait_text("first line");
    live.state("at the start");
    live.type_for("/line 77\r", "line 77");
    live.state("found");
    live.type_for("-S\r", ">");
    live.state("cut lines");
    live.type_for("G", "(END)");
    live.state("the end");
    live.type_for("h", "SUMMARY OF LESS COMMANDS");
    live.state("help");
    live.move_to((61, 17));
    live.state("in another size");
    live
}

pub fn nano(world: &World) -> Live<'_> {
    let mut live = Live::shell(world, "nano", "nano --ignorercfiles --softwrap --linenumbers text");
    live.outer().wait_text("^X Exit");
    live.state("at the start");
    live.type_for("abc\x1b[B\x1b[B\x0b漢字", "漢字");
    live.state("after typing");
    live.type_for("\x17", "Search:");
    live.type_for("line 50\r", "line 50 word");
    live.state("found");
    live.type_for("\x07", "Main nano help text");
    live.state("help");
    live.type_for("\x18\x18", "Save modified buffer");
    live.state("a question");
    live
}

pub fn fzf(world: &World) -> Live<'_> {
    let list = "seq -f 'item %g' 1 1000";
    let line = format!(
        "{list} | fzf --multi --prompt 'which> ' --preview 'seq {{2}}' --border --color=dark; {list} | fzf \
         --height 10"
    );
    let mut live = Live::shell(world, "fzf", &line);
    live.outer().wait_text("1000/1000");
    live.state("everything");
    live.type_for("77", "28/1000");
    live.state("some");
    live.type_for("\t\x1b[A", "(1)");
    live.state("one is chosen");
    live.outer().send(b"\r");
    live.outer().wait_rows("a list below the prompt", |rows| {
        rows.iter().any(|row| row.contains("1000/1000") && !row.contains("(1)"))
    });
    live.state("below the prompt");
    live.type_for("999", "1/1000");
    live.state("below the prompt, one");
    live
}

pub fn mc(world: &World) -> Live<'_> {
    std::fs::create_dir(world.project.join("directory")).unwrap();
    let ini = world.home.join(".config/mc");
    std::fs::create_dir_all(&ini).unwrap();
    std::fs::write(ini.join("ini"), "[Midnight-Commander]\nuse_internal_edit=true\n").unwrap();
    let mut live = Live::shell(world, "mc", "mc --nosubshell .");
    live.outer().wait_text("10Quit");
    live.state("at the start");
    live.type_for("\x1b[20~\x1bOB", "Listing format");
    live.state("a menu");
    live.outer().send(b"\x1b\x1b\x1bOB\x1bOB");
    live.outer().wait_rows("no menu", |rows| !rows.iter().any(|row| row.contains("Listing format")));
    live.type_for("\x1bOR", "first line");
    live.state("the viewer");
    live.type_for("\x1b[21~\x1bOS", "first line");
    live.state("the editor");
    live.type_for("\x1b[21~\x1b[15~", "[ Cancel ]");
    live.state("a dialog");
    live.move_to((100, 30));
    live.outer().wait_text("[ Cancel ]");
    live.state("in another size");
    live
}

pub fn htop(world: &World) -> Live<'_> {
    let mut live = Live::shell(world, "htop", "htop --delay=100");
    live.outer().wait_text("F10Quit");
    live.state("at the start");
    live.type_for("t", "F5List");
    live.state("a tree");
    live.type_for("\x1bOQ", "For current screen tab");
    live.state("setup");
    live.move_to((132, 43));
    live.outer().wait_text("For current screen tab");
    live.state("in another size");
    live.type_for("\x1b[21~", "F5List");
    live.type_for("\x1bOP", "Press any key to return");
    live.state("help");
    live
}

/// The server writes to the terminal itself, and has a clock unless told otherwise.
pub fn tmux(world: &World) -> Live<'_> {
    let settings = "set -g status-right ''\nset -g status-interval 0\nset -g mouse on\nset -g set-titles on\n\
        set -g assume-paste-time 0\nset -g automatic-rename off\nset -g set-titles-string inside\nset -g \
        default-shell /bin/sh\n\
        bind 1 split-window -h 'ls -l --color; printf \"\\033[1;3;4;38;5;200mlooks\\033[m\"; cat'\n\
        bind 2 split-window 'less text'\nbind 3 choose-tree\nbind 4 kill-server\n";
    std::fs::write(world.project.join("conf"), settings).unwrap();
    let mut live =
        Live::shell(world, "tmux", "tmux -S sock -f conf new-session -s inside 'echo first; cat'; cat");
    live.outer().wait_text("first");
    live.state("one pane");
    live.type_for("\x021", "looks");
    live.state("two panes");
    live.type_for("\x022", "first line");
    live.state("three panes and a pager");
    live.type_for("\x02?", "Send the prefix key");
    live.state("its keys");
    live.move_to((100, 30));
    live.type_for("q\x023", "inside: 1 windows");
    live.state("its tree, in another size");
    live.type_for("q\x024", "[server exited]");
    live.state("what is below");
    live
}

pub fn screen(world: &World) -> Live<'_> {
    let settings =
        "startup_message off\naltscreen on\ndefutf8 on\nshell /bin/sh\nhardstatus alwayslastline '%n %t'\n";
    std::fs::write(world.project.join("conf"), settings).unwrap();
    let line = "mkdir -m 700 dir; SCREENDIR=$PWD/dir screen -c conf sh -c 'echo first; less text; cat'; cat";
    let mut live = Live::shell(world, "screen", line);
    live.outer().wait_text("first line");
    live.state("a pager");
    live.type_for("q", "first");
    live.state("below it");
    live.type_for("\x01S\x01\t\x01c", "0 sh");
    live.state("two regions");
    live.type_for("\x01:quit\r", "terminating");
    live.state("what is below");
    live
}

pub fn bash(world: &World) -> Live<'_> {
    std::fs::write(world.home.join(".inputrc"), "set colored-stats on\nset show-all-if-ambiguous on\n")
        .unwrap();
    let mut live = Live::shell(
        world,
        "bash",
        "PS1='\\[\\e[1;32m\\]two\\nlines\\[\\e[m\\] $ ' bash --norc --noprofile -i",
    )
    .with_rows_above();
    live.outer().wait_text("lines $");
    live.state("the prompt");
    live.type_for("ls -l --color=always --hyperlink=always; printf '\\e[4:3mcurly\\e[m'\r", "curly");
    live.state("colours and links");
    live.type_for(
        "seq -f 'a long line that runs over the edge of the terminal and goes on behind it, %g' 1 30; echo \
         $((40+2))\r",
        "42",
    );
    live.state("scrolled");
    live.type_for("echo wrong\x01echo right; #", "echo right; #echo wrong");
    live.state("a line that is edited");
    live.type_for("\x15\x0b\x12seq", "reverse-i-search");
    live.state("a search");
    live.move_to((61, 17));
    live.type_for("\x07\x15cat te\t", "cat text");
    live.state("in another size");
    live
}

/// All that a program can ask of a terminal and alacritty's model keeps.
pub fn looks(world: &World) -> Live<'_> {
    let steps = [
        "for n in 0 1 2 3 4 7 8 9; do printf \"\\033[${n}m look $n \\033[m\"; done; for n in 1 2 3 4 5; do \
         printf \"\\033[4:$n;58:5:${n}m line $n\\033[m\"; done",
        "for n in 31 42 93 104 '38;5;200' '48;2;1;2;3'; do printf \"\\033[${n}mcolour\\033[m \"; done; \
         printf '\\033]8;;http://x/\\033\\\\link\\033]8;;\\033\\\\ \\033]2;title\\007'",
        "printf '\\033[?2004h\\033[?1000h\\033[?1006h\\033[?1004h\\033[?1h\\033=\\033[>1u\\033[>5u\\033[5 q'",
        "printf '\\033[5;15r\\033[?6h\\033[3;3Hin the region\\0337\\033[1;34m'",
        "printf '\\033[?1049h\\033[2J\\033[H\\033(0lqk\\033(B 漢字 e\\314\\201 \
         \\360\\237\\221\\215\\360\\237\\217\\275\\033[?25l\\033[10;80Hx'",
        "printf '\\033[?1049l\\033[r\\033[?25h\\033[24;1Hthe last\\n\\n\\n'",
    ];
    let script = steps.map(|step| format!("{step}; read x")).join("; ");
    let mut live = Live::shell(world, "sequences", &format!("stty -echo; echo begun; {script}; cat"));
    live.outer().wait_text("line 5");
    live.state("looks");
    for (what, text) in [
        ("links", "link"),
        ("modes", "link"),
        ("margins", "in the region"),
        ("the other screen", "漢字"),
        ("back", "the last"),
    ] {
        live.type_for("\r", text);
        live.state(what);
    }
    live
}

pub fn git(world: &World) -> Live<'_> {
    let before = "export LESS=R; git init -q . && git add text && git -c user.name=n -c user.email=e commit \
                  -qm 'a commit' && seq 9 >>text";
    let mut live = Live::shell(
        world,
        "git",
        &format!("{before} && git -c color.ui=always diff; git -c color.ui=always log -p --graph"),
    );
    live.outer().wait_text("diff --git");
    live.state("a difference");
    live.type_for("q", "a commit");
    live.state("a log");
    live.type_for("/line 77\r", "line 77");
    live.state("found");
    live
}

/// Narrower than the terminal: alacritty erases nothing with EL where a full row waits to wrap, and xterm the
/// last column.
pub fn top(world: &World) -> Live<'_> {
    let mut live = Live::shell(world, "top", "top -d 100 -w 78");
    live.outer().wait_text("PID");
    live.state("at the start");
    live.type_for("z1m", "PID");
    live.state("in colours");
    live.type_for("h", "Help for Interactive Commands");
    live.state("help");
    live
}

pub fn watch(world: &World) -> Live<'_> {
    let mut live = Live::shell(world, "watch", "watch -n 100 -t -c 'ls --color=always; seq 5'");
    live.outer().wait_text("5");
    live.state("a look");
    live
}

pub fn man(world: &World) -> Live<'_> {
    let page = ".TH PAGE 1\n.SH NAME\npage \\- a page\n.SH TEXT\n.B bold\n.I italic\nand ".to_owned()
        + &"words ".repeat(900)
        + "\n.SH END\nThe end.\n";
    std::fs::write(world.project.join("page.1"), page).unwrap();
    let mut live = Live::shell(world, "man", "man -l page.1");
    live.outer().wait_text("a page");
    live.state("at the start");
    live.type_for("G", "The end.");
    live.state("the end");
    live
}

pub fn python(world: &World) -> Live<'_> {
    let mut live = Live::shell(world, "python", "python3 -q -i").with_rows_above();
    live.outer().wait_text(">>>");
    live.state("the prompt");
    live.type_for("print('漢字 ' * 50); 1/0\r", "ZeroDivisionError");
    live.state("an error");
    live.type_for("for n in range(2):\r    print(n)", "print(n)");
    live.state("a block");
    live
}
