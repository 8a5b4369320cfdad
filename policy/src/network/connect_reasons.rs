//! The reasons of verdicts on connections, as `network.connect` gives them.

use super::{AddressClass, listed};
use crate::config::network::ConnectAccess;
use crate::verdict::{ABSOLUTE, CompiledReason, Source};

/// For the destination at this place in `network.connect.deny`.
pub(super) fn denied(index: usize, text: &str) -> CompiledReason {
    CompiledReason {
        source: Source::Global,
        path: format!("network.connect.deny[{index}]"),
        rule: format!("network.connect.deny \"{text}\""),
        text: format!("\"{text}\" is denied"),
    }
}

/// For the metadata service of a cloud.
pub(super) fn metadata() -> CompiledReason {
    unnamed(
        AddressClass::Metadata,
        "a cloud hands out the machine's credentials there; only its own entry in network.connect.allow opens it",
    )
}

/// For a link-local address.
pub(super) fn link_local() -> CompiledReason {
    unnamed(
        AddressClass::LinkLocal,
        "it leads to whatever is on this link; only its own entry in network.connect.allow opens it",
    )
}

/// For a class of addresses that is denied where no exception names the address.
fn unnamed(class: AddressClass, text: &str) -> CompiledReason {
    CompiledReason {
        source: Source::Default,
        path: "network.connect.allow".to_owned(),
        rule: format!("a {class} address that network.connect.allow does not name"),
        text: text.to_owned(),
    }
}

/// For a socket that would keep to one link.
pub(super) fn bound_link() -> CompiledReason {
    CompiledReason {
        source: Source::Default,
        path: "network.connect.private".to_owned(),
        rule: "a link-local address, to which no socket is bound".to_owned(),
        text: "what such a socket sends to this host would leave by the interface; only network.connect.private \"allow\", \
               without network.web, opens it"
            .to_owned(),
    }
}

/// For a port that is not among the allowed ones.
pub(super) fn port(allowed: &[u16]) -> CompiledReason {
    CompiledReason {
        source: Source::Global,
        path: "network.connect.ports".to_owned(),
        rule: format!("network.connect.ports [{}]", listed(allowed)),
        text: "the port is not in network.connect.ports".to_owned(),
    }
}

/// For the port of OpenClaw's gateway; `written` is what guard.json says of it.
pub(super) fn gateway(written: Option<ConnectAccess>) -> CompiledReason {
    CompiledReason {
        source: if written.is_some() { Source::Global } else { Source::Default },
        path: "network.connect.gateway".to_owned(),
        rule: "network.connect.gateway \"deny\"".to_owned(),
        text: "the port of OpenClaw's gateway, where questions of the guard can be answered".to_owned(),
    }
}

/// For the port of a running server that is not the tree's.
pub(super) fn server() -> CompiledReason {
    CompiledReason {
        source: Source::Builtin,
        path: "network".to_owned(),
        rule: "builtin network: the port of a running server".to_owned(),
        text: "another process listens there, and the kernel would give the tree a part of what arrives; use another port"
            .to_owned(),
    }
}

/// For the approvals page.
pub(super) fn page() -> CompiledReason {
    absolute("the guarded tree may not answer its own questions")
}

/// For what may be the approvals page, whose address is lost.
pub(super) fn lost_page() -> CompiledReason {
    absolute(
        "a page is served, and guard/page.lock in the state directory does not have its address, so it may be this one",
    )
}

/// For the approvals page: no policy can open it.
fn absolute(text: &str) -> CompiledReason {
    CompiledReason {
        source: Source::Builtin,
        path: ABSOLUTE.to_owned(),
        rule: "the approvals page".to_owned(),
        text: text.to_owned(),
    }
}

/// For a connection that nothing denies.
pub(super) fn allowed() -> CompiledReason {
    CompiledReason {
        source: Source::Default,
        path: "network.connect".to_owned(),
        rule: "network.connect".to_owned(),
        text: "nothing in network.connect denies it".to_owned(),
    }
}
