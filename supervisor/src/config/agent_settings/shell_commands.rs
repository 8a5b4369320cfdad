//! Splits a text of shell into commands, and each command into words, in one pass however deep the text nests.

/// Stands in a word for what a variable or a substitution gives.
pub const HOLE: char = '\u{1}';
/// Stands for the directory of the project, wherever `cd` has gone.
pub const PROJECT: char = '\u{2}';

/// A command of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// Its words, without quotes. A dot replaces a [`HOLE`] before a slash, which most often stands for the project.
    pub words: Vec<String>,
    /// The files that it reads by `<`.
    pub inputs: Vec<String>,
}

/// What a text of shell says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ShellText {
    /// The commands, also those of substitutions.
    pub commands: Vec<ShellCommand>,
    /// Whether the end of each quote and substitution was found. Otherwise a word may belong to another command.
    pub is_understood: bool,
}

/// Returns the commands of a text.
pub fn commands_of(text: &str) -> ShellText {
    let mut split = Split::default();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (split.quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => split.quote = None,
            (Some('\''), _) => split.push(letter),
            (_, '\\') => {
                letters.next().into_iter().filter(|next| *next != '\n').for_each(|next| split.push(next))
            }
            (_, '$') => match letters.peek() {
                Some('(') => {
                    letters.next();
                    split.begin(Nesting::Parentheses);
                }
                Some('{') => {
                    letters.next();
                    split.begin(Nesting::Braces);
                    while letters.next_if(|letter| is_of_name(*letter) || "#!".contains(*letter)).is_some() {}
                    // These characters separate the name from a value to use instead.
                    while letters.next_if(|letter| ":-=?+#%/^,@".contains(*letter)).is_some() {}
                }
                Some(next) if is_of_name(*next) || "@*#?$!".contains(*next) => {
                    let is_named = is_of_name(*next);
                    letters.next();
                    while letters.next_if(|letter| is_named && is_of_name(*letter)).is_some() {}
                    split.push(HOLE);
                }
                // Bash's quotes `$'…'` with escapes, and `$"…"` for translation.
                Some('\'' | '"') if split.quote.is_none() => {}
                _ => split.push(letter),
            },
            (_, '`') if split.is_in(Nesting::Backquotes) => split.end(),
            (_, '`') => split.begin(Nesting::Backquotes),
            (_, '}') if split.is_in(Nesting::Braces) => split.end(),
            (Some(_), _) => split.push(letter),
            (None, '\'' | '"') => split.open(letter),
            (None, '#') if split.word.is_none() && !split.is_in(Nesting::Braces) => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
            }
            (None, '(') => split.begin_group(),
            (None, ')') => split.end_parentheses(),
            (None, '\n' | ';' | '|') => split.end_command(),
            (None, '&') if split.redirected.is_some() && split.word.is_none() => {}
            (None, '&') => split.end_command(),
            (None, '>' | '<') => {
                // `2>` names a descriptor.
                if split.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
                    split.word = None;
                }
                split.end_word();
                split.redirected = Some(letter);
            }
            (None, blank) if blank.is_whitespace() => split.end_word(),
            (None, _) => split.push(letter),
        }
    }
    let is_closed = split.quote.is_none() && split.outer.is_empty();
    while !split.outer.is_empty() {
        split.end();
    }
    split.end_command();
    ShellText { commands: split.commands, is_understood: is_closed && !split.is_odd }
}

/// Returns a word that no shell reads, with a [`HOLE`] for each variable, or a dot for a variable before a slash.
pub fn with_holes(word: &str) -> String {
    let (mut flat, mut letters) = (String::new(), word.chars().peekable());
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('$', Some('{')) => {
                while letters.next_if(|letter| *letter != '}').is_some() {}
                letters.next();
                flat.push(HOLE);
            }
            ('$', Some(next)) if is_of_name(*next) => {
                while letters.next_if(|letter| is_of_name(*letter)).is_some() {}
                flat.push(HOLE);
            }
            _ => flat.push(letter),
        }
    }
    flat.replace("\u{1}/", "./")
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// What encloses a part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nesting {
    /// `$(…)`
    Parentheses,
    /// `${…}`
    Braces,
    /// `` `…` ``
    Backquotes,
    /// `(…)`, also in an array.
    Group,
}

/// What a substitution interrupts.
struct Outer {
    around: Nesting,
    command: ShellCommand,
    word: Option<String>,
    quote: Option<char>,
    redirected: Option<char>,
}

#[derive(Default)]
struct Split {
    commands: Vec<ShellCommand>,
    command: ShellCommand,
    word: Option<String>,
    quote: Option<char>,
    /// The redirection (`<` or `>`) whose target is the next word.
    redirected: Option<char>,
    outer: Vec<Outer>,
    is_odd: bool,
}

impl Split {
    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn open(&mut self, quote: char) {
        self.word.get_or_insert_default();
        self.quote = Some(quote);
    }

    fn is_in(&self, around: Nesting) -> bool {
        self.outer.last().is_some_and(|outer| outer.around == around)
    }

    fn begin(&mut self, around: Nesting) {
        self.outer.push(Outer {
            around,
            command: std::mem::take(&mut self.command),
            word: self.word.take(),
            quote: self.quote.take(),
            redirected: self.redirected.take(),
        });
    }

    fn begin_group(&mut self) {
        self.end_command();
        self.begin(Nesting::Group);
    }

    fn end(&mut self) {
        // If a quote is open, the end belongs to another substitution.
        self.is_odd |= self.quote.is_some();
        self.end_command();
        let Some(outer) = self.outer.pop() else { return };
        (self.command, self.word, self.quote) = (outer.command, outer.word, outer.quote);
        self.redirected = outer.redirected;
        if outer.around != Nesting::Group {
            self.push(HOLE);
        }
    }

    fn end_parentheses(&mut self) {
        match self.outer.last().map(|outer| outer.around) {
            Some(Nesting::Parentheses | Nesting::Group) => self.end(),
            // A pattern of `case`.
            None => self.end_command(),
            Some(_) => self.is_odd = true,
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let word = word.replace("\u{1}/", "./");
        match self.redirected.take() {
            None => self.command.words.push(word),
            Some('<') => self.command.inputs.push(word),
            Some(_) => {}
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirected = None;
        let command = std::mem::take(&mut self.command);
        // The patterns of `case` end with a parenthesis, which would end the substitution.
        self.is_odd |= !self.outer.is_empty() && command.words.first().is_some_and(|word| word == "case");
        // In `${X:-$Y}` the part `$Y` is a value for the variable, not a command.
        let is_value =
            self.is_in(Nesting::Braces) && command.words.iter().all(|word| word.chars().all(|c| c == HOLE));
        if command != ShellCommand::default() && !is_value {
            self.commands.push(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let shown = |command: ShellCommand| command.words.join(" ").replace(HOLE, "?");
        commands_of(text).commands.into_iter().map(shown).collect()
    }

    #[test]
    fn each_command_has_its_words() {
        for (text, expected) in [
            ("a 'b c' \"d\"e; f|g && h\ni", &["a b c de", "f", "g", "h", "i"][..]),
            ("$A/b \"${A:-$(pwd)}\"/c $f", &["pwd", "./b ./c ?"]),
            ("\"$(x $(y))\"/b `z`/c", &["y", "x ?", "z", "./b ./c"]),
            ("echo \"a $(b) c\"", &["b", "echo a ? c"]),
            ("a > b 2>&1 < c >> d", &["a"]),
            ("# it's\na", &["a"]),
            ("(cd a; b) && c", &["cd a", "b", "c"]),
            ("a \\\n b", &["a b"]),
            ("$", &["$"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
            assert!(commands_of(text).is_understood, "{text}");
        }
        assert_eq!(commands_of("sh < a/b").commands[0].inputs, ["a/b"]);
    }

    #[test]
    fn a_text_that_does_not_end_is_not_understood() {
        for text in ["'", "a \"b", "$(", "${", "`", "x $(a", "$(case a in b) c;; esac)", "\"${a)\""] {
            assert!(!commands_of(text).is_understood, "{text}");
        }
        assert!(commands_of("case a in b) c;; esac").is_understood);
    }

    /// The test would not end if the reader looked at all that follows for each opening.
    #[test]
    fn a_text_is_read_in_one_pass() {
        for part in ["$(", "${", "`", "\"", "$(\"", "(", "a$(`"] {
            assert!(!commands_of(&part.repeat(300_001)).is_understood, "{part}");
        }
    }
}
