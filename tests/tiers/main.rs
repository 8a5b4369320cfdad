//! What the kernel decides alone, over the floor, must equal the broker's verdict, whatever moves meanwhile.

mod busy;
mod counts;
mod moves;
mod verdicts;

use guard_tests::{Ended, TIERS, World, program_text};

/// Rules of a policy under which opening to read need not be held at all. It leaves out the base, which means
/// something else to each process.
const PLAIN: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/usr"]},
    "permissions": {"base": false, "persistence": false, "filesystem": {"rules": {"/usr/**": "r-x", "/etc/**": "r--", "/dev/null": "rw-",
        RULES}, "deny": [DENY]}}}"#;

/// Returns a world with these rules and denials.
fn world(rules: &str, deny: &str) -> World {
    World::bare().policy(&PLAIN.replace("RULES", rules).replace("DENY", deny))
}

/// Runs the same check in a fresh world under each choice of tiers.
fn in_each_tier(make: impl Fn() -> World, check: impl Fn(&World, &str)) {
    for tiers in TIERS {
        let mut world = make();
        world.set_tiers(tiers);
        check(&world, tiers);
    }
}

/// Returns whether the guard reports that the kernel alone decides about opening to read, without trapping
/// the call.
fn has_untrapped_reads(world: &World) -> bool {
    let output = guard_tests::ended(world.command().args(["policy", "show", "--tiers", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    json["classes"]["read"]["exact"] == true
}

/// Runs a Python program in the world's root. In it, `op` tries a call and prints its result, or the name of
/// its errno.
fn python(world: &World, source: &str) -> Ended {
    let program = format!(
        r#"
import errno, os, stat
os.chdir({root:?})
def op(call, *rest):
    try:
        done = call(*rest)
        print("ok" if done is None else done)
    except OSError as error:
        print(errno.errorcode[error.errno])
def text(path):
    with open(path) as file:
        return file.read()
def put(path, content):
    with open(path, "w") as file:
        file.write(content)
def opened(path, flags):
    os.close(os.open(path, flags))
{source}
"#,
        root = world.root()
    );
    world.guarded(&[&program_text("python3"), "-I", "-B", "-c", &program])
}
