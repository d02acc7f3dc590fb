"""Suites for losses and for norms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from ..losses import BoxQP, Loss, SmoothLoss
from ..norms import ClosedForm, WeightNorm

#: Samples of the small problems.
N = 9


def check_loss(loss: Loss, y: np.ndarray | None = None) -> None:
    """Check that a loss is convex, and that its conjugate, record and intercept belong to it.

    The conjugate is compared with the supremum that defines it, the `BoxQP` record with the conjugate,
    the intercept with a search, and weak and strong duality with a machine on one feature.

    Parameters
    ----------
    loss : Loss
    y : array, optional
        Targets; by default some that the loss says it reads.

    Raises
    ------
    AssertionError
        Names the loss and the promise that it breaks.

    Examples
    --------
    >>> from kernelweave.losses import Hinge
    >>> from kernelweave.testing import check_loss
    >>> check_loss(Hinge())
    """
    rng = np.random.default_rng(0)
    y = targets(loss, N, rng) if y is None else np.asarray(y, dtype=np.float64)
    C = rng.uniform(0.5, 2.0, len(y))
    _check_convex(loss, y, rng)
    _check_conjugate(loss, y, C, rng)
    _check_intercept(loss, y, C, rng)
    _check_duality(loss, y, C, rng)


def targets(loss: Loss, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n targets of the kind that the loss reads."""
    if loss.reads == "labels":
        return np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.standard_normal(n) if loss.reads == "numbers" else np.zeros(n)


def feasible_coef(qp: BoxQP, rng: np.random.Generator) -> np.ndarray:
    """Return a random point inside the box of a record (Σ a is left as it falls)."""
    lower, upper = np.maximum(qp.lower, -2.0), np.minimum(qp.upper, 2.0)
    return rng.uniform(lower, upper)


def _check_convex(loss: Loss, y: np.ndarray, rng: np.random.Generator) -> None:
    for _ in range(20):
        a, b, t = 3 * rng.standard_normal(len(y)), 3 * rng.standard_normal(len(y)), rng.random()
        chord = (1 - t) * loss.value(y, a) + t * loss.value(y, b)
        arc = loss.value(y, (1 - t) * a + t * b)
        assert arc.shape == y.shape, f"{loss!r}: value must give one number per sample, got shape {arc.shape}"
        assert (arc <= chord + 1e-9 * (1 + np.abs(chord))).all(), f"{loss!r}: not convex"
        if isinstance(loss, SmoothLoss):
            _check_derivatives(loss, y, a)


def _check_derivatives(loss: SmoothLoss, y: np.ndarray, f: np.ndarray) -> None:
    step = 1e-6
    slope = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * step)
    assert np.allclose(loss.slope(y, f), slope, rtol=1e-5, atol=1e-7), f"{loss!r}: slope is not the derivative of value"
    curvature = (loss.slope(y, f + step) - loss.slope(y, f - step)) / (2 * step)
    assert np.allclose(loss.curvature(y, f), curvature, rtol=1e-4, atol=1e-7), (
        f"{loss!r}: curvature is not the derivative of slope"
    )


def _check_conjugate(loss: Loss, y: np.ndarray, C: np.ndarray, rng: np.random.Generator) -> None:
    for _ in range(5):
        if isinstance(loss, SmoothLoss):
            f = 2 * rng.standard_normal(len(y))
            coef, qp = -C * loss.slope(y, f), loss.dual(y, C, f)
            slip = qp.ridge * coef + qp.linear + f
            assert np.abs(slip).max() <= 1e-6 * (1 + np.abs(f).max()), f"{loss!r}: the model does not touch at f"
        else:
            qp = loss.dual(y, C)
            coef = feasible_coef(qp, rng)
            record = 0.5 * qp.ridge @ coef**2 + qp.linear @ coef + qp.l1 * np.abs(coef).sum()
            stated = loss.conjugate(y, coef, C)
            assert np.isclose(record, stated, rtol=1e-9, atol=1e-9), f"{loss!r}: dual and conjugate do not agree"
        assert qp.total == loss.total, f"{loss!r}: the record's total is {qp.total}, the loss's {loss.total}"
        exact = sum(_supremum(loss, y[i : i + 1], coef[i], C[i : i + 1]) for i in range(len(y)))
        stated = loss.conjugate(y, coef, C)
        assert np.isclose(exact, stated, rtol=1e-6, atol=1e-6), f"{loss!r}: conjugate is {stated:.9g}, not {exact:.9g}"
        for _ in range(20):
            f = 3 * rng.standard_normal(len(y))
            young = C @ loss.value(y, f) + stated + coef @ f
            assert young >= -1e-9 * (1 + abs(stated)), f"{loss!r}: the Fenchel-Young inequality fails by {young:.3g}"


def _supremum(loss: Loss, y: np.ndarray, coef: float, C: np.ndarray) -> float:
    """Return sup_f (−coef f − C value(y, f)) by search."""
    return -_search(lambda f: coef * f + float(C @ loss.value(y, np.array([f]))), 40.0)[1]


def _search(function: Callable[[float], float], width: float) -> tuple[float, float]:
    """Return where a convex function of one number is lowest in (−width, width), and how low."""
    found = minimize_scalar(function, bounds=(-width, width), method="bounded", options={"xatol": 1e-12})
    return float(found.x), float(found.fun)


def _check_intercept(loss: Loss, y: np.ndarray, C: np.ndarray, rng: np.random.Generator) -> None:
    for scale in (0.0, 1.0, 5.0):
        f = scale * rng.standard_normal(len(y))

        def objective(b: float, f: np.ndarray = f) -> float:
            return float(C @ loss.value(y, f + b)) + loss.total * b

        b = loss.intercept(y, f, C)
        best = _search(objective, 60.0)[1]
        assert objective(b) <= best + 1e-8 * (1 + abs(best)), (
            f"{loss!r}: intercept {b:.6g} gives {objective(b):.9g}, but {best:.9g} is possible"
        )


def _check_duality(loss: Loss, y: np.ndarray, C: np.ndarray, rng: np.random.Generator) -> None:
    """Compare the lowest primal value on one feature, found by search, with the dual's highest."""
    from ..dual import Machine
    from .solvers import best_value

    x = rng.standard_normal(len(y)) + (0.5 if loss.total else 0.0)
    machine = Machine(loss, y, C)

    def primal(w: float) -> float:
        return _search(lambda b: machine.upper(w * x, b, w * w), 60.0)[1]

    lowest = _search(primal, 20.0)[1]
    highest = best_value(machine, np.outer(x, x))[0]
    assert np.isclose(lowest, highest, rtol=1e-6, atol=1e-6), (
        f"{loss!r}: the primal's lowest value is {lowest:.9g}, the dual's highest {highest:.9g}"
    )


def check_norm(norm: WeightNorm, n_terms: int = 5) -> None:
    """Check that a norm's start, dual norm and closed form belong to one convex set of weights ≥ 0.

    The dual norm is the support function of the set: its gradient is the weights where the maximum
    is attained, and weights are in the set where they never exceed it.

    Parameters
    ----------
    norm : WeightNorm
    n_terms : int

    Raises
    ------
    AssertionError
        Names the norm and the promise that it breaks.

    Examples
    --------
    >>> from kernelweave.norms import LpNorm
    >>> from kernelweave.testing import check_norm
    >>> check_norm(LpNorm(1.5))
    """
    rng = np.random.default_rng(0)
    quads = rng.uniform(0.1, 2.0, (30, n_terms))
    start = norm.start(n_terms)
    assert start.shape == (n_terms,), f"{norm!r}: start gives shape {start.shape} for {n_terms} terms"
    assert in_set(norm, start, quads), f"{norm!r}: start is not in the set that dual_norm describes"
    tops = [_attained(norm, quad) for quad in quads]
    for quad, top in zip(quads, tops, strict=True):
        assert np.isclose(top @ quad, norm.dual_norm(quad), rtol=1e-6), f"{norm!r}: dual_norm is not attained"
        assert in_set(norm, top, quads), f"{norm!r}: dual_norm is not the maximum of one convex set"
        assert np.isclose(norm.dual_norm(3.0 * quad), 3.0 * norm.dual_norm(quad)), f"{norm!r}: dual_norm does not scale"
    assert norm.dual_norm(np.zeros(n_terms)) == 0.0, f"{norm!r}: dual_norm of zeros is not zero"
    if isinstance(norm, ClosedForm):
        _check_closed_form(norm, np.array(tops), quads, rng)


def in_set(norm: WeightNorm, weights: np.ndarray, quads: np.ndarray) -> bool:
    """Say whether weights ≥ 0 exceed the dual norm for none of the given quads."""
    inside = all(weights @ quad <= norm.dual_norm(quad) * (1 + 1e-6) for quad in quads)
    return inside and bool((weights >= -1e-6).all())


def _attained(norm: WeightNorm, quad: np.ndarray) -> np.ndarray:
    """Return the weights where the dual norm is attained: its gradient, from differences."""
    steps = 1e-6 * np.eye(len(quad))
    return np.array([(norm.dual_norm(quad + s) - norm.dual_norm(quad - s)) / 2e-6 for s in steps])


def _check_closed_form(norm: ClosedForm, tops: np.ndarray, quads: np.ndarray, rng: np.random.Generator) -> None:
    for _ in range(10):
        norms: np.ndarray = rng.uniform(0.1, 2.0, tops.shape[1:])
        weights = norm.closed_form(norms)
        assert in_set(norm, weights, quads), f"{norm!r}: closed_form leaves the set"
        best = float((norms**2 / weights).sum())
        for _ in range(30):  # mixtures of weights in the set are in the set; near the best ones they are hard to beat
            mixed = rng.dirichlet(np.full(len(tops), 0.1)) @ tops
            mixed = weights + rng.choice([1.0, 1e-1, 1e-2]) * (mixed - weights)
            other = float((norms**2 / np.maximum(mixed, 1e-12)).sum())
            assert best <= other * (1 + 1e-7), f"{norm!r}: closed_form gives {best:.9g}, but {other:.9g} is possible"
