"""Weights that begin with a part of the samples, and bounds in double precision where they count."""

from dataclasses import replace

import numpy as np
import pytest

from kernelweave import RBF, WeightedDegree
from kernelweave.datasets import make_splice_sites
from kernelweave.dual import Machine
from kernelweave.gram import LinaddGram, StackedGram, TiledGram
from kernelweave.losses import EpsilonInsensitive, Hinge, OneClass, Squared
from kernelweave.mkl import Hessian, Problem, Run, run, sampled
from kernelweave.mkl.sampled import first_weights
from kernelweave.norms import Simplex
from kernelweave.views import as_views

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = np.sign(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=400))
TERMS = [RBF(gamma) for gamma in (0.01, 0.1, 1.0, 10.0)]


def problem_of(loss, C=1.0, dtype=np.float32, holds=False):
    gram = TiledGram.of(TERMS, as_views(X), dtype=dtype, holds=holds)
    return Problem(gram, [Machine(loss, Y, np.full(len(Y), C))], Simplex())


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive()])
def test_a_part_of_the_samples_leads_to_the_same_optimum(loss, monkeypatch):
    problem = problem_of(loss)
    whole = run(Hessian(), problem)
    monkeypatch.setattr(sampled, "MIN_SAMPLES", 300)
    weights = first_weights(problem, Run(problem), Hessian())
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0)
    assert np.abs(weights - problem.start_weights()).max() > 0.1
    found = run(Hessian(), problem)
    assert found.stop_reason == whole.stop_reason == "converged"
    assert found.upper == pytest.approx(whole.upper, rel=2e-3)
    assert found.lower <= whole.upper
    assert whole.lower <= found.upper


def test_what_a_part_cannot_tell_is_not_asked(monkeypatch):
    monkeypatch.setattr(sampled, "MIN_SAMPLES", 300)
    even = np.full(len(TERMS), 1 / len(TERMS))
    problem = problem_of(OneClass())
    np.testing.assert_allclose(first_weights(problem, Run(problem), Hessian()), even)
    problem = problem_of(Hinge())
    interrupted = Run(problem, interrupted=True)
    np.testing.assert_allclose(first_weights(problem, interrupted, Hessian()), even)
    started = replace(problem, start=Run(problem).solve(np.eye(4)[2], None, 0.1))
    np.testing.assert_array_equal(first_weights(started, Run(started), Hessian()), np.eye(4)[2])


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(), Squared()])
def test_upper_bounds_are_those_of_double_precision(loss, C):
    problem = problem_of(loss, C, holds=isinstance(loss, Squared))
    this, weights = Run(problem), np.full(len(TERMS), 1 / len(TERMS))
    step = this.exactly(this.solve(weights, None, 1e-2))
    state, machine = step.states[0], problem.machines[0]
    K = sum(w * term(X) for w, term in zip(weights, TERMS, strict=True))
    f = K @ state.coef
    upper = C * machine.loss.value(Y, f + state.intercept).sum() + 0.5 * state.coef @ f
    assert step.upper == pytest.approx(upper, rel=1e-12)
    counts = (state.coef != 0) | (machine.loss.value(Y, f + state.intercept) > 0)
    np.testing.assert_allclose(state.f[counts], f[counts], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(), Squared()])
def test_what_may_cost_includes_all_that_does(loss):
    machine, f = Machine(loss, Y, np.ones(len(Y))), RNG.normal(size=len(Y))
    for margin in (0.0, 0.1, 1.0):
        may = machine.may_cost(f, margin)
        for off in np.linspace(-margin, margin, 7):
            assert may[loss.value(Y, f + off) != 0].all()


def test_a_part_tells_the_weights_of_numbers_beside_words(monkeypatch):
    monkeypatch.setattr(sampled, "MIN_SAMPLES", 300)
    letters = ["".join(row) for row in RNG.choice(list("ACGT"), (400, 20))]
    views = as_views({"s": letters, "x": X})
    words = LinaddGram([WeightedDegree(degree=4).normalized().on("s")], views)
    gram = StackedGram([words, TiledGram.of([RBF(0.3).on("x"), RBF(3.0).on("x")], views)])
    problem = Problem(gram, [Machine(Hinge(), Y, np.ones(len(Y)))], Simplex())
    weights = first_weights(problem, Run(problem), Hessian())
    assert np.abs(weights - 1 / 3).max() > 0.1
    alone = Problem(words, problem.machines, Simplex())
    np.testing.assert_array_equal(first_weights(alone, Run(alone), Hessian()), [1.0])
    monkeypatch.setattr(sampled, "HELD_BYTES", 10**5)
    np.testing.assert_allclose(first_weights(problem, Run(problem), Hessian()), 1 / 3)
    found = run(Hessian(), problem)
    assert found.stop_reason == "converged"
    assert found.lower <= found.upper


def words_problem(kernel, n=300):
    windows, y = make_splice_sites(n, positives=0.3, random_state=0)
    gram = LinaddGram(kernel.terms(as_views(windows)), as_views(windows))
    return Problem(gram, [Machine(Hinge(), y.astype(float), np.ones(n))], Simplex())


def test_many_terms_of_words_begin_with_a_part(monkeypatch):
    monkeypatch.setattr("kernelweave.mkl.sampled.MIN_WORDS", 200)
    problem = words_problem(WeightedDegree(degree=9).normalized().split("degree"))
    weights = first_weights(problem, Run(problem), Hessian())
    assert abs(weights - problem.start_weights()).max() > 0.05
    assert weights.sum() == pytest.approx(1.0)
    few = words_problem(WeightedDegree(degree=3).normalized().split("degree"))
    np.testing.assert_array_equal(first_weights(few, Run(few), Hessian()), few.start_weights())
    monkeypatch.setattr("kernelweave.mkl.sampled.MIN_WORDS", 1_000)
    np.testing.assert_array_equal(first_weights(problem, Run(problem), Hessian()), problem.start_weights())
