//! Files: whole or not at all, mapped, and checkpoints of long runs.

pub(crate) mod atomic_file;
pub(crate) mod checkpoint;
pub(crate) mod mmap;
