"""Time limits: they cover a fit from its first kernel value on, and a fit without a usable machine is an error."""

import itertools
import json
import math
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelweave import (
    RBF,
    Linear,
    Mismatch,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    Spectrum,
    WeightedDegree,
    clock,
    per_feature,
)
from kernelweave.dual import dual_kind
from kernelweave.errors import KernelweaveError, TimeLimitError
from kernelweave.gram import DenseGram, base, cached, dense, pairs
from kernelweave.kernels.precomputed import Function
from kernelweave.mkl.base import Solver
from kernelweave.parallel import blocks, for_blocks

N = 90


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by a second whenever it is looked at."""
    ticks = itertools.count()
    monkeypatch.setattr(clock, "now", lambda: float(next(ticks)))
    return ticks


def numbers(n_classes=2):
    rng = np.random.default_rng(3)
    y = np.arange(N) % n_classes
    return rng.normal(size=(N, 3)) + y[:, None], y


def words(n_classes=2):
    rng = np.random.default_rng(3)
    y = np.arange(N) % n_classes
    return ["".join(rng.choice(list("ACGT"), 30)) + "GATTACA"[: 3 * c] + "T" * (6 - 3 * c) for c in y], y


SMALL = 8 * N * 2 * 64 * 2  # the smallest cache of rows
PLANS = {
    "one matrix": (MKLClassifier(RBF(0.5)), numbers()),
    "matrices": (MKLClassifier(RBF(0.5) + Linear()), numbers()),
    "rows on demand": (MKLClassifier(RBF(0.5) + Linear(), memory=SMALL), numbers()),
    "several classes": (MKLClassifier(RBF(0.5) + Linear()), numbers(3)),
    "one problem per class": (MKLClassifier(RBF(0.5) + Linear(), weights="per_class"), numbers(3)),
    "squared loss": (MKLRegressor(RBF(0.5), loss="squared"), numbers()),
    "logistic loss": (MKLClassifier(RBF(0.5), loss="logistic"), numbers()),
    "one class": (MKLOneClass(RBF(0.5), nu=0.2), numbers()),
    "two stages": (MKLClassifier(per_feature(RBF(0.5)), solver="two_stage"), numbers()),
    "listed words": (MKLClassifier(Spectrum(k=3) + Mismatch(k=3), dual="coordinate"), words()),
    "listed words, active set": (MKLClassifier(Spectrum(k=3), dual="active_set"), words()),
    "words in place": (MKLClassifier(WeightedDegree(degree=3), dual="active_set"), words()),
    "chunks": (MKLClassifier(WeightedDegree(degree=3, shift=1), dual="chunking"), words()),
}


@pytest.mark.parametrize("plan", PLANS)
def test_a_fit_that_stops_early_is_usable_or_an_error(plan, ticking, monkeypatch):
    monkeypatch.setattr(base, "BLOCK_BYTES", 8 * N * 10)
    for module in (cached, dense):
        monkeypatch.setattr(module, "BLOCK_BYTES", 8 * N * 10)
    monkeypatch.setattr(pairs, "BURST", N * 10)
    model, (X, y) = PLANS[plan]
    ends = []
    for limit in [1, 3, 5, 8, 12, 16, 20, 25, 30, 40, 60, 100, 10**6]:
        started = next(ticking)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                model.set_params(max_seconds=limit).fit(X, y)
            except TimeLimitError:
                ends.append("error")
                assert next(ticking) - started <= limit + 30, "it ended soon after"
                continue
        assert (model.dual_coef_ != 0).any(axis=1).all(), "every machine has support"
        assert np.isfinite(model.gap_)
        ends.append("model" if model.converged_ else "early")
    assert ends[0] == "error"
    assert ends[-1] == "model"
    assert ends == sorted(ends, key=["error", "early", "model"].index), "more time is never worse"


class Late(Solver):
    """Takes one step, and is then late: on its way to other weights, or with a machine in hand."""

    name = "late"

    def __init__(self, between):
        self.between = between

    def steps(self, problem, run):
        weights = problem.start_weights()
        yield run.solve(weights, None, 1e-12)
        clock.now = lambda: math.inf
        if self.between:
            clock.check()
        yield run.solve(weights, None, 1e-12)


@pytest.mark.parametrize("between", [True, False])
@pytest.mark.parametrize("single", [True, False])
def test_what_was_found_before_the_end_is_not_lost(between, single, monkeypatch):
    monkeypatch.setattr(clock, "now", clock.now)  # put back at the end
    if single:
        evaluate = DenseGram.compute
        monkeypatch.setattr(DenseGram, "compute", lambda *given, **o: evaluate(*given, **o | {"dtype": np.float32}))
    model = MKLClassifier(RBF(0.5) + Linear(), solver=Late(between), tol=1e-15, max_seconds=1000)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model.fit(*numbers())
    assert model.gap_ < 0.1
    assert model.stop_reason_ == "max_seconds"


@pytest.mark.parametrize("dual", ["coordinate", "active_set", "chunking"])
def test_a_machine_is_certified_although_time_is_over(dual, monkeypatch):
    here, late = clock.now, []

    class Slow(dual_kind(dual)):
        def step(self, machine, K, state, effort):
            found = super().step(machine, K, state, effort)
            late.append(True)
            return found

    monkeypatch.setattr(clock, "now", lambda: math.inf if late else here())
    model = MKLClassifier(Spectrum(k=3) + Spectrum(k=2), dual=Slow(), tol=1e-15, max_seconds=1000)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model.fit(*words())
    assert np.isfinite(model.gap_)


def test_what_a_kernel_costs_is_covered(ticking, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK_BYTES", 8 * N)
    seen = []

    def slow(A, B):
        seen.append(len(A))
        return A @ B.T

    X, y = numbers()
    MKLClassifier(Function(slow)).fit(X, y)
    whole = len(seen)
    seen.clear()
    with pytest.raises(TimeLimitError):
        MKLClassifier(Function(slow), max_seconds=20).fit(X, y)
    assert 0 < len(seen) < whole / 2


@pytest.mark.parametrize("kernel", [Mismatch(k=3), Spectrum(k=40), Spectrum(k=9)], ids=repr)
def test_vocabularies_are_covered(kernel, ticking, monkeypatch):
    monkeypatch.setattr("kernelweave.kernels.vocabulary.BLOCK_KEYS", 100)
    texts = [2 * text for text in words()[0]]
    with clock.limited(5), pytest.raises(TimeLimitError):
        [kernel(texts) for _ in range(10)]


def test_every_machine_gets_a_share_of_the_time(ticking):
    X, y = numbers(3)
    for weights in ("shared", "per_class"):
        model = MKLClassifier(RBF(0.5), weights=weights, max_seconds=60, tol=1e-14, C=1e3)
        with pytest.warns(ConvergenceWarning, match="max_seconds"):
            model.fit(X, y)
        assert (model.dual_coef_ != 0).any(axis=1).all()
        assert model.score(X, y) > 0.5


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_look_at_the_clock(n_jobs, ticking):
    done = []
    with clock.limited(10), pytest.raises(TimeLimitError):
        for_blocks(done.append, 100, 1, n_jobs)
    assert 0 < len(done) < 15
    with clock.limited(10), pytest.raises(TimeLimitError):
        list(blocks(100, 1))
    for_blocks(lambda part: list(blocks(5, 1)), 100, 1, n_jobs)
    with clock.limited(1000), pytest.raises(TimeLimitError):  # blocks inside blocks, on whatever thread
        for_blocks(lambda part: list(blocks(10**6, 1)), 2, 1, n_jobs)
    with clock.limited(1), clock.until(math.inf):
        assert len(list(blocks(100, 1))) == 100


def test_compiling_is_told_and_does_not_count():
    from numba import njit

    told = []
    with clock.limited(1e-6, told.append):
        while not clock.is_over():
            pass
    assert told == []
    with clock.limited(100.0, told.append) as deadline:
        start, here = time.monotonic(), clock.now()
        first, second = (njit(lambda x, k=k: x + k) for k in (1, 2))
        assert first(1) + second(1) == 5
        passed, counted = time.monotonic() - start, clock.now() - here
        assert counted < 0.5 * passed
        assert deadline <= here + 100.0
    assert told == ["test_time_limits.<lambda>"] * 2
    third = njit(lambda x: x + 3)
    assert third(1) == 4
    assert len(told) == 2, "nobody listens any more"


def test_callbacks_hear_of_compiling(monkeypatch, capsys):
    from kernelweave.estimators.listeners import Listeners
    from kernelweave.progress import printer

    told = []
    Listeners(None, [told.append, printer(1)]).compiling("smo.smo")
    assert [entry["phase"] for entry in told] == ["compiling"]
    assert "compiling smo.smo, once per machine" in capsys.readouterr().err
    MKLClassifier(RBF(0.5)).fit(*numbers(), callback=told.append)
    assert all(entry.keys() >= told[0].keys() for entry in told)
    assert {entry["phase"] for entry in told[1:]} <= {"solving", "compiling"}


def test_the_error_names_the_remedy():
    with pytest.raises(KernelweaveError, match=r"limit of 1e-09 s .* Raise max_seconds"):
        MKLClassifier(RBF(0.5), max_seconds=1e-9).fit(*numbers())


def test_the_command_says_so_and_keeps_no_model(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from kernelweave.cli.app import cli

    monkeypatch.chdir(tmp_path)
    X, y = numbers()
    rows = "".join(f"{a},{b},{c},{'ill' if k else 'well'}\n" for (a, b, c), k in zip(X.tolist(), y, strict=True))
    (tmp_path / "t.csv").write_text("a,b,c,outcome\n" + rows)
    command = ["fit", "t.csv", "--target", "outcome", "--kernel", "RBF(0.5)", "--json", "--time-limit"]
    result = CliRunner().invoke(cli, [*command, "0.000001"])
    assert result.exit_code == 4
    assert "Raise --time-limit" in result.stderr
    assert not (tmp_path / "model.kw").exists()
    result = CliRunner().invoke(cli, [*command, "60"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["converged"]
