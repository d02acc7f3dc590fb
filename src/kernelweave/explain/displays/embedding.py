"""`EmbeddingDisplay`: samples by their first coordinates under a kernel, and how much each view had to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from .base import COLOUR_MAP, COLOURS, QUIET, Display, bare, shorten

#: Classes of samples differ in colour and in shape; there are so many of either.
SHAPES = ("o", "s", "^", "D", "v", "P", "X")
#: From this many different numbers on, targets are drawn as a ramp of colours.
MANY = 15


class EmbeddingDisplay(Display):
    """Dots at the first two coordinates, coloured by classes or numbers.

    Parameters
    ----------
    coordinates : array of shape (n_samples, ≥ 2)
    shares : sequence of float, optional
        What part of the similarities each coordinate keeps.
    target : array of shape (n_samples,), optional
        Classes or numbers of the samples.

    Attributes
    ----------
    ax_, figure_ : what was drawn on

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from kernelweave import EmbeddingDisplay, WeaveTransformer
    >>> X, y = load_wine(return_X_y=True)
    >>> EmbeddingDisplay.from_estimator(WeaveTransformer().fit(X), X, y)  # doctest: +SKIP
    """

    def __init__(self, coordinates: Any, shares: Sequence[float] | None = None, target: Any = None) -> None:
        self.coordinates = np.asarray(coordinates, dtype=np.float64)
        if self.coordinates.ndim != 2 or self.coordinates.shape[1] < 2:
            raise InputError(f"Two coordinates are drawn; got an array of shape {self.coordinates.shape}.")
        self.shares = None if shares is None else np.asarray(shares, dtype=np.float64)
        self.target = None if target is None else np.asarray(target)
        if self.target is not None and self.target.shape != (len(self.coordinates),):
            raise InputError(f"There are {len(self.coordinates)} samples, and targets of shape {self.target.shape}.")

    @classmethod
    def from_estimator(cls, transformer: Any, X: Any, y: Any = None, *, ax: Any = None) -> EmbeddingDisplay:
        """Draw samples as a fitted `WeaveTransformer` sees them."""
        return cls(transformer.transform(X), transformer.shares_, y).plot(ax)

    def plot(self, ax: Any = None) -> EmbeddingDisplay:
        """Draw the dots."""
        ax = self._start(ax, (6.4, 4.8))
        x, y = self.coordinates[:, 0], self.coordinates[:, 1]
        if self.target is None:
            ax.scatter(x, y, s=22, color=QUIET, edgecolors="white", linewidths=0.4)
        elif self.target.dtype.kind in "iuf" and len(np.unique(self.target)) >= MANY:
            dots = ax.scatter(x, y, s=22, c=self.target, cmap=COLOUR_MAP, edgecolors="white", linewidths=0.4)
            ax.figure.colorbar(dots, ax=ax, label="target", pad=0.02)
        else:
            self._classes(ax, x, y)
        for c, label in enumerate((ax.set_xlabel, ax.set_ylabel)):
            share = "" if self.shares is None else f" ({100 * self.shares[c]:.0f} % of the spread)"
            label(f"coordinate {c}{share}")
        bare(ax)
        return self

    def _classes(self, ax: Any, x: np.ndarray, y: np.ndarray) -> None:
        assert self.target is not None
        for number, name in enumerate(np.unique(self.target)):
            here = self.target == name
            look = {"color": COLOURS[number % len(COLOURS)], "marker": SHAPES[(number // len(COLOURS)) % len(SHAPES)]}
            ax.scatter(x[here], y[here], s=22, label=shorten(str(name), 24), edgecolors="white", linewidths=0.4, **look)
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
