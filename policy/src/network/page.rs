//! The port of the operator's approvals page. A process that reaches the page and has its link can answer the guard's
//! questions.

/// The state of this host's approvals page, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Page {
    /// No page is served.
    Down,
    /// A page is served at this port.
    At(u16),
    /// A page is served at an unknown port of this host.
    Somewhere,
}

impl Page {
    /// Whether the page may be served at this port of this host.
    pub fn may_be_at(self, port: u16) -> bool {
        match self {
            Page::Down => false,
            Page::At(own) => own == port,
            // Binding to port 0 gets a free port, which cannot be the page's.
            Page::Somewhere => port != 0,
        }
    }
}
