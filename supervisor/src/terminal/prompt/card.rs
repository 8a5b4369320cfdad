//! The text of a card: what a human needs to answer it, without characters that act on a terminal.

use guard_approvals::decision::{Decision, GrantWidth, Span};
use guard_approvals::protocol::{Approval, OneSaved, Saved};
use guard_policy::text::{shown, shown_exactly};

use super::field::Field;
use super::queue::Card;

/// Returns the question of a card.
pub fn question(card: &Card) -> &'static str {
    match card.approvals.first().map(|first| first.operation.as_str()) {
        Some("exec") => "may this program run?",
        Some("connect") => "may this host be reached?",
        _ => "may this file be used?",
    }
}

/// Returns what the decision is about, the most important first.
pub fn subject(card: &Card) -> Vec<Field> {
    let Some(first) = card.approvals.first() else { return Vec::new() };
    let mut fields = Vec::new();
    if first.operation == "exec" {
        fields.push(Field::new("program", exact(&first.resolved_path)));
        fields.extend(first.notice.as_ref().map(|notice| Field::new("beware", exact(notice))));
    } else {
        fields.extend(uses(0, first));
    }
    fields
}

/// Returns what a call does with a file or a host, and what changes of a file that would run outside the guard.
fn uses(call: usize, approval: &Approval) -> Vec<Field> {
    let by = approval.call.as_deref().unwrap_or_default();
    let name = if approval.operation == "connect" { "host" } else { "file" };
    let mut fields = vec![
        Field::for_call(call, name, exact(&approval.resolved_path)),
        Field::for_call(call, "use", format!("{} ({})", text(&approval.operation), text(by))),
    ];
    fields.extend(approval.change.iter().map(|line| Field::for_call(call, "change", text(line))));
    fields
}

/// Returns the arguments of each call, and the other files of a card.
pub fn arguments(card: &Card) -> Vec<Field> {
    let mut fields = Vec::new();
    let count = card.approvals.len();
    for (n, approval) in card.approvals.iter().enumerate() {
        let is_file = approval.operation != "exec";
        // The first file is the subject.
        if count > 1 && !(is_file && n == 0) {
            fields.push(Field::new(format!("call {}", n + 1), format!("of {count}")));
        }
        if is_file && n > 0 {
            fields.extend(uses(n, approval));
        }
        fields.extend(words(n, approval));
    }
    fields
}

/// Returns the words of a call. Variables come first: each can change what the program does with its arguments.
fn words(call: usize, approval: &Approval) -> impl Iterator<Item = Field> {
    let with =
        approval.environment.iter().map(move |variable| Field::for_call(call, "with", exact(variable)));
    let arguments = approval.argv.iter().enumerate();
    with.chain(
        arguments.map(move |(i, argument)| Field::for_call(call, format!("argv[{i}]"), exact(argument))),
    )
}

/// Returns where the call is made, by whom, and why it is asked.
pub fn context(card: &Card) -> Vec<Field> {
    let Some(first) = card.approvals.first() else { return Vec::new() };
    let mut fields = surroundings(first);
    fields
        .push(Field::new("because", format!("{} ({})", text(&first.reason.text), text(&first.reason.rule))));
    for by in card.approvals.iter().map(asked_by) {
        if !fields.contains(&by) {
            fields.push(by);
        }
    }
    fields.extend(directory(card));
    fields.extend(command(card));
    fields.extend(always(card));
    if card.approvals.iter().any(|approval| !approval.is_text) {
        fields.push(Field::new("note", "parts of it are not UTF-8: \u{fffd} stands for other bytes"));
    }
    let calls: usize = card.approvals.iter().map(|approval| approval.calls).sum();
    if calls > card.approvals.len() {
        fields.push(Field::new("calls", format!("{calls} calls wait for this answer")));
    }
    fields
}

/// Returns what runs besides the program, and where. All calls of a card have that in common.
fn surroundings(first: &Approval) -> Vec<Field> {
    let mut fields = Vec::new();
    if let Some(script) = &first.script {
        fields.push(Field::new("script", exact(&script.path)));
        fields.extend(first.through.iter().map(|script| Field::new("through", exact(&script.path))));
    }
    fields.extend(first.files.iter().map(|file| Field::new("may run", exact(&file.path))));
    fields.extend(first.inputs.iter().map(|input| Field::new("may run", exact(input))));
    fields.extend(first.cwd.as_ref().map(|cwd| Field::new("in", exact(cwd))));
    fields
}

/// Returns the directory that an answer may be for. All calls of a card have it in common.
fn directory(card: &Card) -> Option<Field> {
    let path = card.approvals.first()?.directory.as_ref()?;
    Some(Field::new("directory", exact(path)))
}

/// Returns the command that an answer may be for. All calls of a card have it in common.
fn command(card: &Card) -> Option<Field> {
    Some(Field::new("command", card.approvals.first()?.command_line()?))
}

/// Returns the answer that all calls of a card can be given for this one. An answer for a directory and a command is for
/// the file alone where no directory is offered.
pub fn offered(card: &Card, decision: Decision) -> Option<Decision> {
    let narrower = match decision {
        Decision::AllowFor(GrantWidth::Directory, Span::Command) => {
            Decision::AllowFor(GrantWidth::Narrow, Span::Command)
        }
        Decision::DenyFor(GrantWidth::Directory, Span::Command) => {
            Decision::DenyFor(GrantWidth::Narrow, Span::Command)
        }
        decision => decision,
    };
    let all_take = |decision: &Decision| card.approvals.iter().all(|approval| approval.takes(*decision));
    [decision, narrower].into_iter().find(all_take)
}

/// Returns what must have been on the screen before an answer allows it: what it is for, and what it saves.
pub fn allowed(card: &Card, decision: Decision) -> Vec<Field> {
    let mut fields = subject(card);
    for (n, approval) in card.approvals.iter().enumerate() {
        fields.extend(words(n, approval));
        fields.extend((approval.operation != "exec").then(|| uses(n, approval)).into_iter().flatten());
    }
    fields.extend(card.approvals.first().map(surroundings).unwrap_or_default());
    match decision {
        Decision::AllowAlways(width) => fields.extend(entries(card, width)),
        Decision::AllowFor(width, span) => {
            fields.extend(directory(card).filter(|_| width == GrantWidth::Directory));
            fields.extend(command(card).filter(|_| span == Span::Command));
        }
        Decision::AllowOnce | Decision::Deny | Decision::DenyFor(..) => {}
    }
    fields
}

fn asked_by(approval: &Approval) -> Field {
    Field::new("asked by", format!("{} (agent {})", approval.askers(), text(&approval.agent_id)))
}

/// Returns what "always" would save, without duplicates.
fn always(card: &Card) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for approval in &card.approvals {
        let field = match &approval.always {
            Saved::Saves { saves, .. } => Field::new("always", format!("would save {}", texts(saves))),
            Saved::Never { never } => Field::new("always", format!("would save nothing: {}", text(never))),
        };
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

/// Returns why "always" is impossible, or None if it is possible.
pub fn no_always(card: &Card) -> Option<String> {
    card.approvals.iter().find_map(|approval| match &approval.always {
        Saved::Never { never } => Some(text(never)),
        Saved::Saves { .. } => None,
    })
}

/// Returns what "always" would save, with each pattern in full.
pub fn entries(card: &Card, width: GrantWidth) -> Vec<Field> {
    let mut fields = Vec::new();
    for approval in &card.approvals {
        let Saved::Saves { saves, directory } = &approval.always else { continue };
        for one in if width == GrantWidth::Directory { directory } else { saves } {
            let name = if width == GrantWidth::Directory { "directory" } else { "save" };
            fields.push(Field::new(name, text(&one.pattern)));
            fields.extend(one.arg_pattern.as_ref().map(|pattern| Field::new("arguments", text(pattern))));
            fields.extend(one.bits.as_ref().map(|bits| Field::new("for", text(bits))));
            fields.push(Field::new("meaning", text(&one.text)));
        }
    }
    fields
}

/// Returns whether "always" can be given for the whole directory.
pub fn has_directory(card: &Card) -> bool {
    let has = |approval: &Approval| matches!(&approval.always, Saved::Saves { directory, .. } if !directory.is_empty());
    card.approvals.iter().all(has)
}

fn texts(saves: &[OneSaved]) -> String {
    saves.iter().map(|one| text(&one.text)).collect::<Vec<_>>().join("; ")
}

/// Returns everything that is known about a card.
pub fn everything(card: &Card) -> Vec<Field> {
    let mut fields = subject(card);
    for (n, approval) in card.approvals.iter().enumerate() {
        fields.push(Field::new("id", text(&approval.id)));
        if approval.operation != "exec" && n > 0 {
            fields.extend(uses(n, approval));
        }
        fields.extend(words(n, approval));
        let mut add = |name: &str, value: Option<String>| {
            fields.extend(value.map(|value| Field::new(name, value)));
        };
        add("in", approval.cwd.as_deref().map(exact));
        add("sha256", approval.sha256.as_deref().map(text));
        add("script", approval.script.as_ref().map(|script| exact(&script.path)));
        add("sha256", approval.script.as_ref().map(|script| text(&script.sha256)));
        for (name, all) in [("through", &approval.through), ("may run", &approval.files)] {
            for script in all {
                add(name, Some(exact(&script.path)));
                add("sha256", Some(text(&script.sha256)));
            }
        }
        for input in &approval.inputs {
            add("may run", Some(exact(input)));
        }
        add("env", approval.environment_sha256.as_ref().map(|digest| format!("sha256 {}", text(digest))));
        add("because", Some(format!("{} ({})", text(&approval.reason.text), text(&approval.reason.rule))));
        add("rule of", Some(format!("{} {}", text(&approval.reason.source), text(&approval.reason.path))));
        fields.push(asked_by(approval));
        fields.extend(directory(card));
        fields.extend(command(card));
        fields.push(Field::new("session", text(&approval.session)));
        fields.push(Field::new("calls", approval.calls.to_string()));
    }
    fields.extend(always(card));
    fields.extend(entries(card, GrantWidth::Narrow));
    fields.extend(entries(card, GrantWidth::Directory));
    fields.push(Field::new("card", format!("{}, revision {}", card.number, card.revision)));
    fields
}

/// Returns a line about a waiting call, for use without a prompt.
pub fn waiting(approval: &Approval) -> String {
    let id: String = text(&approval.id).chars().take(8).collect();
    format!(
        "openclaw-guard: waiting for approval: {} {}: openclaw-guard approvals resolve {id} allow-once",
        text(&approval.operation),
        exact(&approval.resolved_path)
    )
}

fn text(text: &str) -> String {
    shown(text.as_bytes())
}

/// A text that the command chose. Escapes in it cannot be confused with what the command itself typed.
fn exact(text: &str) -> String {
    shown_exactly(text.as_bytes())
}
