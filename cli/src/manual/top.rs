//! Sections that only the program's main page has.

/// The guard's own exit statuses.
pub const STATUS: &[(&str, &str)] = &[
    (
        "125",
        "The guard failed, because of its command line, the policy, the log or the kernel. The command did not run, or was ended.",
    ),
    ("126", "The command was denied, or is not executable."),
    ("127", "The command was not found."),
    (
        "128 + n",
        "Signal n ended the command, and the guard ended itself by the same signal. A shell shows that as this status.",
    ),
    ("any other", "The command's own."),
];

/// OPENCLAW_STATE_DIR replaces ~/.openclaw in these paths.
pub const FILES: &[(&str, &str)] = &[
    ("~/.openclaw/guard.json", "The policy. Without this file the built-in policy is in force."),
    (
        "~/.openclaw/guard/audit.jsonl",
        "The audit log, as JSON Lines. Its older parts and the hash of its last line are in the same directory.",
    ),
    (
        "~/.openclaw/guard/approvals.json",
        "What was allowed \"always\" and does not fit into OpenClaw's own file.",
    ),
    (
        "~/.openclaw/guard/run/",
        "The sockets of running guards. `approvals` lists and answers questions through them.",
    ),
    ("~/.openclaw/exec-approvals.json", "OpenClaw's allowlist and approvals, which are in force too."),
    (
        "~/.openclaw/openclaw.json",
        "OpenClaw's configuration, with the address of its gateway and how to log in.",
    ),
];

/// Variables that the guard itself reads. The command's environment is separate.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("OPENCLAW_STATE_DIR", "OpenClaw's state directory, instead of ~/.openclaw."),
    (
        "OPENCLAW_HOME, HOME",
        "The home directory: ~ in the policy. The first that is set counts; --home replaces both.",
    ),
    (
        "OC_EXEC_SECURITY, OC_EXEC_ASK",
        "The same as --exec-security and --exec-ask. They can only tighten the policy.",
    ),
    ("OPENCLAW_MCP_SESSION_KEY", "The same as --session-key."),
    ("OPENCLAW_CONFIG_PATH", "OpenClaw's configuration, instead of openclaw.json in the state directory."),
    (
        "OPENCLAW_GATEWAY_URL, OPENCLAW_GATEWAY_PORT, OPENCLAW_GATEWAY_TOKEN, OPENCLAW_GATEWAY_PASSWORD",
        "The gateway that gets the questions, and its credentials, unless guard.json sets them.",
    ),
    ("OTEL_EXPORTER_OTLP_HEADERS", "Headers that `audit export` sends with each request."),
    ("NO_COLOR", "Turns colours off, whatever its value."),
    ("TMPDIR", "Another directory for temporary files that the built-in policy allows, if it is a safe one."),
];

/// Related manual pages.
pub const SEE_ALSO: &[&str] = &["seccomp_unotify(2)", "landlock(7)", "ptrace(2)"];
