"""A fitted model moved along sequences: which windows are scored, and where they lie."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..cluster import Job, current_engine, run_jobs
from ..errors import DataWarning, InputError
from ..estimators.fitted import FittedModel, steps_of
from ..gram.prepared import holding_unknown
from ..io.intervals import as_regions
from ..io.records import Fragment
from ..parallel import blas_threads, count_jobs
from ..sequences.rules import letter_error
from .sliding import WindowModel
from .sources import FileSource, SetSource, open_source

#: Letters that are read and scored at a time.
BLOCK = 1 << 20
#: Blocks that an engine scores in one round, for each of its threads.
BLOCKS_EACH = 4
STRANDS = {"both": "+-", "+": "+", "-": "-"}


@dataclass(frozen=True)
class Hits:
    """Scored windows of one sequence, by rising start; on the forward strand, from 0 on, the end not included."""

    name: str
    starts: np.ndarray
    ends: np.ndarray
    #: "+", or "-" where the reverse complement of the window was scored.
    strands: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)


@dataclass
class Progress:
    """How far a scan is: what a callback is told after every block."""

    #: The sequence in hand.
    name: str = ""
    n_sequences: int = 0
    n_letters: int = 0
    #: Windows that were scored, how many of them hold unknown letters, and how many were reported.
    n_windows: int = 0
    n_unknown: int = 0
    n_hits: int = 0
    #: Sequences shorter than a window.
    n_short: int = 0
    #: Share of the file that was read, or None for a pipe.
    fraction: float | None = None


class _Stretch(NamedTuple):
    """Letters of one record that lie together: as codes, and where the first of them stands in the record."""

    name: str
    start: int
    codes: np.ndarray


class Scanner:
    """A fitted model, ready to be moved along sequences.

    Parameters
    ----------
    model : fitted estimator
        Of one view of sequences; with more than two classes, say which by `label`.
    at : str or None
        Score only windows that show this word at `anchor`, such as "AG".
    anchor : int or None
        Where the word stands in a window, from 0 on; None for the one place where all support sequences have it.
    strands : {"both", "+", "-"}
    threshold : float or None
        Report only scores of at least this.
    regions : path of a BED file, (sequence, start, end) triples, or None
        Score only windows inside of these.
    unknown : {"score", "skip"}
        Windows with N: score what is known of them, as `decision_function` does, or leave them out.
    window : int or None
        Letters of a window, for models of sequences of different lengths.
    label : class label or None
    n_jobs : int or None
        Threads.
    block : int
        Letters that are read and scored at a time; memory is about 60 bytes for each.
    """

    def __init__(
        self,
        model: Any,
        *,
        at: str | None = None,
        anchor: int | None = None,
        strands: str = "both",
        threshold: float | None = None,
        regions: Any = None,
        unknown: str = "score",
        window: int | None = None,
        label: Any = None,
        n_jobs: int | None = 1,
        block: int = BLOCK,
    ) -> None:
        *before, machine = steps_of(model)
        if before:
            raise InputError(
                f"A scan reads sequences as they are, and this pipeline changes them first by {before[0]!r}. Fit a "
                "model on the sequences themselves."
            )
        fitted: FittedModel = machine.fitted_
        if strands not in STRANDS:
            raise InputError(f"strands must be one of {', '.join(map(repr, STRANDS))}; got {strands!r}.")
        if unknown not in ("score", "skip"):
            raise InputError(f"unknown must be 'score' or 'skip'; got {unknown!r}.")
        if block < 1:
            raise InputError(f"block must be a number of letters ≥ 1; got {block!r}.")
        self.n_jobs = count_jobs(n_jobs)
        self.windows = WindowModel(fitted, window, machine_of(fitted, label), self.n_jobs)
        self.threshold, self.skip_unknown, self.block = threshold, unknown == "skip", block
        self.strands, self.regions = STRANDS[strands], as_regions(regions)
        #: What another process makes the same scanner of, with one thread.
        self.model, self.options = machine, dict[str, Any](at=at, anchor=anchor, strands=strands, threshold=threshold)
        self.options |= {"regions": self.regions, "unknown": unknown, "window": window, "label": label}
        if "-" in self.strands:
            _ = self.windows.alphabet.complement_table  # which says where there is no other strand
        self.word = None if at is None else self._word(at)
        self.anchor = None if self.word is None else self._anchor(self.word, at, anchor)
        self.progress = Progress()
        self._seeds: np.random.Generator | None = None

    @property
    def window(self) -> int:
        """Letters of a window."""
        return self.windows.window

    def _word(self, at: str) -> np.ndarray:
        alphabet = self.windows.alphabet
        codes = alphabet.table[np.frombuffer(at.encode(alphabet.encoding), np.uint8)]
        if not len(codes) or (codes >= alphabet.size).any():
            raise InputError(f"at must be a word of the {alphabet.name} alphabet, such as 'AG'; got {at!r}.")
        return codes

    def _anchor(self, word: np.ndarray, at: Any, anchor: int | None) -> int:
        last = self.window - len(word)
        if anchor is not None:
            if 0 <= anchor <= last:
                return int(anchor)
            raise InputError(f"anchor must be from 0 to {last}, so that {at!r} fits into the window; got {anchor!r}.")
        support = self.windows.support
        if support.length != self.window:
            raise InputError(f"Say where in a window {at!r} stands: anchor=...")
        codes = support.as_matrix()
        shares = np.array([(codes[:, i : i + len(word)] == word).all(axis=1).mean() for i in range(last + 1)])
        found = np.flatnonzero(shares == 1.0)
        if len(found) == 1:
            return int(found[0])
        raise InputError(
            f"All support sequences have {at!r} at the positions {found.tolist()}; choose one with anchor=..."
            if len(found)
            else f"Support sequences do not all have {at!r} in one place (most often at {shares.argmax()}, in "
            f"{shares.max():.0%} of them); say where it stands in a window: anchor=..."
        )

    # -- a file ------------------------------------------------------------------------------------------------------

    def blocks(self, path: Any, skip: int = 0, shuffle: int | None = None) -> Iterator[tuple[list[Hits], int | None]]:
        """Yield hits, block by block, and the number of records so far where a block ends with a whole one.

        The first `skip` records are left out. With a number in `shuffle`, letters come in a random order that begins
        with it, and keeps pairs of neighbours.
        """
        self.progress, self._seeds = Progress(), None if shuffle is None else np.random.default_rng(shuffle)
        names, missing = _Names(), set(self.regions.names if self.regions else ())
        with open_source(path) as source, blas_threads(self.n_jobs):
            for found, finished in self._scored(self._stretches(source, names, skip)):
                missing -= {hits.name for hits in found}
                hits = [one for one in found if len(one)]
                self.progress.n_hits += sum(map(len, hits))
                self.progress.fraction = source.fraction
                yield hits, finished
        names.warn(source.name)
        if missing and not skip:
            shown = ", ".join(sorted(missing)[:5])
            warnings.warn(f"{source.name} has no sequence {shown}, which regions name.", DataWarning, stacklevel=3)

    def _scored(self, read: Iterator[tuple[list[_Stretch], int | None]]) -> Iterator[tuple[list[Hits], int | None]]:
        """Yield the hits of blocks in their order: scored here, or several at a time by the engine in use."""
        engine = current_engine()
        if engine is None:
            for stretches, finished in read:
                yield self.score(stretches), finished
            return
        work = BlockJob(self.model, self.options)
        while blocks := list(islice(read, BLOCKS_EACH * engine.n_threads)):
            jobs = [Job(f"the block from {_place(stretches)} on", stretches) for stretches, _ in blocks]
            for (hits, counted), (_, finished) in zip(run_jobs(work, jobs, engine=engine), blocks, strict=True):
                self.progress.n_windows += counted.n_windows
                self.progress.n_unknown += counted.n_unknown
                yield hits, finished

    def _stretches(
        self, source: FileSource | SetSource, names: _Names, skip: int
    ) -> Iterator[tuple[list[_Stretch], int | None]]:
        """Yield stretches of about a block together, and the number of records where they end with a whole one."""
        held: list[_Stretch] = []
        tail, n_held, record, length = np.empty(0, np.uint8), 0, -1, self.window
        name, is_cut = "", False
        for piece in source.fragments(self.block):
            if piece.record != record:
                self.progress.n_short += length < self.window
                if n_held >= self.block or is_cut:
                    yield held, piece.record
                    held, n_held, is_cut = [], 0, False
                record, tail, length = piece.record, tail[:0], 0
                name = names.new(piece.id or f"record_{record + 1}")
                self.progress.name, self.progress.n_sequences = name, record + 1
            elif n_held >= self.block:
                yield held, None
                held, n_held, is_cut = [], 0, True
            if record < skip:
                length = self.window
                continue
            codes = np.concatenate((tail, self._codes(piece, source.name)))
            held.append(_Stretch(name, piece.start - len(tail), codes))
            self.progress.n_letters += len(piece.text)
            n_held, length = n_held + len(piece.text), length + len(piece.text)
            tail = codes[max(0, len(codes) - self.window + 1) :]
        self.progress.n_short += length < self.window
        yield held, record + 1

    def _codes(self, piece: Fragment, source: str) -> np.ndarray:
        """The letters of a piece as codes; a letter that may not be there is an error, as everywhere."""
        from .._fast.packing import histogram, translate

        alphabet, codes = self.windows.alphabet, np.empty(len(piece.text), np.uint8)
        translate(piece.text, alphabet.table, codes)
        counts, bad = histogram(piece.text), ~alphabet.allowed_bytes
        if alphabet.size < 256 and counts[bad].any():
            borders = np.array([-piece.start, len(piece.text)])
            where = f"{source}: record {piece.record + 1} ({piece.id!r})"
            raise letter_error(alphabet, counts, bad, piece.text, borders, lambda _: where)
        if self._seeds is not None:
            from .._fast.shuffle import shuffle_pairs

            shuffle_pairs(codes, alphabet.size, self._seeds.integers(2**63, dtype=np.uint64))
        return codes

    # -- a block -----------------------------------------------------------------------------------------------------

    def score(self, stretches: list[_Stretch]) -> list[Hits]:
        """Return the hits of every stretch."""
        lengths = np.array([len(stretch.codes) for stretch in stretches], dtype=np.int64)
        offsets = np.append(0, np.cumsum(lengths))
        starts = [self._inside(s, int(o)) for s, o in zip(stretches, offsets[:-1], strict=True)]
        codes = np.concatenate([stretch.codes for stretch in stretches]) if stretches else np.empty(0, np.uint8)
        chosen = np.concatenate(starts) if starts else np.empty(0, np.int64)
        parts = [self._strand(codes, chosen, strand) for strand in self.strands]
        places, strands, scores = _merged(parts, list(self.strands))
        cuts = np.searchsorted(places, offsets)
        return [
            self._hits(stretch, places[a:b] - o, strands[a:b], scores[a:b])
            for stretch, o, a, b in zip(stretches, offsets[:-1], cuts[:-1], cuts[1:], strict=True)
        ]

    def _hits(self, stretch: _Stretch, places: np.ndarray, strands: np.ndarray, scores: np.ndarray) -> Hits:
        starts = places + stretch.start
        return Hits(stretch.name, starts, starts + self.window, strands, scores)

    def _inside(self, stretch: _Stretch, offset: int) -> np.ndarray:
        """Where windows start that lie in the stretch and in the regions."""
        starts = np.arange(max(0, len(stretch.codes) - self.window + 1), dtype=np.int64)
        if self.regions is not None:
            starts = starts[self.regions.inside(stretch.name, starts + stretch.start, self.window)]
        return starts + offset

    def _strand(self, codes: np.ndarray, starts: np.ndarray, strand: str) -> tuple[np.ndarray, np.ndarray]:
        """The starts, on the forward strand, and scores of the windows of one strand that are to be reported."""
        end = len(codes) - self.window
        if strand == "-":  # the mirror image of the letters: a window from s on is one from end − s on
            codes, starts = self.windows.alphabet.complement_table[codes[::-1]], end - starts[::-1]
        if self.word is not None and self.anchor is not None:
            for i, letter in enumerate(self.word, self.anchor):
                starts = starts[codes[starts + i] == letter]
        doubtful = holding_unknown(codes, starts, self.window, self.windows.alphabet)
        self.progress.n_unknown += int(np.count_nonzero(doubtful))
        if self.skip_unknown:
            starts = starts[~doubtful]
        self.progress.n_windows += len(starts)
        scores = self.windows.scores(codes, starts, along=self.word is None, threshold=self.threshold)
        if self.threshold is not None:
            kept = scores >= self.threshold
            starts, scores = starts[kept], scores[kept]
        return (end - starts[::-1], scores[::-1]) if strand == "-" else (starts, scores)


def _merged(
    parts: list[tuple[np.ndarray, np.ndarray]], strands: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, strands and scores of all windows by rising place, from places and scores of every strand."""
    first, *others = [places for places, _ in parts]
    if all(np.array_equal(first, places) for places in others):  # nothing was left out, so nothing is to be sorted
        scores = np.stack([values for _, values in parts], axis=1).ravel()
        return np.repeat(first, len(parts)), np.tile(strands, len(first)), scores
    places = np.concatenate([first, *others])
    order = np.argsort(places, kind="stable")
    named = np.repeat(strands, [len(where) for where, _ in parts])[order]
    return places[order], named, np.concatenate([values for _, values in parts])[order]


@dataclass(frozen=True)
class BlockJob:
    """The job of scoring one block, which travels with it; every worker makes a scanner of the model once."""

    model: Any
    options: dict[str, Any]
    #: What was made of them; it never travels.
    made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, stretches: list[_Stretch]) -> tuple[list[Hits], Progress]:
        with self.made.setdefault("lock", threading.Lock()):
            if "scanner" not in self.made:
                self.made["scanner"] = Scanner(self.model, **self.options)
        scanner = copy(self.made["scanner"])
        scanner.progress = Progress()  # what this block adds
        return scanner.score(stretches), scanner.progress

    def __reduce__(self) -> tuple:
        return BlockJob, (self.model, self.options)


def _place(stretches: list[_Stretch]) -> str:
    return f"{stretches[0].name}:{stretches[0].start + 1}" if stretches else "the end"


class _Names:
    """Ids made unique as they come: a second "a" becomes "a_2"."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._repeated = 0

    def new(self, name: str) -> str:
        count = self._seen.get(name, 0) + 1
        self._seen[name] = count
        self._repeated += count > 1
        return name if count == 1 else f"{name}_{count}"

    def warn(self, source: str) -> None:
        if self._repeated:
            warnings.warn(
                f"{self._repeated} ids of {source} repeat an earlier one; they are numbered in the output.",
                DataWarning,
                stacklevel=4,
            )


def machine_of(fitted: FittedModel, label: Any) -> int:
    """Return the column of the decision values that belongs to a class."""
    if fitted.n_machines == 1:
        if label is not None:
            raise InputError(f"The model has one decision value, so there is no label to choose; got {label!r}.")
        return 0
    classes = [] if fitted.classes is None else fitted.classes.tolist()
    found = np.flatnonzero([one == label for one in classes])
    if not len(found):
        raise InputError(f"The model has one decision value per class; say which: label= one of {classes}.")
    return int(found[0])
