//! The page contains the recording, plays it, and never treats output of a program as markup.

use super::*;
use crate::core::cast::CastEventKind;
use crate::recording::timeline_tests::{cast, output};

fn trace(cast: Vec<u8>) -> TracePage {
    TracePage { title: "a </title><script>alert(1)</script> & b".to_owned(), cast, ..TracePage::default() }
}

fn data_of(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn the_recording_can_be_read_from_its_page() {
    let mut bytes = cast(&[(0, output("</script><script>alert(1)</script>")), (5, output("\u{6f22}"))]);
    bytes.extend_from_slice(b"# </script> \xff\n");
    let page = page(&trace(bytes.clone())).unwrap();
    assert_eq!(cast_of_page(page.as_bytes()), Some(bytes));
    assert_eq!(cast_of_page(b"<!doctype html><p>"), None);
    assert_eq!(cast_of_page(b"{\"version\": 3}"), None);
}

#[test]
fn output_of_a_program_is_never_markup() {
    let events = [
        (
            0,
            output(
                "</script><script>alert(1)</script><!--\x1b]8;;javascript:x\x07y\x1b]8;;http://z/\"<\x07z",
            ),
        ),
        (1, CastEventKind::Marker("</script>".to_owned())),
        (2, CastEventKind::Input(b"<!--\xff".to_vec())),
    ];
    let mut trace = trace(cast(&events));
    trace.steps.push(TraceStep {
        at_us: 1,
        line: "Type \"</script>\"".to_owned(),
        source: "<b>:1".to_owned(),
        outcome: TraceOutcome::Failed,
    });
    (trace.failure, trace.comparison) = (Some("<i>".to_owned()), Some("<u>".to_owned()));
    let page = page(&trace).unwrap();
    // Three scripts, one style, and no other tag.
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (3, 3));
    for tag in ["<!--", "<b>", "<i>", "<u>"] {
        assert!(!page.contains(tag), "{tag}");
    }
    let data = data_of(&page);
    assert_eq!(data["failure"], "<i>");
    let rows = data["rows"].to_string();
    assert!(rows.contains("\"</script><script>ale\"") && rows.contains("http://z/"), "{rows}");
    assert!(!page.contains("javascript:"), "a link that is no address");
}

#[test]
fn only_the_page_s_own_script_and_style_may_run() {
    let page = page(&trace(cast(&[(0, output("x"))]))).unwrap();
    let (_, policy) = page.split_once("content=\"default-src 'none'; ").unwrap();
    let policy = policy.split_once('"').unwrap().0;
    for (text, kind) in [(STYLE, "style-src"), (SCRIPT, "script-src")] {
        let hash = BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
        assert!(policy.contains(&format!("{kind} 'sha256-{hash}'")), "{policy}");
        assert!(page.contains(&format!(">{text}</")));
    }
    assert!(!policy.contains("unsafe") && !SCRIPT.contains("innerHTML") && !SCRIPT.contains("</"));
}

#[test]
fn frames_contain_only_changed_rows() {
    let page = page(&trace(cast(&[
        (0, output("\x1b[32mone\x1b[m\r\nstill")),
        (1000, output("\x1b[Htwo")),
        (2000, CastEventKind::Resize { cols: 20, rows: 2 }),
    ])))
    .unwrap();
    let data = data_of(&page);
    assert_eq!(data["frames"][0], json!([0.0, 20, [5, 1, "block"], 0, [1, 2, 0, 0, 0]]));
    assert_eq!(data["frames"][1], json!([1000.0, 20, [3, 0, "block"], 1, [0, 3]]));
    assert_eq!(data["frames"][2], json!([2000.0, 20, [3, 0, "block"], 0, [3, 2]]));
    assert_eq!(data["rows"][1], json!([["one", 0]]));
    assert_eq!(data["styles"][0], json!(["#31bb71", "", "", ""]));
    assert_eq!((&data["duration"], &data["damage"]), (&json!(2000.0), &Value::Null));
}
