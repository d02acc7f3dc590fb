"""Fit a problem, and hold what the model says of itself against the independent answer."""

import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

from kernelweave import Checkpoint, InputError, load, save
from kernelweave.gram import DenseGram
from kernelweave.kernels import Identity, Sum
from kernelweave.views import as_views

from . import problems
from .oracle import Question

#: What rounding may do to an objective, relative to it, beside what it does to the decision values.
ROUNDING = 1e-7
EPS, EPS32 = np.finfo(np.float64).eps, np.finfo(np.float32).eps
#: An optimum below this share of what one sample alone would come to has no digits of its own.
AS_ZERO = 1e-9
#: Where C is learned, its upper end leaves this ridge, in shares of the least varied term.
LEAST_RIDGE = 1e-10


@dataclass
class Outcome:
    """What came of one problem."""

    problem: problems.Problem
    #: "converged", why the fit stopped, "refused", or "error".
    status: str
    #: One line for each promise that was not kept, beginning with its kind.
    failures: list = field(default_factory=list)
    #: The relative width of the oracle's bracket.
    width: float = np.nan


def check(seed):
    """Make, fit and check the problem of that number."""
    problem = problems.make(seed)
    try:
        with _quiet():
            model = fitted(problem)
    except InputError as error:  # right only where no term tells any two samples apart
        return Outcome(problem, "refused", [f"refused: {error}"] if Terms(problem).live.any() else [])
    except Exception as error:  # whatever it is, it is what this looks for
        return Outcome(problem, "error", [f"error: {type(error).__name__}: {error}"])
    outcome = Outcome(problem, model.stop_reason_)
    with _quiet():
        Checks(problem, model, outcome).run()
    return outcome


@contextmanager
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _single():
    """Hold matrices in single precision, as large problems do."""
    evaluate = DenseGram.compute
    with patch.object(DenseGram, "compute", lambda *given, **o: evaluate(*given, **o | {"dtype": np.float32})):
        yield


def fitted(problem):
    """Fit by the problem's path, with matrices held as it says."""
    if problem.axes["held"] != "single":
        return _fitted(problem)
    with _single():
        return _fitted(problem)


def _fitted(problem):
    """Fit at once, after a fit with another C, from a checkpoint, or through a model file."""
    model, data = clone(problem.estimator), (problem.X, problem.y, problem.sample_weight)
    if problem.path == "warm start":
        before = {"nu": min(1.0, 1.3 * model.nu)} if hasattr(model, "nu") else {"C": 3.0 * model.C}
        after = {name: getattr(model, name) for name in before}
        return model.set_params(warm_start=True, **before).fit(*data).set_params(**after).fit(*data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept"
        if problem.path == "resumed":
            early = clone(model).set_params(max_iter=1)
            early.fit(*data, checkpoint=Checkpoint(path, seconds=0))
            return model.fit(*data, checkpoint=Checkpoint(path, seconds=0))
        model.fit(*data)
        if problem.path == "loaded":
            save(model, path)
            matrices = {leaf.name: leaf.K for leaf in model.kernel.leaves() if hasattr(leaf, "K")}
            model = load(path, matrices=matrices) if matrices else load(path)
        return model


class Terms:
    """The matrices of all terms, and which of them are not constant on the samples that count."""

    def __init__(self, problem):
        self.share, self.C, self.Y = costs(problem)
        self.rows = np.flatnonzero(self.C > 0)
        terms = problem.estimator.kernel.terms(as_views(problem.X))
        self.all = np.array([np.asarray(term(problem.X), dtype=np.float64) for term in terms])
        self.inside = self.all[np.ix_(range(len(terms)), self.rows, self.rows)]
        share = self.share[self.rows] / self.share[self.rows].sum()
        self.size = np.einsum("mii,i->m", self.inside, share)
        self.variance = self.size - np.einsum("mij,i,j->m", self.inside, share, share)
        self.live = self.variance > 1e-12 * np.abs(self.size)


class Checks:
    """The promises of one fitted model."""

    def __init__(self, problem, model, outcome):
        self.problem, self.model, self.outcome = problem, model, outcome
        estimator = problem.estimator
        self.learns_C = getattr(estimator, "learn_C", False)
        terms = Terms(problem)
        self.share, self.C, self.Y, self.rows = terms.share, terms.C, terms.Y, terms.rows
        self.K, self.live = terms.all, terms.live
        self.weights = np.atleast_2d(model.weights_)
        self.single = problem.axes["held"] != "double" or "float32" in problem.axes["kernel"]
        self._scale(terms)

    def fail(self, kind, text):
        self.outcome.failures.append(f"{kind}: {text}")

    def _scale(self, terms):
        """Scale the terms as documented, and add the identity where C is learned."""
        K, size, variance = terms.inside, terms.size, terms.variance
        unit = size if self.problem.loss.total else variance
        total = self.share.sum() if self.problem.estimator.scaling == "trace" else 1.0
        unit = np.ones(len(K)) if self.problem.estimator.scaling is None else unit * total
        self.scales = np.where(self.live, unit, 1.0)
        blur = 1e-9 + 64 * (EPS32 if self.single else EPS) * np.abs(size / np.where(self.live, variance, np.inf))
        if self.learns_C:
            relative = self.C / self.problem.estimator.C
            diagonal = 1.0 if self.problem.estimator.scaling is None else total
            self.scales, self.live = np.append(self.scales, diagonal), np.append(self.live, True)
            K, blur = np.concatenate([K, np.diag(1.0 / relative[self.rows])[None]]), np.append(blur, 1e-9)
        wrong = np.abs(self.model.scales_ - self.scales) > blur * self.scales
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            self.fail(
                "scales",
                f"{wrong.sum()} wrong; of term {first} {self.model.scales_[first]!r} should be {self.scales[first]!r}",
            )
        self.scales = np.where(wrong, self.scales, self.model.scales_)  # the same but for rounding
        self.inside = K / self.scales[:, None, None]
        if self.learns_C:
            self.highest = 0.5 / (LEAST_RIDGE * (variance / self.scales[:-1])[self.live[:-1]].min())

    def run(self):
        """Check all promises."""
        model = self.model
        self.recompute()
        self.certificate()
        self.constraints()
        low, high = self.bracket()
        self.outcome.width = (high - low) / max(abs(high), self.size, 1e-300)
        slack = ROUNDING * max(abs(low), abs(high)) + self.noise
        if not model.lower_bound_ <= high + slack:
            self.fail(
                "lower > optimum", f"lower_bound_ {model.lower_bound_!r}, optimum ≤ {high!r} (noise {self.noise:.2g})"
            )
        if not model.objective_ >= low - slack:
            self.fail(
                "objective < optimum", f"objective_ {model.objective_!r}, optimum ≥ {low!r} (noise {self.noise:.2g})"
            )

    def bracket(self):
        """Return bounds of the optimum: of the shared problem, or of one problem per class added up."""
        shared = np.ndim(self.model.weights_) == 1
        groups = [range(self.Y.shape[1])] if shared else [[k] for k in range(self.Y.shape[1])]
        found = [self.question(self.weights[g], machines).bracket() for g, machines in enumerate(groups)]
        return sum(low for low, _ in found), sum(high for _, high in found)

    def question(self, weights, machines):
        """Return the problem of some machines as the oracle takes it."""
        C = self.C[self.rows]
        if self.learns_C:
            C = self.highest * C / self.problem.estimator.C
        p, given = self.norm()
        if self.problem.estimator.solver == "two_stage" and given is None:
            given = weights  # what is certified is the machine at these weights
        used = self.live if given is None else self.live & (given > 0)
        Y = self.Y[np.ix_(self.rows, machines)]
        return Question(self.inside[used], Y, C, self.problem.loss, p or 1.0, None if given is None else given[used])

    def norm(self):
        """Return p, or the given weights of all terms."""
        norm, n_terms = self.problem.estimator.norm, len(self.scales)
        if isinstance(norm, str):
            return None, np.ones(n_terms)
        return (None, np.asarray(norm.weights)) if hasattr(norm, "weights") else (float(norm), None)

    def recompute(self):
        """Compute the kept model's objective from its public parts, and what rounding may have done to it."""
        model, loss = self.model, self.problem.loss
        decide = model.predict if self.problem.axes["task"] == "regression" else model.decision_function
        f = np.asarray(decide(self.problem.X), dtype=np.float64).reshape(len(self.C), -1)
        self.coef = np.zeros((len(self.C), self.Y.shape[1]))
        self.coef[model.support_] = model.dual_coef_.T
        kernels = model.kernel_ if isinstance(model.kernel_, list) else [model.kernel_]
        value, self.noise, self.size = 0.0, 0.0, 0.0
        n_numbers = len(self.K)  # without the identity
        for k in range(self.Y.shape[1]):
            row = self.weights[k if len(self.weights) > 1 else 0]
            a, w = self.coef[:, k], (row / model.scales_)[:n_numbers]
            K, size = np.tensordot(w, self.K, 1), np.tensordot(w, np.abs(self.K), 1)
            value += 0.5 * float(a @ K @ a) + loss.total * model.intercept_[k]
            C = self.C
            if self.learns_C:
                C = np.atleast_1d(model.C_)[k if len(self.weights) > 1 else 0] * self.C / self.problem.estimator.C
            costs = C @ loss.value(self.Y[:, k], f[:, k])
            value += float(costs)
            self.size += 1e-6 * (float(np.abs(a) @ size @ np.abs(a)) + float(C @ loss.value(self.Y[:, k], 0.0 * a)))
            blur = 64 * EPS * (size @ np.abs(a) + np.abs(f[:, k]) + abs(model.intercept_[k]))
            self.noise += max(float(C @ loss.value(self.Y[:, k], f[:, k] + s * blur)) - costs for s in (-1.0, 0.0, 1.0))
            self.noise += (
                64 * EPS * float(np.abs(a) @ size @ np.abs(a)) + 1e-11 * abs(model.intercept_[k]) * np.abs(a).sum()
            )
            said = self._by_expression(kernels[k if len(kernels) > 1 else 0], k)
            if (
                np.abs(said - f[:, k]).max()
                > 1e-9 * abs(model.intercept_[k]) + (EPS32 / EPS if self.single else 64) * blur.max()
            ):
                self.fail("kernel_", f"differs from the decision values by {np.abs(said - f[:, k]).max():.3g}")
        noise = self.noise * (EPS32 / EPS / 16 if self.single else 1.0)  # matrices in single precision decide in it
        if not abs(value - model.objective_) <= ROUNDING * abs(model.objective_) + noise:
            self.fail(
                "kept model", f"its objective is {value!r}, objective_ {model.objective_!r} (noise {self.noise:.2g})"
            )

    def _by_expression(self, kernel, k):
        """Return decision values as `kernel_` is documented to give them."""
        X, terms = self.problem.X, kernel.kernels if isinstance(kernel, Sum) else (kernel,)
        terms = [term for term in terms if not any(isinstance(leaf, Identity) for leaf in term.leaves())]
        values = sum((term(X) for term in terms), start=np.zeros((len(self.C), len(self.C))))
        return values @ self.coef[:, k] + self.model.intercept_[k]

    def certificate(self):
        """Check that the two bounds, the gap and the verdict agree."""
        model = self.model
        upper, lower = model.objective_, model.lower_bound_
        slack = ROUNDING * abs(upper) + self.noise
        if not lower <= upper + slack:
            self.fail("lower > objective", f"{lower!r} > {upper!r}")
        size = max(abs(upper), self.unit())
        blur = 16 * EPS32 if self.single and size > abs(upper) else 1e-9  # lengths of samples are as they are held
        if abs(model.gap_ * size - max(0.0, upper - lower)) > blur * max(1.0, model.gap_) * size + 1e-300:
            self.fail("gap", f"gap_ {model.gap_!r} with bounds {lower!r} and {upper!r}")
        if model.converged_ and not model.gap_ <= model.tol * (1.0 + 1e-6):
            self.fail("converged", f"gap_ {model.gap_!r} above tol {model.tol!r}")

    def unit(self):
        """Return what is as good as zero for an objective, as documented: a share of one sample's alone."""
        longest = np.einsum("mii->mi", self.inside).max(axis=1)
        return 0.5 * AS_ZERO * self.problem.loss.total**2 * float(self.weights[0] @ longest)

    def constraints(self):
        """Check that weights and coefficients are where they belong."""
        p, given = self.norm()
        for row in self.weights:
            if not (np.isfinite(row).all() and (row >= 0).all() and not row[~self.live].any()):
                self.fail("weights", f"{row} with live terms {self.live}")
            elif given is not None and not np.allclose(row, np.where(self.live, given, 0.0), rtol=1e-12, atol=0.0):
                self.fail("weights", f"{row} are not the given {given}")
            elif given is None and abs((row**p).sum() ** (1 / p) - 1.0) > 1e-9:
                self.fail("weights", f"their {p:g}-norm is {(row**p).sum() ** (1 / p)!r}")
        C = self.C if not self.learns_C else self.highest * self.C / self.problem.estimator.C
        for a, y in zip(self.coef.T, self.Y.T, strict=True):
            low, high = self.problem.loss.box(y, C)
            if (a < low - 1e-9 * C).any() or (a > high + 1e-9 * C).any():
                self.fail("box", f"coefficients leave it by {np.maximum(low - a, a - high).max():.3g}")
            # smooth losses: coef = −C · slope(f + b), and no number b meets the sum better than its last digits times C
            rounding = 1e-9 * np.abs(a).sum() + 500 * EPS * C.max() * (1.0 + np.abs(y).max())
            if abs(a.sum() - self.problem.loss.total) > rounding:
                self.fail("sum", f"Σ coef is {a.sum()!r} with Σ |coef| {np.abs(a).sum():.3g}")


def costs(problem):
    """Return sample weights, the cost of every sample, and one column of targets per machine."""
    estimator, y, n = problem.estimator, problem.y, len(problem.y)
    share = np.ones(n) if problem.sample_weight is None else problem.sample_weight
    if hasattr(estimator, "nu"):
        return share, share / (estimator.nu * share.sum()), np.zeros((n, 1))
    if not hasattr(estimator, "class_weight"):
        return share, estimator.C * share, np.asarray(y, dtype=np.float64)[:, None]
    classes, codes = np.unique(y, return_inverse=True)
    by_class = compute_class_weight(estimator.class_weight, classes=classes, y=y, sample_weight=share)
    positive = [1] if len(classes) == 2 else range(len(classes))
    return (
        share,
        estimator.C * share * by_class[codes],
        np.column_stack([np.where(codes == k, 1.0, -1.0) for k in positive]),
    )
