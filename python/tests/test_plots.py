"""Plots show what they are asked to."""

import numpy as np
import pytest

from rembrandt import LabelEmbedding, RembrandtClassifier

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from rembrandt.plots import plot_label_map, plot_reliability, plot_spectrum  # noqa: E402


def test_spectrum_and_map(fitted, data):
    embedding = LabelEmbedding(n_components=6).fit(*data)
    for thing, k in [(fitted, fitted.model_.n_components), (fitted.model_, fitted.model_.n_components), (embedding, 6)]:
        line = plot_spectrum(thing).lines[0]
        assert len(line.get_xdata()) == k
        assert [text.get_text() for text in plot_label_map(thing, labels=[3, 4]).texts] == ["3", "4"]
        assert len(plot_label_map(thing, most=7).texts) == 7
    x, y = data
    with pytest.raises(ValueError, match="trees"):
        plot_spectrum(RembrandtClassifier("fastxml", params={"trees": 1}).fit(x, y))


def test_reliability(fitted, data):
    ax = plot_reliability(fitted, *data)
    predicted, found = np.asarray(ax.collections[0].get_offsets()).T
    assert ((0 <= found) & (found <= 1)).all() and np.abs(predicted - found).mean() < 0.3
    assert plot_reliability(fitted, *data, ax=ax) is ax
