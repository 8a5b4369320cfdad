//! Where the operator's approvals page listens. Whoever reaches it with its link can answer what the guard asks.

/// The page of this host, as far as somebody could tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Page {
    /// None is served.
    Down,
    /// One is, at this port.
    At(u16),
    /// One is, and nobody can tell where: it may be anywhere on this host.
    Somewhere,
}

impl Page {
    /// Whether it may be what listens at a port of this host.
    pub fn may_be_at(self, port: u16) -> bool {
        match self {
            Page::Down => false,
            Page::At(own) => own == port,
            // A socket that is bound to no port in particular gets one that is free.
            Page::Somewhere => port != 0,
        }
    }
}
