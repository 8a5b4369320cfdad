//! The three examples of OpenClaw's issue 39979.

use std::fs;

use guard_tests::{World, ended_with_input, sources};
use serde_json::{Value, json};

use crate::session::Session;

/// Each example with its template, and the directory of its cases.
const EXAMPLES: [(&str, &str, &str); 3] = [
    ("bins", "system-binaries", "/home/u/workspace"),
    ("readonly", "read-only", "/home/u/workspace"),
    ("scratch", "scratch", "/tmp/scratch"),
];

/// What a template grants and its example does not: programs that read.
const DIFFERENT: [(&str, &str, &str); 1] = [("readonly", "exec", "/usr/bin/ls")];

#[test]
fn the_templates_say_what_the_examples_say() {
    let text = fs::read_to_string(sources().join("data/rwx-permission-map.json")).expect("data");
    let data: Value = serde_json::from_str(&text).expect("JSON");
    let cases = data["cases"].as_array().expect("cases");
    let mut agreed = 0;
    let mut asked = 0;
    for (policy, template, workspace) in EXAMPLES {
        let session = Session::new(template);
        let world = &session.world;
        let cases: Vec<&Value> = cases.iter().filter(|case| case["policy"] == policy).collect();
        let here = |path: &str| {
            let home = world.home().display().to_string();
            path.replace(workspace, &world.work().display().to_string()).replace("/home/u", &home)
        };
        let question = |case: &&Value| {
            let path = here(case["path"].as_str().expect("a path"));
            json!({"op": case["op"], "path": path}).to_string() + "\n"
        };
        let questions: String = cases.iter().map(question).collect();
        let answers = ended_with_input(session.command().args(["check", "--batch"]), questions.as_bytes());
        assert_eq!(answers.stdout.lines().count(), cases.len(), "{}", answers.stderr);
        for (case, answer) in cases.iter().zip(answers.stdout.lines()) {
            let answer: Value = serde_json::from_str(answer).expect("JSON");
            let text = |key: &str| case[key].as_str().expect("text");
            let is_same = answer["outcome"] == case["verdict"];
            let is_different = DIFFERENT.contains(&(policy, text("op"), text("path")));
            assert_ne!(is_same, is_different, "{template}: {case}: {answer}");
            asked += 1;
            agreed += usize::from(is_same);
        }
    }
    assert_eq!(agreed + DIFFERENT.len(), asked);
    println!(
        "rwx-permission-map.json, examples: {agreed} of {asked}, {} different on purpose",
        DIFFERENT.len()
    );
}

/// Creates a repository with a commit.
fn repository(world: &World) {
    world.write("work/README", "read me\n");
    world.write("work/src/main.c", "int main(void) { return 0; }\n");
    let made = world.native(&[
        "bash",
        "-c",
        "git init -q -b main . && git add . && GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z git -c user.name=A -c user.email=a@b commit -qm one",
    ]);
    assert_eq!(made.status, 0, "{}", made.stderr);
}

#[test]
fn read_only() {
    let script = "cat README; ls -A; find . -name '*.c'; head -1 /etc/passwd; grep -rn main src; git log --oneline; git show --stat
        git diff; git ls-files; du -s src > /dev/null; file README 2>/dev/null || true; sort README | tee /dev/null; wc -l src/main.c
        /usr/bin/python3 -c 'print(open(\"README\").read())'; ls ~; tar c src | tar t; awk '{ print $2 }' README; diff README README && echo same";
    Session::same("read-only", repository, script);
    let session = Session::new("read-only");
    repository(&session.world);
    session.world.write("home/.ssh/id_rsa", "secret");
    session.refused(
        "
try write sh -c 'echo x > new'
try append sh -c 'echo x >> README'
try temporary sh -c 'echo x > /tmp/guard-test-read-only'
try memory sh -c 'echo x > /dev/shm/guard-test-read-only'
try home sh -c 'echo x > ~/x'
try remove rm -f README
try move mv README other
try directory mkdir d
try mode chmod 777 README
try times touch README
try commit git -c user.name=A -c user.email=a@b commit --allow-empty -m x
try key cat ~/.ssh/id_rsa
try shadow cat /etc/shadow
try state ls ~/.openclaw
try compile gcc -o x src/main.c",
    );
    assert_eq!(session.world.read("work/README").as_deref(), Some("read me\n"));
}

#[test]
fn scratch() {
    let script = "seq 9 > a; sort -r a | head -3 > b; cat b; mkdir d; mv b d; cp a d/c; ln -s c d/l; cat d/l; tar czf x.tgz d; tar tzf x.tgz
        wc -l a; sed -i s/1/one/ a; head -1 a; tr 2 3 < a | uniq -c | tail -1; cat <<< here; od -c a | head -1; rm -r d; find . | sort; sha256sum a";
    Session::same("scratch", |_| {}, script);
    let session = Session::new("scratch");
    // Applies the advice in the policy's comment.
    let file = "home/.openclaw/guard.json";
    let policy = session.world.read(file).expect("a policy");
    let modules = "/usr/bin/python3 -c 'import json, decimal; print(json.dumps([1]))' && perl -MPOSIX -e 'print floor(1.5)' && git init -q r && git -C r status --short";
    let lacking = session.guarded(modules);
    assert_ne!(lacking.status, 0, "{}", lacking.stdout);
    let wider = policy.replace(
        "\"/bin/**\": \"r-x\",",
        "\"/bin/**\": \"r-x\", \"/usr/lib/**\": \"r-x\", \"/usr/share/**\": \"r--\", \"/etc/gitconfig\": \"r--\",",
    );
    session.world.write(file, wider);
    let ended = session.guarded(&format!("PATH=/usr/bin; {modules}"));
    assert_eq!((ended.status, ended.stdout.as_str()), (0, "[1]\n1"), "{}", ended.stderr);
    session.world.write(file, policy);
    session.world.write("home/notes", "mine");
    session.world.write("home/.ssh/id_rsa", "secret");
    session.refused(
        "cp /usr/bin/true made; chmod +x made; printf '#!/bin/sh\\n' > script; chmod +x script
try made ./made
try script ./script
try home sh -c 'echo x > ~/x'
try notes cat ~/notes
try key cat ~/.ssh/id_rsa
try temporary sh -c 'echo x > /tmp/guard-test-scratch'
try above sh -c 'echo x > ../x'
try list ls ~
try system sh -c 'echo x > /usr/bin/guard-test-x'
try other cat /etc/shadow
try sbin /usr/sbin/nologin --version
try state ls ~/.openclaw",
    );
}

#[test]
fn system_binaries() {
    let script = "seq 3 > a; ls; sort -r a; awk '{ s += $1 } END { print s }' a; sed s/2/two/ a; head -c 4 /usr/bin/grep | tail -c 3; echo; mkdir d; mv a d; find .";
    Session::same("system-binaries", |_| {}, script);
    let session = Session::new("system-binaries");
    session.world.write("home/.ssh/id_rsa", "secret");
    session.refused(
        "cp /usr/bin/grep g; chmod +x g
try grep grep x g
try copy ./g x g
try loader /lib64/ld-linux-x86-64.so.2 ./g x g
try curl curl --version
try read cat /usr/bin/curl
try key cat ~/.ssh/id_rsa
try home sh -c 'echo x > ~/x'
try temporary sh -c 'echo x > /tmp/guard-test-binaries'",
    );
}
