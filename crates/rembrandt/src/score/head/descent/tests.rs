use super::*;
use crate::score::head::features::{FeatureParams, RandomFeatures};
use crate::score::head::problem::{COUNT, ToyProblem};
use crate::score::head::{Kernel, LogisticParams};

/// Without the label that nobody has, whose score has no lower bound.
fn seen<'a>(problem: &'a ToyProblem) -> Targets<'a> {
    Targets { count: COUNT - 1, label_weights: Some(&problem.label_weights[..COUNT - 1]), ..problem.targets() }
}

#[test]
fn the_way_leads_to_the_optimum() {
    for loss in [Loss::Independent, Loss::Softmax] {
        let problem = ToyProblem::new(400, loss);
        let (targets, inputs) = (seen(&problem), Inputs::new(problem.h.view(), None));
        let labels: Vec<u32> = (0..targets.count as u32).collect();
        let none = [0.0; COUNT - 1];
        let objective = Objective { inputs, targets, loss, rho: 0.0, keep: 1.0, offset: &none };
        let value = |model: &Logistic| objective.value(&labels, &model.weights);
        let full = LogisticParams { ridge: 0.0, epochs: 0, steps: 300, tolerance: 1e-5, ..LogisticParams::new(loss) };
        let best = value(&full.fit(inputs, targets, &mut Run::default()).unwrap().0);
        let value_of = |descent: DescentParams| value(&descent.fit(inputs, targets, &mut Run::default()).unwrap());
        let start = DescentParams { loss, ridge: 0.01, shrink: 0.0, epochs: 0, ..DescentParams::default() };
        let whole = DescentParams { epochs: 400, batch: Some(400), step: 2.0, decay: 1.0, ..start };
        let parts = DescentParams { epochs: 100, batch: None, decay: 0.95, ..start };
        let above = [start, whole, parts].map(|descent| value_of(descent) / best - 1.0);
        assert!(above[0] > 0.02, "{loss:?}: {above:?} leaves nothing to do");
        assert!(above[1].abs() < 1e-5 && above[2].abs() < 2e-3, "{loss:?}: {above:?}");
    }
}

#[test]
fn shrinking_keeps_probabilities_from_the_ends() {
    let problem = ToyProblem::new(400, Loss::Independent);
    let inputs = Inputs::new(problem.h.view(), None);
    let largest = |shrink: f32| {
        let descent = DescentParams { shrink, ..DescentParams::default() };
        let scores = descent.fit(inputs, seen(&problem), &mut Run::default()).unwrap().scores(inputs);
        scores.as_slice().iter().fold(0f32, |max, s| max.max(s.abs()))
    };
    assert!(largest(0.1) < 0.8 * largest(0.0));
}

#[test]
fn same_bytes_for_any_number_of_threads() {
    for loss in [Loss::Independent, Loss::Softmax] {
        let problem = ToyProblem::new(3000, loss);
        let params = FeatureParams { count: 600, kernel: Kernel::Matern5, quasi: true, ..FeatureParams::default() };
        let features = RandomFeatures::draw(&params, problem.h.view()).unwrap();
        let inputs = Inputs::new(problem.h.view(), Some(&features));
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let descent = DescentParams { loss, epochs: 2, ..DescentParams::default() };
            pool.install(|| descent.fit(inputs, problem.targets(), &mut Run::default()).unwrap())
        };
        let one = fit(1);
        assert!(one.weights.as_slice().iter().all(|w| w.is_finite()));
        assert!([2, 5].into_iter().all(|threads| fit(threads) == one));
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let problem = ToyProblem::new(50, Loss::Independent);
    let inputs = Inputs::new(problem.h.view(), None);
    let good = DescentParams::default();
    let refused = |descent: DescentParams| match descent.fit(inputs, problem.targets(), &mut Run::default()) {
        Err(Error::Parameter { name, .. }) => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(DescentParams { ridge: f64::NAN, ..good }), "ridge");
    assert_eq!(refused(DescentParams { shrink: 0.5, ..good }), "shrink");
    assert_eq!(refused(DescentParams { batch: Some(0), ..good }), "batch");
    assert_eq!(refused(DescentParams { step: 0.0, ..good }), "step");
    assert_eq!(refused(DescentParams { step: f32::MAX, ..good }), "step");
    assert_eq!(refused(DescentParams { momentum: 1.0, ..good }), "momentum");
    assert_eq!(refused(DescentParams { decay: 1.1, ..good }), "decay");
    let twice = Matrix::from_fn(50, 2, |i, _| i as f32);
    let dependent = DescentParams { ridge: 0.0, ..good }.fit(
        Inputs::new(twice.view(), None),
        problem.targets(),
        &mut Run::default(),
    );
    assert!(matches!(dependent, Err(Error::Parameter { name: "ridge", .. })), "{dependent:?}");
    let short = Targets { example_weights: Some(&[1.0]), ..problem.targets() };
    assert!(good.fit(inputs, short, &mut Run::default()).is_err());
    let stopped = good.fit(inputs, problem.targets(), &mut Run::watched(|_| false));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}
