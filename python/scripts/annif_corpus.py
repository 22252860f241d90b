"""Writes texts with labels as an Annif corpus: `python annif_corpus.py DATA FOLDER`.

DATA holds `train.raw.txt.zst`, `test.raw.txt.zst` (lines of `label,label<TAB>text`) and `labels.txt.zst`; FOLDER gets a
vocabulary `tags.tsv` and the document corpora `train.tsv` and `test.tsv`.
"""

import pathlib
import subprocess
import sys


def lines(path: pathlib.Path) -> list[str]:
    """Lines of a compressed file."""
    done = subprocess.run(["zstd", "-dc", str(path)], check=True, capture_output=True)
    return done.stdout.decode("utf-8").splitlines()


def main(data: pathlib.Path, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = lines(data / "labels.txt.zst")
    uri = "<http://example.org/tag/{}>".format
    (folder / "tags.tsv").write_text("".join(f"{uri(i)}\t{name}\n" for i, name in enumerate(names)), "utf-8")
    for part in ("train", "test"):
        rows = (line.split("\t", 1) for line in lines(data / f"{part}.raw.txt.zst"))
        corpus = (f"{text}\t{' '.join(map(uri, labels.split(',')))}\n" for labels, text in rows if labels)
        (folder / f"{part}.tsv").write_text("".join(corpus), "utf-8")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
