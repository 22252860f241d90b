#!/usr/bin/env python3
"""Makes the data behind the golden files up: the same bytes on every run. Usage: data.py DIRECTORY

Each label has a few features of its own, among noise. NAME-train is what models are trained on, NAME what they predict.
"""

import sys
from pathlib import Path

SYLLABLES = ["ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "zo"]


class Random:
    """A linear congruential generator, so that no library's choice of one matters."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def word(i):
    return SYLLABLES[i % 12] + SYLLABLES[(5 * i + i // 12) % 12] + "nrst"[i // 12 % 4]


def rows(random, n, d, c, labels_at_most, own=3, noise=3):
    """Labels and (feature, value) of n examples; the features of label l begin at own·l."""
    for _ in range(n):
        # The lesser of two draws: some labels are more frequent than others.
        draws = [min(random.below(c), random.below(c)) for _ in range(1 + random.below(labels_at_most))]
        labels = sorted(set(draws))
        features = {(own * l + j) % d for l in labels for j in range(own) if random.below(5)}
        features |= {random.below(d) for _ in range(noise)}
        yield labels, [(f, f"{1 + random.below(2)}.{random.below(10)}") for f in sorted(features)]


def numbers(examples, head=""):
    lines = [",".join(map(str, y)) + " " + " ".join(f"{f}:{v}" for f, v in x) for y, x in examples]
    return head + "".join(line + "\n" for line in lines)


def words(examples):
    lines = [",".join("class-" + word(l) for l in y) + " " + " ".join(f"{word(f)}:{v}" for f, v in x) for y, x in examples]
    return "".join(line + "\n" for line in lines)


def weighted(examples, random):
    """As Vowpal Wabbit has them: importance, and words that count once."""
    lines = [",".join("tag-" + word(l) for l in y) + f" {1 + random.below(3)}.5 |f " + " ".join(word(f) for f, _ in x)
             for y, x in examples]
    return "".join(line + "\n" for line in lines)


def texts(examples):
    lines = []
    for i, (y, x) in enumerate(examples):
        said = [word(f).capitalize() if i % 3 == 0 else word(f) for f, _ in x]
        text = said[0] + ", " + " ".join(said[1:]) + (" \"é\" café" if i % 4 == 0 else ".")
        lines.append('"{}","{}"\n'.format(text.replace('"', '""'), ",".join("topic " + word(l) for l in y)))
    return "text,labels\n" + "".join(lines)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)

    def write(name, text):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")

    # Several labels, ids are numbers, with names at their side.
    d, c = 30, 10
    random = Random(1)
    write("multi-train.txt", numbers(rows(random, 160, d, c, 3), f"160 {d} {c}\n"))
    write("multi.txt", numbers(rows(random, 5, d, c, 3), f"5 {d} {c}\n"))
    write("multi-labels.txt", "".join(f"label {word(l)}\n" for l in range(c)))
    write("multi-features.txt", "".join(f"{word(f)}\n" for f in range(d)))
    # A label that no example of the above has: features 1, 14 and 27.
    new = [([c], [(1, "1.5"), (14, f"1.{i}"), (27, "2.0"), (5 * i, "1.0")]) for i in range(5)]
    write("multi-new.txt", numbers(([c], sorted(dict(x).items())) for _, x in new))

    # One label each, ids are words; the last example has no feature that a model could know.
    d, c = 30, 10
    random = Random(2)
    write("single-train.txt", words(rows(random, 160, d, c, 1)))
    write("single.txt", words(rows(random, 5, d, c, 1)) + f"class-{word(0)} unheard:1\n")

    # With weights.
    write("weighted.txt", weighted(rows(random, 60, 24, 8, 2), random))

    # Texts with several labels; the last one has no known word.
    d, c = 30, 8
    random = Random(3)
    write("texts-train.csv", texts(rows(random, 120, d, c, 2)))
    write("texts.csv", texts(rows(random, 5, d, c, 2)) + '"unheard of",""\n')
    write("texts-new.csv", texts([([c], [(2, ""), (13, ""), (24, ""), (3 * i, "")]) for i in range(5)]))

    # One label each, and more of them than a shortlist has (256).
    d, c = 60, 340
    random = Random(4)
    write("wide-train.txt", numbers(rows(random, 400, d, c, 1, own=2, noise=1), f"400 {d} {c}\n"))
    write("wide.txt", numbers(rows(random, 5, d, c, 1, own=2, noise=1), f"5 {d} {c}\n"))


main()
