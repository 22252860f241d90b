"""Whether memory stays where it was: `python memory.py [FITS]` fits and pickles a small model ten thousand times."""

import gc
import pickle
import resource
import sys

import numpy as np
from scipy import sparse

from rembrandt import RembrandtClassifier


def main(fits: int) -> None:
    codes = np.arange(60) % 5
    x = sparse.csr_matrix(np.eye(5, dtype=np.float32)[codes])
    for i in range(fits + 1):
        clf = pickle.loads(pickle.dumps(RembrandtClassifier().fit(x, codes)))
        clf.predict_topk(x, 1)
        if i % max(1, fits // 10) == 0:
            gc.collect()
            print(f"{i:6} fits: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.1f} MB at most", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
