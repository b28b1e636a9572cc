//! What stands in a document: words between backticks, and blocks.

/// What stands between backticks in a document, code blocks left out.
pub fn quoted(markdown: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut in_block = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            out.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    out
}

/// The lines of the fenced blocks of a kind: ```` ```json ````.
pub fn blocks(markdown: &str, kind: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        match line.strip_prefix("```") {
            Some(of) => inside = !inside && of == kind,
            None if inside => out.push(line.to_owned()),
            None => {}
        }
    }
    out
}
