"""One file is all that an addition takes: each of those in `additions` is checked, fitted, kept, scanned and listed."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import kernelweave.gram
import kernelweave.kernels
import kernelweave.losses
import kernelweave.norms
from kernelweave import RBF, Linear, MKLClassifier, MKLRegressor, Spectrum, load, parse, save, scan_file
from kernelweave.cli.app import cli
from kernelweave.explain import contributions, kmer_table
from kernelweave.gram import bind
from kernelweave.testing import check_gram, check_kernel, check_loss, check_norm
from kernelweave.views import as_views

HERE = Path(__file__).parent
#: Most lines that a file may have.
MAX_LINES = 40
#: Every file, and what is typed: a kernel, a loss or a norm.
ADDITIONS = {
    "listed_kernel": "Codons()",
    "vector_kernel": "Cauchy(gamma=0.5)",
    "wrapper": "Faded(keeps=0.25, kernel=Spectrum(k=3))",
    "loss": "huber(delta=0.5)",
    "norm": "rising(growth=3.0)",
    "gram": "Spectrum(k=3)",
}
#: What each registry may be extended by, from outside of the library.
REGISTRIES = [
    (kernelweave.kernels, "KERNELS"),
    (kernelweave.kernels, "WRAPPERS"),
    (kernelweave.losses, "LOSSES"),
    (kernelweave.norms, "NORMS"),
    (kernelweave.gram, "GRAMS"),
]


@pytest.fixture
def add(monkeypatch):
    """Run the file of an addition; what it registers is gone after the test. Returns what the file defines."""
    for module, table in REGISTRIES:
        monkeypatch.setattr(module, table, getattr(module, table))
    return lambda name: runpy.run_path(str(HERE / "additions" / f"{name}.py"))


def command(*arguments):
    """Return what a command prints."""
    found = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def coding(n=60, length=24):
    """Return sequences whose class is told by the codon GAT in the first frame."""
    rng = np.random.default_rng(0)
    letters = rng.choice(list("ACGT"), (n, length))
    y = np.arange(n) % 2
    for row in np.flatnonzero(y):
        at = 3 * rng.integers(length // 3)
        letters[row, at : at + 3] = list("GAT")
    return ["".join(row) for row in letters], y


def numbers(n=60):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1]


def kept(model, X, folder):
    """Return the model after a stay in a file, and check that it says the same."""
    save(model, folder / "model.kw")
    again = load(folder / "model.kw")
    decide = "decision_function" if hasattr(model, "decision_function") else "predict"
    np.testing.assert_array_equal(getattr(again, decide)(X), getattr(model, decide)(X))
    assert (repr(again.kernel), again.loss, again.norm) == (repr(model.kernel), model.loss, model.norm)
    return again


def check_scan(model, folder):
    """Check that the scores of a scan are the decision values of the windows."""
    genome = "".join(np.random.default_rng(1).choice(list("ACGT"), 60))
    (folder / "genome.fa").write_text(f">chr\n{genome}\n")
    hits = list(scan_file(model, folder / "genome.fa", strands="+", window=24))
    windows = [genome[start : start + 24] for hit in hits for start in hit.starts]
    assert len(windows) == 37
    expected = model.decision_function(windows) if hasattr(model, "decision_function") else model.predict(windows)
    np.testing.assert_allclose(np.concatenate([hit.scores for hit in hits]), expected, rtol=1e-9, atol=1e-9)


def check_listed(kind, name, typed):
    """Check that a name is listed by the command, with its first sentence, and in the table of the documentation."""
    sentence = kind.__doc__.split("\n\n")[0]
    told = json.loads(command("kernels", "--json"))
    listed = next(group[name] for group in told.values() if name in group)
    assert sentence == (listed["formula"] if isinstance(listed, dict) else listed)
    assert f" {typed} " in command("kernels")
    page = runpy.run_path(str(HERE.parent / "docs" / "make_tables.py"))["page"]()
    assert f"| `{typed}` | {sentence} |".replace("|y − f|", "\\|y − f\\|") in page


@pytest.mark.parametrize("name", ADDITIONS)
def test_a_file_is_short_and_all_there_is(name):
    text = (HERE / "additions" / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert {path.stem for path in (HERE / "additions").glob("*.py")} == set(ADDITIONS)


@pytest.mark.parametrize(
    ("name", "kind", "listed"),
    [
        ("listed_kernel", "Codons", "Codons(alphabet='dna')"),
        ("wrapper", "Faded", "Faded(kernel, keeps=0.5)"),
    ],
)
def test_kernels_on_sequences(name, kind, listed, add, tmp_path):
    defined, (X, y) = add(name), coding()
    kernel = parse(ADDITIONS[name])
    assert repr(kernel) == ADDITIONS[name]
    check_kernel(kernel, X)
    model = MKLClassifier(kernel + Spectrum(k=2), C=10.0).fit(X, y)
    assert model.score(X, y) > 0.9
    again = kept(model, X, tmp_path)
    check_scan(again, tmp_path)
    assert "GAT" in kmer_table(again, term=0, top=2)["kmer"]
    found = contributions(again, X[:5])
    assert "GAT" in found.kmers(1)["kmer"]
    added = found.intercept + found.positions.sum(axis=1) + found.unplaced
    np.testing.assert_allclose(added, again.decision_function(X[:5]))
    assert not found.unplaced.any()
    check_listed(defined[kind], kind, listed)
    assert command("kernels", kind).startswith(kind)


def test_kernels_on_numbers(add, tmp_path):
    defined, (X, y) = add("vector_kernel"), numbers()
    kernel = parse(ADDITIONS["vector_kernel"])
    check_kernel(kernel, X)
    model = MKLRegressor(kernel + Linear(), C=10.0).fit(X, y)
    assert model.score(X, y) > 0.9
    kept(model, X, tmp_path)
    check_listed(defined["Cauchy"], "Cauchy", "Cauchy(gamma=1.0)")
    assert command("kernels", "Cauchy").startswith("Cauchy(gamma")


def test_losses(add, tmp_path):
    defined, text = add("loss"), ADDITIONS["loss"]
    check_loss(defined["Huber"](0.5))
    X, y = numbers()
    model = MKLRegressor(RBF(0.3) + Linear(), loss=text, C=10.0, tol=1e-5).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.9
    kept(model, X, tmp_path)
    words, _ = coding()
    wet = MKLRegressor(Spectrum(k=2), loss=text).fit(words, np.linspace(0, 1, len(words)))
    check_scan(kept(wet, words, tmp_path), tmp_path)
    check_listed(defined["Huber"], "huber", "huber(delta=1.0)")
    assert ", huber" in " ".join(command("fit", "--help").split())


def test_norms(add, tmp_path):
    defined, text = add("norm"), ADDITIONS["norm"]
    check_norm(defined["Rising"](3.0))
    X, y = coding()
    model = MKLClassifier(Spectrum(k=1) + Spectrum(k=2) + Spectrum(k=3), norm=text, tol=1e-5).fit(X, y)
    assert model.converged_
    assert model.weights_**2 @ [1.0, 3.0, 9.0] == pytest.approx(1.0)
    check_scan(kept(model, X, tmp_path), tmp_path)
    check_listed(defined["Rising"], "rising", "rising(growth=2.0)")
    assert ", rising" in " ".join(command("fit", "--help").split())


def test_ways_to_hold_a_kernel(add, tmp_path):
    kind, (X, y) = add("gram")["TriangleGram"], coding()
    kernel = parse(ADDITIONS["gram"]) + Spectrum(k=2)
    held = bind(kernel, as_views(X))
    assert type(held) is kind
    check_gram(held)
    model = MKLClassifier(kernel, C=10.0).fit(X, y)
    assert model.memory_needed(X) == ("upper halves of matrices", 8 * 60 * 61 + 8 * 60 * 60)
    assert model.score(X, y) > 0.9
    expected = MKLClassifier(kernel, C=10.0, dual="coordinate").fit(X, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-3)
    check_scan(kept(model, X, tmp_path), tmp_path)


@pytest.mark.parametrize("name", ADDITIONS)
def test_the_command_fits_and_predicts_with_it(name, add, tmp_path, monkeypatch):
    add(name)
    monkeypatch.chdir(tmp_path)
    X, y = coding()
    Path("table.csv").write_text(
        "seq,x,y\n" + "".join(f"{s},{i % 7},{c}.5\n" for i, (s, c) in enumerate(zip(X, y, strict=True)))
    )
    options = {"loss": ["--loss", ADDITIONS["loss"]], "norm": ["--norm", ADDITIONS["norm"]]}.get(name, [])
    kernel = "Spectrum(k=2).on('seq') + RBF(0.1).on('x')"
    if not options:
        kernel = f"{ADDITIONS[name]}.on({'x' if name == 'vector_kernel' else 'seq'!r}) + RBF(0.1).on('x')"
    command("fit", "table.csv", "--target", "y", "--kernel", kernel, *options)
    told = command("predict", "model.kw", "table.csv")
    assert len(told.splitlines()) >= len(y)
