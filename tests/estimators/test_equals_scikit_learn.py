"""One term and no scaling: the machines of scikit-learn, to the last digits that those have."""

from functools import cache

import numpy as np
import pytest
from sklearn import datasets
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.utils.class_weight import compute_class_weight

from kernelweave import RBF, Laplacian, Linear, MKLClassifier, MKLOneClass, MKLRegressor, Polynomial

PLAIN = {"norm": "fixed", "scaling": None, "tol": 1e-9}
TIGHT = 1e-10


@cache
def data(name):
    """Standardised samples (every fourth one kept apart to predict on) and their targets."""
    if name == "moons":
        X, y = datasets.make_moons(200, noise=0.3, random_state=0)
    elif name == "friedman":
        X, y = datasets.make_friedman1(150, noise=0.5, random_state=0)
    elif name == "digits":
        X, y = (part[:240] for part in datasets.load_digits(return_X_y=True))
    else:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if name in ("diabetes", "friedman"):
        y = (y - y.mean()) / y.std()
    new = np.arange(len(X)) % 4 == 0
    return X[~new], y[~new], X[new]


BINARY = ["breast_cancer", "moons"]
MANY = ["iris", "wine", "digits"]
NUMBERS = ["diabetes", "friedman"]
KERNELS = [RBF(0.1), Linear()]


def weighting(case, y, rng):
    """Return (class_weight, sample_weight, what both make of every sample)."""
    if case == "plain":
        return None, None, np.ones(len(y))
    if case == "class_weight":
        classes = np.unique(y)
        each = compute_class_weight("balanced", classes=classes, y=y)
        return "balanced", None, each[np.searchsorted(classes, y)]
    sample_weight = rng.uniform(0.2, 3.0, len(y))
    return None, sample_weight, sample_weight


def machines(y):
    """The labels of every one-vs-rest machine."""
    classes = np.unique(y)
    return [np.where(y == c, 1, -1) for c in (classes[1:] if len(classes) == 2 else classes)]


def svc_objective(svc, K):
    coef = np.zeros(len(K))
    coef[svc.support_] = svc.dual_coef_[0]
    return np.abs(coef).sum() - 0.5 * coef @ K @ coef


@pytest.mark.parametrize("case", ["plain", "class_weight", "sample_weight"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("name", BINARY + MANY)
def test_hinge_is_svc(name, kernel, case, rng):
    X, y, new = data(name)
    class_weight, sample_weight, each = weighting(case, y, rng)
    model = MKLClassifier(kernel, C=2.0, class_weight=class_weight, **PLAIN).fit(X, y, sample_weight)
    K, K_new = kernel(X), kernel(new, X)
    objective, decisions = 0.0, []
    for labels in machines(y):
        svc = SVC(kernel="precomputed", C=2.0, tol=TIGHT).fit(K, labels, sample_weight=each)
        objective += svc_objective(svc, K)
        decisions.append(svc.decision_function(K_new))
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    f = model.decision_function(new)
    np.testing.assert_allclose(f if f.ndim == 2 else f[:, None], np.column_stack(decisions), atol=1e-3)


@pytest.mark.parametrize("kernel", [Laplacian(0.1), Polynomial(2)], ids=repr)
def test_other_kernels_too(kernel):
    X, y, new = data("breast_cancer")
    model = MKLClassifier(kernel, **PLAIN).fit(X, y)
    svc = SVC(kernel="precomputed", tol=TIGHT).fit(K := kernel(X), y)
    assert model.objective_ == pytest.approx(svc_objective(svc, K), rel=1e-6)
    np.testing.assert_allclose(model.decision_function(new), svc.decision_function(kernel(new, X)), atol=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("name", NUMBERS)
def test_epsilon_insensitive_is_svr(name, kernel, weighted, rng):
    X, y, new = data(name)
    sample_weight = rng.uniform(0.2, 3.0, len(y)) if weighted else None
    model = MKLRegressor(kernel, C=1.5, epsilon=0.2, scaling_y=None, **PLAIN).fit(X, y, sample_weight)
    K = kernel(X)
    svr = SVR(kernel="precomputed", C=1.5, epsilon=0.2, tol=TIGHT).fit(K, y, sample_weight=sample_weight)
    coef = np.zeros(len(y))
    coef[svr.support_] = svr.dual_coef_[0]
    objective = y @ coef - 0.2 * np.abs(coef).sum() - 0.5 * coef @ K @ coef
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(model.predict(new), svr.predict(kernel(new, X)), atol=1e-3)


@pytest.mark.parametrize("name", ["moons", "iris", "wine", "breast_cancer", "diabetes"])
@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_one_class_is_one_class_svm(name, nu):
    X, _, new = data(name)
    model = MKLOneClass(RBF(0.1), nu=nu, **PLAIN).fit(X)
    K = RBF(0.1)(X)
    svm = OneClassSVM(kernel="precomputed", nu=nu, tol=TIGHT).fit(K)
    coef = np.zeros(len(X))
    coef[svm.support_] = svm.dual_coef_[0] / (nu * len(X))
    assert model.objective_ == pytest.approx(-0.5 * coef @ K @ coef, rel=1e-6)
    expected = svm.decision_function(RBF(0.1)(new, X)) / (nu * len(X))
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("name", NUMBERS)
def test_squared_is_kernel_ridge_on_centred_data(name, kernel):
    X, y, new = data(name)
    C, n = 0.7, len(y)
    model = MKLRegressor(kernel, C=C, loss="squared", scaling_y=None, **PLAIN).fit(X, y)
    K, K_new = kernel(X), kernel(new, X)
    H = np.eye(n) - 1.0 / n
    ridge = KernelRidge(alpha=1 / (2 * C), kernel="precomputed").fit(H @ K @ H, y - y.mean())
    a = H @ ridge.dual_coef_
    f = H @ K @ a + y.mean()
    objective = C * ((y - f) ** 2).sum() + 0.5 * a @ K @ a
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(model.predict(new), (K_new - K.mean(axis=0)) @ a + y.mean(), atol=1e-3)


def features(K, K_new):
    """Explicit features whose products are K: V √λ."""
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-10 * values[-1]
    root = vectors[:, keep] / np.sqrt(values[keep])
    return K @ root, K_new @ root


@pytest.mark.parametrize("name", NUMBERS)
def test_squared_with_weights_is_ridge_on_features(name, rng):
    X, y, new = data(name)
    weight = rng.uniform(0.2, 3.0, len(y))
    model = MKLRegressor(RBF(0.1), C=0.7, loss="squared", scaling_y=None, **PLAIN).fit(X, y, weight)
    phi, phi_new = features(RBF(0.1)(X), RBF(0.1)(new, X))
    ridge = Ridge(alpha=1 / 1.4, solver="cholesky").fit(phi, y, sample_weight=weight)
    objective = 0.7 * weight @ (y - ridge.predict(phi)) ** 2 + 0.5 * ridge.coef_ @ ridge.coef_
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(model.predict(new), ridge.predict(phi_new), atol=1e-3)


@pytest.mark.parametrize("case", ["plain", "class_weight", "sample_weight"])
@pytest.mark.parametrize("name", ["breast_cancer", "moons", "iris", "wine", "digits"])
def test_logistic_is_logistic_regression_on_features(name, case, rng):
    X, y, new = data(name)
    class_weight, sample_weight, each = weighting(case, y, rng)
    model = MKLClassifier(RBF(0.1), C=2.0, loss="logistic", class_weight=class_weight, **PLAIN).fit(X, y, sample_weight)
    phi, phi_new = features(RBF(0.1)(X), RBF(0.1)(new, X))
    objective, decisions = 0.0, []
    for labels in machines(y):
        logistic = LogisticRegression(C=2.0, tol=1e-10, solver="newton-cholesky").fit(phi, labels, sample_weight=each)
        losses = np.logaddexp(0, -labels * logistic.decision_function(phi))
        objective += 2.0 * each @ losses + 0.5 * (logistic.coef_**2).sum()
        decisions.append(logistic.decision_function(phi_new))
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    f = model.decision_function(new)
    np.testing.assert_allclose(f if f.ndim == 2 else f[:, None], np.column_stack(decisions), atol=1e-3)
    if len(decisions) == 1:
        np.testing.assert_allclose(model.predict_proba(new), logistic.predict_proba(phi_new), atol=1e-3)


def test_a_fixed_sum_is_the_machine_of_the_sum():
    X, y, new = data("breast_cancer")
    model = MKLClassifier(0.5 * RBF(0.1) + Linear(), **PLAIN).fit(X, y)
    K = 0.5 * RBF(0.1)(X) + X @ X.T
    svc = SVC(kernel="precomputed", tol=TIGHT).fit(K, y)
    assert model.objective_ == pytest.approx(svc_objective(svc, K), rel=1e-6)
    assert model.weights_.tolist() == [1.0, 1.0]
    K_new = 0.5 * RBF(0.1)(new, X) + new @ X.T
    np.testing.assert_allclose(model.decision_function(new), svc.decision_function(K_new), atol=1e-3)
