//! Lines on stderr.

use std::io::Write;

/// Writes a line to stderr.
pub fn print(line: &str) {
    // One write, so that lines of several processes do not mix. A failure cannot be reported anywhere.
    let end = if is_raw_terminal() { "\r\n" } else { "\n" };
    let _ = std::io::stderr().write_all(format!("{line}{end}").as_bytes());
}

/// Returns whether stderr is a terminal that does not turn a line feed into a new line (no OPOST).
fn is_raw_terminal() -> bool {
    use rustix::termios::OutputModes;
    rustix::termios::tcgetattr(std::io::stderr())
        .is_ok_and(|modes| !modes.output_modes.contains(OutputModes::OPOST))
}
