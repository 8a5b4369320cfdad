//! Tasks that restart after a panic.

use std::time::Duration;

/// How long a task waits after a panic before it restarts: the cause may persist.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Runs a task and restarts it after each panic. Returns when a run ends without a panic.
pub async fn restart_task_on_panic<F>(task: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    // The panic hook has reported the panic.
    while tokio::spawn(task()).await.is_err_and(|error| error.is_panic()) {
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_begun_again() {
        let rounds = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = std::sync::Arc::clone(&rounds);
        restart_task_on_panic(move || {
            let round = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            async move { assert!(round >= 2) }
        })
        .await;
        assert_eq!(rounds.load(std::sync::atomic::Ordering::SeqCst), 3);
    }
}
