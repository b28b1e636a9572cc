//! Converts a recording to an asciicast of version 2, for programs that do not read version 3: agg before
//! 1.5, the version that package registries still have.

use serde_json::json;

use crate::core::cast::{CastEventKind, CastReader};

/// The output, resizes and markers of a recording of any version, with absolute times. Invalid lines are
/// dropped; empty without a header.
pub fn version_2(cast: &[u8]) -> Vec<u8> {
    let mut reader = CastReader::new();
    reader.push(cast);
    reader.finish();
    let mut lines = String::new();
    let mut first = reader.next();
    let Some(header) = reader.header() else { return Vec::new() };
    let mut fields = json!({"version": 2, "width": header.cols, "height": header.rows});
    if let Some(theme) = &header.theme {
        fields["theme"] = json!({"fg": theme.fg, "bg": theme.bg, "palette": theme.palette.join(":")});
    }
    lines.push_str(&format!("{fields}\n"));
    while let Some(event) = first.take().or_else(|| reader.next()) {
        let Ok(event) = event else { continue };
        let (code, data) = match event.kind {
            CastEventKind::Output(bytes) => ("o", String::from_utf8_lossy(&bytes).into_owned()),
            CastEventKind::Resize { cols, rows } => ("r", format!("{cols}x{rows}")),
            CastEventKind::Marker(label) => ("m", label),
            _ => continue,
        };
        let (seconds, micros) = (event.at_us / 1_000_000, event.at_us % 1_000_000);
        lines.push_str(&format!("[{seconds}.{micros:06}, \"{code}\", {}]\n", json!(data)));
    }
    lines.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::cast::{CastHeader, CastWriter};

    #[test]
    fn events_have_absolute_times() {
        let mut cast = CastHeader::new(80, 24).line().into_bytes();
        let mut writer = CastWriter::new();
        writer.output(500_000, "ä\r\n\x1b[m".as_bytes(), &mut cast);
        writer.output(2_000_001, b"\"b\"", &mut cast);
        writer.finish(&mut cast);
        let text = String::from_utf8(version_2(&cast)).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0], json!({"version": 2, "width": 80, "height": 24}));
        assert_eq!(lines[1..], [json!([0.5, "o", "ä\r\n\u{1b}[m"]), json!([2.000001, "o", "\"b\""])]);
        assert_eq!(version_2(b"nothing"), b"");
    }

    #[test]
    fn a_converted_recording_reads_back() {
        let mut cast = CastHeader::new(9, 3).line().into_bytes();
        let mut writer = CastWriter::new();
        for n in 0..50u64 {
            writer.output(n * 333_333, format!("{n}\r\n").as_bytes(), &mut cast);
        }
        writer.finish(&mut cast);
        let load = |cast: &[u8]| crate::recording::timeline::Timeline::load(cast).unwrap();
        let (before, after) = (load(&cast), load(&version_2(&cast)));
        assert_eq!(before.duration_us(), after.duration_us());
        assert_eq!(before.events().len(), after.events().len());
    }
}
