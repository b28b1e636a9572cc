//! The program's terminal has the size of the person's, at the start and at every change.

use super::{run, support, world};

const TELL: &str = "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done";

fn wait_size(term: &support::term::Term, cols: u16, rows: u16) {
    let wanted = format!("{rows} {cols}\r\n");
    support::wait_for(&format!("size {wanted:?}"), || {
        term.bytes().ends_with(wanted.as_bytes()).then_some(())
    });
}

#[test]
fn at_the_start_and_at_every_change() {
    let world = world();
    let mut term = run(&world, TELL);
    wait_size(&term, 120, 40);
    for (cols, rows) in [(80, 24), (1, 1), (1000, 500), (121, 41)] {
        term.resize(cols, rows);
        wait_size(&term, cols, rows);
    }
    assert_eq!(world.status()["size"], serde_json::json!({"cols": 121, "rows": 41}));
    term.resize(0, 0);
    // A terminal that does not say: the program hears just that, and only what hopty draws is drawn for
    // 80x24.
    wait_size(&term, 0, 0);
    term.resize(90, 30);
    wait_size(&term, 90, 30);
    support::kill(super::child(&world), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    world.assert_nothing_left();
}

#[test]
fn pixels_are_passed_on() {
    let world = world();
    let term = run(&world, "exec sleep 100");
    let pid = super::child(&world);
    let size = hopty::core::terminal::Size { cols: 100, rows: 50, xpixel: 1000, ypixel: 1500 };
    term.pty.resize(size).unwrap();
    support::wait_for("the size in pixels", || {
        let tty = std::fs::File::open(format!("/proc/{pid}/fd/0")).unwrap();
        // SAFETY: a winsize of zeros is valid, and TIOCGWINSZ writes one.
        let mut found: nix::libc::winsize = unsafe { std::mem::zeroed() };
        unsafe {
            nix::libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&tty), nix::libc::TIOCGWINSZ, &raw mut found)
        };
        ((found.ws_col, found.ws_row, found.ws_xpixel, found.ws_ypixel) == (100, 50, 1000, 1500))
            .then_some(())
    });
    support::kill(pid, nix::libc::SIGKILL);
    drop(term);
    world.assert_nothing_left();
}
