"""What the support says of C and epsilon: where all samples are in it, or none."""

from __future__ import annotations

from ..losses import Loss

#: Of fewer samples, all may be support by chance.
FEWEST = 20


def notes_on_support(loss: Loss, n_support: int, n: int) -> list[str]:
    """Return what to say where C or epsilon look far off; for losses under which a machine rests on some samples."""
    if n < FEWEST or loss.reads == "nothing" or 0 < n_support < n:
        return []
    epsilon = getattr(loss, "epsilon", None)
    if n_support == 0:
        what = "y is constant" if epsilon is None else f"epsilon = {epsilon:g} looks too large, or y is constant"
        return [f"no sample is support, so all get the same prediction: {what}"]
    if epsilon is not None:
        return [
            f"all {n:,} samples are support, so none is nearer than epsilon = {epsilon:g} of the spread of y: epsilon "
            'looks too small, or C too low; C="auto" chooses C'
        ]
    return [
        f"all {n:,} samples are support, so the machine tells few of them apart by a margin: C looks too low, or the "
        'kernel too narrow; C="auto" chooses C'
    ]
