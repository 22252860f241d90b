"""Rows a second of prediction, from Python, from the command line and by omikuji's Python package.

    python prediction_rate.py FOLDER [--omikuji PYTHON]

FOLDER holds `train.txt` and `test.txt` in the format of extreme classification, plain or compressed. PYTHON is an interpreter
that has omikuji, numpy and scipy, by default this one. Rembrandt's model is trained once; prediction of all test rows, five
labels each, is timed three times and the best counts. The command line's rate is that of `rembrandt eval`, which times
prediction alone. omikuji predicts a row a call, from a list of pairs: its rate is told
with and without making these lists of a CSR matrix.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def best(work, times: int = 3) -> float:
    """Seconds of the quickest run."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def find(folder: pathlib.Path, part: str) -> pathlib.Path:
    """The file of a part."""
    return next(path for path in sorted(folder.glob(f"{part}.txt*")) if "raw" not in path.name)


def ours(folder: pathlib.Path, work: pathlib.Path) -> None:
    import numpy as np
    from scipy import sparse

    from rembrandt import Dataset, train

    data, test = (Dataset.read(find(folder, part)) for part in ("train", "test"))
    model = train(data)
    model.save(work / "a.model")
    x = test.features()
    seconds = best(lambda: model.predict_topk(x, 5))
    print(f"rembrandt, Python        {x.shape[0] / seconds:10.0f} rows/s")
    rates = []
    for _ in range(3):
        words = [sys.executable, "-m", "rembrandt", "eval", work / "a.model", find(folder, "test"), "--json", "--bootstrap", "0"]
        told = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout
        rates.append(json.loads(told)["rows_per_second"])
    print(f"rembrandt, command line  {max(rates):10.0f} rows/s")
    sparse.save_npz(work / "train-x.npz", data.features())
    sparse.save_npz(work / "train-y.npz", data.labels())
    sparse.save_npz(work / "test-x.npz", x.astype(np.float32))


def omikuji(work: pathlib.Path) -> None:
    import omikuji
    from scipy import sparse

    x, y, test = (sparse.load_npz(work / f"{name}.npz").tocsr() for name in ("train-x", "train-y", "test-x"))
    with open(work / "omikuji.txt", "w") as out:
        rows = [i for i in range(x.shape[0]) if x[i].nnz and y[i].nnz]
        print(len(rows), x.shape[1], y.shape[1], file=out)
        for i in rows:
            features = " ".join(f"{j}:{v}" for j, v in zip(x[i].indices, x[i].data))
            print(",".join(map(str, y[i].indices)), features, file=out)
    model = omikuji.Model.train_on_data(str(work / "omikuji.txt"), omikuji.Model.default_hyper_param())

    def lists() -> list:
        parts = zip(test.indptr[:-1], test.indptr[1:])
        return [list(zip(test.indices[a:b].tolist(), test.data[a:b].tolist())) for a, b in parts]

    made = lists()
    for what, rows in [("lists of pairs", lambda: made), ("CSR", lists)]:
        seconds = best(lambda: [model.predict(row, top_k=5) for row in rows()])
        print(f"{'omikuji, ' + what:24} {len(made) / seconds:10.0f} rows/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--omikuji", default=sys.executable, help="an interpreter that has omikuji")
    parser.add_argument("--work", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        omikuji(given.work)
    else:
        with tempfile.TemporaryDirectory() as made:
            ours(given.folder, pathlib.Path(made))
            subprocess.run([given.omikuji, __file__, given.folder, "--work", made], check=True)
