//! The program's entry point. Everything else is in the library.

fn main() -> std::process::ExitCode {
    openclaw_guard::main()
}
