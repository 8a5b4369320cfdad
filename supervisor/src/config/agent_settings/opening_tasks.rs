//! The tasks of VS Code's that start by themselves where a folder is opened, with those that they depend on. The others
//! are the work itself.

use std::collections::BTreeSet;

use serde_json::Value;

/// What such a task has.
pub const ON_OPENING: &str = "folderOpen";

/// Removes the other tasks from a list of tasks with what is around it.
pub fn keep_opening(settings: &mut Value) {
    let Some(tasks) = settings.get("tasks").and_then(Value::as_array) else { return };
    let name = |task: &Value| {
        ["label", "taskName", "identifier"]
            .into_iter()
            .find_map(|key| task.get(key)?.as_str())
            .map(str::to_owned)
    };
    let is_opening = |task: &Value| {
        task.pointer("/runOptions/runOn").and_then(Value::as_str).is_some_and(|when| when == ON_OPENING)
    };
    let mut meant: Vec<bool> = tasks.iter().map(is_opening).collect();
    let mut left: Vec<usize> = (0..tasks.len()).filter(|at| meant[*at]).collect();
    let names: Vec<Option<String>> = tasks.iter().map(name).collect();
    if left.is_empty() {
        *settings = Value::Null;
        return;
    }
    while let Some(at) = left.pop() {
        let mut needed = BTreeSet::new();
        tasks[at].get("dependsOn").into_iter().for_each(|needs| add_names(needs, &mut needed));
        for other in 0..tasks.len() {
            let is_needed = names[other].as_ref().is_some_and(|name| needed.contains(name));
            if is_needed && !meant[other] {
                meant[other] = true;
                left.push(other);
            }
        }
    }
    let mut meant = meant.into_iter();
    if let Some(tasks) = settings.get_mut("tasks").and_then(Value::as_array_mut) {
        tasks.retain(|_| meant.next().unwrap_or_default());
    }
}

fn add_names(needs: &Value, names: &mut BTreeSet<String>) {
    match needs {
        Value::String(name) => names.extend([name.clone()]),
        Value::Array(all) => all.iter().for_each(|one| add_names(one, names)),
        Value::Object(one) => {
            ["task", "label"].iter().filter_map(|key| one.get(*key)).for_each(|one| add_names(one, names))
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_starts_on_opening_is_kept() {
        let mut settings = json!({"command": "x", "tasks": [
            {"label": "a", "runOptions": {"runOn": "folderOpen"}, "dependsOn": ["b", {"task": "c"}]},
            {"label": "b", "dependsOn": "d"}, {"taskName": "c"}, {"label": "d", "dependsOn": "a"}, {"label": "e"}]});
        keep_opening(&mut settings);
        let labels: Vec<_> =
            settings["tasks"].as_array().unwrap().iter().map(|task| task.get("label")).collect();
        assert_eq!(labels.len(), 4, "{labels:?}");
        let mut none = json!({"command": "x", "tasks": [{"label": "e"}]});
        keep_opening(&mut none);
        assert_eq!(none, Value::Null);
    }
}
