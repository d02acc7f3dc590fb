"""The container of model files and checkpoints: a zip of JSON and arrays, sealed by a digest, opened with suspicion.

The file ends with a zip comment that holds the SHA-256 of every byte before it, so that a damaged file is told from a
whole one before anything in it is believed. A digest does not keep forgers out: names, sizes, shapes and types are
checked against each other before memory is taken, and no array of objects is ever read.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from ..errors import ModelFormatError
from ..memory import budget_bytes, readable
from .plain import damaged, fields

FORMAT, CHECKPOINT = "kernelweave model", "kernelweave checkpoint"
#: The newest version of the format, which is the one that is written; every older one is read.
FORMAT_VERSION = 3
MANIFEST = "model.json"
#: Most bytes of the JSON text, and of the header of one array.
MAX_MANIFEST, MAX_HEADER = 1 << 26, 10_000
#: What a file of a few bytes may unpack to, arrays and JSON text, and how many times its size beyond that.
SMALL_ARRAYS, SMALL_MANIFEST, MOST_INFLATED = 1 << 27, 1 << 22, 100

_SEAL = b"kernelweave model, sha256 of all bytes before: "
_DIGITS = 64
_COPY = 1 << 20
_MEMBER = re.compile(r"[a-z_]+(/[0-9]{1,9})?\.npy")
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '([<|]\w\d)', 'fortran_order': (True|False), "
    rb"'shape': \((\d{1,19}),(?: (\d{1,19}))?\), \} *\n",
    re.DOTALL,
)
_DTYPES = frozenset(np.dtype(kind).newbyteorder("<").str for kind in "?bBhHiIqQefd")
#: First bytes of files that people may mistake for a model.
_STRANGERS = {
    b"\x80": "a pickle, which is never opened, because that would run what is in it",
    b"\x1f\x8b": "a gzip file",
    b"x": "a compressed joblib file, which is never opened, because that would run what is in it",
    b"\x93NUMPY": "a NumPy array",
    b"kwseq": "a packed sequence file",
    b">": "a FASTA file",
}


# -- writing -----------------------------------------------------------------------------------------------------------


def write_archive(
    file: BinaryIO, manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray], *, kind: str = FORMAT
) -> None:
    """Write JSON and arrays to an empty file that can be read back; the same content gives the same bytes.

    Parameters
    ----------
    file : binary file open for writing and reading
    manifest : dict
        What JSON can hold; format, version and the list of arrays are added.
    arrays : dict of str to array
        Vectors and matrices of numbers, by name such as "support/0.npy".
    kind : str
        What the file is.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        specs = {name: _write_array(out, name, array) for name, array in arrays.items()}
        whole = {"format": kind, "format_version": FORMAT_VERSION, **manifest, "arrays": specs}
        text = json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1)
        out.writestr(_entry(MANIFEST), text.encode("utf-8", "surrogatepass"))
        out.comment = _SEAL + b"0" * _DIGITS
    seal(file)


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # of 1980: the file says nothing of when it was written
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system, info.external_attr = 3, 0o644 << 16
    return info


def _write_array(out: zipfile.ZipFile, name: str, array: np.ndarray) -> dict[str, Any]:
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    assert array.dtype.str in _DTYPES, f"{name} holds {array.dtype}"
    digest = hashlib.sha256()
    with out.open(_entry(name), "w", force_zip64=array.nbytes >= 1 << 31) as member:
        np.lib.format.write_array(_Hashed(member, digest), array, version=(1, 0), allow_pickle=False)
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return {"dtype": array.dtype.str, "shape": list(array.shape), "order": order, "sha256": digest.hexdigest()}


class _Hashed:
    """A file that is hashed while it is written."""

    def __init__(self, file: Any, digest: Any) -> None:
        self.file, self.digest = file, digest

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return int(self.file.write(data))


def seal(file: BinaryIO) -> None:
    """Put the digest of all that is before it into the last bytes of the file."""
    size = file.seek(0, os.SEEK_END)
    digits = _digest(file, size - _DIGITS)
    file.seek(size - _DIGITS)
    file.write(digits)


def _digest(file: BinaryIO, size: int) -> bytes:
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (piece := file.read(min(size, _COPY))):
        digest.update(piece)
        size -= len(piece)
    return digest.hexdigest().encode()


# -- reading -----------------------------------------------------------------------------------------------------------


def read_archive(
    file: BinaryIO, memory: int | None, *, only_manifest: bool = False, kind: str = FORMAT
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return JSON and arrays of a file that `write_archive` wrote.

    Parameters
    ----------
    memory : int or None
        Most bytes that the arrays may take; None: a hundred times the size of the file and 134 MB, but not more than
        half of what is free.
    only_manifest : bool
        Leave the arrays alone.
    kind : str
        What the file has to be.

    Raises
    ------
    ModelFormatError
        Without the file's name: "is damaged: ...", "is not a model file: ...".
    """
    size = _check_seal(file)
    memory = arrays_budget(size) if memory is None else memory
    try:
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, size)
            manifest = _manifest(archive, members.pop(MANIFEST), kind, size)
            specs = fields({"arrays": manifest.pop("arrays", None)}, MANIFEST, arrays=dict)[0]
            _check_sizes(specs, members, memory)
            if only_manifest:
                return manifest, {}
            return manifest, {name: _read_array(archive, members[name], spec) for name, spec in specs.items()}
    except ModelFormatError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OverflowError) as error:
        raise damaged(str(error).rstrip(".") or type(error).__name__) from None
    except OSError as error:
        if error.errno != errno.EINVAL:  # the disk's fault, not the file's
            raise
        raise damaged("a place that it names is not inside of it") from None


def arrays_budget(size: int) -> int:
    """Return the bytes that the arrays of a file of this size may take where nobody has said more."""
    return min(SMALL_ARRAYS + MOST_INFLATED * size, budget_bytes(None))


def _check_seal(file: BinaryIO) -> int:
    """Return the size of a file that ends with its digest."""
    size, start = file.seek(0, os.SEEK_END), _peek(file, 0, 16)
    if not start.startswith(b"PK"):
        looks = next((f"; it looks like {what}" for first, what in _STRANGERS.items() if start.startswith(first)), "")
        found = f"its first bytes are {start[:8]!r}" if start else "it is empty"
        raise ModelFormatError(f"is not a model file: {found}{looks}. Write one with kernelweave.save(model, path).")
    end = _peek(file, max(0, size - _DIGITS - len(_SEAL)), _DIGITS + len(_SEAL))
    if not end.startswith(_SEAL):
        raise ModelFormatError(
            "is not a model file, or is cut off: it begins as a zip file, but does not end as a model file does. "
            "Fetch it again, or write it again with kernelweave.save(model, path)."
        )
    if _digest(file, size - _DIGITS) != end[len(_SEAL) :]:
        raise damaged("its digest differs. Fetch it again, or save the model again")
    return size


def _peek(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name: known names only, each once, none encrypted or packed in an unusual way."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename
        if name in members:
            raise damaged(f"it has two members {name[:80]!r}")
        if info.orig_filename != name or not (name == MANIFEST or _MEMBER.fullmatch(name)):
            raise damaged(f"it has a member {info.orig_filename[:80]!r} that is not part of a model")
        if info.flag_bits & 0x1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise damaged(f"its member {name!r} is encrypted or compressed in an unusual way")
        if not 0 <= info.header_offset < size:
            raise damaged(f"its member {name!r} lies outside of the file")
        members[name] = info
    if MANIFEST not in members:
        raise ModelFormatError(f"is not a model file: it is a zip file without {MANIFEST!r}.")
    return members


def _manifest(archive: zipfile.ZipFile, info: zipfile.ZipInfo, kind: str, size: int) -> dict[str, Any]:
    most = min(MAX_MANIFEST, SMALL_MANIFEST + MOST_INFLATED * size)
    if info.file_size > most:
        raise damaged(f"{MANIFEST} has {info.file_size:,} bytes; at most {most:,} are read")
    with archive.open(info) as member:
        raw = member.read(info.file_size)
    try:
        manifest = json.loads(
            raw.decode("utf-8", "surrogatepass"), object_pairs_hook=_once, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise damaged(f"{MANIFEST} cannot be read ({error})") from None
    found = manifest.pop("format", None) if isinstance(manifest, dict) else None
    if found in (FORMAT, CHECKPOINT) and found != kind:
        raise ModelFormatError(f"is a {found}, not a {kind}.")
    if found != kind:
        raise ModelFormatError(f"is not a model file: {MANIFEST!r} does not say that it is one.")
    version = manifest.pop("format_version", None)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise damaged(f"{MANIFEST} has the format version {str(version)[:20]!r}")
    if version > FORMAT_VERSION:
        raise ModelFormatError(
            f"has format version {version}, and this kernelweave reads up to {FORMAT_VERSION}. It was written by "
            f"kernelweave {str(manifest.get('library_version', 'unknown'))[:40]}: install that version or a newer one."
        )
    return manifest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [name for name, _ in pairs]
        raise damaged(f"{MANIFEST} has two entries {next(n for n in names if names.count(n) > 1)[:40]!r}")
    return out


def _no_constant(text: str) -> Any:
    raise damaged(f"{MANIFEST} holds {text}")


def _check_sizes(specs: dict[str, Any], members: dict[str, zipfile.ZipInfo], memory: int) -> None:
    """Compare what the manifest says of the arrays with what the zip says of them, before any memory is taken."""
    if specs.keys() != members.keys():
        odd = sorted(specs.keys() ^ members.keys())[0]
        raise damaged(f"{odd[:80]!r} is a member of the zip file or of {MANIFEST}, but not of both")
    total = 0
    for name, spec in specs.items():
        dtype, shape, order, _ = fields(spec, name, dtype=str, shape=list, order=str, sha256=str)
        whole = all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in shape)
        if dtype not in _DTYPES or order not in ("C", "F") or not whole or len(shape) not in (1, 2):
            raise damaged(f"{name} is said to be of shape {str(shape)[:40]} and type {dtype[:20]!r}")
        n_bytes = _n_bytes(spec)
        if not 0 < members[name].file_size - n_bytes <= MAX_HEADER:
            raise damaged(f"{name} has {members[name].file_size:,} bytes, which does not fit its shape {shape}")
        total += n_bytes
    if total > memory:
        raise ModelFormatError(
            f"takes {readable(total)} of memory, and the budget is {readable(memory)}. If you trust the file, raise "
            'the budget: load(path, memory="8GB").'
        )


def _n_bytes(spec: dict[str, Any]) -> int:
    return math.prod(spec["shape"]) * np.dtype(spec["dtype"]).itemsize


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, spec: dict[str, Any]) -> np.ndarray:
    """Return one array, whose size is known to be as declared."""
    n_bytes, shape, dtype = _n_bytes(spec), tuple(spec["shape"]), np.dtype(spec["dtype"])
    with archive.open(info) as member:
        header = member.read(info.file_size - n_bytes)
        if _header(header) != (shape, spec["order"] == "F", dtype.str):
            raise damaged(f"the header of {info.filename} does not say what {MANIFEST} says")
        out = np.empty(n_bytes // dtype.itemsize, dtype)
        view, at = out.view(np.uint8), 0
        while at < n_bytes and (piece := member.read(min(_COPY, n_bytes - at))):
            view[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        if at < n_bytes or member.read(1):
            raise damaged(f"{info.filename} is not as long as it says")
    digest = hashlib.sha256(header)
    digest.update(view.data)
    if digest.hexdigest() != spec["sha256"]:
        raise damaged(f"the digest of {info.filename} differs")
    return out.astype(dtype.newbyteorder("="), copy=False).reshape(shape, order=spec["order"])


def _header(raw: bytes) -> tuple[tuple[int, ...], bool, str] | None:
    """Return what the header of an array says: shape, whether columns come first, type; None where it says nothing."""
    found = _HEADER.fullmatch(raw)  # NumPy's own reader evaluates the text; this is all that is ever written
    if found is None or len(raw) - 10 != int.from_bytes(found[1], "little"):
        return None
    shape = tuple(int(size) for size in found.groups()[3:] if size is not None)
    return shape, found[3] == b"True", found[2].decode()
