"""`Part`: what a task is about, as engines see it."""

from __future__ import annotations

from typing import Protocol


class Part(Protocol):
    """One part of the work of a round: a shard of samples, or a job. It can be pickled, and is small."""

    #: Whether it takes about as long as the others, so that one without an answer is late.
    alike: bool

    @property
    def place(self) -> str:
        """The text by which it is placed: the same in every round and every process."""

    @property
    def named(self) -> str:
        """As errors name it, inside of a sentence."""

    @property
    def smaller(self) -> str:
        """What to do where it takes too much memory."""

    @property
    def hint(self) -> str:
        """What is good to know where its input was not right."""
