//! Panics that are expected, of which nothing is to be shown: the operator's terminal may be in any state.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does this; if it panics, nothing is said of it.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            QUIET.set(false);
        }
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    let _loud = Loud;
    QUIET.set(true);
    work()
}
