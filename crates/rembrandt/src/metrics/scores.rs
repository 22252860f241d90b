//! The scores under their stable names.

use serde::{Deserialize, Serialize};

/// Where a score lies with a confidence of 90 %, see [`INTERVAL`](super::INTERVAL).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One value per score.
pub type Scores = Measures<f64>;

/// One interval per score, in the same fields as [`Scores`].
pub type Intervals = Measures<Interval>;

/// Writes out the fields once, for the struct and for what goes over all of them.
macro_rules! measures {
    ($($field:ident $key:literal $text:literal;)*) => {
        /// Something for each score; absent (`null` in JSON) where the score does not apply.
        ///
        /// The serialised names are stable, and all of them are always there:
        ///
        /// ```
        /// use rembrandt::metrics::Scores;
        ///
        /// let scores = Scores { p1: Some(0.5), n: 2, ..Scores::default() };
        /// let json = serde_json::to_string(&scores)?;
        /// assert!(json.starts_with(r#"{"p@1":0.5,"p@3":null,"#) && json.ends_with(r#""ece":null,"n":2}"#));
        /// assert_eq!(serde_json::from_str::<Scores>(&json)?, scores);
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct Measures<T> {
            $(#[doc = $text] #[serde(rename = $key)] pub $field: Option<T>,)*
            /// Number of examples.
            pub n: u64,
        }

        impl<T> Default for Measures<T> {
            fn default() -> Measures<T> {
                Measures { $($field: None,)* n: 0 }
            }
        }

        impl<T: Copy> Measures<T> {
            /// Serialised name and value of each score, for tables.
            ///
            /// ```
            /// use rembrandt::metrics::Scores;
            ///
            /// let names: Vec<_> = Scores::default().entries().into_iter().map(|(name, _)| name).collect();
            /// assert_eq!(names[..4], ["p@1", "p@3", "p@5", "r@1"]);
            /// ```
            pub fn entries(&self) -> Vec<(&'static str, Option<T>)> {
                vec![$(($key, self.$field),)*]
            }
        }

        impl Scores {
            /// Makes of each score that applies, and of its values in all of `others`, something else.
            pub(super) fn combine<T>(&self, others: &[Scores], f: impl Fn(Vec<f64>) -> Option<T>) -> Measures<T> {
                Measures {
                    $($field: self.$field.and_then(|_| f(others.iter().filter_map(|s| s.$field).collect())),)*
                    n: self.n,
                }
            }
        }
    };
}

measures! {
    p1 "p@1" "Precision at 1.";
    p3 "p@3" "Precision at 3.";
    p5 "p@5" "Precision at 5.";
    r1 "r@1" "Recall at 1.";
    r3 "r@3" "Recall at 3.";
    r5 "r@5" "Recall at 5.";
    ndcg1 "ndcg@1" "nDCG at 1.";
    ndcg3 "ndcg@3" "nDCG at 3.";
    ndcg5 "ndcg@5" "nDCG at 5.";
    psp1 "psp@1" "Propensity-scored precision at 1.";
    psp3 "psp@3" "Propensity-scored precision at 3.";
    psp5 "psp@5" "Propensity-scored precision at 5.";
    error "error" "Multiclass error.";
    hamming "hamming" "Hamming loss.";
    micro_f1 "micro_f1" "F1 of all decisions together.";
    macro_f1 "macro_f1" "F1 of each label, averaged over labels.";
    ece "ece" "Expected calibration error.";
}
