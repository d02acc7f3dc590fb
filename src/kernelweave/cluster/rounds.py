"""One round: what was asked, what came back, and what has to be asked again. Nothing here knows how tasks travel."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .part import Part

#: Seconds after which a shard is asked again, at the least, and as a multiple of how long the others took.
PATIENCE, TIMES = 60.0, 5.0


@dataclass(frozen=True)
class Ask:
    """One try at one shard of one round."""

    version: int
    number: int
    attempt: int


@dataclass
class Round:
    """The state of a round. Answers may come in any order, twice, late, from an older round, or never.

    Parameters
    ----------
    version : int
    n_shards : int
    patience : float
        Seconds.
    """

    version: int
    n_shards: int
    patience: float = PATIENCE
    #: What has no answer yet: shard -> (tries so far, when it was asked last).
    open: dict[int, tuple[int, float]] = field(init=False)
    _took: list[float] = field(default_factory=list, init=False)
    _asked: dict[Ask, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.open = dict.fromkeys(range(self.n_shards), (0, -math.inf))

    @property
    def done(self) -> bool:
        """Whether every shard has its answer."""
        return not self.open

    def ask(self, number: int, now: float) -> Ask:
        """Note that a shard is asked, and return the name of this try: no other has it."""
        attempt = self.open[number][0] + 1
        self.open[number] = attempt, now
        ask = Ask(self.version, number, attempt)
        self._asked[ask] = now
        return ask

    def take(self, ask: Ask, now: float) -> bool:
        """Say whether an answer counts: the first of its shard, in this round, to something that was asked."""
        if ask.version != self.version or ask not in self._asked or ask.number not in self.open:
            return False
        del self.open[ask.number]
        self._took.append(now - self._asked[ask])
        return True

    def deadline(self, number: int) -> float:
        """Return how many seconds a shard has: max(60 s, 5 × the median of the answers), twice as many after a try."""
        attempt = self.open[number][0]
        usual = sorted(self._took)[len(self._took) // 2] if self._took else 0.0
        return max(self.patience, TIMES * usual) * 2.0 ** max(0, attempt - 1)

    def late(self, now: float) -> list[int]:
        """Return the shards that have to be asked again."""
        return [number for number, (_, asked) in self.open.items() if now - asked > self.deadline(number)]


def place(shards: Sequence[Part], threads: Mapping[str, int]) -> list[str]:
    """Return a worker for every shard: by rendezvous hashing, none with more than its share of rows.

    A shard goes to the worker that its name and the worker's are worth the most together. So as long as workers stay, a
    shard stays where it was opened before; when one goes, only its shards move; when one comes, it takes its share.

    Parameters
    ----------
    threads : dict of worker to its number of threads
    """
    total = sum(threads.values())
    left = {worker: math.ceil(len(shards) * n / total) for worker, n in threads.items()}
    chosen = []
    for shard in shards:
        ranked = sorted(threads, key=lambda worker: _worth(shard.place, worker), reverse=True)
        worker = next((one for one in ranked if left[one] > 0), ranked[0])
        left[worker] -= 1
        chosen.append(worker)
    return chosen


def _worth(shard: str, worker: str) -> bytes:
    return hashlib.blake2b(f"{shard}@{worker}".encode(), digest_size=8).digest()
