//! Sections that only the program's main page has.

/// The guard's own exit statuses.
pub const STATUS: &[(&str, &str)] = &[
    (
        "125",
        "The guard failed: its command line, its policy, its log, or the kernel. The command was not run, or not to its end.",
    ),
    ("126", "The command was denied, or is no program."),
    ("127", "The command was not found."),
    (
        "128 + n",
        "As a shell shows it: signal n ended the command, and the guard ended itself by the same signal.",
    ),
    ("any other", "The command's own."),
];

/// OPENCLAW_STATE_DIR replaces ~/.openclaw in these paths.
pub const FILES: &[(&str, &str)] = &[
    ("~/.openclaw/guard.json", "The policy. Without it the built-in one holds."),
    (
        "~/.openclaw/guard/audit.jsonl",
        "The audit log, as JSON Lines; older parts and the hash of its end are beside it.",
    ),
    ("~/.openclaw/guard/approvals.json", "What was always allowed, where OpenClaw has no place for it."),
    ("~/.openclaw/guard/run/", "The sockets of running guards, on which approvals are listed and answered."),
    ("~/.openclaw/exec-approvals.json", "OpenClaw's own allowlist and approvals, which hold too."),
    ("~/.openclaw/openclaw.json", "OpenClaw's configuration: where its gateway is, and how it is reached."),
];

/// Variables that the guard itself reads. The command's environment is separate.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("OPENCLAW_STATE_DIR", "OpenClaw's state directory, instead of ~/.openclaw."),
    ("OPENCLAW_HOME, HOME", "What ~ means, in this order; --home comes before both."),
    (
        "OC_EXEC_SECURITY, OC_EXEC_ASK",
        "As --exec-security and --exec-ask: they tighten the policy and never loosen it.",
    ),
    ("OPENCLAW_MCP_SESSION_KEY", "As --session-key."),
    ("OPENCLAW_CONFIG_PATH", "OpenClaw's configuration, instead of openclaw.json in the state directory."),
    (
        "OPENCLAW_GATEWAY_URL, OPENCLAW_GATEWAY_PORT, OPENCLAW_GATEWAY_TOKEN, OPENCLAW_GATEWAY_PASSWORD",
        "The gateway that questions go to, and what opens it, where guard.json does not say.",
    ),
    ("OTEL_EXPORTER_OTLP_HEADERS", "What audit export sends with each request."),
    ("NO_COLOR", "No colours, where it is set to anything."),
    ("TMPDIR", "One more directory for temporary files that the built-in policy opens, where it can be one."),
];

/// Related manual pages.
pub const SEE_ALSO: &[&str] = &["seccomp_unotify(2)", "landlock(7)", "ptrace(2)"];
