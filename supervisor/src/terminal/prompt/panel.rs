//! Lays out a prompt as lines at the lower edge of the screen.

use guard_approvals::decision::{Decision, GrantWidth, Span};
use unicode_width::UnicodeWidthStr;

use super::card;
use super::edited::EditedPattern;
use super::field::{Field, PanelLine, wrapped};
use super::queue::Card;

/// The part of a card that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PromptView {
    /// The question.
    #[default]
    Question,
    /// What "always" would save, for confirmation.
    Always(GrantWidth),
    /// The pattern that "always" would save, while it is typed.
    Editing,
    /// What "always" would save with another pattern, for confirmation.
    Edited(EditedPattern),
    /// Everything, starting at this line.
    Everything(usize),
    /// What the keys do.
    Help,
}

/// The content of a prompt.
#[derive(Debug)]
pub struct Panel<'a> {
    /// Rows and columns of the terminal.
    pub size: (u16, u16),
    /// The card.
    pub card: &'a Card,
    /// The number of waiting cards.
    pub waiting: usize,
    /// The seconds until the card expires.
    pub left: u64,
    /// The part of the card to show.
    pub page: &'a PromptView,
    /// The line typed so far.
    pub line: &'a str,
    /// A message about the last answer.
    pub note: Option<&'a str>,
    /// The number that a yes needs if the terminal does not answer queries. Letters do not count then.
    pub proof: Option<&'a str>,
}

/// The lines of a panel. The first is the title; the cursor is at the end of the last.
pub type PanelLines = Vec<PanelLine>;

impl Panel<'_> {
    /// Returns the lines: no more than there are rows, none wider than there are columns.
    pub fn lines(&self) -> PanelLines {
        let (rows, width) = (usize::from(self.size.0).max(1), usize::from(self.size.1).max(1));
        let mut end = Vec::new();
        if let Some(note) = self.note {
            end.extend(wrapped(note, width, width));
        }
        end.extend(self.keys(width));
        end.push(last(&format!("> {}", self.line), width));
        // The title and at least one line about the call take precedence over the keys.
        let room = rows.saturating_sub(2);
        if end.len() > room {
            let skipped = end.len() - room.max(1);
            end.drain(..skipped);
        }
        let room = rows.saturating_sub(1 + end.len());
        let mut lines = vec![PanelLine::from(self.title(width))];
        lines.extend(self.body(room, width));
        lines.extend(end.into_iter().map(PanelLine::from));
        lines.truncate(rows);
        lines
    }

    fn title(&self, width: usize) -> String {
        let left = format!("{} s left ", self.left);
        let count = if self.waiting > 1 { format!("1 of {}, ", self.waiting) } else { String::new() };
        let right = format!("{count}{left}");
        let names = [
            format!(" openclaw-guard: {} ", card::question(self.card)),
            " openclaw-guard asks ".to_owned(),
            " guard? ".to_owned(),
            String::new(),
        ];
        let fits = |name: &&String| name.width() + right.width() <= width;
        let name = names.iter().find(fits).map_or("", |name| name);
        let space = width.saturating_sub(name.width() + right.width());
        first(&format!("{name}{}{right}", " ".repeat(space)), width)
    }

    fn keys(&self, width: usize) -> Vec<String> {
        let words = |meaning: &str, proof: &str| {
            [
                format!(" type yes {proof} {meaning} or no, then Enter"),
                format!("yes {proof} / no + Enter"),
                format!("yes {proof}"),
            ]
        };
        let fits = |text: &String| text.width() <= width;
        let choices: &[&str] = match (self.page, self.proof) {
            (PromptView::Everything(_), _) => &[" arrows, PgUp, PgDn scroll   q back", "q: back"],
            (PromptView::Help, _) => &[" q back", "q: back"],
            (PromptView::Always(width), None) if card::is_editable(self.card, *width) => {
                &[" y save and allow   e edit the pattern   q back - then Enter", "y, e or q + Enter"]
            }
            (PromptView::Always(_) | PromptView::Edited(_), None) => {
                &[" y save and allow   q back - then Enter", "y or q + Enter"]
            }
            (PromptView::Editing, _) => {
                &[" change the pattern, then Enter; Escape: back", "Enter, or Escape"]
            }
            (PromptView::Always(_) | PromptView::Edited(_), Some(proof)) => {
                return words("(save and allow)", proof).into_iter().find(fits).into_iter().collect();
            }
            (PromptView::Question, None) => return self.answers(width),
            (PromptView::Question, Some(proof)) => {
                return words("(once)", proof).into_iter().find(fits).into_iter().collect();
            }
        };
        choices.iter().map(|text| (*text).to_owned()).find(fits).into_iter().collect()
    }

    /// Returns the line with the keys that answer, as long as there is room for it.
    fn answers(&self, width: usize) -> Vec<String> {
        let command = Decision::AllowFor(GrantWidth::Directory, Span::Command);
        let has_command = card::offered(self.card, command).is_some();
        let wider = card::wider(self.card);
        let all = [
            ("y", "once", "once", true),
            ("c", "directory for this command", "command", has_command),
            ("s", "this session", "session", true),
            ("a", "always", "always", true),
            ("d", wider, wider, card::has_directory(self.card)),
            ("n", "deny", "deny", true),
            ("v", "view all", "view", true),
            ("?", "help", "help", true),
        ];
        let offered = || all.iter().filter(|(.., is_offered)| *is_offered);
        let long: Vec<_> = offered().map(|(key, long, ..)| format!("{key} {long}")).collect();
        let short: Vec<_> = offered().map(|(key, _, short, _)| format!("{key} {short}")).collect();
        let keys: Vec<_> = offered().map(|(key, ..)| *key).collect();
        let lines = [
            format!(" {} - then Enter", long.join("   ")),
            format!(" {}", short.join("  ")),
            format!("{} + Enter", keys.join(" ")),
            format!("{} +Enter", keys.join(" ")),
            keys.join(" "),
        ];
        lines.into_iter().find(|line| line.width() <= width).into_iter().collect()
    }

    fn body(&self, room: usize, width: usize) -> PanelLines {
        let lines = |fields: Vec<Field>| -> PanelLines {
            fields.into_iter().flat_map(|field| field.lines(width)).collect()
        };
        match self.page {
            PromptView::Question => {
                let card::Required { lead, common } = card::required(self.card);
                let mut rest = lines(common);
                rest.extend(lines(card::context(self.card)));
                question(room, width, lines(lead), rest)
            }
            PromptView::Always(grant) => folded(lines(card::entries(self.card, *grant)), room, width),
            PromptView::Editing => folded(lines(card::entries(self.card, GrantWidth::Narrow)), room, width),
            PromptView::Edited(edited) => folded(lines(card::edited(edited)), room, width),
            PromptView::Everything(from) => {
                let all = lines(card::everything(self.card));
                let from = (*from).min(all.len().saturating_sub(room));
                all.into_iter().skip(from).take(room).collect()
            }
            PromptView::Help => {
                let help = HELP.iter().flat_map(|text| wrapped(text, width, width));
                folded(help.map(PanelLine::from).collect(), room, width)
            }
        }
    }

    /// Returns how far the page with everything can be scrolled.
    pub fn most(&self) -> usize {
        let width = usize::from(self.size.1).max(1);
        let all: usize = card::everything(self.card).into_iter().map(|field| field.lines(width).len()).sum();
        all.saturating_sub(usize::from(self.size.0).saturating_sub(3))
    }
}

/// Lays out the question. If room is short, the sentences keep at least half of the room.
fn question(room: usize, width: usize, lead: PanelLines, rest: PanelLines) -> PanelLines {
    let for_lead = room.saturating_sub(rest.len()).max(room.div_ceil(2));
    // A single line would only count the other lines.
    let mut lines = if for_lead > 1 { folded(lead, for_lead, width) } else { lead };
    lines.extend(rest);
    folded(lines, room, width)
}

/// Cuts lines to the room that there is, with a last line that counts those left out.
fn folded(mut lines: PanelLines, room: usize, width: usize) -> PanelLines {
    if lines.len() > room && room > 0 {
        let left = lines.len() - (room - 1);
        lines.truncate(room - 1);
        lines.push(more(left, width).into());
    }
    lines.truncate(room);
    lines
}

fn more(count: usize, width: usize) -> String {
    let texts = [format!(" +{count} more, v to view"), format!("+{count} more: v")];
    texts.into_iter().find(|text| text.width() <= width).unwrap_or_else(|| "+".to_owned())
}

/// Returns the first cells of a text that is not from the guarded program.
fn first(text: &str, width: usize) -> String {
    wrapped(text, width, width).swap_remove(0)
}

/// Returns the last cells of the typed line, with one cell left for the cursor.
fn last(text: &str, width: usize) -> String {
    let over = text.width().saturating_sub(width.saturating_sub(1));
    text.chars().skip(over).collect()
}

/// What the keys do.
const HELP: [&str; 11] = [
    " y  allow these calls; the next one asks again",
    " c  for a file: allow its directory for the command that is shown, and all that it starts",
    " s  allow equal calls, or this file, as long as the guard runs; t for 30 minutes; ds, dt for the directory or domain",
    " a  save an entry, which is shown first, and whose pattern e edits for a file; d, where offered: one for the whole directory or domain",
    " n  deny these calls; Control-C and the timeout do the same; nc, ns, nt, nds, ndt deny what c, s, t allow",
    " v  show all details of the call",
    " To answer, press these keys, then Enter. Keys typed before this was shown go to the program.",
    " Pasted text is never an answer.",
    " A longer answer about a file or a host covers what its card shows; about a program, equal calls.",
    " Control-Z suspends the guard: the call keeps waiting, and its time keeps running.",
    " To answer from another terminal: openclaw-guard approvals list",
];
