//! [`Buffer`]: long lists of numbers that are owned, or used where they lie in a mapped file.

use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;

/// Numbers that are owned, or lie in a mapped file. Copies share them.
#[derive(Clone)]
pub(crate) enum Buffer<T> {
    /// In memory.
    Owned(Arc<Vec<T>>),
    /// A part of a file, aligned for `T` and a whole number of them: [`Buffer::mapped`] sees to it.
    Mapped {
        /// The file.
        map: Arc<Mmap>,
        /// The bytes of the numbers.
        bytes: Range<usize>,
    },
}

impl<T: Pod> Buffer<T> {
    /// The numbers in some bytes of a file; nothing when they are not aligned.
    pub fn mapped(map: &Arc<Mmap>, bytes: Range<usize>) -> Option<Buffer<T>> {
        bytemuck::try_cast_slice::<u8, T>(map.get(bytes.clone())?).ok()?;
        Some(Buffer::Mapped { map: Arc::clone(map), bytes })
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Buffer::Owned(numbers) => numbers,
            Buffer::Mapped { map, bytes } => bytemuck::cast_slice(&map[bytes.clone()]),
        }
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(numbers: Vec<T>) -> Buffer<T> {
        Buffer::Owned(Arc::new(numbers))
    }
}

impl<T: Pod> Default for Buffer<T> {
    fn default() -> Buffer<T> {
        Vec::new().into()
    }
}

impl<T: Pod + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Buffer<T>) -> bool {
        **self == **other
    }
}

impl<T: Pod> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::mmap::map_whole;

    #[test]
    fn buffers_are_the_same_owned_and_mapped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let numbers = [1.5f32, -2.0, 3.25, 0.0];
        std::fs::write(&path, bytemuck::cast_slice::<f32, u8>(&numbers)).unwrap();
        let map = Arc::new(map_whole(&path).unwrap());
        let mapped = Buffer::<f32>::mapped(&map, 4..12).unwrap();
        assert_eq!(mapped, Buffer::from(vec![-2.0, 3.25]));
        // Neither a place that is not aligned, nor a part of a number, nor bytes beyond the end.
        for bytes in [2..6, 4..10, 8..24] {
            assert!(Buffer::<f32>::mapped(&map, bytes).is_none());
        }
    }
}
