"""Random problems: every one is made by its number alone, over all that a fit may be asked for."""

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import sparse

from kernelweave import (
    RBF,
    CustomLoss,
    Fixed,
    GappedKmer,
    Laplacian,
    Linear,
    LocalityImproved,
    Mismatch,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    Oligo,
    Polynomial,
    Precomputed,
    Spectrum,
    WeightedDegree,
    per_feature,
)
from kernelweave.errors import MemoryBudgetError
from kernelweave.gram import Needs, estimate
from kernelweave.kernels import Function
from kernelweave.views import as_views

from . import oracle

CLASSIFIER_LOSSES = ("hinge", "squared_hinge", "logistic", "smooth_hinge", "squared", "huber")
REGRESSOR_LOSSES = ("epsilon_insensitive", "squared", "huber")
TASKS = ("binary", "binary", "three shared", "three per_class", "regression", "regression", "one_class")
POLYHEDRAL_SOLVERS = ("auto", "silp", "silp_chunking", "simple", "hessian", "analytic", "two_stage")
NUMBERS = (
    "linear",
    "polynomial",
    "rbf",
    "laplacian",
    "per_feature",
    "product",
    "normalized",
    "function",
    "mixed",
    "sparse",
)
MATRICES = ("precomputed", "precomputed float32", "low rank")
STRINGS = ("spectrum", "weighted_degree", "split", "other strings", "table")
KINDS = NUMBERS + MATRICES + STRINGS
#: What can be wrong with the samples, with the terms, and with the costs.
SAMPLES = ("duplicates", "contrary duplicates", "two samples", "imbalance")
COLUMNS = ("shifted columns", "dummies", "units", "rank one", "scaled columns")
TERMS = ("identical terms", "scaled copies", "constant term", "zero term", "many terms", "hundreds of terms")
COSTS = ("tiny C", "huge C", "sample weights", "zero weights", "class weights")
PATHS = ("plain", "plain", "plain", "warm start", "resumed", "loaded")


@dataclass
class Problem:
    """A fit to be made, and what the independent answer needs to know of it."""

    seed: int
    estimator: object
    X: object
    y: np.ndarray
    sample_weight: np.ndarray | None
    loss: oracle.Loss
    path: str
    #: What was drawn, for the table; "held" says how matrices are: in "double" or "single" precision, or "streamed".
    axes: dict = field(default_factory=dict)


def make(seed):
    """Return the problem of that number."""
    rng = np.random.default_rng([20, seed])
    task, kind = rng.choice(TASKS), str(rng.choice(KINDS))
    wrong = _wrongs(rng, task, kind)
    n = _size(rng, task, wrong)
    A, y, sequences = _data(rng, task, n, wrong)
    X, kernels = _terms(rng, kind, A, sequences, wrong)
    n = len(y)
    kernels = _spoiled(rng, kernels, kind, n, wrong)
    name = _loss_name(rng, task)
    given, loss = _loss(rng, name, task, y)
    path = _path(rng, kernels, name)
    settings = _settings(rng, task, kind, name, kernels, wrong)
    weight = _weights(rng, n, y, task, wrong)
    norm, held = _norm_name(settings["norm"]), _memory(rng, kind, kernels, X, n, settings)
    if norm == "given":
        n_terms = len(sum(kernels).terms(as_views(X))) + settings.get("learn_C", False)
        settings["norm"] = Fixed(
            rng.choice([0.0, 0.3, 1.0, 20.0], p=[0.1, 0.3, 0.3, 0.3], size=n_terms) + 1e-3 * (n_terms == 1)
        )
        settings["norm"].weights[0] += 0.5
    if task == "one_class":
        estimator = MKLOneClass(sum(kernels), nu=float(rng.uniform(1.5 / max(n, 3), 0.9)), **settings)
    elif task == "regression":
        estimator = MKLRegressor(sum(kernels), loss=given, C=_cost(rng, wrong), scaling_y=None, **settings)
        if name == "epsilon_insensitive":
            estimator.epsilon = loss.epsilon
    else:
        estimator = MKLClassifier(sum(kernels), loss=given, C=_cost(rng, wrong), **settings)
        estimator.weights = "per_class" if task == "three per_class" else "shared"
        if "class weights" in wrong:
            estimator.class_weight = (
                "balanced" if rng.random() < 0.5 else {c: 10.0 ** rng.uniform(-2, 2) for c in np.unique(y)}
            )
    axes = {"task": str(task), "loss": name, "norm": norm, "solver": settings["solver"]}
    axes |= {"dual": settings["dual"], "kernel": kind, "scaling": str(settings["scaling"]), "path": path}
    axes |= {
        "degeneracy": wrong or ("none",),
        "held": held,
        "learn_C": str(settings.get("learn_C", False)),
        "tol": f"{settings['tol']:g}",
    }
    return Problem(seed, estimator, X, y, weight, loss, path, axes)


def _wrongs(rng, task, kind):
    possible = list(SAMPLES + TERMS + COSTS)
    if kind not in STRINGS or kind == "table":
        possible += COLUMNS
    if task in ("regression", "one_class"):
        possible = [one for one in possible if one not in ("contrary duplicates", "imbalance", "class weights")]
    if task == "one_class":
        possible = [one for one in possible if one not in ("tiny C", "huge C")]
    if kind not in ("rbf", "laplacian"):
        possible.remove("hundreds of terms")
    if task.startswith("three"):
        possible.remove("two samples")
    chosen = rng.choice(possible, size=rng.choice(4, p=[0.2, 0.4, 0.3, 0.1]), replace=False)
    return tuple(one for one in possible if one in chosen)  # in one order, whatever the draw


def _size(rng, task, wrong):
    if "two samples" in wrong:
        return 2
    return int(rng.integers(8, 13 if "many terms" in wrong or "hundreds of terms" in wrong else 41))


def _data(rng, task, n, wrong):
    """Return numbers, targets and sequences that have something to do with each other."""
    d = int(rng.integers(1, 5))
    A = rng.normal(size=(n, d)) * (1.0 if rng.random() < 0.7 else rng.uniform(0.2, 5.0, size=d))
    score = A @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    if task == "regression":
        y = score * 10.0 ** rng.choice([0, 0, 0, -2, 2]) + (100.0 if rng.random() < 0.1 else 0.0)
    elif task == "one_class":
        y = np.zeros(n)
    elif task == "binary":
        rare = 1 if "imbalance" in wrong or n == 2 else max(1, int(rng.uniform(0.25, 0.5) * n))
        y = (score.argsort().argsort() < rare).astype(int)
    else:
        y = rng.permutation(np.arange(n) % 3) if rng.random() < 0.3 else (score.argsort().argsort() * 3) // n
        if "imbalance" in wrong:
            y = np.where(np.arange(n) < 2, np.arange(n), 2)
    letters = rng.choice(list("ACGT"), size=(n, int(rng.integers(5, 11))))
    letters[score > np.median(score), 1:4] = list("GAT")
    if rng.random() < 0.5:
        letters[:, 0] = "C"
    sequences = np.array(["".join(row) for row in letters])
    for one in ("duplicates", "contrary duplicates"):
        if one in wrong:
            which = rng.integers(0, n, size=max(1, n // 3))
            A, sequences = np.vstack([A, A[which]]), np.concatenate([sequences, sequences[which]])
            other = y[which] if one == "duplicates" else (y[which] + 1) % (y.max() + 1)
            y = np.concatenate([y, other])
    return _columns(rng, A, wrong), y, sequences


def _columns(rng, A, wrong):
    if "rank one" in wrong:
        A = np.outer(A[:, 0], rng.normal(size=A.shape[1]))
    if "shifted columns" in wrong:
        A = np.column_stack([A, A[:, 0] + rng.choice([1.0, 50.0, 273.15])])
    if "dummies" in wrong:
        A = np.column_stack([A, A[:, 0] > 0, A[:, 0] <= 0]).astype(float)
    if "scaled columns" in wrong:
        A = np.column_stack([A, 10.0 * A[:, 0]])
    if "units" in wrong:
        A = A * 10.0 ** rng.choice([-3, 3], size=A.shape[1])
    return A


def _terms(rng, kind, A, sequences, wrong):
    """Return the data as its kernels read it, and the kernels."""
    n, d = A.shape
    many = n + 3 if "many terms" in wrong else int(rng.integers(1, 6))
    many = 250 if "hundreds of terms" in wrong else many
    if kind in NUMBERS:
        return sparse.csr_array(A) if kind == "sparse" else A, _number_kernels(rng, kind, many, d, wrong)
    if kind in MATRICES:
        return np.arange(n), _matrices(rng, kind, many, A, wrong)
    if kind == "spectrum":
        return sequences, [Spectrum(k=k) for k in range(1, 1 + min(many, 4))]
    if kind == "weighted_degree":
        shift = int(rng.integers(0, 2))
        return sequences, [WeightedDegree(degree=k, shift=shift * (k % 2)) for k in range(1, 1 + min(many, 5))]
    if kind == "other strings":
        kernels = [Mismatch(k=3), GappedKmer(length=4, k=2), Oligo(k=2), LocalityImproved(length=1)]
        return sequences, [kernels[i] for i in rng.permutation(4)[: min(many, 4)]]
    if kind == "split":
        by = ("degree",) if rng.random() < 0.5 else ("position",)
        return sequences, [WeightedDegree(degree=3).split(*by)]
    table = pd.DataFrame(A, columns=[f"c{j}" for j in range(d)]).assign(seq=sequences)
    names = [f"c{j}" for j in range(d)]
    kernels = [
        Spectrum(k=2).on("seq"),
        per_feature(Linear()).on(names),
        RBF(0.5).on(names[0]),
        WeightedDegree(degree=3).on("seq"),
    ]
    return table, [kernels[i] for i in rng.permutation(4)[: int(rng.integers(1, 5))]]


def _number_kernels(rng, kind, many, d, wrong):
    width = 1e-6 if "units" in wrong else 1.0
    gammas = width * np.logspace(-2, 1, many) * rng.uniform(0.5, 2.0)
    if kind == "per_feature":
        return [per_feature(Linear() if rng.random() < 0.6 else RBF(float(gammas[0])))]
    kernels = []
    for i, gamma in enumerate(map(float, gammas)):
        one = {
            "linear": lambda i=i: Linear().on(sorted({i % d, (i // d) % d})),
            "polynomial": lambda i=i: Polynomial(degree=1 + i % 3, coef0=float(i % 2)),
            "rbf": lambda gamma=gamma: RBF(gamma),
            "laplacian": lambda gamma=gamma: Laplacian(gamma),
            "product": lambda i=i, gamma=gamma: RBF(gamma) * Linear().on([i % d]),
            "normalized": lambda i=i: Polynomial(degree=1 + i % 4).normalized(),
            "function": lambda gamma=gamma: Function(_inner) if rng.random() < 0.5 else Function(_cauchy),
            "sparse": lambda i=i, gamma=gamma: RBF(gamma) if i % 2 else Linear(),
            "mixed": lambda i=i, gamma=gamma: [Linear(), RBF(gamma), Laplacian(gamma), Polynomial(2)][i % 4],
        }[kind]()
        kernels.append(one if rng.random() < 0.8 else float(10.0 ** rng.uniform(-3, 3)) * one)
    return kernels


def _inner(X, Y):
    return np.asarray(X) @ np.asarray(Y).T


def _cauchy(X, Y):
    return 1.0 / (1.0 + ((np.asarray(X)[:, None] - np.asarray(Y)[None]) ** 2).sum(axis=-1))


def _matrices(rng, kind, many, A, wrong):
    kernels = []
    for i in range(many):
        if kind == "low rank":
            part = A[:, [i % A.shape[1]]]
            K = part @ part.T
        else:
            part = np.column_stack([A, rng.normal(size=(len(A), 1 + i))]) if rng.random() < 0.7 else A
            K = part @ part.T if rng.random() < 0.5 else _cauchy(part, part)
        K = 0.5 * (K + K.T)
        if kind.endswith("32"):  # rounding to single precision alone may leave negative eigenvalues
            kernels.append(Precomputed(K.astype(np.float32), name=f"m{i}", psd="clip"))
        else:
            kernels.append(Precomputed(K, name=f"m{i}"))
    return kernels


def _spoiled(rng, kernels, kind, n, wrong):
    if "identical terms" in wrong:
        kernels = [*kernels, kernels[0], *kernels[:1]]
    if "scaled copies" in wrong:
        kernels = [*kernels, 10.0 * kernels[-1]]
    constant = {"constant term": np.ones((n, n)), "zero term": np.zeros((n, n))}
    for what, K in constant.items():
        if what not in wrong:
            continue
        if kind in MATRICES:
            kernels = [*kernels, Precomputed(K, name=what.split()[0])]
        elif kind in NUMBERS and kind != "per_feature":
            kernels = [*kernels, Function(_ones if K.any() else _zeros)]
    return kernels


def _ones(X, Y):
    return np.ones((X.shape[0], Y.shape[0]))


def _zeros(X, Y):
    return np.zeros((X.shape[0], Y.shape[0]))


def _loss_name(rng, task):
    if task == "one_class":
        return "one_class"
    return str(rng.choice(REGRESSOR_LOSSES if task == "regression" else CLASSIFIER_LOSSES))


def _loss(rng, name, task, y):
    """Return the loss as an estimator takes it, and as the oracle does."""
    spread = max(float(np.std(y)), 1e-3) if task == "regression" else 1.0
    if name == "huber":
        ours = oracle.Huber(delta=spread * float(rng.uniform(0.2, 2.0)))
        return huber(ours.delta), ours
    if name == "epsilon_insensitive":
        return name, oracle.EpsilonInsensitive(spread * float(rng.choice([0.0, 0.01, 0.3, 3.0])))
    if name == "logistic":
        return name, oracle.SmoothHinge(sigma=1.0, margin=0.0)
    plain = {"hinge": oracle.Hinge, "squared_hinge": oracle.SquaredHinge, "squared": oracle.Squared}
    return name, (plain | {"smooth_hinge": oracle.SmoothHinge, "one_class": oracle.OneClass})[name]()


def huber(delta):
    """Return Huber's loss as a user would write it."""
    return CustomLoss(
        value=lambda y, f: np.where(np.abs(y - f) <= delta, (y - f) ** 2 / 2, delta * (np.abs(y - f) - delta / 2)),
        slope=lambda y, f: np.clip(f - y, -delta, delta),
        conjugate=lambda y, s: np.where(np.abs(s) <= delta * (1 + 1e-12), s * y + s * s / 2, np.inf),
        curvature=lambda y, f: (np.abs(y - f) <= delta).astype(float),
    )


def _path(rng, kernels, loss):
    path = str(rng.choice(PATHS))
    # functions can be neither printed nor told apart, so no file holds them
    functions = loss == "huber" or any(isinstance(leaf, Function) for leaf in sum(kernels).leaves())
    return "plain" if path in ("resumed", "loaded") and functions else path


def _settings(rng, task, kind, loss, kernels, wrong):
    norm = [1, float(rng.choice([1.0001, 1.01, 1.2, 1.5, 2.0, 3.0, 10.0])), "fixed", "given"][
        rng.choice(4, p=[0.5, 0.3, 0.1, 0.1])
    ]
    solvers = POLYHEDRAL_SOLVERS if norm == 1 else ("auto", "analytic", "two_stage")
    solver = str(rng.choice(solvers))
    if task == "one_class" and solver == "two_stage":
        solver = "auto"
    settings = {"norm": norm, "solver": solver, "dual": _dual(rng, kernels, loss)}
    settings |= {"scaling": [None, "trace", "variance"][rng.choice(3, p=[0.15, 0.15, 0.7])]}
    settings |= {"tol": float(rng.choice([1e-3, 1e-4, 1e-6, 1e-8])), "max_iter": 300, "max_seconds": 600.0}
    if loss in ("squared", "squared_hinge") and task != "one_class" and solver != "two_stage" and rng.random() < 0.25:
        settings["learn_C"], settings["dual"] = True, "auto"
    return settings


def _memory(rng, kind, kernels, X, n, settings):
    """Return how matrices are held: in double or single precision, or, with too little memory for all, some of them."""
    if kind not in NUMBERS or (rng.random() < 0.85 and len(kernels) < 240):
        return "double"
    kernel, views = sum(kernels), as_views(X)
    if len(kernel.terms(views)) < 240:
        return "single"  # so small a problem gets it by force, see `check.fitted`
    on_all = settings.get("loss") not in ("hinge", "squared_hinge", "epsilon_insensitive", None)
    with suppress(MemoryBudgetError):
        for budget in np.geomspace(1e9, 1e3, 400).astype(int).tolist():
            if "active terms" in estimate(kernel, views, budget, Needs(on_all=on_all))[0]:
                settings["memory"] = budget
                return "streamed"
    return "double"


def _dual(rng, kernels, loss):
    # dual solvers that go through features instead of a matrix need kernels that list theirs
    strings = all(isinstance(k, Spectrum) or (isinstance(k, WeightedDegree) and not k.shift) for k in kernels)
    if rng.random() < (0.2 if strings else 0.6):
        return "auto"
    if loss in ("logistic", "smooth_hinge", "huber"):
        return "newton"
    if loss == "squared":
        return str(rng.choice(["ridge", "coordinate", "active_set"] if strings else ["ridge"]))
    return str(rng.choice(["smo", "chunking", *(["coordinate", "active_set"] if strings else [])]))


def _weights(rng, n, y, task, wrong):
    if "zero weights" in wrong and n > 3:
        weight = rng.choice([0.0, 1.0, 2.5], size=n)
        weight[np.unique(y, return_index=True)[1] if task not in ("regression", "one_class") else [0, 1]] = 1.0
        return weight
    return rng.uniform(0.01, 5.0, size=n) if "sample weights" in wrong else None


def _cost(rng, wrong):
    if "tiny C" in wrong:
        return float(10.0 ** rng.uniform(-6, -3))
    return float(10.0 ** (rng.uniform(3, 6) if "huge C" in wrong else rng.uniform(-1, 2)))


def _norm_name(norm):
    return norm if isinstance(norm, str) else f"{norm:g}"
