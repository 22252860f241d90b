"""The backend inside Annif, where Annif and the data of its analyzers are installed."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("annif")
nltk = pytest.importorskip("nltk")
try:
    nltk.data.find("tokenizers/punkt_tab")
except LookupError:
    pytest.skip("NLTK's data punkt_tab are not installed", allow_module_level=True)

PROJECT = """
[tags]
name=Tags
language=en
backend=rembrandt
analyzer=simple
vocab=tags
allow_learn=true
"""


def run(folder, *words, input=None):
    words = [sys.executable, "-m", "rembrandt.annif", *words]
    done = subprocess.run(words, cwd=folder, input=input, capture_output=True, text=True, env={**os.environ, "ANNIF_PROJECTS": "projects.cfg"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_commands(tmp_path):
    words = {"games": "chess", "drinks": "wine", "art": "paint"}
    uri = {name: f"<http://example.org/{name}>" for name in [*words, "music"]}
    (tmp_path / "projects.cfg").write_text(PROJECT)
    (tmp_path / "tags.tsv").write_text("".join(f"{uri[name]}\t{name}\n" for name in uri))
    lines = [f"a text number {i} about {word} and things\t{uri[name]}\n" for i in range(50) for name, word in words.items()]
    (tmp_path / "train.tsv").write_text("".join(lines))
    (tmp_path / "more.tsv").write_text("".join(f"chess with wine {i}\t{uri['music']}\n" for i in range(30)))
    run(tmp_path, "load-vocab", "tags", "tags.tsv", "--language", "en")
    run(tmp_path, "train", "tags", "train.tsv")
    assert run(tmp_path, "suggest", "tags", input="do you play chess").split("\t")[1] == "games"
    assert run(tmp_path, "suggest", "tags", input="???") == ""
    run(tmp_path, "train", "tags", "--cached")
    run(tmp_path, "learn", "tags", "more.tsv")
    assert run(tmp_path, "suggest", "tags", input="chess with wine").split("\t")[1] == "music"
    assert "NDCG" in run(tmp_path, "eval", "tags", "train.tsv")
    assert "cost=" in run(tmp_path, "hyperopt", "tags", "train.tsv", "--trials", "2")
