"""A backend for Annif, the subject indexer of the National Library of Finland.

`python -m rembrandt.annif` is the command `annif` with a backend `rembrandt` more, of which a project file says:

    [tags-rembrandt]
    name=Tags by Rembrandt
    language=en
    backend=rembrandt
    analyzer=snowball(english)
    vocab=tags

Its parameters are `limit`, `min_df` and `ngram`, as for other backends, and `ridge`, `cost` and `k`, which training chooses
where they are not given. All cores are used with a single job.
"""

from __future__ import annotations

import os
from typing import Any

import annif.backend
import annif.eval
import annif.util
import numpy as np
from annif.backend import backend, hyperopt, mixins
from annif.exception import NotInitializedException, NotSupportedException
from annif.suggestion import SuggestionBatch
from scipy import sparse

from rembrandt._data import Dataset
from rembrandt._model import Model, train

#: Settings of a training that a project may give.
SETTINGS = {"ridge": float, "k": int, "cost": float}


class Objective(hyperopt.HPObjective):
    """How good a setting is on documents that were not trained on."""

    @classmethod
    def objective(cls, trial: Any, args: dict[str, Any]) -> float:
        """Train and evaluate."""
        most = min(200, args["x"].shape[1], args["y"].shape[1])
        tried = {
            "cost": trial.suggest_float("cost", 0.05, 5.0, log=True),
            "k": trial.suggest_int("k", min(20, most), most, log=True),
        }
        model = trained(args["x"], args["y"], tried, None)
        found = suggestions(model, args["held_out"], int(args["limit"]), args["subjects"])
        batch = annif.eval.EvaluationBatch(args["subjects"])
        batch.evaluate_many(found, args["gold"])
        return float(batch.results(metrics=[args["metric"]])[args["metric"]])


class Optimizer(hyperopt.HyperparameterOptimizer):
    """Looks for the best settings."""

    def _prepare(self, n_jobs: int = 1) -> dict[str, Any]:
        own = self._backend
        own.initialize_vectorizer()
        x, y = own.load_training()
        documents = list(self._corpus.documents)
        return {
            "x": x,
            "y": y,
            "held_out": own.vectorizer.transform([document.text for document in documents]),
            "gold": [document.subject_set for document in documents],
            "subjects": own.project.subjects,
            "limit": own.params["limit"],
            "metric": self._metric,
        }

    def _postprocess(self, study: Any) -> Any:
        best = study.best_params
        lines = [f"cost={best['cost']:.4f}", f"k={best['k']}"]
        return hyperopt.HPRecommendation(lines=lines, score=study.best_value)


class RembrandtBackend(
    mixins.TfidfVectorizerMixin, hyperopt.AnnifHyperoptBackend, backend.AnnifLearningBackend
):
    """Rembrandt inside Annif."""

    name = "rembrandt"
    _model: Model | None = None

    MODEL_FILE = "rembrandt-model"
    TRAIN_FILES = ("rembrandt-train-x.npz", "rembrandt-train-y.npz")
    DEFAULT_PARAMETERS = {"min_df": 1, "ngram": 1}

    def get_hp_optimizer(self, corpus: Any, metric: str) -> Optimizer:
        """Look for settings that are best for `metric` on a corpus."""
        return Optimizer(self, corpus, metric, Objective)

    def initialize(self, parallel: bool = False) -> None:
        """Load what suggesting needs."""
        self.initialize_vectorizer()
        if self._model is None:
            path = self._path(self.MODEL_FILE)
            if not os.path.exists(path):
                raise NotInitializedException(f"model {path} not found", backend_id=self.backend_id)
            self._model = Model.open(path)

    def load_training(self) -> tuple[Any, Any]:
        """The data of the last training."""
        paths = [self._path(name) for name in self.TRAIN_FILES]
        if not all(map(os.path.exists, paths)):
            raise NotInitializedException("there are no data of an earlier training", backend_id=self.backend_id)
        x, y = (sparse.load_npz(path) for path in paths)
        return x, y

    def _path(self, name: str) -> str:
        return os.path.join(self.datadir, name)

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        if corpus == "cached":
            self.info("reusing training data of an earlier run")
            x, y = self.load_training()
        else:
            if corpus.is_empty():
                raise NotSupportedException("Cannot train rembrandt project with no documents")
            texts, y = self._read(corpus)
            settings = {
                "min_df": int(params["min_df"]),
                "ngram_range": (1, int(params["ngram"])),
                "tokenizer": self.project.analyzer.tokenize_words,
                "dtype": np.float32,
            }
            x = self.create_vectorizer(texts, settings)
            self._save_training(x, y)
        self._fit(x, y, params, jobs)

    def _learn(self, corpus: Any, params: dict[str, Any]) -> None:
        """More documents, weighed by the words of the first: training all again takes seconds to minutes."""
        self.initialize_vectorizer()
        x, y = self.load_training()
        texts, more = self._read(corpus)
        x, y = sparse.vstack([x, self.vectorizer.transform(texts)]).tocsr(), sparse.vstack([y, more]).tocsr()
        self._save_training(x, y)
        self._fit(x, y, params, 0)

    def _read(self, corpus: Any) -> tuple[list[str], Any]:
        """Texts, and the subjects of each."""
        texts, indptr, indices = [], [0], []
        for document in corpus.documents:
            subjects = sorted(set(document.subject_set))
            if subjects:
                texts.append(document.text)
                indices.extend(subjects)
                indptr.append(len(indices))
        y = sparse.csr_matrix(
            (np.ones(len(indices), np.float32), indices, indptr), shape=(len(texts), len(self.project.subjects))
        )
        return texts, y

    def _save_training(self, x: Any, y: Any) -> None:
        for matrix, name in zip((x, y), self.TRAIN_FILES):
            annif.util.atomic_save(matrix, self.datadir, name, method=save_npz)

    def _fit(self, x: Any, y: Any, params: dict[str, Any], jobs: int) -> None:
        self.info("training a model")
        chosen = {name: kind(params[name]) for name, kind in SETTINGS.items() if params.get(name) is not None}
        self._model = trained(x, y, chosen, jobs or None)
        self._model.save(self._path(self.MODEL_FILE))

    def _suggest_batch(self, documents: list[Any], params: dict[str, Any]) -> Any:
        x = self.vectorizer.transform([document.text for document in documents])
        return suggestions(self._model, x, int(params["limit"]), self.project.subjects)


def save_npz(matrix: Any, path: str) -> None:
    """Write a matrix to exactly this path."""
    with open(path, "wb") as file:
        sparse.save_npz(file, matrix)


def trained(x: Any, y: Any, settings: dict[str, Any], jobs: int | None) -> Model:
    """A model of documents that have words."""
    known = np.flatnonzero(np.diff(x.indptr))
    settings = dict(settings)
    params = {"cost": settings.pop("cost")} if "cost" in settings else {}
    return train(Dataset(x[known], y[known]), params=params, n_jobs=jobs, **settings)


def suggestions(model: Any, x: Any, limit: int, subjects: Any) -> Any:
    """The best subjects of documents; none of one without a known word, and none that the vocabulary has dropped."""
    found = model.predict_sparse(x, min(limit, model.n_labels))
    found.data[np.repeat(np.diff(x.indptr) == 0, np.diff(found.indptr))] = 0
    for column in np.unique(found.indices):
        try:
            subjects[int(column)]
        except IndexError:
            found.data[found.indices == column] = 0
    found.eliminate_zeros()
    return SuggestionBatch(sparse.csr_array(found))


def main() -> None:
    """The command `annif` with the backend."""
    from annif.cli import cli

    annif.backend._backend_fns["rembrandt"] = lambda: RembrandtBackend
    cli(prog_name="annif")


if __name__ == "__main__":
    # By its name, so that what is pickled for other processes is found there.
    from importlib import import_module

    import_module("rembrandt.annif").main()
