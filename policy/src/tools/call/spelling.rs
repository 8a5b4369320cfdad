//! The paths that a text may stand for.
//!
//! OpenClaw changes the text before it opens a file, and each release a little differently (2026.9.6:
//! `src/agents/sessions/tools/path-utils.ts`, `src/agents/agent-tools.params.ts`, `src/agents/sandbox-paths.ts`; 2026.7.35: the
//! latter). So every combination of the changes counts, and the strictest verdict decides.

use url::Url;

/// The most spellings of one text. A text with more is denied as a whole.
const MAX_SPELLINGS: usize = 256;

/// The maximum length of a text in bytes: four times the kernel's PATH_MAX, because characters may be escaped.
const MAX_LENGTH: usize = 16 << 10;

/// Blanks that OpenClaw turns into spaces.
fn is_odd_space(one: char) -> bool {
    matches!(one, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// The absolute paths that a text may stand for, with `.` and `..` still in them. `None` if they cannot be found out.
/// `home` is what `~` stands for; each of `bases` may be the current directory.
pub fn spellings(text: &str, home: &[u8], bases: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    if text.contains('\0') || text.len() > MAX_LENGTH {
        return None;
    }
    let mut forms = vec![text.to_owned()];
    let mut at = 0;
    while at < forms.len() {
        for changed in changes(&forms[at]) {
            if !forms.contains(&changed) {
                forms.push(changed);
            }
        }
        if forms.len() > MAX_SPELLINGS {
            return None;
        }
        at += 1;
    }
    let mut paths = Vec::new();
    for form in &forms {
        for path in absolute(form, home, bases)? {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    Some(paths)
}

/// A text after each single change.
fn changes(text: &str) -> Vec<String> {
    let mut changed = Vec::new();
    changed.extend(text.strip_prefix('@').map(str::to_owned));
    if text.contains(is_odd_space) {
        changed.push(text.chars().map(|one| if is_odd_space(one) { ' ' } else { one }).collect());
    }
    let trimmed = text.trim();
    if trimmed != text {
        changed.push(trimmed.to_owned());
    }
    // `</arg_value>>` at the end, as some models write it.
    let cut = text.trim_end_matches('>');
    if let Some(path) = cut.strip_suffix("</arg_value").filter(|_| text.len() > cut.len() + 1) {
        changed.push(path.to_owned());
    }
    changed.extend(office(text));
    changed.extend(linked(text));
    changed
}

/// `.docodex` and the like, which OpenClaw takes for `.docx`.
fn office(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    ["odex", "codex", "xodex", "xcodex"].iter().find_map(|tail| {
        let family =
            [".doc", ".ppt", ".xls"].iter().find(|kind| lower.ends_with(&format!("{kind}{tail}")))?;
        let stem = &text[..text.len() - tail.len() - family.len()];
        Some(format!("{stem}{family}x"))
    })
}

/// The path of a `file:` URL, with its escapes decoded.
fn linked(text: &str) -> Vec<String> {
    let is_link = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let path =
        is_link.then(|| Url::parse(text).ok()?.to_file_path().ok()?.into_os_string().into_string().ok());
    let bare = is_link.then(|| text[5..].trim_start_matches("//").to_owned());
    path.flatten().into_iter().chain(bare).collect()
}

fn absolute(text: &str, home: &[u8], bases: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let below = |base: &[u8], rest: &str| [base, b"/", rest.as_bytes()].concat();
    if text.starts_with('/') {
        return Some(vec![text.as_bytes().to_vec()]);
    }
    // The path that is meant comes first, because of equal decisions the first is shown.
    let at_home = match text.strip_prefix('~') {
        Some("") => Some(home.to_vec()),
        Some(rest) if rest.starts_with(['/', '\\']) => Some(below(home, &rest[1..])),
        _ => None,
    };
    let paths: Vec<_> = at_home.into_iter().chain(bases.iter().map(|base| below(base, text))).collect();
    // Without a base, a relative path may be anywhere.
    (!paths.is_empty()).then_some(paths)
}
