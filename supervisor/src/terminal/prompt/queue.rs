//! The waiting cards, the oldest first.

use std::collections::BTreeMap;

use guard_approvals::protocol::Approval;

/// Calls that are shown and answered together.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// The card's number.
    pub number: u64,
    /// The card's revision, as last reported.
    pub revision: u64,
    /// The calls that it lists; never empty.
    pub approvals: Vec<Approval>,
}

/// All waiting cards.
#[derive(Debug, Default)]
pub struct Queue {
    cards: BTreeMap<u64, Card>,
}

impl Queue {
    /// Replaces all cards by those of these calls.
    pub fn replace(&mut self, approvals: Vec<Approval>) {
        self.cards.clear();
        approvals.into_iter().for_each(|approval| self.add(approval));
    }

    /// Adds a call to its card.
    pub fn add(&mut self, approval: Approval) {
        let number = approval.card;
        let card =
            self.cards.entry(number).or_insert_with(|| Card { number, revision: 0, approvals: Vec::new() });
        card.revision = card.revision.max(approval.revision);
        card.approvals.retain(|listed| listed.id != approval.id);
        card.approvals.push(approval);
    }

    /// Removes a call. Returns the number of its card.
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

    /// Returns the card to be answered first.
    pub fn first(&self) -> Option<&Card> {
        self.cards.values().next()
    }

    /// Returns the number of cards.
    pub fn len(&self) -> usize {
        self.cards.len()
    }
}
