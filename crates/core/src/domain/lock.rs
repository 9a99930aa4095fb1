//! The one way to a mutex.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Holds what the mutex guards, whoever panicked while holding it: each change of what is behind one leaves it whole.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
