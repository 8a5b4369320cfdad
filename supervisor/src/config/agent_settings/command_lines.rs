//! Commands in settings that are YAML or Markdown, or TOML that cannot be parsed. Two kinds of lines are understood: a
//! key with a value, and the continuation of a value. The agents' manuals write commands in such lines.

use std::collections::HashSet;

use super::command_keys::{self, Part};
use super::read_budget::{Beyond, MAX_NESTING, ReadBudget};
use super::started_commands::{NamedCommand, StartedCommand};
use super::yaml;
use super::yaml_spellings::{OLDER_BREAKS, all_words, hidden_words, spellings};

/// The characters that end a line in YAML 1.2. `\r\n` ends a line, too.
const BREAKS: [char; 2] = ['\n', '\r'];
/// Returns the commands of settings in YAML, from its parsed values and from its lines. The lines count because an invalid text
/// has no parsed values.
///
/// # Errors
/// There is more than may be read.
pub fn of_yaml(text: &str, budget: &ReadBudget) -> Result<Vec<StartedCommand>, Beyond> {
    of_parsed(text, budget, all_words)
}

/// As [`of_yaml`]; `more` returns what else may be a path in a text that the parser does not read to its end.
fn of_parsed(
    text: &str,
    budget: &ReadBudget,
    more: fn(&str) -> Vec<String>,
) -> Result<Vec<StartedCommand>, Beyond> {
    let (mut found, mut is_whole) = (Vec::new(), true);
    for spelling in spellings(text) {
        let read = yaml::documents(&spelling, budget, MAX_NESTING)?;
        is_whole &= read.is_whole;
        found.extend(read.documents.iter().flat_map(command_keys::commands));
    }
    found.extend(of_lines(text));
    if !is_whole {
        found.extend(more(text).into_iter().map(|word| NamedCommand::Text(word).into()));
    }
    let mut known = HashSet::new();
    found.retain(|command| known.insert(command.clone()));
    Ok(found)
}

/// Returns the commands in the lines of settings. If the text has line ends of YAML 1.1, its lines are also split there.
pub fn of_lines(text: &str) -> Vec<StartedCommand> {
    let mut found = of_rows(text, &BREAKS);
    if text.contains(OLDER_BREAKS) {
        found.extend(of_rows(text, &[&BREAKS[..], &OLDER_BREAKS].concat()));
    }
    found
}

fn of_rows(text: &str, breaks: &[char]) -> Vec<StartedCommand> {
    let mut reader = LineReader::default();
    text.split("\r\n").flat_map(|part| part.split(breaks)).for_each(|row| reader.row(row));
    reader.end_entry();
    reader.found
}

/// Returns the commands of an agent, a command or a skill in Markdown: those of the settings at its beginning, and
/// those whose output takes their place in the text (``!`…` ``, and blocks that begin with ```` ```! ````).
///
/// # Errors
/// There is more than may be read.
pub fn of_markdown(text: &str, budget: &ReadBudget) -> Result<Vec<StartedCommand>, Beyond> {
    let mut found = Vec::new();
    for front in fronts(text) {
        found.extend(of_parsed(front, budget, hidden_words)?);
    }
    for (start, end) in [("!`", "`"), ("```!", "```")] {
        let spans = text.split(start).skip(1).filter_map(|rest| rest.split(end).next());
        found.extend(spans.map(|span| NamedCommand::Text(span.to_owned()).into()));
    }
    found.extend(of_prompt(text));
    Ok(found)
}

/// Returns the settings at the beginning of a text. A line of dashes ends them. For Claude Code, dashes within a line
/// end them, too.
fn fronts(text: &str) -> Vec<&str> {
    let Some(rest) = text.trim_start_matches('\u{feff}').strip_prefix("---") else { return Vec::new() };
    let by_line = rest.split_once("\n---").map(|(front, _)| front);
    let by_dashes =
        rest.split_once('\n').and_then(|(_, rest)| rest.split_once("---")).map(|(front, _)| front);
    let dashes = by_dashes.filter(|front| by_line.is_none_or(|line| line.trim() != front.trim()));
    by_line.into_iter().chain(dashes).collect()
}

/// Returns the commands of a prompt whose output takes their place in the text (`!{…}`, as Gemini CLI's manual writes
/// them: braces in them are balanced). If a brace is never closed, its command and all later ones end at the next `}`
/// or at the end of the line.
pub fn of_prompt(text: &str) -> Vec<StartedCommand> {
    let (mut found, mut rest, mut are_balanced) = (Vec::new(), text, true);
    while let Some((_, after)) = rest.split_once("!{") {
        let end = if are_balanced { end_of_braces(after) } else { None };
        are_balanced &= end.is_some();
        let end = end.unwrap_or_else(|| after.find(['}', '\n']).unwrap_or(after.len()));
        found.push(NamedCommand::Text(after[..end].to_owned()).into());
        rest = &after[end..];
    }
    found
}

/// Returns where the brace ends that was opened just before the text. `None` if it is never closed.
fn end_of_braces(text: &str) -> Option<usize> {
    let mut depth = 1usize;
    let end = text.char_indices().find(|(_, letter)| {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map(|(at, _)| at)
}

#[derive(Default)]
struct LineReader {
    /// The keys around the next line, with the indentation of each.
    around: Vec<(Option<usize>, Part)>,
    /// The program, the arguments and the directory of the entry that the lines are in.
    program: Option<String>,
    arguments: Vec<String>,
    directory: Option<String>,
    /// Where the commands of that entry begin.
    from: usize,
    /// Whether the next lines are arguments.
    is_arguments: bool,
    found: Vec<StartedCommand>,
}

impl LineReader {
    fn row(&mut self, row: &str) {
        let mut rest = row.trim_start();
        let mut indent = row.len() - rest.len();
        let is_section = row.starts_with('[') && rest.trim_end().ends_with(']') && !rest.contains([',', '=']);
        if is_section {
            self.end_entry();
            let part = rest
                .trim()
                .trim_matches(['[', ']'])
                .split('.')
                .fold(Part::Data, |part, key| part.at(bare(key)));
            self.around = vec![(None, part)];
            return;
        }
        while let Some(item) = rest.strip_prefix("- ") {
            // The list holds entries, not the arguments of one entry.
            if entry(item).is_some() {
                self.end_entry();
            }
            indent += rest.len() - item.trim_start().len();
            rest = item.trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ']', '}']) {
            return;
        }
        let Some((key, value)) = entry(rest) else {
            let part = self.around.last().map_or(Part::Data, |(_, part)| *part);
            self.value(rest, part);
            return;
        };
        while self.around.last().is_some_and(|(at, _)| at.is_some_and(|at| at >= indent)) {
            self.around.pop();
        }
        let around = self.around.last().map_or(Part::Data, |(_, part)| *part);
        let part = key.split('.').fold(around, |part, key| part.at(bare(key)));
        self.around.push((Some(indent), part));
        let name = bare(key);
        if value.trim().is_empty() && part != Part::Arguments {
            self.end_entry();
        }
        let text = || quoted(value).into_iter().next().unwrap_or_else(|| value.trim().to_owned());
        self.is_arguments = part == Part::Arguments;
        match name {
            "command" | "cmd" => self.program = Some(text()),
            "cwd" => self.directory = Some(text()),
            _ => {}
        }
        self.value(value, part);
    }

    fn value(&mut self, value: &str, part: Part) {
        let value = value.trim().trim_end_matches(',');
        // A table on one line has its own keys: its content counts if one of these keys may hold a command.
        if value.starts_with('{') && (part != Part::Data || value.contains("command")) {
            return self.found.push(NamedCommand::Words(value.to_owned()).into());
        }
        let words = if value.starts_with(['[', '"', '\'']) { quoted(value) } else { vec![value.to_owned()] };
        if value.starts_with('[') && matches!(part, Part::Command | Part::Around) {
            self.found.push(NamedCommand::Argv(words.clone()).into());
        }
        if self.is_arguments {
            self.arguments.extend(words.iter().filter(|word| !word.is_empty()).cloned());
        }
        self.found.extend(words.into_iter().filter_map(|word| part.text(word)).map(StartedCommand::from));
    }

    /// Ends an entry: joins its program with its arguments, and gives each of its commands the entry's directory.
    fn end_entry(&mut self) {
        let (program, arguments) = (self.program.take(), std::mem::take(&mut self.arguments));
        if let Some(program) = program.filter(|_| !arguments.is_empty()) {
            self.found.push(NamedCommand::Argv([vec![program], arguments].concat()).into());
        }
        if let Some(directory) = self.directory.take() {
            self.found[self.from..].iter_mut().for_each(|found| found.directory = Some(directory.clone()));
        }
        (self.from, self.is_arguments) = (self.found.len(), false);
    }
}

/// Returns a key and its value. `None` if the line is no key with a value.
fn entry(row: &str) -> Option<(&str, &str)> {
    let is_of_key = |letter: char| letter.is_alphanumeric() || "_-. \"'".contains(letter);
    let end = row.find(|letter| !is_of_key(letter))?;
    let (key, rest) = (row[..end].trim(), &row[end..]);
    let value = rest.strip_prefix('=').or_else(|| {
        rest.strip_prefix(':').filter(|value| value.is_empty() || value.starts_with(char::is_whitespace))
    })?;
    // If a quote in the key is still open, the separator is part of a quoted value.
    let is_whole = key.matches('"').count() % 2 == 0 && !key.is_empty();
    is_whole.then_some((key, value))
}

fn bare(key: &str) -> &str {
    key.trim().trim_matches(['"', '\''])
}

/// The texts in quotes.
fn quoted(value: &str) -> Vec<String> {
    let (mut found, mut quote, mut text) = (Vec::new(), None, String::new());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match quote {
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            None => {}
            Some(end) if letter == end => {
                found.push(std::mem::take(&mut text));
                quote = None;
            }
            Some('"') if letter == '\\' => text.extend(letters.next()),
            Some(_) => text.push(letter),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(found: Vec<StartedCommand>) -> Vec<String> {
        found.into_iter().map(StartedCommand::into_text).collect()
    }

    fn markdown(text: &str) -> Vec<StartedCommand> {
        of_markdown(text, &ReadBudget::default()).unwrap()
    }

    /// Each text spells the same command in another way.
    #[test]
    fn commands_in_yaml_of_any_spelling_are_found() {
        for text in [
            "x: &c ./a.sh\nmcpServers:\n- command: *c",
            "mcpServers: [{name: a, command: ./a.sh}]",
            "\"\\x63ommand\": ./a.sh",
            "command: \".\\x2fa.sh\"",
            "? command\n: ./a.sh",
            "&k command: ./a.sh",
            "!!str command: ./a.sh",
            "command: \"./\\\n  a.sh\"",
            "# b\u{85}command: ./a.sh",
        ] {
            let found = texts(of_yaml(text, &ReadBudget::default()).unwrap());
            assert!(found.contains(&"./a.sh".to_owned()), "{text}: {found:?}");
        }
    }

    /// The agents' readers accept these texts. The parser rejects them, or reads them in another way.
    #[test]
    fn commands_behind_an_error_of_the_parser_are_found() {
        for text in [
            "x: \"\\ud83d\\ude00\"\ny: &c ./a.sh\nlint-cmd: *c",
            "x: \"\\ud800\"\ny: &c ./a.sh\nlint-cmd: *c",
            "y: &c ./a.sh\u{85}lint-cmd: *c",
            "y: &c ./a.sh\u{2028}lint-cmd: *c",
            "lint-cmd: \"./\\\na.sh\"",
            "z: {\ny: &c ./a.sh\n}\nlint-cmd: *c",
            "y: \"a\"#b\nlint-cmd: \".\\x2fa.sh\"",
            "b: !u!x z\nmcpServers: [{name: a, \"\\x63ommand\": ./a.sh}]",
            "y: a\n  b: c\nlint-cmd: \".\\x2fa.sh\"",
            "z: \"%\"x\ny: &c ./a.sh\nlint-cmd: *c",
        ] {
            let found = texts(of_yaml(text, &ReadBudget::default()).unwrap());
            assert!(found.contains(&"./a.sh".to_owned()), "{text}: {found:?}");
        }
        for text in [
            "---\nhooks:\n- command: ./a.sh\n# ---\nbody\n",
            "---\nhooks:\n- command: ./a.sh\ncolor: red ---\nbody\n",
            "---\nhooks:\n\tStop:\n\t- command: \"\\x2e/a.sh\"\n---\nbody\n",
        ] {
            let found = texts(markdown(text));
            assert!(found.contains(&"./a.sh".to_owned()), "{text}: {found:?}");
        }
        // This is what people write, and no path in it is a command.
        let usual = "---\nname: a\ndescription: Use it: src/a.sh\\n\\n<example>\ntools: [Read, Bash(git:*)]\n---\nbody\n";
        assert_eq!(texts(markdown(usual)), Vec::<String>::new());
    }

    #[test]
    fn commands_in_toml_and_yaml_are_found() {
        for (text, expected) in [
            ("notify = [\"bash\", \"a.sh\"]", &["bash a.sh", "bash", "a.sh"][..]),
            (
                "[mcp_servers.x]\ncommand = \"./a\"\nargs = [\n  \"b\",\n]\ncwd = \"c\"",
                &["./a", "b", "./a b"],
            ),
            ("[[hooks.Stop]]\ncommand = './a' # b", &["./a"]),
            ("lint-cmd: ./a", &["./a"]),
            ("# b\r\nlint-cmd: ./a\r\n", &["./a"]),
            ("# b\rlint-cmd: ./a", &["./a"]),
            ("# b\u{85}lint-cmd: ./a", &["./a"]),
            ("lint-cmd:\n- \"python: ./a\"\nread: b", &["", "python: ./a"]),
            ("mcpServers:\n  - name: x\n    command: a\n    args:\n      - \"b\"\n", &["a", "", "b", "a b"]),
            ("x = { command = \"a\" }", &["{ command = \"a\" }"]),
        ] {
            assert_eq!(texts(of_lines(text)), expected, "{text}");
        }
        for text in [
            "read: src/main.ts",
            "[a]\nfiles = [\"src/main.ts\"]",
            "src/main.ts",
            "- src/main.ts",
            ":",
            "[",
            "\"",
            "=",
        ] {
            assert_eq!(texts(of_lines(text)), [""; 0], "{text}");
        }
    }

    #[test]
    fn commands_in_markdown_are_those_of_its_settings_and_those_that_it_runs() {
        let text = "---\nname: x\ndescription: see src/main.ts\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: \"./a.sh\"\n---\nRead src/main.ts, and `b`: !`./c.sh`\ncommand: ./d.sh\n";
        let mut found = texts(markdown(text));
        found.retain(|text| text.contains('/'));
        assert_eq!(found, ["./a.sh", "./c.sh"]);
        assert_eq!(texts(markdown("command: x")), [""; 0]);
        let mut found = texts(markdown("---\na: &x ./a.sh\nhooks: {Stop: [{command: *x}]}\n---\n"));
        found.retain(|text| text == "./a.sh");
        assert_eq!(found, ["./a.sh"]);
    }

    #[test]
    fn commands_in_prompts_have_balanced_braces() {
        for (text, expected) in [
            ("a !{x {1} y}\nb", &["x {1} y"][..]),
            ("!{a\nb} !{c}", &["a\nb", "c"]),
            ("!{a {\nb !{c}\n!{d\ne", &["a {", "c", "d"]),
            ("!{", &[""]),
            ("none", &[]),
        ] {
            assert_eq!(texts(of_prompt(text)), expected, "{text}");
        }
        // The text is read in one pass, even if nothing in it is closed.
        assert_eq!(of_prompt(&"!{\n".repeat(500_000)).len(), 500_000);
    }
}
