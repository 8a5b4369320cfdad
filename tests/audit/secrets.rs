//! No line of the log holds a secret.

use guard_tests::World;

#[test]
fn secrets_in_arguments_are_masked() {
    let world = World::open();
    let mut command = world.command();
    command.env("MY_SERVICE_TOKEN", "correct-horse-battery");
    let line = "env GITHUB_TOKEN=hunter2 true; /bin/echo --password=hunter3 --api-key hunter4 http://me:hunter5@host/ \
                -H 'Authorization: Bearer hunter6' correct-horse-battery; cat /no/hunter7 --token=hunter8";
    let ended = guard_tests::ended(command.args(["--", "sh", "-c", line]));
    assert!(ended.stdout.contains("hunter3"), "the program has them: {ended:?}");
    let text = world.audit_text();
    for secret in ["hunter2", "hunter3", "hunter4", "hunter5", "hunter6", "hunter8", "correct-horse"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("GITHUB_TOKEN=***") && text.contains("hunter7"), "{text}");
}

/// The line of a denied file has the arguments of the process that asked for it.
#[test]
fn secrets_in_the_asking_programs_arguments_are_masked() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx"}, "deny": ["~/secret/**"], "default": "---"}}}"#,
    );
    world.write("home/secret/key", "secret");
    world.guarded(&[
        "python3",
        "-c",
        "open(__import__('os').environ['HOME'] + '/secret/key')",
        "--token",
        "hunter2",
    ]);
    let denied = world.audit().into_iter().find(|line| line["verdict"] == "deny").expect("a denial");
    assert_eq!(denied["argv"][0], "python3");
    assert_eq!((&denied["argv"][3], &denied["argv"][4]), (&"--token".into(), &"***".into()), "{denied}");
}
