//! Two that want the same handoff at the same time, in processes, threads and shell scripts: never two
//! winners, and never none. `HOPTY_TEST_RACES=16000 cargo test --test store races` for the long run.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use hopty::core::handoff::manifest_entry::HandoffProgress;
use hopty::core::ids::{Channel, HandoffId};
use hopty::fs::store::{HandoffScope, Retention, Store};

use super::steps::{at, capture, claim, number, part, scratch};

const JOB: &str = "HOPTY_TEST_RACER";
/// The handoffs of the races expire one second after they were made, as far as the store's time goes.
fn keep() -> Retention {
    Retention { expiry_ms: Some(1000), records: 20, ..Retention::default() }
}

/// What one does with the handoff of a race. Whether it was this one who moved it.
fn play(store: &Store, order: &str) -> bool {
    let mut words = order.split_whitespace();
    let mut word = || words.next().unwrap();
    let (part, id, second, who) =
        (word(), word().parse::<HandoffId>().unwrap(), word().parse::<i64>().unwrap(), word());
    match part {
        "consume" => {
            let claim = claim(who.parse::<u64>().unwrap() * 1_000_000 + second as u64, at(second));
            let by = claim.session_id.clone();
            store.claim(&id, claim).is_ok() && store.consume(&id, &by, std::process::id(), at(second)).is_ok()
        }
        "clear" => store.clear(&id).is_ok(),
        "expire" => store.expire_due(at(second + 2)).unwrap().contains(&id),
        // A newer handoff of the same session puts it aside, wherever it stands.
        "replace" => store.save(capture("a", second + 1), keep()).is_ok(),
        other => panic!("{other}?"),
    }
}

/// Run in processes of their own: plays what it is told until its input ends.
#[test]
#[ignore = "the tests of this file run it in processes of its own (`Player::process`)"]
fn racer() {
    let Ok(dir) = std::env::var(JOB) else { return };
    let store = Store::open(Path::new(&dir)).unwrap();
    for order in std::io::stdin().lock().lines() {
        println!("\n{}", if play(&store, &order.unwrap()) { "won" } else { "lost" });
    }
}

/// One who plays.
enum Player {
    Process(Child, BufReader<std::process::ChildStdout>),
    Thread(Sender<String>, Receiver<bool>),
}

impl Player {
    fn process(dir: &Path) -> Self {
        let mut child = part("races::racer", JOB, dir.to_str().unwrap()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Player::Process(child, output)
    }

    fn thread(dir: &Path) -> Self {
        let store = Store::open(dir).unwrap();
        let ((orders, heard), (said, answers)) = (channel::<String>(), channel());
        std::thread::spawn(move || heard.iter().for_each(|order| said.send(play(&store, &order)).unwrap()));
        Player::Thread(orders, answers)
    }

    fn order(&mut self, order: &str) {
        match self {
            Player::Process(child, _) => writeln!(child.stdin.as_mut().unwrap(), "{order}").unwrap(),
            Player::Thread(orders, _) => orders.send(order.to_owned()).unwrap(),
        }
    }

    fn won(&mut self) -> bool {
        match self {
            Player::Process(_, output) => {
                let word = output.lines().map(Result::unwrap).find(|line| line == "won" || line == "lost");
                word.expect("the process answers") == "won"
            }
            Player::Thread(_, answers) => answers.recv().unwrap(),
        }
    }

    fn end(self) {
        if let Player::Process(mut child, _) = self {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}

fn status(store: &Store, id: &HandoffId) -> HandoffProgress {
    store.list(None).unwrap().into_iter().find(|(_, entry)| entry.id == *id).unwrap().1.status
}

#[test]
fn of_two_that_want_a_handoff_exactly_one_gets_it() {
    let races = number("HOPTY_TEST_RACES", 2000);
    let scratch = scratch();
    let dir = scratch.path().join("c");
    let store = Store::open(&dir).unwrap();
    let mut players =
        [Player::process(&dir), Player::process(&dir), Player::thread(&dir), Player::thread(&dir)];
    let parts = [
        ["consume", "consume"],
        ["consume", "clear"],
        ["consume", "expire"],
        ["clear", "expire"],
        ["consume", "replace"],
    ];
    let mut firsts = 0;
    for race in 0..races {
        let second = race as i64 * 3;
        if race % 20 == 0 {
            // A long history would be read and written by every player, which takes longer than the race.
            let _ = std::fs::remove_file(dir.join("handoff/global.manifest.json"));
        }
        let id = store.save(capture("a", second), keep()).unwrap().id;
        // Half of the races are of two consumers; each pair of players and either order come up.
        let pair = if race % 2 == 0 { parts[0] } else { parts[race as usize / 2 % 4 + 1] };
        let pair = if race / 3 % 2 == 0 { pair } else { [pair[1], pair[0]] };
        let [one, other] = [[0, 1], [0, 2], [2, 3]][race as usize % 3];
        for (n, player) in [one, other].into_iter().enumerate() {
            players[player].order(&format!("{} {id} {second} {n}", pair[n]));
        }
        let won = [one, other].map(|player| players[player].won());
        let status = status(&store, &id);
        let about = || format!("race {race} of {pair:?} by {one} and {other}: {won:?}, {status:?}");
        let expected = |n: usize| match pair[n] {
            "consume" => HandoffProgress::Consumed,
            "expire" => HandoffProgress::Expired,
            _ => HandoffProgress::Cleared,
        };
        let winners: Vec<usize> = (0..2)
            .filter(|n| won[*n] && (pair[*n] != "replace" || status == HandoffProgress::Cleared))
            .collect();
        assert_eq!(winners.len(), 1, "{}", about());
        assert_eq!(status, expected(winners[0]), "{}", about());
        firsts += usize::from(winners[0] == 0);
    }
    assert_eq!(store.take_notices(), Vec::<String>::new());
    players.into_iter().for_each(Player::end);
    eprintln!("{races} races, {firsts} won by the one who was told first");
}

/// What a script does that knows of no `flock` and of no claims: the lock of the first source document, and
/// the status.
const SCRIPT: &str = r#"
dir=$1 id=$2
until mkdir "$dir/global.lock.d" 2>/dev/null; do sleep 0.01; done
echo "$$:$(date +%s)" >"$dir/global.lock.d/pid"
manifest=$dir/global.manifest.json
word=lost
if grep -A9 "\"id\": \"$id\"" "$manifest" | grep -q '"status": "active"'; then
    sed "/\"id\": \"$id\"/,/\"status\"/s/\"status\": \"active\"/\"status\": \"consumed\"/" "$manifest" >"$manifest.tmp"
    mv "$manifest.tmp" "$manifest"
    word=won
fi
rm "$dir/global.lock.d/pid"
rmdir "$dir/global.lock.d"
echo "$word"
"#;

#[test]
fn item_025_a_script_with_the_lock_of_the_source_document_and_hopty_keep_out_of_each_others_way() {
    let scratch = scratch();
    let dir = scratch.path().join("c");
    let store = Store::open(&dir).unwrap();
    let mut racer = Player::process(&dir);
    let handoff: PathBuf = dir.join("handoff");
    let mut scripts = 0;
    for race in 0..number("HOPTY_TEST_RACES", 2000) / 50 {
        let second = race as i64 * 3;
        let id = store.save(capture("a", second), keep()).unwrap().id;
        let mut script = Command::new("sh");
        script.args(["-c", SCRIPT, "sh"]).arg(&handoff).arg(id.as_str()).stdout(Stdio::piped());
        // Either may be first: a shell starts more slowly than a process that waits for a word.
        let begun = (race % 2 == 0).then(|| script.spawn().unwrap());
        racer.order(&format!("consume {id} {second} 1"));
        let begun = begun.unwrap_or_else(|| script.spawn().unwrap());
        let said = String::from_utf8(begun.wait_with_output().unwrap().stdout).unwrap();
        let won = racer.won();
        assert_eq!(status(&store, &id), HandoffProgress::Consumed, "race {race}: {said} {won}");
        assert_ne!(said == "won\n", won, "race {race}: {said}");
        scripts += usize::from(!won);
    }
    racer.end();
    eprintln!("the script won {scripts} times");
}

#[test]
fn while_a_script_holds_its_lock_nothing_is_changed() {
    let scratch = scratch();
    let dir = scratch.path().join("c");
    let store = Store::open(&dir).unwrap();
    let id = store.save(capture("a", 0), keep()).unwrap().id;
    let mut holder = Command::new("sh");
    // Takes the lock as a script does, and holds it until its input ends.
    let script = "mkdir \"$1/global.lock.d\" && echo \"$$:$(date +%s)\" >\"$1/global.lock.d/pid\" && echo \
                  held && read x; rm -r \"$1/global.lock.d\"";
    holder.args(["-c", script, "sh"]).arg(dir.join("handoff")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let manifest = dir.join("handoff/global.manifest.json");
    let before = std::fs::read(&manifest).unwrap();
    let mut racer = Player::process(&dir);
    racer.order(&format!("clear {id} 0 1"));
    // It waits for the lock as soon as it has `flock`ed the other one.
    super::support::wait_for("the lock to be waited for", || {
        match hopty::fs::lock::FileLock::try_take(&dir.join("handoff/.lock")) {
            Ok(None) => Some(()),
            _ => None,
        }
    });
    assert!(
        store
            .pending(&Channel::global(), None, HandoffScope::Channel, Path::new(""), at(0))
            .unwrap()
            .is_some(),
        "reading needs no lock"
    );
    assert_eq!(std::fs::read(&manifest).unwrap(), before);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert!(racer.won());
    assert_eq!(status(&store, &id), HandoffProgress::Cleared);
    racer.end();
}
