"""Kernel parameters beyond weights: one RBF width per feature, by Newton's method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import clock
from ..dual import Machine
from ..gram import MAX_GATHERED
from ..gram.base import block_rows
from ..gram.dense import DenseGram
from ..kernels import RBF
from ..norms import Fixed
from ..parallel import blocks
from ..views import ArrayViews
from .base import Problem, Run, Step
from .hessian import bordered_solve, free_samples

#: Bytes of derivatives that are computed at a time.
BLOCK_BYTES = 4 * 2**20
#: Widths are looked for between these, in units of one over the squared spread of the features.
LOWEST, HIGHEST = 1e-8, 1e3
#: A width of less than this share of the largest is reported as zero: the feature is not used.
FORGOTTEN = 1e-4


@dataclass
class Widths:
    """What a search for widths found; the problem is not convex, so other starts may end elsewhere."""

    gamma: np.ndarray
    objective: float
    #: Objective of the best point after every step, one list per start.
    histories: list[list[float]] = field(default_factory=list)
    #: On how many samples, of how many, they were found; None where on all.
    part: tuple[int, int] | None = None

    @property
    def note(self) -> str:
        """What a user should know of how sure the result is."""
        on = "" if self.part is None else " on {:,} of {:,} samples".format(*self.part)
        ends = ", ".join(f"{history[-1]:.6g}" for history in self.histories)
        return (
            f"widths were found{on} by descent on a function that is not convex: {len(self.histories)} start(s) ended "
            f"at objectives {ends}; the lowest was kept, and there may be lower ones"
        )


def learn_widths(
    X: np.ndarray,
    machines: Sequence[Machine],
    *,
    n_starts: int = 3,
    max_iter: int = 50,
    tol: float = 1e-3,
    deadline: float = np.inf,
    random_state: int | np.random.Generator | None = None,
    scaling: str | None = "variance",
    sample_weight: np.ndarray | None = None,
) -> Widths:
    """Find gamma_c > 0 such that exp(−Σ_c gamma_c (x_c − y_c)²), scaled, makes the machines' objective low.

    J(log gamma) has the gradient −½ coef'∂K coef and the Hessian Q'ĀQ − ½ coef'∂²K coef, with Q = ∂K coef at
    the free samples; the second part can be negative, so the steps use the Hessian's absolute
    eigenvalues. Costs n² d² a step.

    Parameters
    ----------
    X : array of shape (n, d)
    machines : the machines whose summed objective is lowered
    n_starts : how many starting points; the first has equal widths, the others are random
    max_iter : most Newton steps per start
    tol : relative decrease below which a start has ended
    scaling : {"variance", "trace", None}, how the kernel is scaled at every set of widths
    sample_weight : what every sample counts in that scaling; all the same where None
    """
    rng = np.random.default_rng(random_state)
    n, d = X.shape
    scale = Scale(scaling, np.ones(n) if sample_weight is None else sample_weight)
    mean = np.average(X, axis=0, weights=scale.share)
    spread = np.maximum(np.average((X - mean) ** 2, axis=0, weights=scale.share), 1e-300)
    found, histories = [], []
    for number in range(n_starts):
        theta = np.full(d, -np.log(d)) + (rng.normal(0.0, 1.0, d) if number else 0.0)
        theta, history = _descend(X / np.sqrt(spread), machines, scale, theta, max_iter, tol, deadline)
        found.append(theta)
        histories.append(history)
        if clock.now() > deadline:
            break
    best = int(np.argmin([history[-1] for history in histories]))
    gamma = np.exp(found[best])
    gamma[(gamma < FORGOTTEN * gamma.max()) | (np.ptp(X, axis=0) == 0)] = 0.0
    return Widths(gamma / spread, histories[best][-1], histories)


@dataclass
class Along:
    """Derivatives in log gamma for one vector a: of K a, (n, d), and of a'K a, (d,) and (d, d)."""

    each: np.ndarray
    first: np.ndarray
    second: np.ndarray


def widths_bytes(n: int) -> float:
    """Return what a search for widths takes: matrices at two points, and of the free samples, and blocks."""
    return 2 * 8.0 * n * n + max(4.0 * BLOCK_BYTES, 8.0 * min(n, MAX_GATHERED) ** 2)


@dataclass
class Scale:
    """What the kernel is multiplied with, and how that changes with the widths.

    1 / variance with variance = 1 − p'K p where p are the samples' shares; that over Σ share for "trace"; 1 for None.
    """

    scaling: str | None
    share: np.ndarray

    def value(self, K: np.ndarray) -> float:
        """Return the factor of K."""
        p = self.share / self.share.sum()
        return 1.0 if self.scaling is None else self._unit_of_scaling() / max(1.0 - float(p @ K @ p), 1e-12)

    def derivatives(self, K: np.ndarray, along: Callable[[np.ndarray], Along]) -> tuple[np.ndarray, np.ndarray]:
        """Return the factor's gradient and Hessian in log gamma, where `along` gives the derivatives of a'K a."""
        shared = along(self.share / self.share.sum())
        dv, ddv = -shared.first, -shared.second
        if self.scaling is None:
            return np.zeros_like(dv), np.zeros_like(ddv)
        inverse = self.value(K) / self._unit_of_scaling()
        return -self._unit_of_scaling() * inverse**2 * dv, self._unit_of_scaling() * inverse**2 * (
            2.0 * inverse * np.outer(dv, dv) - ddv
        )

    def _unit_of_scaling(self) -> float:
        return 1.0 / float(self.share.sum()) if self.scaling == "trace" else 1.0


def _descend(
    X: np.ndarray,
    machines: Sequence[Machine],
    scale: Scale,
    theta: np.ndarray,
    max_iter: int,
    tol: float,
    deadline: float,
) -> tuple[np.ndarray, list[float]]:
    """Return where Newton's method with backtracking ends, and the objectives on the way."""
    point = _Point(X, machines, scale, theta, None, deadline)
    history = [point.step.upper]
    for _ in range(max_iter):
        gradient, hessian = point.derivatives()
        values, vectors = np.linalg.eigh(hessian)
        size = np.maximum(np.abs(values), 1e-3 * np.abs(values).max() + 1e-12)
        direction = -vectors @ ((vectors.T @ gradient) / size)
        if not direction.any():  # a machine that is constant: no widths are better than others
            break
        direction *= min(1.0, 2.0 / np.abs(direction).max())  # a width moves by a factor e² at most
        length, better = 1.0, None
        while length > 1e-3:
            target = np.clip(theta + length * direction, np.log(LOWEST), np.log(HIGHEST))
            trial = _Point(X, machines, scale, target, point.step, deadline)
            if trial.step.upper < point.step.upper + 1e-4 * float(gradient @ (target - theta)):
                better = trial
                break
            length *= 0.4
        if better is None:
            break
        gain = point.step.upper - better.step.upper
        point, theta = better, target
        history.append(point.step.upper)
        if gain <= tol * abs(point.step.upper) or point.run.out_of_time():
            break
    return theta, history


class _Point:
    """The machines solved at one set of widths, and the derivatives there."""

    def __init__(
        self,
        X: np.ndarray,
        machines: Sequence[Machine],
        scale: Scale,
        theta: np.ndarray,
        start: Step | None,
        deadline: float,
    ) -> None:
        self.X, self.scale, self.gamma = X, scale, np.exp(theta)
        n, wide = len(X), X * np.sqrt(self.gamma)
        from .._fast.vectors import squared_distances

        self.K = squared_distances(wide, np.ascontiguousarray(wide.T))
        np.exp(np.negative(self.K, out=self.K), out=self.K)
        gram = DenseGram([RBF()], ArrayViews(np.zeros((n, 1))), [self.K], factors=np.array([scale.value(self.K)]))
        self.run = Run(Problem(gram, machines, Fixed(), tol=1e-6, deadline=deadline))
        self.step = self.run.solve(np.ones(1), None if start is None else start.states, 1e-8)

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and Hessian of the objective in log gamma."""
        d = len(self.gamma)
        # the factor depends on the widths too
        scale, (ds, dds) = self.scale.value(self.K), self.scale.derivatives(self.K, self._derivatives_along)
        gradient, hessian = np.zeros(d), np.zeros((d, d))
        for machine, state in zip(self.run.problem.machines, self.step.states, strict=True):
            a = state.coef
            found, quad = self._derivatives_along(a), float(a @ (self.K @ a))
            first, second = found.first, found.second
            gradient -= 0.5 * (scale * first + quad * ds)
            hessian -= 0.5 * (scale * second + np.outer(ds, first) + np.outer(first, ds) + quad * dds)
            F, ridge = free_samples(machine, state)
            if len(F) >= 2:
                Q = scale * found.each[F] + np.outer(self.K[F] @ a, ds)
                hessian += bordered_solve(scale * self.K[np.ix_(F, F)], ridge, Q)
        return gradient, hessian

    def _derivatives_along(self, a: np.ndarray) -> Along:
        """Return the derivatives of K a and of a'K a, a few rows of K at a time: ∂K = D · K has n² d numbers."""
        (n, d), X = self.X.shape, self.X
        each, second = np.empty((n, d)), np.zeros((d, d))
        for part in blocks(n, block_rows(BLOCK_BYTES, n * d)):
            D = ((X[part, None, :] - X) ** 2 * -self.gamma).reshape(-1, d)
            KDa = (self.K[part] * a).reshape(-1, 1) * D
            each[part] = KDa.reshape(-1, n, d).sum(axis=1)
            second += D.T @ (KDa * np.repeat(a[part], n)[:, None])
        first = a @ each
        return Along(each, first, second + np.diag(first))
