"""An independent answer: the same problem as a cone program, solved by CLARABEL, and a bracket of its optimum.

    min over weights in a set, u, b   Σ_ik C_i loss(y_ik, f_ik) + total · Σ_k b_k + ½ Σ_m ‖u_m‖² / weights_m
    with f_k = Σ_m L_m u_mk + b_k and K_m = L_m L_m'.

Interior points are never quite feasible, so what CLARABEL returns is made feasible here, and both objectives are
computed from it. Weak duality then holds whatever the accuracy that it reached: the optimum lies in the bracket.
"""

from dataclasses import dataclass
from functools import cached_property

import clarabel
import numpy as np
from scipy import optimize, sparse
from scipy.special import xlogy


class Loss:
    """A loss by its value, its conjugate, the box of its coefficients, and its epigraph as cones."""

    total = 0.0

    def value(self, y, f):
        raise NotImplementedError

    def conjugate(self, y, a, C):
        """Return sup over f of −a f − C value(y, f), for a in the box."""
        raise NotImplementedError

    def box(self, y, C):
        raise NotImplementedError

    def epigraph(self, program, f, y, C):
        """Add Σ C value(y, f) to the program's objective."""
        raise NotImplementedError


class Hinge(Loss):
    def value(self, y, f):
        return np.maximum(0.0, 1.0 - y * f)

    def conjugate(self, y, a, C):
        return -y * a

    def box(self, y, C):
        return np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)

    def epigraph(self, program, f, y, C):
        slack = program.variable(len(y), cost=C)
        program.nonnegative([(slack, 1.0)])
        program.nonnegative([(slack, 1.0), (f, y)], -1.0)  # slack ≥ 1 − y f


class SquaredHinge(Hinge):
    def value(self, y, f):
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def conjugate(self, y, a, C):
        return -y * a + a * a / (4.0 * C)

    def box(self, y, C):
        return np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)

    def epigraph(self, program, f, y, C):
        slack = program.variable(len(y), square=C)
        program.nonnegative([(slack, 1.0)])
        program.nonnegative([(slack, 1.0), (f, y)], -1.0)


class Squared(Loss):
    def value(self, y, f):
        return (y - f) ** 2

    def conjugate(self, y, a, C):
        return -y * a + a * a / (4.0 * C)

    def box(self, y, C):
        return np.full(len(y), -np.inf), np.full(len(y), np.inf)

    def epigraph(self, program, f, y, C):
        residual = program.variable(len(y), square=C)
        program.zero([(residual, 1.0), (f, 1.0)], -y)


@dataclass
class EpsilonInsensitive(Loss):
    epsilon: float = 0.1

    def value(self, y, f):
        return np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def conjugate(self, y, a, C):
        return -y * a + self.epsilon * np.abs(a)

    def box(self, y, C):
        return -C, C

    def epigraph(self, program, f, y, C):
        slack = program.variable(len(y), cost=C)
        program.nonnegative([(slack, 1.0)])
        program.nonnegative([(slack, 1.0), (f, 1.0)], self.epsilon - y)
        program.nonnegative([(slack, 1.0), (f, -1.0)], self.epsilon + y)


@dataclass
class Huber(Loss):
    """½ r² up to |r| = delta, and then a line: ½ p² + delta |r − p| at its best p."""

    delta: float = 1.0

    def value(self, y, f):
        r = np.abs(y - f)
        return np.where(r <= self.delta, 0.5 * r * r, self.delta * (r - 0.5 * self.delta))

    def conjugate(self, y, a, C):
        return -y * a + a * a / (2.0 * C)

    def box(self, y, C):
        return -self.delta * C, self.delta * C

    def epigraph(self, program, f, y, C):
        near, far = program.variable(len(y), square=0.5 * C), program.variable(len(y), cost=self.delta * C)
        program.nonnegative([(far, 1.0), (near, 1.0), (f, 1.0)], -y)  # far ≥ |y − f − near|
        program.nonnegative([(far, 1.0), (near, -1.0), (f, -1.0)], y)


@dataclass
class SmoothHinge(Loss):
    """log(1 + exp(sigma (margin − y f))) / sigma; the logistic loss with margin 0 and sigma 1."""

    sigma: float = 5.0
    margin: float = 1.0

    def value(self, y, f):
        return np.logaddexp(0.0, self.sigma * (self.margin - y * f)) / self.sigma

    def conjugate(self, y, a, C):
        u = np.clip(y * a / C, 0.0, 1.0)
        return C * (-self.margin * u + (xlogy(u, u) + xlogy(1.0 - u, 1.0 - u)) / self.sigma)

    def box(self, y, C):
        return np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)

    def epigraph(self, program, f, y, C):
        t = program.variable(len(y), cost=C / self.sigma)
        one, other = program.variable(len(y)), program.variable(len(y))
        # log(1 + e^z) ≤ t where e^(−t) + e^(z − t) ≤ 1
        program.exponential([(t, -1.0)], 0.0, one)
        program.exponential([(t, -1.0), (f, -self.sigma * y)], self.sigma * self.margin, other)
        program.nonnegative([(one, -1.0), (other, -1.0)], 1.0)


class OneClass(Loss):
    total = 1.0

    def value(self, y, f):
        return np.maximum(0.0, -f)

    def conjugate(self, y, a, C):
        return np.zeros(len(a))

    def box(self, y, C):
        return np.zeros(len(C)), C

    def epigraph(self, program, f, y, C):
        slack = program.variable(len(y), cost=C)
        program.nonnegative([(slack, 1.0)])
        program.nonnegative([(slack, 1.0), (f, 1.0)])


class Program:
    """A cone program, built up row by row: min ½ x'Px + q'x with offset + Σ factors · x in cones."""

    def __init__(self):
        self.costs, self.squares, self.offsets, self.cones = [], [], [], []
        self.blocks = []
        self.n_rows = 0

    def variable(self, size, cost=0.0, square=0.0):
        """Return the places of new variables v that cost `cost`·v + `square`·v²."""
        start = sum(map(len, self.costs))
        self.costs.append(np.broadcast_to(cost, size))
        self.squares.append(np.broadcast_to(square, size))
        return np.arange(start, start + size)

    def _rows(self, parts, offset, cone, size):
        for places, factor in parts:
            if sparse.issparse(factor) or np.ndim(factor) == 2:
                block = sparse.coo_array(factor)
                self.blocks.append((self.n_rows + block.row, places[block.col], block.data))
            else:
                self.blocks.append((self.n_rows + np.arange(size), places, np.broadcast_to(factor, size)))
        self.offsets.append(np.broadcast_to(offset, size))
        self.cones += cone
        self.n_rows += size

    def zero(self, parts, offset=0.0, size=None):
        size = len(parts[0][0]) if size is None else size
        self._rows(parts, offset, [clarabel.ZeroConeT(size)], size)

    def nonnegative(self, parts, offset=0.0, size=None):
        size = len(parts[0][0]) if size is None else size
        self._rows(parts, offset, [clarabel.NonnegativeConeT(size)], size)

    def second_order(self, parts, size):
        """Add one cone ‖rest‖ ≤ first; a short list as factor stands for the top of a column."""
        columns = [
            (at, np.pad(np.array(factor), (0, size - len(factor)))[:, None] if isinstance(factor, list) else factor)
            for at, factor in parts
        ]
        self._rows(columns, 0.0, [clarabel.SecondOrderConeT(size)], size)

    def power(self, below, above, exponent):
        """Add |above| ≤ below^exponent, element by element, for an exponent in (0, 1)."""
        n = len(above)
        rows = [(below, _every_third(n, 0)), (above, _every_third(n, 2))]
        self._rows(rows, np.tile([0.0, 1.0, 0.0], n), [clarabel.PowerConeT(exponent)] * n, 3 * n)

    def exponential(self, parts, offset, above):
        """Add exp(offset + Σ factors · x) ≤ above, element by element."""
        n, first = len(above), _every_third(len(above), 0)
        shift = np.tile([0.0, 1.0, 0.0], n) + first @ np.broadcast_to(offset, n)
        rows = [(places, first * np.broadcast_to(factor, n)) for places, factor in parts]
        self._rows([*rows, (above, _every_third(n, 2))], shift, [clarabel.ExponentialConeT()] * n, 3 * n)

    def solve(self):
        """Return x and the multipliers of all rows."""
        q, squares = np.concatenate(self.costs), np.concatenate(self.squares)
        rows, columns, values = (np.concatenate(part) for part in zip(*self.blocks, strict=True))
        A = sparse.csc_matrix((-values, (rows, columns)), shape=(self.n_rows, len(q)))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.max_iter = 100
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        P = sparse.diags(2.0 * squares, format="csc")
        found = clarabel.DefaultSolver(P, q, A, np.concatenate(self.offsets), self.cones, settings).solve()
        return np.asarray(found.x), np.asarray(found.z)


def _every_third(n, first):
    """Return the matrix that puts n values into rows first, first + 3, ..."""
    return np.kron(np.eye(n), np.eye(3)[:, [first]])


@dataclass
class Question:
    """One machine learning problem in numbers alone: nothing of the library is in it."""

    #: The scaled matrices of the terms that take part, (n_terms, n, n).
    K: np.ndarray
    #: One column of targets per machine.
    Y: np.ndarray
    C: np.ndarray
    loss: Loss
    #: The weights' norm: p, with 1 for the simplex.
    p: float = 1.0
    #: Given weights > 0, in place of learned ones.
    weights: np.ndarray | None = None

    @cached_property
    def roots(self):
        """R_m with K_m = R_m R_m'; where K_m has negative eigenvalues, these count as zero."""
        values, vectors = np.linalg.eigh(self.K)
        return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]

    @cached_property
    def factors(self):
        """The columns L_m of R_m that are more than rounding: what they can do, R_m can do as well."""
        sizes = [np.linalg.norm(R, axis=0) for R in self.roots]
        return [R[:, size > 1e-7 * size.max(initial=0.0)] for R, size in zip(self.roots, sizes, strict=True)]

    def square(self, norms):
        """Return the least Σ norms_m² / weights_m over the set of weights."""
        if self.weights is not None:
            return float((norms**2 / self.weights).sum())
        if not norms.any():
            return 0.0
        power, top = 2.0 * self.p / (self.p + 1.0), norms.max()
        return float(top**2 * ((norms / top) ** power).sum() ** (2.0 / power))

    def dual_norm(self, quad):
        """Return the greatest Σ weights_m quad_m over the set of weights."""
        if self.weights is not None:
            return float(self.weights @ quad)
        if self.p == 1.0 or not quad.any():
            return float(quad.max())
        q, top = self.p / (self.p - 1.0), quad.max()
        return float(top * ((quad / top) ** q).sum() ** (1.0 / q))

    def upper(self, u, b):
        """Return the primal objective of parts u_m, (rank_m, n_machines) each, and intercepts b."""
        f = sum((L @ part for L, part in zip(self.factors, u, strict=True)), start=np.zeros(self.Y.shape))
        square = self.square(np.array([np.linalg.norm(part) for part in u]))
        return 0.5 * square + sum(self._least(*one) for one in zip(self.Y.T, f.T, b, strict=True))

    def _least(self, y, f, b):
        """Return the costs at the best intercept near b: convex in it."""

        def costs(b):
            return float(self.C @ self.loss.value(y, f + b)) + self.loss.total * b

        width = 1e-4 * (1.0 + abs(b) + np.abs(f).max())
        found = optimize.minimize_scalar(costs, bounds=(b - width, b + width), method="bounded", options={"xatol": 0.0})
        return min(costs(b), float(found.fun))

    def lower(self, coef):
        """Return the dual objective of coefficients, (n, n_machines), made feasible first."""
        coef = np.column_stack([self._feasible(a, y) for a, y in zip(coef.T, self.Y.T, strict=True)])
        conjugate = sum(self.loss.conjugate(y, a, self.C).sum() for a, y in zip(coef.T, self.Y.T, strict=True))
        quad = np.array([((R.T @ coef) ** 2).sum() for R in self.roots])
        return -float(conjugate) - 0.5 * self.dual_norm(quad)

    def _feasible(self, a, y):
        low, high = self.loss.box(y, self.C)
        a = np.clip(a, low, high)
        if self.loss.total:
            s = a.sum()
            return (
                a * (self.loss.total / s)
                if s >= self.loss.total
                else a + (high - a) * ((self.loss.total - s) / max((high - a).sum(), 1e-300))
            )
        up, down = a[a > 0].sum(), -a[a < 0].sum()
        if min(up, down) <= 0.0:
            return np.zeros(len(a))
        return np.where(a > 0, a * min(1.0, down / up), a * min(1.0, up / down))

    def bracket(self):
        """Return numbers below and above the optimum, by cone programs in units that suit it better and better."""
        zero = [np.zeros((L.shape[1], self.Y.shape[1])) for L in self.factors]
        low, high, unit = -np.inf, self.upper(zero, np.zeros(self.Y.shape[1])), float(self.C.max())
        for _ in range(3):
            u, b, coef = self._solve(unit)
            if np.isfinite(coef).all():
                low = max(low, self.lower(coef))
            if np.isfinite(b).all() and all(np.isfinite(part).all() for part in u):
                high = min(high, self.upper(u, b))
            if high - low <= 1e-8 * abs(high):
                break
            middle = abs(high) if not np.isfinite(low) else max(abs(high + low) / 2, 1e-12 * unit)
            unit = unit * 1e-3 if 0.1 < middle / unit < 10 else middle
        return low, high

    def _solve(self, unit):
        """Solve the cone program with costs and coefficients in units of `unit`."""
        n, k = self.Y.shape
        program, root = Program(), np.sqrt(unit)
        f = program.variable(n * k)
        b = program.variable(k, cost=self.loss.total / unit)
        given = np.zeros(len(self.K)) if self.weights is None else 0.5 / self.weights
        u = [program.variable(L.shape[1] * k, square=cost) for L, cost in zip(self.factors, given, strict=True)]
        parts = [(part, -np.kron(np.eye(k), root * L)) for L, part in zip(self.factors, u, strict=True)]
        program.zero([(f, 1.0), (b, -np.repeat(np.eye(k), n, axis=0)), *parts])  # its multipliers are the coefficients
        if self.weights is None:
            self._learn_weights(program, u)
        self.loss.epigraph(program, f, self.Y.T.ravel(), np.tile(self.C / unit, k))
        x, z = program.solve()
        coef = -unit * z[: n * k].reshape(k, n).T
        return [root * x[part].reshape(k, -1).T for part in u], x[b], coef

    def _learn_weights(self, program, u):
        """Add ½ Σ_m ‖u_m‖² / weights_m to the objective, with weights in the norm's set."""
        m = len(u)
        weights, ratio = program.variable(m), program.variable(m, cost=0.5)
        for i, part in enumerate(u):  # ‖u‖² ≤ ratio · weight
            inner = sparse.vstack([sparse.coo_array((2, len(part))), 2.0 * sparse.eye_array(len(part))])
            program.second_order([(ratio[[i]], [1.0, 1.0]), (weights[[i]], [1.0, -1.0]), (part, inner)], len(part) + 2)
        powers = weights if self.p == 1.0 else program.variable(m)
        if self.p != 1.0:
            program.power(powers, weights, 1.0 / self.p)
        program.nonnegative([(powers, -np.ones((1, m)))], 1.0, size=1)
