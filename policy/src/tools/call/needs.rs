//! Reads the parameters of a call.

use serde_json::{Map, Value};

use super::malformed::MalformedCall;
use super::patch;
use crate::Access;

/// Something that a call reaches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolNeed {
    /// A file or a directory, as the parameters spell it.
    File {
        /// The text.
        path: String,
        /// What is done with it.
        access: Access,
        /// Whether a name that does not exist may stand for a similar one that does, and whether everything below is
        /// read, too.
        reach: Reach,
    },
    /// A command for a shell on the gateway's host.
    Command {
        /// The text.
        text: String,
        /// The directory, if the call names one.
        directory: Option<String>,
    },
    /// A page of the Web.
    Url(String),
    /// The directory of a session that the call starts.
    SessionDirectory(String),
}

/// What a need covers beyond the path itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The path itself.
    Exact,
    /// If nothing is there, a similar name in the same directory (`read`).
    Similar,
    /// All that is below.
    Below,
}

/// How deep parameters may be nested.
const MAX_DEPTH: usize = 16;

/// The most files or addresses of a call.
const MAX_NEEDS: usize = 1000;

/// A file tool: what it does with its paths, and which of its other parameters are no paths.
struct FileTool {
    name: &'static str,
    access: Access,
    reach: Reach,
    /// Whether a call without a path means the current directory.
    has_default: bool,
    /// Parameters that hold other text.
    texts: &'static [&'static str],
}

/// The tools, of any release, whose parameters name files; also tools that only an agent's own runtime has.
const FILE_TOOLS: [FileTool; 6] = [
    FileTool { name: "read", access: Access::READ, reach: Reach::Similar, has_default: false, texts: &[] },
    FileTool { name: "ls", access: Access::READ, reach: Reach::Exact, has_default: true, texts: &["after"] },
    FileTool {
        name: "find",
        access: Access::READ,
        reach: Reach::Below,
        has_default: true,
        texts: &["pattern", "glob"],
    },
    FileTool {
        name: "grep",
        access: Access::READ,
        reach: Reach::Below,
        has_default: true,
        texts: &["pattern", "glob"],
    },
    FileTool {
        name: "write",
        access: Access::WRITE,
        reach: Reach::Exact,
        has_default: false,
        texts: &["content"],
    },
    FileTool {
        name: "edit",
        access: READ_AND_WRITE,
        reach: Reach::Exact,
        has_default: false,
        texts: &["edits", "oldText", "newText", "old_string", "new_string", "oldString", "newString"],
    },
];

/// An edit shows what is there.
const READ_AND_WRITE: Access = Access::READ.union(Access::WRITE);

/// What a call reaches for. `tool` is a name as policies write it. Empty for tools that the steps alone decide about.
///
/// # Errors
/// Why the parameters cannot be read; the call is to be denied.
pub fn needs(tool: &str, params: &Map<String, Value>) -> Result<Vec<ToolNeed>, MalformedCall> {
    let needs = of_tool(tool, params)?;
    if needs.len() > MAX_NEEDS { Err(MalformedCall::TooMany(MAX_NEEDS)) } else { Ok(needs) }
}

fn of_tool(tool: &str, params: &Map<String, Value>) -> Result<Vec<ToolNeed>, MalformedCall> {
    if let Some(known) = FILE_TOOLS.iter().find(|known| known.name == tool) {
        return of_file_tool(known, params);
    }
    match tool {
        "apply_patch" => of_patch(params),
        "exec" => Ok(vec![ToolNeed::Command {
            text: text(params, "command")?.ok_or(MalformedCall::NoText("command"))?.to_owned(),
            directory: text(params, "workdir")?.filter(|path| !path.is_empty()).map(str::to_owned),
        }]),
        "web_fetch" => {
            let url = text(params, "url")?.ok_or(MalformedCall::NoText("url"))?;
            let mut urls = vec![ToolNeed::Url(url.to_owned())];
            addresses(params, &["url", "extractMode"], &mut urls)?;
            Ok(urls)
        }
        "browser" | "web_search" => {
            let mut urls = Vec::new();
            addresses(params, &[], &mut urls)?;
            Ok(urls)
        }
        "sessions_spawn" => {
            let directory = text(params, "cwd")?.filter(|path| !path.is_empty());
            Ok(directory.map(|path| ToolNeed::SessionDirectory(path.to_owned())).into_iter().collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// A text, if it is there. Null counts as absent.
fn text<'p>(params: &'p Map<String, Value>, name: &'static str) -> Result<Option<&'p str>, MalformedCall> {
    match params.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(MalformedCall::NoText(name)),
    }
}

/// The path, and every other text that a release might take for one: other releases have other names for it.
fn of_file_tool(tool: &FileTool, params: &Map<String, Value>) -> Result<Vec<ToolNeed>, MalformedCall> {
    let need = |path: &str| ToolNeed::File { path: path.to_owned(), access: tool.access, reach: tool.reach };
    let mut paths = Vec::new();
    let others = params.iter().filter(|(name, _)| !tool.texts.contains(&name.as_str()));
    for (_, value) in others {
        texts(value, 0, &mut |text| paths.push(text.to_owned()))?;
    }
    match params.get("path") {
        Some(Value::String(_)) => {}
        None | Some(Value::Null) if tool.has_default => paths.push(".".to_owned()),
        // The names that older releases had.
        None if !paths.is_empty() => {}
        _ => return Err(MalformedCall::NoText("path")),
    }
    paths.sort();
    paths.dedup();
    Ok(paths.iter().map(|path| if path.is_empty() { need(".") } else { need(path) }).collect())
}

fn of_patch(params: &Map<String, Value>) -> Result<Vec<ToolNeed>, MalformedCall> {
    let input = text(params, "input")?.ok_or(MalformedCall::NoText("input"))?;
    let mut paths = patch::paths(input)?;
    for (_, value) in params.iter().filter(|(name, _)| *name != "input") {
        texts(value, 0, &mut |text| paths.push(text.to_owned()))?;
    }
    let need = |path| ToolNeed::File { path, access: READ_AND_WRITE, reach: Reach::Exact };
    Ok(paths.into_iter().map(need).collect())
}

/// Every text in a parameter that is, or might be taken for, an address.
fn addresses(
    params: &Map<String, Value>,
    but: &[&str],
    urls: &mut Vec<ToolNeed>,
) -> Result<(), MalformedCall> {
    let params = params.iter().filter(|(name, _)| !but.contains(&name.as_str()));
    let mut found = |name: &str, text: &str| {
        // A field of this name holds an address, whatever it looks like.
        if name.to_ascii_lowercase().ends_with("url") || has_scheme(text) {
            urls.push(ToolNeed::Url(text.to_owned()));
        }
    };
    params.into_iter().try_for_each(|(name, value)| fields(name, value, 0, &mut found))
}

/// Whether a text begins like a URL, as browsers read one: without white space and control characters before it.
fn has_scheme(text: &str) -> bool {
    let text = text.trim_start_matches(|one: char| one.is_whitespace() || one.is_control());
    let Some((scheme, _)) = text.split_once(':') else { return false };
    let scheme: String = scheme.chars().filter(|one| !one.is_control()).collect();
    let known = ["http", "https", "file", "ftp", "ws", "wss", "chrome", "view-source", "blob", "filesystem"];
    known.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Calls `found` with each text in a value, and in what it contains.
fn texts(value: &Value, depth: usize, found: &mut impl FnMut(&str)) -> Result<(), MalformedCall> {
    fields("", value, depth, &mut |_: &str, text: &str| found(text))
}

/// Calls `found` with each text in a value, and in what it contains, and with the name of its field.
fn fields(
    name: &str,
    value: &Value,
    depth: usize,
    found: &mut impl FnMut(&str, &str),
) -> Result<(), MalformedCall> {
    if depth > MAX_DEPTH {
        return Err(MalformedCall::Nested);
    }
    match value {
        Value::String(text) => found(name, text),
        Value::Array(all) => all.iter().try_for_each(|one| fields(name, one, depth + 1, found))?,
        Value::Object(all) => all.iter().try_for_each(|(name, one)| fields(name, one, depth + 1, found))?,
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}
