//! A real collector receives what was denied.

use guard_tests::{Collector, World, ended, is_long_form, until};

#[test]
fn a_collector_receives_the_denials() {
    if !is_long_form() {
        return;
    }
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx"}, "deny": ["~/secret/**"], "default": "---"}}}"#,
    );
    world.write("home/secret/key", "secret");
    world.sh("for i in 1 2 3; do cat ~/secret/key $i; done; true");
    let collector = Collector::start(&world.root());
    let export = || ended(world.command().args(["audit", "export", "--denied", "--otlp", &collector.url()]));
    let output = export();
    assert!(output.status == 0 && output.stdout.starts_with("sent 3 lines"), "{output:?}");
    let key = world.home().join("secret/key");
    let count = |part: &str| collector.text().matches(part).count();
    until("the collector has three denials", || count("guard.verdict: Str(deny)") == 3);
    assert_eq!(count(&format!("guard.path: Str({})", key.display())), 3, "{}", collector.text());
    assert_eq!(count("SEVERITY_NUMBER_WARN"), 3);
    assert_eq!(count("service.name: Str(openclaw-guard)"), 1);
    // Each line is sent only once.
    assert!(export().stdout.starts_with("sent 0 lines"));
    world.sh("cat ~/secret/key");
    assert!(export().stdout.starts_with("sent 1 line "));
    until("the collector has one more", || count("guard.verdict: Str(deny)") == 4);
}
