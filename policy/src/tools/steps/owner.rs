//! What only the owner has, and what nobody has over HTTP (`src/security/dangerous-tools.ts`).

use crate::tools::catalogue::{Catalogue, Toolset, Trait};
use crate::tools::context::{Surface, ToolContext};
use crate::tools::inventory::Inventory;
use crate::tools::lists::{StepLists, merged, owned};
use crate::tools::settings::ToolSettings;

/// Denies the owner's tools to others. Over HTTP, and in old releases, an unknown sender does not count as the owner.
pub(super) fn lists(catalogue: &Catalogue, context: &ToolContext) -> Option<StepLists> {
    let is_unknown_another =
        context.surface == Surface::Http || catalogue.has(Trait::UnknownSenderIsNotOwner);
    let is_owner = context.sender.is_owner.unwrap_or(!is_unknown_another);
    (!is_owner).then(|| StepLists::deny(owned(catalogue.owner_only)))
}

/// What `POST /tools/invoke` does not offer: the list of the release without `gateway.tools.allow`,
/// `gateway.tools.deny`, and the tools that are only made for an agent's session.
pub(super) fn over_http(settings: &ToolSettings, inventory: &Inventory) -> StepLists {
    let catalogue = inventory.catalogue();
    let named = |list: &Option<Vec<String>>| -> Vec<String> {
        list.iter().flatten().map(|name| catalogue.name(name)).collect()
    };
    let allowed = named(&settings.gateway.allow);
    let refused = catalogue.http_deny.iter().filter(|tool| !allowed.iter().any(|name| name == *tool));
    let refused: Vec<String> = refused.map(|tool| (*tool).to_owned()).collect();
    let of_sessions = catalogue.tools.iter().filter(|tool| tool.made_for == Toolset::Session);
    let of_sessions: Vec<String> = of_sessions.map(|tool| tool.name.to_owned()).collect();
    StepLists::deny(merged(&merged(&refused, &named(&settings.gateway.deny)), &of_sessions))
}
