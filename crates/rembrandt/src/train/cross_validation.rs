//! How good a training is on examples that it has not seen, where there are no others.

use super::training::Training;
use crate::data::{Dataset, Examples, near_duplicates};
use crate::model::{Evaluation, EvaluationOptions, Preprocessing};
use crate::score::head::Folds;
use crate::{Error, Result, Run};

/// Seed of the division.
const DIVISION: u64 = 0xf01d;

impl Training {
    /// Divides the examples into parts, trains without each in turn, and evaluates what comes of it on that part. The figures
    /// are those of models with fewer examples than `fit` has. `data` are as for [`fit`](Training::fit), so that weights of
    /// words, which no label has a part in, come from all examples. Near duplicates are in the same part if the training holds
    /// them out together.
    ///
    /// # Errors
    /// As `fit`; and if there are fewer than two parts, or one has nothing to learn from or to evaluate on.
    pub fn cross_validate(
        &self,
        data: &Dataset,
        preprocessing: &Preprocessing,
        parts: usize,
        options: &EvaluationOptions,
        run: &mut Run<'_>,
    ) -> Result<Evaluation> {
        let n = data.shape().n;
        if parts < 2 || parts > n {
            let reason = format!("{n} examples cannot be divided into {parts} parts: ask for 2 or more, such as 5");
            return Err(Error::parameter("cross_validate", reason));
        }
        let group = match self {
            Training::Ranker(params) => params.group_duplicates,
            Training::Head(params) => params.group_duplicates,
            Training::Trees(_) => false,
        };
        let groups = group.then(|| near_duplicates::groups(data)).transpose()?;
        let folds = Folds { count: parts, seed: DIVISION, groups: groups.as_deref() };
        let (mut all, mut first): (Option<Evaluation>, u64) = (None, 0);
        for part in 0..parts {
            let (kept, held_out) = (data.select(|i| folds.of(i) != part)?, data.select(|i| folds.of(i) == part)?);
            self.check(&kept)?;
            let model = self.fit(&kept, preprocessing.clone(), run)?;
            let evaluation = model.evaluate_prepared(&held_out, options, first)?;
            first += held_out.shape().n as u64;
            match &mut all {
                Some(all) => all.merge(evaluation),
                None => all = Some(evaluation),
            }
        }
        let mut counts = vec![0; data.shape().c];
        data.labels()?.view().columns().iter().for_each(|label| counts[*label as usize] += 1);
        all.map(|all| all.counted(counts)).ok_or_else(|| Error::Data("there is no example".into()))
    }
}
