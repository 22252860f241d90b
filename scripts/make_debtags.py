#!/usr/bin/env python3
"""Build data/debtags: Debian packages as bags of words, their debtags as labels.

Reads the package index that apt keeps on a Debian machine and writes

    train.txt.gz test.txt.gz     header `n d c`, then `label,label id:count id:count ...`
    labels.txt.gz                the name of label i on line i, from 0
    features.txt.gz              the word of feature i on line i, from 0

Only word counts and names are written, never a sentence of a description.

The index must hold the English long descriptions, which slim installations leave out. If they are
missing, fetch them first:

    sudo apt-get -o Acquire::Languages=en update

The result is a function of the index alone: no random numbers, no clock, no hash seeds, and gzip
headers without a time. The same index gives the same bytes wherever Python is linked to the same
version of zlib.
"""

import argparse
import gzip
import hashlib
import pathlib
import re
import subprocess
import sys
from collections import Counter

# One package in ten is held out, by source package: binary packages built from one source share most
# of their description, so splitting them would leak the test set into training.
TEST_ONE_IN = 10
# A tag needs this many training packages, a word this many, to be kept.
MIN_PACKAGES_PER_TAG = 5
MIN_PACKAGES_PER_WORD = 3
# Words in more than this share of the training packages ("the", "and", ...) say nothing about tags.
MAX_WORD_SHARE = 0.30

# Tags that describe the tagging, not the package: `special::*` marks the state of the review, and
# `TODO` that a facet still lacks a fitting tag.
ADMINISTRATIVE_TAG = re.compile(r"special::.*|.*:TODO")

# apt's own reader: it opens an index however apt chose to compress it (plain, gz, xz, lz4, zst).
APT_HELPER = "/usr/lib/apt/apt-helper"

# A name in a control file, at the start of a line.
FIELD = re.compile(r"([^\s:]+):\s*(.*)", re.DOTALL)


def read_index(lists, pattern):
    """The text of the one file in `lists` that matches `pattern`."""
    found = sorted(lists.glob(pattern))
    if not found:
        sys.exit(
            f"make_debtags: no file {pattern} in {lists}; "
            "run `sudo apt-get -o Acquire::Languages=en update` on a machine of that release, "
            "or choose another with --release and --arch"
        )
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        sys.exit(f"make_debtags: {len(found)} files match {pattern}, expected one: {names}")
    try:
        data = subprocess.run(
            [APT_HELPER, "cat-file", found[0]], check=True, stdout=subprocess.PIPE
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"make_debtags: cannot read {found[0]} with {APT_HELPER}: {error}")
    # The checksum identifies the index that a data set was made from.
    print(f"{hashlib.sha256(data).hexdigest()}  {pattern.strip('*_')}")
    return data.decode("utf-8")


def records(text):
    """The paragraphs of a control file, each as a dictionary from field to value."""
    for paragraph in text.split("\n\n"):
        record = {}
        # A line that starts with a space continues the field above it.
        for field in re.split(r"\n(?! )", paragraph.strip("\n")):
            if match := FIELD.fullmatch(field):
                record[match[1]] = match[2]
        if record:
            yield record


def expand_tags(field):
    """The tags of a `Tag:` field as a set; `a::{b,c}` is short for `a::b, a::c`."""
    tags = set()
    # Split at commas that are not inside braces.
    for item in re.split(r",(?![^{]*\})", field):
        item = item.strip()
        if braces := re.fullmatch(r"(.*)\{(.*)\}(.*)", item, re.DOTALL):
            before, choices, after = braces.groups()
            tags.update(before + choice.strip() + after for choice in choices.split(","))
        elif item:
            tags.add(item)
    return {tag for tag in tags if not ADMINISTRATIVE_TAG.fullmatch(tag)}


def count_words(text):
    """How often each word occurs. A word is a run of two letters or more, in lower case."""
    spaced = "".join(char if char.isalpha() else " " for char in text.lower())
    return Counter(word for word in spaced.split() if len(word) >= 2)


def is_test(source):
    """Whether the packages of this source are held out: a fixed property of its name."""
    digest = hashlib.sha256(source.encode()).digest()
    return int.from_bytes(digest[:8], "big") % TEST_ONE_IN == 0


def read_packages(packages, translations):
    """(source, tags, word counts) of each tagged package, ordered by package name, without duplicates."""
    # The package index holds the first line of a description and the checksum of the whole; the
    # translation index holds the whole, first line included, under that checksum.
    descriptions = {
        record["Description-md5"]: record["Description-en"]
        for record in records(translations)
        if "Description-md5" in record and "Description-en" in record
    }
    tagged = without_long = repeated = 0
    names, seen, rows = set(), set(), []
    for record in sorted(records(packages), key=lambda record: record["Package"]):
        tags = expand_tags(record.get("Tag", ""))
        if not tags or record["Package"] in names:
            continue
        names.add(record["Package"])
        tagged += 1
        description = descriptions.get(record.get("Description-md5"))
        if description is None:
            description = record.get("Description", "")
            without_long += 1
        words = count_words(description)
        # `Source: name (version)`, left out when it equals the package name.
        source = record.get("Source", record["Package"]).split()[0]
        # One source often builds many packages with the same text and tags, such as one per flavour.
        key = (source, frozenset(tags), frozenset(words.items()))
        if key in seen:
            repeated += 1
            continue
        seen.add(key)
        rows.append((source, tags, words))
    print(
        f"{tagged} tagged packages, {without_long} without a long description, "
        f"{repeated} dropped as repetitions within their source"
    )
    return rows


def number(names):
    """Ids from 0 in the given order."""
    return {name: i for i, name in enumerate(names)}


def encode(rows, labels, features):
    """The examples as text lines; those left without a label or without a word are dropped."""
    lines = []
    for _, tags, words in rows:
        ys = sorted(labels[tag] for tag in tags if tag in labels)
        xs = sorted((features[word], count) for word, count in words.items() if word in features)
        if ys and xs:
            lines.append(",".join(map(str, ys)) + "".join(f" {i}:{count}" for i, count in xs))
    return lines


def write(path, lines):
    """Lines of text, compressed, with neither a time nor a file name in the gzip header."""
    with path.open("wb") as raw:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=0) as out:
            out.write("".join(line + "\n" for line in lines).encode("utf-8"))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Build data/debtags from the index of a Debian machine.")
    parser.add_argument("--lists", type=pathlib.Path, default=pathlib.Path("/var/lib/apt/lists"),
                        help="where apt keeps its index (default: %(default)s)")
    parser.add_argument("--release", default="bookworm", help="code name (default: %(default)s)")
    parser.add_argument("--arch", default="amd64", help="architecture (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=root / "data" / "debtags",
                        help="where to write (default: data/debtags of this repository)")
    args = parser.parse_args()

    # The release itself, without its security and update suites: those change every day.
    suite = f"*_dists_{args.release}_main"
    rows = read_packages(
        read_index(args.lists, f"{suite}_binary-{args.arch}_Packages*"),
        read_index(args.lists, f"{suite}_i18n_Translation-en*"),
    )
    train = [row for row in rows if not is_test(row[0])]
    test = [row for row in rows if is_test(row[0])]

    # Labels and words are chosen on the training part alone.
    tag_packages = Counter(tag for _, tags, _ in train for tag in tags)
    labels = sorted(tag for tag, n in tag_packages.items() if n >= MIN_PACKAGES_PER_TAG)
    word_packages = Counter(word for _, _, words in train for word in words)
    frequent = {word for word, n in word_packages.items() if n > MAX_WORD_SHARE * len(train)}
    features = sorted(
        word for word, n in word_packages.items() if n >= MIN_PACKAGES_PER_WORD and word not in frequent
    )
    print(f"words in more than {MAX_WORD_SHARE:.0%} of the packages, dropped: {' '.join(sorted(frequent))}")

    args.out.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", train), ("test", test)):
        lines = encode(part, number(labels), number(features))
        write(args.out / f"{name}.txt.gz", [f"{len(lines)} {len(features)} {len(labels)}", *lines])
        print(f"{name}: {len(lines)} examples, {len(features)} features, {len(labels)} labels; "
              f"{len(part) - len(lines)} dropped for lack of a label or a word")
    write(args.out / "labels.txt.gz", labels)
    write(args.out / "features.txt.gz", features)
    total = sum(path.stat().st_size for path in args.out.glob("*.gz"))
    print(f"{total} bytes in {args.out}")


if __name__ == "__main__":
    main()
