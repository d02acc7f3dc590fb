"""cv, kernels, convert, inspect, explain, report."""

import csv
import importlib.util
import json
import re

import numpy as np
import pandas as pd
import pytest
from click.shell_completion import ShellComplete
from sklearn.model_selection import StratifiedKFold, cross_val_score

from kernelweave import MKLClassifier, load
from kernelweave.cli.app import cli
from kernelweave.cli.presets import PRESETS
from kernelweave.io import read_fasta
from kernelweave.kernels import KERNELS, parse
from kernelweave.sequences import SequenceSet

TABLE = ["table.csv", "--target", "outcome"]


def table_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


# -- cv ----------------------------------------------------------------------------------------------------------------


def test_cv_scores_are_those_of_scikit_learn(folder, kw):
    told = json.loads(kw("cv", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=3)", "--folds", 3, "--json").stdout)
    X = np.array([*read_fasta("pos.fa")[0], *read_fasta("neg.fa")[0]], dtype=object)
    y = np.repeat([1, -1], [25, 35])
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for name, scoring in (("auROC", "roc_auc"), ("auPRC", "average_precision"), ("accuracy", "accuracy")):
        expected = cross_val_score(MKLClassifier("Spectrum(k=3)"), X, y, cv=folds, scoring=scoring)
        found = told["results"][0]["scores"][name]
        assert found["folds"] == pytest.approx(expected)
        assert (found["mean"], found["std"]) == pytest.approx((expected.mean(), expected.std()))


def test_cv_searches_over_kernels_and_C(folder, kw):
    arguments = ["cv", *TABLE, "--kernel", "RBF(gamma=0.01).on('age')", "--kernel", "RBF(gamma=0.01).on('gc')"]
    told = json.loads(kw(*arguments, "--C", "0.1,10", "--folds", 3, "--json").stdout)
    assert [(row["kernel"], row["C"]) for row in told["results"]] == [
        (k, C) for k in arguments[5::2] for C in (0.1, 10)
    ]
    assert "'age'" in told["best"]["kernel"]
    text = kw(*arguments, "--C", "0.1,10", "--folds", 3).stdout
    assert f"--C {told['best']['C']:g}" in text
    assert told["best"]["kernel"] in text


def test_cv_without_a_kernel_judges_what_fit_would_train(folder, kw):
    told = kw("cv", *TABLE, "--folds", 2, "--seed", 3, "--json")
    assert told.stderr.count("Warning") == 1  # of a column that is left out
    row = json.loads(told.stdout)["results"][0]
    assert row["C"] == "auto"
    rows = pd.read_csv("table.csv", keep_default_na=False)
    X, y = rows.drop(columns="outcome"), rows["outcome"].to_numpy()
    folds = StratifiedKFold(2, shuffle=True, random_state=3)
    expected = cross_val_score(MKLClassifier(random_state=3), X, y, cv=folds)
    assert np.allclose(row["scores"]["accuracy"]["folds"], expected)
    both = kw("cv", *TABLE, "--folds", 2, "--C", "1,auto").stdout
    assert "auto" in both
    assert "--kernel" not in both


def test_cv_of_numbers_and_of_more_classes(folder, kw):
    told = json.loads(kw("cv", "table.csv", "--target", "age", "--columns", "gc", "--json").stdout)
    assert set(told["results"][0]["scores"]) == {"R2", "RMSE"}
    files = ["pos.fa", "neg.fa", "new.fa"]
    told = json.loads(kw("cv", *files, "--kernel", "Spectrum(k=3)", "--folds", 3, "--json").stdout)
    assert set(told["results"][0]["scores"]) == {"accuracy", "balanced accuracy"}
    assert "Class new has 8 samples, fewer than 9 folds" in kw("cv", *files, "--folds", 9, code=3).stderr


# -- kernels -----------------------------------------------------------------------------------------------------------


def test_every_kernel_is_listed_with_text_that_can_be_typed(kw):
    text = kw("kernels").stdout
    for name, kernel in json.loads(kw("kernels", "--json").stdout)["kernels"].items():
        assert kernel["example"] in text
        assert type(parse(kernel["example"])).__name__ == name
    for kind in KERNELS:
        # a matrix is given in Python: a command line has not got one
        assert (f" {kind.__name__}(" in text) == (kind.__name__ != "Precomputed")
    for preset in PRESETS.values():
        assert preset.about in text
        if preset.kernel:
            parse(preset.kernel)


def test_one_kernel(kw):
    text = kw("kernels", "WeightedDegree").stdout
    assert text.startswith("WeightedDegree(degree")
    assert "shift" in text
    told = json.loads(kw("kernels", "--json").stdout)
    assert set(told) == {"kernels", "wrappers", "presets", "losses", "norms", "solvers", "duals"}
    assert "is not one of Linear" in kw("kernels", "Linar", code=2).stderr


# -- convert and inspect -----------------------------------------------------------------------------------------------


def test_convert_fasta(folder, kw):
    told = json.loads(kw("convert", "pos.fa", "neg.fa", "--output", "s.kwseq", "--json").stdout)
    packed = SequenceSet.open("s.kwseq")
    packed.verify()
    assert list(packed) == [*read_fasta("pos.fa")[0], *read_fasta("neg.fa")[0]]
    rows = [line.split("\t") for line in (folder / "s.labels.tsv").read_text().splitlines()]
    assert rows[:2] == [["id", "label"], ["p0", "1"]]
    assert rows[-1] == ["n34", "-1"]
    assert (told["n"], told["alphabet"]) == (60, "dna")


def test_convert_a_table_and_one_file(folder, kw):
    kw("convert", *TABLE, "--sequence", "utr", "--id", "name", "--output", "t.kwseq")
    assert (folder / "t.labels.tsv").read_text().startswith("id\tlabel\nr0\t")
    assert len(SequenceSet.open("t.kwseq")) == 60
    assert "--sequence" in kw("convert", *TABLE, "--output", "u.kwseq", code=2).stderr
    kw("convert", "pos.fa", "--output", "p.kwseq")
    assert (folder / "p.labels.tsv").read_text().startswith("id\np0\n")
    (folder / "some.fa").write_text(">a label=1\nACGT\n>b\nACGT\n")
    assert "record 2 has no label" in kw("convert", "some.fa", "--output", "q.kwseq", code=3).stderr


def test_inspect_says_what_a_file_holds(folder, kw):
    kw("fit", *TABLE, "--kernel", "RBF(gamma=0.01).on('age') + Spectrum(k=3).on('utr')")
    told = json.loads(kw("inspect", "model.kw", "--json").stdout)
    model = load("model.kw")
    assert (told["estimator"], told["gap"], told["support samples"]) == (
        "MKLClassifier",
        model.gap_,
        len(model.support_),
    )
    assert [term["term"] for term in told["terms"]] == model.term_names_
    assert "Spectrum(k=3).on('utr')" in kw("inspect", "model.kw").stdout
    told = json.loads(kw("inspect", "pos.fa", "--json").stdout)
    assert (told["sequences"], told["length"], told["alphabet"]) == (25, 24, "dna")
    told = json.loads(kw("inspect", "table.csv", "--json").stdout)
    assert {column["column"]: column["kind"] for column in told["columns"]}["utr"] == "text"
    assert json.loads(kw("inspect", "data.svm", "--json").stdout)["rows"] == 60
    kw("convert", "pos.fa", "--output", "p.kwseq")
    assert "packed sequences" in kw("inspect", "p.kwseq").stdout
    (folder / "labelled.fa").write_text(">a label=up\nACGT\n>b label=down\nACGTA\n")
    assert "down: 1, up: 1" in kw("inspect", "labelled.fa").stdout


# -- explain and report ------------------------------------------------------------------------------------------------


def test_explain_finds_the_motif(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree(degree=6)")
    told = json.loads(kw("explain", "model.kw", "new.fa", "--output", "out", "--no-plots", "--json").stdout)
    assert told["files"] == ["terms.tsv", "kmers.tsv", "importance.tsv", "contributions.tsv"]
    rows = table_of(folder / "out/kmers.tsv")
    assert float(rows[0]["weight"]) > 0
    assert rows[0]["kmer"] in "GATTAC"
    rows = table_of(folder / "out/contributions.tsv")
    scores = load("model.kw").decision_function(read_fasta("new.fa")[0])
    assert [float(row["score"]) for row in rows] == pytest.approx(scores)
    assert [sum(float(v) for k, v in row.items() if k not in ("id", "score")) for row in rows] == pytest.approx(scores)


def test_explain_several_classes(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "new.fa", "--kernel", "WeightedDegree(degree=3)")
    told = json.loads(kw("explain", "model.kw", "new.fa", "--output", "out", "--no-plots", "--json").stdout)
    assert {"kmers-pos.tsv", "importance-neg.tsv", "contributions-new.tsv"} <= set(told["files"])
    scores = load("model.kw").decision_function(read_fasta("new.fa")[0])
    for column, name in enumerate(("neg", "new", "pos")):
        rows = table_of(folder / f"out/contributions-{name}.tsv")
        assert [float(row["score"]) for row in rows] == pytest.approx(scores[:, column])


def test_explain_draws(folder, kw):
    pytest.importorskip("matplotlib")
    kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree(degree=3).split('degree')")
    kw("explain", "model.kw", "--output", "out")
    for name in ("terms.png", "importance.png", "logo.png"):
        assert (folder / "out" / name).read_bytes().startswith(b"\x89PNG")


def test_explain_without_matplotlib_writes_its_tables(folder, kw, monkeypatch):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree(degree=3).split('degree')")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *at: None if name == "matplotlib" else find(name, *at)
    )
    assert "pip install 'kernelweave[plot]'" in kw("explain", "model.kw", "--output", "out").stderr
    assert {"terms.tsv", "kmers.tsv"} <= {path.name for path in (folder / "out").iterdir()}
    assert not list((folder / "out").glob("*.png"))


def test_explain_a_table(folder, kw):
    kw("fit", *TABLE, "--columns", "age,gc")
    told = json.loads(kw("explain", "model.kw", "table.csv", "--output", "out", "--no-plots", "--json").stdout)
    assert told["files"] == ["terms.tsv", "contributions.tsv"]


def test_report(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree(degree=3)")
    text = (folder / "new.fa").read_text()
    (folder / "new_pos.fa").write_text(re.sub(r">x0\n", ">x<script>alert(1)</script>\n", text))
    (folder / "new_neg.fa").write_text(text.replace(">x", ">y"))
    kw("report", "model.kw", "new_pos.fa", "new_neg.fa", "--output", "r.html", "--title", "Hello & goodbye")
    page = (folder / "r.html").read_text()
    assert "Hello &amp; goodbye" in page
    assert "<script>alert(1)" not in page
    kw("report", "model.kw", "--output", "plain.html")
    assert (folder / "plain.html").stat().st_size > 1000


def test_row_74_report_warns_of_sequences_that_were_trained_on(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree(degree=3)")
    assert "All 60 samples are the same as training samples" in kw("report", "model.kw", "pos.fa", "neg.fa").stderr


def test_report_with_labels_of_another_type(folder, kw):
    kw("fit", *TABLE, "--columns", "age,gc")
    text = (folder / "table.csv").read_text()
    kw("report", "model.kw", *TABLE)
    (folder / "other.csv").write_text(text.replace(",ill", ",sick"))
    assert (
        "classes sick that the model does not know"
        in kw("report", "model.kw", "other.csv", "--target", "outcome", code=3).stderr
    )


# -- completion --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "start", "expected"),
    [
        ([], "pre", ["predict"]),
        (["fit"], "--time", ["--time-limit"]),
        (["fit", "--solver"], "he", ["hessian"]),
        (["fit", "--preset"], "s", ["splice"]),
        (["fit", "--kernel"], "RBF(0.5) + Weig", ["RBF(0.5) + WeightedDegree("]),
        (["kernels"], "Sp", ["Spectrum"]),
    ],
)
def test_completion(words, start, expected):
    complete = ShellComplete(cli, {}, "kernelweave", "_KERNELWEAVE_COMPLETE")
    assert [item.value for item in complete.get_completions(words, start)] == expected
