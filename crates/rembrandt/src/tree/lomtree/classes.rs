//! The statistics of each class at a node: a small hash table that grows with the classes that come by.
//!
//! The nodes near the root see every class and those below a handful, so each has a table of its own size. Places
//! follow from the classes and their order of arrival alone, so that nothing depends on the run.

/// The statistics of one class at one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClassStats {
    /// The class, or [`FREE`].
    class: u32,
    /// Weight of its examples.
    pub weight: f32,
    /// Mean of their margins.
    pub mean: f32,
}

/// Marks a place without a class.
const FREE: u32 = u32::MAX;
const EMPTY: ClassStats = ClassStats { class: FREE, weight: 0.0, mean: 0.0 };

/// Bytes of a place.
pub(super) const PLACE: usize = size_of::<ClassStats>();

/// The classes of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes {
    /// A power of two of places, or none.
    places: Vec<ClassStats>,
    used: usize,
}

impl Classes {
    /// Number of classes.
    pub fn len(&self) -> usize {
        self.used
    }

    /// The statistics of a class; room is made for one that is new.
    #[inline]
    pub fn entry(&mut self, class: u32) -> &mut ClassStats {
        if 4 * (self.used + 1) > 3 * self.places.len() {
            self.grow();
        }
        let at = self.place(class);
        if self.places[at].class == FREE {
            self.places[at].class = class;
            self.used += 1;
        }
        &mut self.places[at]
    }

    /// Where a class is, or would be.
    #[inline]
    fn place(&self, class: u32) -> usize {
        let mask = self.places.len() - 1;
        let mut at = (class.wrapping_mul(0x9e37_79b1) >> 7) as usize & mask;
        while self.places[at].class != class && self.places[at].class != FREE {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![EMPTY; (2 * self.places.len()).max(4)];
        let old = std::mem::replace(&mut self.places, larger);
        for entry in old.into_iter().filter(|e| e.class != FREE) {
            let at = self.place(entry.class);
            self.places[at] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_kept_apart_however_many_there_are() {
        let mut classes = Classes::default();
        for round in 0..3u32 {
            // Multiples of a power of two are hard on a hash by masks.
            for i in 0..1000u32 {
                let entry = classes.entry(i * 4096);
                assert_eq!(entry.weight, (i * round) as f32);
                entry.weight += i as f32;
            }
        }
        assert_eq!((classes.len(), classes.entry(7).weight), (1000, 0.0));
        assert_eq!(classes.len(), 1001);
    }
}
