//! The picture as JSON: every row a list of runs.

use serde_json::{Value, json};

use super::PictureLines;
use crate::screen::{Hyperlink, Screen, StyledRun};

impl Screen {
    /// Size, cursor, title, modes and rows, 0-based. With scrollback there is one more key, `history`: the
    /// lines above.
    pub fn json(&self, lines: PictureLines) -> Value {
        let (cols, rows) = self.size();
        let cursor = self.cursor();
        let mut picture = json!({
            "cols": cols,
            "rows": rows,
            "cursor": {"col": cursor.col, "row": cursor.row, "visible": cursor.visible,
            "shape": cursor.shape.name()},
            "title": self.title(),
            "alternate": self.alternate(),
            "modes": self.modes(),
            "lines": self.picture(PictureLines::Screen).map(|runs| row(&runs)).collect::<Value>(),
        });
        if lines == PictureLines::WithHistory {
            picture["history"] =
                (0..self.history_len()).map(|line| row(&self.history_row_runs(line))).collect();
        }
        picture
    }
}

fn row(runs: &[StyledRun]) -> Value {
    let run = |run: &StyledRun| {
        let (style, link) = (&run.style, run.link.as_ref().map(Hyperlink::uri));
        json!({"text": run.text, "fg": style.fg.name(), "bg": style.bg.name(), "attrs": style.attr_names(),
            "link": link})
    };
    runs.iter().map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_that_of_the_contract() {
        let mut screen = Screen::with_history(80, 2, 9);
        screen.feed(
            b"above\r\n\x1b[1mabc\r\n\x1b[?2004h\x1b]2;t\x07\x1b[5 \
                      q\x1b[m\x1b[38;2;1;2;255;44m\x1b]8;id=a;https://example.org/?a;b\x07x",
        );
        let picture = json!({
            "cols": 80, "rows": 2, "cursor": {"col": 1, "row": 1, "visible": true, "shape": "bar"},
            "title": "t", "alternate": false, "modes": ["2004"],
            "lines": [
                [{"text": "abc", "fg": null, "bg": null, "attrs": ["bold"], "link": null}],
                [{"text": "x", "fg": "#0102ff", "bg": "4", "attrs": [], "link": "https://example.org/?a;b"}],
            ],
        });
        assert_eq!(screen.json(PictureLines::Screen), picture);
        let above = json!([[{"text": "above", "fg": null, "bg": null, "attrs": [], "link": null}]]);
        assert_eq!(screen.json(PictureLines::WithHistory)["history"], above);
    }
}
