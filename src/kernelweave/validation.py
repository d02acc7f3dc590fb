"""The door: the only place that questions user input."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d, validate_data

from .errors import DataWarning, InputError, InputTypeError
from .kernels import Kernel
from .kernels.values import typed
from .matrices import check_size, check_sound, is_nothing, loaded
from .views import ArrayViews, TableViews, Views, as_views

#: Columns whose spreads differ by more than this earn a warning.
SPREAD_RATIO = 1e4
#: Rows that show, in most cases, that they do not.
SOME_ROWS = 4_096
#: Classes whose summed costs differ by more than this earn one, too.
CLASS_RATIO = 1e3
#: What the highest cost of a sample may be, and the least.
MAX_COST, MIN_COST = 1e50, 1e-100


def check_X(estimator: Any, X: Any, kernel: Kernel, *, reset: bool) -> Views:
    """Return X as views, checked against what the kernel reads and what the estimator was fitted on."""
    X = X.as_views() if hasattr(X, "as_views") else loaded(X)
    check_sound(X)
    leaves = list(kernel.leaves())
    numbers_only = {leaf.reads for leaf in leaves} <= {"numbers"}
    if any(hasattr(leaf, "chosen") for leaf in leaves):  # a kernel is chosen once it is seen what X holds
        numbers_only = _is_matrix(X)
    if numbers_only and _is_text(X):
        raise InputTypeError(
            f"X holds strings, but {kernel!r} needs numbers. For sequences use a kernel on them, such as "
            "WeightedDegree(degree=8) or Spectrum(k=6)."
        )
    if not isinstance(X, (Views, dict)) and not _is_frame(X) and not _is_list_of_views(X) and numbers_only:
        finite: Any = "allow-nan" if kernel.takes_gaps else True
        checked = validate_data(
            estimator, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_min_samples=1 + reset,
            ensure_all_finite=finite,
        )  # fmt: skip
        plain = ArrayViews(sparse.csr_array(checked) if sparse.issparse(checked) else checked)
        plain.matrix(kernel.takes_gaps)
        return plain
    views = as_views(X)
    if isinstance(views, TableViews) and _is_frame(X):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    elif reset:
        estimator.n_features_in_ = len(views.labels)
    elif estimator.n_features_in_ != len(views.labels):
        raise InputError(
            f"X has {len(views.labels)} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    if len(views) < 1 + reset:
        raise InputError(f"Found {len(views)} sample(s), while a minimum of {1 + reset} is required.")
    if reset:
        kernel.check(views)
    return views


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and not sparse.issparse(X)


def _is_matrix(X: Any) -> bool:
    """Whether X is to be one matrix of numbers: not text, and nothing that has names or views."""
    if sparse.issparse(X):
        return True
    if _is_frame(X) or isinstance(X, (Views, dict)) or _is_list_of_views(X) or _is_text(X):
        return False
    if isinstance(X, np.ndarray) and X.dtype == object:
        return not any(isinstance(value, str) for value in X.ravel())
    kind = getattr(getattr(X, "dtype", None), "kind", "f")
    return not isinstance(X, np.ndarray) or kind not in "SUTmM"


def _is_text(X: Any) -> bool:
    """Whether X is one column of strings, however it is held."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(isinstance(row, (str, bytes)) for row in X)
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and (X.dtype.kind in "SUT" or (X.dtype == object and _is_text(X.tolist())))
    return type(X).__name__ in ("SequenceSet", "Shards")


def _is_list_of_views(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and bool(X) and all(len(getattr(part, "shape", ())) == 2 for part in X)


def check_labels(y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (classes, codes) of class labels, of whatever type they are."""
    y = _column(y, n)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y holds only one class, {typed(classes[0])}; a classifier needs at least two classes.")
    return classes, codes


def check_indicator(y: Any, n: int) -> np.ndarray | None:
    """Return a 0/1 matrix of several labels for every sample as bool, (n, n_labels); None where y is one column."""
    if not _has_columns(y):
        return None
    if type_of_target(y, input_name="y") != "multilabel-indicator":
        raise InputError(
            f"y has {np.shape(y)[1]} columns, so each of them has to be 0 or 1, for samples that have several labels. "
            "For classes, give one column; sklearn.multioutput.MultiOutputClassifier takes several columns of classes."
        )
    y = y.toarray() if sparse.issparse(y) else np.asarray(y)
    check_consistent_length(np.empty(n), y)
    return y.astype(bool)


def check_numbers(y: Any, n: int, *, several: bool = False) -> np.ndarray:
    """Return regression targets as float64: (n,); or with `several` also (n, n_targets), for two and more columns."""
    if not (several and _has_columns(y)):
        y = _column(y, n)
    try:
        values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise InputError(f"y has to hold numbers ({error}). For classes, use MKLClassifier.") from None
    check_consistent_length(np.empty(n), values)
    check_size(values, "The target y")
    return values


def _has_columns(y: Any) -> bool:
    if not hasattr(y, "shape"):
        try:
            y = np.asarray(y)
        except ValueError:  # rows of several lengths: what reads a column says so
            return False
    return len(y.shape) == 2 and y.shape[1] > 1


def _column(y: Any, n: int) -> np.ndarray:
    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=False), warn=True)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InputError(f"Input y contains NaN or infinity, first at row {int(np.flatnonzero(~np.isfinite(y))[0])}.")
    if y.dtype == object:
        _check_objects(y)
    check_consistent_length(np.empty(n), y)
    return y


def _check_objects(y: np.ndarray) -> None:
    """Refuse labels that are missing, or that cannot be put in order."""
    missing = [row for row, label in enumerate(y) if is_nothing(label) or label != label]
    if missing:
        raise InputError(f"y has no label in {len(missing)} of {len(y)} rows, first in row {missing[0]}; drop them.")
    kinds = sorted({"number" if isinstance(label, numbers.Number) else type(label).__name__ for label in y})
    if len(kinds) > 1:
        raise InputError(f"y mixes labels of several kinds ({', '.join(kinds)}); make them all text, or all numbers.")


def check_sample_weight(sample_weight: Any, n: int) -> np.ndarray:
    """Return finite sample weights ≥ 0, not all zero."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n, float(sample_weight))  # type: ignore[arg-type]
    weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weight.ndim != 1:
        raise InputError("Sample weights must be 1D array or scalar.")
    if len(weight) != n:
        raise InputError(f"sample_weight.shape == {weight.shape}, expected {(n,)}!")
    if (weight < 0).any():
        raise InputError(f"sample_weight must be ≥ 0; row {int(np.flatnonzero(weight < 0)[0])} has {weight.min()}.")
    if not weight.any():
        raise InputError("sample_weight is zero for every sample, so there is nothing to fit.")
    check_costs(weight, "sample_weight")
    return weight


def check_costs(C: np.ndarray, name: str = "C times the weights of samples and classes") -> np.ndarray:
    """Return the costs of all samples, refused where no digit of an objective would be left."""
    if not MIN_COST <= C.max() <= MAX_COST:
        raise InputError(f"{name} reaches {C.max():.2g}; it must be between {MIN_COST:g} and {MAX_COST:g}.")
    return C


def check_class_weight(class_weight: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return one weight per sample from `class_weight` (None, "balanced" or a dict)."""
    if class_weight is None:
        return np.ones(len(codes))
    per_class = compute_class_weight(class_weight, classes=classes, y=classes[codes], sample_weight=weight)
    return per_class[codes]


def check_label_weight(class_weight: Any, indicator: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return one weight per label and sample, (n_labels, n), from `class_weight`; (1, n) where all are the same."""
    n, n_labels = indicator.shape
    if class_weight is None:
        return np.ones((1, n))
    given = class_weight if isinstance(class_weight, (list, tuple)) else [class_weight] * n_labels
    if len(given) != n_labels:
        raise InputError(f"class_weight is a list of {len(given)}, and y has {n_labels} labels; give one for each.")
    out = np.ones((n_labels, n))
    for row, own, label in zip(out, given, indicator.T, strict=True):
        if own is not None and 0 < label.sum() < n:  # who all have the label, or nobody, are all alike
            row[:] = check_class_weight(own, np.array([0, 1]), label.astype(int), weight)
    if not out.min() > 0:
        raise InputError(f"class_weight of several labels must be above 0; got {class_weight!r}.")
    return out


def warn_ratio(classes: np.ndarray, codes: np.ndarray, cost: np.ndarray) -> None:
    """Warn where the classes' summed costs differ so much that ignoring one is nearly free."""
    sums = np.bincount(codes, weights=cost, minlength=len(classes))
    if sums.max() > CLASS_RATIO * sums.min():
        warnings.warn(
            f"Class {typed(classes[sums.argmax()])} outweighs class {typed(classes[sums.argmin()])} by "
            f"{sums.max() / sums.min():.2g} to 1, so ignoring the rare one costs almost nothing. "
            'class_weight="balanced" gives both the same say; judge by AUC, not by accuracy.',
            DataWarning,
            stacklevel=3,
        )


def check_positive(name: str, value: Any, *, what: str = "a finite number > 0") -> float:
    """Return value as a float > 0, or say what it should be."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < float(value) < np.inf:
        return float(value)
    raise InputError(f"{name} must be {what}; got {value!r}.")


def warn_scales(X: Views, kernel: Kernel) -> None:
    """Warn where columns of a plain matrix differ widely in spread, and a kernel reads them as they are."""
    if (
        not _reads_raw_numbers(kernel)
        or not isinstance(X, ArrayViews)
        or sparse.issparse(X.data)
        or X.data.dtype.kind != "f"
    ):
        return
    if X.data.ndim != 2 or _spreads_are_near(X.data):
        return
    spread = X.data.std(axis=0)
    spread = spread[spread > 0]
    if len(spread) > 1 and spread.max() > SPREAD_RATIO * spread.min():
        warnings.warn(
            f"The spreads of the columns of X differ by a factor of {spread.max() / spread.min():.2g}; the widest "
            "will drown the others. Write RBF(0.1).standardized() for RBF(0.1), say, or use .on(...) per column.",
            DataWarning,
            stacklevel=4,
        )


def _spreads_are_near(matrix: np.ndarray) -> bool:
    """Say whether no two columns can differ by `SPREAD_RATIO` in spread: known of long tables from some of their rows.

    The squares of all numbers are more than those of a column about its mean, and those of its rows that were looked at
    about theirs are less.
    """
    if len(matrix) < 4 * SOME_ROWS or not isinstance(matrix, np.ndarray) or not matrix.flags.c_contiguous:
        return False
    some = matrix[:: len(matrix) // SOME_ROWS]
    least = float((some.var(axis=0) * len(some)).min(initial=np.inf))
    return float(np.vdot(matrix, matrix)) <= SPREAD_RATIO**2 * least


def _reads_raw_numbers(kernel: Kernel) -> bool:
    """Say whether a kernel at some end of an expression reads numbers in the units that they came in."""
    if hasattr(type(kernel), "units"):
        return False
    return any(map(_reads_raw_numbers, kernel.inside)) if kernel.inside else kernel.reads == "numbers"
