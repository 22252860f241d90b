"""Examples and labels, from what people have to arrays that the native code uses where they lie."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from rembrandt import _rembrandt

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: `indptr`, `indices`, `data` and the number of columns of a sparse matrix.
Rows = tuple[Any, Any, Any, int]
Path = Union[str, "os.PathLike[str]"]
#: Called now and then with the stage, the work done and all the work there is, if that is known.
Progress = Callable[[str, int, "int | None"], object]


def is_texts(x: Any) -> bool:
    """Whether examples are texts: a list, array or series of str."""
    if isinstance(x, (str, bytes)) or hasattr(x, "tocsr"):
        return False
    if getattr(x, "ndim", 1) != 1 or not hasattr(x, "__len__") or not hasattr(x, "__iter__"):
        return False
    return len(x) > 0 and isinstance(next(iter(x)), str)


def texts_of(x: Any) -> list[str]:
    """Texts as a list."""
    texts = list(x)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"x: example {i} is no text, as the first is, but {type(text).__name__}")
    return texts


def rows_of(x: Any, what: str = "x") -> Rows:
    """The arrays of a matrix as sparse rows of f32; those that are so already are not copied."""
    from scipy import sparse

    if sparse.issparse(x):
        check_offsets(x, what)
        x = x.tocsr()
        if x.ndim != 2:
            raise ValueError(f"{what}: has {x.ndim} dimensions, and a matrix has 2")
        if x.dtype.kind not in "buif":
            raise ValueError(f"{what}: holds {x.dtype}, and numbers are wanted")
        if x.dtype != np.float32:
            x = x.astype(np.float32)
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
    else:
        array = np.asarray(x)
        if array.ndim != 2:
            raise ValueError(
                f"{what}: has {array.ndim} dimensions, and a matrix has 2: give a row for each example, or texts"
            )
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
        if array.dtype.kind not in "buif":
            raise ValueError(f"{what}: holds {array.dtype}, and numbers are wanted")
        x = sparse.csr_matrix(np.asarray(array, dtype=np.float32))
    return contiguous(x)


def check_offsets(x: Any, what: str) -> None:
    """Refuses indices that scipy would follow out of its arrays."""
    if getattr(x, "format", None) == "csr" and x.nnz and (x.indices.min() < 0 or x.indices.max() >= x.shape[1]):
        raise ValueError(f"{what}: a sparse matrix has column indices below 0 or beyond its {x.shape[1]} columns")


def contiguous(x: csr_matrix) -> Rows:
    """The arrays of a CSR matrix of f32."""
    indptr, indices = x.indptr, x.indices
    for_narrow = indptr.dtype == np.int32 and indices.dtype == np.int32
    if not for_narrow:
        indptr, indices = indptr.astype(np.int64, copy=False), indices.astype(np.int64, copy=False)
    arrays = (np.ascontiguousarray(array) for array in (indptr, indices, x.data))
    return (*arrays, int(x.shape[1]))  # type: ignore[return-value]


def examples_of(x: Any) -> list[str] | Rows:
    """Texts or rows."""
    return texts_of(x) if is_texts(x) else rows_of(x)


class Targets(NamedTuple):
    """Labels of examples as numbers."""

    rows: Rows
    #: The labels by their numbers.
    classes: Any
    #: How they were given: `classes` (one for each example), `indicator` (dense), `sparse` or `names` (lists).
    kind: str


def is_lists_of_names(y: Any) -> bool:
    """Whether labels are lists of names, one for each example."""
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__") or getattr(y, "ndim", 1) != 1:
        return False
    if hasattr(y, "dtype") and y.dtype != object:
        return False
    lists = list(y)
    if not lists or not all(isinstance(row, (list, tuple, set, frozenset)) for row in lists):
        return False
    return any(isinstance(label, str) for row in lists for label in row)


def names_to_rows(y: Iterable[Iterable[str]], classes: Sequence[str] | None = None) -> tuple[Rows, Any]:
    """Lists of names as rows of ones, and the names by number. With known names, others are left out."""
    lists = [list(dict.fromkeys(row)) for row in y]
    for i, row in enumerate(lists):
        for name in row:
            if not isinstance(name, str):
                raise ValueError(f"y: example {i} has the label {name!r} among names: labels are all names or none is")
    names = sorted({name for row in lists for name in row}) if classes is None else list(classes)
    numbers = {name: number for number, name in enumerate(names)}
    indptr, indices = [0], []
    for row in lists:
        indices.extend(sorted(numbers[name] for name in row if name in numbers))
        indptr.append(len(indices))
    data = np.ones(len(indices), np.float32)
    rows = (np.array(indptr, np.int64), np.array(indices, np.int64), data, len(names))
    return rows, np.array(names, dtype=object if not names else None)


def indicator_rows(y: Any) -> Rows:
    """A 0/1 matrix as rows of ones."""
    from scipy import sparse

    check_offsets(y, "y")
    y = y.tocsr() if sparse.issparse(y) else sparse.csr_matrix(y)
    if y.dtype.kind not in "buif" or not np.isin(y.data, (0, 1)).all():
        raise ValueError("y: an indicator of labels holds nothing but 0 and 1")
    rows = sparse.csr_matrix(y.astype(np.float32))
    if not rows.has_canonical_format or (rows.data == 0).any():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        rows.data[:] = 1
    return contiguous(rows)


def class_rows(codes: Any, count: int) -> Rows:
    """One label for each example."""
    n = len(codes)
    return np.arange(n + 1, dtype=np.int64), codes.astype(np.int64), np.ones(n, np.float32), count


def names_of(classes: Any) -> list[str] | None:
    """Names for a model; none where labels are just numbered."""
    count = len(classes)
    if getattr(classes, "dtype", None) is not None and classes.dtype.kind in "iu":
        if np.array_equal(classes, np.arange(count)):
            return None
    return [str(label) for label in classes]


class Dataset:
    """Examples to train on or to evaluate with: in memory, or mapped from a cache file larger than memory.

    >>> from scipy.sparse import identity, vstack
    >>> X = vstack([identity(3, format="csr")] * 20).tocsr()
    >>> data = Dataset(X, X, label_names=["chess", "go", "poker"])
    >>> data.shape
    (60, 3, 3)

    `Dataset.read` reads what `rembrandt train` reads, and `Dataset.convert` makes a cache file of it, which opens at once.
    """

    _native: _rembrandt.Dataset

    def __init__(
        self,
        x: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        label_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        featurizer: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        """Examples `x` (a matrix or texts), and their labels `y` (an indicator or lists of names)."""
        if is_lists_of_names(y):
            rows, names = names_to_rows(y, label_names)
            label_names = [str(name) for name in names]
        else:
            rows = indicator_rows(y)
        self._native = make(
            examples_of(x), rows, sample_weight, label_names, feature_names, featurizer, as_set=False, n_jobs=n_jobs
        )

    @classmethod
    def _of(cls, native: _rembrandt.Dataset) -> Dataset:
        data = cls.__new__(cls)
        data._native = native
        return data

    @classmethod
    def read(
        cls,
        path: Path,
        *,
        text: bool = False,
        featurizer: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Dataset:
        """Read a file of sparse features, open a cache file or, with `text`, read CSV, TSV or JSON lines with the columns
        `text` and `labels`."""
        return cls._of(
            _rembrandt.Dataset.read(os.fspath(path), text, as_json(featurizer), threads_of(n_jobs), progress)
        )

    @classmethod
    def convert(
        cls, path: Path, output: Path, *, n_jobs: int | None = None, progress: Progress | None = None
    ) -> Dataset:
        """Turn a file of sparse features into a cache file, holding little of it in memory at a time, and open it."""
        native = _rembrandt.Dataset.convert(os.fspath(path), os.fspath(output), threads_of(n_jobs), progress)
        return cls._of(native)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of examples, features and labels."""
        return self._native.shape

    @property
    def nnz(self) -> tuple[int, int]:
        """Stored entries of features and of labels."""
        return self._native.nnz

    @property
    def is_mapped(self) -> bool:
        """Whether the data lie in a cache file instead of in memory."""
        return self._native.is_mapped

    @property
    def label_names(self) -> list[str] | None:
        """Names of the labels, by number."""
        return self._native.label_names

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, by number."""
        return self._native.feature_names

    @property
    def fingerprint(self) -> int:
        """A number that tells these data from others, wherever they are stored."""
        return self._native.fingerprint

    def features(self) -> csr_matrix:
        """Features of all examples, in memory."""
        return matrix_of(self._native.features(), (self.shape[0], self.shape[1]))

    def labels(self) -> csr_matrix:
        """Labels of all examples, in memory."""
        return matrix_of(self._native.labels(), (self.shape[0], self.shape[2]))

    def weights(self) -> Any:
        """Weights of the examples; `None` when all are 1."""
        return self._native.weights()

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        n, d, c = self.shape
        return f"Dataset({n} examples, {d} features, {c} labels)"


def make(
    examples: list[str] | Rows,
    labels: Rows,
    sample_weight: Any,
    label_names: Sequence[str] | None,
    feature_names: Sequence[str] | None,
    featurizer: dict[str, Any] | None,
    *,
    as_set: bool,
    n_jobs: int | None,
) -> _rembrandt.Dataset:
    """Data of examples and labels whose forms are settled."""
    count = len(examples) if isinstance(examples, list) else len(examples[0]) - 1
    if len(labels[0]) - 1 != count:
        raise ValueError(f"y: has labels for {len(labels[0]) - 1} examples, and there are {count}")
    weights = None if sample_weight is None else weights_of(sample_weight, count)
    names = None if label_names is None else list(label_names)
    features = None if feature_names is None else list(feature_names)
    return _rembrandt.Dataset.make(
        examples, labels, weights, names, features, as_json(featurizer), as_set, threads_of(n_jobs)
    )


def weights_of(sample_weight: Any, count: int) -> Any:
    """A weight for each example."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(count, float(weights))
    if weights.shape != (count,):
        raise ValueError(f"sample_weight: has the shape {weights.shape}, and there are {count} examples")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight: weights are finite and not negative")
    return weights.astype(np.float32)


def matrix_of(arrays: tuple[Any, Any, Any], shape: tuple[int, int]) -> csr_matrix:
    """A CSR matrix of arrays that came from the native code, columns in order."""
    from scipy.sparse import csr_matrix

    indptr, indices, data = arrays
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    matrix = csr_matrix((data, indices, indptr), shape=shape)
    matrix.sort_indices()
    return matrix


def threads_of(n_jobs: int | None) -> int | None:
    """As scikit-learn counts them: `None` and -1 are all, -2 is all but one."""
    if n_jobs is None or n_jobs == -1:
        return None
    if n_jobs == 0:
        raise ValueError("n_jobs: ask for at least one thread, or None for all cores")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def as_json(settings: dict[str, Any] | None) -> str | None:
    """Settings for the native code."""
    return None if settings is None else json.dumps(settings)
