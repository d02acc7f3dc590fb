"""The learned kernel as an expression: what is typed is what predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..kernels import Kernel, Scaled
from ..kernels.base import add_all

if TYPE_CHECKING:
    from .base import BaseMKL


def learned_html(estimator: BaseMKL) -> str:
    """Return the learned expression and its certificate as a small block of HTML; empty before `fit`."""
    from html import escape

    if not hasattr(estimator, "kernel_"):
        return ""
    kernels = estimator.kernel_ if isinstance(estimator.kernel_, list) else [estimator.kernel_]
    lines = "<br>".join(escape(_rounded(kernel)) for kernel in kernels)
    return (
        f'<div style="font-family:monospace;margin:.5em 0"><b>learned kernel</b><br>{lines}<br>'
        f"gap {estimator.gap_:.2g} · {escape(estimator.stop_reason_)} · {len(estimator.support_)} support samples</div>"
    )


def _rounded(kernel: Kernel) -> str:
    parts = getattr(kernel, "kernels", (kernel,))
    return " + ".join(f"{k.scale:.3g} * {k.kernel!r}" if hasattr(k, "scale") else repr(k) for k in parts)


def learned_expression(terms: Sequence[Kernel], scales: np.ndarray, weights: np.ndarray) -> Kernel:
    """Return the learned kernel: what is typed is what predicts."""
    used = [(w / s, term) for w, s, term in zip(weights, scales, terms, strict=True) if w > 0]
    if not used:
        return Scaled(0.0, terms[0])
    return add_all([term if w == 1.0 else term * float(w) for w, term in used])
