//! Reads arguments one by one, as the interpreter does.

use super::{Interpreter, OperandRule, OptionKind};

/// One part of an interpreter's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'a> {
    /// An option of the table, with its value, which is empty where it has none.
    Option(OptionName, OptionKind, &'a str),
    /// An option that the table does not have, taken for one without a value.
    Unknown,
    /// `-`, where it is the name of standard input.
    Dash,
    /// An operand, by its index. Where the first one is a script, it is the last element.
    Operand(usize),
}

/// The name of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionName {
    Letter(char),
    Word(&'static str),
}

/// The elements of the arguments, up to the script.
pub struct Elements<'a> {
    interpreter: &'static Interpreter,
    arguments: &'a [&'a str],
    at: usize,
    /// The letters of the current argument that are not read yet.
    letters: &'a str,
    options: OptionsState,
}

/// Whether more options may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionsState {
    Follow,
    Ended,
    /// Nothing follows that matters.
    Over,
}

impl Interpreter {
    /// Reads the arguments, without `argv[0]`.
    pub fn elements<'a>(&'static self, arguments: &'a [&'a str]) -> Elements<'a> {
        Elements { interpreter: self, arguments, at: 0, letters: "", options: OptionsState::Follow }
    }

    /// The name of the family.
    pub fn family(&self) -> &'static str {
        self.names[0]
    }

    fn letter(&self, letter: char) -> Option<OptionKind> {
        self.letters.iter().find(|(letters, _)| letters.contains(letter)).map(|(_, kind)| *kind)
    }

    fn word(&self, name: &str) -> Option<(&'static str, OptionKind)> {
        let may_be_short = matches!(self.operands, OperandRule::Data | OperandRule::Partial);
        let is_short = |word: &str| may_be_short && word.starts_with(name);
        let words = || self.words.iter();
        words().find(|(word, _)| *word == name).or_else(|| words().find(|(word, _)| is_short(word))).copied()
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        loop {
            if self.options == OptionsState::Over {
                return None;
            }
            if !self.letters.is_empty() {
                return Some(self.letter());
            }
            let argument = self.argument()?;
            let rule = self.interpreter.operands;
            let is_option = self.options == OptionsState::Follow;
            match argument.as_bytes() {
                // Also after `--`.
                b"-" if matches!(rule, OperandRule::Script | OperandRule::Partial)
                    || is_option && rule != OperandRule::Shell =>
                {
                    if rule != OperandRule::Data {
                        self.options = OptionsState::Over;
                    }
                    return Some(Element::Dash);
                }
                b"-" | b"--" if is_option => {
                    self.options =
                        if rule == OperandRule::Php { OptionsState::Over } else { OptionsState::Ended };
                }
                [b'-', b'-', ..] if is_option => return Some(self.word(&argument[2..])),
                [b'-' | b'+', ..] if is_option && self.is_wordlike(&argument[1..]) => {
                    return Some(Element::Unknown);
                }
                [b'-', ..] if is_option => self.letters = &argument[1..],
                // An option without a letter to bash and dash, and the end of the options to others.
                b"+" if is_option && rule == OperandRule::Shell => return Some(Element::Unknown),
                [b'+', ..] if is_option && rule == OperandRule::Shell => self.letters = &argument[1..],
                _ => {
                    if rule != OperandRule::Data {
                        self.options = OptionsState::Over;
                    }
                    return Some(Element::Operand(self.at - 1));
                }
            }
        }
    }
}

impl<'a> Elements<'a> {
    fn argument(&mut self) -> Option<&'a str> {
        let argument = self.arguments.get(self.at).copied();
        self.at += usize::from(argument.is_some());
        argument
    }

    /// bash reads long options also after one dash, as long as no letters stood before; other shells read letters.
    fn is_wordlike(&self, rest: &str) -> bool {
        let is_shell = self.interpreter.operands == OperandRule::Shell;
        is_shell && rest.len() > 1 && self.interpreter.words.iter().any(|(word, _)| *word == rest)
    }

    fn word(&mut self, written: &'a str) -> Element<'a> {
        let (name, value) =
            written.split_once('=').map_or((written, None), |(name, value)| (name, Some(value)));
        let Some((word, kind)) = self.interpreter.word(name) else { return Element::Unknown };
        let value = match kind {
            OptionKind::Valued
            | OptionKind::Code
            | OptionKind::Module
            | OptionKind::File
            | OptionKind::Directory => value.or_else(|| self.argument()).unwrap_or_default(),
            _ if value.is_some() => return Element::Unknown,
            _ => "",
        };
        Element::Option(OptionName::Word(word), kind, value)
    }

    fn letter(&mut self) -> Element<'a> {
        let mut rest = self.letters.chars();
        let letter = rest.next().unwrap_or_default();
        self.letters = rest.as_str();
        let is_perl = self.interpreter.family() == "perl";
        if is_perl && letter == ' ' {
            // perl reads on after white space and a dash: "-w -e".
            let rest = self.letters.trim_start_matches(' ');
            self.letters = rest.strip_prefix('-').unwrap_or(rest);
            let is_read = rest.starts_with('-');
            return if is_read {
                Element::Option(OptionName::Letter(' '), OptionKind::Plain, "")
            } else {
                Element::Unknown
            };
        }
        // perl.c, perl_parse: a dash ends the options where nothing follows it.
        if is_perl
            && letter == '-'
            && (self.letters.is_empty() || self.letters.starts_with(char::is_whitespace))
        {
            self.letters = "";
            self.options = OptionsState::Ended;
            return Element::Option(OptionName::Letter('-'), OptionKind::Plain, "");
        }
        let Some(kind) = self.interpreter.letter(letter) else { return Element::Unknown };
        let value = match kind {
            OptionKind::Plain
            | OptionKind::Prints
            | OptionKind::Command
            | OptionKind::Input
            | OptionKind::Prompt => "",
            OptionKind::Number => {
                let is_hex = is_perl && letter == '0' && is_hexadecimal(self.letters);
                self.take(if is_hex { self.letters.len() } else { decimal(self.letters) })
            }
            OptionKind::Colon => {
                // perl's -dt:MOD
                let has_value = self.letters.trim_start_matches('t').starts_with([':', '=']);
                self.take(if has_value { self.letters.len() } else { decimal(self.letters) })
            }
            OptionKind::Character => self.take(self.letters.chars().next().map_or(0, char::len_utf8)),
            OptionKind::Next => self.argument().unwrap_or_default(),
            OptionKind::Long => {
                let rest = self.take(self.letters.len());
                let long = if rest.is_empty() { self.argument().unwrap_or_default() } else { rest };
                return self.word(long);
            }
            OptionKind::Valued
            | OptionKind::Code
            | OptionKind::Module
            | OptionKind::File
            | OptionKind::Directory
                if self.letters.is_empty() =>
            {
                self.argument().unwrap_or_default()
            }
            // perl.c, moreswitches: letters and digits.
            OptionKind::Attached if is_perl && letter == 'D' => {
                let is_other = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                self.take(self.letters.find(is_other).unwrap_or(self.letters.len()))
            }
            // perl's values of these options end at white space (perl.c, moreswitches): "-i.bak -e", "-F: -e". The value of -I
            // does not (perl_parse).
            OptionKind::Attached if is_perl && "iCF".contains(letter) => {
                self.take(self.letters.find(char::is_whitespace).unwrap_or(self.letters.len()))
            }
            OptionKind::Attached
            | OptionKind::Valued
            | OptionKind::Code
            | OptionKind::Module
            | OptionKind::File
            | OptionKind::Directory => self.take(self.letters.len()),
        };
        // What follows are arguments of the module, or of python's code.
        if kind == OptionKind::Module || kind == OptionKind::Code && self.interpreter.family() == "python" {
            self.options = OptionsState::Over;
        }
        Element::Option(OptionName::Letter(letter), kind, value)
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (value, rest) = self.letters.split_at(length);
        self.letters = rest;
        value
    }
}

fn decimal(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// perl.c, moreswitches: `-0xHEX`, where nothing else follows; otherwise `-0` and `-x`.
fn is_hexadecimal(text: &str) -> bool {
    let digits = text.strip_prefix('x').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
