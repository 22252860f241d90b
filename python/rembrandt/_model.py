"""Models: trained here or by the command line, which writes the same files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rembrandt import _rembrandt
from rembrandt._data import (
    Dataset,
    Path,
    Progress,
    Rows,
    examples_of,
    indicator_rows,
    is_lists_of_names,
    is_texts,
    matrix_of,
    names_to_rows,
    rows_of,
    texts_of,
    threads_of,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def settings_of(
    method: str = "rembrandt",
    *,
    head: str | None = None,
    k: int | None = None,
    ridge: float | None = None,
    seed: int | None = None,
    group_duplicates: bool = False,
    propensity: bool = False,
    params: dict[str, Any] | None = None,
    tfidf: bool = False,
    normalize: bool = False,
) -> str:
    """A training for the native code."""
    return json.dumps(
        {
            "method": method,
            "head": head,
            "k": None if k is None else int(k),
            "ridge": None if ridge is None else float(ridge),
            "seed": None if seed is None else int(seed),
            "group_duplicates": bool(group_duplicates),
            "propensity": bool(propensity),
            "params": dict(params or {}),
            "tfidf": bool(tfidf),
            "normalize": bool(normalize),
            "featurizer": None,
        }
    )


def train(
    data: Dataset | Path,
    *,
    text: bool = False,
    checkpoint: Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Model:
    """Train a model as `rembrandt train` does: the same data and settings give the same bytes.

    `data` is a `Dataset` or a file, with `text` one of texts. Settings are `method`, `head`, `k`, `ridge`, `seed`,
    `group_duplicates`, `propensity`, `tfidf` and `normalize`, as on the command line, and `params`, a dict of any others by
    their names in a model's `params`. With a folder as `checkpoint`, training that was ended goes on from there.

    >>> from scipy.sparse import identity, vstack
    >>> X = vstack([identity(4, format="csr")] * 50).tocsr()
    >>> model = train(Dataset(X, X), seed=1)
    >>> ids, p = model.predict_topk(X[2], 1)
    >>> ids.tolist()
    [[2]]
    """
    if not isinstance(data, Dataset):
        data = Dataset.read(data, text=text, n_jobs=n_jobs, progress=progress)
    folder = None if checkpoint is None else os.fspath(checkpoint)
    return Model(_rembrandt.fit(data._native, settings_of(**settings), folder, threads_of(n_jobs), progress))


class Model:
    """A trained model: predicts, explains, evaluates, finds neighbors of labels, and takes new labels.

    It comes from `train`, from a fitted `RembrandtClassifier` (`clf.model_`) or from `Model.open`, and may be used by many
    threads at a time. It is never changed: `add_label` and `compact` give another.

    >>> from rembrandt import Dataset, train
    >>> texts = [f"a game of {game}, number {i}" for i in range(40) for game in ("chess", "go", "poker")]
    >>> model = train(Dataset(texts, [[text.split()[3].strip(",")] for text in texts]))
    >>> model.predict(["who plays chess?"], top=1)[0][0][0]
    'chess'
    """

    def __init__(self, native: _rembrandt.Model) -> None:
        self._native = native

    @classmethod
    def open(cls, path: Path) -> Model:
        """Map a model file. Takes milliseconds; processes that open the same file share its memory."""
        return cls(_rembrandt.Model.open(os.fspath(path)))

    def save(self, path: Path) -> None:
        """Write the model, whole or not at all."""
        self._native.save(os.fspath(path))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._native.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels, those added later among them."""
        return self._native.shape[1]

    @property
    def n_components(self) -> int:
        """Dimensions of the embedding; 0 for trees."""
        return self._native.shape[2]

    @property
    def reads_texts(self) -> bool:
        """Whether examples are texts."""
        return self._native.reads_texts

    @property
    def label_names(self) -> list[str] | None:
        """Names of the labels, by number; `None` where they have none."""
        return self._native.label_names

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, by number; `None` where they have none."""
        return self._native.feature_names

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that the model was made with."""
        return dict(json.loads(self._native.params()))

    @property
    def report(self) -> dict[str, Any]:
        """The report of its training."""
        return dict(json.loads(self._native.report()))

    @property
    def label_counts(self) -> Any:
        """Training examples of each label."""
        return self._native.counts()[1]

    @property
    def n_examples(self) -> int:
        """Number of training examples."""
        return self._native.counts()[0]

    @property
    def thresholds(self) -> Any:
        """The probability from which each label is predicted, for F1."""
        return self._native.thresholds()

    @property
    def spectrum(self) -> Any:
        """Eigenvalues of the embedding, which fall as its dimensions say less."""
        return self._native.spectrum()

    @property
    def label_embedding(self) -> Any:
        """The vector of each label, labels × dimensions."""
        return self._native.label_embedding()

    def predict(
        self,
        x: Any,
        top: int = 5,
        *,
        threshold: float | str | None = None,
        labels: Sequence[str | int] | None = None,
        exact: bool = False,
        n_jobs: int | None = None,
    ) -> list[list[tuple[str, float]]]:
        """Name and probability of the `top` labels of each example, best first.

        Labels less probable than `threshold` are left out; `"stored"` stands for the thresholds of the model. With `labels`,
        only these are considered. `exact` scores all labels where the model would propose some. A str alone is one text.
        """
        if isinstance(x, str):
            x = [x]
        indptr, ids, probabilities = self._predict(x, top, threshold, labels, exact, n_jobs)
        name = self._native.label_name
        known = {label: name(label) for label in set(ids.tolist())}
        pairs = [(known[label], p) for label, p in zip(ids.tolist(), probabilities.tolist())]
        return [pairs[start:end] for start, end in zip(indptr[:-1].tolist(), indptr[1:].tolist())]

    def predict_topk(
        self, x: Any, k: int, *, exact: bool = False, n_jobs: int | None = None
    ) -> tuple[Any, Any]:
        """The `k` most probable labels of each example: their numbers and probabilities, two arrays of a row each.

        Where there are fewer, the rest of the row is -1 and 0.
        """
        return topk(self._predict(x, k, None, None, exact, n_jobs), min(k, self.n_labels))

    def predict_sparse(
        self, x: Any, k: int, *, threshold: float | str | None = None, exact: bool = False, n_jobs: int | None = None
    ) -> csr_matrix:
        """Probabilities of the `k` most probable labels as a CSR matrix, examples × labels."""
        arrays = self._predict(x, k, threshold, None, exact, n_jobs)
        return matrix_of(arrays, (len(arrays[0]) - 1, self.n_labels))

    def _predict(
        self,
        x: Any,
        top: int,
        threshold: float | str | None,
        labels: Sequence[str | int] | None,
        exact: bool,
        n_jobs: int | None,
    ) -> tuple[Any, Any, Any]:
        if isinstance(threshold, str) and threshold != "stored":
            raise ValueError(f"threshold: {threshold!r} is neither a probability nor 'stored'")
        stored = isinstance(threshold, str)
        value = None if threshold is None or isinstance(threshold, str) else float(threshold)
        ids = None if labels is None else [self.find_label(label) for label in labels]
        if operator_index(top) < 1:
            raise ValueError("top: ask for at least one label")
        examples = self._examples(x)
        return self._native.predict(examples, operator_index(top), value, stored, ids, exact, threads_of(n_jobs))

    def _examples(self, x: Any) -> list[str] | Rows:
        if self.reads_texts:
            if isinstance(x, str) or (not is_texts(x) and len(x) > 0):
                raise ValueError("x: the model was trained on texts: give it a list of str")
            return texts_of(x)
        if is_texts(x):
            raise ValueError("x: the model was trained on features and cannot read texts: give it a matrix")
        return rows_of(x)

    def find_label(self, label: str | int) -> int:
        """The number of a label given by its name or number."""
        if isinstance(label, str):
            return self._native.find_label(label)
        number = operator_index(label)
        if not 0 <= number < self.n_labels:
            raise ValueError(f"label: {number} is not a label: the last one is {self.n_labels - 1}")
        return number

    def label_name(self, label: int) -> str:
        """The name of a label or, without names, its number."""
        return self._native.label_name(label)

    def explain(self, x: Any, label: str | int | None = None, *, top: int = 10) -> dict[str, Any]:
        """Why a label, the best one by default, has its probability for one example.

        The result has `label`, `probability`, `log_odds`, `base`, `views` and `features`, the `top` features as dicts of
        `name`, `value` and `contribution` to the log-odds.
        """
        example = self._examples([x] if isinstance(x, str) else x)
        number = None if label is None else self.find_label(label)
        found = json.loads(self._native.explain(example, number))
        features = [
            {
                "name": self._native.feature_name(c["feature"]),
                "value": c["value"],
                "contribution": c["log_odds"],
            }
            for c in found.pop("contributions")[:top]
        ]
        return {**found, "label": self.label_name(found["label"]), "views": dict(found["views"]), "features": features}

    def neighbors(self, label: str | int, top: int = 10) -> list[tuple[str, float]]:
        """The labels that features treat most alike, with cosines."""
        near = self._native.neighbors(self.find_label(label), top)
        return [(self.label_name(other), cosine) for other, cosine in near]

    def add_label(self, name: str, x: Any = None) -> Model:
        """A model with one label more, learned from a few examples or, without any, known by its name."""
        examples = None if x is None else self._examples([x] if isinstance(x, str) else x)
        return Model(self._native.add_label(name, examples))

    def compact(self) -> Model:
        """The same model in half the space, at the price of two or three digits."""
        return Model(self._native.compact())

    def evaluate(
        self,
        x: Any,
        y: Any = None,
        *,
        threshold: float | str = "stored",
        bootstrap: int = 100,
        exact: bool = False,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Scores on labelled examples: P@k, nDCG@k, PSP@k, F1, calibration, with 90 % intervals under `intervals`; F1 of
        frequent, rarer and rare labels under `bands`, labels that are mixed up under `confusions`, and how often labels are
        right that are given with some probability under `reliability`.

        `x` is a `Dataset`, a file, or a matrix or texts with labels `y`, an indicator or lists of names, of which
        those that the model does not know are left out.
        """
        how = threshold if isinstance(threshold, str) else {"fixed": float(threshold)}
        options = json.dumps({"threshold": how, "bootstrap": bootstrap, "exact": exact})
        threads = threads_of(n_jobs)
        if isinstance(x, Dataset):
            return scores(self._native.evaluate(x._native, options, threads))
        if y is None:
            if not isinstance(x, (str, os.PathLike)):
                raise ValueError("y: examples without labels cannot be evaluated")
            return scores(self._native.evaluate_file(os.fspath(x), options, threads, progress))
        if is_lists_of_names(y):
            labels, _ = names_to_rows(y, self.label_names or [str(label) for label in range(self.n_labels)])
        else:
            labels = indicator_rows(y)
        return self._evaluate(x, labels, options, threads)

    def _evaluate(self, x: Any, labels: Rows, options: str, threads: int | None) -> dict[str, Any]:
        if labels[3] != self.n_labels:
            raise ValueError(f"y: has {labels[3]} columns, and the model has {self.n_labels} labels")
        examples = self._examples(x)
        if isinstance(examples, list):
            return scores(self._native.evaluate_texts(examples, labels, options, threads))
        data = _rembrandt.Dataset.make(examples, labels, None, None, None, None, False, threads)
        return scores(self._native.evaluate(data, options, threads))

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return (Model, (self._native,))

    def __repr__(self) -> str:
        kind = "texts" if self.reads_texts else f"{self.n_features} features"
        return f"Model({kind} → {self.n_labels} labels)"


def scores(text: str) -> dict[str, Any]:
    """Scores without those that do not apply."""
    return {name: value for name, value in json.loads(text).items() if value is not None}


def operator_index(number: Any) -> int:
    """An integer, of numpy too."""
    if isinstance(number, (bool, float)) or not hasattr(number, "__index__"):
        raise ValueError(f"{number!r} is not a whole number")
    return int(number.__index__())


def topk(arrays: tuple[Any, Any, Any], k: int) -> tuple[Any, Any]:
    """Rows of different lengths as two arrays, filled up with -1 and 0."""
    indptr, ids, probabilities = arrays
    lengths = np.diff(indptr)
    n = len(lengths)
    if (lengths == k).all():
        return ids.reshape(n, k), probabilities.reshape(n, k)
    all_ids, all_p = np.full((n, k), -1, ids.dtype), np.zeros((n, k), probabilities.dtype)
    filled = np.arange(k) < lengths[:, None]
    all_ids[filled], all_p[filled] = ids, probabilities
    return all_ids, all_p
