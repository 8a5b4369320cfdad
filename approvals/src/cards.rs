//! Cards: calls that differ only in arguments or environment, and what one command does in one directory, are shown
//! together and can be answered together.

use std::collections::HashMap;

use super::binding::CardKey;
use super::event::CardRevision;
use super::question::Id;

/// The questions on one card.
#[derive(Debug)]
struct CardListing {
    card: CardRevision,
    /// Each question with the card revision that added it, in order of revision.
    listed: Vec<(Id, u64)>,
}

/// The cards that wait for an answer.
#[derive(Debug, Default)]
pub struct Cards {
    cards: HashMap<CardKey, CardListing>,
    /// The number of the newest card.
    newest: u64,
}

impl Cards {
    /// Whether a card with this key exists.
    pub fn has(&self, key: &CardKey) -> bool {
        self.cards.contains_key(key)
    }

    /// The number of pending cards of an agent.
    pub fn count(&self, agent: &str) -> usize {
        self.cards.keys().filter(|key| key.agent() == agent).count()
    }

    /// Adds a question to its card. Creates the card if there is none.
    pub fn list(&mut self, key: &CardKey, id: Id) -> CardRevision {
        let listing = self.cards.entry(key.clone()).or_insert_with(|| {
            self.newest += 1;
            CardListing { card: CardRevision { number: self.newest, revision: 0 }, listed: Vec::new() }
        });
        listing.card.revision += 1;
        listing.listed.push((id, listing.card.revision));
        listing.card
    }

    /// Removes a question from its card, and the card itself if that was its last question.
    pub fn remove(&mut self, key: &CardKey, id: Id) {
        if let Some(listing) = self.cards.get_mut(key) {
            listing.listed.retain(|(listed, _)| *listed != id);
            listing.card.revision += 1;
            if listing.listed.is_empty() {
                self.cards.remove(key);
            }
        }
    }

    /// The questions that were on the card at `revision` and still are. `None` if the card has no such revision.
    pub fn listed(&self, key: &CardKey, revision: u64) -> Option<Vec<Id>> {
        let listing = self.cards.get(key).filter(|listing| revision <= listing.card.revision)?;
        let listed = listing.listed.iter().filter(|(_, since)| *since <= revision);
        Some(listed.map(|(id, _)| *id).collect())
    }

    /// All cards with their questions, oldest first.
    pub fn all(&self) -> Vec<(CardRevision, Vec<Id>)> {
        let ids = |listing: &CardListing| listing.listed.iter().map(|(id, _)| *id).collect();
        let mut all: Vec<_> = self.cards.values().map(|listing| (listing.card, ids(listing))).collect();
        all.sort_by_key(|(card, _): &(CardRevision, Vec<Id>)| card.number);
        all
    }
}
