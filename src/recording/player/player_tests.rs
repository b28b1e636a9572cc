//! The player without a terminal: its keys, and its picture in terminals of several sizes.

use super::player_state::{PlayerAction, PlayerOptions, PlayerState};
use super::player_view::PlayerViewport;
use crate::core::cast::CastEventKind;
use crate::core::input::plain_keys::PlainKey;
use crate::recording::timeline::Timeline;
use crate::recording::timeline_tests::{cast, output};
use crate::screen::Screen;

const S: u64 = 1_000_000;

fn options() -> PlayerOptions {
    PlayerOptions {
        speed: 1.0,
        idle_us: None,
        from_us: 0,
        to_us: u64::MAX,
        paused: true,
        looped: false,
        raw: false,
    }
}

/// Words at each second from 1 to 60, a marker at 10 s and one at 20 s; the end is at 100 s.
fn recording() -> Timeline {
    let mut events = Vec::new();
    for second in 1..=60_u64 {
        if second == 10 || second == 20 {
            events.push((second * 1000, CastEventKind::Marker(format!("mark {second}"))));
        }
        events.push((second * 1000, output(&format!("\x1b[H\x1b[2Jword {second}\x1b[5;20Hx"))));
    }
    events.push((100_000, CastEventKind::Exit(0)));
    Timeline::load(&cast(&events)).unwrap()
}

fn seconds(state: &PlayerState<'_>) -> f64 {
    state.moment().at_us() as f64 / 1e6
}

fn press(state: &mut PlayerState<'_>, keys: &str, now_us: u64) {
    for key in keys.chars() {
        let key = match key {
            '>' => PlainKey::Right,
            '<' => PlainKey::Left,
            '\n' => PlainKey::Enter,
            '\x1b' => PlainKey::Escape,
            other => PlainKey::Char(other),
        };
        assert_eq!(state.key(key, now_us), None);
    }
}

/// Advances until a search is over.
fn settle(state: &mut PlayerState<'_>, now_us: u64) {
    for _ in 0..1000 {
        if state.search_progress().is_none() {
            return;
        }
        state.tick(now_us);
    }
    panic!("the search does not end");
}

/// The rows of the terminal.
fn shown(state: &PlayerState<'_>, (cols, rows): (u16, u16), now_us: u64) -> Vec<String> {
    let picture = PlayerViewport::default().draw(state, (cols, rows), now_us);
    assert!(picture.rows.len() <= usize::from(rows));
    let mut screen = Screen::new(cols, rows);
    for (at, row) in picture.rows.iter().enumerate() {
        screen.feed(format!("\x1b[{};1H\x1b[2K{row}", at + 1).as_bytes());
    }
    screen.lines()
}

#[test]
fn it_plays_in_its_time_and_stops_at_the_end() {
    let timeline = recording();
    let mut state = PlayerState::new(&timeline, PlayerOptions { paused: false, ..options() }, 5 * S);
    assert_eq!(state.next_due(5 * S), Some(6 * S));
    assert!(!state.tick(8 * S + 500_000));
    assert_eq!(state.moment().screen().lines()[0], "word 3");
    assert!(!state.tick(104 * S));
    assert!(state.tick(105 * S));
    assert_eq!((seconds(&state), state.is_playing(), state.next_due(106 * S)), (100.0, false, None));
    press(&mut state, " ", 106 * S);
    assert_eq!((seconds(&state), state.is_playing()), (0.0, true));
}

#[test]
fn keys_move_in_time() {
    let timeline = recording();
    let mut state = PlayerState::new(&timeline, options(), 0);
    for (keys, at) in [
        (">", 5.0),
        (">>", 15.0),
        ("<", 10.0),
        ("]", 20.0),
        ("]", 20.0),
        ("[", 10.0),
        (".", 11.0),
        ("..", 13.0),
        (",", 12.0),
        ("5", 50.0),
        ("0", 0.0),
        ("<", 0.0),
    ] {
        press(&mut state, keys, S);
        assert_eq!(seconds(&state), at, "{keys}");
    }
    assert_eq!(state.key(PlainKey::FarRight, S), None);
    assert_eq!(seconds(&state), 30.0);
    assert_eq!(state.key(PlainKey::End, S), None);
    assert_eq!(seconds(&state), 100.0);
    assert_eq!(state.key(PlainKey::Char('q'), S), Some(PlayerAction::Quit));
}

#[test]
fn speed_and_idle_limit_change_while_it_plays() {
    let timeline = recording();
    let mut state = PlayerState::new(&timeline, PlayerOptions { paused: false, ..options() }, 0);
    state.tick(2 * S);
    assert_eq!(state.key(PlainKey::Char('>'), 2 * S), None);
    state.tick(4 * S);
    assert_eq!((seconds(&state), state.speed()), (6.0, 2.0));
    assert_eq!(state.key(PlainKey::End, 4 * S), None);
    press(&mut state, "5i", 4 * S);
    assert_eq!((seconds(&state), state.idle_us()), (50.0, Some(2 * S)));
    // A pause of 40 s is cut to 2 s: 12 s of playing are left, at twice the speed.
    state.tick(9 * S + 900_000);
    assert!(state.is_playing() && seconds(&state) < 63.0, "{}", seconds(&state));
    assert!(state.tick(10 * S));
}

#[test]
fn it_begins_again_when_asked_to() {
    let timeline = recording();
    let options = PlayerOptions { paused: false, looped: true, from_us: 10 * S, to_us: 12 * S, ..options() };
    let mut state = PlayerState::new(&timeline, options, 0);
    assert_eq!(seconds(&state), 10.0);
    assert!(!state.tick(2 * S));
    assert_eq!((seconds(&state), state.is_playing()), (10.0, true));
}

#[test]
fn text_is_searched_and_marked() {
    let timeline = recording();
    let mut state = PlayerState::new(&timeline, options(), 0);
    press(&mut state, "/WORD 7\x1b/word 4\n", S);
    settle(&mut state, S);
    assert_eq!(seconds(&state), 4.0);
    let hit = state.hit().unwrap();
    assert_eq!((hit.row, hit.col, hit.cols), (0, 0, 6));
    let picture = PlayerViewport::default().draw(&state, (20, 6), S);
    assert!(picture.rows[0].contains("\x1b[0;7mword 4\x1b[m"), "{:?}", picture.rows[0]);
    press(&mut state, "n", S);
    settle(&mut state, S);
    assert_eq!(seconds(&state), 40.0);
    press(&mut state, "N", S);
    settle(&mut state, S);
    assert_eq!(seconds(&state), 4.0);
    for (keys, at, words) in
        [("/word 2\\b\n", 2.0, "start"), ("?word 60\n", 60.0, "end"), ("?word 2\\b\n", 2.0, "")]
    {
        press(&mut state, keys, S);
        settle(&mut state, S);
        assert_eq!(seconds(&state), at, "{keys}");
        assert_eq!(state.words().is_some_and(|said| said.contains(words)), !words.is_empty(), "{keys}");
    }
    press(&mut state, "/word 4\n", S);
    settle(&mut state, S);
    press(&mut state, "/nowhere\n", S);
    settle(&mut state, S);
    assert_eq!((seconds(&state), state.words()), (4.0, Some("not found: nowhere")));
}

#[test]
fn the_picture_is_cut_to_the_terminal_and_follows_the_cursor() {
    let timeline = recording();
    let mut state = PlayerState::new(&timeline, options(), 0);
    press(&mut state, "..", S);
    let at = 10 * S;
    let large = shown(&state, (40, 10), at);
    assert_eq!((large[0].as_str(), &large[4][19..20]), ("word 2", "x"));
    assert!(large[9].contains("0:02 / 1:40") && large[9].contains("h: keys"), "{:?}", large[9]);
    // The cursor is in the last row and column.
    assert_eq!(shown(&state, (20, 6), at)[..2], ["word 2", ""]);
    let small = shown(&state, (10, 3), at);
    assert_eq!((small[0].as_str(), small[1].as_str()), ("", "         x"));
    for size in [(1, 1), (2, 1), (1, 2), (3, 2), (200, 60)] {
        shown(&state, size, at);
    }
}

#[test]
fn the_bar_leaves_a_picture_of_the_same_size_while_it_plays() {
    let timeline = recording();
    let mut state = PlayerState::new(&timeline, PlayerOptions { paused: false, ..options() }, 0);
    state.tick(S);
    assert!(shown(&state, (20, 5), S)[4].contains('\u{25b6}'));
    state.tick(3 * S);
    assert!(shown(&state, (20, 5), 3 * S)[4].ends_with('x'));
    press(&mut state, " ", 3 * S);
    assert!(shown(&state, (20, 5), 9 * S)[4].contains('\u{23f8}'));
}

#[test]
fn the_keys_are_listed_in_forty_columns() {
    let timeline = recording();
    let mut state = PlayerState::new(&timeline, options(), 0);
    press(&mut state, "h", S);
    let rows = shown(&state, (40, 24), S);
    for words in ["play or pause", "5 s forward or back", "quit"] {
        assert!(rows.iter().any(|row| row.contains(words)), "{words}: {rows:?}");
    }
    press(&mut state, "h", S);
    assert_eq!(state.first_help(), None);
}

#[test]
fn the_list_of_keys_scrolls_in_a_small_terminal() {
    let timeline = recording();
    let mut state = PlayerState::new(&timeline, options(), 0);
    press(&mut state, "h", S);
    let has = |state: &PlayerState<'_>, words: &str| {
        shown(state, (40, 12), S).iter().any(|row| row.contains(words))
    };
    assert!(has(&state, "play or pause") && has(&state, "more keys") && !has(&state, "quit"));
    press(&mut state, "j", S);
    assert!(has(&state, "quit") && has(&state, "raw output") && !has(&state, "more keys"));
    press(&mut state, "k", S);
    assert!(has(&state, "play or pause"));
}

#[test]
fn raw_output_is_the_recording_s_own() {
    let timeline = recording();
    let mut state = PlayerState::new(&timeline, PlayerOptions { raw: true, ..options() }, 0);
    press(&mut state, "..", S);
    let mut terminal = Screen::new(20, 5);
    terminal.feed(&state.take_raw());
    assert_eq!(terminal.lines(), state.moment().screen().lines());
    press(&mut state, ".", S);
    let bytes = state.take_raw();
    assert_eq!(bytes, b"\x1b[H\x1b[2Jword 3\x1b[5;20Hx");
    terminal.feed(&bytes);
    press(&mut state, ",,", S);
    terminal.feed(&state.take_raw());
    assert_eq!(terminal.lines(), state.moment().screen().lines());
    assert!(state.take_raw().is_empty());
}
