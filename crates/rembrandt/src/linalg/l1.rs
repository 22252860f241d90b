//! Logistic regression with an L1 penalty on few rows: the weights that part a node of a tree in two.
//!
//! ```text
//! minimise  ‖w‖₁ + Σᵢ cᵢ log(1 + exp(−sᵢ wᵀxᵢ))        sᵢ = ±1
//! ```
//!
//! Each round replaces the loss by its quadratic model at w and lowers that by coordinate descent, one column at a time,
//! which costs no exponential; a line search on the true objective takes the step (after Yuan, Ho and Lin, *An
//! improved GLMNET for L1-regularized logistic regression*, 2012). Only columns that are in use or want to be are
//! worked on; every round looks at all of them again, so none is forgotten. Columns are visited in their order: the
//! result is a function of the problem alone.

/// Added to every curvature: a column of zeros has none.
const LEAST_CURVATURE: f64 = 1e-12;
/// Passes of coordinate descent over one quadratic model, at most.
const MOST_PASSES: usize = 30;
/// A model is solved once its violations are this fraction of those at its start.
const MODEL_TOLERANCE: f64 = 0.1;
/// The gain that a step must bring, as a share of what the slope promises.
const SUFFICIENT: f64 = 0.01;
/// Halvings of a step, at most.
const MOST_HALVINGS: usize = 20;

/// The examples by columns, what they should become, and what a mistake costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct L1Problem<'a> {
    /// Where each column begins in `rows`; one more than there are columns.
    pub ptr: &'a [u32],
    /// Row of each entry.
    pub rows: &'a [u32],
    /// Value of each entry.
    pub values: &'a [f32],
    /// Whether sᵢ = +1.
    pub positive: &'a [bool],
    /// cᵢ.
    pub costs: &'a [f32],
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct L1Limits {
    /// Rounds at most.
    pub steps: usize,
    /// The sum of all violations of the optimality conditions, relative to that at w = 0, at which w is good.
    pub tolerance: f64,
}

impl L1Problem<'_> {
    fn columns(&self) -> usize {
        self.ptr.len() - 1
    }

    fn column(&self, j: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.ptr[j] as usize..self.ptr[j + 1] as usize;
        let rows = self.rows[range.clone()].iter();
        rows.zip(&self.values[range]).map(|(row, value)| (*row as usize, f64::from(*value)))
    }

    /// The loss at margins `z` + `t`·`step`.
    fn loss(&self, z: &[f64], step: &[f64], t: f64) -> f64 {
        let rows = z.iter().zip(step).zip(self.positive).zip(self.costs);
        rows.map(|(((z, step), positive), cost)| {
            let z = z + t * step;
            let wrong = if *positive { -z } else { z };
            f64::from(*cost) * (wrong.max(0.0) + (-wrong.abs()).exp().ln_1p())
        })
        .sum()
    }

    /// First and second derivative of the loss of every row.
    fn derivatives(&self, z: &[f64], first: &mut [f64], second: &mut [f64]) {
        for i in 0..z.len() {
            let (cost, p) = (f64::from(self.costs[i]), 1.0 / (1.0 + (-z[i]).exp()));
            first[i] = cost * (p - f64::from(u8::from(self.positive[i])));
            second[i] = cost * p * (1.0 - p);
        }
    }

    /// The weights. Starts from zero, and no step makes the objective worse.
    pub fn solve(&self, limits: L1Limits) -> Vec<f64> {
        let (n, m) = (self.positive.len(), self.columns());
        let mut w = vec![0.0; m];
        let [mut z, mut first, mut second, mut step] = [(); 4].map(|()| vec![0.0; n]);
        let mut model = QuadraticModel { bent: vec![0.0; n], columns: Vec::new() };
        let mut value = self.loss(&z, &step, 0.0);
        let mut at_zero = None;
        for _ in 0..limits.steps {
            self.derivatives(&z, &mut first, &mut second);
            let violation = model.start(self, &w, &first, &second);
            if violation <= limits.tolerance * *at_zero.get_or_insert(violation) {
                break;
            }
            model.solve(self, &w, &second, MODEL_TOLERANCE * violation);
            step.fill(0.0);
            for column in model.columns.iter().filter(|column| column.change != 0.0) {
                self.column(column.id).for_each(|(i, x)| step[i] += x * column.change);
            }
            let Some((t, gained)) = self.line_search(&model.columns, &w, &z, &step, value) else { break };
            value = gained;
            model.columns.iter().for_each(|column| w[column.id] += t * column.change);
            z.iter_mut().zip(&step).for_each(|(z, step)| *z += t * step);
        }
        w
    }

    /// How far to go, and the loss there; nothing when the objective cannot be lowered any more.
    fn line_search(
        &self,
        columns: &[Coordinate],
        w: &[f64],
        z: &[f64],
        step: &[f64],
        value: f64,
    ) -> Option<(f64, f64)> {
        let norm = |t: f64| columns.iter().map(|c| (w[c.id] + t * c.change).abs() - w[c.id].abs()).sum::<f64>();
        let slope = columns.iter().map(|c| c.gradient * c.change).sum::<f64>() + norm(1.0);
        if slope.is_nan() || slope >= 0.0 {
            return None;
        }
        let mut t = 1.0;
        for _ in 0..MOST_HALVINGS {
            let loss = self.loss(z, step, t);
            if loss - value + norm(t) <= SUFFICIENT * t * slope {
                return Some((t, loss));
            }
            t /= 2.0;
        }
        None
    }
}

/// The quadratic model of the loss, on the columns that matter.
struct QuadraticModel {
    /// Second derivative of each row times the change of its margin so far.
    bent: Vec<f64>,
    columns: Vec<Coordinate>,
}

struct Coordinate {
    id: usize,
    gradient: f64,
    curvature: f64,
    change: f64,
}

impl QuadraticModel {
    /// Finds the columns that are in use or violate optimality; returns the sum of the violations.
    fn start(&mut self, problem: &L1Problem<'_>, w: &[f64], first: &[f64], second: &[f64]) -> f64 {
        self.bent.fill(0.0);
        self.columns.clear();
        let mut sum = 0.0;
        for (id, w) in w.iter().enumerate() {
            let gradient = problem.column(id).map(|(i, x)| x * first[i]).sum::<f64>();
            let violation = violation(*w, gradient);
            sum += violation;
            if *w != 0.0 || violation > 0.0 {
                let curvature = problem.column(id).map(|(i, x)| x * x * second[i]).sum::<f64>() + LEAST_CURVATURE;
                self.columns.push(Coordinate { id, gradient, curvature, change: 0.0 });
            }
        }
        sum
    }

    /// Coordinate descent until the violations are at most `enough`.
    fn solve(&mut self, problem: &L1Problem<'_>, w: &[f64], second: &[f64], enough: f64) {
        for _ in 0..MOST_PASSES {
            let mut sum = 0.0;
            for column in &mut self.columns {
                let bent = &mut self.bent;
                let gradient = column.gradient
                    + LEAST_CURVATURE * column.change
                    + problem.column(column.id).map(|(i, x)| x * bent[i]).sum::<f64>();
                let at = w[column.id] + column.change;
                sum += violation(at, gradient);
                let change = shrunk(at - gradient / column.curvature, 1.0 / column.curvature) - at;
                if change != 0.0 {
                    column.change += change;
                    problem.column(column.id).for_each(|(i, x)| bent[i] += change * x * second[i]);
                }
            }
            if sum <= enough {
                break;
            }
        }
    }
}

/// `v` moved to zero by `by`.
fn shrunk(v: f64, by: f64) -> f64 {
    if v > by {
        v - by
    } else if v < -by {
        v + by
    } else {
        0.0
    }
}

/// How far a weight is from optimality: the smallest subgradient of loss plus penalty.
fn violation(w: f64, gradient: f64) -> f64 {
    if w == 0.0 { (gradient.abs() - 1.0).max(0.0) } else { (gradient + w.signum()).abs() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Owned {
        ptr: Vec<u32>,
        rows: Vec<u32>,
        values: Vec<f32>,
        positive: Vec<bool>,
        costs: Vec<f32>,
    }

    impl Owned {
        fn problem(&self) -> L1Problem<'_> {
            let Owned { ptr, rows, values, positive, costs } = self;
            L1Problem { ptr, rows, values, positive, costs }
        }

        fn objective(&self, w: &[f64]) -> f64 {
            let mut z = vec![0.0; self.positive.len()];
            for (j, w) in w.iter().enumerate() {
                self.problem().column(j).for_each(|(i, x)| z[i] += w * x);
            }
            self.problem().loss(&z, &z, 0.0) + w.iter().map(|w| w.abs()).sum::<f64>()
        }
    }

    /// Dense columns become sparse ones.
    fn owned(columns: &[Vec<f32>], positive: Vec<bool>, costs: Vec<f32>) -> Owned {
        let mut owned = Owned { ptr: vec![0], rows: Vec::new(), values: Vec::new(), positive, costs };
        for column in columns {
            for (i, v) in column.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                owned.rows.push(i as u32);
                owned.values.push(*v);
            }
            owned.ptr.push(owned.rows.len() as u32);
        }
        owned
    }

    const EXACT: L1Limits = L1Limits { steps: 500, tolerance: 1e-9 };

    proptest! {
        #[test]
        fn the_solution_meets_the_optimality_conditions(
            columns in prop::collection::vec(prop::collection::vec(
                prop_oneof![Just(0.0f32), -3.0f32..3.0], 12), 1..8),
            positive in prop::collection::vec(any::<bool>(), 12),
            costs in prop::collection::vec(0.0f32..4.0, 12),
        ) {
            let owned = owned(&columns, positive, costs);
            let problem = owned.problem();
            let w = problem.solve(EXACT);
            let mut z = vec![0.0; 12];
            for (j, w) in w.iter().enumerate() {
                problem.column(j).for_each(|(i, x)| z[i] += w * x);
            }
            let (mut first, mut second) = (vec![0.0; 12], vec![0.0; 12]);
            problem.derivatives(&z, &mut first, &mut second);
            for (j, w) in w.iter().enumerate() {
                let gradient: f64 = problem.column(j).map(|(i, x)| x * first[i]).sum();
                prop_assert!(violation(*w, gradient) < 1e-5, "column {}: w {} gradient {}", j, w, gradient);
            }
            // And no step in a direction of an axis lowers the objective.
            let best = owned.objective(&w);
            for j in 0..w.len() {
                for by in [-1e-3, 1e-3] {
                    let mut other = w.clone();
                    other[j] += by;
                    prop_assert!(owned.objective(&other) >= best - 1e-9);
                }
            }
        }

        #[test]
        fn a_few_steps_never_end_above_the_start(
            columns in prop::collection::vec(prop::collection::vec(-1e4f32..1e4, 8), 1..5),
            positive in prop::collection::vec(any::<bool>(), 8),
            steps in 0usize..4,
        ) {
            let owned = owned(&columns, positive, vec![1.0; 8]);
            let w = owned.problem().solve(L1Limits { steps, tolerance: 0.0 });
            prop_assert!(w.iter().all(|w| w.is_finite()));
            prop_assert!(owned.objective(&w) <= owned.objective(&vec![0.0; w.len()]) + 1e-9);
        }
    }

    #[test]
    fn weak_columns_get_no_weight_at_all() {
        // The gradient at zero is ½ of the sum of signed values: 1.5 for the first column, 0.5 for the second.
        let columns = [vec![1.0, 1.0, 1.0, 0.0], vec![0.0, 0.0, 0.0, 1.0]];
        let owned = owned(&columns, vec![true, true, true, false], vec![1.0; 4]);
        let w = owned.problem().solve(EXACT);
        // 3σ(−w) = 1 at the optimum.
        assert!((w[0] - 2f64.ln()).abs() < 1e-6 && w[1] == 0.0, "{w:?}");
    }

    #[test]
    fn nothing_to_do_is_done() {
        let empty = owned(&[], vec![true, false], vec![1.0; 2]);
        assert!(empty.problem().solve(EXACT).is_empty());
        let zeros = owned(&[vec![0.0; 3]], vec![true; 3], vec![1.0; 3]);
        assert_eq!(zeros.problem().solve(EXACT), [0.0]);
    }
}
