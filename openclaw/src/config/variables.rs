//! The variables that texts of openclaw.json name (OpenClaw 2026.9.6, docs/gateway/config-secrets-env.md, "Environment").

use std::collections::HashMap;
use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use super::at;

/// The longest text that is made from another.
const MAX_LEN: usize = 1 << 16;

/// The variables of one origin.
type Variables = HashMap<String, String>;

/// Returns the configuration with the values of its variables, once for each value that a variable may have: the gateway's own
/// environment may be another than this one, and counts before the configuration and the file `.env` in `state`.
pub(super) fn expanded(config: &Value, state: &Path) -> Vec<Value> {
    let origins = [
        env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        of_config(config),
        of_file(&state.join(".env")),
    ];
    let mut found: Vec<Value> = Vec::new();
    for first in &origins {
        let value = |name: &str| {
            [first].into_iter().chain(&origins).find_map(|origin| origin.get(name)).map(String::as_str)
        };
        let with_values = with_values(config, &value);
        if !found.contains(&with_values) {
            found.push(with_values);
        }
    }
    found
}

/// The variables at `env.vars`, and those beside it.
fn of_config(config: &Value) -> Variables {
    let objects = ["env", "env.vars"].into_iter().filter_map(|key| at(config, key)?.as_object());
    objects.flatten().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn of_file(path: &Path) -> Variables {
    let Ok(text) = fs::read(path) else { return Variables::new() };
    dotenvy::from_read_iter(&*text).filter_map(Result::ok).collect()
}

/// Puts values in the place of `${NAME}` in each text.
fn with_values<'v>(config: &Value, value: &dyn Fn(&str) -> Option<&'v str>) -> Value {
    match config {
        Value::String(text) => Value::String(expand(text, value)),
        Value::Array(values) => values.iter().map(|one| with_values(one, value)).collect(),
        Value::Object(values) => {
            values.iter().map(|(key, one)| (key.clone(), with_values(one, value))).collect()
        }
        other => other.clone(),
    }
}

/// `$${NAME}` stands for `${NAME}` itself. What has no value stays.
fn expand<'v>(text: &str, value: &dyn Fn(&str) -> Option<&'v str>) -> String {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let named = after.split_once('}').filter(|_| whole.len() < MAX_LEN);
        whole.push_str(before);
        match (before.ends_with('$'), named.and_then(|(name, after)| Some((value(name)?, after)))) {
            (false, Some((value, after))) => {
                whole.push_str(value);
                rest = after;
            }
            (is_escaped, _) => {
                whole.truncate(whole.len() - usize::from(is_escaped));
                whole.push_str("${");
                rest = after;
            }
        }
    }
    whole + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_of_a_variable_counts() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join(".env"), "# a line\nexport A_ROOT='/file'\nOTHER=x\nHOME=/elsewhere\n")
            .unwrap();
        let config = serde_json::json!({
            "env": {"vars": {"A_ROOT": "/vars"}, "B_ROOT": "/beside"},
            "paths": ["${A_ROOT}/a", "${B_ROOT}/${OTHER}", "$${A_ROOT}", "${NO_SUCH_ROOT}/b${", "${HOME}"],
        });
        let found: Vec<Value> =
            expanded(&config, state.path()).iter().map(|one| one["paths"].clone()).collect();
        let home = env::var("HOME").unwrap();
        let own = |root: &str, home: &str| {
            serde_json::json!([format!("{root}/a"), "/beside/x", "${A_ROOT}", "${NO_SUCH_ROOT}/b${", home])
        };
        assert_eq!(found, [own("/vars", &home), own("/file", "/elsewhere")]);
    }

    #[test]
    fn values_do_not_grow_without_end() {
        let long = "x".repeat(MAX_LEN);
        let text = expand(&"${A}".repeat(1000), &|_| Some(&long));
        assert!(text.len() < 2 * MAX_LEN + 4000, "{}", text.len());
    }
}
