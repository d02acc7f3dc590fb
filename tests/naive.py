"""Slow twins, each a few obvious lines, that the quick functions are compared with."""

import numpy as np
from scipy.optimize import minimize


def squared_distances(A, B):
    return np.array([[sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) for z in B] for x in A])


def absolute_distances(A, B):
    return np.array([[sum(abs(a - b) for a, b in zip(x, z, strict=True)) for z in B] for x in A])


def linear(A, B):
    return np.array([[sum(a * b for a, b in zip(x, z, strict=True)) for z in B] for x in A])


def polynomial(A, B, degree=3, gamma=None, coef0=1.0):
    gamma = 1.0 / A.shape[1] if gamma is None else gamma
    return np.array([[(gamma * k + coef0) ** degree for k in row] for row in linear(A, B)])


def rbf(A, B, gamma=None):
    gamma = 1.0 / A.shape[1] if gamma is None else gamma
    return np.array([[np.exp(-gamma * d) for d in row] for row in squared_distances(A, B)])


def laplacian(A, B, gamma=None):
    gamma = 1.0 / A.shape[1] if gamma is None else gamma
    return np.array([[np.exp(-gamma * d) for d in row] for row in absolute_distances(A, B)])


def normalized(K_xy, diag_x, diag_y):
    return np.array(
        [[k / np.sqrt(a * b) for k, b in zip(row, diag_y, strict=True)] for row, a in zip(K_xy, diag_x, strict=True)]
    )


def rows_times(K, rows, coef):
    return sum((c * K[r] for r, c in zip(rows, coef, strict=True)), np.zeros(K.shape[1]))


def gather(K, rows, cols, factor):
    return np.array([[factor * K[r, c] for c in cols] for r in rows])


def box_objective(K, ridge, linear, l1, a):
    return 0.5 * a @ (K + np.diag(ridge)) @ a + linear @ a + l1 * np.abs(a).sum()


def box_minimum(K, ridge, linear, l1, lower, upper, total):
    """The least value of a BoxQP, by SLSQP on a = p − q."""
    n = len(linear)

    def objective(pq):
        a = pq[:n] - pq[n:]
        g = K @ a + ridge * a + linear
        return box_objective(K, ridge, linear, 0.0, a) + l1 * pq.sum(), np.concatenate([g + l1, l1 - g])

    found = minimize(
        objective,
        np.full(2 * n, total / n if total > 0 else 0.0) * np.repeat([1.0, 0.0], n),
        jac=True,
        method="SLSQP",
        bounds=[(0, max(u, 0)) for u in upper] + [(0, max(-u, 0)) for u in lower],
        constraints=[{"type": "eq", "fun": lambda pq: pq[:n].sum() - pq[n:].sum() - total}],
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return found.fun


def newton_direction(H, g):
    """argmin over Σ d = 0 of ½ d'H d + g'd, from its KKT system."""
    n = len(g)
    bordered = np.block([[H, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    return np.linalg.solve(bordered, np.append(-g, 0.0))[:n]


def kinked(points, jumps, slope, x):
    """A piecewise linear function whose slope is `slope` far left and grows by jumps[i] at points[i]."""
    return slope * x + sum(j * max(0.0, x - p) for p, j in zip(points, jumps, strict=True))


# --- MKL as one smooth dual problem: max −conjugate(coef) − ½ max over weights of weights·quad(coef) ---


def _entropy(u):
    return u * np.log(u) + (1 - u) * np.log(1 - u), np.log(u) - np.log(1 - u)


def conjugate(loss, y, a, C, epsilon=0.1):
    """Σ sup_f (−a f − C·loss(y, f)) and its slope in a; for l1 terms, a is (p, q) with a = p − q."""
    if loss == "hinge":
        return -y @ a, -y
    if loss in ("squared_hinge", "squared"):
        return -y @ a + (a**2 / (4 * C)).sum(), -y + a / (2 * C)
    if loss == "epsilon_insensitive":
        n = len(y)
        return -y @ (a[:n] - a[n:]) + epsilon * a.sum(), np.concatenate([epsilon - y, epsilon + y])
    if loss == "one_class":
        return 0.0, np.zeros(len(a))
    margin, sigma = {"logistic": (0.0, 1.0), "smooth_hinge": (1.0, 5.0)}[loss]
    entropy, slope = _entropy(y * a / C)
    return -margin * y @ a + (C * entropy).sum() / sigma, -margin * y + y * slope / sigma


def mkl_optimum(loss, y, C, Ks, p):
    """The optimum of an MKL problem under ‖weights‖_p = 1, from its dual alone."""
    n = len(C)
    S = np.hstack([np.eye(n), -np.eye(n)]) if loss == "epsilon_insensitive" else np.eye(n)
    total = 1.0 if loss == "one_class" else 0.0
    inside = 1e-13 if loss in ("logistic", "smooth_hinge") else 0.0
    low, high = inside * C, C * (1 - inside)
    if loss == "squared":
        bounds = [(None, None)] * n
    elif loss == "squared_hinge":
        bounds = [(0, None) if t > 0 else (None, 0) for t in y]
    elif loss in ("epsilon_insensitive", "one_class"):
        bounds = [(0, c) for c in C] * (S.shape[1] // n)
    else:
        bounds = [(lo, hi) if t > 0 else (-hi, -lo) for t, lo, hi in zip(y, low, high, strict=True)]
    start = {"one_class": C / C.sum(), "epsilon_insensitive": np.zeros(2 * n)}.get(loss, np.zeros(n))
    if loss in ("hinge", "logistic", "smooth_hinge"):
        share = 0.5 * min(C[y > 0].sum(), C[y < 0].sum())
        start = share * y * C / np.where(y > 0, C[y > 0].sum(), C[y < 0].sum())
    return (
        _simplex_optimum(loss, y, C, Ks, S, start, bounds, total)
        if p == 1
        else _lp_optimum(loss, y, C, Ks, S, start, bounds, total, p / (p - 1))
    )


def _lp_optimum(loss, y, C, Ks, S, start, bounds, total, conjugate_p):
    def objective(x):
        a = S @ x
        each = np.array([K @ a for K in Ks])
        quad = np.maximum(each @ a, 1e-300)
        size = (quad**conjugate_p).sum() ** (1 / conjugate_p)
        weights = (quad / size) ** (conjugate_p - 1)
        value, slope = conjugate(loss, y, x, C)
        return value + 0.5 * size, slope + S.T @ (weights @ each)

    start = start if start.any() else start + 1e-3 * np.random.default_rng(0).uniform(size=len(start))
    equal = {"type": "eq", "fun": lambda x: (S @ x).sum() - total, "jac": lambda x: S.sum(axis=0)}
    return -_slsqp(objective, start, bounds, [equal])


def _simplex_optimum(loss, y, C, Ks, S, start, bounds, total):
    def objective(xt):
        value, slope = conjugate(loss, y, xt[:-1], C)
        return value + 0.5 * xt[-1], np.append(slope, 0.5)

    def room(xt):
        a = S @ xt[:-1]
        return np.array([xt[-1] - a @ K @ a for K in Ks])

    def room_slope(xt):
        a = S @ xt[:-1]
        return np.array([np.append(-2 * S.T @ (K @ a), 1.0) for K in Ks])

    first = S @ start
    equal = {"type": "eq", "fun": lambda xt: (S @ xt[:-1]).sum() - total}
    equal["jac"] = lambda xt: np.append(S.sum(axis=0), 0.0)
    above = {"type": "ineq", "fun": room, "jac": room_slope}
    top = max(first @ K @ first for K in Ks)
    return -_slsqp(objective, np.append(start, top), [*bounds, (0, None)], [equal, above])


def _slsqp(objective, start, bounds, constraints):
    options = {"ftol": 1e-14, "maxiter": 3000}
    found = minimize(
        objective, start, jac=True, method="SLSQP", bounds=bounds, constraints=constraints, options=options
    )
    return found.fun


def primal(loss, y, f, C, b, square, epsilon=0.1):
    """Σ C·loss(y, f) + ½‖w‖², and + b for the one-class machine; f has b inside."""
    losses = {
        "hinge": lambda: np.maximum(0, 1 - y * f),
        "squared_hinge": lambda: np.maximum(0, 1 - y * f) ** 2,
        "squared": lambda: (y - f) ** 2,
        "logistic": lambda: np.log1p(np.exp(-y * f)),
        "smooth_hinge": lambda: np.log1p(np.exp(5 * (1 - y * f))) / 5,
        "epsilon_insensitive": lambda: np.maximum(0, np.abs(y - f) - epsilon),
        "one_class": lambda: np.maximum(0, -f),
    }
    return C @ losses[loss]() + 0.5 * square + (b if loss == "one_class" else 0.0)
