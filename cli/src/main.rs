//! The program. All of it is in the library.

fn main() -> std::process::ExitCode {
    openclaw_guard::main()
}
