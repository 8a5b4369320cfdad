//! The commands of a text and what stands in the way of reading it: what tree-sitter's tree of it says.

use std::ops::{ControlFlow, Range};

use guard_policy::programs::inline_eval::FIND;
use guard_policy::programs::name::program_name;
use guard_policy::programs::starters::is_shell;
use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::reason::Blocker;
use super::risks::{Risk, risks};
use super::words::{Certainty, Word, word};
use super::{MAX_NESTING, MAX_STEPS, shells};

/// How many shells within shells are read: `bash -c "bash -c …"`.
const MAX_PAYLOADS: usize = 2;

/// Where a command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// In the text itself.
    Top,
    /// In the code of a shell.
    Payload,
    /// In a substitution or a function.
    Inside,
}

/// One simple command.
#[derive(Clone, Debug)]
pub(super) struct SimpleCommand {
    pub(super) argv: Vec<String>,
    /// Its place in the text; that of the shell's argument, for a command in a shell's code.
    pub(super) span: Range<usize>,
    pub(super) place: Position,
    /// The command in which it stands.
    pub(super) within: Option<usize>,
    pub(super) risks: Vec<Risk>,
    /// Whether a pipe leads to it or from it.
    pub(super) is_piped: bool,
    /// Whether it is `[ … ]`, closed.
    pub(super) is_test: bool,
}

/// What a text says.
#[derive(Clone, Debug, Default)]
pub(super) struct ParsedText {
    /// In the order in which they stand; the commands of a shell's code after the shell.
    pub(super) steps: Vec<SimpleCommand>,
    /// What cannot be authorized, and in which command it stands.
    pub(super) obstacles: Vec<(Blocker, Option<usize>)>,
    /// Statements that are no list of commands.
    pub(super) shapes: Vec<Blocker>,
    /// Arguments that the shell makes.
    pub(super) dynamic: Vec<Option<usize>>,
    /// Whether the parser understood all.
    pub(super) is_broken: bool,
    /// A bound that was met; nothing else counts then.
    pub(super) bound: Option<Blocker>,
}

/// Reads a text.
pub(super) fn read(text: &str) -> ParsedText {
    let mut script = ParsedText::default();
    let top = Frame { place: Position::Top, within: None, is_piped: false, nesting: 0 };
    script.read(text, &Base { offset: 0, coarse: None, payloads: 0 }, top);
    script
}

/// Where a text stands in the one that was given.
struct Base {
    offset: usize,
    /// The span of the shell's argument, where the text is one.
    coarse: Option<Range<usize>>,
    payloads: usize,
}

impl Base {
    fn span(&self, range: Range<usize>) -> Range<usize> {
        self.coarse.clone().unwrap_or(range.start + self.offset..range.end + self.offset)
    }
}

/// What is known on the way down.
#[derive(Clone, Copy)]
struct Frame {
    place: Position,
    within: Option<usize>,
    is_piped: bool,
    nesting: usize,
}

/// The tree of a text, within a number of steps that grows with its length; the parser recovers from errors in more.
fn parse(text: &str) -> Result<Tree, Blocker> {
    if breaks_scanner(text) {
        return Err(Blocker::Unreadable);
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| Blocker::Unreadable)?;
    let (bytes, mut calls) = (text.as_bytes(), 0);
    let most = 1000 + bytes.len();
    let mut progress = |_: &_| {
        calls += 1;
        if calls > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree =
        parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
    tree.ok_or(Blocker::TooLong)
}

/// Whether a brace that may begin a range, `{1..3}`, meets a character above U+00FF. The grammar's scanner (0.25.1,
/// scanner.c, BRACE_START) gives it to isdigit(3), which then reads memory that is not its own.
fn breaks_scanner(text: &str) -> bool {
    let is_beyond = |rest: &str| rest.starts_with(|next: char| next > '\u{ff}');
    let digits = |rest: &'_ str| rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text.match_indices('{').any(|(at, _)| {
        let low = &text[at + 1..];
        let low = &low[digits(low)..];
        let high = low.strip_prefix("..").map(|high| &high[digits(high)..]);
        is_beyond(low) || high.is_some_and(is_beyond)
    })
}

impl ParsedText {
    fn read(&mut self, text: &str, base: &Base, top: Frame) {
        let tree = match parse(text) {
            Ok(tree) => tree,
            Err(reason) => {
                self.bound = Some(reason);
                return;
            }
        };
        let root = tree.root_node();
        if root.has_error() {
            self.is_broken = true;
            if top.within.is_some() {
                self.obstacles.push((Blocker::SyntaxError, top.within));
            }
        }
        if text[root.byte_range()].contains("\\\n") || text[root.byte_range()].contains("\\\r") {
            self.obstacles.push((Blocker::LineContinuation, top.within));
        }
        // A stack of our own: a tree may be deeper than the thread's.
        let mut left = vec![(root, top)];
        while let Some((node, frame)) = left.pop() {
            let below = self.visit(node, text, base, frame);
            if self.bound.is_some() {
                return;
            }
            let mut cursor = node.walk();
            let children: Vec<_> = node.named_children(&mut cursor).collect();
            left.extend(children.into_iter().rev().map(|child| (child, below)));
        }
    }

    /// Notes what a node says; returns what holds below it.
    fn visit(&mut self, node: Node<'_>, text: &str, base: &Base, mut frame: Frame) -> Frame {
        self.note_shape(node);
        let obstacle = match node.kind() {
            "function_definition" => Some(Blocker::FunctionDefinition),
            "command_substitution" => Some(Blocker::CommandSubstitution),
            "process_substitution" => Some(Blocker::ProcessSubstitution),
            "heredoc_redirect" => Some(Blocker::Heredoc),
            "herestring_redirect" => Some(Blocker::HereString),
            "file_redirect" => Some(Blocker::Redirect),
            _ if node.is_error() => Some(Blocker::SyntaxError),
            _ => None,
        };
        if let Some(reason) = obstacle {
            self.obstacles.push((reason, frame.within));
        }
        match node.kind() {
            "function_definition" | "command_substitution" | "process_substitution" => {
                frame = Frame { place: Position::Inside, is_piped: false, ..frame };
            }
            "pipeline" => frame.is_piped = true,
            "command" | "declaration_command" | "test_command" => {
                if let Some(step) = self.step(node, text, base, frame) {
                    frame =
                        Frame { within: Some(step), is_piped: false, nesting: frame.nesting + 1, ..frame };
                }
                if frame.nesting > MAX_NESTING {
                    self.bound = Some(Blocker::TooDeep);
                }
            }
            _ => {}
        }
        frame
    }

    fn note_shape(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let is_background = node.children(&mut cursor).any(|child| child.kind() == "&");
        let shape = match node.kind() {
            "if_statement" => Some(Blocker::If),
            "for_statement" | "c_style_for_statement" => Some(Blocker::For),
            "while_statement" => Some(Blocker::While),
            "case_statement" => Some(Blocker::Case),
            "subshell" => Some(Blocker::Subshell),
            "compound_statement" => Some(Blocker::Group),
            _ => None,
        };
        for shape in is_background.then_some(Blocker::Background).into_iter().chain(shape) {
            if !self.shapes.contains(&shape) {
                self.shapes.push(shape);
            }
        }
    }

    /// Adds a command, and those of the code that it gives to a shell. None where its name is not known.
    fn step(&mut self, node: Node<'_>, text: &str, base: &Base, frame: Frame) -> Option<usize> {
        let words = match node.kind() {
            "command" => command(node, text),
            _ => declaration_or_test(node, text),
        };
        let name = words.first()?;
        if name.certainty != Certainty::Literal {
            self.obstacles.push((Blocker::DynamicExecutable, frame.within));
            return None;
        }
        if name.text.is_empty() {
            return None;
        }
        if self.steps.len() >= MAX_STEPS {
            self.bound = Some(Blocker::TooMany);
            return None;
        }
        let index = self.steps.len();
        let argv: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        let mut risks = risks(&argv);
        let mut cursor = node.walk();
        let first = node.named_children(&mut cursor).next();
        if node.kind() == "command" && first.is_some_and(|child| child.kind() == "variable_assignment") {
            risks.push(Risk::EnvAssignment);
        }
        let raw = &text[node.byte_range()];
        let span = base.span(node.byte_range());
        let is_dynamic = words.iter().any(|word| word.certainty == Certainty::Expanded);
        self.steps.push(SimpleCommand {
            argv,
            span: span.clone(),
            place: frame.place,
            within: frame.within,
            risks,
            is_piped: frame.is_piped,
            is_test: raw.starts_with('[') && raw.ends_with(']')
                || words.last().is_some_and(|word| word.text == "]"),
        });
        self.dynamic.extend(is_dynamic.then_some(Some(index)));
        if base.payloads < MAX_PAYLOADS {
            self.payload(index, &words, span, base, frame);
        }
        Some(index)
    }

    /// Reads the code that a command gives to a shell.
    fn payload(&mut self, index: usize, words: &[Word], span: Range<usize>, base: &Base, frame: Frame) {
        let argv = self.steps[index].argv.clone();
        let started = started_by(&argv);
        let Some((shell, code)) = shells::behind_wrappers(started) else { return };
        let is_tail = argv.ends_with(shell);
        // The arguments of a shell that find starts end before find's own do: then any may be the dynamic one.
        let is_literal = |word: &Word| word.certainty == Certainty::Literal;
        let is_known = match words.get(argv.len() - shell.len() + code.at).filter(|_| is_tail) {
            Some(word) => is_literal(word),
            None => words.iter().all(is_literal),
        };
        if !is_known || !shells::is_read(&shell[0]) {
            return;
        }
        let base = Base {
            offset: 0,
            coarse: Some(base.coarse.clone().unwrap_or(span)),
            payloads: base.payloads + 1,
        };
        let nesting = frame.nesting + 1;
        self.read(
            code.text,
            &base,
            Frame { place: Position::Payload, within: Some(index), is_piped: false, nesting },
        );
    }
}

/// What find or xargs starts; else the command itself.
fn started_by(argv: &[String]) -> &[String] {
    match program_name(&argv[0]).as_str() {
        "find" => {
            let at = argv.iter().position(|token| FIND.contains(&token.as_str()));
            let rest = at.map_or(argv, |at| &argv[at + 1..]);
            let end = rest.iter().position(|token| token == ";" || token == "+").unwrap_or(rest.len());
            &rest[..end]
        }
        "xargs" => argv.iter().position(is_shell).map_or(argv, |at| &argv[at..]),
        _ => argv,
    }
}

/// The words of a simple command, its name first.
fn command(node: Node<'_>, text: &str) -> Vec<Word> {
    let Some(name) = node.child_by_field_name("name") else { return Vec::new() };
    let mut cursor = node.walk();
    let is_argument = |child: &Node<'_>| {
        child.id() != name.id()
            && !child.is_error()
            && !matches!(
                child.kind(),
                "variable_assignment"
                    | "file_redirect"
                    | "heredoc_redirect"
                    | "herestring_redirect"
                    | "comment"
            )
    };
    let arguments: Vec<_> = node.named_children(&mut cursor).filter(is_argument).collect();
    std::iter::once(name).chain(arguments).map(|node| word(node, text)).collect()
}

/// The words of `export A=1` and `[ -f x ]`, which have nodes of their own.
fn declaration_or_test(node: Node<'_>, text: &str) -> Vec<Word> {
    let raw = &text[node.byte_range()];
    let name = match raw.split_whitespace().next() {
        Some(first) if first.starts_with("[[") => "[[",
        Some(first) if first.starts_with('[') => "[",
        Some(first) => first,
        None => return Vec::new(),
    };
    let mut words = vec![Word { text: name.to_owned(), certainty: Certainty::Literal }];
    let mut left: Vec<Node<'_>> = vec![node];
    while let Some(next) = left.pop() {
        let is_operation = next.id() == node.id() || next.kind().ends_with("expression");
        if !is_operation {
            words.push(word(next, text));
            continue;
        }
        let mut cursor = next.walk();
        let children: Vec<_> = next.named_children(&mut cursor).collect();
        left.extend(children.into_iter().rev());
    }
    words
}
