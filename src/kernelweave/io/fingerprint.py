"""What tells one fit from another: its parameters as text, its data as digests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import CheckpointError
from ..kernels import Kernel
from ..sequences import SequenceSet
from ..views import Views
from .support import requests_of

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
#: Bytes that are hashed at a time.
_PIECE = 1 << 24
#: How a digest begins, so that it is told from a value that can be shown.
DIGEST = "blake2b:"


def fingerprint(
    parameters: Mapping[str, Any], kernel: Kernel, X: Views, targets: Sequence[np.ndarray], C: np.ndarray
) -> dict[str, str]:
    """Return the parts of a fit by name, as text or as digests.

    Parameters
    ----------
    parameters : dict
        The parameters that decide about the solution.
    kernel : Kernel
        As it is bound to the samples.
    X : Views
    targets : list of arrays
        One for each machine.
    C : array
        The cost of every sample.

    Raises
    ------
    CheckpointError
        Where a part is a plain function, which nothing tells from another of the same name.
    """
    for value in (*parameters.values(), *kernel.leaves()):
        _refuse_functions(value)
    parts = {name: text_of(value) for name, value in parameters.items()}
    parts |= {"kernel": text_of(kernel), "number of samples": str(len(X))}
    for path, leaf in requests_of(kernel, X):
        parts.setdefault("X" + "".join(f"[{columns!r}]" for columns in path), _digest_of(X.through(path), leaf))
        for name, K in leaf.matrices.items():
            parts.setdefault(name, digest([np.asarray(K)]))
    return parts | {"y": digest(targets), "costs (C and weights of the samples)": digest([C])}


def _refuse_functions(value: Any) -> None:
    parts = [value, *vars(value).values()] if hasattr(value, "__dict__") else [value]
    if any(isinstance(part, (FunctionType, MethodType, BuiltinFunctionType, partial)) for part in parts):
        raise CheckpointError(
            f"A fit with {text_of(value)} cannot be kept in a checkpoint: functions of one name may do different "
            "things, so going on from it might go on with another problem. Fit without checkpoint=..., or write a "
            "class (a Kernel or a Loss) whose printed form says all that it does; a kernel may also be given as "
            "Precomputed(K)."
        )


def differences(before: Mapping[str, Any], now: Mapping[str, str]) -> list[str]:
    """Return what differs between two fingerprints, in words."""
    said = []
    for name in dict.fromkeys((*before, *now)):
        was, is_now = before.get(name), now.get(name)
        if was == is_now:
            continue
        if str(was or is_now).startswith(DIGEST) and None not in (was, is_now):
            said.append(f"{name} differs")
        else:
            said.append(f"{name} was {_short(was)}, is {_short(is_now)}")
    return said


def text_of(value: Any) -> str:
    """Return a value as text that is the same in every process."""
    if isinstance(value, np.ndarray):
        return digest([value])
    return _ADDRESS.sub("", repr(value))


def digest(arrays: Sequence[np.ndarray]) -> str:
    """Return a digest of arrays: their types, shapes and values."""
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(repr((array.dtype.str, array.shape)).encode())
        if array.dtype.hasobject:
            found.update("\0".join(map(repr, array.ravel().tolist())).encode("utf-8", "surrogatepass"))
            continue
        rows = max(1, _PIECE // max(1, array[:1].nbytes)) if array.ndim else 1
        for start in range(0, len(array), rows):
            found.update(np.ascontiguousarray(array[start : start + rows]).view(np.uint8).data)
    return DIGEST + found.hexdigest()


def _digest_of(X: Views, leaf: Kernel) -> str:
    """Return a digest of what a kernel reads of the samples."""
    if leaf.reads == "sequences":
        return digest(_arrays_of(X.sequences(leaf.alphabet)))
    if leaf.reads == "ids":
        return digest([X.ids()])
    matrix: Any = X.matrix(gaps=True)
    if sparse.issparse(matrix):
        return digest([matrix.data, matrix.indices, matrix.indptr])
    return digest([np.asarray(matrix)])


def _arrays_of(sequences: SequenceSet) -> list[np.ndarray]:
    name = np.frombuffer(sequences.alphabet.name.encode(), np.uint8)
    if hasattr(sequences, "digests"):  # of files, which stand for every letter: nobody needs to read all of them
        return [name, np.frombuffer("".join(sequences.digests).encode(), np.uint8)]
    lengths = np.array([sequences.length]) if sequences.length is not None else sequences.offsets
    return [name, sequences.buffer, sequences.unknown, lengths]


def _short(text: Any) -> str:
    text = "not there" if text is None else str(text)
    return text if len(text) <= 120 else f"{text[:117]}..."
