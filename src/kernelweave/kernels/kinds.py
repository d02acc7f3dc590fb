"""How kernels may be kept without a matrix (`Kernel.gram_kind`), one by one and together."""

from collections.abc import Sequence

#: Kernels that compare words in pairs: those whose words have so many features that pairs are better, and those whose
#: words have none.
PAIRS, ONLY_PAIRS = "pairs", "only pairs"


def joint_kind(kinds: Sequence[str]) -> str:
    """Return how several kernels may be kept as one: features, vectors and pairs of words lie side by side."""
    ways = (({PAIRS}, PAIRS), ({PAIRS, ONLY_PAIRS}, ONLY_PAIRS), ({PAIRS, "features"}, "features"))
    for together, kind in (*ways, ({"vectors"}, "vectors")):
        if together.issuperset(kinds):
            return kind
    return "dense"  # other ways to do without a matrix are for one kernel at a time
