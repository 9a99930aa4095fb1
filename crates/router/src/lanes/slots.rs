//! How many runs may be at work at the same time: a number that can change while they are.

use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use hob_core::domain::lock::lock;

/// The places for runs.
#[derive(Clone)]
pub(super) struct RunSlots {
    free: Arc<Semaphore>,
    room: Arc<Mutex<SlotCount>>,
}

struct SlotCount {
    /// How many there are to be.
    places: usize,
    /// How many of those that are taken go with the run that has them.
    surplus: usize,
}

/// A place that is taken. Dropped, it is free, or there is one place less.
pub(crate) struct RunSlot {
    permit: Option<OwnedSemaphorePermit>,
    room: Arc<Mutex<SlotCount>>,
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        let mut room = lock(&self.room);
        if room.surplus > 0
            && let Some(permit) = self.permit.take()
        {
            room.surplus -= 1;
            permit.forget();
        }
    }
}

impl RunSlots {
    pub(super) fn new(places: usize) -> Self {
        let room = Arc::new(Mutex::new(SlotCount { places, surplus: 0 }));
        Self { free: Arc::new(Semaphore::new(places)), room }
    }

    /// How many runs have one.
    pub(super) fn taken(&self) -> usize {
        let room = lock(&self.room);
        (room.places + room.surplus).saturating_sub(self.free.available_permits())
    }

    /// A place, if nobody need wait for one now.
    pub(super) fn take_free(&self) -> Option<RunSlot> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(self.with(permit))
    }

    /// Waits for a free place; none: there will be none any more.
    pub(super) async fn take(&self) -> Option<RunSlot> {
        let permit = Arc::clone(&self.free).acquire_owned().await.ok()?;
        Some(self.with(permit))
    }

    fn with(&self, permit: OwnedSemaphorePermit) -> RunSlot {
        RunSlot { permit: Some(permit), room: Arc::clone(&self.room) }
    }

    /// So many from now on. What is at work beyond that ends in its own time.
    pub(super) fn resize(&self, wanted: usize) {
        let mut room = lock(&self.room);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_number_changes_while_runs_are_at_work() {
        let places = RunSlots::new(3);
        let (one, two) = (places.take().await, places.take().await);
        places.resize(1);
        assert_eq!(places.free.available_permits(), 0);
        drop(one);
        assert_eq!(places.free.available_permits(), 0, "one too many was at work");
        places.resize(2);
        assert_eq!(places.free.available_permits(), 1);
        drop(two);
        assert_eq!(places.free.available_permits(), 2);
        let (one, two) = (places.take().await, places.take().await);
        places.resize(1);
        places.resize(4);
        assert_eq!(places.free.available_permits(), 2, "what was to go stays after all");
        drop(one);
        drop(two);
        assert_eq!(places.free.available_permits(), 4);
    }
    #[tokio::test]
    async fn b8_who_is_let_begin_at_once_has_a_place_and_gives_it_back_unused() {
        let places = RunSlots::new(1);
        let one = places.take_free().unwrap();
        assert!(places.take_free().is_none(), "it is promised to somebody already");
        assert_eq!(places.taken(), 1);
        drop(one);
        assert!(places.take_free().is_some());
        // What was promised when there were more goes with whoever has it.
        places.resize(2);
        let (one, two) = (places.take_free(), places.take_free());
        places.resize(1);
        drop(one);
        assert!(places.take_free().is_none());
        drop(two);
        assert!(places.take_free().is_some());
    }
}
