"""`predict`: lines that are the model's own numbers, from every kind of file."""

import csv
import gzip
import json

import numpy as np
import pytest

from kernelweave import RBF, MKLClassifier, MKLRegressor, load, save
from kernelweave.cli.predict import csv_line
from kernelweave.io import fasta, read_fasta, records


@pytest.fixture
def model(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree(degree=5)", "--output", "m.kw")
    return load("m.kw")


def lines(text):
    return [line.split("\t") for line in text.splitlines()]


def test_scores_are_those_of_the_model_to_the_last_bit(kw, model):
    head, *rows = lines(kw("predict", "m.kw", "new.fa").stdout)
    sequences, ids = read_fasta("new.fa")
    assert head == ["id", "score", "class"]
    assert [row[0] for row in rows] == ids
    assert [float(row[1]) for row in rows] == model.decision_function(sequences).tolist()
    assert [int(row[2]) for row in rows] == model.predict(sequences).tolist()


def test_row_77_paths_with_spaces_and_other_letters(kw, folder):
    place = folder / "Übung 1 – données"
    place.mkdir()
    for name in ("pos.fa", "neg.fa", "new.fa"):
        (folder / name).rename(place / f"my {name}")
    model = place / "модель 1.kw"
    kw("fit", place / "my pos.fa", place / "my neg.fa", "--kernel", "Spectrum(k=3)", "--output", model)
    assert len(lines(kw("predict", model, place / "my new.fa").stdout)) == 9


def test_output_json_standard_input_and_gzip_say_the_same(kw, model, folder):
    text = kw("predict", "m.kw", "new.fa").stdout
    assert kw("predict", "m.kw", "new.fa", "--output", "out.tsv").stdout == ""
    assert (folder / "out.tsv").read_text() == text
    data = (folder / "new.fa").read_bytes()
    assert kw("predict", "m.kw", "-", stdin=data).stdout == text
    assert kw("predict", "m.kw", "-", stdin=gzip.compress(data)).stdout == text
    objects = [json.loads(line) for line in kw("predict", "m.kw", "new.fa", "--json").stdout.splitlines()]
    assert [[o["id"], str(o["score"]), str(o["class"])] for o in objects] == lines(text)[1:]


def test_a_file_of_commas_is_read_as_one(kw, model, folder):
    text = kw("predict", "m.kw", "new.fa").stdout
    kw("predict", "m.kw", "new.fa", "--output", "out.csv")
    with open(folder / "out.csv", newline="") as file:
        assert list(csv.reader(file)) == lines(text)
    assert csv_line(["a,1", 'say "b"', 2]) == '"a,1","say ""b""",2\n'


def test_several_files_and_repeated_ids(kw, model):
    rows = lines(kw("predict", "m.kw", "new.fa", "new.fa").stdout)[1:]
    assert [row[0] for row in rows[8:10]] == ["x0_2", "x1_2"]
    assert [row[2] for row in rows[8:]] == [row[2] for row in rows[:8]]
    assert [float(row[1]) for row in rows[8:]] == pytest.approx([float(row[1]) for row in rows[:8]], abs=1e-9)


def test_a_letter_that_looks_like_another_alphabet_is_read_as_in_training(kw, folder):
    (folder / "a.fa").write_text(">1\nACDEFGHIKLMNPQ\n>2\nMKVLAWYFPE\n")
    (folder / "b.fa").write_text(">3\nSTVWYRHKDE\n>4\nLLKWWPPGGH\n")
    kw("fit", "a.fa", "b.fa", "--kernel", "Spectrum(k=1)", "--output", "p.kw")
    (folder / "c.fa").write_text(">5\nACGTACGTA\n")  # a protein, although it looks like DNA
    assert len(lines(kw("predict", "p.kw", "c.fa").stdout)) == 2


def test_table_with_columns_in_another_order_and_more_of_them(kw, folder):
    kernel = "RBF(gamma=0.01).on('age') + Spectrum(k=3).on('utr')"
    kw("fit", "table.csv", "--target", "outcome", "--kernel", kernel, "--output", "t.kw")
    text = kw("predict", "t.kw", "table.csv", "--id", "name").stdout
    rows = [line.split(",") for line in (folder / "table.csv").read_text().splitlines()]
    (folder / "new.csv").write_text("\n".join(";".join([row[3], "x", row[1], row[0]]) for row in rows))
    assert kw("predict", "t.kw", "new.csv", "--id", "r0", code=3).stderr.startswith("Error: new.csv has no column 'r0'")
    assert kw("predict", "t.kw", "new.csv", "--id", "name").stdout == text
    (folder / "lacks.csv").write_text("age\n50\n")
    assert "lacks the column 'utr'" in kw("predict", "t.kw", "lacks.csv", code=3).stderr
    assert "reads the columns 'age', 'utr' of a table" in kw("predict", "t.kw", "new.fa", code=3).stderr


def test_sequences_from_a_table_are_the_same_model(kw, model, folder):
    rows = [f"{name},{sequence}" for name, sequence in zip(*reversed(read_fasta("new.fa")), strict=True)]
    (folder / "new.csv").write_text("id,window\n" + "\n".join(rows))
    expected = kw("predict", "m.kw", "new.fa").stdout
    assert kw("predict", "m.kw", "new.csv", "--columns", "window").stdout == expected


def test_more_classes_regression_and_probabilities(kw, folder):
    kw("fit", "pos.fa", "neg.fa", "new.fa", "--kernel", "Spectrum(k=2)", "--output", "c.kw")
    head, *rows = lines(kw("predict", "c.kw", "new.fa", "--all-scores").stdout)
    assert head == ["id", "score", "class", "score:neg", "score:new", "score:pos"]
    for row in rows:
        scores = dict(zip(("neg", "new", "pos"), map(float, row[3:]), strict=True))
        assert max(scores, key=scores.get) == row[2]
        assert float(row[1]) == max(scores.values())
    kw("fit", "table.csv", "--target", "age", "--columns", "gc", "--output", "r.kw")
    head, *rows = lines(kw("predict", "r.kw", "table.csv").stdout)
    assert head == ["id", "prediction"]
    assert rows[0][0] == "1"
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=2)", "--loss", "logistic", "--output", "l.kw")
    head, *rows = lines(kw("predict", "l.kw", "new.fa", "--probability").stdout)
    assert head[3:] == ["probability:-1", "probability:1"]
    assert [sum(map(float, row[3:])) for row in rows] == pytest.approx([1.0] * 8)
    assert "--loss logistic" in kw("predict", "c.kw", "new.fa", "--probability", code=2).stderr


def test_both_ends_of_an_interval_are_columns(kw, folder):
    table = ("fit", "table.csv", "--target", "age", "--columns", "gc")
    assert "nine of ten new numbers lie within" in kw(*table, "--intervals", "--output", "i.kw").stdout
    head, *rows = lines(kw("predict", "i.kw", "table.csv", "--coverage", "0.8").stdout)
    assert head == ["id", "prediction", "lower", "upper"]
    model, gc = load("i.kw"), [float(row.split(",")[2]) for row in (folder / "table.csv").read_text().splitlines()[1:]]
    wanted = model.predict_interval({"gc": np.array(gc)}, 0.8)
    np.testing.assert_array_equal([list(map(float, row[2:])) for row in rows], wanted)
    objects = kw("predict", "i.kw", "table.csv", "--coverage", "0.8", "--json").stdout.splitlines()
    assert json.loads(objects[0])["upper"] == wanted[0, 1]
    kw("fit", "--run", "i.toml", "--output", "again.kw")
    assert kw("predict", "again.kw", "table.csv", "--coverage", "0.8").stdout.splitlines()[0] == "\t".join(head)


def test_what_has_no_intervals_says_so(kw, folder, model):
    kw("fit", "table.csv", "--target", "age", "--columns", "gc", "--output", "r.kw")
    assert "was trained with --intervals" in kw("predict", "r.kw", "table.csv", "--coverage", "0.9", code=2).stderr
    assert "this one says classes" in kw("predict", "m.kw", "new.fa", "--coverage", "0.9", code=2).stderr
    assert "0.0<x<1.0" in kw("predict", "r.kw", "table.csv", "--coverage", "90", code=2).stderr
    asked = kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=2)", "--intervals", code=2).stderr
    assert "--intervals has no meaning for classification" in asked


@pytest.mark.parametrize("positive", ["1", "-1"])
def test_probabilities_of_any_loss(kw, folder, positive):
    given = ("--kernel", "Spectrum(k=2)", "--probability", "--positive", positive)
    kw("fit", "pos.fa", "neg.fa", *given, "--output", "p.kw")
    head, *rows = lines(kw("predict", "p.kw", "pos.fa", "neg.fa", "--probability").stdout)
    of_one = np.array([float(row[head.index("probability:1")]) for row in rows])
    n_pos = len(read_fasta("pos.fa")[1])
    assert of_one[:n_pos].mean() > of_one[n_pos:].mean()
    score = np.array([float(row[1]) for row in rows]) * int(positive)
    assert (np.diff(of_one[score.argsort()]) >= 0).all()
    assert "--probability" in kw("fit", "table.csv", "--target", "age", "--probability", code=2).stderr


def test_one_class_and_svmlight(kw, folder):
    kw("fit", "pos.fa", "--task", "one-class", "--kernel", "Spectrum(k=3).normalized()", "--output", "o.kw")
    rows = lines(kw("predict", "o.kw", "pos.fa").stdout)[1:]
    assert {row[2] for row in rows} <= {"1", "-1"}
    assert [row[2] for row in rows] == [str(value) for value in load("o.kw").predict(read_fasta("pos.fa")[0])]
    kw("fit", "data.svm", "--output", "s.kw")
    (folder / "one.svm").write_text("1 1:0.5\n")  # fewer columns than in training
    assert len(lines(kw("predict", "s.kw", "one.svm").stdout)) == 2


def test_blocks_do_not_show(kw, model, folder, monkeypatch):
    whole = lines(kw("predict", "m.kw", "pos.fa").stdout)
    monkeypatch.setattr(fasta, "read_batches", lambda source: records.read_batches(source, 64))
    cut = lines(kw("predict", "m.kw", "pos.fa").stdout)
    assert [(row[0], row[2]) for row in cut] == [(row[0], row[2]) for row in whole]
    # sums over other blocks round otherwise
    assert [float(row[1]) for row in cut[1:]] == pytest.approx([float(row[1]) for row in whole[1:]], abs=1e-12)


def test_wrong_lengths_name_the_file(kw, model, folder):
    (folder / "short.fa").write_text(">a\nACGT\n")
    message = kw("predict", "m.kw", "short.fa", code=3).stderr
    assert message.startswith("Error: short.fa: ")
    assert "Traceback" not in message


def test_no_partial_output(kw, model, folder):
    (folder / "bad.fa").write_text((folder / "new.fa").read_text() + ">last\nACGT-ACGTACGTACGTACGTACG\n")
    message = kw("predict", "m.kw", "bad.fa", "--output", "out.tsv", code=3).stderr
    assert "record 9 ('last'), position 5: '-'" in message
    assert not (folder / "out.tsv").exists()


def test_ids_stay_in_their_line_and_column(kw, folder):
    rng = np.random.default_rng(0)
    values = rng.normal(size=20)
    rows = "".join(f'"a\tb {i}",{v:.3f},{int(v > 0)}\n' for i, v in enumerate(values))
    (folder / "odd.csv").write_text("id,v,y\n" + rows)
    kw("fit", "odd.csv", "--target", "y", "--output", "o.kw")
    rows = lines(kw("predict", "o.kw", "odd.csv").stdout)
    assert all(len(row) == 3 for row in rows)
    assert rows[1][0] == "a b 0"


def test_a_model_of_several_targets_has_a_column_for_each(kw, folder):
    X = np.random.default_rng(0).standard_normal((30, 2))
    (folder / "two.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in X.tolist()), encoding="utf-8")
    numbers = MKLRegressor(RBF(0.5)).fit(X, np.column_stack([X, X[:, 0] * X[:, 1]]))
    labels = MKLClassifier(RBF(0.5)).fit(X, (X > 0).astype(int))
    for model, kind in ((numbers, "prediction"), (labels, "label")):
        save(model, "several.kw")
        head, *rows = lines(kw("predict", "several.kw", "two.csv").stdout)
        found = model.predict(X)
        assert head == ["id", *(f"{kind}:{t}" for t in range(found.shape[1]))]
        assert np.array_equal(np.array([row[1:] for row in rows], dtype=float), found)
