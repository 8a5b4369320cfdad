//! The tests' own program: the guard, with switches that leave out a layer or inject a panic.

fn main() -> std::process::ExitCode {
    guard_shim::failpoints::read_switches();
    openclaw_guard::main()
}
