"""Inputs by mistake or habit: the right answer, or a ValueError that says what to do."""

import numpy as np
import pytest
from scipy import sparse

from rembrandt import Dataset, LabelEmbedding, Model, RembrandtClassifier, train


def changed(x, **arrays):
    """A matrix with other arrays, unchecked as from a careless program."""
    x = x.copy()
    for name, array in arrays.items():
        setattr(x, name, array)
    return x


FORMS = {
    "csr_matrix": lambda x: x,
    "csr_array": sparse.csr_array,
    "csc": lambda x: x.tocsc(),
    "coo": lambda x: x.tocoo(),
    "lil": lambda x: x.tolil(),
    "wide indices": lambda x: changed(x, indices=x.indices.astype(np.int64), indptr=x.indptr.astype(np.int64)),
    "float64": lambda x: x.astype(np.float64),
    "dense": lambda x: x.toarray(),
    "fortran": lambda x: np.asfortranarray(x.toarray()),
    "float16": lambda x: x.toarray().astype(np.float16).astype(np.float32) * 0 + x.toarray(),
    "lists": lambda x: x.toarray().tolist(),
    "objects": lambda x: x.toarray().astype(object),
    "not contiguous": lambda x: np.repeat(x.toarray(), 2, axis=1)[:, ::2],
    "unsorted": lambda x: unsorted(x),
    "duplicates": lambda x: duplicates(x),
    "explicit zeros": lambda x: zeros(x),
}


def unsorted(x):
    x = x.copy()
    for start, end in zip(x.indptr[:-1], x.indptr[1:]):
        x.indices[start:end] = x.indices[start:end][::-1]
        x.data[start:end] = x.data[start:end][::-1]
    x.has_sorted_indices = False
    x.has_canonical_format = False
    return x


def duplicates(x):
    halves = np.repeat(x.data / 2, 2)
    return sparse.csr_matrix((halves, np.repeat(x.indices, 2), x.indptr * 2), shape=x.shape)


def zeros(x):
    dense = sparse.csr_matrix(np.ones(x.shape, np.float32))
    dense.data[:] = x.toarray().ravel()
    return dense


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_features(form, fitted, data):
    x, y = data
    given = FORMS[form](x)
    before = given.data.copy() if sparse.issparse(given) and form not in ("lil",) else None
    again = RembrandtClassifier().fit(given, y)
    for found, expected in zip(again.predict_topk(given, 3), fitted.predict_topk(x, 3)):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(fitted.model_.predict_topk(given, 3)[0], fitted.predict_topk(x, 3)[0])
    if before is not None:
        np.testing.assert_array_equal(given.data, before)


def test_read_only(fitted, data):
    x, y = (matrix.copy() for matrix in data)
    for matrix in (x, y):
        for array in (matrix.data, matrix.indices, matrix.indptr):
            array.setflags(write=False)
    assert (RembrandtClassifier().fit(x, y).predict_topk(x, 1)[0] == fitted.predict_topk(x, 1)[0]).all()


WRONG = {
    "negative index": (lambda x: changed(x, indices=np.where(np.arange(x.nnz) == 5, -1, x.indices).astype(np.int32)), "below 0|index"),
    "index beyond": (lambda x: changed(x, indices=np.where(np.arange(x.nnz) == 5, 99999, x.indices).astype(np.int32)), "beyond|index|ids"),
    "wide index beyond": (
        lambda x: changed(
            x, indices=np.where(np.arange(x.nnz) == 5, 2**40, x.indices.astype(np.int64)), indptr=x.indptr.astype(np.int64)
        ),
        "beyond|index|ids",
    ),
    "nan": (lambda x: changed(x, data=np.where(np.arange(x.nnz) == 5, np.nan, x.data).astype(np.float32)), "NaN|value"),
    "infinity": (lambda x: changed(x, data=np.where(np.arange(x.nnz) == 5, np.inf, x.data).astype(np.float32)), "infinity|value"),
    "too large for f32": (lambda x: x.toarray().astype(np.float64) * 1e300, "infinity|value"),
    "other width": (lambda x: x[:, :-1], "features|columns"),
    "one row as a vector": (lambda x: x.toarray()[0], "2D|dimensions"),
    "no rows": (lambda x: x[:0], "0 sample|no examples"),
    "texts": (lambda x: ["a text"] * 3, "texts|str|2D"),
    "complex": (lambda x: x.toarray().astype(complex), "[Cc]omplex"),
    "words": (lambda x: np.full((2, x.shape[1]), "?"), "convert|numbers|str"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_features(name, fitted, data):
    change, message = WRONG[name]
    given = change(data[0])
    with pytest.raises(ValueError, match=message):
        fitted.predict(given)
    if name not in ("other width", "texts", "words"):
        with pytest.raises(ValueError, match=message):
            RembrandtClassifier().fit(given, data[1] if given.shape[0] == 600 else data[1][:0])
    if name in ("negative index", "index beyond", "wide index beyond", "nan", "infinity", "complex", "words"):
        with pytest.raises(ValueError):
            fitted.model_.predict(given)


def test_no_rows_without_scikit_learn(fitted, data):
    ids, p = fitted.model_.predict_topk(data[0][:0], 3)
    assert ids.shape == p.shape == (0, 3)


LABELS = {
    "indicator": (lambda codes: np.eye(4, dtype=int)[codes], (np.ndarray, (80, 4))),
    "booleans": (lambda codes: np.eye(4, dtype=bool)[codes], (np.ndarray, (80, 4))),
    "lists of 0 and 1": (lambda codes: np.eye(4, dtype=int)[codes].tolist(), (np.ndarray, (80, 4))),
    "sparse": (lambda codes: sparse.csr_matrix(np.eye(4)[codes]), (sparse.csr_matrix, (80, 4))),
    "sparse array": (lambda codes: sparse.csc_array(np.eye(4)[codes]), (sparse.csr_matrix, (80, 4))),
    "numbers": (lambda codes: codes, (np.ndarray, (80,))),
    "other numbers": (lambda codes: codes * 10 - 5, (np.ndarray, (80,))),
    "names": (lambda codes: np.array(list("abcd"))[codes], (np.ndarray, (80,))),
    "objects": (lambda codes: np.array(list("abcd"), dtype=object)[codes], (np.ndarray, (80,))),
    "lists of names": (lambda codes: [["abcd"[code]] for code in codes], (list, None)),
    "ragged": (lambda codes: [["abcd"[code]] * (code + 1) + ["e"] * int(code > 2) for code in codes], (list, None)),
}


@pytest.mark.parametrize("name", LABELS)
def test_forms_of_labels(name):
    codes = np.arange(80) % 4
    x = sparse.csr_matrix(np.eye(4, dtype=np.float32)[codes])
    make, (kind, shape) = LABELS[name]
    y = make(codes)
    clf = RembrandtClassifier().fit(x, y)
    found = clf.predict(x)
    assert isinstance(found, kind) and (shape is None or found.shape == shape)
    assert clf.score(x, y) == 1.0
    assert clf.evaluate(x, y, bootstrap=0)["p@1"] == 1.0


WRONG_LABELS = {
    "two": (sparse.csr_matrix(np.eye(4)[np.arange(80) % 4] * 2), "nothing but 0 and 1"),
    "ragged numbers": ([[1], [0, 2]] * 40, "sequence|inhomogeneous|ragged|Sequence|Unknown label|legacy"),
    "names and numbers": ([["a"], [1]] * 40, "labels are all names or none is"),
    "fewer": (np.arange(79) % 4, "79 examples, and there are 80|inconsistent"),
    "continuous": (np.linspace(0, 1, 80), "continuous|Unknown label"),
    "nothing": (None, "requires y"),
    "no label at all": (sparse.csr_matrix((80, 4)), "no example has a label"),
    "classes in two columns": (np.arange(160).reshape(80, 2), "indicator|multioutput"),
}


@pytest.mark.parametrize("name", WRONG_LABELS)
def test_wrong_labels(name):
    x = sparse.csr_matrix(np.eye(4, dtype=np.float32)[np.arange(80) % 4])
    y, message = WRONG_LABELS[name]
    with pytest.raises(ValueError, match=message):
        RembrandtClassifier().fit(x, y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1, 2], "600 examples"), ([-1] * 600, "not negative"), ([np.nan] * 600, "finite"), ([0] * 600, "weight zero")],
)
def test_wrong_weights(weights, message, data):
    with pytest.raises(ValueError, match=message):
        RembrandtClassifier().fit(*data, sample_weight=weights)


def test_one_class_one_example_and_one_feature():
    x = np.eye(3, dtype=np.float32)
    assert RembrandtClassifier().fit(x, ["a"] * 3).predict(x).tolist() == ["a"] * 3
    assert RembrandtClassifier().fit(x[:1], [7]).predict(x).tolist() == [7] * 3
    assert LabelEmbedding().fit(x[:, :1] + 1, [0, 1, 0]).transform(x[:, :1]).shape[0] == 3


def test_texts(texts):
    given, labels = texts
    clf = RembrandtClassifier().fit(given, labels)
    assert clf.predict(["something old about poker"])[0] == ["games", "vintage"]
    assert clf.score(given, labels) > 0.5
    assert not hasattr(clf, "n_features_in_")
    one = RembrandtClassifier().fit(np.array(given), [row[0] for row in labels])
    assert one.predict(["beer"]).tolist() == ["drinks"]
    for wrong in (np.eye(3), ["a", 3], "a text"):
        with pytest.raises(ValueError, match="x: |X: |texts"):
            clf.predict(wrong)
    with pytest.raises(ValueError, match="no feature|there is no"):
        RembrandtClassifier().fit(["", " "], ["a", "b"])


def test_data_sets(data, tmp_path):
    x, y = data
    made = Dataset(x, y, np.arange(600) % 3, label_names=[f"l{i}" for i in range(20)])
    assert made.shape == (600, 90, 20) and made.nnz == (x.nnz, y.nnz) and len(made) == 600
    assert abs(made.features() - x).max() == 0 and abs(made.labels() - y).max() == 0
    assert (made.weights() == np.arange(600) % 3).all() and made.label_names[3] == "l3"
    with pytest.raises(ValueError, match="names for 20 labels"):
        Dataset(x, y, label_names=["one"])
    with pytest.raises(ValueError, match="y: has labels for 599 examples, and there are 600"):
        Dataset(x, y[:-1])
    with pytest.raises(FileNotFoundError):
        Dataset.read(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        Model.open(tmp_path / "nothing")
    (tmp_path / "bad").write_text("1 2:x\n")
    with pytest.raises(ValueError, match="bad:1: "):
        Dataset.read(tmp_path / "bad")
    with pytest.raises(ValueError, match="is not a model"):
        Model.open(tmp_path / "bad")
    assert train(made).n_labels == 20
