use super::*;

const LABELS: usize = 200;
const DRAWS: u64 = 4000;

/// Labels of falling frequency, every tenth of which nobody has.
fn frequency() -> Vec<f64> {
    (0..LABELS).map(|l| if l % 10 == 7 { 0.0 } else { 1000.0 / (l + 1) as f64 }).collect()
}

/// A region in which labels around 150 are likely, as far as anybody can tell.
fn sizes() -> Vec<f32> {
    (0..LABELS).map(|l| (-(l as f32 - 150.0).abs() / 5.0).exp() + 1e-6).collect()
}

#[test]
fn every_label_is_met_with_its_chance() {
    let lottery = LabelSampler::new(&frequency(), 40);
    let likely = lottery.likely(&sizes());
    let held = [3u32, 160, 3, 17];
    let (mut met, mut mass, mut drawn) = (vec![0.0; LABELS], vec![0.0; LABELS], 0);
    for key in 0..DRAWS {
        let subset = lottery.draw(&likely, held.into_iter(), key);
        assert!(subset.labels.is_sorted_by(|a, b| a < b));
        drawn += subset.labels.len();
        for (label, factor) in subset.labels.iter().zip(&subset.factors) {
            assert!(factor.is_finite() && *factor >= 1.0);
            met[*label as usize] += 1.0;
            mass[*label as usize] += f64::from(*factor);
        }
        // Labels of the examples are certain, and stand for themselves. Label 17 cannot be trained.
        for label in [3, 160] {
            let place = subset.labels.binary_search(&label).unwrap();
            assert_eq!(subset.factors[place], 1.0);
        }
    }
    for (label, count) in frequency().iter().enumerate() {
        if *count == 0.0 {
            assert_eq!(met[label], 0.0, "label {label}");
            continue;
        }
        // Met with chance π and standing for 1/π, a label counts 1 on average, give or take three deviations and more.
        let (mean, chance) = (mass[label] / DRAWS as f64, met[label] / DRAWS as f64);
        let deviation = ((1.0 / chance - 1.0) / DRAWS as f64).sqrt();
        assert!((mean - 1.0).abs() <= 4.5 * deviation + 1e-6, "label {label}: {mean} with chance {chance}");
    }
    let mean = drawn as f64 / DRAWS as f64;
    assert!(mean > 30.0 && mean < 44.0, "{mean} labels");
    assert!(met[150] > 0.9 * DRAWS as f64 && met[199] < 0.2 * DRAWS as f64);
}

#[test]
fn with_room_for_all_nothing_is_left_to_chance() {
    for most in [180, 181, 10_000] {
        let lottery = LabelSampler::new(&frequency(), most);
        assert!(!lottery.leaves_out());
        let subset = lottery.draw(&Likely::default(), [0].into_iter(), 5);
        let known: Vec<u32> = (0..LABELS as u32).filter(|l| l % 10 != 7).collect();
        assert_eq!(subset.labels, known);
        assert!(subset.factors.iter().all(|factor| *factor == 1.0));
    }
    assert!(LabelSampler::new(&frequency(), 179).leaves_out());
}

#[test]
fn few_draws_and_flat_sizes_work_too() {
    for most in [1, 2, 3, 7] {
        let lottery = LabelSampler::new(&frequency(), most);
        for sizes in [vec![0.0; LABELS], vec![1.0; LABELS]] {
            let likely = lottery.likely(&sizes);
            let count = (0..100).map(|key| lottery.draw(&likely, [].into_iter(), key).labels.len()).sum::<usize>();
            assert!(count <= 100 * most && count > 0, "{count} for {most}");
        }
    }
}

#[test]
fn factors_fill_up_to_the_total() {
    let sizes = [5.0, 1.0, 0.5, 0.1, 0.0];
    for total in [0.5, 1.0, 2.5, 3.9] {
        let factor = fill(sizes.iter().copied(), total);
        let sum: f64 = sizes.iter().map(|size| (factor * size).min(1.0)).sum();
        assert!((sum - total).abs() < 1e-9, "{sum} for {total}");
    }
}
