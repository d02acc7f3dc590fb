"""Two stages: first a kernel that is like the ideal one, then the machine."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ..errors import InputError
from ..norms import Fixed
from .alignment import Moments, Pairs
from .base import Problem, Run, Solver, Steps
from .leave_one_out import left_out_squares

METHODS = ("ridge", "alignment", "joint_alignment", "differences", "pairs", "auto")
#: What "auto" chooses from, each a method with its power, the first unless another is better beyond doubt.
CANDIDATES = (("ridge", 1.0), ("alignment", 4.0), ("differences", 1.0))
TARGETS = ("centred", "product", "balanced")
#: Smallest ridge, as a share of the largest eigenvalue: keeps the weights of terms that look alike unique.
LEAST_RIDGE = 1e-12
#: An alignment below this is none.
ROUNDING = 1e-10
#: How often the differences of targets are weighed anew, and the least noise, as a share of the targets' variance.
N_PASSES, LEAST_NOISE = 2, 1e-6
#: Rows and columns of the blocks of pairs that the stochastic method draws.
BATCH = 32
NOTHING_ALIGNED = (
    "no term is aligned with the targets, so two_stage gives all terms the same weight; "
    "other kernels, or solver='auto', may find more"
)


@dataclass(frozen=True)
class FirstStage:
    """The weights that the first stage chose, and how like the ideal kernel they make the sum."""

    weights: np.ndarray
    moments: Moments = field(repr=False)
    #: The penalty on ‖weights‖² that was used, in units of the largest eigenvalue of G.
    ridge: float
    #: How the weights were found.
    method: str
    #: What a user should know of it.
    note: str = ""

    def alignment(self, spread: Callable[[np.ndarray], np.ndarray] = np.asarray) -> dict[str, Any]:
        """Return alignments with the ideal kernel: of every term, of their plain sum, of the weighted one."""
        equal = np.ones_like(self.weights)
        return {
            "terms": spread(self.moments.each()),
            "before": self.moments.alignment(equal),
            "after": self.moments.alignment(self.weights),
            "method": self.method,
            "ridge": self.ridge,
            "n_points": self.moments.n_points,
        }


class TwoStage(Solver):
    """Learn the kernel first, by regression on pairs of samples, and then solve one machine (TSMKLR).

    Stage one: weights ≥ 0 that minimise Σ_ij (T_ij − Σ_m weights[m] K_m(i, j))² + ridge ‖weights‖², with the
    ideal kernel T_ij = y_i y_j (Shiju, Salim and Sumitra 2017). Stage two: the machine at these weights. The
    weights are not those that minimise the machine's objective; an estimator's `gap_` then
    speaks of stage two alone.

    Parameters
    ----------
    method : {"ridge", "alignment", "joint_alignment", "differences", "pairs", "auto"}
        "ridge" as above. "alignment": every term's own alignment with T, negative ones as zero, to a power.
        "joint_alignment": the non-negative weights whose sum has the greatest alignment. "differences": near
        samples should have near targets. With d_m(i, j) = (K_m(i, i) + K_m(j, j)) / 2 − K_m(i, j), find weights and
        noise ≥ 0 that minimise Σ_ij ((y_i − y_j)² / 2 − fit_ij)² / before_ij with fit = noise + Σ_m weights[m] d_m,
        where before is the fit of the pass before: equal weights first, then once more. It is how geostatistics
        fits variograms (Cressie 1985), and near pairs count more than for "ridge". "pairs": for labels, a linear
        machine that tells pairs of one class from the others, by its hinge loss on drawn pairs. "auto": the one of
        "ridge", "alignment" to the power 4 and "differences" whose kernel ridge regression misses samples that are
        left out by least; "ridge", unless another is better by more than one standard error. It takes a factorisation
        of n³/3 for each (of 3,000 samples at the most), and `alignment_["method"]` of an estimator says which.
    target : {"centred", "product", "balanced"}
        "centred": y and the kernels without their means, as a machine with an intercept sees them.
        "product": y and the kernels as they are. "balanced": for labels, centred so that all classes count alike.
        More than two classes: T_ij is 1 within a class and 0 otherwise, before any centring. Differences have no means.
    ridge : float or None
        Penalty on ‖weights‖², as a share of the largest eigenvalue of the terms' products ⟨K_m, K_l⟩; None for
        generalised cross-validation, and for none at all with "differences".
    power : float
        For "alignment": weights are alignments to this power. The greater, the more the best terms have to say.
    diagonal : bool
        Whether pairs of a sample with itself count, as in the paper. They do not say who is like whom, and
        reward terms under which every sample is like itself only; the weight of such terms is a ridge on the machine.
    compress : object or None
        What chooses the samples whose pairs are used: `PreClustering(epsilon)`, or anything with its
        `fit(X, y)`, `labels_` and `representatives_`. Each counts for all samples it stands for.
    n_epochs : int
        For "pairs": as many pairs are drawn as there are, times this, and 2,000 blocks of them at the most.
    random_state : int or Generator
        For "pairs": the seed of the draws.
    """

    name = "two_stage"
    exact = False

    def __init__(
        self,
        method: str = "ridge",
        target: str = "centred",
        ridge: float | None = None,
        power: float = 1.0,
        diagonal: bool = False,
        compress: Any = None,
        n_epochs: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.method = method
        self.target = target
        self.ridge = ridge
        self.power = power
        self.diagonal = diagonal
        self.compress = compress
        self.n_epochs = n_epochs
        self.random_state = random_state

    def steps(self, problem: Problem, run: Run) -> Steps:
        stage = self.first_stage(problem)
        weights = problem.norm.start(problem.gram.n_terms) if stage is None else stage.weights
        states = None
        while True:
            step = run.solve(weights, states, problem.tol)
            yield step
            if all(state.gap <= problem.tol for state in step.states):  # what gap is left belongs to the weights
                return
            states = step.states

    def first_stage(self, problem: Problem) -> FirstStage | None:
        """Return the weights of stage one; None where the norm leaves nothing to choose."""
        self._check_options(problem)
        if isinstance(problem.norm, Fixed):
            return None
        points, known, stages = self._samples_and_targets(problem), {}, []
        for method, power in CANDIDATES if self.method == "auto" else [(self.method, self.power)]:
            centred = self.target != "product" or method in ("alignment", "joint_alignment")
            if centred not in known:
                pairs = Pairs(problem.gram, *points, centred, self.diagonal)
                known[centred] = pairs, pairs.moments()
            stages.append(self._first_stage_by(problem, method, power, *known[centred]))
        return stages[0] if len(stages) == 1 else _least_missed(problem, stages)

    def _first_stage_by(
        self, problem: Problem, method: str, power: float, pairs: Pairs, moments: Moments
    ) -> FirstStage:
        weights, ridge = self._weights_by(method, power, pairs, moments)
        if moments.alignment(weights) > ROUNDING:
            return FirstStage(problem.norm.scaled(weights), moments, ridge, method)
        return FirstStage(problem.norm.start(len(weights)), moments, ridge, method, NOTHING_ALIGNED)

    def _check_options(self, problem: Problem) -> None:
        for name, value, known in (("method", self.method, METHODS), ("target", self.target, TARGETS)):
            if value not in known:
                raise InputError(f"{name} of TwoStage must be one of {known}; got {value!r}.")
        if self.ridge is not None and not (isinstance(self.ridge, numbers.Real) and 0 <= self.ridge < np.inf):
            raise InputError(f"ridge of TwoStage must be a finite number ≥ 0, or None; got {self.ridge!r}.")
        if not (isinstance(self.power, numbers.Real) and 0 < self.power < np.inf):
            raise InputError(f"power of TwoStage must be a finite number > 0; got {self.power!r}.")
        if not (isinstance(self.n_epochs, numbers.Integral) and self.n_epochs >= 1):
            raise InputError(f"n_epochs of TwoStage must be a whole number ≥ 1; got {self.n_epochs!r}.")
        if self.compress is not None and not hasattr(self.compress, "fit"):
            raise InputError(f"compress of TwoStage must be PreClustering(...) or None; got {self.compress!r}.")
        if any(machine.loss.reads == "nothing" for machine in problem.machines):
            raise InputError('two_stage learns the kernel from targets, and one-class has none. Use solver="auto".')
        if problem.gram.ridge(np.ones(problem.gram.n_terms)) is not None:
            raise InputError(
                "two_stage chooses the weights before it looks at the machine, so it cannot learn C with them. "
                'Leave learn_C out and search for C (GridSearchCV), or use solver="auto".'
            )
        if not _are_labels(problem) and (self.target == "balanced" or self.method == "pairs"):
            what = 'target="balanced"' if self.target == "balanced" else 'method="pairs"'
            raise InputError(f'{what} of TwoStage is for class labels; for numbers use method="ridge".')

    def _samples_and_targets(self, problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the samples whose pairs count, all or those that represent the others; their shares and targets."""
        share, Y = _sample_shares(problem), np.column_stack([machine.y for machine in problem.machines])
        some = np.arange(problem.gram.n)
        if self.compress is not None:
            if getattr(self.compress, "kernel", None) is None and not _are_numbers(problem):
                raise InputError(
                    "The kernels read more than numbers, so the distance of two samples is not clear. "
                    "Name one by PreClustering(epsilon, kernel=...)."
                )
            from sklearn.base import clone

            classes = np.unique(Y, axis=0, return_inverse=True)[1].ravel()
            chosen = clone(self.compress).fit(problem.gram.X, classes.astype(str) if _are_labels(problem) else Y[:, 0])
            some = chosen.representatives_
            share = np.bincount(chosen.labels_, weights=share, minlength=len(some))
        return some, share, _ideal_targets(Y[some], share, self.target, _are_labels(problem))

    def _weights_by(self, method: str, power: float, pairs: Pairs, moments: Moments) -> tuple[np.ndarray, float]:
        """Return the weights, not yet scaled to the norm, and the ridge that was used."""
        if method == "alignment":
            each = np.maximum(moments.each(), 0.0)
            return (each / max(float(each.max()), 1e-300)) ** power, 0.0
        if method == "pairs":
            return self._by_pairs(pairs, moments)
        if method == "differences":
            return self._by_differences(pairs)
        values, vectors = np.linalg.eigh(moments.G)
        largest = max(float(values[-1]), 1e-300)
        values, rotated = np.maximum(values, 0.0), vectors.T @ moments.h
        ridge = 0.0 if method == "joint_alignment" else self.ridge
        if ridge is None:
            ridge = gcv_ridge(values, rotated, moments.tt, moments.n_points) / largest
        return _non_negative(values, vectors, rotated, float(ridge)), float(ridge)

    def _by_differences(self, pairs: Pairs) -> tuple[np.ndarray, float]:
        """Fit how much targets differ by how far samples are apart, every pair by what was expected of it before."""
        spread, ridge = pairs.spread(), 0.0 if self.ridge is None else float(self.ridge)
        w = np.full(pairs.gram.n_terms + 1, spread / (pairs.gram.n_terms + 1))
        if spread == 0.0:  # targets that are all the same say nothing
            return np.zeros(pairs.gram.n_terms), ridge
        for _ in range(N_PASSES):
            G, h = pairs.differences(w)
            values, vectors = np.linalg.eigh(G)
            w = _non_negative(np.maximum(values, 0.0), vectors, vectors.T @ h, ridge)
            w[-1] = max(w[-1], LEAST_NOISE * spread)  # copies differ by the noise alone
        return w[:-1], ridge

    def _by_pairs(self, pairs: Pairs, moments: Moments) -> tuple[np.ndarray, float]:
        """Minimise ridge/2 ‖w‖² + mean hinge(1 − t_ij Σ_m w_m K_m(i, j)) over w ≥ 0, by projected steps on blocks.

        t_ij = 1 within a class and −1 otherwise (Kumar et al. 2012); the average of the second half of
        the steps is returned.
        """
        rng = np.random.default_rng(self.random_state)
        size = float(np.trace(moments.G)) / moments.n_points**2  # mean ‖z‖² of a pair's kernel values z
        share = 1e-3 if self.ridge is None else float(self.ridge)
        ridge = share * size
        n, batch = len(pairs), min(BATCH, len(pairs))
        n_steps = int(np.clip(self.n_epochs * (n / batch) ** 2, 20, 2000))
        w, total = np.zeros(len(moments.h)), np.zeros(len(moments.h))
        p = pairs.share / pairs.share.sum()
        for step in range(n_steps):
            rows, cols = (rng.choice(n, batch, p=p) for _ in range(2))
            Z = pairs.block(rows, cols)
            t = np.where(_same_class(pairs.Y, rows, cols), 1.0, -1.0).ravel()
            short = t * (w @ Z) < 1.0
            slope = ridge * w - Z[:, short] @ t[short] / len(t)
            w = np.maximum(w - slope / ((ridge + size) + ridge * step), 0.0)
            if 2 * step >= n_steps:
                total += w
        return total, share


def _least_missed(problem: Problem, stages: list[FirstStage]) -> FirstStage:
    """Return the stage with the least leave-one-out error; the first one unless that is better beyond doubt."""
    squares = [left_out_squares(problem, stage.weights) for stage in stages]
    best = int(np.argmin([one.mean() for one in squares]))
    if not np.isfinite(squares[0]).all():
        return stages[best]
    # among first stages that are much alike, the least error is found by chance
    gain = squares[0] - squares[best]
    return stages[best if gain.mean() > gain.std() / np.sqrt(len(gain)) else 0]


def _non_negative(values: np.ndarray, vectors: np.ndarray, rotated: np.ndarray, ridge: float) -> np.ndarray:
    """Return the w ≥ 0 that minimises w'Gw − 2 h'w + λ‖w‖², with G = V diag(values) V', V'h, and λ as a share."""
    # ‖A w − b‖² with A'A = G + λ, A'b = h
    roots = np.sqrt(values + max(float(values[-1]), 1e-300) * max(ridge, LEAST_RIDGE))
    return np.asarray(nnls(roots[:, None] * vectors.T, rotated / roots)[0])


def gcv_ridge(values: np.ndarray, rotated: np.ndarray, tt: float, n_points: int) -> float:
    """Return the ridge λ that minimises RSS(λ) / (1 − df(λ) / n_points)² over a grid.

    With G = V diag(values) V' and rotated = V'h, RSS and df = Σ values / (values + λ) are sums over
    n_terms numbers, whatever the number of pairs. The freedom is counted against the points: n points do
    not make n² independent pairs, and counted against those hardly any ridge would ever be chosen.
    """
    grid = max(float(values.max()), 1e-300) * np.logspace(-10, 1, 111)
    inverse = 1.0 / (values[:, None] + grid)
    squares = rotated[:, None] ** 2
    rss = tt - (squares * inverse * (2.0 - values[:, None] * inverse)).sum(axis=0)
    df = (values[:, None] * inverse).sum(axis=0)
    return float(grid[np.argmin(np.maximum(rss, 0.0) / np.maximum(1.0 - df / n_points, 1e-12) ** 2)])


def _sample_shares(problem: Problem) -> np.ndarray:
    """Return how much every sample counts, from its cost: a weight of 2 is the same as being there twice."""
    return np.mean([machine.C / machine.C.mean() for machine in problem.machines], axis=0)


def _are_labels(problem: Problem) -> bool:
    return all(np.isin(machine.y, (-1.0, 1.0)).all() for machine in problem.machines)


def _are_numbers(problem: Problem) -> bool:
    return all(leaf.reads == "numbers" for term in problem.gram.terms for leaf in term.leaves())


def _ideal_targets(Y: np.ndarray, share: np.ndarray, target: str, labels: bool) -> np.ndarray:
    """Return Y such that Y Y' is the ideal kernel, but for centring."""
    if target == "balanced":
        positive = np.where(Y > 0, share[:, None], 0.0).sum(axis=0)
        negative = np.where(Y > 0, 0.0, share[:, None]).sum(axis=0)
        half = 0.5 * share.sum()
        return np.where(Y > 0, half / np.maximum(positive, 1e-300), -half / np.maximum(negative, 1e-300))
    return 0.5 * (Y + 1.0) if labels and Y.shape[1] > 1 else Y


def _same_class(Y: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Say for every pair whether both are of one class."""
    return (Y[rows][:, None, :] == Y[cols][None, :, :]).all(axis=2)
