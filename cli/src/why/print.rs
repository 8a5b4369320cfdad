//! Prints the answer, for people and for programs.

use std::io::{self, Write};

use guard_policy::remedy::Near;
use guard_policy::text::{command_line, process_name, shown};
use guard_policy::{Outcome, locate};
use serde_json::{Value, json};

use super::answer::Explanation;
use super::reason::LocatedReason;
use super::remedy::{Command, Remedy};
use crate::edit::{Colour, EditContext, colour, location};

/// Prints the answer.
///
/// # Errors
/// If stdout cannot be written.
pub fn print(context: &EditContext, answer: &Explanation) -> io::Result<()> {
    io::stdout().lock().write_all(text(context, answer, colour()).as_bytes())
}

fn text(context: &EditContext, answer: &Explanation, colour: Colour) -> String {
    let asked = &answer.asked;
    let path = shown(asked.path.as_bytes());
    let mut lines = vec![format!("{} {} {path}", headline(answer.outcome, colour), asked.operation.word())];
    let mut add = |name: &str, text: String| lines.push(format!("  {name:<9} {text}"));
    if let Some(line) = &asked.line {
        let entry = &line.entry;
        let time = entry.time.map_or_else(|| "?".to_owned(), |time| time.strftime("%F %TZ").to_string());
        let [session, agent] = [&entry.session, &entry.agent].map(|text| shown(text.as_bytes()));
        add("when", format!("{time}, session {session}, agent {agent}"));
        add("line", entry.id.short());
        let chain = line.decision.chain.iter();
        let chain: Vec<_> = chain.map(|by| format!("{} {}", process_name(&by.name), by.pid)).collect();
        add("asked by", if chain.is_empty() { line.decision.pid.to_string() } else { chain.join(" < ") });
    }
    for (i, argument) in asked.argv.iter().enumerate() {
        add(&format!("argv[{i}]"), shown(argument.as_bytes()));
    }
    add("rule", location(context, &answer.reason.path, &answer.reason.rule));
    if answer.reason.text != answer.reason.rule {
        add("", shown(answer.reason.text.as_bytes()));
    }
    match &answer.now {
        Some(now) if asked.line.is_some() => {
            let is_same = now.reason.path == answer.reason.path && now.outcome == answer.outcome;
            let by = location(context, &now.reason.path, &now.reason.rule);
            let word = word(now.outcome);
            add("now", if is_same { format!("{word} by the same") } else { format!("{word}: {by}") });
        }
        Some(now) => {
            if let Some(about) = &now.about {
                add("because", format!("it needs {}", shown(about.as_bytes())));
            }
        }
        None => add("now", "the same: no policy decides it".to_owned()),
    }
    if let Some((near, reason)) = &answer.nearest {
        let what = match near {
            Near::Elsewhere | Near::OtherProgram => "",
            Near::OtherArguments => " (with other arguments)",
        };
        add("nearest", format!("{}{what}", location(context, &reason.path, &reason.rule)));
    }
    match &answer.remedy {
        Some(Remedy::Command(command)) => {
            let Command { caution, takes_restart, needs_init, .. } = command;
            if *needs_init {
                add("to allow", "openclaw-guard init   (there is no guard.json yet), then".to_owned());
                add("", shell(command));
            } else {
                add("to allow", shell(command));
            }
            if *takes_restart {
                add("", "then restart the guard: a running guard keeps its exec.roots".to_owned());
            }
            if let Some(caution) = caution {
                add("but", shown(caution.as_bytes()));
            }
        }
        Some(Remedy::Blocked(blocker)) => {
            add("to change", shown(blocker.change.as_bytes()));
            if let Some(unwise) = blocker.unwise {
                add("but", unwise.to_owned());
            }
        }
        None => {}
    }
    lines.join("\n") + "\n"
}

fn headline(outcome: Outcome, colour: Colour) -> String {
    let (word, number) = match outcome {
        Outcome::Deny => ("DENIED", 31),
        Outcome::Ask => ("ASKED FOR", 33),
        Outcome::Allow => ("ALLOWED", 32),
    };
    match colour {
        Colour::Yes => format!("\u{1b}[1;{number}m{word}\u{1b}[0m"),
        Colour::No => word.to_owned(),
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Deny => "denied",
        Outcome::Ask => "asked for",
        Outcome::Allow => "allowed",
    }
}

fn shell(command: &Command) -> String {
    command_line(&command.words)
}

/// The answer as JSON.
pub fn json(context: &EditContext, answer: &Explanation) -> Value {
    let asked = &answer.asked;
    let mut value = json!({
        "outcome": answer.outcome,
        "operation": asked.operation,
        "path": asked.path,
        "argv": asked.argv,
        "because": reason_json(context, &answer.reason),
        "now": null,
        "nearest": null,
        "fix": null,
    });
    if let Some(line) = &asked.line {
        let entry = &line.entry;
        let by = line.decision.chain.iter().map(|by| json!({ "pid": by.pid, "name": by.name }));
        value["line"] = json!({
            "id": entry.id.to_string(),
            "time": entry.time.map(|time| time.to_string()),
            "session": entry.session,
            "agent": entry.agent,
            "pid": line.decision.pid,
            "chain": by.collect::<Vec<_>>(),
        });
    }
    if let Some(now) = &answer.now {
        value["now"] = json!({ "outcome": now.outcome, "because": reason_json(context, &now.reason) });
        if let Some(about) = &now.about {
            value["now"]["about"] = about.as_str().into();
        }
    }
    if let Some((_, reason)) = &answer.nearest {
        value["nearest"] = reason_json(context, reason);
    }
    match &answer.remedy {
        Some(Remedy::Command(command)) => {
            value["fix"] = json!({
                "command": command.words,
                "shell": shell(command),
                "takesRestart": command.takes_restart,
                "needsInit": command.needs_init,
            });
            if let Some(caution) = &command.caution {
                value["fix"]["caution"] = caution.as_str().into();
            }
        }
        Some(Remedy::Blocked(blocker)) => {
            value["fix"] = json!({ "change": blocker.change });
            if let Some(unwise) = blocker.unwise {
                value["fix"]["caution"] = unwise.into();
            }
        }
        None => {}
    }
    value
}

fn reason_json(context: &EditContext, reason: &LocatedReason) -> Value {
    let mut value = json!({ "source": reason.source, "path": reason.path, "text": reason.text });
    if let Some(location) = context.text().ok().flatten().and_then(|text| locate(text, &reason.path)) {
        value["file"] = context.name().into();
        value["line"] = location.line.into();
        value["column"] = location.column.into();
    }
    value
}
