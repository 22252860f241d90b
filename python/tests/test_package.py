"""Types, examples in the documentation, and notebooks."""

import doctest
import importlib
import pathlib
import subprocess
import sys

import pytest

import rembrandt

HERE = pathlib.Path(__file__).parents[1]
MODULES = ["rembrandt", "rembrandt._data", "rembrandt._model", "rembrandt._classifier", "rembrandt._label_embedding",
           "rembrandt._scorer", "rembrandt.plots"]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.failed == 0


def test_everything_says_what_it_is():
    for name in rembrandt.__all__:
        thing = getattr(rembrandt, name)
        if not isinstance(thing, str):
            assert thing.__doc__
            public = [member for member in vars(thing) if not member.startswith("_")] if isinstance(thing, type) else []
            assert all(getattr(thing, member).__doc__ for member in public if callable(getattr(thing, member))), name


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_types(checker):
    pytest.importorskip(checker)
    words = {"mypy": ["-m", "mypy"], "pyright": ["-m", "pyright", "--pythonpath", sys.executable]}[checker]
    done = subprocess.run([sys.executable, *words], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", sorted((HERE / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


@pytest.mark.parametrize("notebook", sorted((HERE / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks(notebook, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    nbclient.NotebookClient(
        nbformat.read(notebook, as_version=4), timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
