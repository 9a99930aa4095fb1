//! How many runs may be at work at the same time: a number that can change while they are.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places for runs.
pub(super) struct Places {
    free: Arc<Semaphore>,
    room: Mutex<Room>,
}

struct Room {
    /// How many there are to be.
    places: usize,
    /// How many of those that are taken go with the run that has them.
    surplus: usize,
}

impl Places {
    pub(super) fn new(places: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(places)), room: Mutex::new(Room { places, surplus: 0 }) }
    }

    /// How many runs have one.
    pub(super) fn taken(&self) -> usize {
        let room = self.room();
        (room.places + room.surplus).saturating_sub(self.free.available_permits())
    }

    /// Need nobody wait for a place now?
    pub(super) fn is_one_free(&self) -> bool {
        self.free.available_permits() > 0
    }

    /// Waits for a free place; none: there will be none any more.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    /// A run is over: its place is free, or there is one place less.
    pub(super) fn give_back(&self, place: Option<OwnedSemaphorePermit>) {
        let mut room = self.room();
        if let Some(place) = place
            && room.surplus > 0
        {
            room.surplus -= 1;
            place.forget();
        }
    }

    /// So many from now on. What is at work beyond that ends in its own time.
    pub(super) fn resize(&self, wanted: usize) {
        let mut room = self.room();
        if wanted >= room.places {
            let more = wanted - room.places;
            let kept = more.min(room.surplus);
            room.surplus -= kept;
            self.free.add_permits(more - kept);
        } else {
            let fewer = room.places - wanted;
            room.surplus += fewer - self.free.forget_permits(fewer);
        }
        room.places = wanted;
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        // The two numbers are changed together, without anything between that could panic.
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn k5_the_number_changes_while_runs_are_at_work() {
        let places = Places::new(3);
        let (one, two) = (places.take().await, places.take().await);
        places.resize(1);
        assert_eq!(places.free.available_permits(), 0);
        places.give_back(one);
        assert_eq!(places.free.available_permits(), 0, "one too many was at work");
        places.resize(2);
        assert_eq!(places.free.available_permits(), 1);
        places.give_back(two);
        assert_eq!(places.free.available_permits(), 2);
        let (one, two) = (places.take().await, places.take().await);
        places.resize(1);
        places.resize(4);
        assert_eq!(places.free.available_permits(), 2, "what was to go stays after all");
        places.give_back(one);
        places.give_back(two);
        assert_eq!(places.free.available_permits(), 4);
    }
}
