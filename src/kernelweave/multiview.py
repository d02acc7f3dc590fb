"""`MultiView`: several views of the same samples, in one container that scikit-learn can count and cut."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import InputError
from .matrices import object_column
from .presence import joined
from .views import DictViews, Views, as_views


class MultiView:
    """Several views of the same samples: a dict that searches, splits and pipelines of scikit-learn take.

    A plain dict has as many items as it has views, so that scikit-learn takes these for samples.

    Parameters
    ----------
    views : dict
        Matrices (dense or sparse), tables, or columns, by name; all of the same samples, unless `samples` says whose
        they are.
    samples : dict or None
        The names of the samples that each view has, in its order, where not every sample has every view. All views
        then get one row for every name, in the order in which the names are met first: numbers are NaN and other
        things None where a view was not there. Kernels take these by a rule: `RBF(0.1).if_missing("zero")`.

    Attributes
    ----------
    names : array or None
        The names of the samples, where `samples` was given.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from kernelweave import RBF, Linear, MKLClassifier, MultiView
    >>> rng = np.random.default_rng(0)
    >>> X = MultiView({"genes": rng.normal(size=(60, 20)), "images": rng.normal(size=(60, 5))})
    >>> X
    MultiView(60 samples: 'genes', 'images')
    >>> y = X["genes"][:, 0] > 0
    >>> model = MKLClassifier(Linear().on("genes") + RBF(0.1).on("images"))
    >>> GridSearchCV(model, {"C": [0.1, 1.0]}, cv=3).fit(X, y).best_params_
    {'C': 1.0}
    >>> some = MultiView({"age": [[50.0], [60.0]], "dna": ["ACGT"]}, samples={"age": ["ann", "bob"], "dna": ["bob"]})
    >>> list(some.names), some["dna"]
    (['ann', 'bob'], array([None, 'ACGT'], dtype=object))
    """

    def __init__(
        self, views: Mapping[Hashable, Any], *, samples: Mapping[Hashable, Sequence[Hashable]] | None = None
    ) -> None:
        if not isinstance(views, Mapping):
            raise InputError(f"MultiView takes a dict of views by name; got {type(views).__name__}.")
        self.names: np.ndarray | None = None
        if samples is not None:
            names, views = joined(views, samples)
            self.names = object_column(names)
        self._views = as_views(dict(views))

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, and views."""
        return len(self._views), len(self._views.labels)

    def __len__(self) -> int:
        return len(self._views)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._views.labels)

    def keys(self) -> tuple[Hashable, ...]:
        """Return the names of the views."""
        return self._views.labels

    def __getitem__(self, index: Any) -> Any:
        """Return one view by its name, or some samples of all views: by their numbers, a mask or a slice."""
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:  # as scikit-learn asks
            index = index[0]
        if isinstance(index, str) or (not _are_rows(index) and index in self._views.labels):
            return self._views.select(index).native()
        rows = np.arange(len(self))[index]
        return _of(self._views.rows(np.atleast_1d(rows)), None if self.names is None else self.names[rows])

    def as_views(self) -> Views:
        """Return the views as the library sees them."""
        return self._views

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self._views.labels))
        return f"MultiView({len(self)} samples: {names})"


def _are_rows(index: Any) -> bool:
    return isinstance(index, (slice, list, np.ndarray, np.integer))


def _of(views: Views, names: np.ndarray | None) -> MultiView:
    assert isinstance(views, DictViews)
    made = MultiView.__new__(MultiView)
    made._views, made.names = views, names
    return made
