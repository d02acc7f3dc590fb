"""SMO on rows from pairs, and how the active set goes from one way of solving to another."""

import numpy as np
import pytest

from kernelweave import MKLClassifier, WeightedDegree
from kernelweave.datasets import make_splice_sites
from kernelweave.dual import SMO, ActiveSet, Coordinate, Machine
from kernelweave.dual.base import Effort
from kernelweave.dual.rows import rows_pay, solve_by_rows
from kernelweave.gram import LinaddGram
from kernelweave.losses import Hinge, Squared, SquaredHinge
from kernelweave.views import as_views


@pytest.fixture(scope="module")
def windows():
    X, y = make_splice_sites(400, positives=0.3, random_state=0)
    return as_views(X), y.astype(float)


def solved(solver, machine, K, gap=1e-6):
    state = solver.start(machine, K).certified(machine)
    for _ in range(500):
        if state.gap <= gap or state.final:
            break
        state = solver.step(machine, K, state, Effort(gap)).certified(machine)
    return state


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("shift", [0, 2])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=["hinge", "squared hinge"])
def test_all_ways_find_the_same_machine(windows, loss, shift, C):
    X, y = windows
    gram = LinaddGram([WeightedDegree(degree=6, shift=shift).normalized()], X)
    machine, K = Machine(loss, y, np.full(len(y), C)), gram.at(np.ones(1))
    found = {type(one).__name__ + str(k): solved(one, machine, K) for k, one in enumerate(
        [ActiveSet(), ActiveSet(n_start=60), Coordinate(), SMO()])}  # fmt: skip
    assert max(state.gap for state in found.values()) <= 1e-6
    lower = [state.lower for state in found.values()]
    assert max(lower) - min(lower) <= 2e-6 * abs(lower[0])
    for state in found.values():  # f is K coef, however it was come by
        if state.exact:
            assert np.allclose(state.f, gram.apply(state.coef, np.ones(1)), atol=1e-9)


def test_goes_on_from_where_it_is_and_stops_at_what_is_asked(windows):
    X, y = windows
    gram, machine = LinaddGram([WeightedDegree(degree=6).normalized()], X), Machine(Hinge(), y, np.ones(len(y)))
    pairs = gram.pairs(np.arange(len(y)), np.ones(1), 10**8)
    nothing = np.zeros(len(y))
    rough = solve_by_rows(machine, pairs, nothing, nothing, 1e-1)
    assert rough.gap <= 1e-1
    fine = solve_by_rows(machine, pairs, rough.coef, rough.f, 1e-6)
    assert fine.gap <= 1e-6
    assert fine.lower > rough.lower
    assert solve_by_rows(machine, pairs, fine.coef, fine.f, 1e-3).n_steps == 0


def test_rows_are_for_few_samples_and_large_C(windows):
    X, y = windows
    K = LinaddGram([WeightedDegree(degree=6).normalized()], X).at(np.ones(1))
    small, large = (Machine(Hinge(), y, np.full(len(y), C)) for C in (1.0, 1000.0))
    assert rows_pay(small, K, 5_000, Effort())
    assert not rows_pay(small, K, 40_000, Effort()), "their rows take too much memory"
    assert not rows_pay(small, K, 5_000, Effort(bytes=10**6))
    assert not rows_pay(small, K, 5_000, Effort(sure=True))
    assert not rows_pay(Machine(Squared(), y, np.ones(len(y))), K, 5_000, Effort()), "every sample matters"
    uneven = LinaddGram(WeightedDegree(degree=2).split("position").terms(X), X)
    assert not rows_pay(large, uneven.at(np.arange(uneven.n_terms) / 100.0), 5_000, Effort())


@pytest.mark.parametrize(
    "kernel", [WeightedDegree(degree=8), WeightedDegree(degree=6, shift=2)], ids=["plain", "shift"]
)
def test_two_threads_find_the_same_bits(kernel, monkeypatch):
    monkeypatch.setattr("kernelweave.dual.active_set.ALL", 1_000)
    monkeypatch.setattr("kernelweave.gram.plan.EXPLICIT_SAMPLES", 100)
    for name in ("MANY_PAIRS", "MANY_VALUES"):  # or one thread would do
        monkeypatch.setattr(f"kernelweave.gram.pair_rows.{name}", 0)
    X, y = make_splice_sites(3_000, positives=0.1, random_state=1)
    one, two = (
        MKLClassifier(kernel.normalized(), norm="fixed", scaling=None, dual=ActiveSet(n_start=500), n_jobs=n_jobs).fit(
            X, y
        )
        for n_jobs in (1, 2)
    )
    assert one.gap_ <= 1e-3
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    assert (one.lower_bound_, one.objective_) == (two.lower_bound_, two.objective_)
