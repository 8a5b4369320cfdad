//! The layout of the screen.

use std::time::Duration;

use guard_policy::text::shown;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph};

use super::super::watch::queue::{Key, Queue, QueueRow};
use super::super::watch::row_text::text;
use super::wrap::wrapped;
use super::{Screen, View};

const KEYS: &str = "y once  s session  a always  n deny  v details  j k move  ? help  q quit";
const HELP: &str = "\
y  allow once: only the calls that wait now
c  allow a file's directory for its command, and all that it starts
s  allow equal calls as long as the guard runs; S  a file's directory
t  allow equal calls for 30 minutes; T  a file's directory
a  allow always: saves what is shown at \"always\"
d  allow always for the whole directory, where \"directory\" is shown
n  deny; N  the directory for the command
   confirm with Enter; any other key cancels
Enter  twice: deny
j k, arrows  move
v  all details on the whole screen; Page Up, Page Down, Space scroll
q, Esc  back to the list
q on the list, Ctrl-C  quit; the questions stay pending
";
/// From this width on, the list and the details stand side by side; below it, one above the other.
const WIDE: u16 = 90;

/// Draws the screen. Returns the scroll offset of the details, limited to the length of the text.
pub fn draw(frame: &mut Frame<'_>, screen: &Screen, queue: &Queue, now_ms: u64) -> usize {
    let [top, main, asked, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let count = queue.rows().len();
    let title = match count {
        0 => "openclaw-guard approvals: no questions are pending".to_owned(),
        count => format!("openclaw-guard approvals: {count} waiting"),
    };
    frame.render_widget(Line::styled(title, bold), top);
    let scroll = match screen.page {
        View::Help => pane(frame, main, " keys ", HELP, screen.scroll),
        View::Details => details(frame, main, screen, queue, now_ms),
        View::List => {
            let [left, right] = if main.width >= WIDE {
                Layout::horizontal([Constraint::Percentage(40), Constraint::Percentage(60)]).areas(main)
            } else {
                Layout::vertical([Constraint::Percentage(35), Constraint::Percentage(65)]).areas(main)
            };
            list(frame, left, screen, queue, now_ms);
            details(frame, right, screen, queue, now_ms)
        }
    };
    let question = screen.question(queue);
    let (text, style) = match &question {
        Some(question) => (question, Style::new().add_modifier(Modifier::REVERSED)),
        None => (&screen.note, Style::new()),
    };
    let mut lines = wrapped(text, usize::from(asked.width).max(1));
    if lines.len() > usize::from(asked.height) && question.is_some() {
        // Shows in full what Enter would do, or where to read it.
        lines = vec!["Enter: allow always, and save what is shown at \"always\" (v shows all)".to_owned()];
    }
    let lines: Vec<_> = lines.into_iter().map(|line| Line::styled(line, style)).collect();
    frame.render_widget(Paragraph::new(lines), asked);
    frame.render_widget(Line::raw(KEYS), keys);
    scroll
}

fn list(frame: &mut Frame<'_>, area: Rect, screen: &Screen, queue: &Queue, now_ms: u64) {
    let block = Block::new().borders(Borders::TOP).title(" waiting ");
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let height = usize::from(inside.height);
    let rows = queue.rows();
    let first = (screen.selected_index + 1).saturating_sub(height);
    let lines = rows.iter().skip(first).take(height).map(|(key, row)| {
        let is_selected = screen.selected.as_ref() == Some(*key);
        let style = if is_selected { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        Line::styled(summary(key, row, now_ms), style)
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), inside);
}

/// Age, agent, operation, program.
fn summary(key: &Key, row: &QueueRow, now_ms: u64) -> String {
    let age = age(now_ms.saturating_sub(row.since_ms));
    let (agent, operation, program) = match (&row.approval, &row.asked) {
        (Some(approval), _) => (&approval.agent_id[..], &approval.operation[..], &approval.resolved_path[..]),
        (None, Some(asked)) => (asked.agent_id.as_deref().unwrap_or("-"), "socket", &asked.command[..]),
        (None, None) => ("-", "-", &key.id[..]),
    };
    let [agent, operation, program] = [agent, operation, program].map(|text| shown(text.as_bytes()));
    format!("{age:>4}  {agent}  {operation}  {program}")
}

fn age(ms: u64) -> String {
    let seconds = Duration::from_millis(ms).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        _ => format!("{}h", seconds / 3600),
    }
}

fn details(frame: &mut Frame<'_>, area: Rect, screen: &Screen, queue: &Queue, now_ms: u64) -> usize {
    let selected = screen.selected.as_ref().and_then(|key| Some((key, queue.get(key)?)));
    let text = selected.map(|(key, row)| text(key, row, now_ms)).unwrap_or_default();
    pane(frame, area, " details ", &text, screen.scroll)
}

/// Text in a frame. The frame says how many lines are hidden below, so that nobody answers a text that they have read
/// only in part.
fn pane(frame: &mut Frame<'_>, area: Rect, title: &str, text: &str, scroll: usize) -> usize {
    let block = Block::new().borders(Borders::TOP).title(title);
    let inside = block.inner(area);
    let lines = wrapped(text, usize::from(inside.width).max(1));
    let height = usize::from(inside.height);
    let scroll = scroll.min(lines.len().saturating_sub(height));
    let below = lines.len().saturating_sub(scroll + height);
    let block = if below > 0 { block.title(format!(" {below} more lines: v, Page Down ")) } else { block };
    frame.render_widget(block, area);
    let lines: Vec<_> = lines.into_iter().skip(scroll).take(height).map(Line::raw).collect();
    frame.render_widget(Paragraph::new(lines), inside);
    scroll
}
