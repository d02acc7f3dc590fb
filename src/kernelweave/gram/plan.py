"""The plan: which terms are held together, how, why, and in how many bytes. This is the only rule table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from operator import add
from pathlib import Path

from ..errors import MemoryBudgetError
from ..kernels import Kernel
from ..memory import readable
from ..views import Views
from .base import Gram
from .cached import smallest_cache
from .dense import bytes_of_matrices
from .offer import DOUBLE, NO_MATRIX, SPARE_BYTES, Bytes, Held, Needs, Offer, Room, n_active, second_order_bytes
from .stacked import joined

#: With more samples than the first, terms that need no matrix get none; with more than the second already where it is
#: quicker to solve machines without (`Offer.quicker`).
LINADD_SAMPLES, EXPLICIT_SAMPLES = 10_000, 3_000
#: Bytes of each sample's values beside a kernel without a matrix.
SAMPLE_BYTES = 100


@dataclass(frozen=True)
class Plan:
    """How the terms of a kernel are held: one row for each group of terms, in their order."""

    rows: tuple[Offer, ...]
    #: Why so, for people.
    why: str
    n: int
    budget: int
    #: True for machines that rest on all samples.
    on_all: bool = False
    #: True where kernels that need no matrix get none.
    parted: bool = False
    #: True where machines are found by descent on some samples at a time: numbers need only rows of those.
    descends: bool = False

    @property
    def held(self) -> Held:
        """What all rows together are capable of."""
        return Held.of_all([row.held for row in self.rows], [len(row.terms) for row in self.rows])

    @property
    def bytes(self) -> Bytes:
        """What all rows take, without what the machine takes beside them."""
        return reduce(add, (row.bytes for row in self.rows))

    @property
    def how(self) -> str:
        """How the terms are held, in a few words."""
        found = [row.how for row in self.rows if row.how != NO_MATRIX]
        return NO_MATRIX if self.descends or not found else " and ".join(dict.fromkeys(found))

    @property
    def need(self) -> float:
        """About how many bytes a fit takes beside the data."""
        taken = self.bytes
        solving = max(taken.solving, self._second_order())
        if not self.descends:
            return self._values() + taken.held + max(taken.making, solving)
        # as many samples are active at a time as fit
        solving += taken.coordinates(n_active(self.n))
        return self._values() + min(taken.held + max(taken.making, solving), self.budget)

    def _values(self) -> float:
        return SAMPLE_BYTES * self.n if self.parted else 0.0

    def _second_order(self) -> float:
        n_terms = sum(len(row.terms) for row in self.rows)
        return second_order_bytes(self.n, n_terms, self.held.second_order, self.on_all) if self.parted else 0.0

    def check_words(self) -> Plan:
        """Complain where words and products with them do not fit, before any of them is made."""
        need = self.bytes.held + max(self.bytes.making, self._second_order())
        if need > max(self.budget, SPARE_BYTES):
            raise MemoryBudgetError(
                f"The words of {self.n:,} samples and products with them take about {readable(need)}; the budget is "
                f"{readable(self.budget)}. Raise memory=..., or use a shorter k, fewer mismatches or fewer samples."
            )
        return self

    def make(self) -> Gram:
        """Return the gram: this is where kernels are evaluated."""
        return joined([row.make() for row in self.rows])

    def __str__(self) -> str:
        """Print one line for every row."""
        names = [", ".join(map(repr, row.terms[:2])) + ", ..." * (len(row.terms) > 2) for row in self.rows]
        rows = zip(names, self.rows, strict=True)
        return "\n".join(f"{name}: {row.how}, {readable(row.bytes.peak)}; {row.why}" for name, row in rows)


def plan(
    kernel: Kernel, X: Views, budget: int, needs: Needs | None = None, directory: str | Path | None = None
) -> Plan:
    """Return how the terms of a kernel are to be held. No kernel is evaluated, and no feature is listed.

    1. Terms go together, by the best offer that fits: tiles of kernels on numbers, matrices in double precision, in
       single precision, matrices of active terms, or rows on demand.
    2. Terms that some gram has a way of its own for, which needs no matrix (`Gram.special`), are parted from the
       others where there is a reason to (`_reason_to_part`). Some rather join others that need matrices (`Gram.joins`).
    3. Beside those the others are rows on demand, where descent asks for no more; or what 1. says of them alone.

    Raises
    ------
    MemoryBudgetError
        Where nothing fits; says how much it would take and what to do.
    """
    room = Room(budget, needs or Needs(), directory)
    terms, n = kernel.terms(X), len(X)
    groups = _groups(terms, X, room)
    kinds = [kind for kind, _ in groups]
    if not any(kinds):
        return _together(_best(terms, X, room), n, room)
    whole = _best_or_none(terms, X, room)
    reason = _reason_to_part(whole, n, room)
    joins = [kind is not None and kind.joins for kind in kinds]
    if _go_together(kinds, whole, n, room):
        return _together(whole or _best(terms, X, room), n, room)
    if reason is None and not (n > EXPLICIT_SAMPLES and (room.needs.descends or all(joins))):
        return _together(whole or _best(terms, X, room), n, room)
    offers = [kind.offer(group, X, room) if kind else None for kind, group in groups]
    if reason is None and _are_quicker(offers):
        reason = f"with more than {EXPLICIT_SAMPLES:,} samples, features are read sooner than matrices"
    if reason is None or not any(offers):
        return _together(whole or _best(terms, X, room), n, room)
    return _parted([group for _, group in groups], offers, X, room, reason)


def _together(offer: Offer, n: int, room: Room) -> Plan:
    """Return the plan that holds all terms in one way."""
    return Plan((offer,), offer.why, n, room.budget, room.needs.on_all)


def _reason_to_part(whole: Offer | None, n: int, room: Room) -> str | None:
    """Say why terms that need no matrix get none; None where matrices of all terms do as well."""
    if room.needs.no_matrix:
        return "the dual solver takes no matrix"
    if whole is not None and whole.rank < DOUBLE:
        return None
    if whole is None or whole.rank > DOUBLE or whole.bytes.peak > room.budget:
        return "matrices of all terms do not fit"
    return f"there are more than {LINADD_SAMPLES:,} samples" if n > LINADD_SAMPLES else None


def _go_together(kinds: Sequence[type[Gram] | None], whole: Offer | None, n: int, room: Room) -> bool:
    """Say whether terms that join others do so: where those get matrices that fit, and where samples are few."""
    if room.needs.no_matrix or None not in kinds or not all(kind is None or kind.joins for kind in kinds):
        return False
    fits = whole is not None and whole.rank <= DOUBLE and whole.bytes.peak <= room.budget
    return fits or n <= EXPLICIT_SAMPLES


def _are_quicker(offers: Sequence[Offer | None]) -> bool:
    """Say whether all terms have a way of their own that is quicker than matrices."""
    if len(offers) == 1:
        return offers[0] is not None and offers[0].quicker
    return all(offer is not None and offer.held.coordinates == {"features"} for offer in offers)


def _parted(
    groups: Sequence[tuple[Kernel, ...]], offers: Sequence[Offer | None], X: Views, room: Room, reason: str
) -> Plan:
    """Return the plan where some terms get no matrix; `offers` has None for those that need one."""
    special = [replace(offer, why=f"{reason}; {offer.why}") for offer in offers if offer is not None]
    others = None in offers
    lists = any(offer.held.lists for offer in special) and all(offer.held.coordinates for offer in special)
    # where every sample matters, rows of those that do are rows of all
    descends = room.needs.descends and lists and not (others and room.needs.on_all)
    left = room.less(SAMPLE_BYTES * len(X) + sum(offer.bytes.held for offer in special))
    own, rows = iter(special), []
    for group, offer in zip(groups, offers, strict=True):
        if offer is not None:
            rows.append(next(own))
        elif descends:
            rows.append(_rows_only(group, X, room))
        else:
            rows.append(_best(group, X, left))
            left = left.less(rows[-1].bytes.held)
    found = Plan(tuple(rows), reason, len(X), room.budget, room.needs.on_all, parted=True, descends=descends)
    return found.check_words() if descends else found


def _groups(
    terms: Sequence[Kernel], X: Views, room: Room, here: bool = False
) -> list[tuple[type[Gram] | None, tuple[Kernel, ...]]]:
    """Return runs of terms, with the gram that has a way of its own for them, or None; `here` without any engine."""
    from . import GRAMS  # the registry as it is now

    kinds = [kind for kind in GRAMS if kind.special and not (here and kind.elsewhere)]
    special = [kind for kind in kinds if room.needs.vectors or not kind.joins]

    def kind_of(term: Kernel) -> type[Gram] | None:
        return next((kind for kind in special if kind.takes(term, X)), None)

    return [(kind, tuple(group)) for kind, group in groupby(terms, kind_of)]


def _best_or_none(terms: Sequence[Kernel], X: Views, room: Room) -> Offer | None:
    """Return the best offer for any terms together, or None where nothing fits."""
    from . import GRAMS

    offers = (kind.offer(terms, X, room) for kind in GRAMS if not kind.special)
    return min((offer for offer in offers if offer is not None), key=lambda offer: offer.rank, default=None)


def _best(terms: Sequence[Kernel], X: Views, room: Room) -> Offer:
    """Return the best offer for any terms together, or say what they would take."""
    found = _best_or_none(terms, X, room)
    if found is not None:
        return found
    whole, least = bytes_of_matrices(terms, X, room).peak, 2 * smallest_cache(terms, len(X))
    raise MemoryBudgetError(
        f"{len(terms)} terms on {len(X):,} samples take {readable(whole)} as matrices, {readable(least)} with the "
        f"smallest cache of rows; the budget is {readable(room.budget)}. Raise memory=..., or use fewer terms or "
        "samples."
    )


def _rows_only(terms: Sequence[Kernel], X: Views, room: Room) -> Offer:
    """Return the best offer for terms of which only products with few samples are asked for."""
    from . import GRAMS

    offers = (kind.offer_rows(terms, X, room) for kind in GRAMS)
    return min((offer for offer in offers if offer is not None), key=lambda offer: offer.rank)


def unheld(terms: Sequence[Kernel], X: Views, room: Room) -> Gram:
    """Return terms on samples that are only multiplied with others: nothing is held, and nothing computed."""
    groups = _groups(terms, X, room, here=True)
    return joined([kind.bound(group, X, room) if kind else _rows_only(group, X, room).make() for kind, group in groups])
