"""Scorers for model selection, where scikit-learn has none for sparse labels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rembrandt import _rembrandt
from rembrandt._classifier import RembrandtClassifier, as_matrix, targets_of
from rembrandt._data import Rows, contiguous
from rembrandt._model import scores

#: Labels of a ranking that are looked at.
RANKS = 5
NAMES = (
    *(f"{score}@{k}" for score in ("p", "r", "ndcg", "psp") for k in (1, 3, 5)),
    *("error", "hamming", "micro_f1", "macro_f1", "ece"),
)
#: The smaller the better.
LOSSES = ("error", "hamming", "ece")


class Scorer:
    """Scores a fitted classifier on labelled examples: what `scorer` makes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if sample_weight is not None:
            raise ValueError("sample_weight: these scores take examples alike: leave it out")
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        if hasattr(estimator, "steps"):
            X, estimator = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X, estimator[-1]
        if isinstance(estimator, RembrandtClassifier):
            found = estimator.evaluate(X, y, bootstrap=0)
        else:
            found = rankings_of(estimator, X, y)
        if self.name not in found:
            raise ValueError(f"{self.name} does not apply to {type(estimator).__name__} and these labels")
        value = float(found[self.name])
        return -value if self.name in LOSSES else value

    def __repr__(self) -> str:
        return f"scorer({self.name!r})"


def scorer(name: str) -> Scorer:
    """A scorer for `cross_val_score`, `GridSearchCV` and the like: `"P@1"`, `"nDCG@5"`, `"PSP@3"`, `"R@5"`, `"ece"`
    (calibration) and others, larger is better: losses have a minus before them.

    It takes a `RembrandtClassifier`, a pipeline that ends in one, or any classifier with `predict_proba` or
    `decision_function` for labels as an indicator.

    >>> scorer("nDCG@5")
    scorer('ndcg@5')
    """
    known = {other.lower(): other for other in NAMES}
    if name.lower() not in known:
        raise ValueError(f"{name!r} is not a score: choose from {', '.join(NAMES)}")
    return Scorer(known[name.lower()])


def rankings_of(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """Scores of the rankings that another classifier gives."""
    probabilities = hasattr(estimator, "predict_proba")
    scored = estimator.predict_proba(X) if probabilities else estimator.decision_function(X)
    if isinstance(scored, list):
        scored = np.column_stack([both[:, -1] for both in scored])
    elif hasattr(scored, "toarray"):
        scored = scored.toarray()
    scored = np.asarray(scored, dtype=np.float32)
    if scored.ndim == 1:
        scored = np.column_stack([-scored, scored])
    targets = targets_of(y)
    rows = targets.rows
    if targets.kind == "classes":
        codes = np.searchsorted(estimator.classes_, np.asarray(y).ravel())
        rows = contiguous(as_matrix((rows[0], codes.astype(np.int64), rows[2], scored.shape[1])))
    k = min(RANKS, scored.shape[1])
    best = np.argsort(-scored, axis=1, kind="stable")[:, :k]
    values = np.take_along_axis(scored, best, axis=1)
    n = len(scored)
    ranked: Rows = (
        np.arange(0, n * k + 1, k, dtype=np.int64),
        best.ravel().astype(np.int64),
        np.ascontiguousarray(values.ravel()),
        scored.shape[1],
    )
    return scores(_rembrandt.evaluate_rankings(rows, ranked, probabilities, None))
