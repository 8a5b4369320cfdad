//! Lists every setting in force, with its source.

use serde::Serialize;

use super::approvals::{Forwarding, GatewayUrl, Route};
use super::document::{Document, ExecSection, Mode};
use super::layers::{Layer, layers};
use super::network::Connect;
use super::persistence::switched_off;
use crate::network::listed;
use crate::paths::ceilings::Ceilings;
use crate::paths::entry::CompiledPattern;
use crate::paths::expansion::{WORKSPACE, show, trim};
use crate::paths::persistence::Set;
use crate::paths::saved_rules::SavedRule;
use crate::programs::command_line::quoted;
use crate::verdict::CompiledReason;
use crate::{Permission, Policy, Source};

/// What a setting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Modes and single values.
    Values,
    /// Programs that may start.
    Programs,
    /// The directories from which programs may start.
    Roots,
    /// Denials, which come before every rule.
    Denied,
    /// Paths where a denial is neither asked about nor printed.
    Quiet,
    /// Paths that may not be written, whatever the rules say.
    Persistence,
    /// Rules, the longest pattern first.
    Rules,
    /// What files of projects take away: the most that is left.
    Projects,
    /// The built-in base.
    Base,
    /// The default for paths that no rule covers.
    Rest,
    /// Saved answers: they allow what the settings above would ask about.
    Saved,
}

/// One setting that is in force, or that was written and has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The section that it belongs to.
    pub section: Section,
    /// The name of the setting, such as `exec.ask`, or a pattern as it is compared.
    pub name: String,
    /// The value.
    pub value: String,
    /// Who set it.
    pub source: Source,
    /// The key that sets it, such as `agents.main.exec.ask`; empty if no file sets it.
    pub path: String,
    /// An explanation, if one is needed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Setting {
    fn new(
        section: Section,
        name: impl Into<String>,
        value: impl Into<String>,
        by: (Source, &str),
    ) -> Setting {
        let (source, path) = (by.0, by.1.to_owned());
        Setting { section, name: name.into(), value: value.into(), source, path, note: String::new() }
    }

    fn noted(self, note: impl Into<String>) -> Setting {
        Setting { note: note.into(), ..self }
    }
}

impl Policy {
    /// All settings of this policy. `document` is the one that it was compiled from, if any.
    pub fn explain(&self, document: Option<&Document>) -> Vec<Setting> {
        let nothing = Document::default();
        let document = document.unwrap_or(&nothing);
        let mut settings = self.values(document);
        settings.extend(self.read_bound.as_ref().map(|bound| {
            let name = "permissions.filesystem.maxReadBytes";
            let setting =
                Setting::new(Section::Values, name, bound.bytes().to_string(), (bound.source(), bound.key()));
            setting.noted("files of the built-in base are not bounded")
        }));
        settings.extend(self.web());
        settings.extend(self.node_values(document));
        settings.extend(self.workspace_setting(document));
        settings.extend(self.started(document));
        let builtin = if document.exec.roots.is_some() { Source::Global } else { Source::Default };
        let root = |root: &Vec<u8>| Setting::new(Section::Roots, show(root), "x", (builtin, "exec.roots"));
        settings.extend(self.roots.iter().map(root));
        settings.extend(self.files(document));
        settings
    }

    fn values(&self, document: &Document) -> Vec<Setting> {
        let (programs, exec) = (&self.programs, &document.exec);
        let reasons = &programs.reasons;
        let mode = |name: &str, value: &str, reason: &CompiledReason| {
            Setting::new(Section::Values, name, value, (reason.source, reason.path.as_str()))
        };
        let single = |name: &str, value: String, is_given: bool| {
            let source = if is_given { Source::Global } else { Source::Default };
            Setting::new(Section::Values, name, value, (source, if is_given { name } else { "" }))
        };
        let switch = |key: &str, get: fn(&Mode) -> Option<bool>| {
            let layers = layers(document, self.extended.as_deref(), &self.agent);
            let given = layers.into_iter().find_map(|layer| {
                get(&layer.mode).map(|on| (on, layer.source, format!("{}exec.{key}", layer.prefix)))
            });
            let (on, source, path) = given.unwrap_or((false, Source::Default, String::new()));
            Setting::new(Section::Values, format!("exec.{key}"), on.to_string(), (source, path.as_str()))
        };
        let ExecSection { timeout_ms, running_notice_ms, allow_ptrace, environment, path_prepend, .. } = exec;
        let asked = &self.approvals;
        let routes = asked.routes().map_or_else(
            || Route::NAMES.join(", "),
            |routes| routes.iter().map(|route| route.as_str()).collect::<Vec<_>>().join(", "),
        );
        let notify = asked.notify().map(quoted).unwrap_or_default();
        let (gateway, forwarding) = (asked.gateway(), asked.forwarding());
        let url = gateway.url().map_or("", GatewayUrl::as_str).to_owned();
        let token = gateway.token_file().unwrap_or_default().to_owned();
        let fingerprint = gateway.fingerprint().map(|print| print.to_string()).unwrap_or_default();
        let connect = &document.network.connect;
        let denied: Vec<_> = self.network.denials().collect();
        let excepted: Vec<_> = self.network.exceptions().collect();
        let fallback = layers(document, self.extended.as_deref(), &self.agent)
            .into_iter()
            .find_map(|layer| layer.mode.fallback());
        let capped = match fallback {
            Some((wanted, _)) if wanted != self.ask_fallback() => {
                format!(
                    "capped: guard.json says {}, and exec.security or another source allows less",
                    wanted.as_str()
                )
            }
            _ => String::new(),
        };
        let limit = |key: &str, value: Option<u64>| {
            let text = value.map(|value| value.to_string()).unwrap_or_default();
            single(&format!("limits.{key}"), text, value.is_some())
        };
        let directories: Vec<_> = self.path_prepend.iter().map(|dir| show(dir)).collect();
        let list = |list: &Option<Vec<String>>| list.as_ref().map(|list| list.join(", "));
        let tools =
            [("tools.allow", list(&document.tools.allow)), ("tools.deny", list(&document.tools.deny))];
        let tools = tools.into_iter().filter_map(|(name, list)| Some(single(name, list?, true)));
        let mut settings = vec![
            mode("exec.security", self.security().as_str(), &reasons.full),
            mode("exec.ask", self.ask().as_str(), &reasons.always),
            mode("exec.askFallback", self.ask_fallback().as_str(), &reasons.fallback).noted(capped),
            single("exec.timeoutMs", self.timeout_ms.to_string(), timeout_ms.is_some()),
            single("exec.runningNoticeMs", self.running_notice_ms.to_string(), running_notice_ms.is_some()),
            switch("strictInlineEval", |mode| mode.strict_inline_eval),
            switch("autoAllowSkills", |mode| mode.auto_allow_skills),
            single("exec.environment", self.inherit.as_str().to_owned(), environment.is_some()),
            single("exec.pathPrepend", directories.join(":"), path_prepend.is_some()),
            single("approvals.routes", routes, document.approvals.routes.is_some()),
            single("approvals.maxPending", asked.max_pending().to_string(), asked.max_pending.is_some()),
            single("approvals.notify", notify, asked.notify.is_some()),
            single("approvals.gateway.url", url, gateway.url.is_some()),
            single("approvals.gateway.tokenFile", token, gateway.token_file.is_some()),
            single(
                "approvals.gateway.allowInsecure",
                gateway.allow_insecure().to_string(),
                gateway.allow_insecure.is_some(),
            ),
            single("approvals.gateway.fingerprint", fingerprint, gateway.fingerprint.is_some()),
            single("approvals.gateway.admin", gateway.admin().to_string(), gateway.admin.is_some()),
            single("approvals.exec", forwarding.summary(), *forwarding != Forwarding::default()),
            single("exec.allowPtrace", self.allow_ptrace.to_string(), allow_ptrace.is_some()),
            single(
                "network.unixDatagram",
                self.unix_datagram.to_string(),
                document.network.unix_datagram.is_some(),
            ),
            single("network.connect.deny", denied.join(", "), !connect.deny.is_empty()),
            single("network.connect.allow", excepted.join(", "), !connect.allow.is_empty()),
            single(
                "network.connect.ports",
                self.tcp_ports().map_or_else(|| "all".to_owned(), listed),
                connect.ports.is_some(),
            ),
            self.gateway(connect),
            single(
                "network.connect.private",
                if self.network.denies_private() { "deny" } else { "allow" }.to_owned(),
                connect.private.is_some(),
            ),
            single("audit.path", self.audit.path.clone().unwrap_or_default(), document.audit.path.is_some()),
            single(
                "audit.onError",
                self.audit.on_error.as_str().to_owned(),
                document.audit.on_error.is_some(),
            ),
            single("audit.maxBytes", self.audit.max_bytes.to_string(), document.audit.max_bytes.is_some()),
            single("audit.keep", self.audit.keep.to_string(), document.audit.keep.is_some()),
            single("limits.memory", self.limits.memory_text(), document.limits.memory.is_some()),
            limit("pids", self.limits.pids),
            limit("openFiles", self.limits.open_files),
            limit("seconds", self.limits.seconds),
            single(
                "elevated.enabled",
                self.elevated.enabled().to_string(),
                document.elevated.enabled.is_some(),
            ),
            single("elevated.allowFrom", self.elevated.senders(), document.elevated.allow_from.is_some()),
            single(
                "elevated.default",
                self.elevated.default_level().as_str().to_owned(),
                document.elevated.default.is_some(),
            ),
            single("audit.journald", self.audit.journald.to_string(), document.audit.journald.is_some()),
        ];
        settings.extend(tools);
        settings
    }

    /// The settings of `node`.
    fn node_values(&self, document: &Document) -> Vec<Setting> {
        let (node, given) = (&self.node, &document.node);
        let single = |name: &str, value: String, is_given: bool| {
            let by = if is_given { (Source::Global, name) } else { (Source::Default, "") };
            Setting::new(Section::Values, name, value, by)
        };
        let commands: Vec<_> = node.commands.iter().map(|command| command.as_str()).collect();
        let name = node.display_name.clone().unwrap_or_default();
        vec![
            single("node.displayName", name, given.display_name.is_some()),
            single("node.commands", commands.join(", "), given.commands.is_some()),
            single("node.cwd", node.cwd.clone(), given.cwd.is_some()),
            single("node.maxRunning", node.max_running.to_string(), given.max_running.is_some()),
            single("node.outputBytes", node.output_bytes.to_string(), given.output_bytes.is_some()),
            single(
                "node.eventTailBytes",
                node.event_tail_bytes.to_string(),
                given.event_tail_bytes.is_some(),
            ),
        ]
    }

    /// What `${workspace}` stands for, if the document names it.
    fn workspace_setting(&self, document: &Document) -> Option<Setting> {
        let value = self.workspace().map_or_else(|| "nothing".to_owned(), show);
        let note = self.warnings.iter().find(|warning| warning.starts_with(WORKSPACE));
        let setting = Setting::new(Section::Values, WORKSPACE, value, (Source::Default, ""));
        document.names_workspace().then(|| setting.noted(note.map_or("", String::as_str)))
    }

    /// What `network.web` sets, if there is one.
    fn web(&self) -> Vec<Setting> {
        let Some(rules) = self.network.web_rules() else { return Vec::new() };
        let setting = |key: &str, value: String| {
            let name = format!("network.web.{key}");
            Setting::new(Section::Values, name.clone(), value, (Source::Global, name.as_str()))
        };
        let lists = rules.lists().into_iter().filter(|(_, list)| !list.is_empty());
        let mut settings: Vec<_> = lists.map(|(key, list)| setting(key, list)).collect();
        let most = rules.max_response_bytes().map_or_else(|| "no limit".to_owned(), |most| most.to_string());
        settings.push(setting("maxResponseBytes", most));
        settings.push(setting("followRedirects", rules.follow_redirects().to_string()));
        settings.push(setting("ask", if rules.asks() { "on-miss" } else { "off" }.to_owned()));
        settings.push(setting("private", self.network.web_private(rules).as_str().to_owned()));
        settings
    }

    fn gateway(&self, connect: &Connect) -> Setting {
        let (source, path) = match connect.gateway {
            Some(_) => (Source::Global, "network.connect.gateway"),
            None => (Source::Default, ""),
        };
        let ports = self.network.gateway();
        let value = if ports.is_empty() { "allow" } else { "deny" };
        let elsewhere = self.network.gateway_elsewhere().map(|at| format!(", {at}")).unwrap_or_default();
        let note =
            if ports.is_empty() { String::new() } else { format!("port {}{elsewhere}", listed(ports)) };
        Setting::new(Section::Values, "network.connect.gateway", value, (source, path)).noted(note)
    }

    /// Programs that may start, apart from those that a file rule grants `x`.
    fn started(&self, document: &Document) -> Vec<Setting> {
        let programs = &self.programs;
        let of = |name: String, value: &str, reason: &CompiledReason| {
            Setting::new(Section::Programs, name, value, (reason.source, reason.path.as_str()))
        };
        let mut settings: Vec<Setting> = programs
            .carriers
            .iter()
            .map(|name| of(name.clone(), "carrier", &programs.reasons.carrier))
            .collect();
        settings.extend(programs.safe_bins.listing().map(|(name, paths, reason)| {
            let mut paths: Vec<_> = paths.iter().map(|path| show(path)).collect();
            paths.sort();
            paths.dedup();
            of(name, "safe bin", reason).noted(paths.join(", "))
        }));
        settings.extend(programs.skills.listing().map(|(forms, _, reason)| of(forms, "skill", reason)));
        settings.extend(
            programs
                .outside
                .listing()
                .map(|(forms, limit, reason)| of(forms, "entry outside", reason).noted(limit)),
        );
        let active: Vec<Setting> = programs
            .allowlist
            .listing()
            .map(|(forms, limit, reason)| of(forms, "entry", reason).noted(limit))
            .collect();
        let mut written = Vec::new();
        for layer in layers(document, self.extended.as_deref(), &self.agent) {
            for (i, entry) in layer.agent.map_or(&[][..], |agent| &agent.allowlist).iter().enumerate() {
                let path = format!("{}allowlist[{i}]", layer.prefix);
                if active.iter().any(|setting| setting.path == path) {
                    continue;
                }
                let about = |warning: &&String| warning.starts_with(&format!("{path}: "));
                let why = self.warnings.iter().find(about).map_or("", |warning| &warning[path.len() + 2..]);
                let inactive = Setting::new(
                    Section::Programs,
                    trim(&entry.pattern),
                    "inactive entry",
                    (layer.source, &path),
                );
                written.push(inactive.noted(why));
            }
        }
        settings.extend(active);
        settings.extend(written);
        settings
    }

    fn files(&self, document: &Document) -> Vec<Setting> {
        let map = &self.map;
        let of = |section: Section| {
            move |entry: &CompiledPattern| {
                let CompiledReason { source, path, text, .. } = &*entry.reason;
                let setting = Setting::new(
                    section,
                    entry.glob.text(),
                    entry.rights.to_string(),
                    (*source, path.as_str()),
                );
                // For a rule, name and value already show what it grants and where a link leads.
                if matches!(section, Section::Denied | Section::Quiet) {
                    setting.noted(text)
                } else {
                    setting
                }
            }
        };
        // A denied path is compiled to itself and to everything below it. List only the second, which covers the first.
        let is_covered = |entry: &CompiledPattern, list: &[CompiledPattern]| {
            let below = format!("{}/**", entry.glob.text().trim_end_matches('/'));
            list.iter().any(|other| other.reason.path == entry.reason.path && other.glob.text() == below)
        };
        let mut settings = Vec::new();
        for (section, list) in [(Section::Denied, &map.denies), (Section::Quiet, &map.quiet)] {
            settings.extend(list.iter().filter(|entry| !is_covered(entry, list)).map(of(section)));
        }
        settings.extend(map.protected.entries().iter().map(|entry| {
            let CompiledReason { source, path, .. } = &*entry.reason;
            let set = path.strip_prefix("permissions.persistence.").unwrap_or(match path.as_str() {
                "builtin.policies" => "the policy of an earlier run",
                "builtin.project" => "the policy of a project",
                _ => "a link to what is denied",
            });
            Setting::new(Section::Persistence, entry.glob.text(), set, (*source, path.as_str()))
        }));
        settings.extend(map.protected.shapes().patterns().into_iter().map(|(shape, set, reason)| {
            Setting::new(Section::Persistence, &shape, set.as_str(), (reason.source, reason.path.as_str()))
        }));
        settings.extend(self.unprotected(document).into_iter().map(|(set, source, path)| {
            Setting::new(Section::Persistence, set.as_str(), "off", (source, path.as_str()))
        }));
        settings.extend(map.rules.iter().map(of(Section::Rules)));
        settings.extend(map.ceilings.iter().flat_map(Ceilings::entries).map(of(Section::Projects)));
        settings.extend(map.base.iter().map(of(Section::Base)));
        let rest = map.default_reason();
        let value = Permission(map.default).to_string();
        settings.push(Setting::new(Section::Rest, "**", value, (rest.source, rest.path.as_str())));
        settings.extend(map.answers.iter().map(|SavedRule { glob, bits, reason }| {
            let by = (reason.source, reason.path.as_str());
            Setting::new(Section::Saved, glob.text(), bits.to_string(), by)
        }));
        settings.extend(self.network.saved_origins().map(|(origin, reason)| {
            let by = (reason.source, reason.path.as_str());
            Setting::new(Section::Saved, origin.to_string(), "reach", by)
        }));
        settings
    }

    /// The persistence sets that are switched off, with the source and key of each switch.
    fn unprotected(&self, document: &Document) -> Vec<(Set, Source, String)> {
        let layers = layers(document, self.extended.as_deref(), &self.agent);
        let off = |set| {
            let (source, path) = switched_off(layers.iter().map(Layer::persistence), set)?;
            Some((set, source, path))
        };
        Set::ALL.into_iter().filter_map(off).collect()
    }
}
