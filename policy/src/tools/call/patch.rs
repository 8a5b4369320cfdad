//! The paths in the envelope of `apply_patch`.
//!
//! The grammar is that of OpenClaw 2026.9.6 (`src/agents/apply-patch.ts`), and stricter: a line that looks like a
//! header counts as one wherever it is, because another release may read it as one.

use super::malformed::MalformedCall;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const HEADERS: [&str; 4] = ["*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "];
const END_OF_FILE: &str = "*** End of File";
/// The lines around a patch that is written as a shell's here-document.
const HEREDOCS: [&str; 3] = ["<<EOF", "<<'EOF'", "<<\"EOF\""];

/// The paths, in order.
///
/// # Errors
/// What is wrong with the patch.
pub(super) fn paths(input: &str) -> Result<Vec<String>, MalformedCall> {
    let wrong = |line: usize, why: &'static str| MalformedCall::Patch { line: line + 1, why };
    // OpenClaw trims the text and splits it at CR LF or LF; a lone CR does not end a line for it, but may for other
    // releases.
    let text = input.trim();
    let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    if let Some(at) = lines.iter().position(|line| line.contains(['\r', '\0', '\u{2028}', '\u{2029}'])) {
        return Err(wrong(at, "it has a character that ends lines for some programs only"));
    }
    let (first, last) = match &lines[..] {
        [first, .., last] if HEREDOCS.contains(first) && last.ends_with("EOF") => (1, lines.len() - 1),
        _ => (0, lines.len()),
    };
    let body = &lines[first..last];
    let [begin, inner @ .., end] = body else { return Err(wrong(0, "it is too short")) };
    if begin.trim() != BEGIN {
        return Err(wrong(first, "it must begin with \"*** Begin Patch\""));
    }
    if end.trim() != END {
        return Err(wrong(last - 1, "it must end with \"*** End Patch\""));
    }
    let mut paths = Vec::new();
    for (index, line) in inner.iter().enumerate() {
        let at = first + 1 + index;
        // Added, removed and kept lines are content. But the blank that marks a kept line may also be a header's
        // indentation.
        let header = line.trim();
        if line.starts_with(['+', '-']) || !header.starts_with("***") {
            continue;
        }
        match HEADERS.iter().find_map(|marker| header.strip_prefix(marker)) {
            Some(path) if path.trim().is_empty() => return Err(wrong(at, "a path is missing")),
            Some(path) => paths.push(path.to_owned()),
            None if header == END_OF_FILE => {}
            // Content of a file: OpenClaw takes it for that, or refuses the patch.
            None if line.starts_with(' ') => {}
            None => return Err(wrong(at, "it is no header that is known")),
        }
    }
    let is_header = |line: &&str| HEADERS[..3].iter().any(|marker| line.trim().starts_with(marker));
    match inner.iter().find(|line| !line.trim().is_empty()) {
        Some(line) if is_header(line) => Ok(paths),
        Some(_) => Err(wrong(first + 1, "it must begin with a file")),
        None => Err(wrong(first + 1, "it names no file")),
    }
}
