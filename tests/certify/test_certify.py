"""Certificates against an independent solver. Many more of the same problems: ``make certify``."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest

from certify import check, oracle, problems, run

N_PROBLEMS, AT_ONCE = 300, 15


@pytest.mark.parametrize("first", range(0, N_PROBLEMS, AT_ONCE))
def test_random_problems_keep_every_promise(first):
    rows = [run.summary(seed) for seed in range(first, first + AT_ONCE)]
    assert not any(row["failures"] for row in rows), run.table(rows, 0.0)
    # an oracle that knows nothing would let everything pass
    assert sum(row["width"] <= run.WIDE for row in rows) >= AT_ONCE - 5


def _cvxpy_loss(name, y, f):
    return {
        "hinge": lambda: cp.pos(1 - cp.multiply(y, f)),
        "squared_hinge": lambda: cp.square(cp.pos(1 - cp.multiply(y, f))),
        "squared": lambda: cp.square(y - f),
        "epsilon_insensitive": lambda: cp.pos(cp.abs(y - f) - 0.2),
        "huber": lambda: cp.huber(y - f, 0.7) / 2,
        "logistic": lambda: cp.logistic(-cp.multiply(y, f)),
        "smooth_hinge": lambda: cp.logistic(5 * (1 - cp.multiply(y, f))) / 5,
        "one_class": lambda: cp.pos(-f),
    }[name]()


LOSSES = {
    "hinge": oracle.Hinge(),
    "squared_hinge": oracle.SquaredHinge(),
    "squared": oracle.Squared(),
    "epsilon_insensitive": oracle.EpsilonInsensitive(0.2),
    "huber": oracle.Huber(0.7),
    "logistic": oracle.SmoothHinge(sigma=1.0, margin=0.0),
    "smooth_hinge": oracle.SmoothHinge(),
    "one_class": oracle.OneClass(),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("p", [1.0, 1.5, None])
def test_the_oracle_agrees_with_the_problem_as_cvxpy_reads_it(name, p, rng):
    n, loss = 12, LOSSES[name]
    A = rng.normal(size=(3, n, 4))
    y, C = np.sign(rng.normal(size=n)), rng.uniform(0.2, 1.5, size=n)
    given = None if p else np.array([0.5, 1.0, 2.0])
    low, high = oracle.Question(A @ A.transpose(0, 2, 1), y[:, None], C, loss, p or 1.0, given).bracket()
    w, b = [cp.Variable(4) for _ in A], cp.Variable()
    weights = cp.Variable(3, nonneg=True) if p else given
    if p == 1:  # the weights are gone: the best ones are in proportion to the norms
        size = cp.square(sum(cp.norm(part) for part in w))
    else:
        size = sum(cp.quad_over_lin(part, weights[m]) for m, part in enumerate(w))
    f = sum(part @ one for part, one in zip(A, w, strict=True)) + b
    objective = C @ _cvxpy_loss(name, y, f) + loss.total * b + size / 2
    program = cp.Problem(cp.Minimize(objective), [cp.pnorm(weights, p) <= 1] if p and p > 1 else [])
    program.solve(solver=cp.CLARABEL, use_quad_obj=False)
    assert low <= high * (1 + 1e-12) if high > 0 else low <= high * (1 - 1e-12)
    np.testing.assert_allclose([low, high], program.value, rtol=1e-5)


def _checked(seed, change):
    problem = problems.make(seed)
    with check._quiet():
        model = check.fitted(problem)
        change(model)
        outcome = check.Outcome(problem, model.stop_reason_)
        check.Checks(problem, model, outcome).run()
    return {failure.split(":")[0] for failure in outcome.failures}


def _set(name, change):
    return lambda model: setattr(model, name, change(getattr(model, name)))


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (_set("lower_bound_", lambda value: value + 1e-3 * abs(value)), {"lower > optimum", "lower > objective"}),
        (_set("objective_", lambda value: value * (1 - 1e-2)), {"objective < optimum", "kept model"}),
        (_set("intercept_", lambda value: value + 0.3), {"kept model"}),
        (_set("weights_", lambda value: value * 1.1), {"weights", "kept model", "kernel_"}),
        (_set("dual_coef_", np.negative), {"kept model", "box"}),
        (_set("scales_", lambda value: value * 2), {"scales", "kernel_"}),
        (_set("gap_", lambda value: value + 1.0), {"gap", "converged"}),
    ],
)
def test_a_wrong_model_is_found_out(change, kinds):
    seed = _seed_of_a_plain_hinge()
    assert not _checked(seed, lambda model: None)
    assert kinds <= _checked(seed, change)


@cache
def _seed_of_a_plain_hinge():
    wanted = {"task": "binary", "loss": "hinge", "norm": "1", "path": "plain", "held": "double", "tol": "1e-08"}
    for seed in range(100_000):
        problem = problems.make(seed)
        axes = {name: problem.axes[name] for name in wanted}
        if axes == wanted and problem.axes["degeneracy"] == ("none",) and len(problem.y) > 12:
            return seed
    raise AssertionError("no such problem")


def test_problems_are_made_by_their_number_alone():
    one, other = problems.make(7), problems.make(7)
    assert one.axes == other.axes
    assert repr(one.estimator) == repr(other.estimator)
    np.testing.assert_array_equal(one.y, other.y)


def test_the_table_counts_and_lists_failures():
    rows = [run.summary(seed) for seed in (1, 2)]
    rows[1] |= {"failures": ["gap: too wide"], "seed": 2}
    text = run.table(rows, 1.0)
    assert "2 problems" in text
    assert "1 failed" in text
    assert 'make certify ARGS="--problems 1 --seed 2"' in text
