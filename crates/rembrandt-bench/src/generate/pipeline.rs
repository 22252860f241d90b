//! Work in pieces: made by several threads, taken in order by the one that asked.
//!
//! A piece is made in a buffer, and there are a few more buffers than makers. So while a piece is written the next ones
//! are made, memory is bounded, and nothing is allocated once all buffers have grown to their size. Whoever has a buffer
//! takes the next piece, so the piece that is waited for is always being made, and nobody waits in a circle.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use rembrandt::Result;

/// So many makers are faster than a disk, and every one more would take tens of megabytes.
const MOST_MAKERS: usize = 4;
/// Buffers beyond one for each maker: one that is written, and one that is ready.
const SPARE: usize = 2;

/// Makes pieces `0..pieces` with as many threads as the pool has, and passes each to `take` when its turn comes.
///
/// `maker` gives every thread what it needs. The threads are not those of the pool: they wait for the disk.
///
/// # Errors
/// The first of `take`; nothing is made after it.
///
/// # Panics
/// If making a piece does.
pub fn in_order<M, B: Default + Send>(
    pieces: usize,
    maker: impl Fn() -> M + Sync,
    make: impl Fn(&mut M, usize, &mut B) + Sync,
    mut take: impl FnMut(&B) -> Result<()>,
) -> Result<()> {
    let makers = rayon::current_num_threads().min(MOST_MAKERS).min(pieces);
    let (free, buffers) = mpsc::channel();
    let (done, made) = mpsc::channel();
    (0..makers + SPARE).for_each(|_| free.send(B::default()).expect("the other end is here"));
    let source = Mutex::new((buffers, 0..pieces));
    thread::scope(|scope| {
        // The ends of the channels go with this scope, whichever way it is left, and that ends the makers.
        let (free, made) = (free, made);
        for _ in 0..makers {
            let (done, source, maker, make) = (done.clone(), &source, &maker, &make);
            scope.spawn(move || {
                let mut own = None;
                loop {
                    let (piece, mut buffer) = {
                        let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
                        let Ok(buffer) = source.0.recv() else { return };
                        let Some(piece) = source.1.next() else { return };
                        (piece, buffer)
                    };
                    let work = || make(own.get_or_insert_with(maker), piece, &mut buffer);
                    let result = catch_unwind(AssertUnwindSafe(work)).map(|()| buffer);
                    if done.send((piece, result)).is_err() {
                        return;
                    }
                }
            });
        }
        let mut early: Vec<(usize, B)> = Vec::new();
        for next in 0..pieces {
            let buffer = loop {
                if let Some(at) = early.iter().position(|(piece, _)| *piece == next) {
                    break early.swap_remove(at).1;
                }
                match made.recv().expect("makers stay until all is made") {
                    (piece, Ok(buffer)) => early.push((piece, buffer)),
                    (_, Err(panic)) => resume_unwind(panic),
                }
            };
            take(&buffer)?;
            // Nobody takes it after the last piece.
            let _ = free.send(buffer);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rembrandt::Error;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn pieces_come_in_order() {
        for threads in [1, 2, 5, 20] {
            let mut seen = Vec::new();
            let make = |_: &mut (), i: usize, b: &mut usize| *b = i * i;
            let take = |b: &usize| {
                seen.push(*b);
                Ok(())
            };
            pool(threads).install(|| in_order(100, || (), make, take)).unwrap();
            assert_eq!(seen, (0..100).map(|i| i * i).collect::<Vec<_>>());
        }
        in_order(0, || (), |_, _, _: &mut ()| (), |_| Ok(())).unwrap();
    }

    #[test]
    fn errors_and_panics_end_it() {
        let mut taken = 0;
        let take = |_: &usize| {
            taken += 1;
            if taken == 3 { Err(Error::Cancelled) } else { Ok(()) }
        };
        let result = pool(2).install(|| in_order(1000, || (), |_, i, b| *b = i, take));
        assert!(matches!(result, Err(Error::Cancelled)) && taken == 3);
        let make = |_: &mut (), i: usize, _: &mut usize| assert!(i != 7);
        assert!(catch_unwind(AssertUnwindSafe(|| in_order(1000, || (), make, |_| Ok(())))).is_err());
    }
}
