"""How good the decisions are, by the kind of model."""

from __future__ import annotations

from sklearn.base import is_regressor

from .classes import multiclass
from .context import Context, Section, missing, section
from .regression import regression
from .samples import is_binary
from .threshold import binary


def quality_section(context: Context) -> Section:
    """Return what the decisions are worth, on the samples there are."""
    title = "Quality of the predictions" if is_regressor(context.model) else "Quality of the decisions"
    if not context.sets:
        said = (
            "No samples came with the model, so nothing can be said of its errors. Pass X and y, or X_test and y_test."
        )
        return section("quality", title, missing(said))
    parts = []
    if context.said is not None:
        parts.append(missing(context.said))
    if context.test is None and context.seen is None:
        said = "The model may have learned from these samples: expect less on new ones, X_test and y_test."
        parts.append(missing(said))
    if is_regressor(context.model):
        parts += regression(context)
    else:
        parts += binary(context) if is_binary(context.model) else multiclass(context)
    return section("quality", title, *parts)
