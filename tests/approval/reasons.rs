//! An entry, a carrier, a safe bin or a skill that names a program and does not count: the question, the denial, the log,
//! `check` and `why` have the same sentence, which says why.

use guard_tests::{Ended, World, ended};
use serde_json::Value;

use crate::world::{executable, path};

const POLICY: &str = r#"{"version": 1,
    "exec": {"ask": "on-miss", "timeoutMs": 100000, "carriers": ["env"], "autoAllowSkills": true,
        "skills": {"bins": [{"name": "skill", "resolvedPath": "@/work/skill"}]}},
    "agents": {"main": {"allowlist": [{"pattern": "named"}, {"pattern": "/usr/bin/seq", "argPattern": "^1$"},
        {"pattern": "/usr/bin/printenv", "argPattern": "sha256:cwd-argv:v1:0"}, {"pattern": "nproc"}]}},
    "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "@/other/**": "r-x"}, "default": "---"}}}"#;

fn json(world: &World, words: &[&str]) -> Value {
    let Ended { stdout, stderr, .. } = ended(world.command().args(words));
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {stdout}{stderr}"))
}

#[test]
fn every_face_says_why_what_names_a_program_does_not_count() {
    let world = World::bare().policy(POLICY).attended();
    for name in ["work/env", "work/head", "work/skill", "work/named", "other/head"] {
        executable(&world.write(name, std::fs::read("/bin/true").expect("a program")));
    }
    let [work, other] = ["work", "other"].map(|name| path(&world, name));
    let may_write = format!(
        "does not count: the guarded tree may write it (permissions.filesystem.rules \"{work}/**\": \"rwx\")"
    );
    for (argv, clause) in [
        (vec![format!("{work}/env")], format!("exec.carriers names it, but {may_write}")),
        (vec![format!("{work}/skill")], format!("exec.skills.bins[0] names it, but {may_write}")),
        (vec![format!("{work}/named")], format!("agents.main.allowlist[0] names it, but {may_write}")),
        (
            vec!["seq".into(), "2".into()],
            "agents.main.allowlist[1] names it, but with other arguments".into(),
        ),
        (
            vec!["printenv".into(), "HOME".into()],
            "agents.main.allowlist[2] names it, but with other arguments or in another directory, or by another name"
                .into(),
        ),
        (
            vec!["/usr/bin/nproc".into()],
            "agents.main.allowlist[3] names it, but applies only if it is started by its bare name".into(),
        ),
        (vec![format!("{other}/head")], "\"head\" is a safe bin, but only in exec.safeBinTrustedDirs".into()),
        (vec!["head".into(), "f".into()], "\"head\" is a safe bin, but not with these arguments".into()),
    ] {
        let text = format!("the program is not in the allowlist: {clause}");
        let words: Vec<&str> =
            ["check", "--json", "--"].into_iter().chain(argv.iter().map(String::as_str)).collect();
        assert_eq!(json(&world, &words)["because"]["text"], text, "{argv:?}: check");

        let held = world.start(&argv);
        let asked = world.wait_for(1).remove(0);
        assert_eq!(asked["because"]["text"], text, "{argv:?}: the question");
        assert!(asked["because"]["rule"].as_str().is_some_and(|rule| rule.ends_with(&clause)), "{asked}");
        let list = world.approvals(&["list"]).stdout;
        assert!(list.contains(&format!("  because   {text}\n")), "{argv:?}: the card: {list}");
        world.resolve(&asked, "deny");
        let ended = held.end();
        assert!(ended.stderr.contains(&clause), "{argv:?}: the line: {}", ended.stderr);

        // A shell's search along PATH may repeat the call, which is then denied without a question.
        let line = json(&world, &["audit", "tail", "--denied", "--json", "-n", "1"]);
        let logged = line["because"]["text"].as_str().unwrap_or_default();
        assert!(logged.starts_with(&format!("{text}; ")), "{argv:?}: the log: {logged}");
        let why = json(&world, &["why", "--json", "--last"]);
        assert_eq!(why["now"]["because"]["text"], text, "{argv:?}: why");
    }
}
