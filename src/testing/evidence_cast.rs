//! The recording of a test that failed, with the test's redactions.

use super::redaction::TapeRedactions;
use crate::core::cast::{CastEvent, CastEventKind, CastHeader, CastReader, CastWriter};
use crate::recording::redacted_cast::redacted_cast_with;
use crate::screen::Screen;

/// A recording as a file. With `redactions`, every screen in it is redacted.
pub(super) fn evidence_cast(
    header: CastHeader,
    events: Vec<CastEvent>,
    redactions: Option<&TapeRedactions>,
) -> Vec<u8> {
    if let Some(redactions) = redactions {
        let command = header.command.as_deref().map(|command| redactions.text(command));
        let header = CastHeader { command, ..header };
        let events: Vec<CastEvent> = events
            .into_iter()
            .map(|event| match event.kind {
                CastEventKind::Marker(label) => {
                    CastEvent { at_us: event.at_us, kind: CastEventKind::Marker(redactions.text(&label)) }
                }
                _ => event,
            })
            .collect();
        return redacted_cast_with(&header, &events, |text| redactions.rule_ranges(text));
    }
    let mut lines = header.line().into_bytes();
    let mut writer = CastWriter::new();
    for event in &events {
        writer.event(event, &mut lines);
    }
    writer.finish(&mut lines);
    lines
}

/// The screen at the end of a recording.
pub(super) fn last_screen(cast: &[u8]) -> Option<Screen> {
    let mut reader = CastReader::new();
    reader.push(cast);
    reader.finish();
    let mut screen: Option<Screen> = None;
    while let Some(event) = reader.next() {
        let header = reader.header()?;
        let screen = screen.get_or_insert_with(|| Screen::new(header.cols, header.rows));
        match event.ok()?.kind {
            CastEventKind::Output(bytes) => screen.feed(&bytes),
            CastEventKind::Resize { cols, rows } => screen.resize(cols, rows),
            _ => {}
        }
    }
    screen
}
