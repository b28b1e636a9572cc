//! Recordings of terminals for people: seeking, a player, pictures, a page.
//!
//! A recording is an asciicast ([`crate::core::cast`]). A [`timeline::Timeline`] has all of it in memory,
//! with copies of the screen in between; a [`moment::Moment`] is the screen at one time.
//!
//! | file | what |
//! |---|---|
//! | [`timeline`], [`moment`] | the recording in memory; the screen at a time, step forward and back |
//! | [`timeline_search`] | finding where a text appears |
//! | [`version_2`] | converting a recording for programs that do not read version 3 |
//! | [`play_time`], [`play_position`] | pauses cut to the idle limit; times, percentages and markers as a person writes them |
//! | [`svg`], [`cast_theme`] | one screen, or a film, as SVG; its colours |
//! | [`html`] | the recording as a page, with the lines of a tape |
//! | [`cut`] | a part as a new recording |
//! | [`redacted_cast`] | a recording without secrets, for other people |
//! | [`player`] | `hopty play` in a terminal |
//! | [`film`] | frames at a limited rate, made of rows that are drawn once |

pub mod cast_theme;
pub mod cut;
pub mod film;
pub mod html;
pub mod moment;
pub mod play_position;
pub mod play_time;
pub mod player;
pub mod redacted_cast;
pub mod svg;
pub mod timeline;
pub mod timeline_search;
#[cfg(test)]
mod timeline_tests;
pub mod version_2;
