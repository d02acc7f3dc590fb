"""Interior points through a factor of the kernel: the dual solver whose work does not grow with C."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from ..gram import Combined
from ..losses import BoxQP, SmoothLoss
from .base import UNLIMITED, DualSolver, DualState, Effort, Machine, Trail, repaired
from .polish import polish

#: More samples than this are left to SMO: a factor of their matrix takes too long.
MAX_SAMPLES = 3000
#: And more numbers, of samples that are vectors, or more multiplications of an iteration.
MAX_NUMBERS, MAX_WORK = 5e7, 5e10
#: Multiplications of one step, about: a second or so.
STEP_WORK = 1e10
#: Iterations after which the path is left as it is: some thirty are what it takes.
MAX_ITER = 80
#: The path ends where what is left to gain is this share of the objective.
DONE = 1e-13
#: How much of the way to the nearest bound one iteration goes.
ALMOST = 0.995


class InteriorPoint(DualSolver):
    """Follows the central path of the box (Mehrotra's predictor and corrector), then sorts samples to their bounds.

    a = p − q with p, q ≥ 0. With K = Z Z' of rank r, an iteration solves one system of size r, n r² multiplications
    (Fine and Scheinberg 2001); some thirty iterations suffice whatever C is. Each step ends with a point of the box:
    what the path says is at a bound is put there, and `polish` finds the others.
    """

    name = "interior"

    def fits(self, machine: Machine, K: Combined | None = None) -> bool:
        if isinstance(machine.loss, SmoothLoss) or machine.qp.free:
            return False
        return is_open(machine.qp) and K is not None and can_factor(K)

    def step(self, machine: Machine, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        return self.advance(machine.qp, K, state, effort)

    def advance(self, qp: BoxQP, K: Combined, state: DualState, effort: Effort = UNLIMITED) -> DualState:
        """Return the state further along the path, or final where the path has ended."""
        path = state.trail
        if not (isinstance(path, Path) and np.array_equal(path.weights, K.weights)):
            path = Path.begin(qp, K)
        for _ in range(max(1, int(STEP_WORK / path.work))):
            path = path.onward()
            if path.ended:
                break
        coef = path.coef(qp)
        moved = polish(qp, K, replace(state, coef=coef, f=K.apply(coef)))
        return replace(moved, n_steps=state.n_steps + 1, final=path.ended, exact=True, active=None, trail=path)


def is_open(qp: BoxQP) -> bool:
    """Say whether zero is in the box of every sample."""
    return bool(((qp.lower <= 0) & (qp.upper >= 0)).all())


def can_factor(K: Combined) -> bool:
    """Say whether the matrix is at hand, and small enough for a factor; or vectors, which are one."""
    if K.matrix is not None:
        return K.n <= MAX_SAMPLES
    vectors = None if K.gram is None else K.gram.vectors(K.weights)
    return vectors is not None and K.n * vectors.size <= MAX_NUMBERS and K.n * vectors.size**2 <= MAX_WORK


@dataclass(frozen=True)
class Path(Trail):
    """min ½‖Z'x‖² + ½ Σ ridge x² + linear'x over 0 ≤ x ≤ top, sign'x = total: x holds p and q of a = p − q.

    `slack` is top − x, kept apart because it is small where x is large; `low` and `high` are the multipliers of both
    bounds, b that of the sum.
    """

    sure = True
    who: np.ndarray
    sign: np.ndarray
    Z: np.ndarray
    ridge: np.ndarray
    linear: np.ndarray
    top: np.ndarray
    total: float
    weights: np.ndarray
    x: np.ndarray
    slack: np.ndarray
    low: np.ndarray
    high: np.ndarray
    b: float = 0.0
    n_iter: int = 0
    ended: bool = False

    @classmethod
    def begin(cls, qp: BoxQP, K: Combined) -> Path:
        """Return the start of the path: the middle of the box."""
        up, down = np.flatnonzero(qp.upper > 0), np.flatnonzero(qp.lower < 0)
        who = np.concatenate([up, down])
        sign = np.repeat([1.0, -1.0], [len(up), len(down)])
        top = np.concatenate([qp.upper[up], -qp.lower[down]])
        Z = low_rank(K, centred=qp.total == 0.0)[who] * sign[:, None]
        ridge, linear = qp.ridge[who], sign * qp.linear[who] + qp.l1
        curvature = np.einsum("ij,ij->i", Z, Z) + ridge
        free = 1.0 / max(float(curvature.mean()), 1e-300)
        x = np.where(np.isfinite(top), 0.5 * top, free)
        g = Z @ (Z.T @ x) + ridge * x + linear
        g -= sign * np.median(sign * g)
        least = float(np.abs(g).mean()) + 1e-300
        bounded = np.isfinite(top)
        low, high = np.maximum(g, 0.0) + least, np.where(bounded, np.maximum(-g, 0.0) + least, 0.0)
        return cls(who, sign, Z, ridge, linear, top, qp.total, K.weights, x, top - x, low, high)

    @property
    def work(self) -> float:
        """Multiplications of an iteration, about."""
        return float(self.Z.shape[0]) * self.Z.shape[1] ** 2 + 1.0

    def onward(self) -> Path:
        """Return the path after one iteration: where the bounds pull evenly, and how to get there."""
        x, s, z, w = self.x, self.slack, self.low, self.high
        bounded = np.isfinite(s)
        n_bounds = len(x) + int(bounded.sum())

        def product(z: np.ndarray, w: np.ndarray, x: np.ndarray, s: np.ndarray) -> float:
            return float(x @ z + s[bounded] @ w[bounded])

        Hx = self.f()
        off = self.off()
        worst = float(np.abs(off).max())
        left = self.total - float(self.sign @ x)
        gain = product(z, w, x, s)
        size = abs(float(self.linear @ x)) + float(x @ (Hx + self.ridge * x))
        spread = float(np.abs(Hx).max()) + float(np.abs(self.linear).max())
        if gain <= DONE * size and worst <= 1e-12 * spread:
            return replace(self, ended=True)
        system = System.of(self.Z, self.ridge + z / x + w / s, self.sign)
        if system is None:
            return replace(self, ended=True)
        dx, _ = system.solve(off - z + w, left)
        dz, dw = -z - z / x * dx, -w + w / s * dx
        length = _longest_step(x, dx, s, z, dz, w, dw)
        mu = gain / n_bounds
        reached = product(z + length * dz, w + length * dw, x + length * dx, s - length * dx) / n_bounds
        aim = mu * (reached / mu) ** 3 if mu > 0 else 0.0
        pull, push = (aim - dx * dz) / x - z, (aim + dx * dw) / s - w
        dx, db = system.solve(off + pull - np.where(bounded, push, 0.0), left)
        dz, dw = pull - z / x * dx, np.where(bounded, push + w / s * dx, 0.0)
        length = min(1.0, ALMOST * _longest_step(x, dx, s, z, dz, w, dw))
        if not (np.isfinite(dx).all() and length > 1e-8):
            return replace(self, ended=True)
        after = replace(
            self,
            x=x + length * dx,
            slack=s - length * dx,
            low=z + length * dz,
            high=w + length * dw,
            b=self.b + length * db,
            n_iter=self.n_iter + 1,
            ended=self.n_iter + 1 >= MAX_ITER,
        )
        # near the end the systems may be lost in rounding, which shows where the slope does not get better
        lengths = np.sqrt(np.einsum("ij,ij->i", self.Z, self.Z))
        rounding = 1e-15 * float(lengths.max(initial=0.0)) * float(lengths @ x) + 1e-9 * spread
        return after if np.abs(after.off()).max() <= worst + rounding else replace(self, ended=True)

    def f(self) -> np.ndarray:
        """Return the decision values times their sign."""
        return self.Z @ (self.Z.T @ self.x)

    def off(self) -> np.ndarray:
        """Return what is missing for the slope to be zero."""
        g = self.f() + self.ridge * self.x + self.linear + self.sign * self.b
        return self.low - self.high - g

    def coef(self, qp: BoxQP) -> np.ndarray:
        """Return a point of the box near the path.

        A sample is at a bound where its share of the pull is larger than its share of the way to there.
        """
        way = np.minimum(self.top, float(self.x.max(initial=0.0)))
        pull = max(float(np.abs(v).max(initial=1e-300)) for v in (self.low, self.high, self.linear, self.f()))
        x = np.where(self.slack / way < self.high / pull, self.top, np.minimum(self.x, self.top))
        x = np.where(self.x / way < self.low / pull, 0.0, x)
        a = np.zeros(len(qp.linear))
        np.add.at(a, self.who, self.sign * x)
        return repaired(qp, np.clip(a, qp.lower, qp.upper))


@dataclass(frozen=True)
class System:
    """[Z Z' + diag(D), sign; sign', 0], factored through I + Z' D⁻¹ Z."""

    Z: np.ndarray
    D: np.ndarray
    sign: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, Z: np.ndarray, D: np.ndarray, sign: np.ndarray) -> System | None:
        """Return the factored system; None where rounding leaves no factor."""
        B = Z / np.sqrt(D)[:, None]
        M = B.T @ B
        M.flat[:: len(M) + 1] += 1.0
        factor, failed = lapack.dpotrf(M, lower=1, clean=0)
        return None if failed else cls(Z, D, sign, factor)

    def solve(self, right: np.ndarray, total: float) -> tuple[np.ndarray, float]:
        """Return the solution and the multiplier of its sum."""
        along = self._inverse(self.sign)
        weight = float(self.sign @ along)
        d, b = np.zeros(len(right)), 0.0
        for _ in range(3):  # what rounding leaves over is solved for again
            rest = right - self.Z @ (self.Z.T @ d) - self.D * d - b * self.sign
            u = self._inverse(rest)
            more = (float(self.sign @ (u + d)) - total) / weight
            d, b = d + u - more * along, b + more
        return d, b

    def _inverse(self, v: np.ndarray) -> np.ndarray:
        v = v / self.D
        if len(self.factor) == 0:
            return v
        return v - (self.Z @ lapack.dpotrs(self.factor, self.Z.T @ v, lower=1)[0]) / self.D


def _longest_step(
    x: np.ndarray, dx: np.ndarray, s: np.ndarray, z: np.ndarray, dz: np.ndarray, w: np.ndarray, dw: np.ndarray
) -> float:
    """Return how far all of them may go and stay positive, 1 at most (and a little more)."""
    most = 1.0 / ALMOST
    for value, change in ((x, dx), (s, -dx), (z, dz), (w, dw)):
        falling = change < 0
        if falling.any():
            most = min(most, float((value[falling] / -change[falling]).min()))
    return most


def low_rank(K: Combined, centred: bool) -> np.ndarray:
    """Return Z with Z Z' = K, or K centred, by pivots until nothing but rounding is left: (n, rank)."""
    if K.matrix is None:
        return np.asarray(K.gram.vectors(K.weights).rows(whole=not centred))
    A = K.factor * np.asarray(K.matrix, dtype=np.float64)
    if centred:
        means = A.mean(axis=0)
        A -= means
        A -= (A.mean(axis=1))[:, None]
    factor, pivots, rank, _ = lapack.dpstrf(A, lower=1, overwrite_a=1)
    Z = np.zeros((K.n, rank))
    Z[pivots - 1] = np.tril(factor)[:, :rank]
    return Z
