"""What the command says of samples it was trained on, and how it ends when its surroundings are odd."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kernelweave import InputError, load
from kernelweave.cli.app import cli
from kernelweave.memory import budget_bytes

DATA = Path(__file__).parents[1] / "data"
NUMBERS = ("--kernel", "RBF(0.01).on('age') + Linear().on('gc')")
TABLE = ("table.csv", "--target", "outcome", *NUMBERS)


def cut_table(folder, name, rows):
    """Some rows of the table, as a file of their own."""
    head, *lines = (folder / "table.csv").read_text().splitlines()
    (folder / name).write_text("\n".join([head, *(lines[i] for i in rows)]) + "\n")
    return name


@pytest.fixture
def halves(folder, kw):
    """A model of the first half of a table."""
    first = cut_table(folder, "first.csv", range(40))
    kw("fit", first, "--target", "outcome", *NUMBERS, "--id", "name")
    return folder


# -- samples that were trained on


@pytest.mark.parametrize(("rows", "n_seen"), [(range(40), 40), (range(20, 60), 20), (range(40, 60), 0)])
def test_report_tells_tests_from_repetitions(halves, kw, rows, n_seen):
    given = cut_table(halves, "given.csv", rows)
    done = kw("report", "model.kw", given, "--json")  # the model knows its target
    page, told = (halves / "report.html").read_text(), json.loads(done.stdout)
    head = page[page.index("<header>") : page.index("</header>")]
    assert told["training_samples"] == 40
    n = len(rows)
    assert told["scores"].get("trained-on", {}).get("samples", 0) == n_seen
    assert told["scores"].get("held-out", {}).get("samples", 0) == n - n_seen
    if n_seen == n:
        assert "All 40 samples are the same as training samples" in done.stderr
        assert "Not a test." in head
        assert "40 samples that the model was trained on" in head
        assert "held" not in page.split("<main>")[1].split("</main>")[0]
    elif n_seen:
        assert "20 of 40 samples are the same as training samples" in done.stderr
        assert "The score below is that of the 20 others." in head
        assert "20 samples held out" in head
    else:
        assert done.stderr == ""
        assert "20 samples held out" in head
        assert "trained-on" not in page


def test_scores_of_a_report_are_those_of_the_samples(halves, kw):
    from sklearn.metrics import roc_auc_score

    given = cut_table(halves, "given.csv", range(20, 60))
    told = json.loads(kw("report", "model.kw", given, "--json").stdout)["scores"]
    rows = [line.split("\t") for line in kw("predict", "model.kw", given).stdout.splitlines()[1:]]
    truth = [line.endswith("well") for line in (halves / given).read_text().splitlines()[1:]]
    scores = [float(row[1]) for row in rows]
    assert told["trained-on"]["auROC"] == pytest.approx(roc_auc_score(truth[:20], scores[:20]))
    assert told["held-out"]["auROC"] == pytest.approx(roc_auc_score(truth[20:], scores[20:]))
    right = np.mean([row[2] == ("well" if t else "ill") for row, t in zip(rows[20:], truth[20:], strict=True)])
    assert told["held-out"]["accuracy"] == pytest.approx(right)
    printed = kw("report", "model.kw", given).stdout
    assert f"{told['held-out']['auROC']:.4f}" in printed
    assert re.search(r"held out +20 ", printed)
    assert re.search(r"trained on +20 ", printed)


def test_row74_predict_says_how_many_samples_were_trained_on(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=3)")
    (folder / "both.fa").write_text((folder / "pos.fa").read_text() + (folder / "new.fa").read_text())
    done = kw("predict", "model.kw", "both.fa")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("Note: 25 of 33 samples are the same as training samples")
    assert kw("predict", "model.kw", "new.fa").stderr == ""


def test_an_older_file_does_not_know(folder, kw):
    import kernelweave

    kw("fit", *TABLE)
    model = load("model.kw")
    model.trained_ = None  # as in files of the first version
    kernelweave.save(model, "old.kw")
    assert (
        "It is not known whether the model was trained on these samples" in kw("predict", "old.kw", "table.csv").stderr
    )
    done = kw("report", "old.kw", "table.csv", "--target", "outcome")
    assert "not known whether" in done.stderr
    page = (folder / "report.html").read_text()
    assert "It is not known whether" in page
    assert "held-out" not in page.split("<main>")[1]
    shutil.copy(DATA / "model_v1.kw", folder / "v1.kw")
    assert "training samples" not in kw("inspect", "v1.kw").stdout


def test_a_model_remembers_its_target_and_the_number_of_its_samples(halves, kw):
    told = json.loads(kw("inspect", "model.kw", "--json").stdout)
    assert (told["target"], told["training samples"], told["positive class"]) == ("outcome", 40, "well")


# -- the positive class


def test_positive_class_is_chosen_kept_and_used(folder, kw):
    plain = kw("fit", *TABLE, "--output", "a.kw").stdout
    assert "scores above 0 stand for class well; --positive ill would turn that round" in plain
    kw("fit", *TABLE, "--output", "b.kw", "--positive", "ill")
    a, b = (
        [line.split("\t") for line in kw("predict", name, "table.csv").stdout.splitlines()[1:]]
        for name in ("a.kw", "b.kw")
    )
    assert [row[2] for row in a] == [row[2] for row in b]
    np.testing.assert_allclose([float(row[1]) for row in a], [-float(row[1]) for row in b])
    assert load("b.kw").classes_.tolist() == ["well", "ill"]
    told = [json.loads(kw("report", name, "table.csv", "--json").stdout) for name in ("a.kw", "b.kw")]
    scores = [one["scores"]["trained-on"] for one in told]
    assert scores[0]["auROC"] == pytest.approx(scores[1]["auROC"])
    assert scores[0]["accuracy"] == scores[1]["accuracy"]
    assert "ill" in json.loads(kw("inspect", "b.kw", "--json").stdout)["positive class"]
    kw("fit", "--run", "b.toml", "--output", "c.kw")
    assert load("c.kw").classes_.tolist() == ["well", "ill"]
    assert "the data have 'ill' and 'well'" in kw("fit", *TABLE, "--positive", "no", code=3).stderr
    assert "two classes" in kw("fit", "table.csv", "--target", "age", "--positive", "no", code=2).stderr
    kw("cv", *TABLE, "--positive", "ill", "--folds", "2")


# -- what was read


def test_short_records_and_swapped_letters_are_said(folder, kw):
    with open("pos.fa", "a") as file:
        file.write(">short\nACG\n>rna\nACGUUACGUUACGUACGUACGUAC\n")
    done = kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=5)")
    assert "Note: 1 of 62 sequences is shorter than the 5 letters that Spectrum(k=5) reads at a time" in done.stderr
    assert "Note: U was read as T in 7 letters." in done.stderr
    assert len(load("model.kw").notes_) >= 2
    (folder / "odd.fa").write_text(">a\nACGU\n>b\nAC\n>c\nACGTACGTTTT\n")
    said = kw("predict", "model.kw", "odd.fa").stderr
    assert "2 of 3 sequences are shorter than the 5 letters" in said
    assert "U was read as T in 1 letter." in said


def test_predict_checks_its_input_before_it_writes(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=3)")
    (folder / "bad.fa").write_text(">a\nACGTA-GT\n")
    assert kw("predict", "model.kw", "bad.fa", code=3).stdout == ""
    assert kw("predict", "model.kw", "table.csv", code=3).stdout == ""


# -- odd surroundings


def shell(text):
    """Run a line of shell with $KW as the command; no line may bring a traceback."""
    line = "set -o pipefail; " + text.replace("$KW", f"'{sys.executable}' -m kernelweave")
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of its own")
def test_closed_and_broken_streams(folder, kw):
    kw("fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=3)")
    closed = shell("$KW predict model.kw new.fa >&-")
    assert closed.returncode == 5
    assert "Standard output is closed" in closed.stderr
    quiet = shell("$KW fit pos.fa neg.fa --kernel 'Spectrum(k=3)' -o quiet.kw >&- 2>&- <&-")
    assert quiet.returncode == 0
    assert load("quiet.kw").predict(["ACGT" * 6]).shape == (1,)
    assert shell("$KW kernels | true").returncode == 0
    assert shell("$KW explain model.kw --no-plots | true").returncode == 0
    assert shell("$KW fit nothing.fa 2>/dev/full").returncode == 5
    assert "No space left" in shell("$KW predict model.kw new.fa > /dev/full").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
def test_arguments_that_are_no_text(folder):
    done = shell("$KW fit $'\\xff.csv' --target outcome")
    assert done.returncode == 2
    assert "is not valid UTF-8" in done.stderr


@pytest.mark.parametrize("option", ["--threads", "--seed", "--max-iter", "--min-length"])
def test_numbers_beyond_all_measure(folder, kw, option):
    assert "is not in the range" in kw("fit", *TABLE, option, "9" * 20, code=2).stderr


def test_jobs_beyond_all_measure():
    from kernelweave.parallel import MAX_JOBS, count_cores, count_jobs

    assert count_jobs(10**20) == max(MAX_JOBS, count_cores())


BASE = '[fit]\nfiles = ["table.csv"]\ntarget = "outcome"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[fit]\nfiles = 3", "files in [fit] must be a list of text; got '3'"),
        ("[fit]\nfiles = [3]", "files in [fit] must be a list of text"),
        (BASE + "C = [1]", "C in [fit] must be a number or a name; got '[1]'"),
        (BASE + "C = {a = 1}", "C in [fit] must be a number"),
        (BASE + "C = true", "C in [fit] must be a number"),
        (BASE + "kernel = 7", "kernel in [fit] must be text"),
        (BASE + 'strict = "maybe"', "strict in [fit] must be true or false"),
        (BASE + "seed = 1.5", "seed in [fit] must be a whole number"),
        (BASE + 'output = "\\u0000"', "output in [fit] must be text"),
        ("sha256 = 3\n" + BASE, "[sha256] is not a table"),
        ("sha256 = {a = 3}\n" + BASE, "[sha256] is not a table"),
        ('[fit]\nrun = "run.toml"', "unknown entries: run"),
        ("[fit]\nfiles = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("[fit]\nC = " + "{a=" * 5000 + "1" + "}" * 5000, "nested too deeply"),
    ],
    ids=lambda text: text[:30],
)
def test_odd_run_files(folder, kw, text, message):
    (folder / "run.toml").write_text(text)
    assert message in kw("fit", "--run", "run.toml", code=3).stderr


def test_printed_kernels_show_their_lengths(folder, kw):
    from kernelweave import parse

    texts = ("Spectrum(k=6)", "WeightedDegree(degree=20)", "Mismatch(k=5, mismatches=1)", "GappedKmer(k=6, length=10)")
    for text in (*texts, "Polynomial(degree=3)"):
        assert repr(parse(text.partition("(")[0] + "()")) == text
        assert parse(text) == parse(text.partition("(")[0] + "()")
    done = kw("fit", "pos.fa", "neg.fa", "--kernel", "WeightedDegree() + Spectrum()")
    assert "WeightedDegree(degree=20) + Spectrum(k=6)" in done.stdout


@pytest.mark.parametrize("line", [f"tol = {'1' * 400}", f"memory = '{'1' * 400}'", "memory = 'infinity'"], ids=len)
def test_run_files_with_numbers_of_any_length(kw, folder, line):
    (folder / "run.toml").write_text(
        f"[fit]\nfiles = ['pos.fa', 'neg.fa']\noutput = 'm.kw'\n{line}\n", encoding="utf-8"
    )
    result = CliRunner().invoke(cli, ["fit", "--run", "run.toml"])
    assert result.exit_code in (2, 3), result.output
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("memory", [float("inf"), float("nan"), "1" * 400])
def test_memory_without_end_is_refused(memory):
    with pytest.raises(InputError, match="memory must be like"):
        budget_bytes(memory)
