//! Places where nothing is written: links, other people's directories, files of another form.

use std::os::unix::fs::symlink;

use super::steps::*;

#[test]
fn a_view_that_cannot_be_written_costs_a_line_of_the_journal_and_nothing_else() {
    let world = world("acm,orchestrator,memory");
    let elsewhere = world.root.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::create_dir_all(below(&world, ".claude/auto-execution")).unwrap();
    symlink(&elsewhere, below(&world, ".claude/claudikins-acm")).unwrap();
    symlink(elsewhere.join("raw"), below(&world, ".claude/memory")).unwrap();
    std::fs::write(below(&world, ".claude/auto-execution/state.yaml"), "{status: running}\n").unwrap();
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    for n in 1..=3 {
        let sentence = world.wait_decision("degraded", n)["sentence"].as_str().unwrap().to_owned();
        assert!(sentence.starts_with("Layout ") && sentence.contains("could not be written: "), "{sentence}");
    }
    assert_eq!(names(&elsewhere), [""; 0]);
    assert_eq!(
        std::fs::read_to_string(below(&world, ".claude/auto-execution/state.yaml")).unwrap(),
        "{status: running}\n"
    );
    world.leave(term);
}
