"""The conventions of scikit-learn."""

import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import rembrandt
from rembrandt import LabelEmbedding, RembrandtClassifier, scorer


@parametrize_with_checks([RembrandtClassifier(), LabelEmbedding()])
def test_conventions(estimator, check):
    check(estimator)


def test_model_selection(data):
    x, y = data
    search = GridSearchCV(RembrandtClassifier(), {"ridge": [1.0, 10.0]}, scoring=scorer("nDCG@5"), cv=2)
    assert search.fit(x, y).best_score_ > 0.9
    assert cross_val_score(make_pipeline(Normalizer(), RembrandtClassifier()), x, y.toarray(), scoring=scorer("P@1"), cv=2).min() > 0.9
    assert cross_val_predict(RembrandtClassifier(), x, np.arange(600) % 20, cv=3).shape == (600,)
    several = cross_val_score(RembrandtClassifier(), x, y.toarray(), scoring=scorer("psp@3"), cv=2)
    assert ((several > 0.9) & (several <= 1)).all()


def test_scores_of_others(data):
    x, y = data
    other = OneVsRestClassifier(LogisticRegression(C=100)).fit(x, y.toarray())
    assert scorer("P@1")(other, x, y) > 0.9
    assert scorer("ece")(other, x, y) < 0
    with pytest.raises(ValueError, match="psp@1 does not apply"):
        scorer("PSP@1")(other, x, y)
    with pytest.raises(ValueError, match="choose from p@1"):
        scorer("P@2")


def test_label_embedding_in_a_pipeline(data):
    x, y = data
    pipe = make_pipeline(LabelEmbedding(n_components=20), LogisticRegression(C=100))
    codes = np.arange(600) % 20
    assert pipe.fit(x, codes).score(x, codes) > 0.8
    embedding = LabelEmbedding(n_components=5).fit(x, y)
    h = x @ embedding.projection_ + embedding.intercept_
    np.testing.assert_allclose(embedding.transform(x), h, rtol=1e-4, atol=1e-5)
    assert embedding.get_feature_names_out()[1] == "labelembedding1"


def test_weights_are_repetition(data):
    x, y = data
    weights = np.arange(600) % 3
    rows = np.repeat(np.arange(600), weights)
    order = np.random.default_rng(1).permutation(len(rows))
    for make in (RembrandtClassifier, LabelEmbedding):
        weighted = make().fit(x, y, sample_weight=weights)
        repeated = make().fit(x[rows[order]], y[rows[order]])
        if make is LabelEmbedding:
            assert (weighted.transform(x) == repeated.transform(x)).all()
        else:
            assert (weighted.model_._native.to_bytes() == repeated.model_._native.to_bytes()).all()


@pytest.mark.parametrize("dump", ["pickle", "joblib"])
def test_pickles(dump, fitted, data, tmp_path):
    x, _ = data
    expected = fitted.predict_topk(x, 3)
    if dump == "pickle":
        again = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "a")
        again = joblib.load(tmp_path / "a", mmap_mode="r")
    assert all((a == b).all() for a, b in zip(again.predict_topk(x, 3), expected))


@pytest.mark.parametrize("method", ["cs", "cs-omp", "pca", "plst", "cplst", "fastxml", "lpsr", "lomtree", "label-tree"])
def test_methods(method, data):
    x, _ = data
    codes = np.arange(600) % 20
    clf = clone(RembrandtClassifier(method=method)).fit(x, codes)
    assert clf.score(x, codes) > 0.3 and clf.classes_.shape == (20,)
    assert clf.predict_proba(x[:3]).sum(axis=1) == pytest.approx(1)


def test_settings():
    x = sparse.identity(10, format="csr")
    x, y = sparse.vstack([x] * 10).tocsr(), np.arange(100) % 10
    assert RembrandtClassifier(params={"cost": 0.5}).fit(x, y).model_.params["cost"] == 0.5
    forest = RembrandtClassifier("fastxml", params={"trees": 3}, random_state=4).fit(x, y)
    assert (forest.model_.params["trees"], forest.model_.params["seed"]) == (3, 4)
    for wrong, message in [
        ({"method": "magic"}, "method: \"magic\" is not a method"),
        ({"params": {"costs": 1}}, "params has no \"costs\": choose from combination|params has no \"costs\": choose"),
        ({"method": "fastxml", "n_components": 3}, "k: means nothing to fastxml"),
        ({"n_components": 11}, "k"),
        ({"n_jobs": 0}, "n_jobs: ask for at least one"),
        ({"random_state": -1}, "params: .*invalid value"),
    ]:
        with pytest.raises(ValueError, match=message):
            RembrandtClassifier(**wrong).fit(x, y)


def test_dense_results_are_refused_above_a_limit(fitted, data, monkeypatch):
    monkeypatch.setattr("rembrandt._classifier.DENSE", 1000)
    with pytest.raises(ValueError, match="600 examples × 20 labels would take .* use predict_topk"):
        fitted.predict_proba(data[0])
    assert fitted.predict_proba(data[0][:10]).shape == (10, 20)


def test_metadata_routing(data):
    import sklearn

    x, _ = data
    with sklearn.config_context(enable_metadata_routing=True):
        clf = RembrandtClassifier().set_fit_request(sample_weight=True)
        pipe = make_pipeline(Normalizer(), clf).fit(x, np.arange(600) % 20, sample_weight=np.arange(600) % 20 < 10)
    assert set(pipe.predict(x)) <= set(range(10))


def test_names_of_features(texts):
    import pandas as pd

    frame = pd.DataFrame(np.eye(6), columns=list("abcdef"))
    clf = RembrandtClassifier().fit(pd.concat([frame] * 10), np.arange(60) % 6)
    assert list(clf.feature_names_in_) == list("abcdef") == clf.model_.feature_names
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[list("bacdef")])


def test_what_is_there():
    assert set(rembrandt.__all__) <= set(dir(rembrandt))
    with pytest.raises(AttributeError):
        rembrandt.nothing
