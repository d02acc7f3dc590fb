"""Decision values for new samples: what the support has to say, computed when asked or added up once and looked up."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..errors import MemoryBudgetError
from ..kernels.weighted_degree import same_length
from ..letters import Letters
from ..memory import readable
from ..parallel import blocks
from ..sequences import Alphabet, SequenceSet
from ..views import DictViews, Path, Views, as_views
from .base import Gram, support_of
from .families import Family
from .feature_map import FeatureMap
from .kept_tables import Tables
from .tables import are_few

if TYPE_CHECKING:
    from .features import FeatureGram
    from .linadd import LinaddGram

#: Windows that are cut out at a time.
CUT = 1 << 14


class Windows:
    """Windows of a long sequence, given by where they start, as the samples of a model.

    Parameters
    ----------
    codes : array of uint8
        The letters of the sequence.
    starts : array of int
    length : int
        Letters of a window.
    alphabet : Alphabet
    path : Path
        The columns that the model looks through to find a sequence.
    along : bool
        Whether the windows mostly follow each other letter by letter.
    """

    def __init__(
        self,
        codes: np.ndarray,
        starts: np.ndarray,
        length: int,
        alphabet: Alphabet,
        path: Path = (),
        along: bool = False,
    ) -> None:
        self.codes, self.starts, self.length, self.alphabet, self.path = codes, starts, length, alphabet, path
        self.along = along
        #: Which windows have no unknown letter.
        self.known = ~holding_unknown(codes, starts, length, alphabet)

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def places(self) -> np.ndarray:
        """The 32 letters from every place of the sequence on, two bits each."""
        from .._fast.linadd import pack_places

        return pack_places(self.codes)

    def some(self, chosen: slice | np.ndarray) -> Windows:
        """Return some of the windows; what is known of the sequence is shared."""
        part = copy(self)
        part.starts, part.known = self.starts[chosen], self.known[chosen]
        return part

    def scattered(self, chosen: np.ndarray) -> Windows:
        """Return some of the windows that do not follow each other any more."""
        part = self.some(chosen)
        part.along = False
        return part

    def views(self) -> Views:
        """Return the windows, cut out, as the samples that the model expects."""
        every = np.lib.stride_tricks.sliding_window_view(self.codes, self.length)
        return self.as_samples(np.ascontiguousarray(every[self.starts]))

    def as_samples(self, codes: np.ndarray) -> Views:
        """Return codes (n, length) as the samples that the model expects."""
        return seen_through(self.path, SequenceSet(self.alphabet, codes.reshape(-1), len(codes), self.length))


def holding_unknown(codes: np.ndarray, starts: np.ndarray, length: int, alphabet: Alphabet) -> np.ndarray:
    """Return which windows of a sequence have unknown letters, (n,)."""
    unknown = codes >= alphabet.size
    if not unknown.any():
        return np.zeros(len(starts), bool)
    before = np.append(0, np.cumsum(unknown, dtype=np.int32))
    found: np.ndarray = before[starts + length] > before[starts]
    return found


def seen_through(path: Path, sequences: SequenceSet) -> Views:
    """Return sequences as samples of a model that finds them through a path of columns."""
    views: Views = as_views(sequences)
    for columns in reversed(path):
        name = columns[0] if isinstance(columns, (list, tuple)) else columns
        views = DictViews({name: views})
    return views


class Prepared:
    """Σ_m weights[c, m] K_m(x, X) @ coef[:, c] of every machine c, for new samples x; what `Gram.prepare` returns.

    Nothing is held until `kept` is asked for.
    """

    n_machines: int
    #: Bytes of tables and normals that are held.
    nbytes = 0
    #: Whether windows need not be cut out of a long sequence.
    slides = False

    def add(self, at: Views, out: np.ndarray, n_jobs: int = 1) -> None:
        """Add the values of every sample and machine to out, (n_samples, n_machines)."""
        raise NotImplementedError

    def slide(self, windows: Windows, machine: int, out: np.ndarray) -> None:
        """Add the values of one machine to out, (n_windows,); what does not slide is cut out."""
        for part in blocks(len(windows), CUT):
            some = windows.some(part)
            values = np.zeros((len(some), self.n_machines))
            self.add(some.views(), values)
            out[part] += values[:, machine]

    def get_ready(self, windows: Windows, machine: int, least: float | None = None) -> None:
        """Make what all threads that slide over these windows share, before any of them asks for it."""

    def may_reach(self, windows: Windows, machine: int, least: float) -> np.ndarray | None:
        """Return which windows may have a value of `least` or more, (n,), or None where to say so is no quicker."""
        return None

    def pays(self, n_queries: int) -> bool:
        """Say whether so many samples would have tables or normals built anyway, so that they may as well be kept."""
        return False

    def kept(self, budget: float) -> Prepared:
        """Return the same with all sums over the support done, which later samples only look up.

        Raises
        ------
        MemoryBudgetError
            Where tables would take more than `budget` bytes.
        """
        needed = self.table_bytes()
        if needed > budget:
            raise MemoryBudgetError(
                f"The tables of this model take about {readable(needed)}, the budget is {readable(budget)}. Raise "
                "memory=..., or go on without compile(): predictions are the same, with tables built anew for every "
                "call."
            )
        return self.summed()

    def table_bytes(self) -> int:
        """Return about how many bytes of tables `summed` would build."""
        return 0

    def summed(self) -> Prepared:
        """Return the same with all sums over the support done; itself where there are none to do."""
        return self


class PreparedGram(Prepared):
    """Terms that evaluate every new sample against the support.

    Parameters
    ----------
    gram : the terms on the support samples
    coef : array of shape (n, n_machines)
    weights : array of shape (1 or n_machines, n_terms)
        One row where the machines share their weights.
    """

    def __init__(self, gram: Gram, coef: np.ndarray, weights: np.ndarray) -> None:
        self.gram, self.coef, self.weights = gram, coef, weights
        self.n_machines = coef.shape[1]

    def add(self, at: Views, out: np.ndarray, n_jobs: int = 1) -> None:
        if len(self.weights) == 1:
            out += self.gram.apply(self.coef, self.weights[0], at)
            return
        rows, which = np.unique(self.weights, axis=0, return_inverse=True)
        if len(rows) > self.gram.n_terms:  # then every term is evaluated once, for all machines
            for m in np.flatnonzero(self.weights.any(axis=0)):
                out += self.gram.only([int(m)]).apply(self.coef * self.weights[:, m], np.ones(1), at)
            return
        for number, row in enumerate(rows):
            if row.any():
                own = np.flatnonzero(which.ravel() == number)
                out[:, own] += self.gram.apply(np.ascontiguousarray(self.coef[:, own]), row, at)


class PreparedTogether(Prepared):
    """The sum of several."""

    def __init__(self, parts: Sequence[Prepared], n_machines: int) -> None:
        self.parts, self.n_machines = list(parts), n_machines
        self.nbytes, self.slides = sum(part.nbytes for part in parts), any(part.slides for part in parts)

    def add(self, at: Views, out: np.ndarray, n_jobs: int = 1) -> None:
        for part in self.parts:
            part.add(at, out, n_jobs)

    def slide(self, windows: Windows, machine: int, out: np.ndarray) -> None:
        for part in self.parts:
            part.slide(windows, machine, out)

    def get_ready(self, windows: Windows, machine: int, least: float | None = None) -> None:
        for part in self.parts:
            part.get_ready(windows, machine, least if len(self.parts) == 1 else None)

    def may_reach(self, windows: Windows, machine: int, least: float) -> np.ndarray | None:
        return self.parts[0].may_reach(windows, machine, least) if len(self.parts) == 1 else None

    def table_bytes(self) -> int:
        return sum(part.table_bytes() for part in self.parts)

    def pays(self, n_queries: int) -> bool:
        return any(part.pays(n_queries) for part in self.parts)

    def summed(self) -> Prepared:
        return PreparedTogether([part.summed() for part in self.parts], self.n_machines)


class PreparedWords(PreparedGram):
    """Terms whose support can be added up."""

    def pays(self, n_queries: int) -> bool:
        return not are_few(self.gram.n, n_queries)


class PreparedPlacedWords(PreparedWords):
    """Terms of weighted degree kernels, to be added up in tables."""

    gram: LinaddGram

    def table_bytes(self) -> int:
        return sum(self.gram.table_bytes(family, column) for family in self.gram.families for column in self.coef.T)

    def summed(self) -> Prepared:
        rows, parts = np.broadcast_to(self.weights, (self.n_machines, self.gram.n_terms)), []
        for family in self.gram.families:
            chosen = rows[:, family.numbers]
            used = [c for c in range(self.n_machines) if chosen[c].any() and self.coef[:, c].any()]
            tables = {c: self.gram.tables(family, self.coef[:, c], chosen[c]) for c in used}
            parts.append(KeptTables(family, family.sequences(self.gram.X), tables, self.n_machines))
        return PreparedTogether(parts, self.n_machines)


class PreparedListedWords(PreparedWords):
    """Terms whose features are listed, to be added up to normals."""

    gram: FeatureGram

    def summed(self) -> Prepared:
        rows, parts = support_of(self.coef), []
        for m, one in enumerate(self.gram.maps):
            scales = self.weights[:, m, None] * self.gram.factors[m]
            if scales.any():
                normals = [normal * scales for _, normal in self.gram.normals(m, rows, self.coef[rows])]
                parts.append(KeptNormals(one, normals, self.n_machines))
        return PreparedTogether(parts, self.n_machines)


class KeptTables(Prepared):
    """The terms of one weighted degree kernel as one table per machine.

    Parameters
    ----------
    own : the sequences of the support, whose alphabet and length new ones must have
    tables : the tables of every machine that has any
    """

    def __init__(self, family: Family, own: SequenceSet, tables: dict[int, Tables], n_machines: int) -> None:
        self.family, self.own, self.tables, self.n_machines = family, own, tables, n_machines
        # windows would need a norm of their own each where it is not the same for all sequences of one length
        even = all(leaf.even_norm for norm in family.piece.norms for leaf in norm.kernel.leaves())
        self.slides = even and all(one.exact for one in tables.values())
        self.nbytes = sum(one.nbytes for one in tables.values())

    def add(self, at: Views, out: np.ndarray, n_jobs: int = 1) -> None:
        queries = self.family.sequences(at, like=self.own)
        same_length(queries, self.own)
        roots = self.family.roots(at)
        for c, tables in self.tables.items():
            values = tables.scores(queries, n_jobs)
            out[:, c] += values if roots is None else values * roots

    def get_ready(self, windows: Windows, machine: int, least: float | None = None) -> None:
        if self.slides:
            _ = windows.places
            if windows.along and machine in self.tables:
                tables = self.tables[machine]
                rare = least is not None and tables.is_rare(least / self._root(windows))
                _ = tables.bounds if rare else tables.rows

    def slide(self, windows: Windows, machine: int, out: np.ndarray) -> None:
        if not self.slides:
            super().slide(windows, machine, out)
            return
        known = windows.known
        if not known.all():
            for some, way in ((known, self.slide), (~known, super().slide)):
                values = np.zeros(int(np.count_nonzero(some)))
                way(windows.some(some), machine, values)
                out[some] += values
        elif machine in self.tables and len(windows):
            tables = self.tables[machine]
            slide = tables.slide_along if windows.along else tables.slide
            out += slide(windows.places, self._starts(windows)) * self._root(windows)

    def may_reach(self, windows: Windows, machine: int, least: float) -> np.ndarray | None:
        if not (self.slides and windows.along and machine in self.tables and len(windows)):
            return None
        tables, threshold = self.tables[machine], least / self._root(windows)
        if not tables.is_rare(threshold):
            return None
        known = windows.known
        found = np.ones(len(windows), bool)
        found[known] = tables.may_reach(windows.places, self._starts(windows)[known], threshold)
        return found

    def _starts(self, windows: Windows) -> np.ndarray:
        """Where the letters of every window begin that the tables know."""
        parts = [seen for seen in self.family.piece.path if isinstance(seen, Letters)]
        return windows.starts + sum(part.first(windows.length) for part in parts)

    def _root(self, windows: Windows) -> float:
        """What values of the tables are multiplied with: the same for all windows, which have the right length."""
        any_window = windows.as_samples(np.zeros((1, windows.length), np.uint8))
        same_length(self.family.sequences(any_window, like=self.own), self.own)
        roots = self.family.roots(any_window)
        return 1.0 if roots is None else float(roots[0])


class KeptNormals(Prepared):
    """One term with listed features: the normal of every machine, by group of features, its weights inside."""

    def __init__(self, features: FeatureMap, normals: list[np.ndarray], n_machines: int) -> None:
        self.features, self.normals, self.n_machines = features, normals, n_machines
        self.nbytes = sum(normal.nbytes for normal in normals)

    def add(self, at: Views, out: np.ndarray, n_jobs: int = 1) -> None:
        self.features.add_products(self.normals, at, 1.0, out, n_jobs)
