"""`RembrandtClassifier`: the methods of Rembrandt as a scikit-learn classifier."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from rembrandt import _rembrandt
from rembrandt._data import (
    Path,
    Progress,
    Rows,
    Targets,
    check_offsets,
    class_rows,
    contiguous,
    indicator_rows,
    is_lists_of_names,
    is_texts,
    make,
    matrix_of,
    names_of,
    names_to_rows,
    texts_of,
    threads_of,
)
from rembrandt._model import Model, settings_of, topk

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: Numbers in a dense result at most: 1 GB of them.
DENSE = 2**27
#: Labels of an example that are predicted, at most.
MOST_PREDICTED = 200
#: Probabilities keep so far from 0 and 1, which nobody can be sure of.
SURE = 1e-7


class RembrandtClassifier(ClassifierMixin, BaseEstimator):
    """Classifier for very many labels: one of many classes, or any number of them, from sparse features or texts.

    The default method embeds the labels, proposes some for each example by its words and its place among them, ranks these
    by sparse linear scorers, and makes probabilities of the ranks on held-out examples.

    Parameters
    ----------
    method : str, default="rembrandt"
        `"rembrandt"`, `"cs"`, `"cs-omp"`, `"pca"`, `"plst"`, `"cplst"`, or one of trees: `"fastxml"`, `"lpsr"`, `"lomtree"`,
        `"label-tree"`.
    head : {"softmax", "independent", "least-squares"}, default=None
        Scores labels on the embedding; by default a ranker or, for other methods, what suits the data.
    n_components : int, default=None
        Dimensions of the embedding, as many as suit the data by default.
    ridge : float, default=None
        Relative ridge of the embedding: larger where examples are few and features many.
    tfidf, normalize : bool, default=False
        Multiply features by their idf; scale rows to length 1. For counts of words, both.
    group_duplicates : bool, default=False
        Hold near duplicates out together.
    propensity : bool, default=False
        Move labels up that tend to be forgotten.
    featurizer : dict, default=None
        How texts become features, such as `{"characters": {"from": 3, "to": 5}}`.
    params : dict, default=None
        Other parameters of the method, by their names in `model_.params`.
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
    model_ : Model
        The model, which `model_.save(path)` writes for the command line as well.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Examples are a weighted set: neither their order nor whether one is given twice or with weight 2 changes the result, to
    the last bit. `rembrandt.train` takes data as they come, as the command line does.

    Examples
    --------
    >>> from rembrandt import RembrandtClassifier
    >>> from scipy.sparse import identity, vstack
    >>> X = vstack([identity(4, format="csr")] * 30).tocsr()
    >>> clf = RembrandtClassifier().fit(X, ["chess", "go", "poker", "bridge"] * 30)
    >>> clf.predict(X[:2]).tolist()
    ['chess', 'go']
    >>> ids, p = clf.predict_topk(X[:2], 2)
    >>> clf.classes_[ids[:, 0]].tolist()
    ['chess', 'go']
    """

    def __init__(
        self,
        method: str = "rembrandt",
        *,
        head: str | None = None,
        n_components: int | None = None,
        ridge: float | None = None,
        tfidf: bool = False,
        normalize: bool = False,
        group_duplicates: bool = False,
        propensity: bool = False,
        featurizer: dict[str, Any] | None = None,
        params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: Progress | None = None,
    ) -> None:
        self.method = method
        self.head = head
        self.n_components = n_components
        self.ridge = ridge
        self.tfidf = tfidf
        self.normalize = normalize
        self.group_duplicates = group_duplicates
        self.propensity = propensity
        self.featurizer = featurizer
        self.params = params
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RembrandtClassifier:
        """Train on examples and their labels.

        Parameters
        ----------
        X : sparse or dense matrix, or list of str
            Features or texts of the examples.
        y : array of classes, dense or sparse indicator, or lists of names
            Their labels.
        sample_weight : array, default=None
            Their weights.
        """
        if is_texts(X):
            examples: list[str] | Rows = texts_of(X)
            self._forget_features()
        else:
            examples = self._rows(X, reset=True)
        if y is None:
            raise ValueError("This RembrandtClassifier estimator requires y to be passed, but the target y is None.")
        targets = targets_of(y)
        names = names_of(targets.classes)
        features = getattr(self, "feature_names_in_", None)
        data = make(
            examples,
            targets.rows,
            sample_weight,
            names,
            None if features is None else [str(name) for name in features],
            self.featurizer,
            as_set=True,
            n_jobs=self.n_jobs,
        )
        settings = settings_of(
            self.method,
            head=self.head,
            k=self.n_components,
            ridge=self.ridge,
            seed=seed_of(self.random_state),
            group_duplicates=self.group_duplicates,
            propensity=self.propensity,
            params=self.params,
            tfidf=self.tfidf,
            normalize=self.normalize,
        )
        model = Model(_rembrandt.fit(data, settings, None, threads_of(self.n_jobs), self.progress))
        self.model_, self.classes_, self._kind = model, targets.classes, targets.kind
        return self

    def predict(self, X: Any) -> Any:
        """The labels of examples, in the form that training had them: classes, a dense or sparse indicator, or lists of
        names. Of several labels, those are predicted that are probable enough for the best F1."""
        if self._kind_of() == "classes":
            ids, _ = self.predict_topk(X, 1)
            return self.classes_[ids[:, 0]]
        arrays = self._predict(X, min(len(self.classes_), MOST_PREDICTED), stored=True)
        if self._kind == "names":
            names = self.classes_[arrays[1]].tolist()
            return [names[start:end] for start, end in zip(arrays[0][:-1], arrays[0][1:])]
        shape = (len(arrays[0]) - 1, len(self.classes_))
        indicator = matrix_of((arrays[0], arrays[1], np.ones(len(arrays[1]), np.int64)), shape)
        if self._kind == "sparse":
            return indicator
        refuse_dense(shape, "predict", "train with a sparse indicator")
        return indicator.toarray()

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of all labels, a dense array. Where examples have one label each they add up to 1.

        Labels that the model does not propose for an example have next to none. Above a limit, which saves memory from a
        surprise, this is refused: `predict_topk` and `predict_proba_sparse` are for many labels.
        """
        one = self._kind_of() == "classes"
        shape = (count_of(X), len(self.classes_))
        refuse_dense(shape, "predict_proba", "use predict_topk or predict_proba_sparse")
        dense = np.asarray(self.predict_proba_sparse(X, shape[1]).toarray(), dtype=np.float64)
        dense = np.clip(dense, SURE, 1 - SURE if not one or shape[1] > 1 else 1)
        return dense / dense.sum(axis=1, keepdims=True) if one else dense

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def predict_topk(self, X: Any, k: int = 5) -> tuple[Any, Any]:
        """The `k` most probable labels of each example, best first: numbers in `classes_`, and probabilities.

        Two arrays of a row each; where there are fewer labels, the rest of a row is -1 and 0.
        """
        self._kind_of()
        k = min(k, len(self.classes_))
        return topk(self._predict(X, k), k)

    def predict_proba_sparse(self, X: Any, k: int = 5) -> csr_matrix:
        """Probabilities of the `k` most probable labels of each example, a CSR matrix of examples × labels."""
        self._kind_of()
        arrays = self._predict(X, min(k, len(self.classes_)))
        return matrix_of(arrays, (len(arrays[0]) - 1, len(self.classes_)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of examples whose labels are predicted exactly."""
        predicted = self.predict(X)
        if self._kind == "names":
            truth, predicted = (as_matrix(names_to_rows(labels, self.classes_)[0]) for labels in (y, predicted))
            return float(accuracy_score(truth, predicted, sample_weight=sample_weight))
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def evaluate(self, X: Any, y: Any, *, bootstrap: int = 100) -> dict[str, Any]:
        """P@k, nDCG@k, PSP@k, F1, calibration and others, with 90 % intervals under `intervals`."""
        options = json.dumps({"bootstrap": bootstrap})
        x = texts_of(X) if self._reads_texts() else as_matrix(self._rows(X, reset=False))
        return self.model_._evaluate(x, self._labels(y), options, threads_of(self.n_jobs))

    def save(self, path: Path) -> None:
        """Write the model to a file that the command line and `Model.open` read."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def _labels(self, y: Any) -> Rows:
        """Labels of examples by number; those that training did not have are beyond."""
        if self._kind_of() == "names":
            return names_to_rows(y, self.classes_)[0]
        if self._kind != "classes":
            return indicator_rows(y)
        y = np.asarray(y)
        codes = np.searchsorted(self.classes_, y)
        known = codes < len(self.classes_)
        known[known] = self.classes_[codes[known]] == y[known]
        indptr = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
        ids = codes[known].astype(np.int64)
        return indptr, ids, np.ones(len(ids), np.float32), len(self.classes_)

    def _predict(self, X: Any, top: int, stored: bool = False) -> tuple[Any, Any, Any]:
        if self._reads_texts():
            if not is_texts(X) and len(X) > 0:
                raise ValueError("X: the model was trained on texts: give it a list of str")
            examples: list[str] | Rows = texts_of(X)
        else:
            examples = self._rows(X, reset=False)
        native, threads = self.model_._native, threads_of(self.n_jobs)
        return native.predict(examples, top, None, stored, None, False, threads)

    def _reads_texts(self) -> bool:
        return self.model_.reads_texts

    def _kind_of(self) -> str:
        check_is_fitted(self, "model_")
        return str(self._kind)

    def _rows(self, X: Any, reset: bool) -> Rows:
        """Features as scikit-learn checks them."""
        return validated_rows(self, X, reset)

    def _forget_features(self) -> None:
        """Texts have no features to be counted."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)


def validated_rows(estimator: Any, X: Any, reset: bool) -> Rows:
    """Features as scikit-learn checks them."""
    from scipy import sparse

    check_offsets(X, "X")
    X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float32, reset=reset)
    if not sparse.issparse(X):
        X = sparse.csr_matrix(X)
    elif not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return contiguous(X)


def targets_of(y: Any) -> Targets:
    """Labels of training."""
    if hasattr(y, "tocsr"):
        rows = indicator_rows(y)
        return Targets(rows, np.arange(rows[3]), "sparse")
    if is_lists_of_names(y):
        rows, names = names_to_rows(y)
        return Targets(rows, names, "names")
    check_classification_targets(y)
    if type_of_target(y) == "multilabel-indicator":
        rows = indicator_rows(np.asarray(y))
        return Targets(rows, np.arange(rows[3]), "indicator")
    if type_of_target(y) == "multiclass-multioutput":
        raise ValueError("y: several classes for each example are given as an indicator or as lists of names")
    classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    return Targets(class_rows(codes, len(classes)), classes, "classes")


def as_matrix(rows: Rows) -> csr_matrix:
    """Rows as scipy has them."""
    from scipy.sparse import csr_matrix

    return csr_matrix((rows[2], rows[1], rows[0]), shape=(len(rows[0]) - 1, rows[3]))


def seed_of(random_state: Any) -> int | None:
    """A seed, drawn where a generator is given."""
    if random_state is None:
        return None
    if hasattr(random_state, "__index__"):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def count_of(X: Any) -> int:
    """Number of examples."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def refuse_dense(shape: tuple[int, int], what: str, advice: str) -> None:
    """Refuses a dense array that is too large."""
    if shape[0] * shape[1] > DENSE:
        size = 8e-9 * shape[0] * shape[1]
        raise ValueError(f"{what}: {shape[0]} examples × {shape[1]} labels would take {size:.0f} GB: {advice}")
