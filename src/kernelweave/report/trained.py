"""Words for samples that a model was trained on: they are no test of it."""

from __future__ import annotations

from typing import Any

UNSEEN, SEEN, UNSURE, TRAINING = "held-out", "trained-on", "given", "training"


def repeated(n: int, n_seen: int, n_looked_up: int) -> str | None:
    """Return how many of n samples are training samples, of those that could be looked up; None where none is."""
    if n_seen == 0:
        some = f"None of the {n_looked_up:,} of {n:,} samples that could be looked up was trained on."
        return None if n_looked_up == n else some
    same = "the same as training samples in all that the model reads"
    if n_looked_up < n:
        about = round(n * n_seen / max(n_looked_up, 1))
        found = f"{n_seen:,} of the {n_looked_up:,} that could be looked up"
        return (
            f"About {about:,} of {n:,} samples are {same} ({found}). Scores on such samples say nothing about new ones."
        )
    if n_seen == n:
        which = "The only sample is" if n == 1 else f"All {n:,} samples are"
        return f"{which} {same}: scores on them say nothing about new ones."
    verb, them = ("is", "it") if n_seen == 1 else ("are", "them")
    return f"{n_seen:,} of {n:,} samples {verb} {same}: scores on {them} say nothing about new ones."


def not_known(model: Any) -> str:
    """Return why it is not known whether samples were trained on."""
    why = "its file was written by an older version, which did not remember its training samples"
    if model.trained_ is not None:
        why = "it reads samples in a way that cannot be compared"
    return f"It is not known whether the model was trained on these samples: {why}."
