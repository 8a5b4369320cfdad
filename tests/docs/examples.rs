//! Policies and scripts that documents show.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use guard_tests::{World, ended, ended_with_input, guard};

use crate::documents::{document, documents};

/// Where a piece of a policy may stand: what is before it, and behind it.
const CONTEXTS: [(&str, &str); 7] = [
    ("", ""),
    (r#""permissions": {"#, "}"),
    (r#""permissions": {"filesystem": {"#, "}}"),
    (r#""permissions": {"filesystem": {"rules": {"#, "}}}"),
    (r#""exec": {"#, "}"),
    (r#""approvals": {"#, "}"),
    (r#""audit": {"#, "}"),
];

/// Pieces that are no policy's: OpenClaw's own, and lines of others.
const OTHERS: [&str; 5] =
    [r#"{"type":"request""#, r#"{"prev":"#, r#""tools": "#, r#""operation": "#, r#""type":"#];

/// What is wrong with a policy.
fn problems(world: &World, text: &str) -> Option<String> {
    let mut validate = Command::new(guard());
    validate.args(["policy", "validate", "-"]).env("HOME", world.home()).current_dir(world.work());
    let said = ended_with_input(&mut validate, text.as_bytes());
    (said.status != 0).then(|| format!("{text}\n{}{}", said.stdout, said.stderr))
}

/// What of a whole policy's own examples does not hold.
fn disproved(world: &World, text: &str) -> Option<String> {
    if !text.trim_start().starts_with('{') || !text.contains("\"examples\"") {
        return None;
    }
    let policy = world.write("tried.json", text);
    let mut test = Command::new(guard());
    test.args(["policy", "test"]).arg(policy).env("HOME", world.home()).current_dir(world.work());
    let said = ended(&mut test);
    (said.status != 0).then(|| format!("{}{}", said.stdout, said.stderr))
}

#[test]
fn every_policy_is_one() {
    let world = World::bare();
    let (mut wrong, mut right) = (Vec::new(), 0);
    for document in documents() {
        let blocks = document.blocks().into_iter().filter(|block| block.language.starts_with("json"));
        let blocks = blocks.map(|block| (block.line, block.text));
        let inline =
            document.inline().into_iter().filter(|(_, text)| text.starts_with('"') && text.contains("\": "));
        for (line, text) in blocks.chain(inline) {
            if OTHERS.iter().any(|other| text.starts_with(other)) || text.contains('…') {
                continue;
            }
            let is_whole = text.trim_start().starts_with('{');
            let whole =
                |(before, behind): (&str, &str)| format!("{{\"version\": 1, {before}{text}{behind}}}");
            let problem = if is_whole {
                problems(&world, &text)
            } else {
                let tried: Vec<_> =
                    CONTEXTS.into_iter().map_while(|context| problems(&world, &whole(context))).collect();
                (tried.len() == CONTEXTS.len()).then(|| tried.concat())
            };
            wrong.extend(disproved(&world, &text).map(|why| format!("{}:{line}: {why}", document.name)));
            match problem {
                Some(problem) => wrong.push(format!("{}:{line}: {problem}", document.name)),
                None => right += 1,
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right > 8, "{right} policies");
}

/// docs/approvals.md: the script that shows a notification, by notify-send.
#[test]
fn the_notification_script_shows_what_is_asked() {
    let script = document("docs/approvals.md").blocks().into_iter().find(|block| block.language == "sh");
    let script = script.expect("a script").text;
    let world = World::bare();
    for (name, text) in [("bin/notify-send", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), ("bin/notify", &script)] {
        let path = world.write(name, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("to change a mode");
    }
    let bin = world.root().join("bin");
    let mut notify = Command::new(bin.join("notify"));
    notify.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let said = ended_with_input(&mut notify, br#"{"resolvedPath": "/usr/bin/curl", "more": 0}"#);
    assert_eq!(said.stdout, "the guard asks\n/usr/bin/curl\n", "{said:?}");
}
