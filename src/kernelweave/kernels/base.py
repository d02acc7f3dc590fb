"""`Kernel`: a value that says what is similar, and the algebra that joins kernels."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

import numpy as np

from ..errors import InputError
from ..matrices import are_rows
from ..views import Columns, Path, Views, as_views
from .embedding import Embeddable
from .kinds import joint_kind
from .pieces import Piece
from .value import Value
from .values import limited, real_number, shown, typed

#: How tightly an expression binds, for printing with the fewest parentheses.
SUM, PRODUCT, ATOM = 1, 2, 3


class Kernel(Embeddable, Value):
    """A similarity of two samples: symmetric and positive semi-definite.

    Subclasses are dataclasses that say `compute` (and, where it is cheaper than the
    matrix, `compute_diag`). Kernels add and multiply: the top-level summands of an
    expression are the terms whose weights are learned.
    """

    #: What the kernel reads: "numbers", "ids", "sequences" or "anything".
    reads = "anything"
    #: True where `compute(X, None)` hands out a matrix that already exists.
    stored = False
    #: How `bind` may keep the kernel without its matrix: "linadd", "features", "vectors", or one of `kinds`;
    #: "dense" where it may not.
    gram_kind = "dense"
    #: True where a class is positive semi-definite by construction; others, subclasses too, are tried on the data.
    definite = False
    #: How its words count: "placed", at their places only; "free", wherever they lie; None where it has none.
    word_kind: str | None = None
    #: True where k(x, x) is the same for all sequences of one length without unknown letters.
    even_norm = False
    #: True where new samples are like none of the training samples.
    training_only = False
    #: False where the printed form does not say all that the kernel does, as for a function of a user's own.
    says_all = True
    #: True where a width is still to be learned.
    learns_width = False
    #: True where a rule for missing views goes to the kernels inside.
    passes_rule = False
    #: What it keeps of the training samples beside its text: "references" or "words"; see `states`.
    keeps: str | None = None
    #: What else the kernels inside are seen through.
    inner_path: Path = ()
    _binds = ATOM

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        """Return the matrix k(X_i, Y_j); Y = X where None. Not to be written to."""
        raise NotImplementedError

    def compute_diag(self, X: Views) -> np.ndarray:
        """Return k(X_i, X_i)."""
        step = 256
        parts = [X.rows(np.arange(s, min(s + step, len(X)))) for s in range(0, len(X), step)]
        return np.concatenate([np.diagonal(self.compute(part, None)) for part in parts] or [np.empty(0)])

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the matrix of k between the samples of X and of Y (Y = X where None); of two rows, one number."""
        if are_rows(X, Y) and all(leaf.reads == "numbers" for leaf in self.leaves()):
            return self.compute(as_views(X[None]), as_views(Y[None]))[0, 0]
        return self.compute(as_views(X), None if Y is None else as_views(Y))

    def diag(self, X: Any) -> np.ndarray:
        """Return k(X_i, X_i), without the rest of the matrix."""
        return self.compute_diag(as_views(X))

    def check(self, X: Views) -> None:
        """Raise `InputError` where these samples are not what the kernel reads; converts them where it must."""

    def view(self, X: Views) -> Views:
        """Return the part of X that the kernel reads: all that its values depend on."""
        return X

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        """Return this kernel with all that it takes from samples that count so much each; itself where that is nothing.

        An estimator asks once, before anything is bound. What comes back prints what was learned, and learns no more.
        """
        return self

    def terms(self, X: Views) -> tuple[Kernel, ...]:
        """Return the summands whose weights are learned; data may be needed to count them."""
        return (self,)

    @property
    def matrices(self) -> dict[str, Any]:
        """The matrices that were given, by the names under which they print."""
        return {}

    def terms_on(self, columns: Columns, X: Views) -> tuple[Kernel, ...]:
        """Return the terms of this kernel on some columns of X."""
        inner = self.terms(X.select(columns))
        return (On(self, columns),) if inner == (self,) else tuple(term.on(columns) for term in inner)

    @property
    def inside(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return ()

    @property
    def takes_gaps(self) -> bool:
        """Whether some of the numbers may be missing."""
        return any(kernel.takes_gaps for kernel in self.inside)

    def seen(self, X: Views) -> Views:
        """Return the samples as the kernels inside see them."""
        return X

    def leaves(self) -> Iterator[Kernel]:
        """Yield the kernels at the ends of the expression."""
        left: list[Kernel] = [self]
        while left:  # several times as fast as generators inside of each other
            left += (kernel := left.pop()).inside[::-1]
            if not kernel.inside:
                yield kernel

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        """Yield the pieces that the kernel is the sum of, inside of what is around it; see `pieces`."""
        yield replace(outer, core=self)

    def on(self, columns: Columns) -> Kernel:
        """Return this kernel seen through some columns or one view only."""
        return On(self, columns)

    def part(self, start: int = 0, stop: int | None = None) -> Kernel:
        """Return this kernel seen on ``sequence[start:stop]`` only: numbers below 0 count from the end."""
        from .parts import Part

        return Part(self, start, stop)

    def normalized(self) -> Kernel:
        """Return the cosine of this kernel: k(x, y) / √(k(x, x) k(y, y))."""
        from .normalized import Normalized

        return Normalized(self)

    def standardized(self, *how: Any, **more: Any) -> Kernel:
        """Return this kernel on columns in units of their own spread; parameters are those of `Standardized`."""
        from .standardized import Standardized

        return Standardized(self, *how, **more)

    def if_missing(self, rule: str = "expected") -> Kernel:
        """Return this kernel with a rule for samples that lack what it reads; see `IfMissing`."""
        from .if_missing import with_rule

        return with_rule(self, rule)

    def split(self, *by: str) -> Kernel:
        """Return this kernel as the sum of its parts, each a term: by "degree", by "position", or by both."""
        raise InputError(f"{self!r} has no parts to split into; only string kernels such as WeightedDegree have.")

    def __add__(self, other: Any) -> Kernel:
        return add_all([self, other]) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return self if isinstance(other, numbers.Real) and other == 0 else NotImplemented  # so that sum([...]) works

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, numbers.Real):
            return self.__rmul__(other)
        if not isinstance(other, Kernel):
            return NotImplemented
        return Product(_flat(Product, [self, other]))

    def __rmul__(self, other: Any) -> Kernel:
        if not isinstance(other, numbers.Real):
            return NotImplemented
        scale = real_number(other)
        return Scaled(scale * self.scale, self.kernel) if isinstance(self, Scaled) else Scaled(scale, self)


class _Several(Kernel):
    """Kernels side by side."""

    kernels: tuple[Kernel, ...]
    passes_rule = True

    @property
    def inside(self) -> tuple[Kernel, ...]:
        return self.kernels

    def check(self, X: Views) -> None:
        for kernel in self.kernels:
            kernel.check(X)

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        found = [kernel.learned(X, share) for kernel in self.kernels]
        return self if all(map(is_, found, self.kernels)) else type(self)(_flat(type(self), found))

    def standardized(self, *how: Any, **more: Any) -> Kernel:
        return type(self)(tuple(kernel.standardized(*how, **more) for kernel in self.kernels))


@dataclass(eq=False, repr=False)
class Sum(_Several):
    """k = Σ k_m; at the top of an expression, the k_m are the terms."""

    kernels: tuple[Kernel, ...]
    _binds = SUM

    @property
    def gram_kind(self) -> str:  # type: ignore[override]
        return joint_kind([kernel.gram_kind for kernel in self.kernels])

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        total = np.array(self.kernels[0].compute(X, Y), dtype=np.float64)
        for kernel in self.kernels[1:]:
            total += kernel.compute(X, Y)
        return total

    def compute_diag(self, X: Views) -> np.ndarray:
        return np.sum([kernel.compute_diag(X) for kernel in self.kernels], axis=0)

    def terms(self, X: Views) -> tuple[Kernel, ...]:
        return limited((term for kernel in self.kernels for term in kernel.terms(X)), "The kernel")

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        return (piece for kernel in self.kernels for piece in kernel.walk(outer, X))

    def on(self, columns: Columns) -> Kernel:
        """Return the sum of every summand on those columns, still as separate terms."""
        return Sum(tuple(kernel.on(columns) for kernel in self.kernels))

    def part(self, start: int = 0, stop: int | None = None) -> Kernel:
        """Return the sum of every summand on those letters, still as separate terms."""
        return Sum(tuple(kernel.part(start, stop) for kernel in self.kernels))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return " + ".join(bracketed(kernel, SUM) for kernel in self.kernels)


@dataclass(eq=False, repr=False)
class Product(_Several):
    """k = Π k_m: similar only where all factors agree."""

    kernels: tuple[Kernel, ...]
    _binds = PRODUCT

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        total = np.array(self.kernels[0].compute(X, Y), dtype=np.float64)
        for kernel in self.kernels[1:]:
            with np.errstate(over="ignore", invalid="ignore"):  # reported, with the term's name, by the gram
                total *= kernel.compute(X, Y)
        return total

    def compute_diag(self, X: Views) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.prod([kernel.compute_diag(X) for kernel in self.kernels], axis=0)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        first, *rest = self.kernels
        return " * ".join([bracketed(first, PRODUCT)] + [bracketed(kernel, ATOM) for kernel in rest])


class Wrapper(Kernel):
    """One kernel inside another; says nothing of its own.

    A subclass is bound by its matrix, and is one piece. Where it is a sum of pieces of the kernel inside, and can do
    without a matrix as that can, it derives from `ClearWrapper` and says how in `walk`.
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"{type(self).__name__} is made of a kernel; got {self.kernel!r}.")

    @property
    def reads(self) -> str:  # type: ignore[override]
        return self.kernel.reads

    @property
    def inside(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def around(self, kernel: Kernel) -> Kernel:
        """Return the same around another kernel."""
        return self if kernel is self.kernel else replace(self, kernel=kernel)

    def check(self, X: Views) -> None:
        self.kernel.check(self.seen(X))

    def view(self, X: Views) -> Views:
        return self.kernel.view(self.seen(X))

    def learned(self, X: Views, share: np.ndarray | None = None) -> Kernel:
        return self.around(self.kernel.learned(self.seen(X), share))

    def standardized(self, *how: Any, **more: Any) -> Kernel:
        return self.around(self.kernel.standardized(*how, **more))

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        return self.kernel.compute(self.seen(X), None if Y is None else self.seen(Y))

    def compute_diag(self, X: Views) -> np.ndarray:
        return self.kernel.compute_diag(self.seen(X))


class ClearWrapper(Wrapper):
    """A wrapper whose pieces are those of the kernel inside."""

    @property
    def gram_kind(self) -> str:  # type: ignore[override]
        return self.kernel.gram_kind

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        return self.kernel.walk(outer, X)


@dataclass(eq=False, repr=False)
class Scaled(ClearWrapper):
    """scale · k."""

    scale: float
    kernel: Kernel
    passes_rule = True
    _binds = PRODUCT

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= real_number(self.scale) < np.inf:
            raise InputError(f"A kernel can only be scaled by a finite number ≥ 0; got {shown(self.scale)}.")

    def compute(self, X: Views, Y: Views | None) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.scale * self.kernel.compute(X, Y)

    def compute_diag(self, X: Views) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.scale * self.kernel.compute_diag(X)

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        return self.kernel.walk(replace(outer, scale=outer.scale * self.scale), X)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{typed(self.scale)} * {bracketed(self.kernel, ATOM)}"


@dataclass(eq=False, repr=False)
class On(ClearWrapper):
    """A kernel that sees only some columns, or one view, of the data."""

    kernel: Kernel
    columns: Any
    passes_rule = True

    def seen(self, X: Views) -> Views:
        return X.select(self.columns)

    def around(self, kernel: Kernel) -> Kernel:
        return self if kernel is self.kernel else kernel.on(self.columns)

    def walk(self, outer: Piece, X: Views) -> Iterator[Piece]:
        return self.kernel.walk(replace(outer, path=(*outer.path, self.columns)), X)

    def split(self, *by: str) -> Kernel:
        return On(self.kernel.split(*by), self.columns)

    def part(self, start: int = 0, stop: int | None = None) -> Kernel:
        return On(self.kernel.part(start, stop), self.columns)

    def terms(self, X: Views) -> tuple[Kernel, ...]:
        return self.kernel.terms_on(self.columns, X)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{bracketed(self.kernel, ATOM)}.on({typed(self.columns)})"


def add_all(kernels: Sequence[Kernel]) -> Kernel:
    """Return the sum of several kernels, in one go however many they are."""
    return kernels[0] if len(kernels) == 1 else Sum(_flat(Sum, kernels))


def _flat(kind: type[Sum] | type[Product], kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    return limited(
        (part for k in kernels for part in (k.kernels if isinstance(k, kind) else (k,))), f"A {kind.__name__.lower()}"
    )


def bracketed(kernel: Kernel, binds: int) -> str:
    """Print a kernel inside an operator that needs at least `binds`."""
    return repr(kernel) if kernel._binds >= binds else f"({kernel!r})"
