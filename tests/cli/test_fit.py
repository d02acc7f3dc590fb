"""`fit`: every kind of data, every task, the run file, and what is printed."""

import json
import re
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelweave import MKLClassifier, load
from kernelweave.cli.presets import PRESETS
from kernelweave.cli.runfile import dumps
from kernelweave.io import read_fasta


def test_two_fasta_files_give_the_model_of_python(folder, kw):
    result = kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree(degree=5)", "--output", "m.kw", "--threads", 1)
    positives, negatives = (list(read_fasta(name)[0]) for name in ("pos.fa", "neg.fa"))
    model = MKLClassifier("WeightedDegree(degree=5)", random_state=0)
    model.fit(positives + negatives, [1] * 25 + [-1] * 35)
    found = load("m.kw")
    assert found.decision_function(positives) == pytest.approx(model.decision_function(positives), abs=1e-12)
    assert "60 sequences of 24 letters (dna, 360 B of memory); 35 of class -1, 25 of class 1" in result.stdout
    assert "certificate" in result.stdout
    assert "kernelweave predict m.kw" in result.stdout
    assert result.stderr == ""


def test_run_file_repeats_the_run_from_anywhere(folder, kw, monkeypatch, tmp_path):
    out = folder / "ein Ordner é"
    out.mkdir()
    kw(
        "fit",
        "pos.fa",
        "neg.fa",
        "--preset",
        "promoter",
        "--C",
        "2",
        "--class-weight",
        "1=3,-1=1",
        "--output",
        "ein Ordner é/m.kw",
    )
    run = tomllib.loads((out / "m.toml").read_text())
    assert run["fit"]["files"] == ["../pos.fa", "../neg.fa"]
    assert run["fit"]["kernel"].startswith("WeightedDegree(degree=8, shift=8)")
    assert run["result"]["converged"] is True
    first = (out / "m.kw").read_bytes()
    (out / "m.kw").unlink()
    monkeypatch.chdir("/")
    kw("fit", "--run", out / "m.toml")
    assert load(out / "m.kw").get_params()["C"] == 2
    assert _stable(out / "m.kw") == _stable_bytes(first, tmp_path)


def _stable(path):
    """What is the same in two runs: everything but the times."""
    model = load(path)
    return [model.dual_coef_.tolist(), model.intercept_.tolist(), model.weights_.tolist(), model.support_.tolist()]


def _stable_bytes(data, tmp_path):
    path = tmp_path / "first.kw"
    path.write_bytes(data)
    return _stable(path)


def test_options_beside_a_run_file_win(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=3)", "--output", "a.kw")
    kw("fit", "--run", "a.toml", "--C", "7", "--output", "b.kw")
    assert load("b.kw").C == 7
    assert repr(load("b.kw").kernel) == "Spectrum(k=3)"
    assert load("a.kw").C == 1


def test_run_file_warns_of_changed_data_and_refuses_nonsense(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=3)", "--output", "a.kw")
    with open("pos.fa", "a") as file:
        file.write(">more\nGATTACAGATTACAGATTACACCC\n")
    assert "pos.fa has changed since a.toml was written" in kw("fit", "--run", "a.toml").stderr
    (folder / "bad.toml").write_text("[fit\n")
    assert "bad.toml is not a run file" in kw("fit", "--run", "bad.toml", code=3).stderr
    (folder / "bad.toml").write_text("[other]\n")
    assert "no table [fit]" in kw("fit", "--run", "bad.toml", code=3).stderr
    (folder / "bad.toml").write_text("[fit]\nfiels = ['pos.fa']\n")
    assert "unknown entries: fiels" in kw("fit", "--run", "bad.toml", code=3).stderr
    assert "none.toml" in kw("fit", "--run", "none.toml", code=5).stderr


PLAIN = st.one_of(st.text(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.booleans())
VALUES = st.one_of(PLAIN, st.lists(PLAIN, max_size=4), st.dictionaries(st.text(min_size=1), PLAIN, max_size=3))


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), VALUES, max_size=5), max_size=3), st.text())
def test_what_is_written_as_toml_is_read_back(tables, comment):
    comment = "".join(sign for sign in comment if sign.isprintable())
    assert tomllib.loads(dumps(tables, comment)) == tables


def test_table_with_typed_kernel(folder, kw):
    kernel = "RBF(gamma=0.01).on('age') + Spectrum(k=3).on('utr')"
    kw("fit", "table.csv", "--target", "outcome", "--kernel", kernel, "--output", "t.kw")
    model = load("t.kw")
    assert model.feature_names_in_.tolist() == ["age", "utr"]  # gc is not read, so it need not be there
    assert model.classes_.tolist() == ["ill", "well"]
    assert model.weights_[0] > model.weights_[1]


def test_table_without_a_kernel_finds_the_column_that_matters(folder, kw):
    few = ("--norm", 1, "--C", 1)  # the choice by itself may be one kernel on both columns
    result = kw("fit", "table.csv", "--target", "outcome", "--columns", "age,gc", "--json", *few)
    told = json.loads(result.stdout)
    best = max(told["terms"], key=lambda term: term["weight"])["term"]
    assert "'age'" in best
    assert told["converged"] is True
    assert told["n_samples"] == 60


def test_columns_that_name_the_rows_are_left_out(folder, kw):
    result = kw("fit", "table.csv", "--target", "outcome", "--json")
    assert "'name' has a value of its own in every row" in result.stderr
    assert not any("'name'" in term["term"] for term in json.loads(result.stdout)["terms"])


def test_regression_one_class_and_svmlight(folder, kw):
    kw("fit", "table.csv", "--target", "age", "--columns", "gc", "--output", "a.kw")
    assert type(load("a.kw")).__name__ == "MKLRegressor"
    kw(
        "fit",
        "pos.fa",
        "--task",
        "one-class",
        "--nu",
        "0.2",
        "--kernel",
        "Spectrum(k=2).normalized()",
        "--output",
        "b.kw",
    )
    assert load("b.kw").nu == 0.2
    kw("fit", "data.svm", "--C", "3", "--output", "c.kw")
    assert (load("c.kw").n_features_in_, load("c.kw").C) == (3, 3)


def test_labels_in_headers_in_a_table_and_one_file_for_each_class(folder, kw):
    text = (folder / "pos.fa").read_text()
    (folder / "headers.fa").write_text(re.sub(r">p(\d*)(\d)", r">p\1\2 kind=k\2", text))
    kw("fit", "headers.fa", "--label-field", r"kind=(k\d)", "--kernel", "Spectrum(k=2)", "--output", "a.kw")
    assert load("a.kw").classes_.tolist() == [f"k{i}" for i in range(10)]
    (folder / "headers.fa").write_text(re.sub(r">p(\d*)(\d)", r">p\1\2 label=\2", text))
    kw("fit", "headers.fa", "--kernel", "Spectrum(k=2)", "--output", "a.kw")
    assert load("a.kw").classes_.tolist() == list(range(10))
    rows = "".join(f"p{i}\t{'even' if i % 2 == 0 else 'odd'}\n" for i in reversed(range(25)))
    (folder / "labels.tsv").write_text("id\tlabel\n" + rows)
    kw("fit", "pos.fa", "--labels", "labels.tsv", "--kernel", "Spectrum(k=2)", "--output", "b.kw")
    assert load("b.kw").classes_.tolist() == ["even", "odd"]
    kw("fit", "pos.fa", "neg.fa", "new.fa", "--kernel", "Spectrum(k=2)", "--output", "c.kw")
    assert load("c.kw").classes_.tolist() == ["neg", "new", "pos"]


@pytest.mark.parametrize("name", [name for name in PRESETS if name not in ("table", "text")])
def test_presets_on_sequences(folder, kw, name):
    told = json.loads(kw("fit", "pos.fa", "neg.fa", "--preset", name, "--json", "--alphabet", "dna").stdout)
    assert told["gap"] <= 1e-3


def test_preset_on_a_column_of_a_table(folder, kw):
    kw("fit", "table.csv", "--target", "outcome", "--preset", "splice", "--columns", "utr", "--output", "a.kw")
    assert repr(load("a.kw").kernel) == "WeightedDegree(degree=10, shift=3)"
    kw("fit", "table.csv", "--target", "outcome", "--preset", "splice", "--id", "name", "--output", "b.kw")
    assert repr(load("b.kw").kernel) == "WeightedDegree(degree=10, shift=3).on('utr')"
    message = kw("fit", "table.csv", "--target", "outcome", "--preset", "splice", code=3).stderr
    assert "2 columns of text: name, utr" in message


def test_text(folder, kw):
    rng = np.random.default_rng(0)
    spam = [f"win {w} money now call {w}!" for w in rng.choice(["big", "free", "easy"], 20)]
    ham = [f"see you {w} at home, love" for w in rng.choice(["tonight", "later", "soon"], 20)]
    rows = "".join(
        f'{label},"{text} {i}"\n' for label, texts in (("spam", spam), ("ham", ham)) for i, text in enumerate(texts)
    )
    (folder / "sms.csv").write_text("label,message\n" + rows)
    kw("fit", "sms.csv", "--target", "label", "--preset", "text", "--output", "a.kw")
    kw("fit", "sms.csv", "--target", "label", "--output", "b.kw")
    assert repr(load("b.kw").kernel) == "BagOfWords().normalized()"
    for name in ("a.kw", "b.kw"):
        assert load(name).predict(["call now to win money", "see you at home"]).tolist() == ["spam", "ham"]


def test_categories_and_constant_columns(folder, kw):
    rows = "".join(f"{'red' if i % 3 else 'blue'},{i % 7},5,{'yes' if i % 3 else 'no'}\n" for i in range(40))
    (folder / "c.csv").write_text("colour,number,same,y\n" + rows)
    told = json.loads(kw("fit", "c.csv", "--target", "y", "--json").stdout)
    assert not any("same" in term["term"] for term in told["terms"])
    weights = {term["term"]: term["weight"] for term in told["terms"]}
    assert weights["Categorical(levels=['blue', 'red']).on('colour')"] > 0.9


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_of_everything_with_gaps(folder, kw, ending):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 40
    table = pd.DataFrame(
        {
            "dose": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "sex": rng.choice(["m", "f", ""], n),
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "smokes": rng.random(n) < 0.5,
            "dna": ["" if rng.random() < 0.2 else "".join(rng.choice(list("ACGT"), 20)) for _ in range(n)],
            "note": ["" if rng.random() < 0.2 else " ".join(rng.choice(["cat", "mat", "hat"], 4)) for _ in range(n)],
            "y": np.where(rng.random(n) < 0.5, "ill", "well"),
        }
    ).replace("", None)
    table.loc[3, "day"] = pd.NaT
    table.to_csv("t.csv", index=False) if ending == "csv" else table.to_parquet("t.parquet")
    kw("fit", f"t.{ending}", "--target", "y", "--output", "t.kw")
    model = load("t.kw")
    assert "if_missing('expected').on('dna')" in repr(model.base_kernel_)
    assert "'dose', 'day'" in repr(model.base_kernel_)
    rows = kw("predict", "t.kw", f"t.{ending}").stdout.splitlines()[1:]
    assert [row.split("\t")[2] for row in rows] == list(model.predict(read_as(table, ending)))


def read_as(table, ending):
    """The columns as the command reads them."""
    X = {name: table[name].to_numpy() for name in table if name != "y"}
    return X if ending == "parquet" else X | {"smokes": table["smokes"].astype(str).to_numpy(dtype=object)}


def test_one_column_of_sequences_with_gaps(folder, kw):
    rows = [f"{'' if i % 7 == 0 else row},{i % 2}\n" for i, row in enumerate(["ACGTACGTAC", "TTGACCAGTA"] * 12)]
    (folder / "one.csv").write_text("dna,y\n" + "".join(rows))
    kw("fit", "one.csv", "--target", "y", "--kernel", "Spectrum(k=3).if_missing('expected')", "--output", "one.kw")
    assert len(kw("predict", "one.kw", "one.csv").stdout.splitlines()) == 25


def test_a_date_may_be_a_category(folder, kw):
    rows = [f"{'' if i == 5 else ('2020-01-01', '2021-01-01')[i % 2]},{i % 2}\n" for i in range(20)]
    (folder / "days.csv").write_text("day,y\n" + "".join(rows))
    kw("fit", "days.csv", "--target", "y", "--kernel", "Categorical().on('day')", "--output", "days.kw")
    found = [line.split("\t")[2] for line in kw("predict", "days.kw", "days.csv").stdout.splitlines()[1:]]
    assert [label for i, label in enumerate(found) if i != 5] == [str(i % 2) for i in range(20) if i != 5]


def test_packed_files_with_labels_beside(folder, kw):
    kw("convert", "pos.fa", "neg.fa", "--output", "s.kwseq")
    kw("fit", "s.kwseq", "--kernel", "Spectrum(k=3)", "--output", "a.kw")
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=3)", "--output", "b.kw")
    assert load("a.kw").dual_coef_ == pytest.approx(load("b.kw").dual_coef_)


def test_row_56_strict_says_when_it_did_not_converge(folder, kw):
    arguments = ["fit", "table.csv", "--target", "outcome", "--id", "name", "--max-iter", 1, "--tol", 1e-9]
    arguments += ["--C", 1, "--norm", 1]
    message = kw(*arguments, "--strict", "--output", "m.kw", code=4)
    assert "Not converged (max_iter)" in message.stderr
    assert load("m.kw").converged_ is False  # the model is there, and says so itself
    assert "NOT CONVERGED" in kw(*arguments, "--output", "m.kw").stdout


def test_rows_58_60_lower_case_and_short_sequences(folder, kw):
    (folder / "odd.fa").write_text((folder / "pos.fa").read_text().lower().replace(">p3\n", ">p3\n\n>p3b\n"))
    message = kw("fit", "odd.fa", "neg.fa", "--kernel", "Spectrum(k=3)", code=3).stderr
    assert "record 4 ('p3') is empty" in message
    kw("fit", "odd.fa", "neg.fa", "--kernel", "Spectrum(k=3)", "--on-short", "skip", "--output", "a.kw")
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=3)", "--output", "b.kw")
    assert load("a.kw").dual_coef_ == pytest.approx(load("b.kw").dual_coef_)


def test_short_rows_are_left_out_of_all_columns(folder, kw):
    lines = (folder / "table.csv").read_text().splitlines()
    lines[5] = lines[5].replace(lines[5].split(",")[3], "A")
    (folder / "short.csv").write_text("\n".join(lines))
    del lines[5]
    (folder / "without.csv").write_text("\n".join(lines))
    kernel = ["--target", "outcome", "--kernel", "RBF(gamma=0.01).on('age') + Spectrum(k=3).on('utr')"]
    assert "column 'utr'" in kw("fit", "short.csv", *kernel, "--min-length", 3, code=3).stderr
    kw("fit", "short.csv", *kernel, "--min-length", 3, "--on-short", "skip", "--output", "a.kw")
    kw("fit", "without.csv", *kernel, "--output", "b.kw")
    assert load("a.kw").dual_coef_ == pytest.approx(load("b.kw").dual_coef_)


def test_row_71_memory_is_known_before_it_is_spent(folder, kw):
    said = " ".join(kw("fit", "pos.fa", "neg.fa", "--memory", "1GB").stdout.split())
    assert "memory matrices in double precision: about" in said
    assert "beside the data, of 1 GB allowed" in said
    said = " ".join(kw("fit", "pos.fa", "neg.fa", "--memory", "5kB").stdout.split())
    assert "memory no matrix: about" in said
    assert "matrices of all terms do not fit" in said


def test_shards_are_written_fitted_and_predicted(folder, kw):
    told = json.loads(kw("convert", "pos.fa", "neg.fa", "--shards", 3, "--output", "s.kwseq", "--json").stdout)
    names = ["s.00.kwseq", "s.01.kwseq", "s.02.kwseq"]
    assert told["shards"] == names
    beside = [name.replace(".kwseq", ".labels.tsv") for name in names]
    assert sorted(path.name for path in folder.glob("s.*")) == sorted(names + beside), "nothing else is left"
    fit = ["--kernel", "Spectrum(k=3)", "--dual", "active_set"]
    shown = kw("fit", *names, *fit, "--engine", "threads:2", "--output", "a.kw").stdout
    assert "60 sequences of 24 letters (dna, 3 mapped files)" in " ".join(shown.split())
    kw("fit", "pos.fa", "neg.fa", *fit, "--output", "b.kw")
    assert load("a.kw").dual_coef_ == pytest.approx(load("b.kw").dual_coef_)
    whole = kw("predict", "a.kw", "pos.fa", "neg.fa").stdout
    parts = kw("predict", "a.kw", *names, "--engine", "threads:2").stdout
    assert [row.split("\t")[0] for row in parts.splitlines()] == [row.split("\t")[0] for row in whole.splitlines()]
    scores = [[float(row.split("\t")[1]) for row in text.splitlines()[1:]] for text in (whole, parts)]
    assert scores[0] == pytest.approx(scores[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "mpi"], "engine must be a Dask client"),
        (["--engine", "dask"], "needs --scheduler-file"),
        (["--scheduler-file", "s.json"], "goes with --engine dask"),
        (["--engine", "dask", "--scheduler-file", "s.json"], "no scheduler file"),
    ],
)
def test_engines_that_are_none(folder, kw, options, message):
    assert message in " ".join(kw("fit", "pos.fa", "neg.fa", *options, code=2).stderr.split())
