"""What kernels keep of the training samples beside their text: found in an expression, and put back into one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .base import Kernel


def keepers(term: Kernel, what: str) -> Iterator[Any]:
    """Yield every kernel of an expression that keeps this (`Kernel.keeps`), those inside of others first."""
    for part in term.inside:
        yield from keepers(part, what)
    if term.keeps == what:
        yield term


def with_kept(term: Kernel, what: str, make: Callable[[Any], Kernel]) -> Kernel:
    """Return a term in which make(kernel) stands for every kernel that `keepers` yields, in that order."""
    inside = tuple(with_kept(part, what, make) for part in term.inside)
    if any(new is not old for new, old in zip(inside, term.inside, strict=True)):
        term = rebuilt(term, inside)
    return make(term) if term.keeps == what else term


def rebuilt(term: Any, inside: tuple[Kernel, ...]) -> Kernel:
    """Return a kernel around others than those that it was made of."""
    return replace(term, kernels=inside) if hasattr(term, "kernels") else term.around(inside[0])
