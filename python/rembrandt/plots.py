"""Plots, with matplotlib if it is there.

Each function draws on the axes `ax`, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["plot_label_map", "plot_reliability", "plot_spectrum"]


def plot_spectrum(embedding: Any, *, ax: Any = None) -> Any:
    """How much each dimension of a `Model`, classifier or `LabelEmbedding` tells: where the curve is flat, fewer would do."""
    ax = _axes(ax)
    spectrum = np.asarray(_part(embedding, "spectrum"))
    if len(spectrum) == 0:
        raise ValueError("a model of trees has no spectrum")
    ax.semilogy(np.arange(1, len(spectrum) + 1), np.maximum(spectrum, np.finfo(float).tiny))
    ax.set(xlabel="dimension", ylabel="eigenvalue")
    return ax


def plot_reliability(classifier: Any, X: Any, y: Any, *, k: int = 5, bins: int = 10, ax: Any = None) -> Any:
    """How often predictions of a fitted `RembrandtClassifier` are right, by their probability: on the diagonal, probabilities
    mean what they say. The `k` best labels of each example count."""
    ax = _axes(ax)
    ids, probabilities = classifier.predict_topk(X, k)
    indptr, indices, _, count = classifier._labels(y)
    from scipy.sparse import csr_matrix

    truth = csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=(len(ids), count))
    rows = np.repeat(np.arange(len(ids)), ids.shape[1])
    there = ids.ravel() >= 0
    p = probabilities.ravel()[there]
    right = np.asarray(truth[rows[there], ids.ravel()[there]]).ravel()
    at = np.minimum((p * bins).astype(int), bins - 1)
    sizes = np.bincount(at, minlength=bins)
    filled = sizes > 0
    predicted = np.bincount(at, weights=p, minlength=bins)[filled] / sizes[filled]
    found = np.bincount(at, weights=right, minlength=bins)[filled] / sizes[filled]
    ax.plot([0, 1], [0, 1], color="0.8", zorder=0)
    ax.scatter(predicted, found, s=20 + 200 * sizes[filled] / sizes.max())
    ax.set(xlabel="probability", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
    return ax


def plot_label_map(embedding: Any, *, labels: Sequence[Any] | None = None, most: int = 50, ax: Any = None) -> Any:
    """Labels of a `Model`, classifier or `LabelEmbedding` in the plane: the two directions in which their vectors, weighted by
    what dimensions tell, differ most. `labels` are the numbers of those that are named; by default the `most` longest are."""
    ax = _axes(ax)
    spectrum = np.maximum(np.asarray(_part(embedding, "spectrum")), 0)
    vectors = np.asarray(_part(embedding, "label_embedding")) * np.sqrt(spectrum)
    if vectors.shape[1] < 2:
        raise ValueError("a map needs two dimensions, and the embedding has fewer")
    centered = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centered.T @ centered)
    places = centered @ directions[:, :-3:-1]
    ax.scatter(*places.T, s=4, color="0.6")
    named = np.argsort(-np.linalg.norm(vectors, axis=1), kind="stable")[:most] if labels is None else labels
    name = _names(embedding)
    for label in named:
        ax.annotate(str(name(int(label))), places[int(label)], fontsize=8)
    ax.set(xticks=[], yticks=[])
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as missing:
        raise ImportError("plots need matplotlib: pip install matplotlib") from missing
    return pyplot.subplots()[1]


def _part(embedding: Any, name: str) -> Any:
    """An array of a model, or of an estimator."""
    model = getattr(embedding, "model_", embedding)
    return getattr(model, name) if hasattr(model, name) else getattr(model, name + "_")


def _names(embedding: Any) -> Any:
    """The name of a label by its number."""
    if hasattr(embedding, "classes_"):
        return embedding.classes_.__getitem__
    return embedding.label_name
