"""What is good to know of the samples that were read: short sequences, U for T, and samples of the training."""

from __future__ import annotations

from typing import Any

from .console import count


class SampleNotes:
    """Counts over all blocks of some samples."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._n = 0
        #: Sequences without a word of some kernel, by the text of that kernel and the letters it needs.
        self._short: dict[tuple[str, int], int] = {}
        #: Samples of a category that the model has never met, by column.
        self._unseen: dict[str, int] = {}
        #: Letters that were read as another one, by that one.
        self._swapped: dict[str, int] = {}

    def add(self, X: Any) -> None:
        """Count one block of samples, as the kernel reads them."""
        from ..io.support import requests_of
        from ..views import as_views

        views = as_views(X)
        self._n += len(views)
        counted: dict[int, Any] = {}
        done = set()
        for path, leaf in requests_of(self._kernel, views):
            if leaf.reads != "sequences" or (repr(path), repr(leaf)) in done:
                continue
            done.add((repr(path), repr(leaf)))
            found = views.through(path).sequences(leaf.alphabet)
            if hasattr(leaf, "unseen") and (n := leaf.unseen(views.through(path))):
                column = repr(path[-1]) if path else "X"
                self._unseen[column] = self._unseen.get(column, 0) + n
            needed = leaf.shortest_word()
            if needed > 1 and (n := int((found.lengths < needed).sum())):
                key = (repr(leaf), needed)
                self._short[key] = self._short.get(key, 0) + n
            counted[id(found)] = found
        for found in counted.values():
            if found.notes.n_u:
                now = "U" if found.alphabet.name == "rna" else "T"
                self._swapped[now] = self._swapped.get(now, 0) + found.notes.n_u

    def said(self) -> list[str]:
        """Return what there is to say, a line each."""
        lines = [
            f"{n:,} of {count(self._n, 'sequence')} {'is' if n == 1 else 'are'} shorter than the {needed} letters that "
            f"{text} reads at a time, and {'has' if n == 1 else 'have'} no features in it; --min-length {needed} "
            "--on-short skip leaves such sequences out."
            for (text, needed), n in self._short.items()
        ]
        lines += [
            f"{count(n, 'sample')} {'has' if n == 1 else 'have'} a category in {column} that no training sample had: "
            "unlike all of them, as far as that column goes."
            for column, n in self._unseen.items()
        ]
        other = {"T": "U", "U": "T"}
        return lines + [f"{other[now]} was read as {now} in {count(n, 'letter')}." for now, n in self._swapped.items()]


class Seen:
    """How many samples a model was trained on, over all blocks."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.n = self.n_seen = self._n_looked_up = 0
        self.known = True

    def add(self, X: Any) -> None:
        """Look one block of samples up."""
        from ..estimators.trained import overlap
        from ..views import as_views

        views = as_views(X)
        found = overlap(self._model, views)
        self.n += len(views)
        self.known = self.known and found is not None
        if found is not None:
            self.n_seen += int(found.seen.sum())
            self._n_looked_up += int((found.seen | found.unseen).sum())

    def said(self) -> str | None:
        """Return what there is to say; None where no sample was trained on."""
        from ..report.trained import not_known, repeated

        if not self.known:
            return not_known(self._model)
        return repeated(self.n, self.n_seen, self._n_looked_up)
