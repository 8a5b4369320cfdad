//! The single values among the settings: modes, numbers, names and lists of them.

use super::{Section, Setting};
use crate::config::approvals::{Forwarding, GatewayUrl, Route};
use crate::config::document::{Document, ExecSection, Mode};
use crate::config::layers::layers;
use crate::config::network::Connect;
use crate::network::listed;
use crate::paths::expansion::show;
use crate::programs::command_line::quoted;
use crate::verdict::CompiledReason;
use crate::{Policy, Source};

impl Policy {
    /// The values of all sections but `node` and `network.web`.
    pub(super) fn values(&self, document: &Document) -> Vec<Setting> {
        let mut settings = self.exec_values(document);
        settings.extend(self.approval_values(document));
        let is_given = document.exec.allow_ptrace.is_some();
        settings.push(Setting::single("exec.allowPtrace", self.allow_ptrace.to_string(), is_given));
        settings.extend(self.network_values(document));
        settings.extend(self.audit_values(document));
        settings.extend(self.limit_values(document));
        settings.extend(self.elevated_values(document));
        let is_given = document.audit.journald.is_some();
        settings.push(Setting::single("audit.journald", self.audit.journald.to_string(), is_given));
        settings.extend(tool_values(document));
        settings
    }

    /// The settings of `exec` that all programs share.
    fn exec_values(&self, document: &Document) -> Vec<Setting> {
        let reasons = &self.programs.reasons;
        let mode = |name: &str, value: &str, reason: &CompiledReason| {
            Setting::new(Section::Values, name, value, (reason.source, reason.path.as_str()))
        };
        let switch = |key: &str, get: fn(&Mode) -> Option<bool>| {
            let layers = layers(document, self.extended.as_deref(), &self.agent);
            let given = layers.into_iter().find_map(|layer| {
                get(&layer.mode).map(|on| (on, layer.source, format!("{}exec.{key}", layer.prefix)))
            });
            let (on, source, path) = given.unwrap_or((false, Source::Default, String::new()));
            Setting::new(Section::Values, format!("exec.{key}"), on.to_string(), (source, path.as_str()))
        };
        let single = Setting::single;
        let ExecSection { timeout_ms, running_notice_ms, environment, path_prepend, .. } = &document.exec;
        let directories: Vec<_> = self.path_prepend.iter().map(|dir| show(dir)).collect();
        let fallback = mode("exec.askFallback", self.ask_fallback().as_str(), &reasons.fallback);
        vec![
            mode("exec.security", self.security().as_str(), &reasons.full),
            mode("exec.ask", self.ask().as_str(), &reasons.always),
            fallback.noted(self.capped_fallback(document).unwrap_or_default()),
            single("exec.timeoutMs", self.timeout_ms.to_string(), timeout_ms.is_some()),
            single("exec.runningNoticeMs", self.running_notice_ms.to_string(), running_notice_ms.is_some()),
            switch("strictInlineEval", |mode| mode.strict_inline_eval),
            switch("autoAllowSkills", |mode| mode.auto_allow_skills),
            single("exec.environment", self.inherit.as_str().to_owned(), environment.is_some()),
            single("exec.pathPrepend", directories.join(":"), path_prepend.is_some()),
        ]
    }

    /// Returns a note if the `exec.askFallback` in force is stricter than the one in guard.json.
    fn capped_fallback(&self, document: &Document) -> Option<String> {
        let layers = layers(document, self.extended.as_deref(), &self.agent);
        let (wanted, _) = layers.into_iter().find_map(|layer| layer.mode.fallback())?;
        (wanted != self.ask_fallback()).then(|| {
            format!(
                "capped: guard.json says {}, and exec.security or another source allows less",
                wanted.as_str()
            )
        })
    }

    /// The settings of `approvals`.
    fn approval_values(&self, document: &Document) -> Vec<Setting> {
        let single = Setting::single;
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
        vec![
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
        ]
    }

    /// The settings of `network`, apart from `network.web`.
    fn network_values(&self, document: &Document) -> Vec<Setting> {
        let single = Setting::single;
        let connect = &document.network.connect;
        let denied: Vec<_> = self.network.denials().collect();
        let excepted: Vec<_> = self.network.exceptions().collect();
        vec![
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
                self.network.private().as_str().to_owned(),
                connect.private.is_some(),
            ),
        ]
    }

    /// The setting `network.connect.gateway`.
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

    /// What `network.web` sets, if there is one.
    pub(super) fn web(&self) -> Vec<Setting> {
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

    /// The settings of the log's file.
    fn audit_values(&self, document: &Document) -> Vec<Setting> {
        let (audit, given) = (&self.audit, &document.audit);
        let single = Setting::single;
        vec![
            single("audit.path", audit.path.clone().unwrap_or_default(), given.path.is_some()),
            single("audit.onError", audit.on_error.as_str().to_owned(), given.on_error.is_some()),
            single("audit.maxBytes", audit.max_bytes.to_string(), given.max_bytes.is_some()),
            single("audit.keep", audit.keep.to_string(), given.keep.is_some()),
        ]
    }

    /// The settings of `limits`.
    fn limit_values(&self, document: &Document) -> Vec<Setting> {
        let limit = |key: &str, value: Option<u64>| {
            let text = value.map(|value| value.to_string()).unwrap_or_default();
            Setting::single(&format!("limits.{key}"), text, value.is_some())
        };
        vec![
            Setting::single("limits.memory", self.limits.memory_text(), document.limits.memory.is_some()),
            limit("pids", self.limits.pids),
            limit("openFiles", self.limits.open_files),
            limit("seconds", self.limits.seconds),
        ]
    }

    /// The settings of `elevated`.
    fn elevated_values(&self, document: &Document) -> Vec<Setting> {
        let (elevated, given) = (&self.elevated, &document.elevated);
        let single = Setting::single;
        let level = elevated.default_level().as_str().to_owned();
        vec![
            single("elevated.enabled", elevated.enabled().to_string(), given.enabled.is_some()),
            single("elevated.allowFrom", elevated.senders(), given.allow_from.is_some()),
            single("elevated.default", level, given.default.is_some()),
        ]
    }

    /// The settings of `node`.
    pub(super) fn node_values(&self, document: &Document) -> Vec<Setting> {
        let (node, given) = (&self.node, &document.node);
        let single = Setting::single;
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
}

/// The lists of OpenClaw's tools that guard.json has.
fn tool_values(document: &Document) -> impl Iterator<Item = Setting> {
    let lists = [("tools.allow", &document.tools.allow), ("tools.deny", &document.tools.deny)];
    lists.into_iter().filter_map(|(name, list)| Some(Setting::single(name, list.as_ref()?.join(", "), true)))
}
