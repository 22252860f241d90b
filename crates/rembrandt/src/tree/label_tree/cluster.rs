//! Groups of about equal size of labels with like vectors.

use rayon::prelude::*;

use crate::linalg::matrix::Matrix;

/// Rounds of moving labels between two halves at most.
const ROUNDS: usize = 30;
/// Beginnings from which two halves are looked for.
const STARTS: usize = 8;

/// Divides labels into `groups` parts of about equal size, or into as many as there are labels. Rows of
/// `vectors` belong to labels and have length 1, or 0 for labels of which nothing is known.
///
/// Labels are halved again and again, each time around two centres (2-means with the sizes given).
pub(super) fn divide(vectors: &Matrix, mut labels: Vec<u32>, groups: usize) -> Vec<Vec<u32>> {
    let groups = groups.min(labels.len());
    if groups < 2 {
        labels.sort_unstable();
        return vec![labels];
    }
    let right_groups = groups / 2;
    let right = halve(vectors, &mut labels, groups - right_groups, groups);
    let (mut left, right) =
        rayon::join(|| divide(vectors, labels, groups - right_groups), || divide(vectors, right, right_groups));
    left.extend(right);
    left
}

/// Keeps the share `of_left`/`groups` of the labels, and returns the others: the best of several beginnings.
fn halve(vectors: &Matrix, labels: &mut Vec<u32>, of_left: usize, groups: usize) -> Vec<u32> {
    // In ascending order, whatever came before, so that equals end up where their numbers tell.
    labels.sort_unstable();
    let cut = (labels.len() * of_left).div_ceil(groups);
    let starts = STARTS.min(labels.len());
    let halves: Vec<(f64, Vec<u32>)> = (0..starts)
        .into_par_iter()
        .map(|start| settle(vectors, labels.clone(), cut, labels[start * labels.len() / starts]))
        .collect();
    let best = halves.into_iter().reduce(|best, other| if other.0 > best.0 { other } else { best });
    *labels = best.expect("there is at least one beginning").1;
    labels.split_off(cut)
}

/// Moves labels between two halves, of which the left has `cut`, until each is with the centre that it is more like. It
/// begins around `first` and the label least like it. Also returns how alike the labels of each half are.
fn settle(vectors: &Matrix, mut labels: Vec<u32>, cut: usize, first: u32) -> (f64, Vec<u32>) {
    let second = farthest(vectors, &labels, vectors.row(first as usize));
    let mut centres = [first, second].map(|label| vectors.row(label as usize).to_vec());
    for _ in 0..ROUNDS {
        let axis: Vec<f32> = centres[0].iter().zip(&centres[1]).map(|(a, b)| a - b).collect();
        let mut ordered: Vec<(f32, u32)> =
            labels.par_iter().with_min_len(1024).map(|l| (dot(vectors.row(*l as usize), &axis), *l)).collect();
        ordered.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut moved: Vec<u32> = ordered.into_iter().map(|(_, label)| label).collect();
        moved[..cut].sort_unstable();
        moved[cut..].sort_unstable();
        let done = moved == labels;
        labels = moved;
        centres = [centre(vectors, &labels[..cut]), centre(vectors, &labels[cut..])];
        if done {
            break;
        }
    }
    let sizes = [cut, labels.len() - cut];
    let alike = centres.iter().zip(sizes).map(|(centre, size)| size as f64 * f64::from(dot(centre, centre))).sum();
    (alike, labels)
}

/// The mean of the vectors.
fn centre(vectors: &Matrix, labels: &[u32]) -> Vec<f32> {
    let mut sum = vec![0f64; vectors.cols()];
    for label in labels {
        sum.iter_mut().zip(vectors.row(*label as usize)).for_each(|(s, v)| *s += f64::from(*v));
    }
    sum.into_iter().map(|s| (s / labels.len() as f64) as f32).collect()
}

/// The label least like a vector, the lowest of equals.
fn farthest(vectors: &Matrix, labels: &[u32], from: &[f32]) -> u32 {
    let likeness = |label: u32| dot(vectors.row(label as usize), from);
    let better = |best: (f32, u32), label: u32| {
        let found = likeness(label);
        if found < best.0 { (found, label) } else { best }
    };
    labels.iter().fold((f32::INFINITY, labels[0]), |best, label| better(best, *label)).1
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() as f32
}

/// Makes every row as long as 1; rows without length stay.
pub(super) fn normalise(vectors: &mut Matrix) {
    for i in 0..vectors.rows() {
        let length = dot(vectors.row(i), vectors.row(i)).sqrt();
        if length > 0.0 {
            vectors.row_mut(i).iter_mut().for_each(|v| *v /= length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_groups_are_found_and_sizes_are_equal() {
        // Label l is near direction l mod 4.
        let mut vectors = Matrix::from_fn(32, 5, |l, j| if j == l % 4 { 1.0 } else { (l * 7 % 5) as f32 * 0.02 });
        normalise(&mut vectors);
        let mut groups = divide(&vectors, (0..32).collect(), 4);
        groups.sort();
        let expected: Vec<Vec<u32>> = (0..4).map(|g| (0..8).map(|i| 4 * i + g).collect()).collect();
        assert_eq!(groups, expected);
    }

    #[test]
    fn every_label_is_in_one_group_however_odd_the_numbers() {
        let alike = Matrix::zeros(29, 3);
        for groups in [1, 2, 3, 7, 28, 29, 100] {
            let found = divide(&alike, (0..29).collect(), groups);
            assert_eq!(found.len(), groups.min(29));
            let sizes: Vec<usize> = found.iter().map(Vec::len).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(*least > 0 && most - least <= 2, "{sizes:?}");
            let mut all: Vec<u32> = found.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..29));
        }
    }
}
