//! Codex's own configuration by key: which changes of `~/.codex/config.toml` run nothing.
//!
//! Codex notes there which of its hints it has shown, and which model was chosen. It writes a new file and renames it. The
//! keys of the table below may come, go and change. All others must stay as they are. Nothing here reads a file.
//!
//! The table follows the configuration reference of Codex 0.169. Left out on purpose are keys that start a program (`notify`,
//! `mcp_servers`, `hooks`), that trust a project's own settings (`projects.*.trust_level`), that choose a host
//! (`model_provider`), and that hide a warning (`notice.hide_full_access_warning`).

use std::collections::{BTreeMap, BTreeSet};

use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::text::shown;
use crate::toml_bounds;

/// The path of the configuration below the home.
pub(crate) const PATH: &[u8] = b"/.codex/config.toml";

/// The longest configuration that is compared.
const MAX_BYTES: usize = 1 << 20;
/// How deeply nested values are compared: deeper than Codex reads. The parser recurses for each level, on a small stack.
const MAX_NESTING: usize = 16;
/// How many values are compared.
const MAX_VALUES: usize = 20_000;
/// The longest text of a key that runs nothing.
const MAX_TEXT: usize = 200;

/// The values that a key may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SafeValues {
    Bool,
    Number,
    Text,
    OneOf(&'static [&'static str]),
}

const EFFORTS: SafeValues = SafeValues::OneOf(&["none", "minimal", "low", "medium", "high", "xhigh"]);

/// The keys that run nothing; `*` stands for any name.
const SAFE: &[(&[&str], SafeValues)] = &[
    (&["model"], SafeValues::Text),
    (&["model_reasoning_effort"], EFFORTS),
    (&["plan_mode_reasoning_effort"], EFFORTS),
    (&["model_verbosity"], SafeValues::OneOf(&["low", "medium", "high"])),
    (&["personality"], SafeValues::OneOf(&["none", "friendly", "pragmatic"])),
    (&["tui", "screen_reader_detection_done"], SafeValues::Bool),
    (&["tui", "animations"], SafeValues::Bool),
    (&["tui", "show_tooltips"], SafeValues::Bool),
    (&["tui", "model_availability_nux", "*"], SafeValues::Number),
    (&["notice", "hide_rate_limit_model_nudge"], SafeValues::Bool),
    (&["notice", "hide_gpt5_1_migration_prompt"], SafeValues::Bool),
    (&["notice", "hide_gpt-5.1-codex-max_migration_prompt"], SafeValues::Bool),
    (&["notice", "fast_default_opt_out"], SafeValues::Bool),
    (&["notice", "model_migrations", "*"], SafeValues::Text),
];

/// A value, however it is written.
#[derive(Debug, PartialEq)]
enum TomlValue {
    Table(BTreeMap<String, TomlValue>),
    List(Vec<TomlValue>),
    Bool(bool),
    Number(i64),
    Text(String),
    /// A fraction, or a time.
    Other(String),
}

/// Returns the names of the keys that were added, changed or removed, if all of them run nothing. `None` if any other
/// key changes, or if one of the two configurations cannot be read.
pub(crate) fn changed_keys(old: &[u8], new: &[u8]) -> Option<Vec<String>> {
    let (before, after) = (SortedConfig::read(old)?, SortedConfig::read(new)?);
    if before.others != after.others {
        return None;
    }
    let names: BTreeSet<_> = before.safe.keys().chain(after.safe.keys()).collect();
    let changed = names.into_iter().filter(|name| before.safe.get(*name) != after.safe.get(*name));
    Some(changed.map(|name| shown(name.as_bytes())).collect())
}

/// A configuration, sorted by what a key can do.
struct SortedConfig {
    /// The keys that run nothing, by their whole names.
    safe: BTreeMap<String, TomlValue>,
    others: BTreeMap<String, TomlValue>,
}

impl SortedConfig {
    fn read(text: &[u8]) -> Option<SortedConfig> {
        let text = str::from_utf8(text).ok().filter(|text| text.len() <= MAX_BYTES)?;
        toml_bounds::count(text, MAX_NESTING).filter(|values| *values <= MAX_VALUES)?;
        let document: DocumentMut = text.parse().ok()?;
        let mut config = SortedConfig { safe: BTreeMap::new(), others: of_table(document.as_table())? };
        take_safe(&mut config.others, &[], &mut config.safe);
        Some(config)
    }
}

/// Moves the keys of a table that run nothing to `safe`. Drops a table above such keys if nothing else is left in it.
fn take_safe(
    table: &mut BTreeMap<String, TomlValue>,
    above: &[&str],
    safe: &mut BTreeMap<String, TomlValue>,
) {
    for (key, mut node) in std::mem::take(table) {
        let path = [above, &[&key]].concat();
        if let TomlValue::Table(below) = &mut node {
            take_safe(below, &path, safe);
            if below.is_empty() && SAFE.iter().any(|(key, _)| key.len() > path.len() && begins(key, &path)) {
                continue;
            }
        }
        if SAFE.iter().any(|(key, values)| key.len() == path.len() && begins(key, &path) && values.has(&node))
        {
            safe.insert(path.join("."), node);
        } else {
            table.insert(key, node);
        }
    }
}

/// Whether a key of [`SAFE`] is at a path or below it.
fn begins(key: &[&str], path: &[&str]) -> bool {
    key.len() >= path.len() && key.iter().zip(path).all(|(name, there)| *name == "*" || name == there)
}

impl SafeValues {
    fn has(self, node: &TomlValue) -> bool {
        match (self, node) {
            (SafeValues::Bool, TomlValue::Bool(_)) => true,
            (SafeValues::Number, TomlValue::Number(number)) => u32::try_from(*number).is_ok(),
            (SafeValues::OneOf(names), TomlValue::Text(text)) => names.contains(&text.as_str()),
            (SafeValues::Text, TomlValue::Text(text)) => {
                text.len() <= MAX_TEXT && !text.chars().any(char::is_control)
            }
            _ => false,
        }
    }
}

fn of_table(table: &dyn TableLike) -> Option<BTreeMap<String, TomlValue>> {
    table.iter().map(|(key, item)| Some((key.to_owned(), of_item(item)?))).collect()
}

fn of_item(item: &Item) -> Option<TomlValue> {
    match item {
        Item::None => None,
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table).map(TomlValue::Table),
        Item::ArrayOfTables(tables) => {
            let tables = tables.iter().map(|table| of_table(table).map(TomlValue::Table));
            tables.collect::<Option<_>>().map(TomlValue::List)
        }
    }
}

fn of_value(value: &Value) -> Option<TomlValue> {
    Some(match value {
        Value::String(text) => TomlValue::Text(text.value().clone()),
        Value::Integer(number) => TomlValue::Number(*number.value()),
        Value::Boolean(value) => TomlValue::Bool(*value.value()),
        Value::Float(number) => TomlValue::Other(number.value().to_string()),
        Value::Datetime(time) => TomlValue::Other(time.value().to_string()),
        Value::Array(values) => TomlValue::List(values.iter().map(of_value).collect::<Option<_>>()?),
        Value::InlineTable(table) => TomlValue::Table(of_table(table)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "model = \"a\"\nnotify = [\"x\"]\n[mcp_servers.x]\ncommand = \"x\"\nstartup_timeout_sec = 1.5\n\
        [projects.\"/w\"]\ntrust_level = \"trusted\"\n";

    fn judged(old: &str, new: &str) -> Option<String> {
        changed_keys(old.as_bytes(), new.as_bytes()).map(|names| names.join(" "))
    }

    fn with(more: &str) -> Option<String> {
        judged(OLD, &format!("{OLD}{more}"))
    }

    #[test]
    fn keys_that_run_nothing_come_change_and_go() {
        for (more, names) in [
            ("", ""),
            ("# a comment\n\n", ""),
            ("[tui]\nscreen_reader_detection_done = true\n", "tui.screen_reader_detection_done"),
            ("[tui]\n[tui.model_availability_nux]\n\"gpt-5.5\" = 4\n", "tui.model_availability_nux.gpt-5.5"),
            ("[notice.model_migrations]\n\"gpt-5\" = \"gpt-5.5\"\n", "notice.model_migrations.gpt-5"),
            (
                "[notice]\n\"hide_gpt-5.1-codex-max_migration_prompt\" = true\n",
                "notice.hide_gpt-5.1-codex-max_migration_prompt",
            ),
        ] {
            assert_eq!(with(more).as_deref(), Some(names), "{more}");
            assert_eq!(judged(&format!("{OLD}{more}"), OLD).as_deref(), Some(names), "without {more}");
        }
        assert_eq!(judged(OLD, &OLD.replace("\"a\"", "\"b\"")).as_deref(), Some("model"));
        // The spelling of values and the order of tables make no difference.
        let turned = "notify = ['x']\nprojects.'/w'.trust_level = 'trusted'\nmodel = 'a'\n\
            mcp_servers = { x = { startup_timeout_sec = 1.50, command = 'x' } }\n";
        assert_eq!(judged(OLD, turned).as_deref(), Some(""));
    }

    #[test]
    fn all_other_keys_stay() {
        for more in [
            "[mcp_servers.y]\ncommand = \"y\"\n",
            "[mcp_servers.x.env]\nA = \"b\"\n",
            "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\n",
            "[projects.\"/v\"]\ntrust_level = \"trusted\"\n",
            "[model_providers.x]\nbase_url = \"http://h\"\n",
            "[notice]\nhide_full_access_warning = true\n",
            "[tui]\nscreen_reader_detection_done = \"true\"\n",
            "[tui]\nscreen_reader_detection_done = { a = 1 }\n",
            "[tui]\nunheard = true\n",
            "[tui.model_availability_nux]\nx = -1\n",
            "[tui.\"animations\"]\n",
            "[[tui]]\nanimations = true\n",
            "[\"tui.model_availability_nux\"]\nx = 1\n",
            "[notice.model_migrations]\nx = \"a\\nb\"\n",
            "[notice.model_migrations.x]\ny = \"a\"\n",
            "[profiles.x]\nmodel = \"a\"\n",
            "[unheard]\n",
            "[tui]\nanimations = true\n[tui]\nanimations = true\n",
            "[tui\n",
            "x = 1979-05-27\n",
        ] {
            assert_eq!(with(more), None, "{more}");
            assert_eq!(judged(&format!("{OLD}{more}"), OLD), None, "without {more}");
        }
        for (was, is) in [
            ("[\"x\"]", "\"x\""),
            ("[\"x\"]", "[\"x\", \"y\"]"),
            ("1.5", "\"1.5\""),
            ("trusted", "untrusted"),
        ] {
            assert_eq!(judged(OLD, &OLD.replace(was, is)), None, "{is}");
        }
        assert_eq!(changed_keys(b"", b"model = \"\xff\"\n"), None);
    }

    #[test]
    fn what_is_too_large_is_not_compared() {
        let list = |depth: usize| format!("x = {}1{}\n", "[".repeat(depth), "]".repeat(depth));
        let inline = |depth: usize| format!("x = {}1{}\n", "{a=".repeat(depth), "}".repeat(depth));
        let dotted = |depth: usize| format!("x{} = 1\n", ".a".repeat(depth));
        let compare = move || {
            for text in [list(16), inline(16), dotted(16), inline(8) + &format!("[y{}]\n", ".a".repeat(15))] {
                assert_eq!(judged(&text, &text).as_deref(), Some(""), "{text}");
            }
            for text in [list(17), inline(17), dotted(17), list(100_000), inline(100_000), dotted(100_000)] {
                assert_eq!(judged(&text, &text), None, "{} bytes", text.len());
            }
            for text in ["#".repeat(MAX_BYTES + 1), "a.b = 1\n".repeat(MAX_VALUES)] {
                assert_eq!(judged(&text, &text), None, "{} bytes", text.len());
            }
        };
        // The supervisor compares on the stack of a worker.
        std::thread::Builder::new().stack_size(256 << 10).spawn(compare).unwrap().join().unwrap();
    }
}
