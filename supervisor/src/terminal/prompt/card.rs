//! The text of a card: the sentence of each call, and the facts about it.

use guard_approvals::decision::{Decision, GrantWidth, Span};
use guard_approvals::facts::{self, Fact, FactRank};
use guard_approvals::protocol::{Approval, OneSaved, Saved};
use guard_policy::approval::Saving;
use guard_policy::text::shown;

use super::edited::EditedPattern;
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

/// What nobody may allow unseen.
pub struct Required {
    /// The sentence of each call, with what matters for this call alone.
    pub lead: Vec<Field>,
    /// What else matters for all calls.
    pub common: Vec<Field>,
}

impl Required {
    /// Both, in the order in which they are shown.
    pub fn into_fields(self) -> Vec<Field> {
        [self.lead, self.common].concat()
    }
}

/// Returns what must have been seen of a card before any answer allows it.
pub fn required(card: &Card) -> Required {
    let facts: Vec<_> = card.approvals.iter().map(required_facts).collect();
    let common = shared(&facts);
    let count = card.approvals.len();
    let mut lead = Vec::new();
    for (n, (approval, own)) in card.approvals.iter().zip(&facts).enumerate() {
        let sentence = facts::sentence(approval);
        let sentence = if count > 1 { format!("{} of {count}: {sentence}", n + 1) } else { sentence };
        lead.push(Field::for_call(n, "", sentence));
        let own = own.iter().filter(|fact| !common.contains(fact)).cloned();
        lead.extend(own.map(|fact| Field::for_call(n, fact.name, fact.text)));
    }
    Required { lead, common: common.into_iter().cloned().map(field).collect() }
}

fn required_facts(approval: &Approval) -> Vec<Fact> {
    facts::facts(approval).into_iter().filter(|fact| fact.rank.is_required()).collect()
}

/// Returns the facts that all calls have.
fn shared(required: &[Vec<Fact>]) -> Vec<&Fact> {
    let first = required.first().map(Vec::as_slice).unwrap_or_default();
    first.iter().filter(|fact| required.iter().all(|other| other.contains(fact))).collect()
}

/// Returns who makes the calls, why they are asked, and how far an answer may reach.
pub fn context(card: &Card) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for fact in card.approvals.iter().flat_map(facts::facts) {
        let is_context = fact.rank == FactRank::Context;
        let field = field(fact);
        if is_context && !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

fn field(fact: Fact) -> Field {
    Field::new(fact.name, fact.text)
}

/// Returns the answer that this decision becomes for all calls of a card. Where no directory is offered, an answer for
/// a directory and a command becomes one for the file alone.
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
pub fn allowed(card: &Card, decision: Decision, pattern: Option<&EditedPattern>) -> Vec<Field> {
    let mut fields = required(card).into_fields();
    match decision {
        Decision::AllowAlways(width) => {
            fields.extend(pattern.map_or_else(|| entries(card, width), edited));
        }
        Decision::AllowFor(width, span) => {
            let approvals = || card.approvals.iter();
            let directories =
                approvals().filter_map(facts::directory).filter(|_| width == GrantWidth::Directory);
            let commands = approvals().filter_map(facts::command).filter(|_| span == Span::Command);
            fields.extend(directories.chain(commands).map(field));
        }
        Decision::AllowOnce | Decision::Deny | Decision::DenyFor(..) => {}
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
        let entries = if width == GrantWidth::Directory { directory } else { saves };
        fields.extend(entries.iter().flat_map(facts::saved).map(field));
    }
    fields
}

/// Returns whether the pattern that "always" saves can be edited.
pub fn is_editable(card: &Card, width: GrantWidth) -> bool {
    let is_one = |approval: &Approval| approval.edited_below.is_some();
    width == GrantWidth::Narrow && card.approvals.iter().all(is_one)
}

/// Returns what "always" would save with another pattern: each access once, and the existing files that the pattern
/// matches.
pub fn edited(edited: &EditedPattern) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for rule in &edited.rules {
        let saving = OneSaved::from_saving(&Saving::Rule(rule.clone()));
        let new: Vec<_> = facts::saved(&saving).into_iter().map(field).collect();
        fields.extend(new.into_iter().filter(|field| !fields.contains(field)).collect::<Vec<_>>());
    }
    fields.push(Field::new("covers", edited.covered.clone()));
    fields
}

/// Returns what a wider answer is for: a directory, or a domain.
pub fn wider(card: &Card) -> &'static str {
    let is_host = |approval: &Approval| approval.operation == "connect";
    if card.approvals.first().is_some_and(is_host) { "domain" } else { "directory" }
}

/// Returns whether "always" can be given for the whole directory or domain.
pub fn has_directory(card: &Card) -> bool {
    let has = |approval: &Approval| matches!(&approval.always, Saved::Saves { directory, .. } if !directory.is_empty());
    card.approvals.iter().all(has)
}

/// Returns everything that is known about a card.
pub fn everything(card: &Card) -> Vec<Field> {
    let mut fields = required(card).into_fields();
    fields.extend(context(card));
    let count = card.approvals.len();
    for (n, approval) in card.approvals.iter().enumerate() {
        if count > 1 {
            fields.push(Field::new(format!("call {}", n + 1), format!("of {count}")));
        }
        let details = facts::facts(approval).into_iter().filter(|fact| fact.rank == FactRank::Detail);
        fields.extend(details.map(|fact| Field::for_call(n, fact.name, fact.text)));
    }
    fields.extend(entries(card, GrantWidth::Narrow));
    fields.extend(entries(card, GrantWidth::Directory));
    fields
}

fn text(text: &str) -> String {
    shown(text.as_bytes())
}
