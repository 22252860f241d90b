"""Models and data: the same as those of the command line."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

from rembrandt import Dataset, LabelEmbedding, Model, RembrandtClassifier, train


def run(*words, input=None):
    """The command line."""
    words = [sys.executable, "-m", "rembrandt", *map(str, words)]
    return subprocess.run(words, check=True, capture_output=True, text=True, input=input).stdout


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """Training data as the command line reads them."""
    folder = tmp_path_factory.mktemp("files")
    x, y = data
    lines = [f"{x.shape[0]} {x.shape[1]} {y.shape[1]}"]
    for i in range(x.shape[0]):
        labels = ",".join(str(label) for label in sorted(y[i].indices))
        features = " ".join(f"{id}:{float(value)!r}" for id, value in sorted(zip(x[i].indices, x[i].data)))
        lines.append(f"{labels} {features}")
    (folder / "train.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_the_same_files_and_bytes(files, data):
    x, y = data
    run("train", files / "train.txt", "-o", files / "cli.model", "--quiet")
    ours = train(files / "train.txt")
    ours.save(files / "python.model")
    assert (files / "cli.model").read_bytes() == (files / "python.model").read_bytes()
    train(Dataset(x, y), n_jobs=1).save(files / "matrix.model")
    assert (files / "cli.model").read_bytes() == (files / "matrix.model").read_bytes()
    lines = run("predict", files / "python.model", files / "train.txt", "--format", "jsonl", "--top", 3).splitlines()
    opened = Model.open(files / "cli.model")
    for found, line in zip(opened.predict(x, 3), lines):
        expected = json.loads(line)["labels"]
        assert [str(entry["id"]) for entry in expected] == [name for name, _ in found]
        assert np.float32([entry["probability"] for entry in expected]).tolist() == [p for _, p in found]


def test_embeddings_are_the_same(files, data):
    run("embed", files / "train.txt", "-k", 5, "-o", files / "labels.safetensors", "--quiet")
    opened = LabelEmbedding.open(files / "labels.safetensors")
    assert opened.transform(data[0]).shape == (600, 5) and opened.label_embedding_.shape == (20, 5)
    opened.save(files / "again.safetensors")
    assert (files / "again.safetensors").read_bytes() == (files / "labels.safetensors").read_bytes()
    near = json.loads(run("neighbors", files / "again.safetensors", "3", "--json", "--top", 2))["neighbors"]
    assert opened.neighbors(3, 2) == [(n["id"], n["cosine"]) for n in near]
    assert (pickle.loads(pickle.dumps(opened)).transform(data[0]) == opened.transform(data[0])).all()


def test_the_command_line(files):
    version = run("--version")
    assert version.startswith("rembrandt ")
    failed = subprocess.run([sys.executable, "-m", "rembrandt", "train", "nothing.txt", "-o", files / "a"], capture_output=True)
    assert failed.returncode == 2 and failed.stderr.startswith(b"error: nothing.txt: ") and failed.stderr.count(b"\n") == 1
    # A comparison trains in processes of their own, which are `python -m rembrandt` too.
    table = run("compare", files / "train.txt", files / "train.txt", "--methods", "rembrandt", "--work", files / "w", "--quiet", "--json")
    assert "p@1" in table


def test_caches(files, data):
    converted = Dataset.convert(files / "train.txt", files / "train.rmb")
    assert converted.is_mapped and converted.shape == (600, 90, 20)
    assert converted.fingerprint == Dataset(*data).fingerprint == Dataset.read(files / "train.txt").fingerprint
    train(converted).save(files / "cached.model")
    train(files / "train.txt").save(files / "read.model")
    assert (files / "cached.model").read_bytes() == (files / "read.model").read_bytes()


def test_evaluation(fitted, data, files):
    x, y = data
    found = fitted.evaluate(x, y)
    assert found["p@1"] > 0.95 and found["n"] == 600 and len(found["intervals"]["ndcg@5"]) == 2
    assert found["level"] == 0.9 and sum(bin["examples"] for bin in found["reliability"]) == 600
    assert sum(band["labels"] for band in found["bands"]) == 20 and isinstance(found["confusions"], list)
    model = fitted.model_
    for other in (model.evaluate(x, y), model.evaluate(Dataset(x, y)), model.evaluate(files / "train.txt")):
        assert [other[name] for name in ("p@1", "psp@5", "ece")] == [found[name] for name in ("p@1", "psp@5", "ece")]
    with pytest.raises(ValueError, match="19 columns, and the model has 20 labels"):
        model.evaluate(x, y[:, :19])


def test_questions(texts, tmp_path):
    given, labels = texts
    model = train(Dataset(given, labels))
    assert model.reads_texts and model.report["held_out"]["p@1"] > 0.5
    why = model.explain("is it about chess", "games", top=3)
    assert why["label"] == "games" and why["features"][0]["name"] == "chess"
    assert np.isclose(why["base"] + sum(c["contribution"] for c in model.explain("is it about chess", "games", top=99)["features"]), why["log_odds"])
    assert len(model.neighbors("games", 2)) == 2
    more = model.add_label("paper", ["paper and pencil things", "paper about paper things"])
    assert (more.n_labels, model.n_labels) == (model.n_labels + 1, len(model.label_names))
    assert more.neighbors("paper", 1)
    assert [name for name, _ in model.predict("about wine", 2, labels=["games", "art"])[0]][0] in ("games", "art")
    assert model.predict("something unheard of", threshold=1.0) == [[]]
    assert model.evaluate(given, labels, bootstrap=0)["p@1"] > 0.9
    model.compact().save(tmp_path / "small.model")
    assert Model.open(tmp_path / "small.model").predict("about wine")[0][0][0] == model.predict("about wine")[0][0][0]
    for wrong, message in [
        (lambda: model.find_label("game"), "did you mean"),
        (lambda: model.predict("x", 0), "at least one label"),
        (lambda: model.predict("x", threshold=2.0), "not a probability"),
        (lambda: model.predict("x", threshold="no"), "neither"),
        (lambda: model.label_name(99), "99 is not a label"),
        (lambda: model.find_label(99), "99 is not a label"),
        (lambda: model.predict(np.eye(3)), "list of str"),
        (lambda: model.evaluate(given), "y: "),
        (lambda: model.predict("x", 1.5), "whole number"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()


def test_a_text_file_gives_the_same_bytes(texts, tmp_path):
    given, labels = texts
    lines = [json.dumps({"text": text, "labels": row}) for text, row in zip(given, labels)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines) + "\n")
    run("train", tmp_path / "train.jsonl", "--text", "-o", tmp_path / "cli.model", "--quiet")
    train(tmp_path / "train.jsonl", text=True).save(tmp_path / "python.model")
    assert (tmp_path / "cli.model").read_bytes() == (tmp_path / "python.model").read_bytes()


def test_checkpoints(files, tmp_path):
    expected = train(files / "train.txt")._native.to_bytes()
    stopped = train_until(files / "train.txt", tmp_path / "partial")
    assert (train(files / "train.txt", checkpoint=tmp_path / "partial")._native.to_bytes() == expected).all()
    assert stopped and not (tmp_path / "partial").exists()


def train_until(path, folder):
    class Enough(Exception):
        pass

    def progress(stage, done, total):
        raise Enough

    try:
        train(path, checkpoint=folder, progress=progress)
    except Enough:
        return True
    # It was over before the first look.
    folder.mkdir(exist_ok=True)
    return True


def test_methods_by_name(data):
    x, y = data
    forest = train(Dataset(x, y), method="fastxml", params={"trees": 2})
    assert forest.n_components == 0 and forest.params["trees"] == 2
    with pytest.raises(ValueError, match="a model of trees"):
        forest.neighbors(0)
    assert isinstance(RembrandtClassifier(head="independent").fit(x, y).model_.report, dict)
