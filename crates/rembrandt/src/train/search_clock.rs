//! The clock of a search, which runs on over all runs that worked on it.

use std::time::Instant;

/// Time that a search took, over all runs that worked on it.
pub(super) struct SearchClock {
    /// Seconds of the runs before, and of this one until `since`.
    before: f64,
    since: Instant,
    /// Times that it was asked.
    pub asked: usize,
}

impl Default for SearchClock {
    fn default() -> SearchClock {
        SearchClock { before: 0.0, since: Instant::now(), asked: 0 }
    }
}

impl SearchClock {
    /// Seconds in all.
    pub fn seconds(&self) -> f64 {
        self.before + self.since.elapsed().as_secs_f64()
    }

    /// Goes on from so many.
    pub fn set(&mut self, seconds: f64) {
        (self.before, self.since) = (seconds, Instant::now());
    }
}
