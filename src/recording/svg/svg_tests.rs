//! The picture shows the screen, and text of the screen never becomes markup.

use proptest::prelude::*;

use super::*;
use crate::core::cast::CastEventKind;
use crate::recording::timeline_tests::{cast, output};
use crate::screen::{PictureLines, Screen};

/// Checks that tags are closed in order and text contains no markup, which makes this output well-formed: it
/// has no comments, sections or declarations.
fn assert_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at], xml);
        let end = rest[at..].find('>').map(|end| at + end).unwrap_or_else(|| panic!("an open tag: {xml}"));
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{xml}");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap();
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic()), "<{tag}> in {xml}");
        let attributes = tag[name.len()..].trim_end_matches('/');
        let quotes: Vec<&str> = attributes.split('"').collect();
        assert!(quotes.len() % 2 == 1 && quotes.last() == Some(&""), "<{tag}> in {xml}");
        for pair in quotes[..quotes.len() - 1].chunks(2) {
            let key = pair[0].strip_prefix(' ').and_then(|key| key.strip_suffix('=')).unwrap_or_default();
            assert!(
                !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-:".contains(c)),
                "{tag}"
            );
            check_text(pair[1], xml);
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    check_text(rest, xml);
    assert!(open.is_empty(), "{open:?} in {xml}");
}

fn check_text(text: &str, xml: &str) {
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;"].iter().any(|known| text[at..].starts_with(known));
        assert!(known, "{text:?} in {xml}");
    }
    assert!(!text.contains(|c: char| (c < ' ' && c != '\n') || "\u{fffe}\u{ffff}".contains(c)), "{text:?}");
}

fn still(bytes: &str) -> String {
    let mut screen = Screen::new(20, 3);
    screen.feed(bytes.as_bytes());
    screen.svg(PictureLines::Screen)
}

#[test]
fn the_picture_shows_the_screen() {
    let svg = still(
        "a<b&c\x1b[2;3H\x1b[1;7;32m\u{6f22}\x1b[m\x1b[3;1H\x1b[9;4:3;58:2::1:2:3mx\x1b[m\x1b[2;3;4m d\x1b[4 \
         q\x1b]2;<t>\x07",
    );
    for part in [
        "width=\"204\" height=\"78\"",
        "<title>&lt;t&gt;</title>",
        ">a&lt;b&amp;c</text>",
        "<rect x=\"18\" width=\"18\" height=\"18\" fill=\"#31bb71\"/>",
        "<text x=\"18\" y=\"14\" textLength=\"18\" style=\"fill:#171717\" \
         font-weight=\"bold\">\u{6f22}</text>",
        "stroke=\"#010203\" fill=\"none\"/>",
        "<path d=\"M0 9.5h9\" stroke=\"#ddd\"/>",
        "<text x=\"18\" y=\"14\" font-style=\"italic\" fill-opacity=\".6\">d</text>",
        "<path d=\"M9 16.5h18\" stroke=\"#ddd\"/>",
        "<rect x=\"27\" y=\"52\" width=\"9\" height=\"2\" fill=\"#ddd\" fill-opacity=\".6\"/>",
    ] {
        assert!(svg.contains(part), "{part} in {svg}");
    }
    assert_well_formed(&svg);
}

#[test]
fn text_of_several_widths_is_in_its_columns() {
    let svg = still("a\u{6f22}\u{5b57}b    c");
    for part in [
        "<text x=\"0\" y=\"14\">a<",
        "x=\"9\" y=\"14\" textLength=\"36\">\u{6f22}\u{5b57}<",
        "x=\"45\" y=\"14\">b<",
        "x=\"90\" y=\"14\">c<",
    ] {
        assert!(svg.contains(part), "{part} in {svg}");
    }
}

fn animated(events: &[(u64, CastEventKind)]) -> AnimatedSvg {
    let timeline = Timeline::load(&cast(events)).unwrap();
    let time = PlayTime::new(&timeline, Some(2_000_000));
    animated_svg(&timeline, AnimationRange { time: &time, from_us: 0, to_us: timeline.duration_us() })
}

#[test]
fn a_film_draws_each_row_once_and_moves_in_steps() {
    let film = animated(&[
        (0, output("still\r\n")),
        (1000, output("one")),
        (1010, output("\rtwo")),
        (61_000, output("\rone")),
    ]);
    assert_well_formed(&film.svg);
    assert_eq!((film.frames, film.fps, film.fits_to_us), (4, 12, None));
    assert_eq!(film.svg.matches(">still</text>").count(), 1);
    assert_eq!(film.svg.matches(">one</text>").count(), 1);
    for part in [
        "@media(prefers-reduced-motion:no-preference)",
        "animation:film 5.010s steps(1,end) infinite",
        "0%{transform:translateX(-0px)}",
        "60.0798%{transform:translateX(-540px)}",
        "class=\"film\" transform=\"translate(-540)\"",
    ] {
        assert!(film.svg.contains(part), "{part} in {}", film.svg);
    }
    assert!(!film.svg.contains("script") && !film.svg.contains("url("));
}

#[test]
fn a_film_that_is_too_large_has_fewer_frames() {
    let mut noise = 1_u64;
    let mut events = Vec::new();
    for n in 0..10_000 {
        let mut text = "\x1b[H".to_owned();
        for _ in 0..100 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push(char::from(b'a' + (noise >> 60) as u8));
        }
        events.push((n * 80, output(&text)));
    }
    let film = animated(&events);
    assert!(film.fps == 2 && film.svg.len() > FILM_BYTES_MAX, "{} {}", film.fps, film.svg.len());
    let to_us = film.fits_to_us.unwrap();
    let timeline = Timeline::load(&cast(&events)).unwrap();
    let time = PlayTime::new(&timeline, None);
    let part = animated_svg(&timeline, AnimationRange { time: &time, from_us: 0, to_us });
    assert!(part.svg.len() <= FILM_BYTES_MAX && part.svg.len() > FILM_BYTES_MAX / 2, "{}", part.svg.len());
}

proptest! {
    #[test]
    fn any_screen_is_well_formed(
        text in "[\\x00-\\x7f\u{80}-\u{9f}\u{301}\u{6f22}\u{fffe}\u{1f600}]{0,80}(\x1b\\[[0-9;:]{0,8}m[<>&\"' a]{1,4}){0,8}",
    ) {
        assert_well_formed(&still(&text));
        assert_well_formed(&animated(&[(0, output(&text)), (500, output(&text))]).svg);
    }
}
