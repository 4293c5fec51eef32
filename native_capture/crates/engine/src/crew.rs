//! Several threads at one piece of work.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{scope, Builder};

/// A lock is poisoned only by a panic elsewhere, which is told where it happened.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Do `what` with each item and its place, on up to `threads` threads; with fewer where no more are to be had.
pub(crate) fn side_by_side<T: Send>(threads: usize, items: &mut [T], what: impl Fn(usize, &mut T) + Sync) {
    let helpers = threads.min(items.len()).saturating_sub(1);
    let queue = Mutex::new(items.iter_mut().enumerate());
    let work = || loop {
        let next = lock(&queue).next();
        let Some((place, item)) = next else { return };
        what(place, item);
    };
    scope(|scope| {
        for _ in 0..helpers {
            let _ = Builder::new().name("share".into()).spawn_scoped(scope, work);
        }
        work();
    });
}
