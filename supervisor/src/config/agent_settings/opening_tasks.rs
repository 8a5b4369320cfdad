//! VS Code's tasks that start by themselves when a folder is opened, with the tasks that they depend on. The other
//! tasks are the work itself.

use std::collections::BTreeSet;

use serde_json::Value;

/// The value of `runOn` in a task that starts when a folder is opened.
const ON_OPENING: &str = "folderopen";

/// Whether a text mentions this value, in any case.
pub fn mentions_opening(text: &str) -> bool {
    text.to_ascii_lowercase().contains(ON_OPENING)
}

fn is_on_opening(when: &str) -> bool {
    when.eq_ignore_ascii_case(ON_OPENING)
}

/// The systems for which settings may have tasks of their own (VS Code, taskConfiguration.ts).
const SYSTEMS: [&str; 3] = ["linux", "osx", "windows"];

/// Of the tasks in settings, keeps only those that start when a folder is opened, and those that they depend on. If no
/// task is left, removes everything.
pub fn keep_opening(settings: &mut Value) {
    let of_system = SYSTEMS.map(|system| settings.get(system).and_then(|own| own.get("tasks")));
    let lists: Vec<_> = [settings.get("tasks")].into_iter().chain(of_system).flatten().collect();
    // If the tasks are not a list, their meaning is unknown, so everything counts.
    if lists.is_empty() || lists.iter().any(|list| !list.is_array()) {
        return;
    }
    let mut tasks: Vec<Value> = lists.into_iter().filter_map(Value::as_array).flatten().cloned().collect();
    let name = |task: &Value| {
        ["label", "taskName", "identifier"]
            .into_iter()
            .find_map(|key| task.get(key)?.as_str())
            .map(str::to_owned)
    };
    let is_opening =
        |task: &Value| task.pointer("/runOptions/runOn").and_then(Value::as_str).is_some_and(is_on_opening);
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
    tasks.retain(|_| meant.next().unwrap_or_default());
    for system in SYSTEMS {
        settings.get_mut(system).and_then(|own| own.get_mut("tasks")).map(Value::take);
    }
    settings["tasks"] = Value::Array(tasks);
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
        let mut own = json!({"tasks": [{"label": "a"}], "linux": {"tasks": [
            {"label": "b", "runOptions": {"runOn": "folderOpen"}, "dependsOn": "a"}]}});
        keep_opening(&mut own);
        assert_eq!(own["tasks"].as_array().unwrap().len(), 2, "{own}");
        let mut none = json!({"command": "x", "tasks": [{"label": "e"}], "linux": {"tasks": []}});
        keep_opening(&mut none);
        assert_eq!(none, Value::Null);
        let unknown = json!({"tasks": {"command": "x"}, "linux": {"tasks": []}});
        let mut kept = unknown.clone();
        keep_opening(&mut kept);
        assert_eq!(kept, unknown);
    }
}
