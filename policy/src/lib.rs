//! Pure policy decisions.
//!
//! [`decide`] answers every question that a guarded process tree raises: may this file be read or
//! written, may this program start, may this socket be connected. It takes a compiled [`Policy`] and a [`Request`] and returns a
//! [`Verdict`]; it performs no I/O, reads no clock and keeps no state. The supervisor and every
//! explaining command ask this one function, so they cannot disagree.
//!
//! A policy comes from a [`Document`] (`guard.json`) by [`Policy::compile`], or from
//! [`Policy::without_file`] where there is none. [`Host`] tells the compiler what it must
//! know about the machine.
#![forbid(unsafe_code)]

mod codex_config;
mod compile;
mod config;
mod decide;
pub mod environment;
pub mod git_config;
mod git_paths;
pub mod learn;
mod network;
mod paths;
mod policy;
pub mod programs;
pub mod redact;
pub mod remedy;
pub mod replacement;
mod request;
pub mod store;
mod templates;
pub mod text;
pub mod toml_bounds;
pub mod tools;
mod verdict;

pub use compile::builtin::templates as known;
pub use compile::enclosure::{EnclosedPlace, Enclosure};
pub use compile::host::{Host, OpenclawStore, OwnStore};
pub use compile::profiles::Profile;
pub use compile::project::ProjectGrant;
pub use config::audit::{AuditSettings, OnError};
pub use config::document::Document;
pub use config::edit::{BadPattern, Change, Draft, Scope};
pub use config::elevated::{
    ElevatedLevel, ElevatedSender, ElevatedSettings, FailedGate, LOCAL, SenderError, unavailable,
};
pub use config::examples::{EntryExample, Example};
pub use config::explain::{Section, Setting};
pub use config::limits::{LimitError, Limits};
pub use config::mode::{Ask, Overrides, Preset, Security};
pub use config::node::{NodeCommand, NodeSettings};
pub use config::problem::Problem;
pub use config::project::{ProjectFile, ProjectTrust};
pub use config::reader::{Location, locate};
pub use config::schema::schema;
pub use decide::decide;
pub use git_paths::{GitPathsContent, MAX_BYTES as MAX_GIT_PATHS_BYTES, ObjectFormat};
pub use network::{AddressClass, Connection, Gateway, GatewayConfig, Interface, Page, Transport, resolvers};
pub use network::{
    PUBLIC_SUFFIX_LIST, PublicSuffixes, WebEndpoint, WebRequest, WebScheme, WebTarget, WebTargetError,
};
pub use paths::earlier_runs::{EarlierRuns, WritablePlace};
pub use paths::expansion::Bases;
pub use paths::hierarchy::Unreadable;
pub use paths::normalize;
pub use paths::permission::{Bits, Grant, Permission, Rights};
pub use paths::persistence::{
    GitContent, GitLockedNames, GitLook, GitPart, LinkedSet, PersistenceSites, REPLACEMENT, Shape, ShapeKind,
};
pub use paths::tiers::{
    Classes, Exactness, HARMLESS_DEVICES, Hierarchy, HierarchyKind, MAX_HIERARCHIES, Name, NameKind,
    PartialRead, ReadPart, Tiers,
};
pub use paths::workspace::Workspace;
pub use policy::Policy;
pub use programs::allowlist::{
    ProgramMatch, cwd_argv_pattern, exec_pattern, is_by_own_name, matches_allowlist_pattern,
    matches_arg_pattern,
};
pub use programs::parts::NamedFile;
pub use programs::program_copies::{WithheldProgram, decide_copy};
pub use programs::safe_bins;
pub use request::{Access, Exec, Link, OwnGitParts, Request, Role, Site};
pub use templates::{Template, TemplateValues};
pub use verdict::{Outcome, Reason, Source, Verdict};

/// What the arguments of a program say of it, and what "allow always" saves of it.
pub mod analysis {
    pub use crate::programs::allow_always::{AllowAlways, BoundEntry, Once, StrictInlineEval, derive};
    pub use crate::programs::code_on_input::CodeOnInput;
    pub use crate::programs::command_line::quoted;
    pub use crate::programs::inline_eval::{Hit, Inline, inline_eval, inline_eval_of, is_interpreter};
    pub use crate::programs::mentioned_files::MentionedFiles;
    pub use crate::programs::risks::risks;
    pub use crate::programs::script::{InputKind, Operands, mentioned_files, script_operands};
}

/// OpenClaw's protection of its tools of the Web against server-side request forgery.
pub mod ssrf {
    pub use crate::network::{HostCheck, LookupAddress, SsrfError, SsrfPolicy};
}

/// How a human is asked, what is shown of a command, and what an "always" saves.
pub mod approval {
    pub use crate::config::approvals::*;
    pub use crate::paths::saved_rules::{FileRule, PatternError};
    pub use crate::redact::display::{OVERSIZED, TRUNCATED, display_text};
    pub use crate::remedy::always::{
        Always, AlwaysContext, OnDisk, Repeat, Saving, always, always_address, always_host, edited_below,
    };
}
