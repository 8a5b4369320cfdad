//! Which entry of `byProvider` counts (`src/agents/provider-tool-policy.ts`).

use crate::tools::catalogue::folded;
use crate::tools::context::ToolContext;
use crate::tools::settings::ProviderTools;

/// The entry of provider and model, or else that of the provider. An empty entry counts, too.
pub(super) fn find<'s>(
    entries: &'s [(String, ProviderTools)],
    context: &ToolContext,
) -> Option<&'s ProviderTools> {
    let provider = canonical(context.provider.as_deref()?);
    if provider.is_empty() {
        return None;
    }
    let model = context.model.as_deref().map(folded).filter(|model| !model.is_empty());
    let of_key = |wanted: &str| {
        let mut equal = entries.iter().filter(|(key, _)| canonical(key) == wanted);
        let first = equal.clone().next();
        // Of several spellings of one key, the canonical one counts.
        equal.find(|(key, _)| folded(key) == wanted).or(first).map(|(_, tools)| tools)
    };
    model.and_then(|model| of_key(&format!("{provider}/{model}"))).or_else(|| of_key(&provider))
}

/// A key without blanks around provider and model.
fn canonical(key: &str) -> String {
    let key = folded(key);
    match key.split_once('/') {
        Some((provider, "")) if !provider.is_empty() => folded(provider),
        Some((provider, model)) if !provider.is_empty() => format!("{}/{model}", folded(provider)),
        _ => key,
    }
}
