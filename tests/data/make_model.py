"""Write the tiny models that every later version of the library must read: python tests/data/make_model.py FOLDER.

Run it once for every new version of the format, never for an old one: the stored files are the promise.
"""

import json
import sys
from pathlib import Path

import numpy as np
from scipy import sparse

import kernelweave as kw
from kernelweave.io.archive import FORMAT_VERSION


def new_samples():
    """Samples to predict, by view: dense numbers, sparse counts, ids of a given matrix and sequences."""
    return {
        "numbers": np.array([[0.5, -1.0], [-0.25, 2.0], [3.0, 0.0]]),
        "counts": sparse.csr_array(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])),
        "ids": np.array([0, 5, 11]),
        "letters": ["ACGTAC", "TTTTGG", "GATTAC"],
    }


def given_matrix():
    """The matrix of the precomputed term."""
    A = np.arange(24.0).reshape(12, 2) % 5
    return A @ A.T + np.eye(12)


def model():
    """A model of three classes on four views."""
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"] * 4)
    X = {
        "numbers": rng.normal(size=(12, 2)) + (y == "a")[:, None],
        "counts": sparse.csr_array(np.round(rng.random((12, 3)) * (y == "b")[:, None], 3)),
        "ids": np.arange(12),
        "letters": ["".join(rng.choice(list("ACGT" if label == "c" else "AAGT"), 6)) for label in y[1:]] + ["ACNTAC"],
    }
    kernel = (
        kw.RBF(0.5).standardized().on("numbers")
        + kw.Linear().on("counts")
        + kw.Precomputed(given_matrix(), "given").on("ids")
    )
    kernel += kw.Spectrum(2).normalized().on("letters") + kw.WeightedDegree(3).split("degree").on("letters")
    return kw.MKLClassifier(kernel, C=2.0, norm=2, class_weight={"a": 2.0}).fit(X, y)


if __name__ == "__main__":
    folder, fitted = Path(sys.argv[1]), model()
    kw.save(fitted, folder / f"model_v{FORMAT_VERSION}.kw")
    expected = {
        "decisions": fitted.decision_function(new_samples()).tolist(),
        "weights": fitted.weights_.tolist(),
        "kernel": repr(fitted.kernel),
    }
    (folder / f"model_v{FORMAT_VERSION}.json").write_text(json.dumps(expected, indent=1) + "\n")
