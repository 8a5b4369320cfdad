//! Helpers shared by the tests.
#![allow(dead_code)]

pub mod disk;

use guard_policy::{
    Access, Document, Exec, Host, Outcome, Overrides, Policy, Problem, Request, Role, Verdict, decide,
};
use serde_json::Value;

pub const HOME: &[u8] = b"/home/u";

/// The text of a file with OpenClaw's recorded answers; see `data/README.md`.
pub fn data_text(file: &str) -> String {
    std::fs::read_to_string(format!("{}/../policy/tests/data/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A file with OpenClaw's recorded answers, as JSON.
pub fn data(file: &str) -> Value {
    serde_json::from_str(&data_text(file)).unwrap()
}

/// Makes distinct ids.
pub fn ids() -> impl FnMut() -> String {
    let mut next = 0;
    move || {
        next += 1;
        format!("id-{next}")
    }
}

/// A host on which nothing is known to exist.
pub fn host() -> Host<'static> {
    Host {
        always_denied: vec![b"/home/u/.openclaw".to_vec()],
        temp_dirs: vec![b"/tmp".to_vec()],
        ..Host::bare(HOME, b"/home/u/work")
    }
}

pub fn parse(text: &str) -> Result<Document, Vec<Problem>> {
    Document::parse("guard.json", text)
}

pub fn compile(json: &Value) -> Policy {
    compile_with(json, "main", &host(), &Overrides::default())
}

pub fn compile_with(json: &Value, agent: &str, host: &Host, overrides: &Overrides) -> Policy {
    let document = parse(&json.to_string()).unwrap_or_else(|p| panic!("{p:?}"));
    Policy::compile(&document, agent, host, overrides).unwrap()
}

pub fn file<'p>(policy: &'p Policy, path: &str, access: Access) -> Verdict<'p> {
    decide(policy, &Request::File { path: path.as_bytes(), access })
}

pub fn exec<'p>(policy: &'p Policy, argv: &[&str]) -> Verdict<'p> {
    exec_as(policy, argv[0], argv, Role::Program)
}

pub fn exec_as<'p>(policy: &'p Policy, path: &str, argv: &[&str], role: Role) -> Verdict<'p> {
    let argv: Vec<Vec<u8>> = argv.iter().map(|a| a.as_bytes().to_vec()).collect();
    decide(policy, &Request::Exec(Exec { path: path.as_bytes(), argv: &argv, cwd: HOME, role }))
}

/// `read`, `write` and `exec` of a path as three letters: `a`llow, `d`eny, `?` ask.
pub fn outcomes(policy: &Policy, path: &str) -> String {
    let outcomes = [
        file(policy, path, Access::READ).outcome,
        file(policy, path, Access::WRITE).outcome,
        exec(policy, &[path]).outcome,
    ];
    outcomes.map(letter).concat()
}

fn letter(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Allow => "a",
        Outcome::Deny => "d",
        Outcome::Ask => "?",
    }
}
