//! The same work on many things, by a few threads: what waits for a disk waits side by side.

use std::thread;

/// How many threads work, the caller's included.
const THREADS: usize = 4;

/// So few things are not worth a thread.
const FEW: usize = 64;

/// What `work` makes of each, in their order.
pub(crate) fn side_by_side<T: Sync, U: Send>(
    things: &[T],
    work: impl Fn(&T) -> U + Sync,
) -> Vec<U> {
    let all = |things: &[T]| things.iter().map(&work).collect::<Vec<_>>();
    let share = things.len().div_ceil(THREADS).max(FEW);
    let (first, rest) = things.split_at(share.min(things.len()));
    thread::scope(|scope| {
        let rest: Vec<_> = rest
            .chunks(share)
            .map(|share| (share, thread::Builder::new().spawn_scoped(scope, || all(share))))
            .collect();
        let mut done = all(first);
        for (share, thread) in rest {
            // Where there is no thread to have, or it came to nothing, the work is done here.
            let made = thread.ok().and_then(|thread| thread.join().ok());
            done.extend(made.unwrap_or_else(|| all(share)));
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_of_things_comes_in_their_order() {
        for count in [0, 1, FEW, FEW + 1, 1001] {
            let things: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = things.iter().map(|thing| thing * 2).collect();
            assert_eq!(side_by_side(&things, |thing| thing * 2), doubled);
        }
    }
}
