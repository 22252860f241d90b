#!/bin/sh
# How the golden files were made. Usage: make.sh BINARY DIRECTORY
#
# The files in the repository stand for what the version of commit 4b53251 wrote, and must never be made again: this
# script shows what each of them is, and its options are those of that version. It writes to a new directory only.
# What a later version writes goes into files of other names.
set -eu

[ $# -eq 2 ] || { echo "usage: make.sh BINARY DIRECTORY" >&2; exit 2; }
[ ! -e "$2" ] || { echo "$2 exists already, and golden files are not made again" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
mkdir -p "$2/models" "$2/embeddings" "$2/caches"
cd "$2"
python3 "$here/data.py" data

names="--label-names data/multi-labels.txt --feature-names data/multi-features.txt"
multi="data/multi-train.txt $names -k 6 --no-tune"
single="data/single-train.txt -k 6 --no-tune"
wide="data/wide-train.txt -k 4 --no-tune"
texts="data/texts-train.csv --text -k 5 --no-tune"

# train NAME OPTION...: a model.
train() {
    name=$1
    shift
    "$bin" train "$@" --quiet -o "models/$name.model"
}

# outcome NAME INPUT TOP: the rows that `inspect` has for a model, and what it predicts.
outcome() {
    of=models/$1
    "$bin" inspect "$of.model" | sed 's/  .*//' > "$of.inspect.txt"
    "$bin" predict "$of.model" "data/$2" --quiet --format jsonl --top "$3" > "$of.jsonl"
    "$bin" predict "$of.model" "data/$2" --quiet --format jsonl --top "$3" --threshold auto > "$of.auto.jsonl"
    case $1 in shortlist*)
        "$bin" predict "$of.model" "data/$2" --quiet --format jsonl --top "$3" --exact > "$of.exact.jsonl" ;;
    esac
}

# ---- several labels: format version 1 ----
train ilr $multi --head ilr
train ls $multi --head ls
train unnamed data/multi-train.txt -k 6 --no-tune --head ilr
train tuned data/multi-train.txt $names --copies-together --random-features none
train compact $multi --head ilr --compact
train center $multi --head ilr --center
train bias $multi --head ls --bias
train tfidf $multi --head ilr --tfidf
train normalize $multi --head ilr --normalize
train tfidf-normalize $multi --head ilr --tfidf --normalize
train propensity $multi --head ilr --propensity
train random-features $multi --head ilr --random-features gaussian:24
train cs $multi --method cs
train pca $multi --method pca
train plst $multi --method plst
train cplst $multi --method cplst
# ---- version 2 ----
train cs-omp $multi --method cs-omp
train fastxml data/multi-train.txt $names --method fastxml --trees 3
train fastxml-scaled data/multi-train.txt $names --method fastxml --trees 3 --scale-rows length
train lpsr data/multi-train.txt $names --method lpsr --leaf-examples 20
# ---- version 4 ----
train evidence-ilr $multi --head ilr --evidence 1
train evidence-ls $multi --head ls --evidence 2
train evidence-random-features $multi --head ilr --evidence 1 --random-features quasi-matern3:24
# ---- labels added, one and two ----
for of in ilr compact evidence-ilr random-features; do
    "$bin" add-label "models/$of.model" data/multi-new.txt --name "a new label" --quiet -o "models/added-$of.model"
done
"$bin" add-label models/added-ilr.model data/multi-new.txt --name "another" --quiet -o models/added-twice.model
for model in ilr ls unnamed tuned compact center bias tfidf normalize tfidf-normalize propensity random-features cs \
    pca plst cplst cs-omp fastxml fastxml-scaled lpsr evidence-ilr evidence-ls \
    evidence-random-features added-ilr added-compact added-evidence-ilr added-random-features added-twice
do
    outcome "$model" multi.txt 100
done

# ---- one label per example: softmax, version 1; trees, version 2; evidence, version 4 ----
train lr $single --head lr
train lr-random-features $single --head lr --random-features quasi-cauchy:24
train evidence-lr $single --head lr --evidence 1
train lomtree data/single-train.txt --method lomtree
train label-tree data/single-train.txt --method label-tree
train label-tree-flat data/single-train.txt --method label-tree --depth 1
train label-tree-confusion data/single-train.txt --method label-tree --rank 6 --branching 3 --affinity confusion
for model in lr lr-random-features evidence-lr lomtree label-tree label-tree-flat label-tree-confusion; do
    outcome "$model" single.txt 100
done

# ---- texts: version 1, and 4 with evidence ----
train text $texts --head ilr
train text-compact-evidence $texts --head ilr --compact --evidence 1
train text-ngrams $texts --head ilr --word-ngrams 1-2 --char-ngrams 3-4 --max-features 60 --sublinear
train text-hashed $texts --head ilr --hash-bits 6 --weighting tf --keep-case
train text-fastxml data/texts-train.csv --text --method fastxml --trees 2
"$bin" add-label models/text.model data/texts-new.csv --name "a new topic" --quiet -o models/text-added.model
for model in text text-compact-evidence text-ngrams text-hashed text-fastxml text-added; do
    outcome "$model" texts.csv 100
done

# ---- lists of likely labels, which `train` makes of many more labels only: versions 1 and 4 ----
for kind in "ilr --head ilr" "lr --head lr" "ls --head ls" "evidence-compact --head ilr --evidence 1 --compact"; do
    of=${kind%% *}
    train "without-lists" $wide ${kind#* }
    "$bin" shortlist models/without-lists.model data/wide-train.txt --quiet -o "models/shortlist-$of.model"
    rm models/without-lists.model
    outcome "shortlist-$of" wide.txt 20
done

# ---- embeddings: version 1, and 2 where rows are divided ----
embed() {
    name=$1
    shift
    "$bin" embed "$@" -k 6 --quiet -o "embeddings/$name.safetensors"
    "$bin" inspect "embeddings/$name.safetensors" --json > "embeddings/$name.inspect.json"
}
embed plain data/multi-train.txt $names
embed unnamed data/multi-train.txt
embed bias data/multi-train.txt $names --bias
embed center data/multi-train.txt $names --center
embed paper data/multi-train.txt $names --solver paper
embed by-length data/multi-train.txt $names --scale-rows length
embed by-sum data/multi-train.txt $names --scale-rows sum
embed words data/single-train.txt
for file in embeddings/*.safetensors; do
    for label in 0 1 2 3; do
        "$bin" neighbors "$file" $label --top 100 --json
    done > "${file%.safetensors}.neighbors.jsonl"
done

# ---- caches ----
cache() {
    name=$1
    shift
    "$bin" convert "$@" --quiet -o "caches/$name.rmb"
    "$bin" inspect "caches/$name.rmb" --verify --json > "caches/$name.inspect.json"
}
cache multi data/multi-train.txt $names
cache single data/single-train.txt
cache weighted data/weighted.txt
