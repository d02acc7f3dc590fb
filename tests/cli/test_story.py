"""From real files to answers, by the command alone."""

import csv
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

DATA = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).parents[3] / "shared" / "data"))


def needs(*names):
    missing = [name for name in names if not (DATA / name).exists()]
    return pytest.mark.skipif(bool(missing), reason=f"real data are not at hand: {DATA}/{', '.join(missing)}")


def read_windows(name, n_positive, n_negative):
    """The first windows of each class."""
    found = {"1": [], "-1": []}
    with gzip.open(DATA / "celegans_acceptor" / name, "rt") as file:
        for row in csv.DictReader(file):
            rows = found[row["label"]]
            if len(rows) < (n_positive if row["label"] == "1" else n_negative):
                rows.append(row["sequence"])
            if len(found["1"]) == n_positive and len(found["-1"]) == n_negative:
                break
    return found["1"], found["-1"]


def write(path, rows, prefix):
    path.write_text("".join(f">{prefix}{i}\n{row}\n" for i, row in enumerate(rows)))


@needs("celegans_acceptor/train141.csv.gz", "celegans_acceptor/test141.csv.gz")
def test_splice_sites(kw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for part, sizes in (("train", (150, 600)), ("test", (50, 400))):
        for name, rows in zip(("pos", "neg"), read_windows(f"{part}141.csv.gz", *sizes), strict=True):
            write(tmp_path / f"{part}_{name}.fa", rows, f"{name}_")
    told = json.loads(kw("fit", "train_pos.fa", "train_neg.fa", "--preset", "splice", "--json").stdout)
    assert told["gap"] <= 1e-3

    lines = kw("predict", "model.kw", "test_pos.fa", "test_neg.fa").stdout.splitlines()[1:]
    truth = np.array([line.startswith("pos") for line in lines])
    area = average_precision_score(truth, [float(line.split("\t")[1]) for line in lines])
    assert area > 0.5  # chance is 0.11

    kw("explain", "model.kw", "--no-plots", "--orders", 3)
    with open("importance/importance.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    best = max(rows, key=lambda row: float(row["order 3"]))
    anchor = _place_of_ag("train_pos.fa")
    assert abs(int(best["position"]) - anchor) <= 6  # the signal is at the site

    kw("report", "model.kw", "test_pos.fa", "test_neg.fa", "--output", "report.html")
    assert Path("report.html").stat().st_size < 3_000_000

    genome = "".join(read_windows("test141.csv.gz", 3, 3)[0])
    write(tmp_path / "genome.fa", [genome], "chr")
    kw("scan", "model.kw", "genome.fa", "--at", "AG", "--output", "sites.tsv")
    with open("sites.tsv") as file:
        sites = list(csv.DictReader(file, delimiter="\t"))
    cut = [genome[int(s["start"]) : int(s["end"])] for s in sites]
    flip = str.maketrans("ACGT", "TGCA")
    cut = [w if s["strand"] == "+" else w.translate(flip)[::-1] for w, s in zip(cut, sites, strict=True)]
    assert all(window[anchor : anchor + 2] == "AG" for window in cut)
    write(tmp_path / "cut.fa", cut, "w")
    lines = kw("predict", "model.kw", "cut.fa").stdout.splitlines()[1:]
    scores = [float(line.split("\t")[1]) for line in lines]
    assert scores == pytest.approx([float(site["score"]) for site in sites], abs=1e-5)


def _place_of_ag(path):
    """Where every window of a file has AG."""
    rows = Path(path).read_text().splitlines()[1::2]
    (place,) = (i for i in range(140) if all(row[i : i + 2] == "AG" for row in rows))
    return place


@needs("uci_ionosphere/data.csv", "uci_airfoil/data.csv")
@pytest.mark.parametrize(("name", "measure", "least"), [("ionosphere", "auROC", 0.95), ("airfoil", "R2", 0.6)])
def test_tables(kw, tmp_path, monkeypatch, name, measure, least):
    monkeypatch.chdir(tmp_path)
    rows = (DATA / f"uci_{name}" / "data.csv").read_text().splitlines()
    head, rest = rows[0], np.random.default_rng(0).permutation(rows[1:])[:300]
    (tmp_path / "train.csv").write_text("\n".join([head, *rest[:220]]))
    (tmp_path / "test.csv").write_text("\n".join([head, *rest[220:]]))
    told = json.loads(kw("cv", "train.csv", "--target", "y", "--folds", 3, "--C", "1,10", "--json").stdout)
    best = max(row["scores"][measure]["mean"] for row in told["results"])
    assert best > least
    arguments = ["--kernel", told["best"]["kernel"], "--C", told["best"]["C"]]
    kw("fit", "train.csv", "--target", "y", *arguments)
    kw("report", "model.kw", "test.csv", "--target", "y")
    assert Path("report.html").stat().st_size > 10_000
    assert len(kw("predict", "model.kw", "test.csv").stdout.splitlines()) == 81
