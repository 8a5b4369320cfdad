//! What is asked of the policy.

use std::net::SocketAddr;
use std::ops::BitOr;

use crate::GitPathsContent;
use crate::network::{Connection, Page, Transport, WebRequest};
use crate::paths::persistence::LinkedSet;

/// What a process wants to do with a file. A small set; combine with `|`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access(u8);

impl Access {
    /// Read a file, list a directory: bit `r`.
    pub const READ: Access = Access(1);
    /// Write, create, remove, rename, link, change attributes, connect to a socket: bit `w`.
    pub const WRITE: Access = Access(2);
    /// Map as code (`PROT_EXEC`): bit `x` only.
    pub const MAP: Access = Access(4);

    /// True when every member of `other` is in `self`.
    pub const fn contains(self, other: Access) -> bool {
        self.0 & other.0 == other.0
    }

    /// All that is in either.
    pub const fn union(self, other: Access) -> Access {
        Access(self.0 | other.0)
    }

    /// A word for messages: `read`, `write`, `read and write`, `map`.
    pub const fn word(self) -> &'static str {
        match self.0 {
            1 => "read",
            2 => "write",
            3 => "read and write",
            4 => "map",
            _ => "read, write or map",
        }
    }
}

impl BitOr for Access {
    type Output = Access;
    fn bitor(self, other: Access) -> Access {
        self.union(other)
    }
}

/// Why a file is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The file that was named.
    Program,
    /// The interpreter that a script's first line names, or the interpreter of such an interpreter.
    Interpreter,
    /// The loader (`PT_INTERP`) of a program that is judged by itself: needs `x`, no allowlist entry.
    Loader,
}

/// A program that is about to start.
#[derive(Clone, Copy, Debug)]
pub struct Exec<'a> {
    /// The real path of the file.
    pub path: &'a [u8],
    /// The arguments it will see, from `argv[0]`.
    pub argv: &'a [Vec<u8>],
    /// The real path of its current directory.
    pub cwd: &'a [u8],
    /// Why it runs.
    pub role: Role,
}

/// What is around a file, as far as it decides whether persistence protects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// Nothing there is protected by its shape, or the tree made, in this session, each directory that holds the file:
    /// then the file is the tree's own.
    Own,
    /// Like [`Site::Own`], but for git: the path is a file of a repository whose new content is judged by itself
    /// ([`Request::GitConfig`], [`Request::GitPaths`]), or the tree's own lock of such a file.
    GitLocked,
    /// The file is, or would become, one that runs by itself in a git repository whose name is not `.git`.
    Repository,
    /// A link with a protected name leads to the file.
    Linked(LinkedSet),
    /// The configuration of a repository around the file, or beside it, names the file.
    Configured(LinkedSet),
}

/// A symbolic link that is made, or that gets another name.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Its real path.
    pub path: &'a [u8],
    /// Where it leads: a real path, as far as something is there.
    pub target: &'a [u8],
    /// What is known of the target's place.
    pub site: Option<Site>,
    /// Whether something is there that is no directory. Then nothing new is made through the link.
    pub is_to_file: bool,
    /// What comes after a `..` in the link's text, if the `..` follows a name. The tree may make that name lead elsewhere later.
    pub after_up: Option<&'a [u8]>,
}

/// The parts of a git configuration that the tree itself has made in this session.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnGitParts<'a> {
    /// Whether it made the git directory.
    pub directory: bool,
    /// The names of the remotes that it added, and that nobody else has changed since.
    pub remotes: &'a [Vec<u8>],
}

/// A question to [`crate::decide`].
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// May this file be used so?
    File {
        /// The real path.
        path: &'a [u8],
        /// What is wanted; with several, all must be granted.
        access: Access,
    },
    /// May this file be used like this? The caller knows more about the place than its path.
    FileAt {
        /// The real path.
        path: &'a [u8],
        /// What is wanted; with several, all must be granted.
        access: Access,
        /// What is known of the place.
        site: Site,
    },
    /// May this symbolic link lead there? Whether its own name may be written is another request.
    Link(Link<'a>),
    /// May git put this content in place of a file that says which paths git writes and reads?
    GitPaths {
        /// The real path of the file.
        path: &'a [u8],
        /// What it contains.
        content: GitPathsContent,
        /// The bytes that would be there.
        new: &'a [u8],
    },
    /// May this file, which may be read, be read in spite of its size?
    Sized {
        /// The real path.
        path: &'a [u8],
        /// In bytes.
        size: u64,
    },
    /// May git put this content in place of a repository's configuration?
    GitConfig {
        /// The real path of the configuration.
        path: &'a [u8],
        /// What is there now; empty if nothing is.
        old: &'a [u8],
        /// What would be there.
        new: &'a [u8],
        /// The parts of it that the tree itself has made.
        own: OwnGitParts<'a>,
    },
    /// May this content come in place of Codex's own configuration?
    CodexConfig {
        /// The real path of the configuration.
        path: &'a [u8],
        /// What is there now; empty if nothing is.
        old: &'a [u8],
        /// What would be there.
        new: &'a [u8],
    },
    /// May this program start?
    Exec(Exec<'a>),
    /// May this socket be connected?
    Connect(Connection),
    /// May this host of the Web be reached?
    Web(WebRequest<'a>),
    /// May this name be looked up? The guard's proxy answers, and asks no name server.
    Lookup(&'a str),
    /// May a socket of TCP or UDP be made?
    Sockets,
    /// May a socket be bound, to listen there?
    Bind {
        /// Where.
        address: SocketAddr,
        /// What it speaks.
        transport: Transport,
        /// Where the operator's approvals page is.
        page: Page,
        /// Whether the socket would share the port of another process's server.
        is_beside: bool,
    },
}
