"""Registries are read once and by all: what is added to one is listed, helped with, trained, kept and loaded."""

import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass

import numpy as np
import pytest

import kernelweave.dual
import kernelweave.kernels
import kernelweave.losses
import kernelweave.mkl
import kernelweave.norms
from kernelweave import Linear, load
from kernelweave.choices import name_of
from kernelweave.cli.options import registered
from kernelweave.losses import Squared
from kernelweave.mkl import Analytic
from kernelweave.norms import LpNorm

#: Folder, name of the registry, option that chooses from it.
REGISTRIES = [
    ("losses", "LOSSES", "--loss"),
    ("norms", "NORMS", "--norm"),
    ("mkl", "SOLVERS", "--solver"),
    ("dual", "DUAL_SOLVERS", "--dual"),
]


@dataclass(eq=False, repr=False)
class Doubled(Linear):
    """k(x, y) = factor · x·y."""

    factor: float = 2.0


class Twice(Squared):
    """size (y − f)²."""

    name = "twice"

    def __init__(self, size: float = 2.0) -> None:
        self.size = float(size)

    def value(self, y, f):
        return self.size * super().value(y, f)

    def dual(self, y, C, f=None):
        return super().dual(y, self.size * C, f)

    def conjugate(self, y, coef, C):
        return super().conjugate(y, coef, self.size * C)


class Even(LpNorm):
    """‖weights‖_p = 1 with a large p, without a name of its own."""

    def __init__(self, p: float = 8.0) -> None:
        super().__init__(p)


class Formula(Analytic):
    """Alternate, under another name."""

    name = "formula"


@pytest.fixture
def added(monkeypatch):
    """One class more in every registry."""
    for module, table, kind in (
        (kernelweave.kernels, "KERNELS", Doubled),
        (kernelweave.losses, "LOSSES", Twice),
        (kernelweave.norms, "NORMS", Even),
        (kernelweave.mkl, "SOLVERS", Formula),
    ):
        monkeypatch.setattr(module, table, (*getattr(module, table), kind))
    monkeypatch.setattr(Even, "name", "even")


def test_help_lists_every_registry_without_loading_it():
    code = (
        "import sys\nfrom kernelweave.cli.options import registered\n"
        f"found = [registered(folder, table) for folder, table, _ in {REGISTRIES!r}]\n"
        "assert 'numpy' not in sys.modules\nimport json; print(json.dumps(found))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for (folder, table, _), names in zip(REGISTRIES, json.loads(done.stdout), strict=True):
        kinds = getattr(getattr(kernelweave, folder), table)
        assert names == [name_of(kind) for kind in kinds if getattr(kind, "reads", "") != "nothing"]
        assert names == registered(folder, table)


def test_help_names_all_that_there_is(kw):
    text = " ".join(kw("fit", "--help").stdout.split())
    for folder, table, option in REGISTRIES:
        assert f" {option} " in text
        assert ", ".join(registered(folder, table)) in text
    assert "{names}" not in text


def test_what_is_added_is_listed(kw, added):
    text, told = kw("kernels").stdout, json.loads(kw("kernels", "--json").stdout)
    assert told["kernels"]["Doubled"] == {"formula": "k(x, y) = factor · x·y.", "example": "Doubled(factor=2.0)"}
    assert told["losses"]["twice"] == "size (y − f)²."
    for name in ("Doubled(factor=2.0)", "twice(size=2.0)", "even(p=8.0)", "formula"):
        assert f" {name} " in text
    assert kw("kernels", "Doubled").stdout.startswith("Doubled(factor")
    text = " ".join(kw("fit", "--help").stdout.split())
    for name in ("squared, twice;", "fixed, even with", "two_stage, formula;"):
        assert name in text


def test_what_is_added_is_trained_kept_and_loaded(folder, kw, added):
    arguments = ["fit", "table.csv", "--target", "outcome", "--columns", "age,gc", "--kernel"]
    arguments += ["Doubled(factor=3.0).on('age') + Linear().on('gc')", "--loss", "twice(size=3)"]
    kw(*arguments, "--norm", "even(p=4)", "--solver", "formula", "--tol", "1e-6")
    model = load("model.kw")
    assert (model.loss, model.norm, model.solver, model.solver_) == ("twice(size=3)", "even(p=4)", "formula", "formula")
    assert np.sum(model.weights_**4) == pytest.approx(1.0)
    run = tomllib.loads((folder / "model.toml").read_text())["fit"]
    assert (run["loss"], run["norm"], run["solver"]) == ("twice(size=3)", "even(p=4)", "formula")
    kw("fit", "--run", "model.toml", "--output", "again.kw")
    assert load("again.kw").objective_ == pytest.approx(model.objective_, rel=1e-5)
    kw(*arguments[:-1], "squared", "--C", 3, "--norm", 4, "--tol", "1e-6", "--output", "plain.kw")
    assert load("plain.kw").objective_ == pytest.approx(model.objective_, rel=1e-5)
    model.set_params(loss=Twice(3.0), norm=Even(4.0), solver=Formula())
    kernelweave.save(model, "made.kw")
    assert load("made.kw").loss == Twice(3.0)


def test_parameters_reach_the_machine(folder, kw):
    numbers = ["fit", "table.csv", "--target", "age", "--columns", "gc", "--kernel", "RBF(0.5) + Linear()"]
    objectives = []
    for options in (["--loss", "epsilon_insensitive(epsilon=4)"], ["--epsilon", 4], []):
        kw(*numbers, *options, "--tol", "1e-8")
        objectives.append(load("model.kw").objective_)
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-7)
    assert objectives[0] < 0.9 * objectives[2]  # a wide tube costs less
    fit = ["fit", "pos.fa", "neg.fa", "--kernel", "Spectrum(k=2) + Spectrum(k=3) + WeightedDegree(degree=3)"]
    kw(*fit, "--solver", 'two_stage(method="alignment")', "--norm", 1.5, "--dual", "smo(working_set=16)")
    model = load("model.kw")
    assert (model.alignment_["method"], model.norm, model.dual) == ("alignment", 1.5, "smo(working_set=16)")
    kw(*fit, "--norm", "Fixed(weights=[0.5, 0, 2])")
    assert load("model.kw").weights_.tolist() == [0.5, 0.0, 2.0]
    kw("fit", "--run", "model.toml", "--output", "again.kw")
    assert load("again.kw").weights_.tolist() == [0.5, 0.0, 2.0]
    kw(*fit, "--loss", "logistic()")
    assert "probability:1" in kw("predict", "model.kw", "new.fa", "--probability").stdout


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--loss", "hing", "loss must be one of hinge, squared_hinge"),
        ("--loss", "hinge(1)", "hinge takes no parameters"),
        ("--loss", "smooth_hinge(sigma='big')", "sigma of smooth_hinge must be a number such as 5.0; got 'big'"),
        ("--loss", "smooth_hinge(sigma=-1)", "sigma must be a finite number > 0"),
        ("--loss", "smooth_hinge(sigma=print(1))", "parameters are numbers, strings"),
        ("--loss", "smooth_hinge(**{'sigma': 1})", "each parameter is given once, by its name"),
        ("--loss", "__import__('os').system('true')", "loss must be one of"),
        ("--loss", "hinge + hinge", "Parameters are typed as in"),
        ("--norm", "l2", "norm must be one of auto, simplex, lp, fixed"),
        ("--norm", "0.5", "'0.5' is not a norm"),
        ("--norm", "lp(q=2)", "lp takes p"),
        ("--solver", "two_stage(method=alignment)", "parameters are numbers, strings"),
        ("--solver", "two_stage(diagonal=1)", "diagonal of two_stage must be a truth value such as False; got 1"),
        ("--dual", "smo(working_set=1.5)", "working_set of smo must be a whole number such as 512; got 1.5"),
        ("--dual", f"smo(working_set={'9' * 400})", "larger than any that is read"),
    ],
)
def test_errors_teach(folder, kw, option, text, said):
    told = " ".join(kw("fit", "pos.fa", "neg.fa", option, text, code=2).stderr.split())
    assert said in told
    assert "`kernelweave kernels` lists what there is" in told or "is not a norm" in told


@pytest.mark.parametrize("entry", ["loss = 3", "solver = 1.5", "dual = true", "norm = [1]", "norm = 'l2'"])
def test_run_files_with_other_values_are_refused(folder, kw, entry):
    (folder / "run.toml").write_text(f'[fit]\nfiles = ["pos.fa", "neg.fa"]\n{entry}\n')
    kw("fit", "--run", "run.toml", code=2 if "l2" in entry else 3)
