//! The regions of a tape: names for parts of the screen, and their current cells.

use std::collections::BTreeMap;

use super::step_failure::{StepFailure, StepResult};
use super::test_session::TestSession;
use crate::core::tape::{ExpectArea, ExpectCommand, RegionShape, ScreenRect, ScreenRegion};
use crate::testing::look::{CellRegion, Look, ScreenArea, frame_around};

#[derive(Default)]
pub(super) struct ScreenRegions {
    shapes: BTreeMap<String, RegionShape>,
}

impl ScreenRegions {
    pub fn name(&mut self, name: &str, shape: &RegionShape) {
        self.shapes.insert(name.to_owned(), shape.clone());
    }

    /// The search of a check.
    pub fn look(&self, session: &mut TestSession, expect: &ExpectCommand) -> StepResult<Look> {
        let area = match &expect.area {
            ExpectArea::Screen => ScreenArea::All,
            ExpectArea::Line => ScreenArea::Line,
            ExpectArea::Row(row) => {
                let rows = session.terminal()?.1.screen().size().1;
                if *row > rows {
                    return Err(StepFailure::command(format!("the screen has {rows} rows, so no row {row}")));
                }
                ScreenArea::Row(row.saturating_sub(1))
            }
            ExpectArea::Region(region) => ScreenArea::Region(self.cells(session, region)?),
            ExpectArea::History => ScreenArea::History,
            ExpectArea::Title => ScreenArea::Title,
            ExpectArea::Clipboard => ScreenArea::Clipboard,
        };
        let times = expect.times.and_then(|times| usize::try_from(times).ok());
        Ok(Look { pattern: session.workspace.pattern(&expect.pattern, true)?, area, times, joined: false })
    }

    /// The current cells of a region.
    pub fn cells(&self, session: &mut TestSession, region: &ScreenRegion) -> StepResult<CellRegion> {
        let shape = match region {
            ScreenRegion::Rect(rect) => RegionShape::Rect(*rect),
            ScreenRegion::Named(name) => self.shapes.get(name).cloned().ok_or_else(|| {
                let known: Vec<&str> = self.shapes.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                StepFailure::command(format!("no region is called {name}; known: {known}"))
            })?,
        };
        match shape {
            RegionShape::Rect(ScreenRect { row, col, rows, cols }) => {
                let (width, height) = session.terminal()?.1.screen().size();
                let (below, behind) = (u32::from(row) + u32::from(rows), u32::from(col) + u32::from(cols));
                if below > u32::from(height) + 1 || behind > u32::from(width) + 1 {
                    return Err(StepFailure::command(format!(
                        "the screen has {height} rows and {width} columns, so {row},{col} {rows}x{cols} is \
                         not on it"
                    )));
                }
                Ok(CellRegion { row: row.saturating_sub(1), col: col.saturating_sub(1), rows, cols })
            }
            RegionShape::Box(title) => {
                let title = session.workspace.text(&title)?;
                let limit = session.clock.check_limit(None);
                let (_, terminal) = session.terminal()?;
                let mut inside = None;
                terminal.wait_until(limit, "a frame with this title", |terminal| {
                    inside = frame_around(terminal.view(), &title).map(|frame| frame.inside);
                    inside.map(|_| ()).ok_or_else(|| format!("no frame is drawn around {title:?}"))
                })?;
                inside.ok_or_else(|| StepFailure::command(format!("no frame is drawn around {title:?}")))
            }
        }
    }
}
