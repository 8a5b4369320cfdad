//! A page of the manual.

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::top;

/// The date of the pages' last change of content.
const CHANGED: &str = "2026-11-23";
const SECTION: &str = "1";

/// Builds the command with its full names; subcommands get no copies of the global options.
pub fn built(command: Command) -> Command {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    command.mut_args(|argument| argument.hide_short_help(false)).mut_subcommands(own)
}

fn own(command: Command) -> Command {
    let command = command.mut_args(|argument: Arg| {
        let is_hidden = argument.is_global_set() || argument.is_hide_set();
        argument.hide_short_help(false).hide(is_hidden)
    });
    command.mut_subcommands(own)
}

/// The page's name: `openclaw-guard-approvals-resolve`.
pub fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// The page of `top` or one of its subcommands, as roff that begins with `.TH`.
pub fn page(top: &Command, command: &Command) -> String {
    let is_top = name(command) == name(top);
    let man = Man::new(command.clone())
        .title(name(command).to_uppercase())
        .section(SECTION)
        .date(CHANGED)
        .source(format!("{} {}", top.get_name(), top.get_version().unwrap_or_default()))
        .manual("User Commands");
    let after = AfterHelp::parse(command);
    let mut page = written(|out| man.render_title(out));
    page += &written(|out| man.render_name_section(out));
    page += &synopsis(command);
    page += &written(|out| man.render_description_section(out));
    page += &texts(&after.notes);
    if command.has_subcommands() {
        page += &written(|out| man.render_subcommands_section(out));
    }
    page += &written(|out| man.render_options_section(out));
    if is_top {
        page += &headed("EXIT STATUS", &list(top::STATUS));
        page += &statuses(top);
        page += &headed("FILES", &list(top::FILES));
        page += &headed("ENVIRONMENT", &list(top::ENVIRONMENT));
    } else {
        page += &texts(&[format!("The options of {}({SECTION}) apply here, too.", name(top))]);
        page += &headed("EXIT STATUS", &texts(&[status(top, command)]));
    }
    if !after.examples.is_empty() {
        page += &headed("EXAMPLES", &texts(&after.examples));
    }
    page + &headed("SEE ALSO", &texts(&[see_also(top, command)]))
}

/// The output of mangen, simplified by [`plain`].
fn written(render: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    // Writing to a vector does not fail.
    let _ = render(&mut out);
    plain(&String::from_utf8_lossy(&out))
}

fn rendered(fill: impl FnOnce(&mut Roff)) -> String {
    let mut roff = Roff::new();
    fill(&mut roff);
    plain(&roff.render())
}

/// Removes the two lines that define a string for the apostrophe: every roff in use has it. Removes empty lines, which
/// mandoc and groff render differently. Escapes what is not ASCII, because groff assumes ASCII.
fn plain(roff: &str) -> String {
    let defines = |line: &&str| line.starts_with(r".ie \n(.g .ds Aq") || line.starts_with(".el .ds Aq");
    let lines: Vec<&str> = roff.lines().skip_while(defines).collect();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line = match line.is_empty() {
            // Separates paragraphs of an option's text.
            true if lines.get(index + 1).is_some_and(|next| !next.starts_with('.')) => ".sp",
            true => continue,
            false => line,
        };
        text += line;
        text += "\n";
    }
    let text =
        text.replace(r"\*(Aq", r"\(aq").replace("\n.br\n.br\n", "\n.sp\n").replace("\n.br\n", "\n.sp\n");
    text.chars().map(ascii).collect()
}

fn ascii(letter: char) -> String {
    if letter.is_ascii() { letter.to_string() } else { format!(r"\[u{:04X}]", u32::from(letter)) }
}

fn headed(heading: &str, text: &str) -> String {
    let heading = rendered(|roff| {
        roff.control("SH", [heading]);
    });
    // The heading itself starts the paragraph.
    heading + text.strip_prefix(".PP\n").unwrap_or(text)
}

fn synopsis(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let name = command.get_bin_name().unwrap_or(command.get_name());
    rendered(|roff| {
        roff.control("SH", ["SYNOPSIS"]);
        roff.control("nf", []);
        for line in usage.trim_start_matches("Usage:").lines() {
            roff.text([bold(name), roman(line.trim().trim_start_matches(name))]);
        }
        roff.control("fi", []);
    })
}

/// A list of terms and their meanings.
fn list<T: AsRef<str>>(items: &[(&str, T)]) -> String {
    rendered(|roff| {
        for (term, meaning) in items {
            roff.control("TP", []);
            roff.text([bold(*term)]);
            roff.text([roman(meaning.as_ref())]);
        }
    })
}

/// The exit statuses of every command that does something.
fn statuses(top: &Command) -> String {
    let commands = super::every(top);
    let items: Vec<(&str, String)> = commands
        .iter()
        .skip(1)
        .filter(|command| !command.is_subcommand_required_set())
        .map(|command| (command.get_bin_name().unwrap_or_default(), status(top, command)))
        .collect();
    texts(&["The other commands:".to_owned()]) + &list(&items)
}

/// The exit statuses in a command's help, or its parent's.
pub fn status(top: &Command, command: &Command) -> String {
    let mut line = vec![top];
    for word in command.get_bin_name().unwrap_or_default().split(' ').skip(1) {
        line.extend(line.last().and_then(|above| above.find_subcommand(word)));
    }
    let own = line.into_iter().skip(1).rev().find_map(|command| AfterHelp::parse(command).status);
    own.unwrap_or_else(|| "The status of the subcommand.".to_owned())
}

fn see_also(top: &Command, command: &Command) -> String {
    if name(command) == name(top) {
        return top::SEE_ALSO.join(", ");
    }
    let above = name(command).rsplit_once('-').map(|(above, _)| above).filter(|above| *above != name(top));
    let pages: Vec<String> =
        std::iter::once(name(top)).chain(above).map(|name| format!("{name}({SECTION})")).collect();
    pages.join(", ")
}

/// The text after a command's help, by topic.
#[derive(Default)]
struct AfterHelp {
    examples: Vec<String>,
    notes: Vec<String>,
    status: Option<String>,
}

impl AfterHelp {
    fn parse(command: &Command) -> AfterHelp {
        let text = command.get_after_long_help().or(command.get_after_help());
        let text = text.map(ToString::to_string).unwrap_or_default();
        let mut after = AfterHelp::default();
        for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            let examples = ["Examples:\n", "Example:\n"].iter().find_map(|word| paragraph.strip_prefix(word));
            if let Some(status) = paragraph.strip_prefix("Exit status:") {
                let words: Vec<&str> = status.split_whitespace().collect();
                after.status = Some(sentence(&words.join(" ")));
            } else if let Some(examples) = examples {
                after.examples.push(examples.to_owned());
            } else {
                after.notes.push(paragraph.to_owned());
            }
        }
        after
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Paragraphs; indented text stays as it is.
fn texts(paragraphs: &[String]) -> String {
    rendered(|roff| {
        for paragraph in paragraphs {
            roff.control("PP", []);
            let lines: Vec<&str> = paragraph.lines().collect();
            for part in lines.chunk_by(|one, next| one.starts_with("  ") == next.starts_with("  ")) {
                let is_indented = part.iter().all(|line| line.starts_with("  "));
                if is_indented {
                    roff.control("RS", ["4"]);
                    roff.control("nf", []);
                }
                for line in part {
                    roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
                }
                if is_indented {
                    roff.control("fi", []);
                    roff.control("RE", []);
                }
            }
        }
    })
}
