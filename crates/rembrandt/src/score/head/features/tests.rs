use super::*;

fn points(rows: usize, cols: usize) -> Matrix {
    let mut m = Matrix::zeros(rows, cols);
    crate::linalg::random::fill_normal(&mut m, 0, 3);
    m
}

/// Features of all rows.
fn mapped(features: &RandomFeatures, h: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(h.rows(), features.count());
    features.map(h.view(), out.as_mut_slice(), features.count());
    out
}

/// The kernel at a difference of two examples.
fn exact(kernel: Kernel, difference: &[f64], sigma: f64) -> f64 {
    let norm = difference.iter().map(|d| d * d).sum::<f64>().sqrt() / sigma;
    match kernel {
        Kernel::Gaussian => (-0.5 * norm * norm).exp(),
        Kernel::Cauchy => (-norm).exp(),
        Kernel::Matern3 => (1.0 + 3f64.sqrt() * norm) * (-(3f64.sqrt()) * norm).exp(),
        Kernel::Matern5 => (1.0 + 5f64.sqrt() * norm + 5.0 / 3.0 * norm * norm) * (-(5f64.sqrt()) * norm).exp(),
    }
}

#[test]
fn inner_products_approximate_the_kernel() {
    let h = points(30, 4);
    let sigma = (median_distance(h.view(), 1) * 2.0).sqrt();
    for kernel in [Kernel::Gaussian, Kernel::Cauchy, Kernel::Matern3, Kernel::Matern5] {
        for quasi in [false, true] {
            let params = FeatureParams { kernel, quasi, count: 20_000, bandwidth: 2.0, seed: 1 };
            let z = mapped(&RandomFeatures::draw(&params, h.view()).unwrap(), &h);
            for i in 0..30 {
                for j in 0..i {
                    let difference: Vec<f64> = (0..4).map(|l| f64::from(h.row(i)[l] - h.row(j)[l])).collect();
                    let found: f64 = z.row(i).iter().zip(z.row(j)).map(|(a, b)| f64::from(a * b)).sum();
                    let expected = exact(kernel, &difference, sigma);
                    assert!((found - expected).abs() < 0.04, "{kernel:?} {quasi}: {found} for {expected}");
                }
            }
        }
    }
}

#[test]
fn quantiles_invert_the_distribution() {
    // Simpson's rule from 0 to x.
    let distribution = |x: f64| {
        let steps = 2000;
        let density = |t: f64| (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
        let step = x / f64::from(steps);
        let inner = |i: i32| if i % 2 == 0 { 2.0 } else { 4.0 } * density(f64::from(i) * step);
        0.5 + step / 3.0 * (density(0.0) + density(x) + (1..steps).map(inner).sum::<f64>())
    };
    for u in [1e-4, 0.01, 0.024, 0.025, 0.3, 0.5, 0.9, 0.976, 0.9999] {
        assert!((distribution(normal_quantile(u)) - u).abs() < 1e-8, "{u}");
    }
}

#[test]
fn even_draws_fill_every_interval_once() {
    let params = FeatureParams { quasi: true, count: 97, ..FeatureParams::default() };
    let mut places: Vec<usize> = uniforms(&params, 5).iter().map(|u| (u * 97.0) as usize).collect();
    assert_ne!(places, (0..97).collect::<Vec<_>>());
    places.sort_unstable();
    assert_eq!(places, (0..97).collect::<Vec<_>>());
}

#[test]
fn draws_depend_on_the_seed_and_their_place_alone() {
    let h = points(50, 3);
    let draw = |count, seed| {
        RandomFeatures::draw(&FeatureParams { count, seed, ..FeatureParams::default() }, h.view()).unwrap()
    };
    assert_eq!(draw(40, 1), draw(40, 1));
    assert_ne!(draw(40, 1), draw(40, 2));
    assert!((0..3).all(|i| draw(90, 1).directions.row(i)[..40] == *draw(40, 1).directions.row(i)));
}

#[test]
fn odd_inputs_have_a_defined_outcome() {
    let same = Matrix::from_fn(10, 2, |_, _| 1.0);
    let features = RandomFeatures::draw(&FeatureParams::default(), same.view()).unwrap();
    assert!(features.directions.as_slice().iter().all(|v| v.is_finite()));
    assert!(RandomFeatures::draw(&FeatureParams { count: 0, ..FeatureParams::default() }, same.view()).is_err());
    assert!(RandomFeatures::draw(&FeatureParams { bandwidth: 0.0, ..FeatureParams::default() }, same.view()).is_err());
}
