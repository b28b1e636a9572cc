//! What a program can see of itself. Every difference that shows is a row of `docs/TERMINAL.md`, and every
//! row shows.

use std::collections::{BTreeMap, BTreeSet};

use hopty::core::terminal::Size;
use hopty::standin::script::Script;

use super::case::{Way, world};
use super::needs;
use super::outer::{Answers, Outer};
use super::support::claude::{Kind, hopty};
use super::support::wait_for;
use super::support::world::World;

const PAGE: &str = include_str!("../../docs/TERMINAL.md");

/// Prints one fact a line: what, a tab, how it is. Numbers of processes are told by what they are: they are
/// never the same.
const PROBE: &str = r#"exec 9>"$1"
fact() { printf '%s\t%s\n' "$1" "$2" >&9; }
comm() { cat /proc/$1/comm 2>/dev/null || echo nobody; }
stat() { sed 's/.*) //' /proc/$$/stat | cut -d' ' -f$1; }
same() { [ "$1" = "$2" ] && echo yes || echo no; }
device=$(tty)
fact device "$device"
fact arguments "$(tr '\0' ' ' </proc/$$/cmdline)"
fact executable "$(readlink /proc/$$/exe)"
for link in cwd root ns/cgroup ns/ipc ns/mnt ns/net ns/pid ns/time ns/user ns/uts; do fact $link "$(readlink /proc/$$/$link)"; done
for fd in /proc/$$/fd/*; do
    n=${fd##*/}
    # Above: the shell's own, and where this goes. Neither pipe nor substitution here: they would show; so would a
    # redirection, which dash makes in itself before it forks.
    if [ "$n" -lt 9 ]; then
        printf "descriptor $n\t" >&9
        ( exec readlink "$fd" >&9 )
        ( exec sed -n "s/^\\(pos\\|flags\\):/descriptor $n &/p" /proc/$$/fdinfo/$n >&9 )
    fi
done
for n in 0 1 2; do test -t $n; fact "terminal on $n" $?; done
fact 'parent' "$(comm $(stat 2))"
fact 'leader of its group' "$(same $$ $(stat 3))"
fact 'leader of its session' "$(comm $(stat 4))"
fact 'has a controlling terminal' "$(same 0 $(stat 5))"
fact 'in the foreground' "$(same $$ $(stat 6))"
fact 'the terminal is the controlling one' "$(same "$(ps -o tty= -p $$)" "${device#/dev/}")"
fact 'priority, nice' "$(stat 16,17)"
fact 'real-time priority, policy' "$(stat 38,39)"
for file in limits cgroup oom_score_adj coredump_filter timerslack_ns personality loginuid sessionid setgroups uid_map attr/current; do
    [ -e /proc/$$/$file ] && fact $file "$(tr '\n\0' '|.' </proc/$$/$file 2>/dev/null)"
done
[ -e /proc/$$/autogroup ] && fact autogroup "$(sed 's/.* nice/nice/' /proc/$$/autogroup)"
grep -vE '^(FDSize|Sig...|Pid|Tgid|PPid|Ngid|NS.*|Vm.*|Rss.*|Hugetlb.*|State|SigQ|.*ctxt_switches):' /proc/$$/status >&9
# Of a program that is no shell, which sets signals of its own.
grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status | sed 's/^/plain /' >&9
fact umask "$(umask)"
fact directory "$PWD $(pwd -P)"
fact modes "$(stty -g)"
fact size "$(stty size)"
fact 'device owner and mode' "$(ls -lL /proc/$$/fd/0 | cut -d' ' -f1,3,4)"
fact 'i/o priority' "$(ionice 2>/dev/null)"
# Who gets what loses its parent.
cd "$HOME"
( sh -c 'was=$(sed -n "s/^PPid:.//p" /proc/$$/status); : >ready
    while now=$(sed -n "s/^PPid:.//p" /proc/$$/status); [ "$now" = "$was" ]; do :; done
    cat /proc/$now/comm >orphan.new; mv orphan.new orphan' & until [ -e ready ]; do :; done )
until [ -e orphan ]; do :; done
fact 'orphans go to' "$(cat orphan)"
env -0 | tr '\n\0' ' \n' | sed 's/^/environment /; s/=/\t/' >&9
"#;

/// Facts by name.
type Facts = BTreeMap<String, String>;

/// What the probe wrote; names of terminals are told by what they are.
fn facts(text: &str, outer: &str) -> Facts {
    let facts = text.lines().filter_map(|line| line.split_once('\t'));
    let mut facts: Facts = facts.map(|(name, how)| (name.to_owned(), how.to_owned())).collect();
    let device = facts.insert("device".to_owned(), String::new()).unwrap();
    for how in facts.values_mut().filter(|how| **how == device) {
        "the terminal".clone_into(how);
    }
    let whose = if device == outer { "the outer terminal" } else { "another terminal" };
    facts.insert("device".to_owned(), whose.to_owned());
    facts
}

/// What the probe finds when a shell with job control starts it, as one at a terminal does, after `before`.
fn tell(world: &World, before: &str, way: Way) -> Facts {
    let (probe, told) = (world.root.path().join("probe"), world.root.path().join("told"));
    std::fs::write(&probe, PROBE).unwrap();
    let _ = std::fs::remove_file(&told);
    world.renew();
    let hopty = if way == Way::Bare { String::new() } else { format!("'{}' run --", hopty().display()) };
    let line = format!("set -m; {before} {hopty} sh '{}' '{}'; exit $?", probe.display(), told.display());
    let words = ["sh", "-c", &line].map(str::to_owned);
    let size = Size { cols: 97, rows: 31, xpixel: 970, ypixel: 620 };
    let mut outer = Outer::start(&words, &world.env, &world.project, size, Answers::Emulator);
    let name = outer.name();
    let (code, _) = outer.finish();
    let text = std::fs::read_to_string(&told).unwrap_or_default();
    assert_eq!(code, 0, "{text}\n{}", String::from_utf8_lossy(&outer.bytes()));
    world.assert_nothing_left();
    facts(&text, &name)
}

/// The names of what differs.
fn differences(bare: &Facts, with: &Facts) -> BTreeSet<String> {
    let names: BTreeSet<&String> = bare.keys().chain(with.keys()).collect();
    names.into_iter().filter(|name| bare.get(*name) != with.get(*name)).cloned().collect()
}

/// The rows of the table below a heading, without the marks of code.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let part = PAGE.split_once(&format!("\n## {heading}\n")).unwrap().1;
    let part = part.split("\n## ").next().unwrap();
    let rows = part.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.split('|').skip(1).map(|cell| cell.trim().trim_matches('`').to_owned()).collect())
        .collect()
}

/// The first column of that table.
fn column(heading: &str) -> BTreeSet<String> {
    rows(heading).into_iter().map(|row| row[0].clone()).collect()
}

/// The variables that are taken away, of which the page says that an outer Claude leaves them.
fn removed() -> Vec<&'static str> {
    let part = PAGE.split_once("\nRemoved, ").unwrap().1.split_once("\n\n").unwrap().0;
    part.split('`').skip(1).step_by(2).collect()
}

/// Whether the variable is one that hopty adds or takes away: that has its own test.
fn is_environment(name: &str) -> bool {
    name.starts_with("environment ")
}

#[test]
fn the_table_of_differences_is_complete_both_ways() {
    let (Some(_), Some(_)) = (needs("setpriv"), needs("taskset")) else { return };
    let world = world();
    let mut shown = BTreeMap::new();
    for before in [
        "",
        "umask 027; ulimit -n 123; ulimit -c 0; cd /;",
        "trap '' PIPE HUP USR1;",
        "exec 3</dev/null 5>>file 7<>file;",
        "stty -echo ixany intr ^G; nice -n 5",
        "setpriv --no-new-privs",
        "env --block-signal=USR2,WINCH --ignore-signal=INT",
        "taskset 1",
    ] {
        let (bare, with) = (tell(&world, before, Way::Bare), tell(&world, before, Way::Handed));
        assert!(bare.len() > 60, "{bare:?}");
        for name in differences(&bare, &with).into_iter().filter(|name| !is_environment(name)) {
            let how = format!("after {before:?}: {:?}, with hopty {:?}", bare.get(&name), with.get(&name));
            shown.insert(name, how);
        }
    }
    let names: BTreeSet<String> = shown.keys().cloned().collect();
    assert_eq!(names, column("What differs"), "{shown:#?}");
}

#[test]
fn the_tables_of_the_environment_are_complete_both_ways() {
    let mut world = world();
    for name in removed() {
        world.set(name, "outer");
    }
    world.set("CLAUDE_OF_MINE", "mine");
    world.set("HOPTY_OF_MINE", "mine");
    world.set("EMPTY", "");
    let (bare, with) = (tell(&world, "", Way::Bare), tell(&world, "", Way::Handed));
    let different: BTreeSet<String> = differences(&bare, &with)
        .into_iter()
        .filter_map(|name| name.strip_prefix("environment ").map(str::to_owned))
        .collect();
    let for_all =
        rows("Environment").into_iter().filter(|row| row[1] == "every program").map(|row| row[0].clone());
    let wanted: BTreeSet<String> = removed().into_iter().map(str::to_owned).chain(for_all).collect();
    assert_eq!(different, wanted);
}

/// The same of Claude, in its first run and after a restart.
#[test]
fn the_table_of_claude_s_environment_is_complete_both_ways() {
    let mut world = World::new(Kind::StandIn, Script::list([])).unwrap();
    // The stand-in is started by a shell, which would set it.
    let project = world.project.display().to_string();
    world.set("PWD", &project);
    let mut term = world.start(&[]);
    term.wait_box();
    let given: BTreeSet<String> =
        world.env.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
    let mut seen = BTreeSet::new();
    for run in 1..=2 {
        let pid = wait_for("the run", || {
            let status = world.status();
            (status["run"] == run && status["state"] == "idle").then(|| status["pid"].as_i64()).flatten()
        });
        let text = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
        let all: BTreeSet<String> =
            text.split('\0').filter(|var| !var.is_empty()).map(str::to_owned).collect();
        assert!(given.is_subset(&all), "{all:?}");
        let added: BTreeSet<String> =
            all.difference(&given).map(|var| var.split('=').next().unwrap().to_owned()).collect();
        let wanted = |row: &Vec<String>| run > 1 || !row[1].contains("run 2");
        assert_eq!(
            added,
            rows("Environment").into_iter().filter(wanted).map(|row| row[0].clone()).collect(),
            "run {run}"
        );
        seen.extend(added);
        if run == 1 {
            world.ask(&["restart", "proj", "--no-handoff"]);
        }
    }
    assert_eq!(seen, column("Environment"));
    world.ask(&["stop", "proj"]);
    term.wait_exit();
    world.assert_nothing_left();
}
