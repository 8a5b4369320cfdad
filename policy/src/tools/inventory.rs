//! The tools that there are, before any policy.

use super::catalogue::{Catalogue, Release, folded};

/// The tools of a gateway. Those of the release are known; which plugins there are, only the gateway knows.
#[derive(Clone, Debug)]
pub struct Inventory {
    release: Release,
    /// Names as policies write them.
    core: Vec<String>,
    /// The tool and the id of its plugin.
    plugins: Vec<(String, String)>,
}

impl Inventory {
    /// What the release ships, without plugins.
    pub fn of_release(release: Release) -> Inventory {
        let core = release.catalogue().tools.iter().map(|tool| tool.name.to_owned()).collect();
        Inventory { release, core, plugins: Vec::new() }
    }

    /// Adds a tool that a plugin brings. A core tool of this name stays OpenClaw's.
    pub fn add_plugin_tool(&mut self, tool: &str, plugin: &str) {
        let tool = self.catalogue().name(tool);
        if !self.has(&tool) && !tool.is_empty() {
            self.plugins.push((tool, folded(plugin)));
        }
    }

    /// The release whose rules count.
    pub fn release(&self) -> Release {
        self.release
    }

    pub(super) fn catalogue(&self) -> &'static Catalogue {
        self.release.catalogue()
    }

    /// Whether there is a tool of this name.
    pub fn has(&self, tool: &str) -> bool {
        self.names().any(|name| name == tool)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.core.iter().chain(self.plugins.iter().map(|(tool, _)| tool)).map(String::as_str)
    }

    pub(super) fn has_core(&self, tool: &str) -> bool {
        self.core.iter().any(|name| name == tool)
    }

    /// The tools of a plugin, or of all plugins (`group:plugins`); empty for other names.
    pub(super) fn of_plugin(&self, entry: &str) -> Vec<String> {
        let wanted = |(_, plugin): &&(String, String)| {
            entry == "group:plugins" || plugin == entry && !plugin.is_empty()
        };
        self.plugins.iter().filter(wanted).map(|(tool, _)| tool.clone()).collect()
    }

    pub(super) fn is_plugin_entry(&self, entry: &str) -> bool {
        entry == "group:plugins" || self.plugins.iter().any(|(tool, plugin)| tool == entry || plugin == entry)
    }
}
