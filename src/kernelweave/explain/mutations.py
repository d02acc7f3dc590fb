"""What if one letter were another: the change of the decision value for every single substitution."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..estimators.fitted import FittedModel, fitted_model
from ..kernels.pieces import readers
from ..sequences import SequenceSet
from ..views import ArrayViews, DictViews, Path, SequenceViews, TableViews, Views, as_views
from .normals import label_of

#: Mutants that are judged at a time.
BLOCK_MUTANTS = 1 << 14


@dataclass(frozen=True)
class MutationMap:
    """values[i, c] = decision(sequence with letter c at i) − decision(sequence); zero for the letter that is there."""

    values: np.ndarray
    letters: str
    sequence: str
    decision: float
    #: Where the window starts in the sequence that was given.
    start: int = 0


def mutation_map(model: Any, sequence: Any, *, view: Hashable = None, machine: int = 0) -> MutationMap:
    """Return how the decision value changes with every single substitution, exactly: every mutant is judged.

    Parameters
    ----------
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
    sequence : str, or one sample
        A sample as a table or dict with one row where the model sees several views.
    view : column name
        Which view to mutate, where several hold sequences.
    machine : int
        Which machine, where there are several classes.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.explain import mutation_map
    >>> model = MKLClassifier(WeightedDegree(degree=3)).fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0])
    >>> change = mutation_map(model, "AACC")
    >>> change.values.shape, bool((change.values[0] <= 0).all())
    ((4, 4), True)
    """
    fitted = fitted_model(model)
    machine = fitted.machine(machine)
    sample = as_views([sequence] if isinstance(sequence, (str, bytes)) else sequence)
    if len(sample) != 1:
        raise InputError(f"One sequence at a time is mutated; got {len(sample)}.")
    path, support = _string_view(fitted, view)
    found = sample.through(path).sequences_like(support)
    alphabet, codes = found.alphabet, found.codes(0)
    places, letters = np.nonzero(codes[:, None] != np.arange(alphabet.size))
    decision = float(fitted.decide(sample)[0, machine])
    values = np.zeros((len(codes), alphabet.size))
    for start in range(0, len(places), BLOCK_MUTANTS):
        i, c = places[start : start + BLOCK_MUTANTS], letters[start : start + BLOCK_MUTANTS]
        mutants = np.tile(codes, (len(i), 1))
        mutants[np.arange(len(i)), i] = c
        column = SequenceSet(alphabet, mutants.reshape(-1), len(i), len(codes))
        values[i, c] = fitted.decide(_with_column(sample, path, column))[:, machine] - decision
    return MutationMap(values, alphabet.letters, alphabet.decode(codes), decision)


def scan_map(model: Any, sequence: str | bytes, start: int, *, view: Hashable = None, machine: int = 0) -> MutationMap:
    """Return the mutation map of one window of a long sequence, from `start` on and as long as the model wants it.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, WeightedDegree
    >>> from kernelweave.explain import scan_map
    >>> model = MKLClassifier(WeightedDegree(degree=3)).fit(["AACC", "AAGC", "TTCC", "GTCG"], [1, 1, 0, 0])
    >>> scan_map(model, "GGGAACCGGG", 3).sequence
    'AACC'
    """
    if not isinstance(sequence, (str, bytes)):
        raise InputError(f"scan_map takes one sequence as text; got {type(sequence).__name__}.")
    _, support = _string_view(fitted_model(model), view)
    length = support.require_length()
    if not 0 <= start <= len(sequence) - length:
        raise InputError(
            f"A window of {length} letters starts from 0 to {len(sequence) - length} in a sequence of {len(sequence)}; "
            f"got start={start}."
        )
    found = mutation_map(model, sequence[start : start + length], view=view, machine=machine)
    return MutationMap(found.values, found.letters, found.sequence, found.decision, start)


def _string_view(fitted: FittedModel, view: Hashable) -> tuple[Path, SequenceSet]:
    """Return the path of the view that holds sequences, and the support sequences there."""
    found: dict[str, tuple[Path, SequenceSet]] = {}
    views = fitted.support
    ends = [end for term in fitted.terms for end in readers(term, views)]
    for path, leaf in ends:
        if leaf.reads == "sequences" and (view is None or label_of(path) == view):
            found.setdefault(repr(path), (path, views.through(path).sequences(leaf.alphabet)))
    if len(found) == 1:
        return next(iter(found.values()))
    if not found and view is None:
        raise InputError("No term of this model reads sequences, so there are no letters to change.")
    names = ", ".join(sorted({repr(label_of(path)) for path, _ in ends}))
    raise InputError(f"Choose the view whose letters change with view=...: one of {names}; got {view!r}.")


def _with_column(sample: Views, path: Path, column: SequenceSet) -> Views:
    """Return as many copies of one sample as the column has rows, with the column in its place."""
    if not path or (len(sample.labels) == 1 and not isinstance(sample, DictViews)):
        return SequenceViews(column)
    copies = sample.rows(np.zeros(len(column), dtype=np.int64))
    label = path[0][0] if isinstance(path[0], (list, tuple)) else path[0]
    if isinstance(copies, DictViews):
        return DictViews({**copies.parts, label: SequenceViews(column)})
    if isinstance(copies, TableViews):
        return _with_table_column(copies, label, column)
    assert isinstance(copies, ArrayViews)
    data = np.array(copies.data, dtype=object)
    data[:, label] = list(column)
    return ArrayViews(data)


def _with_table_column(copies: TableViews, label: Any, column: SequenceSet) -> Views:
    import narwhals as nw

    name = label if label in copies.labels else copies.labels[label]
    series = nw.new_series(name, list(column), backend=nw.get_native_namespace(copies.frame))
    return TableViews(copies.frame.with_columns(series))
