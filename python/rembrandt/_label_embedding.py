"""`LabelEmbedding`: supervised, sparse, scalable partial least squares as a scikit-learn transformer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rembrandt import _rembrandt
from rembrandt._classifier import seed_of, targets_of, validated_rows
from rembrandt._data import Path, Progress, make, names_of, threads_of


class LabelEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features in the space of what they tell about the labels.

    Finds a vector for each label, such that labels which the features treat alike lie together, and the regression that
    sends examples there: the directions in which labels are predicted best. It is what partial least squares and canonical
    correlation look for, for sparse features and labels in any number.

    Parameters
    ----------
    n_components : int, default=100
        Dimensions; no more are made than there are labels.
    ridge : float, default=None
        Relative ridge: larger where examples are few and features many.
    row_scale : {"none", "sum", "length"}, default="none"
        The divisor of each row of features, here and in `transform`.
    params : dict, default=None
        Other parameters by their names in `params_`, such as `{"center": True}`.
    n_jobs : int, default=None
        Threads; all cores by default. Results do not depend on it.
    random_state : int or RandomState, default=None
        Seed; without one it is always the same.
    progress : callable, default=None
        Called now and then with the stage, the work done and all the work there is.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    label_embedding_ : ndarray of shape (n_labels, n_components_)
        The vector of each label; columns are orthonormal, the most important first.
    projection_ : ndarray of shape (n_features, n_components_)
        The vector of each feature; an example lands at their weighted sum, plus `intercept_`.
    spectrum_ : ndarray of shape (n_components_,)
        How much each dimension tells.
    report_, params_ : dict
        How it was found.

    Examples
    --------
    >>> from rembrandt import LabelEmbedding
    >>> from scipy.sparse import identity, vstack
    >>> X = vstack([identity(4, format="csr")] * 30).tocsr()
    >>> LabelEmbedding(n_components=2).fit_transform(X, [0, 1, 2, 3] * 30).shape
    (120, 2)
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        ridge: float | None = None,
        row_scale: str = "none",
        params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: Progress | None = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.row_scale = row_scale
        self.params = params
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LabelEmbedding:
        """Find the embedding of labels `y` (classes, an indicator or lists of names) by features `X`."""
        examples = validated_rows(self, X, reset=True)
        if y is None:
            raise ValueError("This LabelEmbedding estimator requires y to be passed, but the target y is None.")
        targets = targets_of(y)
        features = getattr(self, "feature_names_in_", None)
        names = None if features is None else [str(name) for name in features]
        data = make(
            examples, targets.rows, sample_weight, names_of(targets.classes), names, None, as_set=True, n_jobs=self.n_jobs
        )
        if self.n_components < 1:
            raise ValueError(f"n_components: {self.n_components} is too few, ask for at least one")
        settings = {"k": min(int(self.n_components), targets.rows[3]), **(self.params or {})}
        if self.ridge is not None:
            settings["ridge"] = float(self.ridge)
        seed = seed_of(self.random_state)
        if seed is not None:
            settings["seed"] = seed
        self._native = _rembrandt.Embedding.fit(
            data, json.dumps(settings), self.row_scale, threads_of(self.n_jobs), self.progress
        )
        self.classes_ = targets.classes
        self._tell()
        return self

    def _tell(self) -> None:
        native = self._native
        self.label_embedding_, self.projection_ = native.labels(), native.projection()
        self.intercept_, self.spectrum_ = native.intercept(), native.spectrum()
        self.report_, self.params_ = json.loads(native.report()), json.loads(native.params())

    @property
    def n_components_(self) -> int:
        """Dimensions that there are."""
        return int(self.spectrum_.shape[0])

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: Any) -> Any:
        """Where examples land, an array of examples × dimensions."""
        check_is_fitted(self, "spectrum_")
        return self._native.transform(validated_rows(self, X, reset=False), threads_of(self.n_jobs))

    def neighbors(self, label: Any, top: int = 10) -> list[tuple[Any, float]]:
        """The labels that features treat most alike, with cosines."""
        check_is_fitted(self, "spectrum_")
        found = np.flatnonzero(np.asarray(self.classes_ == label))
        if len(found) != 1:
            raise ValueError(f"label: {label!r} is not one of classes_")
        return [(self.classes_[other], cosine) for other, cosine in self._native.neighbors(int(found[0]), top)]

    def save(self, path: Path) -> None:
        """Write the embedding to a file that the command line, `LabelEmbedding.open` and safetensors read."""
        check_is_fitted(self, "spectrum_")
        self._native.save(str(path))

    @classmethod
    def open(cls, path: Path) -> LabelEmbedding:
        """Open an embedding file; labels are called as in it."""
        native = _rembrandt.Embedding.open(str(path))
        params = json.loads(native.params())
        opened = cls(n_components=params["k"], ridge=params["ridge"], random_state=params["seed"])
        opened._native = native
        opened._tell()
        count = len(opened.label_embedding_)
        opened.classes_ = np.arange(count) if native.label_names is None else np.array(native.label_names)
        setattr(opened, "n_features_in_", len(opened.projection_))
        return opened
