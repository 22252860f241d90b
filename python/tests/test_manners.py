"""Threads, signals, forks and memory."""

import _thread
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import made
from scipy import sparse

import rembrandt
from rembrandt import Dataset, LabelEmbedding, RembrandtClassifier, train


def test_many_threads_on_one_model(fitted, data):
    x, _ = data
    expected = fitted.predict_topk(x, 5)
    with ThreadPoolExecutor(16) as threads:
        for found in threads.map(lambda _: fitted.predict_topk(x, 5), range(64)):
            assert all((a == b).all() for a, b in zip(found, expected))


def test_threads_do_not_change_results(data):
    one, three = (RembrandtClassifier(n_jobs=jobs).fit(*data).model_._native.to_bytes() for jobs in (1, 3))
    assert (one == three).all()


def large():
    """Minutes of work."""
    random = np.random.default_rng(0)
    x = sparse.random(60_000, 20_000, 0.002, format="csr", dtype=np.float32, random_state=random)
    return x, random.integers(3000, size=60_000)


@pytest.fixture(scope="module")
def much():
    x, codes = large()
    y = sparse.csr_matrix((np.ones(60_000), (np.arange(60_000), codes)), shape=(60_000, 3000))
    return Dataset(x, y)


@pytest.mark.parametrize("after", [0.2, 1.0, 3.0])
def test_ctrl_c_ends_a_fit_within_a_second(after, much):
    threading.Timer(after, _thread.interrupt_main).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        train(much, method="rembrandt", k=500)
    assert time.monotonic() - began < after + 1
    # Whatever was going on is over soon, and nothing is damaged.
    assert train(Dataset(*made(100))).n_labels == 20


def test_an_exception_of_the_progress_ends_a_fit(much):
    told = []

    def progress(stage, done, total):
        told.append((stage, done, total))
        if len(told) == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        train(much, k=500, progress=progress)
    assert len(told) == 2 and all(isinstance(stage, str) and done <= total for stage, done, total in told)


def test_python_goes_on_meanwhile(much):
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(0.01):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    threading.Timer(1.0, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        train(much, k=500)
    over.set()
    thread.join()
    assert len(ticks) > 20


def predict_in_child(fitted, x, queue):
    queue.put(fitted.predict_topk(x, 2)[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_works_after_a_fork(fitted, data):
    x, _ = data
    expected = fitted.predict_topk(x, 2)[0]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=predict_in_child, args=(fitted, x, queue))
    child.start()
    found = queue.get(timeout=60)
    child.join()
    assert (found == expected).all()


def test_the_number_of_threads_is_that_of_the_environment():
    code = (
        "import os, numpy, rembrandt\n"
        "x = numpy.eye(4, dtype='float32').repeat(30, 0)\n"
        "rembrandt.train(rembrandt.Dataset(x, x))\n"
        "print(sum('rembrandt' in open(f'/proc/self/task/{t}/comm').read() for t in os.listdir('/proc/self/task')))"
    )
    if not os.path.exists("/proc/self/task"):
        pytest.skip("threads are counted by /proc")
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "RAYON_NUM_THREADS": "3"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "3"


def test_nothing_is_printed(capfd, data):
    RembrandtClassifier().fit(*data).predict(data[0])
    LabelEmbedding().fit(*data)
    assert capfd.readouterr() == ("", "")


def test_memory_stays_where_it_was(data):
    """A few of the ten thousand fits that `python/scripts/memory.py` makes."""
    import gc
    import pickle

    resource = pytest.importorskip("resource")
    x, y = made(60, c=5)

    def work(times):
        for _ in range(times):
            clf = pickle.loads(pickle.dumps(RembrandtClassifier().fit(x, y)))
            clf.predict_topk(x, 1)
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = work(100)
    assert work(200) - before < 20_000 * (1 if sys.platform == "linux" else 1024)


def test_rows_go_in_without_a_copy(fitted):
    """The arrays that the native code gets are those of the matrix."""
    from rembrandt._data import rows_of

    x, _ = made(50)
    assert all(np.shares_memory(a, b) for a, b in zip(rows_of(x), (x.indptr, x.indices, x.data)))
    wide = sparse.csr_matrix((x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64)), shape=x.shape)
    wide.indices, wide.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    assert all(np.shares_memory(a, b) for a, b in zip(rows_of(wide), (wide.indptr, wide.indices, wide.data)))
    assert (fitted.model_.predict_topk(wide, 3)[0] == fitted.model_.predict_topk(x, 3)[0]).all()


def test_importing_takes_little():
    code = "import sys, rembrandt; print([m for m in ('scipy.sparse', 'sklearn', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    assert rembrandt.__version__
