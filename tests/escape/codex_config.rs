//! Codex's own configuration is judged by its keys: notes about hints pass, and nothing comes along with them.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use guard_tests::{Ended, World, ended};

const CONFIG: &str = "home/.codex/config.toml";
const OLD: &str = "model = \"a\"\n[mcp_servers.x]\ncommand = \"x\"\n";
/// What Codex notes.
const NOTE: &str = "[tui]\nscreen_reader_detection_done = true\n";

fn world() -> World {
    let world = World::bare();
    world.write(CONFIG, OLD);
    world
}

/// A shell with the profile of Codex, in its directory. `$NEW` is the configuration with its note.
fn run(world: &World, line: &str) -> Ended {
    let mut command = world.command();
    command.env("OLD", OLD).env("NEW", format!("{OLD}{NOTE}"));
    let done = ended(command.args(["--profile", "codex", "--", "sh", "-c", &format!("cd ~/.codex; {line}")]));
    println!("{line}: {}", done.stderr);
    done
}

fn config(world: &World) -> String {
    world.read(CONFIG).unwrap_or_default()
}

#[test]
fn what_codex_notes_passes() {
    let world = world();
    let done = run(&world, "printf %s \"$NEW\" > .tmp1 && chmod 600 .tmp1 && mv -f .tmp1 config.toml");
    assert_eq!((done.status, config(&world)), (0, format!("{OLD}{NOTE}")), "{}", done.stderr);
    let done = run(&world, "printf %s \"$OLD\" > .tmp1 && chmod 600 .tmp1 && mv -f .tmp1 config.toml");
    assert_eq!((done.status, config(&world)), (0, OLD.to_owned()), "{}", done.stderr);

    let first = World::bare();
    first.write("home/.codex/kept", "");
    let done = run(&first, "echo 'model = \"b\"' > .tmp1 && mv .tmp1 config.toml");
    assert_eq!((done.status, config(&first)), (0, "model = \"b\"\n".to_owned()), "{}", done.stderr);
}

#[test]
fn nothing_else_comes_with_a_note() {
    let add = |more: &str| format!("{{ printf %s \"$NEW\"; printf '{more}'; }} > t; mv -f t config.toml");
    let world = world();
    for attack in [
        add("[mcp_servers.y]\\ncommand = \"y\"\\n"),
        add("[mcp_servers.x.env]\\nPATH = \"y\"\\n"),
        add("[projects.\"/w\"]\\ntrust_level = \"trusted\"\\n"),
        add("[notice]\\nhide_full_access_warning = true\\n"),
        add("# x\\rnotify = [\"y\"]\\n"),
        add("[[hooks.Stop]]\\n[[hooks.Stop.hooks]]\\ncommand = \"y\"\\n"),
        add("[features]\\nx = true\\n"),
        add("[tui.screen_reader]\\nx = 1\\n"),
        "printf 'notify = [\"y\"]\\n%s' \"$NEW\" > t; mv -f t config.toml".to_owned(),
        "printf %s \"$NEW\" | sed s/x/y/ > t; mv -f t config.toml".to_owned(),
        "printf %s \"$NEW\" | grep -v command > t; mv -f t config.toml".to_owned(),
        "printf '[tui\\n' > t; mv -f t config.toml".to_owned(),
        ": > t; mv -f t config.toml".to_owned(),
        // The content is right, but not the way.
        "printf %s \"$NEW\" > config.toml".to_owned(),
        "printf '[tui]\\nanimations = true\\n' >> config.toml".to_owned(),
        "printf %s \"$NEW\" > t; rm config.toml; ln t config.toml".to_owned(),
        "printf %s \"$NEW\" > t; ln -sf t config.toml".to_owned(),
        "printf %s \"$NEW\" > t; ln -s t l; mv -f l config.toml".to_owned(),
        "printf %s \"$NEW\" > t; chmod 755 t; mv -f t config.toml".to_owned(),
        "printf %s \"$NEW\" > t; chmod 666 t; mv -f t config.toml".to_owned(),
        "mkdir t; mv -fT t config.toml".to_owned(),
        "rm -f config.toml".to_owned(),
        "mv config.toml t; printf %s \"$NEW\" > t; mv t config.toml".to_owned(),
        "cd; mv .codex c; printf %s \"$NEW\" > c/config.toml; mv c .codex".to_owned(),
    ] {
        run(&world, &attack);
        assert_eq!(config(&world), OLD, "{attack}");
    }
}

/// The file that was judged, and the one that is there, are not the same: what comes later goes nowhere.
#[test]
fn what_is_written_after_the_judgement_goes_nowhere() {
    let later = "printf 'notify = [\"y\"]\\n'";
    for attack in [
        format!("printf %s \"$NEW\" > t; exec 3>> t; mv -f t config.toml; {later} >&3"),
        format!("printf %s \"$NEW\" > t; ln t u; mv -f t config.toml; {later} >> u"),
        format!(
            "printf %s \"$NEW\" > t; ln t .openclaw-guard.new; mv -f t config.toml; {later} >> .openclaw-guard.new"
        ),
        format!(
            "printf %s \"$NEW\" > t; (for n in 1 2 3 4 5 6 7 8; do {later} >> t; done) & mv -f t config.toml; wait"
        ),
    ] {
        let world = world();
        run(&world, &attack);
        assert!(
            [OLD.to_owned(), format!("{OLD}{NOTE}")].contains(&config(&world)),
            "{attack}: {}",
            config(&world)
        );
    }
}

#[test]
fn only_the_profile_opens_it_and_only_in_the_home() {
    let world = world();
    let line = "cd ~/.codex; printf %s \"$NEW\" > t; mv -f t config.toml";
    let mut command = world.command();
    ended(command.env("NEW", format!("{OLD}{NOTE}")).args(["--", "sh", "-c", line]));
    assert_eq!(config(&world), OLD);
    // A project's own configuration stays as it is.
    world.write("work/.codex/config.toml", OLD);
    let project = world.work();
    run(
        &world,
        &format!("cd {}/.codex; printf %s \"$NEW\" > t; chmod 600 t; mv -f t config.toml", project.display()),
    );
    assert_eq!(world.read("work/.codex/config.toml").as_deref(), Some(OLD));
}

#[test]
fn a_denial_of_the_operators_stands() {
    for settings in [
        r#""filesystem": {"rules": {SYSTEM, "~/**": "rw-"}, "deny": ["~/.codex/config.toml"]}"#,
        r#""filesystem": {"rules": {SYSTEM, "~/**": "rw-", "~/.codex/config.toml": "r--"}}"#,
        r#""filesystem": {"rules": {SYSTEM, "~/**": "rw-"}}, "persistence": "deny""#,
    ] {
        let world = world().policy(&format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "on-miss"}}, "permissions": {{{settings}}}}}"#
        ));
        run(&world, "printf %s \"$NEW\" > t; mv -f t config.toml");
        assert_eq!(config(&world), OLD, "{settings}");
    }
    let open = world().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss"}, "permissions": {"filesystem": {"rules": {SYSTEM, "~/**": "rw-"}}}}"#,
    );
    run(&open, "printf %s \"$NEW\" > t; mv -f t config.toml");
    assert_eq!(config(&open), format!("{OLD}{NOTE}"), "without a denial");
}

/// The tree puts back what it knows, again and again, while the operator takes a server out.
#[test]
fn what_the_operator_takes_out_stays_out() {
    let world = world();
    let note = "import os, sys\nfor n in range(100000):\n    open('t', 'w').write(os.environ['OLD'] + f'# {n}\\n')\n    os.chmod('t', 0o600)\n    try: os.rename('t', 'config.toml')\n    except OSError: pass";
    let mut command = world.command();
    command.current_dir(world.home().join(".codex")).env("OLD", OLD);
    let mut tree = command
        .args(["-q", "--profile", "codex", "--", "python3", "-S", "-c", note])
        .spawn()
        .expect("a guard");
    let put = |text: &str| {
        let new = world.write("home/.codex/config.toml.new", text);
        std::fs::set_permissions(&new, PermissionsExt::from_mode(0o600)).expect("a mode");
        std::fs::rename(new, world.home().join(".codex/config.toml")).expect("a rename");
    };
    let end = Instant::now() + Duration::from_secs(20);
    while !config(&world).contains("# ") && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let began = config(&world);
    let mut undone = 0;
    for _ in 0..150 {
        ["a", "b", "c"].iter().for_each(|model| put(&format!("model = \"{model}\"\n")));
        std::thread::sleep(Duration::from_millis(4));
        // A rename that was judged before may be on its way back.
        let stays = || config(&world) == "model = \"c\"\n";
        undone += usize::from(!(0..200).any(|_| {
            stays() || {
                std::thread::sleep(Duration::from_millis(5));
                false
            }
        }));
        put(OLD);
        std::thread::sleep(Duration::from_millis(4));
    }
    tree.kill().expect("an end");
    tree.wait().expect("an end");
    assert!(began.contains("# "), "the tree has changed nothing: {began}");
    assert_eq!(undone, 0);
}
