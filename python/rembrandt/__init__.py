"""Classification with very many labels: thousands to millions of classes or tags.

The estimators, for scikit-learn:

- `RembrandtClassifier` predicts labels of sparse features or of texts;
- `LabelEmbedding` sends features into a space where labels that they treat alike lie together.

Without scikit-learn, and as the command line does it (`python -m rembrandt`):

- `train` and `Model`, `Dataset` for data of any size;
- `scorer` for model selection, and the plots of `rembrandt.plots`.

>>> import rembrandt
>>> subjects = {"chess": ["games"], "go": ["games"], "riesling": ["wine"], "merlot": ["wine", "red"]}
>>> texts = [f"{i} words about {subject}" for i in range(50) for subject in subjects]
>>> clf = rembrandt.RembrandtClassifier().fit(texts, list(subjects.values()) * 50)
>>> clf.predict(["who plays chess?", "a bottle of merlot"])
[['games'], ['red', 'wine']]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rembrandt._data import Dataset
from rembrandt._model import Model, train
from rembrandt._rembrandt import __version__

if TYPE_CHECKING:
    from rembrandt._classifier import RembrandtClassifier
    from rembrandt._label_embedding import LabelEmbedding
    from rembrandt._scorer import scorer

__all__ = ["Dataset", "LabelEmbedding", "Model", "RembrandtClassifier", "__version__", "scorer", "train"]

#: Names that need scikit-learn, which takes longer to load than all the rest, are loaded when asked for.
_LATER = {
    "RembrandtClassifier": "rembrandt._classifier",
    "LabelEmbedding": "rembrandt._label_embedding",
    "scorer": "rembrandt._scorer",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'rembrandt' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return __all__
