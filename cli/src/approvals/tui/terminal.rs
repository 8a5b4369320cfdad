//! The operator's terminal: taken, drawn on, and given back however this program ends.

use std::io::{self, Stdout, stdout};
use std::sync::Once;
use std::time::Duration;

use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, poll, read};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::super::watch::event::{Sender, WatchEvent};

/// How often the thread that reads looks whether anybody wants what it reads.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The terminal, ours.
pub struct Terminal(ratatui::Terminal<CrosstermBackend<Stdout>>);

impl Terminal {
    /// Takes it; what is typed comes as news.
    ///
    /// # Errors
    /// The terminal's.
    pub fn enter(news: Sender) -> io::Result<Terminal> {
        restore_on_panic();
        enable_raw_mode()?;
        // From here on it is given back by being dropped.
        let mut terminal = Terminal(ratatui::Terminal::new(CrosstermBackend::new(stdout()))?);
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        terminal.0.clear()?;
        std::thread::Builder::new().name("keys".into()).spawn(move || keys(&news))?;
        Ok(terminal)
    }

    /// Draws.
    ///
    /// # Errors
    /// The terminal's.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.0.draw(draw).map(drop)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

fn keys(news: &Sender) {
    loop {
        let event = match poll(POLL_INTERVAL) {
            Ok(true) => read(),
            Ok(false) if news.is_closed() => return,
            Ok(false) => continue,
            Err(error) => Err(error),
        };
        // A terminal that has gone types nothing any more.
        let Ok(event) = event else {
            let _ = news.send(WatchEvent::End);
            return;
        };
        if news.send(WatchEvent::Typed(event)).is_err() {
            return;
        }
    }
}

fn restore() {
    // One that has gone needs nothing.
    let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// What a panic says is to be read.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}
