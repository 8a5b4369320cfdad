//! What a human is shown of a question: one list, in one order and wording, for the prompt, the lists, the page and the
//! gateway. So a yes means the same everywhere. No text in the list acts on a terminal.

use guard_policy::text::{process_name, shown, shown_exactly};

use crate::protocol::{Approval, OneSaved, Saved};
use crate::text::quoted;

/// A name and its text: `asked by` and `make 31 < bash 20 (agent main)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fact {
    /// What it is about. Several facts may have the same name.
    pub name: String,
    /// The text, without characters that act on a terminal.
    pub text: String,
    /// Where it is shown.
    pub rank: FactRank,
}

/// How much a fact matters to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FactRank {
    /// Unusual: shown right below the sentence.
    Warning,
    /// What the answer is for, beside the sentence.
    Subject,
    /// Who asks, why, and how far an answer may reach.
    Context,
    /// Shown on request.
    Detail,
}

impl FactRank {
    /// Whether a human must see the fact before allowing the call.
    pub fn is_required(self) -> bool {
        matches!(self, FactRank::Warning | FactRank::Subject)
    }
}

impl Fact {
    /// A fact. `text` must not act on a terminal.
    pub fn new(rank: FactRank, name: impl Into<String>, text: impl Into<String>) -> Fact {
        Fact { name: name.into(), text: text.into(), rank }
    }
}

/// The sentence that a card leads with: `make (from npm) wants to run: deploy --to 'the world', in /work`. The arguments
/// are quoted as for a shell: the sentence shows all of them.
pub fn sentence(approval: &Approval) -> String {
    let path = exact(&approval.resolved_path);
    let who = caller(approval);
    match (&approval.operation[..], &approval.cwd) {
        ("exec", cwd) => {
            let place = if approval.is_outside { " outside the guard" } else { "" };
            let words = if approval.argv.is_empty() {
                std::slice::from_ref(&approval.resolved_path)
            } else {
                &approval.argv[..]
            };
            let words: Vec<_> = words.iter().map(|word| exact(&quoted(word))).collect();
            let cwd = cwd.as_deref().map(|cwd| format!(", in {}", exact(&quoted(cwd))));
            format!("{who} wants to run{place}: {}{}", words.join(" "), cwd.unwrap_or_default())
        }
        ("connect", _) => {
            let way = approval.call.as_deref().map(|way| format!(" ({})", text(way)));
            format!("{who} wants to connect to {path}{}", way.unwrap_or_default())
        }
        (operation, _) => format!("{who} wants to {} {path}", text(operation)),
    }
}

/// One line about a held call that says how to answer it from another terminal.
pub fn waiting_by_command(approval: &Approval) -> String {
    let (call, id) = (call(approval), short_id(approval));
    format!(
        "openclaw-guard: {call} waits for approval: openclaw-guard approvals resolve {id} allow-once|deny"
    )
}

/// One line about a held call that can only be answered elsewhere.
pub fn waiting_elsewhere(approval: &Approval) -> String {
    format!(
        "openclaw-guard: {} waits for approval (approvals.routes): {}",
        call(approval),
        short_id(approval)
    )
}

/// What the call does, in a few words: `exec /usr/bin/make`.
fn call(approval: &Approval) -> String {
    let outside = if approval.is_outside { " OUTSIDE the guard" } else { "" };
    format!("{}{outside} {}", text(&approval.operation), exact(&approval.resolved_path))
}

/// Enough of the id to distinguish it from others, like git(1)'s short commit ids.
fn short_id(approval: &Approval) -> String {
    text(&approval.id).chars().take(8).collect()
}

/// The calling process, and the nearest one above it that has another name.
fn caller(approval: &Approval) -> String {
    let Some(caller) = approval.asked_by.first() else { return "a process".to_owned() };
    let name = process_name(&caller.name);
    match approval.asked_by.iter().find(|above| above.name != caller.name) {
        Some(above) => format!("{name} (from {})", process_name(&above.name)),
        None => name,
    }
}

/// The facts besides the sentence, by rank: what is unusual, what the answer is for, who asks and why, the details.
pub fn facts(approval: &Approval) -> Vec<Fact> {
    let mut facts = warnings(approval);
    facts.extend(subject(approval));
    facts.extend(context(approval));
    facts.extend(details(approval));
    facts
}

fn warnings(approval: &Approval) -> Vec<Fact> {
    let warning = |name: &str, text: String| Fact::new(FactRank::Warning, name, text);
    let mut facts = Vec::new();
    if !approval.is_text {
        facts.push(warning("note", "parts of it are not UTF-8: \u{fffd} stands for other bytes".to_owned()));
    }
    facts.extend(approval.notice.iter().map(|notice| warning("beware", exact(notice))));
    facts.extend(approval.unusual.iter().map(|remark| warning("unusual", exact(remark))));
    facts.extend(approval.change.iter().map(|line| warning("change", text(line))));
    facts.extend(approval.environment.iter().map(|variable| warning("with", exact(variable))));
    facts.extend(approval.files.iter().map(|file| warning("may run", exact(&file.path))));
    facts.extend(approval.inputs.iter().map(|input| warning("may run", exact(input))));
    facts
}

fn subject(approval: &Approval) -> Vec<Fact> {
    let subject = |name: &str, text: String| Fact::new(FactRank::Subject, name, text);
    let mut facts = Vec::new();
    if approval.operation == "exec" {
        facts.push(subject("program", exact(&approval.resolved_path)));
    }
    facts.extend(approval.script.iter().map(|script| subject("script", exact(&script.path))));
    facts.extend(approval.through.iter().map(|script| subject("through", exact(&script.path))));
    facts
}

fn context(approval: &Approval) -> Vec<Fact> {
    let context = |name: &str, text: String| Fact::new(FactRank::Context, name, text);
    let mut facts =
        vec![context("asked by", format!("{} (agent {})", approval.askers(), text(&approval.agent_id)))];
    facts.push(context("because", text(&approval.reason.text)));
    facts.extend(directory(approval));
    facts.extend(command(approval));
    match &approval.always {
        Saved::Saves { saves, directory } => {
            facts
                .extend(saves.iter().map(|one| context("always", format!("would save {}", text(&one.text)))));
            let wide = if approval.operation == "connect" { "domain" } else { "directory" };
            let texts = directory.iter().map(|one| format!("for the {wide} would save {}", text(&one.text)));
            facts.extend(texts.map(|text| context("always", text)));
        }
        Saved::Never { never } => {
            facts.push(context("always", format!("would save nothing: {}", text(never))));
        }
    }
    if approval.calls > 1 {
        facts.push(context("calls", format!("{} calls wait for this answer", approval.calls)));
    }
    facts
}

fn details(approval: &Approval) -> Vec<Fact> {
    let detail = |name: &str, text: String| Fact::new(FactRank::Detail, name, text);
    let mut facts = Vec::new();
    if let Some(below) = &approval.edited_below {
        facts.push(detail("edit", format!("the pattern may be for any files below {}", exact(below))));
    }
    let arguments = approval.argv.iter().enumerate();
    facts.extend(arguments.map(|(at, argument)| detail(&format!("argv[{at}]"), exact(argument))));
    if approval.operation != "exec" && approval.operation != "connect" {
        facts.push(detail("file", exact(&approval.resolved_path)));
        facts.extend(approval.call.iter().map(|call| detail("call", text(call))));
    }
    facts.extend(approval.cwd.iter().map(|cwd| detail("in", exact(cwd))));
    let program = approval.sha256.iter().map(|sha256| (sha256, &approval.resolved_path));
    let scripts = approval.script.iter().chain(&approval.through).chain(&approval.files);
    let scripts = scripts.map(|script| (&script.sha256, &script.path));
    for (sha256, path) in program.chain(scripts) {
        facts.push(detail("sha256", format!("{} of {}", text(sha256), exact(path))));
    }
    let environment = approval.environment_sha256.iter();
    facts.extend(environment.map(|sha256| detail("env", format!("sha256 {}", text(sha256)))));
    facts.push(detail("rule", text(&approval.reason.rule)));
    facts.push(detail(
        "rule of",
        format!("{} {}", text(&approval.reason.source), text(&approval.reason.path)),
    ));
    facts.push(detail("session", text(&approval.session)));
    facts.push(detail("card", format!("{}, revision {}", approval.card, approval.revision)));
    facts.push(detail("id", text(&approval.id)));
    facts
}

/// The directory that an answer may be for, or the hosts below a domain.
pub fn directory(approval: &Approval) -> Option<Fact> {
    let directory = approval.directory.as_ref().map(|path| ("directory", path));
    let (name, text) = directory.or(approval.domain.as_ref().map(|hosts| ("domain", hosts)))?;
    Some(Fact::new(FactRank::Context, name, exact(text)))
}

/// The command that an answer may be for.
pub fn command(approval: &Approval) -> Option<Fact> {
    Some(Fact::new(FactRank::Context, "command", approval.command_line()?))
}

/// What "always" would save, with the pattern in full.
pub fn saved(one: &OneSaved) -> Vec<Fact> {
    let detail = |name: &str, value: &str| Fact::new(FactRank::Detail, name, text(value));
    let mut facts = vec![detail("save", &one.pattern)];
    facts.extend(one.arg_pattern.as_ref().map(|pattern| detail("arguments", pattern)));
    facts.extend(one.bits.as_ref().map(|bits| detail("for", bits)));
    facts.push(detail("meaning", &one.text));
    facts
}

fn text(text: &str) -> String {
    shown(text.as_bytes())
}

/// Escapes a text that the command chose, so that nobody can mistake an escape for characters of the text itself.
fn exact(text: &str) -> String {
    shown_exactly(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::{BoundScript, Process, Question, Subject};
    use crate::testing::{file, host, question};

    fn approval(question: &Question) -> Approval {
        Approval::from_question(question)
    }

    fn from(names: &[&str]) -> Vec<Process> {
        let process = |(pid, name): (i32, &&str)| Process { pid, started: 1, name: (*name).to_owned() };
        (1..).zip(names).map(process).collect()
    }

    #[test]
    fn a_sentence_says_who_wants_to_do_what() {
        let of_question = |question: &Question, names: &[&str]| {
            sentence(&approval(&Question { asked_by: from(names), ..question.clone() }))
        };
        let deploy = question(&["/bin/deploy", "--to", "the world", ""]);
        for (names, who) in [
            (&["make", "npm", "bash"][..], "make (from npm)"),
            (&["bash", "bash"], "bash"),
            (&["a 7 < bash 41", "sh"], "'a 7 < bash 41' (from sh)"),
            (&[], "a process"),
        ] {
            let expected = format!("{who} wants to run: /bin/deploy --to 'the world' '', in /work");
            assert_eq!(of_question(&deploy, names), expected);
        }
        let (cat, curl) = (&["cat"][..], &["curl"][..]);
        assert_eq!(of_question(&file("/etc/x y"), cat), "cat wants to read /etc/x y");
        assert_eq!(of_question(&host("a.test:443"), curl), "curl wants to connect to a.test:443 (TLS)");
    }

    /// If two commands had the same sentence, one yes would stand for two things.
    #[test]
    fn different_arguments_have_different_sentences() {
        let commands: [&[&str]; 8] = [
            &["a", "b c"],
            &["a", "b", "c"],
            &["a", "b", "c", ""],
            &["a", "'b", "c'"],
            &["a", "b\nc"],
            &["a", "b\\u{A}c"],
            &["a", "b, in /work"],
            &["a", "b,", "in", "/work"],
        ];
        let mut sentences = commands.map(|argv| sentence(&approval(&question(argv)))).to_vec();
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), commands.len(), "{sentences:#?}");
        assert!(sentences.iter().all(|sentence| !sentence.contains('\n')), "{sentences:#?}");
    }

    #[test]
    fn what_is_unusual_comes_first() {
        let mut asked = question(&["/bin/git", "push", "--force"]);
        asked.unusual = vec!["push --force replaces\u{1b} what others have".to_owned()];
        let Subject::Exec(exec) = &mut asked.subject else { unreachable!() };
        exec.program_variables = vec![b"GIT_SSH_COMMAND=x".to_vec()];
        exec.script = Some(BoundScript { path: b"/work/s".to_vec(), sha256: exec.executable.sha256 });
        let facts = facts(&approval(&asked));
        let names: Vec<_> = facts.iter().map(|fact| &fact.name[..]).collect();
        let first = ["unusual", "with", "program", "script", "asked by", "because", "always", "argv[0]"];
        assert_eq!(names[..first.len()], first);
        assert_eq!(facts[0].text, "push --force replaces\\u{1B} what others have");
        let required = facts.iter().filter(|fact| fact.rank.is_required()).map(|fact| &fact.name[..]);
        assert_eq!(required.collect::<Vec<_>>(), first[..4]);
    }
}
