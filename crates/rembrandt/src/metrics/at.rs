//! Scores of one ranked list, for any k.
//!
//! True labels are ascending and distinct, ranked ones distinct. A list shorter than k has misses in the places that
//! it leaves open.

/// Whether each of the first k ranked labels is true.
fn hits<'a>(truth: &'a [u32], ranked: &'a [u32], k: usize) -> impl Iterator<Item = bool> + 'a {
    assert!(k > 0, "a list is scored down to a rank of at least 1");
    ranked.iter().take(k).map(|label| truth.binary_search(label).is_ok())
}

/// How many of the first k ranked labels are true.
fn count(truth: &[u32], ranked: &[u32], k: usize) -> f64 {
    hits(truth, ranked, k).filter(|hit| *hit).count() as f64
}

/// P@k: the share of true labels among the first k.
///
/// ```
/// use rembrandt::metrics::precision_at;
///
/// assert_eq!(precision_at(&[2, 5], &[5, 1, 2, 0], 2), 0.5);
/// assert_eq!(precision_at(&[2, 5], &[5], 2), 0.5);
/// ```
///
/// # Panics
/// If k is 0.
pub fn precision_at(truth: &[u32], ranked: &[u32], k: usize) -> f64 {
    count(truth, ranked, k) / k as f64
}

/// R@k: the share of the true labels that is found among the first k; 0 if there is no true label.
///
/// ```
/// use rembrandt::metrics::recall_at;
///
/// assert_eq!(recall_at(&[2, 5, 7, 9], &[5, 1, 2, 0], 3), 0.5);
/// assert_eq!(recall_at(&[], &[5, 1], 3), 0.0);
/// ```
///
/// # Panics
/// If k is 0.
pub fn recall_at(truth: &[u32], ranked: &[u32], k: usize) -> f64 {
    count(truth, ranked, k) / truth.len().max(1) as f64
}

/// nDCG@k: Σ 1/log₂(r + 1) over the ranks r ≤ k of true labels, divided by the same sum for an ideal list, which has
/// true labels at ranks 1 to min(k, number of true labels). 0 if there is no true label.
///
/// ```
/// use rembrandt::metrics::ndcg_at;
///
/// assert_eq!(ndcg_at(&[4], &[4, 1, 2], 3), 1.0);
/// assert_eq!(ndcg_at(&[4], &[0, 1, 4], 3), 0.5);
/// ```
///
/// # Panics
/// If k is 0.
pub fn ndcg_at(truth: &[u32], ranked: &[u32], k: usize) -> f64 {
    let gain = |index: usize| 1.0 / (index as f64 + 2.0).log2();
    let found: f64 = hits(truth, ranked, k).enumerate().filter(|(_, hit)| *hit).map(|(index, _)| gain(index)).sum();
    let ideal: f64 = (0..k.min(truth.len())).map(gain).sum();
    // Summed in the same order, an ideal list scores exactly 1.
    if ideal > 0.0 { found / ideal } else { 0.0 }
}

/// Σ weight of the true labels among the first k.
pub(super) fn gain_at(truth: &[u32], ranked: &[u32], k: usize, weight: impl Fn(u32) -> f64) -> f64 {
    hits(truth, ranked, k).zip(ranked).filter(|(hit, _)| *hit).map(|(_, label)| weight(*label)).sum()
}
