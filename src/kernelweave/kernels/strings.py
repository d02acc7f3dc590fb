"""`StringKernel`: what all kernels on sequences share, and the parts that some of them split into."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..categories import CATEGORIES
from ..errors import InputError
from ..views import Views
from .base import ATOM, ClearWrapper, Kernel, bracketed
from .normalized import Normalized
from .pieces import Piece, cosine, inverse_root
from .values import MAX_LETTERS, limited, shown

if TYPE_CHECKING:
    from ..sequences import Alphabet, SequenceSet


class StringKernel(Kernel):
    """A kernel on sequences of letters; every one is a dataclass whose last field is `alphabet`.

    Subclasses say `features`, the readable definition: k(x, y) = Σ value(x) · value(y) over the features that x and
    y share; and `compute` and `compute_diag`, its quick twins.
    """

    reads = "sequences"
    #: "dna", "rna", "protein", "bytes", "text", an `Alphabet`, or "auto" to guess it from the data.
    alphabet: str | Alphabet
    #: What the kernel can be split by, such as "degree".
    splits: tuple[str, ...] = ()

    def sequences(self, X: Views) -> SequenceSet:
        """Return the samples as packed letters; the view remembers them."""
        return X.sequences(self.alphabet)

    def pair(self, X: Views, Y: Views | None) -> tuple[SequenceSet, SequenceSet]:
        """Return the sequences of X and Y over one alphabet: Y's, which are those the machine was fitted on."""
        if Y is None:
            found = self.sequences(X)
            return found, found
        known = self.sequences(Y)
        return (self.sequences(X) if self.alphabet == CATEGORIES else X.sequences_like(known)), known

    def check(self, X: Views) -> None:
        self.sequences(X)

    def shortest_word(self) -> int:
        """Return the letters that a sequence must have at the least, for anything to be found in it."""
        return 1

    def features(self, sequence: str) -> Iterator[tuple[int, Hashable, float]]:
        """Yield (term, feature, value) of one sequence, as the kernel is defined.

        A feature may come repeatedly: its values add up. `term` is 0 for kernels that are one term.
        """
        raise NotImplementedError

    def letters(self, sequence: str) -> tuple[np.ndarray, Alphabet]:
        """Return the codes of one sequence, and the alphabet that they are of."""
        from ..sequences import as_sequences

        found = as_sequences([sequence], self.alphabet)
        return found.codes(0), found.alphabet

    def words(self, sequence: str, k: int) -> Iterator[tuple[int, str]]:
        """Yield (position, k-mer) for every k-mer without unknown letters."""
        codes, alphabet = self.letters(sequence)
        for i in range(len(codes) - k + 1):
            if (codes[i : i + k] < alphabet.size).all():
                yield i, alphabet.decode(codes[i : i + k])

    # -- parts -------------------------------------------------------------------------------------------------------

    def split(self, *by: str) -> Kernel:
        wrong = [name for name in by if name not in self.splits] or len(set(by)) < len(by)
        if not self.splits or not by or wrong:
            can = " or ".join(repr(name) for name in self.splits)
            hint = f"split it by {can}" if can else "it has no parts; use a sum of several kernels instead"
            raise InputError(f"{type(self).__name__} cannot be split by {', '.join(map(repr, by))}: {hint}.")
        return Split(self, tuple(by))

    def choices(self, X: Views, by: tuple[str, ...]) -> Iterator[dict[str, int]]:
        """Yield what `only` takes for every part, in order."""
        raise NotImplementedError

    def compute_part(self, X: Views, Y: Views | None, **chosen: int | None) -> np.ndarray:
        """Return the matrix of one part."""
        raise NotImplementedError

    def part_diag(self, X: Views, **chosen: int | None) -> np.ndarray:
        """Return the diagonal of one part."""
        raise NotImplementedError

    def only(self, degree: int | None = None, position: int | None = None) -> Kernel:
        """Return one part of the kernel: the words of one length, or from one position, or both."""
        return Only(self, degree, position)


def _core(kernel: Kernel) -> StringKernel:
    """Return the string kernel inside, with or without normalisation."""
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    if not isinstance(inner, StringKernel) or not inner.splits:
        raise InputError(f"{kernel!r} has no parts; only a string kernel such as WeightedDegree is split.")
    return inner


@dataclass(eq=False, repr=False)
class Split(ClearWrapper):
    """A kernel seen as the sum of its parts: each is a term with a weight of its own.

    Parts of a normalised kernel are divided by the norms of the whole, so that they add up to it.
    """

    kernel: Kernel
    by: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _core(self.kernel)

    def terms(self, X: Views) -> tuple[Kernel, ...]:
        choices = _core(self.kernel).choices(X, self.by)
        return limited(
            (Only(self.kernel, chosen.get("degree"), chosen.get("position")) for chosen in choices), repr(self)
        )

    def normalized(self) -> Kernel:
        inner = f"{bracketed(self.kernel, ATOM)}.normalized().split({self._names()})"
        raise InputError(f"Normalise first and split then, so that the parts add up to the whole: {inner}.")

    def _names(self) -> str:
        return ", ".join(map(repr, self.by))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{bracketed(self.kernel, ATOM)}.split({self._names()})"


@dataclass(eq=False, repr=False)
class Only(ClearWrapper):
    """One part of a kernel: words of one degree, or from one position on, or both.

    The part of a normalised kernel is divided by the norms of the whole: part(x, y) / √(k(x, x) k(y, y)).
    """

    kernel: Kernel
    degree: int | None = None
    position: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _core(self.kernel)
        for name, value in self.chosen.items():
            if value is not None and (not isinstance(value, (int, np.integer)) or isinstance(value, bool)):
                raise InputError(f"A part is chosen by a whole number {name}; got {shown(value)}.")

    @property
    def chosen(self) -> dict[str, int | None]:
        """What is chosen, as `compute_part` takes it."""
        return {"degree": self.degree, "position": self.position}

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        return self.kernel.walk(replace(outer, degree=self.degree, position=self.position), X)

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        core = _core(self.kernel)
        part = core.compute_part(X, Y, **self.chosen)
        return part if core is self.kernel else cosine(part, core, X, Y)

    def compute_diag(self, X: Views) -> np.ndarray:
        core = _core(self.kernel)
        part = core.part_diag(X, **self.chosen)
        return part if core is self.kernel else part * inverse_root(core.compute_diag(X)) ** 2

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.chosen.items() if value is not None)
        return f"{bracketed(self.kernel, ATOM)}.only({shown})"


def whole_number(kernel: Any, name: str, least: int = 1, most: int = MAX_LETTERS) -> int:
    """Return a parameter that must be a whole number from `least` to `most`, or say what it should be."""
    value = getattr(kernel, name)
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InputError(f"{type(kernel).__name__} needs a whole number {name} ≥ {least}; got {shown(value)}.")
    if value > most:
        raise InputError(f"{type(kernel).__name__} takes {name} up to {most:,}; got {shown(value)}.")
    return int(value)
