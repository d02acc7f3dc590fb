"""What scikit-learn is told of the samples that an estimator takes: what its kernel reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InputError
from ..kernels import Kernel


def input_tags(tags: Any, kernel_of: Callable[[], Kernel]) -> Any:
    """Return the tags with what the kernel reads; as they are where the kernel is none."""
    try:
        kernel = kernel_of()
    except InputError:
        return tags
    tags.input_tags.allow_nan = kernel.takes_gaps
    reads = {"numbers" if hasattr(leaf, "chosen") else leaf.reads for leaf in kernel.leaves()}
    tags.input_tags.sparse = reads <= {"numbers"}
    tags.input_tags.string = "sequences" in reads
    tags.input_tags.one_d_array = bool(reads & {"sequences", "ids"})
    tags.input_tags.two_d_array = not reads <= {"sequences", "ids"}
    return tags
