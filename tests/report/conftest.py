"""Small models of every kind, fitted once."""

import numpy as np
import pytest

import kernelweave as kw

SCRIPT = "<script>alert(1)</script>"


def motif_data(n=80, length=24, seed=0):
    """DNA with GATTACA at 8 in the positives, two letters of it mutated."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("ACGT"))
    X = letters[rng.integers(0, 4, (n, length))]
    y = np.where(np.arange(n) % 2, 1, -1)
    for i in np.flatnonzero(y > 0):
        X[i, 8:15] = list("GATTACA")
        X[i, 8 + rng.choice(7, 2, replace=False)] = letters[rng.integers(0, 4, 2)]
    return ["".join(row) for row in X], y


@pytest.fixture(scope="session")
def motifs():
    """A model of sequences with what it was trained and is judged on; one sample has a wicked name."""
    X, y = motif_data()
    model = kw.MKLClassifier(kw.WeightedDegree(degree=3) + kw.Spectrum(k=2), norm=2).fit(X[:50], y[:50])
    names = [SCRIPT + str(i) for i in range(len(X))]
    data = {"X": X[:50], "y": y[:50], "X_test": X[50:], "y_test": y[50:]}
    return model, data | {"names": names[:50], "names_test": names[50:]}


@pytest.fixture(scope="session")
def numbers():
    """Samples in four columns, and targets of several kinds."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    return X, X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) + 0.1 * rng.normal(size=60)


KERNEL = kw.RBF(0.3) + kw.Linear()


@pytest.fixture(scope="session")
def table(numbers):
    X, y = numbers
    labels = np.where(y > 0, "yes", "no")
    model = kw.MKLClassifier(KERNEL).fit(X[:40], labels[:40])
    return model, {"X": X[:40], "y": labels[:40], "X_test": X[40:], "y_test": labels[40:]}
