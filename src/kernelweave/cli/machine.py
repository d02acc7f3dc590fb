"""From options and data to the estimator that is to be trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from .data import Data

if TYPE_CHECKING:
    import numpy as np

#: Whole numbers with more different values than this are a quantity, not the names of classes.
MAX_CLASSES = 20
#: Names that options and parameters do not share.
_RENAMED = {"time_limit": "max_seconds", "threads": "n_jobs", "seed": "random_state"}


def task_of(y: np.ndarray | None, asked: str) -> str:
    """Return "classification", "regression" or "one-class": what was asked for, or what the target looks like."""
    import numpy as np

    if asked != "auto":
        return asked
    if y is None:
        return "one-class"
    if y.dtype.kind == "f":
        return "regression"
    many = y.dtype.kind in "iu" and len(np.unique(y)) > MAX_CLASSES
    return "regression" if many else "classification"


def estimator(task: str, kernel: Any, y: np.ndarray | None, options: dict[str, Any]) -> Any:
    """Return the estimator for a task; options that the task does not know are refused if they were given."""
    from ..estimators import MKLClassifier, MKLOneClass, MKLRegressor

    given = {_RENAMED.get(name, name): value for name, value in options.items() if value is not None}
    given["n_jobs"] = options.get("threads") or -1
    shared = ("norm", "solver", "dual", "tol", "max_iter", "max_seconds", "memory", "random_state", "n_jobs")
    own = {
        "classification": ("C", "loss", "class_weight", "probability"),
        "regression": ("C", "loss", "epsilon", "intervals"),
        "one-class": ("nu",),
    }[task]
    for name in ("class_weight", "epsilon", "loss", "probability", "intervals"):
        if given.get(name) not in (None, False) and name not in own:
            raise click.UsageError(f"--{name.replace('_', '-')} has no meaning for {task}.")
    if "epsilon" in given:
        _check_epsilon(given["epsilon"], given.get("loss", "epsilon_insensitive"))
    if task == "classification" and "class_weight" in given:
        given["class_weight"] = class_weight(given["class_weight"], y)
    kind = {"classification": MKLClassifier, "regression": MKLRegressor, "one-class": MKLOneClass}[task]
    return kind(kernel, **{name: given[name] for name in (*shared, *own) if name in given})


def _check_epsilon(epsilon: float, text: str) -> None:
    """Refuse --epsilon beside a --loss that has none, or that says another one."""
    from ..losses import as_loss

    loss = as_loss(text, ("numbers",), epsilon=epsilon)
    if not hasattr(loss, "epsilon"):
        raise click.UsageError(f"--epsilon has no meaning for --loss {text}.")
    if loss.epsilon != epsilon:
        raise click.UsageError(f"--epsilon {epsilon:g} and --loss '{text}' contradict each other; give one of them.")


def class_weight(text: str, y: Any) -> Any:
    """Return "balanced", or the weights of classes that were typed as A=2,B=1."""
    import numpy as np

    if text == "balanced":
        return text
    classes = {str(label): label for label in np.unique(y).tolist()}
    found = {}
    for part in text.split(","):
        name, sign, weight = part.strip().rpartition("=")
        try:
            value = float(weight)
        except ValueError:
            value = 0.0
        if not sign or not 0 < value < float("inf"):
            raise click.UsageError(f"--class-weight is balanced, or like A=2,B=1 with weights above 0; got {text!r}.")
        label = classes.get(name, classes.get(name.removeprefix("+")))
        if label is None:
            raise InputError(f"--class-weight names a class {name!r}; the data have {', '.join(map(repr, classes))}.")
        found[label] = value
    return found


def check_positive_label(task: str, data: Data, text: str | None) -> None:
    """Refuse --positive where there are not two classes, or where it names none of them."""
    import numpy as np

    if text is None:
        return
    y = data.y if task == "classification" else None
    labels = [] if y is None else [str(label) for label in np.unique(y).tolist()]
    if len(labels) != 2:
        what = f"these data have {len(labels)}" if labels else f"this is {task}"
        raise click.UsageError(f"--positive is for two classes; {what}.")
    if text not in labels:
        raise InputError(f"--positive names a class {text!r}; the data have {labels[0]!r} and {labels[1]!r}.")


def put_positive_last(model: Any, text: str | None) -> None:
    """Turn the machine of a fitted model round where the class that sorts first is to be the positive one."""
    if text is None or str(model.classes_[1]) == text:
        return
    model.classes_ = model.classes_[::-1].copy()
    model.dual_coef_, model.intercept_ = -model.dual_coef_, -model.intercept_
    if hasattr(model, "calibration_"):
        model.calibration_ = model.calibration_ * [1.0, -1.0]


def check_task(task: str, data: Data) -> None:
    """Refuse targets that cannot be what the task needs."""
    y = data.y
    if task == "regression" and y is not None and y.dtype.kind not in "iuf":
        raise InputError(f"{data.source}: the target holds {str(y[0])[:40]!r}; regression needs numbers.")
    if task == "classification" and y is not None and y.dtype.kind == "f" and (y % 1 != 0).any():
        raise InputError(f"{data.source}: the target holds fractions such as {y[0]}; use --task regression.")
