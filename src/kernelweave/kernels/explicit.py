"""String kernels whose features can be listed: what they share, and the check of their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..views import Views
from .sparse_rows import Rows, add_products
from .strings import StringKernel
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from ..sequences import Alphabet, SequenceSet

VALUES = ("count", "binary", "frequency")


class ExplicitKernel(StringKernel):
    """k(x, y) = Σ_parts weight Σ_u φ_u(x) φ_u(y), with sparse vectors φ of counts; subclasses say `parts`.

    Bound to data, the features themselves are kept and no matrix is formed: see `gram.FeatureGram`.
    """

    gram_kind = "features"
    word_kind = "free"

    def parts(self, alphabet: Alphabet, degree: int | None = None) -> list[tuple[float, Vocabulary]]:
        """Return (weight, fresh vocabulary) of every group of features; of one length only where `degree` is given."""
        raise NotImplementedError

    #: True where words weigh more at some places of a sequence than at others.
    weighs_places = False

    def place_weights(self, places: np.ndarray, n_places: np.ndarray) -> np.ndarray | None:
        """Return w of words at these places, of so many in their sequence; None where all weigh 1."""
        return None

    def finish(self, rows: Rows) -> Rows:
        """Turn counts into the kernel's values."""
        return rows.valued(getattr(self, "values", "count"))

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        return self.compute_part(X, Y)

    def compute_diag(self, X: Views) -> np.ndarray:
        return self.part_diag(X)

    def compute_part(self, X: Views, Y: Views | None, **chosen: int | None) -> np.ndarray:
        at, known = self.pair(X, Y)
        out = np.zeros((len(at), len(known)))
        for weight, vocabulary in self.parts(known.alphabet, chosen.get("degree")):  # only its features are held
            B = self.finish(vocabulary.fit(known))
            A = B if Y is None else self.finish(vocabulary.map(at))
            add_products(A, B, out, factor=weight)
        return out

    def part_diag(self, X: Views, **chosen: int | None) -> np.ndarray:
        sequences: SequenceSet = self.sequences(X)
        out = np.zeros(len(sequences))
        for weight, vocabulary in self.parts(sequences.alphabet, chosen.get("degree")):
            out += weight * self.finish(vocabulary.fit(sequences)).diag
        return out


def single_letters(word: str, alphabet: Alphabet) -> str:
    """Return a word with one character per letter: the letters of Unicode text are the bytes of its UTF-8."""
    return word.encode(alphabet.encoding, "surrogateescape").decode("latin-1")


def flipped(word: str, alphabet: Alphabet) -> str:
    """Return the reverse complement of a word."""
    return "".join(alphabet.letters[alphabet.complement_table[alphabet.letters.index(c)]] for c in reversed(word))


def check_values(kernel: Any) -> None:
    """Complain where `values` is not one of the ways to count."""
    if kernel.values not in VALUES:
        raise InputError(f"{type(kernel).__name__} has values={kernel.values!r}; choose one of {', '.join(VALUES)}.")


def check_key(kernel: Any, k: int, alphabet: Alphabet, why: str) -> int:
    """Return the bits of k letters, or say how many letters fit into 64 bits."""
    if k * alphabet.bits > 64:
        raise InputError(
            f"{type(kernel).__name__} {why} takes at most {64 // alphabet.bits} letters of the {alphabet.name} "
            f"alphabet, {alphabet.bits} bits each; got {k}."
        )
    return k * alphabet.bits
