//! The cards that wait, the oldest first.

use std::collections::BTreeMap;

use guard_approvals::protocol::Approval;

/// Calls that are shown, and answered, together.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// Its number.
    pub number: u64,
    /// What it was at when this was heard.
    pub revision: u64,
    /// What it lists; never empty.
    pub approvals: Vec<Approval>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Queue {
    cards: BTreeMap<u64, Card>,
}

impl Queue {
    /// These and no others.
    pub fn replace(&mut self, approvals: Vec<Approval>) {
        self.cards.clear();
        approvals.into_iter().for_each(|approval| self.add(approval));
    }

    /// One more.
    pub fn add(&mut self, approval: Approval) {
        let number = approval.card;
        let card =
            self.cards.entry(number).or_insert_with(|| Card { number, revision: 0, approvals: Vec::new() });
        card.revision = card.revision.max(approval.revision);
        card.approvals.retain(|listed| listed.id != approval.id);
        card.approvals.push(approval);
    }

    /// One less. The card that listed it.
    pub fn remove(&mut self, id: &str) -> Option<u64> {
        let card =
            self.cards.values_mut().find(|card| card.approvals.iter().any(|listed| listed.id == id))?;
        let number = card.number;
        card.approvals.retain(|listed| listed.id != id);
        if card.approvals.is_empty() {
            self.cards.remove(&number);
        }
        Some(number)
    }

    /// The one to be answered first.
    pub fn first(&self) -> Option<&Card> {
        self.cards.values().next()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.cards.len()
    }
}
