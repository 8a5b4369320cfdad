//! Extracts the commands of a text, and the obstacles to reading it, from tree-sitter's syntax tree.

use std::ops::{ControlFlow, Range};

use guard_policy::programs::inline_eval::FIND;
use guard_policy::programs::name::program_name;
use guard_policy::programs::starters::is_shell;
use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::reason::Blocker;
use super::risks::{Risk, risks};
use super::words::{Certainty, Word, word};
use super::{MAX_NESTING, MAX_STEPS, shells};

/// The deepest nesting of shells that is read: `bash -c "bash -c …"`.
const MAX_PAYLOADS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// In the text itself.
    Top,
    /// In the code of a shell.
    Payload,
    /// In a substitution or a function.
    Inside,
}

#[derive(Clone, Debug)]
pub(super) struct SimpleCommand {
    pub(super) argv: Vec<String>,
    /// Its span in the text; for a command in a shell's code, the span of the outermost shell.
    pub(super) span: Range<usize>,
    pub(super) position: Position,
    /// The command that encloses it.
    pub(super) within: Option<usize>,
    pub(super) risks: Vec<Risk>,
    /// Whether it is part of a pipeline.
    pub(super) is_piped: bool,
    /// Whether it is `[ … ]`, with the closing bracket.
    pub(super) is_test: bool,
}

/// The commands and obstacles of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct ParsedText {
    /// The commands in the order of the text; those of a shell's code follow the shell.
    pub(super) steps: Vec<SimpleCommand>,
    /// The obstacles to authorization, each with the command that encloses it.
    pub(super) obstacles: Vec<(Blocker, Option<usize>)>,
    /// Statements other than lists of commands.
    pub(super) shapes: Vec<Blocker>,
    /// The commands with arguments that the shell computes.
    pub(super) dynamic: Vec<Option<usize>>,
    /// Whether the parser met an error.
    pub(super) is_broken: bool,
    /// A limit that the text exceeds; nothing else counts then.
    pub(super) bound: Option<Blocker>,
}

pub(super) fn read(text: &str) -> ParsedText {
    let mut script = ParsedText::default();
    let top = Frame { position: Position::Top, within: None, is_piped: false, nesting: 0 };
    script.read(text, &Base { offset: 0, coarse: None, payloads: 0 }, top);
    script
}

/// The position of a text in the original text.
struct Base {
    offset: usize,
    /// The span of the outermost shell, if the text is a shell's code.
    coarse: Option<Range<usize>>,
    payloads: usize,
}

impl Base {
    fn span(&self, range: Range<usize>) -> Range<usize> {
        self.coarse.clone().unwrap_or(range.start + self.offset..range.end + self.offset)
    }
}

/// The state that is passed down the syntax tree.
#[derive(Clone, Copy)]
struct Frame {
    position: Position,
    within: Option<usize>,
    is_piped: bool,
    nesting: usize,
}

/// Parses a text. Gives up after a number of steps that is linear in the text's length, because the parser's recovery
/// from errors could take more.
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

/// Returns whether a character above U+00FF follows a brace that may begin a range, `{1..3}`. The grammar's
/// scanner (0.25.1, scanner.c, BRACE_START) passes that character to isdigit(3), which reads out of bounds for
/// it.
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
        // The loop has a stack of its own: the syntax tree may be too deep for the thread's stack.
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

    /// Records what a node is; returns the state for its children.
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
                frame = Frame { position: Position::Inside, is_piped: false, ..frame };
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

    /// Adds a command, and the commands in the code that it passes to a shell. Returns `None` if the command's
    /// name is unknown.
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
            position: frame.position,
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

    /// Reads the code that a command passes to a shell.
    fn payload(&mut self, index: usize, words: &[Word], span: Range<usize>, base: &Base, frame: Frame) {
        let argv = self.steps[index].argv.clone();
        let started = started_by(&argv);
        let Some((shell, code)) = shells::behind_wrappers(started) else { return };
        let is_tail = argv.ends_with(shell);
        // If find starts the shell, find's own arguments follow those of the shell, so the word of the code
        // cannot be located. Every word must be literal then.
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
            Frame { position: Position::Payload, within: Some(index), is_piped: false, nesting },
        );
    }
}

/// Returns what find or xargs starts, or else the command itself.
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

/// Returns the words of a simple command, its name first.
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

/// Returns the words of `export A=1` and `[ -f x ]`, which have their own kinds of node.
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
