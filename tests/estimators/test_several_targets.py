"""Several targets on the same samples: as good as one model for each, at the price of one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_multilabel_classification
from sklearn.multiclass import OneVsRestClassifier

from kernelweave import RBF, InputError, Linear, MKLClassifier, MKLRegressor, explain, load, report, save
from kernelweave.dual import Machine, Ridge
from kernelweave.gram import bind
from kernelweave.losses import Squared
from kernelweave.mkl import Problem, Run
from kernelweave.mkl.choosing import missed_on_a_path
from kernelweave.mkl.choosing_each import choose_for_each, grouped, guessed_weights
from kernelweave.mkl.hessian import machines_hessian
from kernelweave.norms import Fixed, Simplex
from kernelweave.views import as_views

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 4))
Y = np.column_stack([np.sin(2 * X[:, 0]), 1e3 * X[:, 1] + 50, X[:, 2] * X[:, 3]]) + 0.1 * rng.standard_normal((90, 3))
KERNEL = RBF(0.5).on([0]) + Linear().on([1]) + RBF(0.3).on([2, 3])
LABELS = make_multilabel_classification(80, 4, n_classes=3, random_state=1)


@pytest.mark.parametrize("parameters", [{"loss": "squared", "C": 3.0}, {"C": 2.0, "epsilon": 0.2}])
def test_at_fixed_weights_every_target_is_as_if_it_were_alone(parameters):
    model = MKLRegressor(KERNEL, norm="fixed", tol=1e-8, **parameters).fit(X, Y)
    f = model.predict(X)
    assert f.shape == Y.shape
    assert model.n_outputs_ == 3
    assert model.y_units_[1].shape == (3,)
    for column in range(3):
        alone = MKLRegressor(KERNEL, norm="fixed", tol=1e-8, **parameters).fit(X, Y[:, column])
        assert f[:, column] == pytest.approx(alone.predict(X), abs=1e-5 * Y[:, column].std())


def test_targets_with_weights_of_their_own_are_as_if_they_were_alone():
    model = MKLRegressor(KERNEL, loss="squared", weights="per_target", tol=1e-6).fit(X, Y)
    assert model.weights_.shape == (3, 3)
    assert len(model.kernel_) == 3
    assert model.weights_.argmax(axis=1).tolist() == [0, 1, 2]
    for column in range(3):
        alone = MKLRegressor(KERNEL, loss="squared", tol=1e-6).fit(X, Y[:, column])
        assert model.weights_[column] == pytest.approx(alone.weights_, abs=1e-2)
        assert model.predict(X)[:, column] == pytest.approx(alone.predict(X), abs=1e-2 * Y[:, column].std())


@pytest.mark.parametrize("norm", [1, 2])
def test_shared_weights_are_certified_and_another_solver_agrees(norm):
    model = MKLRegressor(KERNEL, loss="squared", norm=norm, tol=1e-6).fit(X, Y)
    assert model.converged_
    assert model.gap_ <= 1e-6
    assert model.weights_.shape == (3,)
    solver, one_by_one = "silp" if norm == 1 else "analytic", Ridge(max_cholesky=1)
    other = MKLRegressor(KERNEL, loss="squared", norm=norm, solver=solver, dual=one_by_one, tol=1e-5).fit(X, Y)
    assert other.objective_ == pytest.approx(model.objective_, rel=2e-5)
    assert max(other.lower_bound_, model.lower_bound_) <= min(other.objective_, model.objective_) * (1 + 1e-9)


def test_several_targets_learn_one_C_where_it_is_asked_for():
    model = MKLRegressor(KERNEL, loss="squared", learn_C=True, tol=1e-4).fit(X, Y)
    assert model.converged_
    assert np.ndim(model.C_) == 0
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("weights", ["shared", "per_target"])
def test_what_is_chosen_is_chosen_for_every_target(weights):
    noise = np.array([0.01, 10.0, 0.5])
    noisy = Y / Y.std(axis=0) + noise * np.random.default_rng(1).standard_normal(Y.shape)
    model = MKLRegressor(KERNEL, C="auto", norm="auto", weights=weights).fit(X, noisy)
    assert model.loss_ == "squared"
    assert model.C_.shape == (3,)
    assert min(model.C_[[0, 2]]) > 100 * model.C_[1]  # the noisier, the smoother
    assert model.weights_.shape == ((3,) if weights == "shared" else (3, 3))
    for column in range(3):  # the same machine as with that C and those weights
        row = model.weights_ if weights == "shared" else model.weights_[column]
        alone = MKLRegressor(KERNEL, C=float(model.C_[column]), loss="squared", norm=Fixed(row))
        alone.fit(X, noisy[:, column])
        assert model.predict(X)[:, column] == pytest.approx(alone.predict(X), abs=1e-6)


def test_a_target_may_be_constant_and_units_do_not_matter():
    steady = np.column_stack([Y, np.full(len(Y), 7.0)])
    model = MKLRegressor(KERNEL, C="auto", norm="auto").fit(X, steady)
    assert model.predict(X)[:, 3] == pytest.approx(np.full(len(Y), 7.0))
    other = MKLRegressor(KERNEL, C="auto", norm="auto").fit(X, steady * [1.0, 1e-3, 100.0, 1.0])
    assert other.predict(X)[:, :3] == pytest.approx(model.predict(X)[:, :3] * [1.0, 1e-3, 100.0], rel=1e-6)


def test_a_weight_of_two_is_the_same_as_being_there_twice():
    weight = np.where(np.arange(90) < 30, 2.0, 1.0)
    twice = np.concatenate([np.arange(90), np.arange(30)])
    one = MKLRegressor(KERNEL, C="auto", norm="auto").fit(X, Y, weight)
    other = MKLRegressor(KERNEL, C="auto", norm="auto").fit(X[twice], Y[twice])
    assert one.predict(X) == pytest.approx(other.predict(X), rel=1e-5, abs=1e-5)


# -- labels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["shared", "per_class"])
def test_labels_are_as_in_one_against_the_rest(weights):
    model = MKLClassifier(RBF(0.1), norm="fixed", C=2.0, weights=weights, tol=1e-6).fit(*LABELS)
    rest = OneVsRestClassifier(MKLClassifier(RBF(0.1), norm="fixed", C=2.0, tol=1e-6)).fit(*LABELS)
    assert model.multilabel_
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.decision_function(LABELS[0]) == pytest.approx(rest.decision_function(LABELS[0]), abs=1e-4)
    assert np.array_equal(model.predict(LABELS[0]), rest.predict(LABELS[0]))
    assert model.score(*LABELS) == rest.score(*LABELS)


@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 7.0}, ["balanced", None, {1: 0.2}]])
def test_every_label_has_class_weights_of_its_own(loss, class_weight):
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 80)
    given = {"norm": "fixed", "C": 2.0, "loss": loss, "tol": 1e-6}
    model = MKLClassifier(RBF(0.1), class_weight=class_weight, **given).fit(*LABELS, weight)
    for column in range(3):
        own = class_weight[column] if isinstance(class_weight, list) else class_weight
        alone = MKLClassifier(RBF(0.1), class_weight=own, **given).fit(LABELS[0], LABELS[1][:, column], weight)
        found = model.decision_function(LABELS[0])[:, column]
        assert found == pytest.approx(alone.decision_function(LABELS[0]), abs=1e-3)


def test_shared_weights_of_labels_with_class_weights_are_certified():
    kernel, given = RBF(0.05) + RBF(0.5) + Linear(), {"class_weight": "balanced", "tol": 1e-5}
    model = MKLClassifier(kernel, **given).fit(*LABELS)
    other = MKLClassifier(kernel, solver="silp", **given).fit(*LABELS)
    assert model.gap_ <= 1e-5
    assert other.objective_ == pytest.approx(model.objective_, rel=2e-5)
    assert MKLClassifier(class_weight="balanced").fit(*LABELS).score(*LABELS) > 0.5  # where all is chosen


def test_two_labels_are_not_two_classes():
    y = LABELS[1][:, :2]
    model = MKLClassifier(RBF(0.1), loss="logistic").fit(LABELS[0], y)
    p = model.predict_proba(LABELS[0])
    assert model.predict(LABELS[0]).shape == p.shape == y.shape
    assert np.array_equal(p > 0.5, model.predict(LABELS[0]) == 1)
    assert not np.allclose(p.sum(axis=1), 1.0)


def test_a_label_that_everyone_or_no_one_has_is_learned():
    y = np.column_stack([LABELS[1][:, 0], np.ones(80), np.zeros(80)]).astype(int)
    found = MKLClassifier().fit(LABELS[0], y).predict(LABELS[0])
    assert found[:, 1].all()
    assert not found[:, 2].any()


def test_an_indicator_may_be_a_table_or_sparse():
    pd, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    plain = MKLClassifier(RBF(0.1)).fit(*LABELS).decision_function(LABELS[0])
    for y in (pd.DataFrame(LABELS[1], columns=["name", "b", "c"]), sparse.csr_array(LABELS[1]), LABELS[1].tolist()):
        assert np.array_equal(MKLClassifier(RBF(0.1)).fit(LABELS[0], y).decision_function(LABELS[0]), plain)


@pytest.mark.parametrize(
    ("make", "y", "message"),
    [
        (lambda: MKLClassifier(), np.arange(160).reshape(80, 2) % 3, "each of them has to be 0 or 1"),
        (lambda: MKLClassifier(class_weight=["balanced"]), LABELS[1], "a list of 1, and y has 3 labels"),
        (lambda: MKLClassifier(class_weight={0: 0.0, 1: 1.0}), LABELS[1], "must be above 0"),
        (lambda: MKLClassifier(loss="squared", learn_C=True, class_weight="balanced"), LABELS[1], "one C for all"),
        (lambda: MKLRegressor(weights="per_class"), LABELS[1], '"shared" or "per_target"'),
        (lambda: MKLRegressor(), np.full((80, 2), np.nan), "NaN"),
        (lambda: MKLRegressor(), np.ones((79, 2)), "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_is_said(make, y, message):
    with pytest.raises(ValueError, match=message):
        make().fit(LABELS[0], y)


# -- what is made of it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        MKLRegressor(KERNEL, loss="squared").fit(X, Y),
        MKLRegressor(KERNEL, C="auto", norm="auto", weights="per_target").fit(X, Y),
        MKLClassifier(RBF(0.1) + Linear(), weights="per_class").fit(LABELS[0], LABELS[1][:, :2]),
    ],
    ids=repr,
)
def test_files_keep_several_targets_to_the_bit(model, tmp_path):
    save(model, tmp_path / "model.kw")
    other = load(tmp_path / "model.kw")
    assert np.array_equal(other.predict(X), model.predict(X))
    assert np.array_equal(other.fitted_.decide(X), model.fitted_.decide(X))
    assert np.array_equal(other.weights_, model.weights_)
    assert other.fitted_.several
    assert other.score(X, model.predict(X)) == 1.0


def test_parts_of_every_target_add_up_and_pages_for_one_say_so():
    model = MKLRegressor(KERNEL, loss="squared", weights="per_target").fit(X, Y)
    fitted = model.fitted_
    assert fitted.parts(X).sum(axis=0) + fitted.intercepts == pytest.approx(model.predict(X), rel=1e-9)
    assert explain.contributions(model, X, machine=2).decision == pytest.approx(model.predict(X)[:, 2], abs=1e-9)
    assert explain.term_table(model)["weight of 2"] == pytest.approx(model.weights_[2])
    assert model.score(X, Y, split=True).sum() == pytest.approx(model.score(X, Y))
    with pytest.raises(InputError, match="A report is about one target, and this model has 3"):
        report.build(model, X, Y)


# -- the pieces --------------------------------------------------------------------------------------------------------


def problem(n_targets=4, costs=(1.0,)):
    gram = bind(KERNEL, as_views(X))
    C = [np.full(len(X), costs[t % len(costs)]) for t in range(n_targets)]
    targets = [np.roll(Y[:, t % 3] / Y[:, t % 3].std(), t // 3) for t in range(n_targets)]
    return Problem(gram, [Machine(Squared(), y, c) for y, c in zip(targets, C, strict=True)], Simplex(), tol=1e-8)


@pytest.mark.parametrize("costs", [(1.0,), (0.1, 100.0)])
def test_one_factor_solves_what_single_steps_solve(costs):
    some = problem(5, costs)
    K = some.gram.at(np.full(3, 1 / 3))
    for machine, state in zip(some.machines, Ridge().together(some.machines, K), strict=True):
        start = Ridge().start(machine, K)
        assert state.coef == pytest.approx(Ridge().step(machine, K, start).coef, rel=1e-9, abs=1e-12)
        assert state.f == pytest.approx(K.apply(state.coef))
        assert state.certified(machine).gap < 1e-12


def test_machines_that_share_a_factor_have_the_hessian_of_each():
    some = problem(70)
    run = Run(some)
    step = run.solve(np.array([0.5, 0.2, 0.3]), None, 1e-8)
    at = np.arange(3)
    pairs = list(zip(some.machines, step.states, strict=True))
    each = sum(machines_hessian(run, step, [machine], [state], at) for machine, state in pairs)
    assert machines_hessian(run, step, [m for m, _ in pairs], [s for _, s in pairs], at) == pytest.approx(each)


def test_errors_at_some_samples_are_those_of_all():
    K, at, share = KERNEL.terms(as_views(X))[0](X), np.array([3, 50, 7]), np.linspace(0.5, 2.0, 90)
    every, some = missed_on_a_path(K, Y, share), missed_on_a_path(K, Y, share, at)
    for whole, part in zip(every, some, strict=True):
        assert part == pytest.approx(whole[at], rel=1e-9, abs=1e-9)


def test_each_target_chooses_what_is_best_for_it():
    whole, share = problem(3), np.ones(len(X))
    own = choose_for_each(whole, share, True, own_weights=True)
    shared = choose_for_each(whole, share, True, own_weights=False)
    assert all(a.missed <= b.missed + 1e-12 for a, b in zip(own, shared, strict=True))
    assert len({choice.weights.tobytes() for choice in shared}) == 1
    guesses = guessed_weights(whole, share)
    assert guesses.sum(axis=1) == pytest.approx(np.ones(len(guesses)))
    assert sorted(guesses.argmax(axis=1)) == [0, 1, 2]  # every target is like a term of its own


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_groups_are_means_of_rows_that_are_nearest_to_them(n, most, seed):
    rows = np.random.default_rng(seed).integers(0, 3, (n, 2)).astype(float)
    centres = grouped(rows, most)
    assert 1 <= len(centres) <= min(most, n)
    nearest = np.square(rows[:, None] - centres).sum(axis=2).min(axis=1)
    assert nearest.sum() <= np.square(rows - rows.mean(axis=0)).sum() + 1e-9
    assert centres.min() >= rows.min()
    assert centres.max() <= rows.max()
