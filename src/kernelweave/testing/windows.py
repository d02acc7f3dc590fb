"""Windows of DNA to check estimators on, and what their results are compared by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

#: What a fitted model may be asked.
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "score_samples", "transform")
LENGTH = 12


def windows(n: int = 40, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Return DNA windows and 0 or 1 for whether a motif was put into them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    letters = rng.choice(list("ACGT"), (n, LENGTH))
    letters[y == 1, 4:7] = list("GAT")
    letters[rng.random(n) < 0.1, 5] = "C"
    return ["".join(row) for row in letters], y


def targets(estimator: Any, y: np.ndarray) -> np.ndarray:
    """Return what an estimator of this kind learns: the classes, or numbers near them."""
    return y + 0.1 * np.arange(len(y)) if is_regressor(estimator) else y


def fitted(estimator: Any, X: Any = None, y: Any = None, **options: Any) -> Any:
    """Return a clone, fitted on these sequences or on `windows()`."""
    if X is None:
        X, y = windows()
        y = targets(estimator, y)
    return clone(estimator).fit(X, y, **options)


def results(model: Any, X: Any) -> dict[str, np.ndarray]:
    """Return what every method of the model makes of the sequences."""
    return {name: np.asarray(getattr(model, name)(X)) for name in METHODS if hasattr(model, name)}


def same(model: Any, twin: Any, X: Any, what: str, atol: float = 1e-6) -> None:
    """Check that two models agree on some sequences, relative to the size of the results."""
    for name, expected in results(model, X).items():
        got = np.asarray(getattr(twin, name)(X))
        if expected.dtype.kind == "f":
            scale = max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)))
            assert np.allclose(got, expected, rtol=0, atol=atol * scale), f"{what}: {name} differs"
        else:
            assert np.array_equal(got, expected), f"{what}: {name} differs"


def refuses(work: Callable[[], Any], what: str, *words: str) -> None:
    """Check that something is refused, with a message that holds certain words."""
    message = None
    try:
        work()
    except (ValueError, TypeError) as error:
        message = str(error)
    assert message is not None, f"{what}: accepted without an error"
    assert all(word in message for word in words), f"{what}: the message does not say {words}: {message}"
