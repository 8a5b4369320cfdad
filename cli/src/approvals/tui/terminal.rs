//! Takes the operator's terminal, draws on it, and restores it however this program ends.

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

/// How often the reading thread checks whether its receiver still exists.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A terminal that this program has taken over.
pub struct Terminal(ratatui::Terminal<CrosstermBackend<Stdout>>);

impl Terminal {
    /// Takes over the terminal. Input goes to `events`.
    ///
    /// # Errors
    /// Returns the terminal's I/O error.
    pub fn enter(events: Sender) -> io::Result<Terminal> {
        restore_on_panic();
        enable_raw_mode()?;
        // From here on, dropping `terminal` restores the terminal.
        let mut terminal = Terminal(ratatui::Terminal::new(CrosstermBackend::new(stdout()))?);
        execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        terminal.0.clear()?;
        std::thread::Builder::new().name("keys".into()).spawn(move || keys(&events))?;
        Ok(terminal)
    }

    /// Draws one frame.
    ///
    /// # Errors
    /// Returns the terminal's I/O error.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.0.draw(draw).map(drop)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

fn keys(events: &Sender) {
    loop {
        let event = match poll(POLL_INTERVAL) {
            Ok(true) => read(),
            Ok(false) if events.is_closed() => return,
            Ok(false) => continue,
            Err(error) => Err(error),
        };
        // The terminal has gone: no more input will come.
        let Ok(event) = event else {
            let _ = events.send(WatchEvent::End);
            return;
        };
        if events.send(WatchEvent::Typed(event)).is_err() {
            return;
        }
    }
}

fn restore() {
    // Errors do not matter: the terminal may have gone.
    let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Restores the terminal before a panic message is printed, so that it can be read.
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
