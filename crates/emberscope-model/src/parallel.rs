//! Work on many items by a few threads, with results in the items' order: what comes out does not
//! depend on the number of threads.

/// Least weight of a part: below it a thread costs more than it saves.
const LEAST_WEIGHT: usize = 8192;

/// Cuts `items` into consecutive parts of about the same weight, at most `threads` of them, and makes
/// one result of each part.
pub(crate) fn parts<T: Send, R: Send>(
    items: Vec<T>,
    threads: usize,
    weight: impl Fn(&T) -> usize,
    work: impl Fn(Vec<T>) -> R + Sync,
) -> Vec<R> {
    let total: usize = items.iter().map(&weight).sum();
    let n_parts = threads.min(total / LEAST_WEIGHT).max(1);
    if n_parts == 1 {
        return vec![work(items)];
    }
    let mut parts: Vec<Vec<T>> = Vec::with_capacity(n_parts);
    let (mut part, mut so_far) = (Vec::new(), 0);
    for item in items {
        so_far += weight(&item);
        part.push(item);
        if so_far * n_parts >= total * (parts.len() + 1) && parts.len() + 1 < n_parts {
            parts.push(std::mem::take(&mut part));
        }
    }
    parts.push(part);
    let work = &work;
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.drain(1..).map(|part| scope.spawn(move || work(part))).collect();
        let mut results: Vec<R> = parts.into_iter().map(work).collect();
        for other in others {
            match other.join() {
                Ok(result) => results.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_stays_whatever_the_threads() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [1, 2, 3, 7] {
            for weight in [0, 1, 1000, 100_000] {
                let results = parts(items.clone(), threads, |item| item * weight, |part| part);
                assert!(results.len() <= threads);
                assert_eq!(results.concat(), items, "{threads} {weight}");
            }
        }
        assert_eq!(parts(Vec::<usize>::new(), 4, |_| 1, |part| part.len()), [0]);
    }
}
