"""What every section of a report is made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..estimators.fitted import FittedModel
from .markup import Html, tag
from .samples import Samples


@dataclass(frozen=True)
class Options:
    """How much a report shows.

    Attributes
    ----------
    top : int
        Rows of the table of words.
    n_examples : int
        Samples explained of each kind: highest, lowest, nearest the threshold.
    orders : tuple of int or None
        Lengths of words in the map of importance.
    notes : tuple of str
        What is to be said of the given samples: how they were split from others, how negatives were drawn.
    """

    top: int = 100
    n_examples: int = 2
    orders: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Context:
    """A fitted model, the samples to show it on, and how much to show.

    Attributes
    ----------
    train : samples that it was fitted on, as they were given
    test : samples that it was not trained on, or of which that is not known
    seen : samples that were given for a test, but were trained on
    said : what is to be said of them, None where there is nothing
    """

    model: Any
    train: Samples | None
    test: Samples | None
    options: Options
    seen: Samples | None = None
    said: str | None = None

    @cached_property
    def sets(self) -> list[Samples]:
        """The sets of samples that there are, training first."""
        return [samples for samples in (self.train, self.seen, self.test) if samples is not None]

    @property
    def judged(self) -> Samples | None:
        """The samples that the model is judged by: the held-out ones where there are some."""
        return next((samples for samples in (self.test, self.seen, self.train) if samples is not None), None)

    @cached_property
    def fitted(self) -> FittedModel:
        """What the model knows."""
        record: FittedModel = self.model.fitted_
        return record

    @property
    def weights(self) -> np.ndarray:
        """Learned weights, (n_sets, n_terms)."""
        return self.fitted.weights


class Section(NamedTuple):
    """A part of the page that can be linked to."""

    name: str
    title: str
    html: Html


def section(name: str, title: str, *children: Any) -> Section:
    """Return a section with a title of its own."""
    return Section(name, title, tag("section", tag("h2", title), *children, id=name))


def missing(text: str) -> Html:
    """Return a line that says why something is not shown."""
    return tag("p", text, class_="missing")
