//! The output: as JSON, and as text.

use std::process::Command;

use guard_tests::{World, ended, program_text};

use super::found::Found;

#[test]
fn every_finding_has_the_same_shape() {
    let world = World::bare();
    let found = Found::of(&world);
    let sections = ["kernel", "enforcement", "policy", "host", "openclaw"];
    let mut at = 0;
    for one in &found.all {
        let one = one.as_object().expect("an object");
        for key in one.keys() {
            assert!(["section", "state", "name", "text", "fix"].contains(&key.as_str()), "{key}");
        }
        let section = one["section"].as_str().expect("a word");
        let index = sections.iter().position(|known| *known == section).expect("a section");
        assert!(index >= at, "sections come one after another: {one:?}");
        at = index;
        let state = one["state"].as_str().expect("a word");
        assert!(["ok", "note", "warning", "problem"].contains(&state), "{one:?}");
        assert!(!one["text"].as_str().expect("a text").is_empty());
        if ["ok", "note"].contains(&state) {
            assert!(!one.contains_key("fix"), "nothing is to be done: {one:?}");
        } else if one["name"] != "machine" {
            assert!(one.contains_key("fix"), "something is to be done: {one:?}");
        }
    }
    assert_eq!(at, 4, "all sections");
}

/// Scripts rely on these names.
#[test]
fn the_names_of_findings_stay_the_same() {
    let found = Found::of(&World::bare());
    let of = |section: &str| {
        let all = found.all.iter().filter(|one| one["section"] == section);
        all.map(|one| one["name"].as_str().expect("a name")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        of("kernel"),
        "release machine proc own notify notify-sizes wait-killable listener addfd addfd-send wake-up real-time landlock ptrace \
         memory pidfd openat2 procmap-query yama lsm user-namespaces"
    );
    assert!(of("enforcement").starts_with("programs tiers"), "{}", of("enforcement"));
    assert_eq!(of("policy"), "policy program way");
    let host = of("host");
    for name in ["path", "environment", "protected", "cores", "formats", "clock", "disk", "guards"] {
        assert!(host.split(' ').any(|there| there == name), "{name}: {host}");
    }
    assert_eq!(of("openclaw"), "state-directory config store saved gateway gate safe-bins entries");
}

#[test]
fn people_get_sections_marks_and_counts() {
    let world = World::bare().policy("{\"version\": 1, \"x\": 1}");
    let ended = ended(world.command().arg("doctor"));
    assert_eq!(ended.status, 1);
    for title in ["Kernel\n", "\nEnforcement\n", "\nPolicy\n", "\nHost\n", "\nOpenClaw\n"] {
        assert!(ended.stdout.contains(title), "{title:?}: {}", ended.stdout);
    }
    assert!(ended.stdout.contains("  ✓ listener "), "{}", ended.stdout);
    let problem = ended.stdout.lines().skip_while(|line| !line.starts_with("  ✗ policy ")).nth(1);
    assert!(problem.is_some_and(|fix| fix.trim_start().starts_with("→ openclaw-guard policy validate")));
    let count =
        |mark: &str| ended.stdout.lines().filter(|line| line.starts_with(&format!("  {mark} "))).count();
    let last = ended.stdout.lines().last().expect("a line");
    let s = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let expected = format!("{} ok · {} · {}", count("✓"), s(count("⚠"), "warning"), s(count("✗"), "problem"));
    assert_eq!(last, expected);
    assert!(!ended.stdout.contains('\x1b'), "no colours but on a terminal");
    assert_eq!(ended.stderr, "");
}

#[test]
fn colours_are_for_terminals_whose_owner_wants_them() {
    let world = World::bare();
    let on_terminal = |change: &dyn Fn(&mut Command)| {
        let guard = world.command();
        let mut command = Command::new(program_text("python3"));
        command.args(["-c", "import pty, sys; pty.spawn(sys.argv[1:])"]);
        command.arg(guard.get_program()).args(guard.get_args()).arg("doctor");
        command
            .current_dir(world.work())
            .env("HOME", world.home())
            .env("TERM", "xterm")
            .env_remove("NO_COLOR");
        change(&mut command);
        ended(&mut command).stdout
    };
    let coloured = on_terminal(&|_| {});
    assert!(coloured.contains("\x1b[32m✓\x1b[0m") && coloured.contains("\x1b[1mKernel\x1b[0m"), "{coloured}");
    let plain = on_terminal(&|command| {
        command.env("NO_COLOR", "1");
    });
    assert!(plain.contains("✓ listener") && !plain.contains('\x1b'), "{plain}");
    let empty = on_terminal(&|command| {
        command.env("NO_COLOR", "");
    });
    assert!(empty.contains('\x1b'), "an empty NO_COLOR says nothing");
    let dumb = on_terminal(&|command| {
        command.env("TERM", "dumb");
    });
    assert!(!dumb.contains('\x1b'), "{dumb}");
}

#[test]
fn nothing_is_left_behind() {
    let world = World::bare();
    Found::of(&world);
    assert!(!world.home().join(".openclaw").exists(), "doctor writes nothing");
    assert!(world.read("audit.jsonl").is_none());
    assert_eq!(std::fs::read_dir(world.work()).expect("a directory").count(), 0);
}

#[test]
fn json_may_stand_before_the_topic() {
    let world = World::bare();
    for arguments in [["doctor", "--json", "gateway"], ["doctor", "gateway", "--json"]] {
        let found = Found::read(ended(world.command().args(arguments)));
        assert!(found.all.iter().all(|one| one["section"] == "gateway"), "{found:?}");
        found.must("problem", "gateway", "", "tokenFile");
    }
}

#[test]
fn the_manual_has_every_name() {
    let manual =
        std::fs::read_to_string(guard_tests::sources().join("../docs/doctor.md")).expect("docs/doctor.md");
    for world in [World::bare(), World::open()] {
        for one in Found::of(&world).all {
            let name = one["name"].as_str().expect("a name").to_owned();
            let words = manual.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.');
            assert!(words.into_iter().any(|word| word.trim_end_matches('.') == name), "{name}");
        }
    }
}

#[test]
fn help_has_examples_and_statuses() {
    let help = ended(World::bare().command().args(["doctor", "--help"])).stdout;
    for part in ["Examples:", "openclaw-guard doctor", "Exit status:", "gateway"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}
