"""Data that tests share."""

import os

# Otherwise scikit-learn leaves checks out.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from scipy import sparse  # noqa: E402


def made(n: int, c: int = 20, seed: int = 0) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Label l is told by the features 2l and 2l + 1; the rest is noise. Each third example has a second label."""
    random = np.random.default_rng(seed)
    x, y = sparse.lil_matrix((n, 2 * c + 50), dtype=np.float32), sparse.lil_matrix((n, c), dtype=np.float32)
    for i in range(n):
        labels = [i % c] + ([(i + 7) % c] if i % 3 == 0 else [])
        for label in labels:
            y[i, label] = 1
            x[i, 2 * label + random.integers(2)] = 1
        x[i, 2 * c + random.integers(50, size=3)] = random.random(3)
    return x.tocsr(), y.tocsr()


@pytest.fixture(scope="session")
def data():
    return made(600)


@pytest.fixture(scope="session")
def texts():
    kinds = {"chess": "games", "poker": "games", "wine": "drinks", "beer": "drinks", "paint": "art"}
    texts, labels = [], []
    for i in range(200):
        for word, label in kinds.items():
            texts.append(f"number {i} is about {word} and more {'old' if i % 2 else 'new'} things")
            labels.append([label] + ["vintage"] * (i % 2))
    return texts, labels


@pytest.fixture(scope="session")
def fitted(data):
    from rembrandt import RembrandtClassifier

    return RembrandtClassifier().fit(*data)
