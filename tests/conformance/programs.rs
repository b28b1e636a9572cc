//! Real programs, driven by the same keys.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use hopty::core::terminal::Size;

use super::case::{Case, Stage, world};
use super::emulator::View;
use super::needs;
use super::support::world::World;

/// A text with long lines, wide characters, tabs and control characters.
fn text(world: &World) {
    let mut text =
        String::from("first line\ttab\n漢字 wide, e\u{301} combined, 👍🏽 and \u{1}\u{7f} control\n");
    for n in 3..=200 {
        text.push_str(&format!("line {n} {}\n", "word ".repeat(n % 40)));
    }
    std::fs::write(world.project.join("text"), text).unwrap();
}

/// That vim is back at the bottom line with nothing to say.
fn vim_is_ready(stage: &Stage, row: &str) {
    stage.outer.wait_rows("vim's ruler", |rows| rows.last().is_some_and(|last| last.contains(row)));
}

#[test]
fn vim() {
    let Some(vim) = needs("vim") else { return };
    let world = world();
    // Its questions to the terminal are answered while it draws, so the order of its bytes is a matter of
    // timing.
    Case::new(&world, &[vim, "-u", "NONE", "-i", "NONE", "-N", "--cmd", "set ruler nomore mouse=a", "text"])
        .prepare(&text)
        .pictures()
        .run(|stage| {
            // An answer that comes between its first picture and its first wait makes vim wipe the ruler
            // again.
            stage.wait_text("200L");
            stage.outer.wait_quiet();
            stage.send("\x0c");
            vim_is_ready(stage, "1,1");
            stage.look("at the start");
            stage.send("100Gofünf 漢\x1b");
            vim_is_ready(stage, "101,");
            stage.look("after typing");
            stage.send(":syntax on | set number hlsearch\r/line 12\r");
            vim_is_ready(stage, "121,1");
            stage.look("numbers and a search");
            stage.send(":vsplit | normal gg\r");
            stage.outer.wait_rows("two windows", |rows| rows[0].contains('|') && rows[0].contains("first"));
            stage.look("two windows");
            stage.send(":wq!\r:q!\r");
        });
}

/// Without them, no answer can come so late that the shell below vim gets it.
const NO_QUESTIONS: &str = "set ruler nomore t_RV= t_RB= t_RF= t_RC= t_RS= t_u7=";

#[test]
fn vim_in_its_own_shell_and_back() {
    let Some(vim) = needs("vim") else { return };
    let world = world();
    Case::new(&world, &[vim, "-u", "NONE", "-i", "NONE", "-N", "--cmd", NO_QUESTIONS, "text"])
        .prepare(&text)
        .pictures()
        .run(|stage| {
            vim_is_ready(stage, "1,1");
            stage.send(":!echo in$((1))side; stty -a\r");
            stage.wait_text("in1side");
            stage.wait_text("Press ENTER");
            stage.look("outside");
            stage.send("\r");
            vim_is_ready(stage, "1,1");
            stage.look("back");
            stage.send(":cq 3\r");
        });
}

#[test]
fn less() {
    let Some(less) = needs("less") else { return };
    let world = world();
    Case::new(&world, &[less, "text"]).prepare(&text).run(|stage| {
        stage.wait_text("first line");
        stage.outer.wait_rows("the prompt", |rows| rows[23] == "text");
        stage.look("at the start");
        stage.send(" ");
        stage.wait_text("line 25");
        stage.send("/line 77\r");
        stage
            .outer
            .wait_rows("what was looked for", |rows| rows[0].starts_with("line 77") && rows[23] == ":");
        stage.send("-S\r");
        stage.outer.wait_rows("lines that are cut", |rows| rows[1].ends_with('>') && rows[23] == ":");
        stage.look("further on, cut");
        stage.send("G");
        stage.outer.wait_rows("the end", |rows| rows[23].contains("(END)"));
        stage.look("the end");
        stage.send("q");
    });
}

#[test]
fn less_in_a_pipe_reads_its_keys_from_the_terminal() {
    let Some(_) = needs("less") else { return };
    let world = world();
    Case::script(&world, "seq 1 500 | less; exit 4").run(|stage| {
        stage.outer.wait_rows("the prompt", |rows| rows[23] == ":");
        stage.send("G");
        stage.outer.wait_rows("the end", |rows| rows[23].contains("(END)"));
        stage.send("q");
    });
}

#[test]
fn nano() {
    let Some(nano) = needs("nano") else { return };
    let world = world();
    Case::new(&world, &[nano, "--ignorercfiles", "text"]).prepare(&text).pictures().run(|stage| {
        stage.wait_text("^X Exit");
        stage.wait_text("first line");
        stage.look("at the start");
        stage.send("abc\x1b[B\x1b[B\x0b");
        stage.outer.wait_rows("what was typed", |rows| rows.iter().any(|row| row.starts_with("abcfirst")));
        stage.look("after typing");
        stage.send("\x17line 50\r");
        stage.wait_text("line 50 word");
        stage.look("found");
        stage.send("\x18");
        stage.wait_text("Save modified buffer");
        stage.send("n");
    });
}

#[test]
fn fzf() {
    let Some(_) = needs("fzf") else { return };
    let world = world();
    // While it reads its input it draws as often as time allows.
    Case::script(&world, "seq 1 1000 | fzf --multi --prompt 'which> '").pictures().run(|stage| {
        stage.wait_text("1000/1000");
        stage.look("everything");
        stage.send("77");
        stage.wait_text("28/1000");
        stage.look("some");
        stage.send("\t\x1b[A");
        stage.wait_text("(1)");
        stage.look("one is chosen");
        stage.send("\r");
    });
}

#[test]
fn fzf_below_the_prompt_asks_where_the_cursor_is() {
    let Some(_) = needs("fzf") else { return };
    let world = world();
    Case::script(&world, "seq 1 5; seq 1 100 | fzf --height 10 --layout reverse; exit 7").pictures().run(
        |stage| {
            stage.wait_text("100/100");
            stage.look("everything");
            stage.send("\x1b");
        },
    );
}

/// Two panels on directories whose times are fixed; what tells of the disk is off.
fn panels(world: &World) {
    let ini = world.home.join(".config/mc");
    std::fs::create_dir_all(&ini).unwrap();
    std::fs::write(ini.join("ini"), "[Layout]\nmessage_visible=false\nfree_space=false\n").unwrap();
    text(world);
    std::fs::create_dir(world.project.join("directory")).unwrap();
    for path in [
        world.project.join("text"),
        world.project.join("directory"),
        world.project.clone(),
        world.home.join(".."),
    ] {
        File::open(path)
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
            .unwrap();
    }
}

#[test]
fn mc() {
    let Some(mc) = needs("mc") else { return };
    let world = world();
    Case::new(&world, &[mc, "--nosubshell", "."]).prepare(&panels).pictures().run(|stage| {
        stage.wait_text("10Quit");
        stage.wait_text("directory");
        stage.look("at the start");
        stage.send("\x1bOB\x1bOB");
        stage.outer.wait_rows("the file's line", |rows| rows.iter().skip(18).any(|row| row.contains("text")));
        stage.send("\x1bOR");
        stage.wait_text("first line");
        stage.look("the viewer");
        stage.send("\x1b[21~");
        stage.wait_text("directory");
        stage.look("back");
        stage.send("\x1b[21~");
    });
}

/// Figures and bars change with every look.
fn figures(view: &mut View) {
    view.rows.retain(|row| {
        ["F10", "PID", "Released under", "Press any key"].iter().any(|words| row.contains(words))
    });
}

#[test]
fn htop() {
    let Some(htop) = needs("htop") else { return };
    let world = world();
    Case::new(&world, &[htop, "--delay=100"]).size(Size::cells(120, 40)).mask(figures).pictures().run(
        |stage| {
            stage.wait_text("F10Quit");
            stage.outer.wait_rows("the columns", |rows| {
                rows.iter().any(|row| row.contains("PID") && row.contains("CPU%"))
            });
            stage.look("at the start");
            stage.send("\x1bOP");
            stage.wait_text("Press any key to return");
            stage.look("help");
            stage.send("x");
            stage.wait_text("F10Quit");
            stage.send("q");
        },
    );
}

#[test]
fn bash_with_readline_and_jobs() {
    let Some(bash) = needs("bash") else { return };
    let world = world();
    // The shell's own words about jobs name no process, so the bytes can be compared.
    Case::new(&world, &[bash, "--norc", "--noprofile", "-i"]).run(|stage| {
        let prompt = |stage: &Stage, count: usize| {
            let at_end =
                |rows: &[String]| rows.iter().filter(|row| row.starts_with("bash-")).count() == count;
            stage.outer.wait_rows("the prompt", at_end);
            stage.outer.wait_rows("the prompt", |rows| {
                rows.iter()
                    .rfind(|row| !row.is_empty())
                    .is_some_and(|row| row.ends_with('$') || row.ends_with('#'))
            });
        };
        prompt(stage, 1);
        stage.look("the prompt");
        stage.send("echo wrong\x01echo right; #\r");
        stage.wait_text("right");
        prompt(stage, 2);
        stage.send("sleep 100\r");
        stage.outer.wait_rows("the command", |rows| rows.iter().any(|row| row.ends_with("sleep 100")));
        super::support::wait_for("the job", || foreground_is(stage, "sleep"));
        stage.send("\x1a");
        stage.wait_text("Stopped");
        prompt(stage, 3);
        stage.send("jobs; fg\r");
        super::support::wait_for("the job", || foreground_is(stage, "sleep"));
        stage.send("\x03");
        prompt(stage, 4);
        stage.send("echo $? $LINES $COLUMNS; ec");
        stage.send("\t");
        stage.outer.wait_rows("the completion", |rows| rows.iter().any(|row| row.ends_with("; echo")));
        stage.send("\r");
        prompt(stage, 5);
        stage.look("after the jobs");
        stage.send("exit 9\r");
    });
}

/// Whether a program of this name has the terminal that the program under test runs in.
fn foreground_is(stage: &Stage, name: &str) -> Option<()> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", stage.program())).ok()?;
    let group = stat.rsplit_once(") ")?.1.split(' ').nth(5)?.to_owned();
    let comm = std::fs::read_to_string(Path::new("/proc").join(group).join("comm")).ok()?;
    (comm.trim() == name).then_some(())
}
