"""Coordinate descent and active sets: the same machines as other dual solvers find, with few samples looked at."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from kernelweave import RBF, InputError, Linear, MKLClassifier, MKLOneClass, MKLRegressor, Spectrum, WeightedDegree
from kernelweave.dual import (
    SMO,
    UNLIMITED,
    ActiveSet,
    Chunking,
    Coordinate,
    Effort,
    Machine,
    Ridge,
    active_set,
    choose,
)
from kernelweave.dual.active_set import most_samples, sample
from kernelweave.dual.polish import repaired
from kernelweave.errors import MemoryBudgetError
from kernelweave.gram import DenseGram, LinaddGram, Needs, bind
from kernelweave.kernels.base import add_all
from kernelweave.losses import LOSSES, BoxQP, Hinge, SmoothLoss
from kernelweave.testing.losses import targets
from kernelweave.views import as_views

BOXED = [kind for kind in LOSSES if not issubclass(kind, SmoothLoss)]
N = 400


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    letters = rng.choice(list("ACGT"), (N, 15))
    y = np.where(rng.random(N) < 0.3, 1.0, -1.0)
    letters[y > 0, 5:8] = list("GAT")
    letters[rng.random(N) < 0.2, 6] = "C"
    return as_views(["".join(row) for row in letters]), y


def solve(solver, machine, K, gap=1e-6, effort=UNLIMITED):
    state = solver.start(machine, K).certified(machine)
    for _ in range(300):
        if state.gap <= gap or state.final:
            break
        state = solver.step(machine, K, state, effort).certified(machine)
    return state


def decide(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def machine_of(kind, y):
    loss = kind()
    C = np.full(N, 1.0 / (0.3 * N) if loss.total else 2.0)
    return Machine(loss, y if loss.reads == "labels" else targets(loss, N, np.random.default_rng(1)), C)


@pytest.mark.parametrize("kind", BOXED, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("solver", [Coordinate(), ActiveSet(n_start=40)], ids=["all", "active set"])
@pytest.mark.parametrize(
    "kernel",
    [WeightedDegree(degree=6), Spectrum(k=3).normalized(), WeightedDegree(degree=4) + Spectrum(k=2).normalized()],
    ids=["words", "listed", "both"],
)
def test_finds_the_machine_that_others_find(kernel, solver, kind, data):
    X, y = data
    machine = machine_of(kind, y)
    gram = bind(kernel, X, needs=Needs(no_matrix=True))
    weights = np.linspace(0.5, 1.0, gram.n_terms)
    reference, K = DenseGram.compute(gram.terms, X).at(weights), gram.at(weights)
    found = solve(solver, machine, K)
    other = Ridge() if machine.qp.free else SMO()
    expected = solve(other, machine, reference, 1e-8)
    assert found.gap <= 1e-6
    assert found.upper == pytest.approx(expected.upper, rel=2e-6)
    assert np.allclose(reference.apply(found.coef), found.f, atol=1e-8 * (1 + np.abs(found.coef).sum()))
    assert (found.coef >= machine.qp.lower).all()
    assert (found.coef <= machine.qp.upper).all()
    assert abs(found.coef.sum() - machine.qp.total) <= 1e-9 * (1 + np.abs(found.coef).sum())


def with_numbers(data):
    """Return words with numbers beside them, bound without a matrix."""
    words, y = data
    numbers = np.random.default_rng(2).normal(size=(N, 2)) + 0.3 * y[:, None]
    X = as_views({"s": words.column(), "x": numbers})
    kernel = RBF(0.5).on("x") + WeightedDegree(degree=4).on("s") + Linear().on("x")
    return bind(kernel, X, needs=Needs(no_matrix=True))


@pytest.mark.parametrize("kind", BOXED, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("solver", [Coordinate(), ActiveSet(n_start=40)], ids=["all", "active set"])
def test_finds_the_machine_with_numbers_beside_words(solver, kind, data):
    machine, weights = machine_of(kind, data[1]), np.array([0.3, 0.5, 0.2])
    gram = with_numbers(data)
    K, reference = gram.at(weights), DenseGram.compute(gram.terms, gram.X).at(weights)
    # a machine that rests on all samples has no use for matrices of some
    assert isinstance(choose(machine, K), Ridge if machine.qp.free else ActiveSet)
    found = solve(solver, machine, K)
    expected = solve(Ridge() if machine.qp.free else SMO(), machine, reference, 1e-8)
    assert found.gap <= 1e-6
    assert found.upper == pytest.approx(expected.upper, rel=2e-6)
    assert np.allclose(reference.apply(found.coef), found.f, atol=1e-8 * (1 + np.abs(found.coef).sum()))


def test_more_support_than_matrices_may_have(data, monkeypatch):
    monkeypatch.setattr(active_set, "SPARE_BYTES", 0)
    gram, rng = with_numbers(data), np.random.default_rng(3)
    y = np.where(rng.random(N) < 0.5, 1.0, -1.0)  # nothing to be learned: most samples are support
    machine, weights = Machine(Hinge(), y, np.full(N, 1.0)), np.array([0.3, 0.5, 0.2])
    K, effort = gram.at(weights), Effort(bytes=gram.bytes.coordinates(100))
    sizes = []
    coordinates, gram.coordinates = gram.coordinates, lambda rows: sizes.append(len(rows)) or coordinates(rows)
    found = solve(ActiveSet(n_start=40), machine, K, 1e-5, effort)
    expected = solve(SMO(), machine, DenseGram.compute(gram.terms, gram.X).at(weights), 1e-8)
    assert max(sizes) <= 100 < np.count_nonzero(found.coef)
    assert found.upper == pytest.approx(expected.upper, rel=2e-5)


def test_as_many_samples_as_fit(data):
    X, _ = data
    gram = LinaddGram([WeightedDegree(degree=4)], X)
    for n in (0, 1, 57, N):
        assert most_samples(gram.bytes, N, gram.bytes.coordinates(n)) == n
    assert most_samples(gram.bytes, N, np.inf) == N


def test_all_samples_at_once_must_fit(data):
    X, y = data
    machine, solver = Machine(Hinge(), y, np.full(N, 1.0)), Coordinate()
    K = LinaddGram([WeightedDegree(degree=4)], X).at(np.ones(1))
    effort = Effort(bytes=K.gram.bytes.coordinates(N) - 1)
    with pytest.raises(MemoryBudgetError, match=r'all 400 samples takes about 144 kB; .* Use dual="active_set"'):
        solver.step(machine, K, solver.start(machine, K), effort)


def test_an_active_set_stays_small_where_few_samples_matter(data):
    X, y = data
    machine = Machine(Hinge(), y, np.full(N, 1.0))
    K = LinaddGram([WeightedDegree(degree=2)], X).at(np.ones(1))
    state = solve(ActiveSet(n_start=60), machine, K, 1e-3)
    assert state.gap <= 1e-3
    assert np.count_nonzero(state.coef) <= state.active < N


def test_steps_are_the_same_whenever_they_are_taken(data):
    X, y = data
    machine = Machine(Hinge(), y, np.full(N, 1.0))
    K = LinaddGram([WeightedDegree(degree=4)], X).at(np.ones(1))
    first, second = (solve(ActiveSet(n_start=50), machine, K, 1e-4) for _ in range(2))
    assert np.array_equal(first.coef, second.coef)


def test_chosen_where_features_can_be_listed_and_no_matrix_is_held(data):
    X, y = data
    machine = Machine(Hinge(), y, np.full(N, 1.0))
    weights = np.ones(1)
    words = LinaddGram([WeightedDegree(degree=3)], X)
    shifted = LinaddGram([WeightedDegree(degree=3, shift=1)], X)
    assert isinstance(choose(machine, words.at(weights)), ActiveSet)
    assert isinstance(choose(machine, shifted.at(weights)), SMO)
    assert isinstance(choose(machine, DenseGram.compute([WeightedDegree(degree=3)], X).at(weights)), SMO)
    assert isinstance(choose(machine), SMO)


@settings(max_examples=50)
@given(st.integers(0, 2**20), st.sampled_from([0.0, 1.0]))
def test_repaired_coefficients_meet_the_sum_inside_the_box(seed, total):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    lower, upper = (np.zeros(n), np.full(n, 2.0)) if total else (-rng.uniform(0, 1, n), rng.uniform(0, 1, n))
    qp = BoxQP(np.zeros(n), np.zeros(n), 0.0, lower, upper, total)
    a = rng.uniform(lower, upper)
    out = repaired(qp, a)
    assert (out >= lower).all()
    assert (out <= upper).all()
    assert abs(out.sum() - total) <= 1e-9 * (1 + np.abs(out).sum())
    assert np.array_equal(repaired(qp, out), out) or np.allclose(repaired(qp, out), out, atol=1e-12)


def test_the_first_sample_has_both_sides():
    y = np.where(np.arange(10_000) < 50, 1.0, -1.0)
    qp = Hinge().dual(y, np.ones(10_000))
    chosen = sample(qp, 300)
    assert (y[chosen] > 0).sum() == 50
    assert len(np.unique(chosen)) == len(chosen) <= 300
    assert len(sample(qp, 20_000)) == 10_000


@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
def test_estimators_give_the_same_with_and_without_a_matrix(data, monkeypatch):
    X, y = data
    text = list(X.sequences("dna"))
    models = [
        (MKLClassifier(WeightedDegree(degree=4).split("degree"), scaling=None, tol=1e-5), y),
        (MKLClassifier(WeightedDegree(degree=4) + Spectrum(k=3).normalized(), scaling=None, tol=1e-5), y),
        (MKLClassifier(WeightedDegree(degree=4), norm="fixed", scaling=None, tol=1e-5), np.arange(N) % 3),
        (
            MKLRegressor(WeightedDegree(degree=4), norm="fixed", scaling=None, loss="epsilon_insensitive", tol=1e-5),
            y + 0.1,
        ),
        (MKLOneClass(WeightedDegree(degree=4), norm="fixed", scaling=None, tol=1e-5), None),
    ]
    for model, target in models:
        model.fit(text, target)
        expected, objective = decide(model, text), model.objective_
        monkeypatch.setattr("kernelweave.gram.plan.EXPLICIT_SAMPLES", 0)
        model.fit(text, target)
        got = decide(model, text)
        monkeypatch.undo()
        assert model.converged_
        assert model.objective_ == pytest.approx(objective, rel=3e-5)
        assert np.allclose(got, expected, atol=2e-2 * np.abs(expected).max())


@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(tol=1e-5),
        MKLClassifier(loss="squared_hinge", tol=1e-5),
        MKLClassifier(loss="logistic", tol=1e-5),
        MKLClassifier(loss="squared_hinge", learn_C=True, tol=1e-5),
        MKLRegressor(loss="squared", tol=1e-5),
        MKLOneClass(norm="fixed", tol=1e-5),
    ],
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'loss', '')}-{getattr(model, 'learn_C', '')}",
)
def test_estimators_with_numbers_beside_words(model, data, monkeypatch):
    gram = with_numbers(data)
    X = {"s": list(gram.X.select("s").column()), "x": gram.X.select("x").matrix()}
    model = clone(model).set_params(kernel=add_all(gram.terms), scaling=None)
    target = None if isinstance(model, MKLOneClass) else data[1]
    expected = model.fit(X, target).objective_
    monkeypatch.setattr("kernelweave.gram.plan.EXPLICIT_SAMPLES", 0)
    monkeypatch.setattr("kernelweave.gram.plan.LINADD_SAMPLES", 0)
    assert model.fit(X, target).converged_
    assert model.objective_ == pytest.approx(expected, rel=3e-5)


@pytest.mark.parametrize(
    ("model", "free"),
    [
        (MKLClassifier(), True),
        (MKLClassifier(loss="logistic"), False),
        (MKLClassifier(dual="chunking"), True),
        (MKLClassifier(dual="smo"), False),
        (MKLRegressor(loss="squared"), True),
        (MKLOneClass(), True),
    ],
    ids=str,
)
def test_memory_is_that_of_the_machine(model, free, data, monkeypatch):
    monkeypatch.setattr("kernelweave.gram.plan.EXPLICIT_SAMPLES", 10)
    how, _ = clone(model).set_params(kernel=WeightedDegree(degree=3)).memory_needed(data[0])
    assert (how == "no matrix") == free
    beside = clone(model).set_params(kernel=WeightedDegree(degree=3).on("s") + RBF().on("x"))
    how, _ = beside.memory_needed(with_numbers(data).X)
    assert (how == "no matrix") == (model.dual == "chunking"), "up to 10,000 samples matrices are quicker"


def test_a_small_budget_keeps_the_active_set_small(data, monkeypatch):
    monkeypatch.setattr(active_set, "SPARE_BYTES", 0)
    X, y = data
    machine = Machine(Hinge(), y, np.full(N, 1.0))
    K = LinaddGram([WeightedDegree(degree=4)], X).at(np.ones(1))
    solver, tight = ActiveSet(n_start=40), Effort(bytes=K.gram.bytes.coordinates(60))
    sizes, states = [], []
    for effort in (UNLIMITED, tight):
        state, largest = solver.start(machine, K).certified(machine), 0
        while state.gap > 1e-3 and not state.final:
            state = solver.step(machine, K, state, effort).certified(machine)
            largest = max(largest, (state.active or 0) - np.count_nonzero(state.coef))
        sizes.append(largest)
        states.append(state)
    assert sizes[1] < sizes[0]
    assert states[1].upper == pytest.approx(states[0].upper, rel=2e-3)


def test_a_small_budget_holds_where_most_samples_matter(monkeypatch):
    monkeypatch.setattr(active_set, "SPARE_BYTES", 0)
    rng = np.random.default_rng(3)
    X = as_views(["".join(row) for row in rng.choice(list("ACGT"), (N, 10))])
    y = np.where(rng.random(N) < 0.5, 1.0, -1.0)  # nothing to be learned: all samples are support
    machine = Machine(Hinge(), y, np.full(N, 0.01))
    K = LinaddGram([WeightedDegree(degree=3)], X).at(np.ones(1))
    solver, effort = ActiveSet(n_start=40), Effort(bytes=K.gram.bytes.coordinates(250))
    state = solver.start(machine, K).certified(machine)
    sizes, support = [], []
    while state.gap > 1e-3 and len(sizes) < 50:
        support.append(np.count_nonzero(state.coef))
        state = solver.step(machine, K, state, effort).certified(machine)
        sizes.append(state.active or 0)  # none where chunking took over
    assert state.gap <= 1e-3
    # beyond the budget only as far as the support itself demands, and a few to go on with
    assert all(size <= max(250, n + 10) for size, n in zip(sizes, support, strict=True))


def test_dual_solvers_print_as_they_are_typed():
    assert repr(ActiveSet(n_start=50)) == "ActiveSet(max_passes=60, n_start=50)"
    assert repr(Chunking(working_set=42)) == "Chunking(working_set=42)"


def test_dual_is_chosen_by_name(data):
    X, y = data
    text = list(X.sequences("dna"))
    kernel = WeightedDegree(degree=3)
    objectives = [
        MKLClassifier(kernel, norm="fixed", scaling=None, dual=dual).fit(text, y).objective_
        for dual in ("auto", "smo", "chunking", "coordinate", "active_set", Chunking(working_set=20))
    ]
    assert np.allclose(objectives, objectives[0], rtol=2e-3)
    with pytest.raises(InputError, match="Ridge cannot solve"):
        MKLClassifier(kernel, dual="ridge").fit(text, y)
    with pytest.raises(InputError, match="dual must be one of"):
        MKLClassifier(kernel, dual="simplex").fit(text, y)
