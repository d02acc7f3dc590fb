"""HessianMKL: Newton's method on the weights."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import nnls

from ..dual import DualState, Machine, minimise
from ..dual.polish import free_set
from ..losses import BoxQP, SmoothLoss
from ..norms import Polyhedral
from ..progress import relative_gap
from .base import Problem, Run, Solver, Step, Steps, with_lower
from .machines import EXACT_SAMPLES
from .master_lp import MasterLP
from .sampled import first_weights

#: Most terms with weight zero that one Newton step considers.
MAX_ENTERING = 100
#: Most free samples that the Hessian is computed from; from more of them an even choice is taken.
MAX_FREE = 2000
#: Most machines whose products with the terms are held at a time.
MAX_TOGETHER = 64
#: Where nothing lower is found, machines are solved better, down to this share of the tolerance.
FINEST = 1e-3
#: Cuts are asked for a bound once the step's own is this near.
NEAR = 0.5
#: A step that promises less than this share of the tolerance goes beyond its goal.
LITTLE = 0.3
#: After how many steps of little gain cutting planes take over, and for how many turns: for twice as many where they
#: brought nothing.
MAX_CRAWLS, CUT_TURNS = 8, 10


class Hessian(Solver):
    """Second-order MKL (Chapelle and Rakotomamonjy).

    With J(weights) the objective of the solved machines, the gradient is −½ quad and the Hessian
    Q'ĀQ: Q holds K_m coef at the free samples, Ā is the inverse of their bordered system. A small
    quadratic program over the simplex gives the step, backtracking its length. Where that gets stuck, as it may where
    coef is not unique, the cuts of all steps so far find a way on, as in `SILP`: no single coef proves the optimum
    there, but several of them do.

    Parameters
    ----------
    simple_first : bool
        Begin with one step of `Simple`, the mixed strategy of the paper.
    """

    name = "hessian"
    needs = (Polyhedral,)
    remedy = "Use norm=1, or solver='analytic'."

    def __init__(self, simple_first: bool = False) -> None:
        self.simple_first = simple_first

    def steps(self, problem: Problem, run: Run) -> Steps:
        cuts = MasterLP(problem.gram.n_terms)
        cuts.recall(problem)
        first = first_weights(problem, run, Hessian())
        learned = problem.start is None and not np.array_equal(first, problem.start_weights())
        # weights that a part of the samples told are nearly right: the machines are worth solving
        step = bounded(run.solve(first, None, problem.inner_tol(0.0 if learned else np.inf)), cuts)
        gap = yield step
        if self.simple_first:
            from .simple import Simple

            step = bounded(Simple().advance(run, step, gap), cuts)
            gap = yield step
        n_turns = CUT_TURNS
        while True:
            step, gap = yield from self._newton_steps(run, step, gap, cuts)
            before = step
            for _ in range(n_turns):
                weights = cuts.solve()[0]
                if weights is None:  # the steps so far stay what they are
                    return
                found = bounded(run.solve(weights, step.states, problem.inner_tol(gap)), cuts)
                gap = yield found
                step = found if found.upper < step.upper else step
            n_turns = CUT_TURNS if step.upper < before.upper else 2 * n_turns

    def _newton_steps(
        self, run: Run, step: Step, gap: float, cuts: MasterLP
    ) -> Generator[Step, float, tuple[Step, float]]:
        """Yield steps as long as they gain; return the last one."""
        problem = run.problem
        sharp, crawls = 1.0, 0
        while crawls < MAX_CRAWLS:
            direction = newton_target(run, step) - step.weights
            slope = -0.5 * float(step.quad @ direction)
            if costly(problem, step) and 0.0 < -slope < LITTLE * problem.tol * abs(step.upper):
                # what is left of the gap is a matter of proof: coef from both sides of the optimum prove it together
                weights = beyond(step.weights, direction)
                step, crawls = bounded(run.solve(weights, step.states, problem.inner_tol(0.0)), cuts), crawls + 1
                gap = yield step
                continue
            # machines must be solved better than what the step is to gain
            tol = sharp * min(problem.inner_tol(gap), 0.1 * max(-slope, 0.0) / abs(step.upper) + 0.03 * problem.tol)
            found = self._backtrack(run, step, direction, slope, tol) if slope < 0 else None
            if found is not None:
                # a gain that is small against the gap, time and again: the objective has a kink here
                crawls = crawls + 1 if step.upper - found.upper < 0.02 * gap * abs(step.upper) else 0
                found = problem.certify(found.weights, found.states)
            elif tol > FINEST * problem.tol and problem.gram.n > EXACT_SAMPLES:
                sharp *= 0.1
                found = run.solve(step.weights, step.states, sharp * tol)
            else:
                break
            step = bounded(found, cuts)
            gap = yield step
        return step, gap

    def _backtrack(self, run: Run, step: Step, direction: np.ndarray, slope: float, tol: float) -> Step | None:
        """Return a lower point along the direction; None where there is none to be found.

        What a short step would gain may be less than machines are off by: then they have to be solved better first.
        """
        length, exact = 1.0, run.problem.gram.n <= EXACT_SAMPLES
        while length > 1e-8 and (length == 1.0 or exact or -length * slope > tol * abs(step.upper)):
            trial = run.solve(step.weights + length * direction, step.states, tol, certify=False)
            if trial.upper <= step.upper + 1e-4 * length * slope or run.out_of_time():
                return trial
            # the parabola through both values and the slope is lowest here
            fit = -0.5 * slope * length**2 / (trial.upper - step.upper - slope * length)
            length = float(np.clip(fit, 0.1 * length, 0.5 * length))
        return None


def costly(problem: Problem, step: Step) -> bool:
    """Say whether more digits of the machines would cost something: not where they are solved exactly as it is."""
    return problem.gram.n > EXACT_SAMPLES and max(state.gap for state in step.states) > 1e-3 * problem.tol


def beyond(weights: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return weights twice as far along a direction as it goes, or as far as weights are not negative."""
    room = -weights[direction < 0] / direction[direction < 0]
    return np.maximum(weights + min(2.0, room.min(initial=2.0)) * direction, 0.0)


def bounded(step: Step, cuts: MasterLP) -> Step:
    """Return the step with the lower bound that it proves together with all steps before.

    J is near its minimum long before any single coef proves that; a mixture of several does sooner.
    """
    cuts.add_cut(step.linear, step.quad, step.coef)
    lower = cuts.solve()[1] if relative_gap(step.upper, step.lower) < NEAR else -np.inf
    return with_lower(step, lower, cuts.cuts())


def newton_target(run: Run, step: Step) -> np.ndarray:
    """Return the weights at which the second-order model of J is lowest over the simplex."""
    quad, weights = step.quad, step.weights
    mean = float(weights @ quad)
    entering = np.flatnonzero((weights == 0) & (quad > mean))
    entering = entering[np.argsort(-quad[entering])][:MAX_ENTERING]
    some = np.concatenate([np.flatnonzero(weights > 0), entering])
    H = np.zeros((len(some), len(some)))
    for machines, states in _alike(run.problem.machines, step.states):
        H += machines_hessian(run, step, machines, states, some)
    g = -0.5 * quad[some]
    # a trace of ridge decides between terms that look alike to second order
    H.flat[:: len(some) + 1] += 1e-10 * max(float(np.trace(H)) / len(some), abs(mean))
    target = np.zeros(len(weights))
    target[some] = simplex_minimum(H, g - H @ weights[some], weights[some])
    return target / target.sum()


def simplex_minimum(H: np.ndarray, c: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return argmin of ½ u'H u + c'u over u ≥ 0, Σ u = 1, for H positive definite if only just.

    As non-negative least squares, ‖R u + R⁻ᵀ c‖² with H = R'R and the sum as one heavy row: an active set
    method, which ill-conditioned H does not slow down.
    """
    n = len(c)
    R, failed = lapack.dpotrf(H, lower=0, clean=1)
    if not failed:
        heavy = 1e4 * float(np.abs(R).max())
        rest = lapack.dtrtrs(R, c, lower=0, trans=1)[0]
        try:
            u = nnls(np.vstack([R, np.full(n, heavy)]), np.append(-rest, heavy), maxiter=20 * n)[0]
            if u.sum() > 0:
                return u / u.sum()
        except RuntimeError:
            pass
    qp = BoxQP(c, np.zeros(n), 0.0, np.zeros(n), np.full(n, np.inf), total=1.0)
    return minimise(qp, H, start, tol=1e-8)


def _alike(machines: Sequence[Machine], states: Sequence[DualState]) -> Iterator[tuple[list[Machine], list[DualState]]]:
    """Yield machines, some at a time, whose free samples are the same however they are solved: they share Ā."""
    groups: dict[bytes, list[int]] = {}
    for number, machine in enumerate(machines):
        free = not isinstance(machine.loss, SmoothLoss) and machine.qp.free
        groups.setdefault(machine.qp.ridge.tobytes() if free else str(number).encode(), []).append(number)
    for group in groups.values():
        for start in range(0, len(group), MAX_TOGETHER):
            some = group[start : start + MAX_TOGETHER]
            yield [machines[number] for number in some], [states[number] for number in some]


def machines_hessian(
    run: Run, step: Step, machines: list[Machine], states: list[DualState], some: np.ndarray
) -> np.ndarray:
    """Return the sum of Q'ĀQ over machines that share Ā, for some of the terms."""
    F, ridge = free_samples(machines[0], states[0])
    if len(F) < 2:
        return np.zeros((len(some), len(some)))
    n_free, K, gram = len(F), run.combined(step.weights), run.problem.gram
    most = MAX_FREE if K.matrix is not None else gram.held.second_order
    if n_free > most:
        picked = np.linspace(0, n_free - 1, most).astype(int)
        F, ridge = F[picked], ridge[picked]
    if len(states) == 1:
        Q = gram.apply_some(some, F, states[0].coef).T
    else:
        each = gram.only(some.tolist()).apply_each(np.column_stack([state.coef for state in states]))
        Q = np.ascontiguousarray(each[:, F].transpose(1, 2, 0))
    A = K.block(F, F)
    if n_free <= most:
        return bordered_solve(A, ridge, Q)
    # The curvature grows with the free samples by a power that half of the chosen ones tell. A model of it is enough:
    # the line search judges by the true objective.
    half = bordered_solve(A[::2, ::2].copy(), ridge[::2], Q[::2])
    H = bordered_solve(A, ridge, Q)
    power = np.log2(max(float(np.trace(H)), 1e-300) / max(float(np.trace(half)), 1e-300))
    return H * (n_free / len(F)) ** float(np.clip(power, 0.0, 1.0))


def free_samples(machine: Machine, state: DualState) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples whose coef moves with the kernel, and the ridge that their loss adds."""
    if isinstance(machine.loss, SmoothLoss):
        qp = machine.loss.dual(machine.y, machine.C, state.f + state.intercept)
    else:
        qp = machine.qp
    F = free_set(qp, state.coef)
    return F, qp.ridge[F]


def bordered_solve(A: np.ndarray, ridge: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return Q'ĀQ with Ā the inverse of [A + diag(ridge), 1; 1', 0] without its border; A is overwritten.

    Q has the shape (n, n_terms), or (n, n_machines, n_terms); then the sum over the machines is returned.
    """
    n = len(A)
    A.flat[:: n + 1] += ridge
    A.flat[:: n + 1] += 1e-12 * float(np.trace(A)) / n
    factor, failed = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        return np.zeros((Q.shape[-1], Q.shape[-1]))
    half = lapack.dtrtrs(factor, np.column_stack([Q.reshape(n, -1), np.ones(n)]), lower=1)[0]
    QQ, one = half[:, :-1], half[:, -1]
    along = (one @ QQ).reshape(-1, Q.shape[-1])  # what the constraint Σ coef = total takes away
    QQ = np.ascontiguousarray(QQ).reshape(-1, Q.shape[-1])
    return QQ.T @ QQ - along.T @ along / float(one @ one)
