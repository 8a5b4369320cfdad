//! Rules also hold below directories so deep that the kernel reports no path for them.

use guard_tests::World;

const DEEP: &str = "d=$(printf 'x%.0s' $(seq 200)); for i in $(seq 30); do mkdir -p $d; cd -P $d; done";

#[test]
fn a_denial_holds_beyond_path_max() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-", "@/work/**/fixed/**": "r--"},
                                           "deny": ["@/work/**/secret/**"]}}}"#,
    );
    let prepared = world.native(&[
        "bash",
        "-c",
        &format!("{DEEP}; mkdir -p secret fixed/in plain; echo key | tee secret/f fixed/f plain/f"),
    ]);
    assert_eq!(prepared.status, 0, "{}", prepared.stderr);
    let tried = world.guarded(&[
        "bash",
        "-c",
        &format!(
            r#"{DEEP}
            cat secret/f; cd secret; cat f ./f ../secret/f; cat < f; ls .; echo x > f; : > new; mkdir d; rm f; mv f g; ln f ../plain/stolen; cd ..
            mv secret plain/secret; mv secret/f plain/; cp secret/f plain/copied; ln -s "$PWD"/secret/f l; cat l; cd fixed; cat f; echo x > f; : > new; chmod 600 f; rm f; cd in; : > new; cd ../..
            cd plain; cat f; echo x > f; : > new; mv new other"#
        ),
    ]);
    assert_eq!(tried.stdout, "key\nkey\n", "{}", tried.stderr);
    let left = world.native(&[
        "bash",
        "-c",
        &format!("{DEEP}; find secret fixed plain | sort; cat secret/f fixed/f plain/f"),
    ]);
    assert_eq!(
        left.stdout, "fixed\nfixed/f\nfixed/in\nplain\nplain/f\nplain/other\nsecret\nsecret/f\nkey\nkey\nx\n",
        "{}",
        tried.stderr
    );
}
