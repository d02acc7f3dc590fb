"""Changes to inputs: of any bytes, of JSON, and of sealed archives so that their digests are right again."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from kernelweave.io import archive

#: Whole numbers at which readers go wrong.
NUMBERS = (
    0,
    -1,
    1,
    2,
    3,
    255,
    256,
    65_535,
    2**31 - 1,
    2**31,
    2**32,
    2**53 + 1,
    2**60,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
)
#: Pieces of text that mean something to one reader or another.
WORDS = (
    b"\0", b"\n", b"\r", b"\r\n", b"\n\n", b"\t", b",", b";", b'"', b"'", b"#", b">", b"@", b"+", b"-", b"=", b"[",
    b"]",
    b"{", b"}", b"(", b")", b":", b"nan", b"inf", b"1e999", b"-0", b"0x10", b"1_000", b"\xff", b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b"\xf0\x9f\xa7\xac", b"\xc2\xb2", b"\xd9\xa3", b"\x1f\x8b", b"\x1a", b"\x85", b"\xe2\x80\xa8",
    b"9" * 30,
    b"1" * 5000, b"(" * 300, b"[" * 300, b"A" * 3000, b"NA", b"true", b"None", b"N" * 50, b"qid:1", b"\\", b"\\x80",
    b"u", b"*",
)  # fmt: skip
#: Values that do not belong where they are put.
VALUES: tuple[Any, ...] = (
    None, True, False, *NUMBERS, 0.5, -0.5, 1e308, -1e308, 5e-324, 1.5, "", "a", "\0", "\ud800", "é" * 40,
    "x" * 5000, "1",
    [], [[]], {}, [None], [0], ["a"], [1, 2, 3], [0.5, "a"], {"number": "nan"}, {"number": "inf"}, {"tuple": [1]},
    {"dict": {}}, {"dict": [[1, 2]]}, {"array": "float64", "values": [1.0]}, {"array": "object", "values": [None]},
    {"array": "str", "values": ["a", "b"]}, {"array": "int8", "values": [300]}, {"made": "LpNorm", "with": {"p": 2.0}},
    {"made": "Hinge", "with": {}}, {"kind": "unread"}, 10**400, [[0] * 50] * 50, "RBF()", "Linear()", "RBF('learn')",
    "Spectrum(k=3)", "Identity()", "per_feature(Linear())", "WeightedDegree(degree=3).split('degree')",
)  # fmt: skip


# -- bytes -------------------------------------------------------------------------------------------------------------


def mutate_bytes(data: bytes, rng: Random, others: Sequence[bytes], words: Sequence[bytes] = WORDS) -> bytes:
    """Return the bytes with one to four small changes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        rng.choice(_CHANGES)(out, rng, others, words)
    return bytes(out)


def _place(out: bytearray, rng: Random) -> int:
    return rng.randrange(len(out) + 1)


def _flip(out: bytearray, rng: Random, *_: Any) -> None:
    if out:
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)


def _set(out: bytearray, rng: Random, *_: Any) -> None:
    if out:
        out[rng.randrange(len(out))] = rng.choice((0, 1, 9, 10, 13, 32, 127, 128, 255, rng.randrange(256)))


def _delete(out: bytearray, rng: Random, *_: Any) -> None:
    at = _place(out, rng)
    del out[at : at + rng.choice((1, 1, 2, 4, 8, 64, 512))]


def _cut(out: bytearray, rng: Random, *_: Any) -> None:
    del out[_place(out, rng) :]


def _repeat(out: bytearray, rng: Random, *_: Any) -> None:
    at = _place(out, rng)
    out[at:at] = out[at : at + rng.choice((1, 4, 16, 64))] * rng.choice((1, 1, 2, 50))


def _word(out: bytearray, rng: Random, others: Sequence[bytes], words: Sequence[bytes]) -> None:
    at = _place(out, rng)
    out[at : at + rng.choice((0, 0, 1, 4))] = rng.choice(words)


def _number(out: bytearray, rng: Random, *_: Any) -> None:
    """Put a number over a run of digits, or over four or eight bytes."""
    at, value = _place(out, rng), rng.choice(NUMBERS)
    digits = next((i for i in range(at, min(at + 64, len(out))) if chr(out[i]).isdigit() and out[i] < 128), None)
    if digits is not None and rng.random() < 0.7:
        end = digits
        while end < len(out) and 48 <= out[end] < 58:
            end += 1
        out[digits:end] = str(value).encode()
    else:
        size = rng.choice((4, 8))
        out[at : at + size] = struct.pack("<Q", value % 2**64)[:size]


def _splice(out: bytearray, rng: Random, others: Sequence[bytes], _: Any) -> None:
    other = rng.choice(others)
    start = rng.randrange(len(other) + 1)
    at = _place(out, rng)
    out[at : at + rng.choice((0, 16, 10**6))] = other[start : start + rng.choice((4, 32, 256, 10**6))]


_CHANGES: tuple[Callable[..., None], ...] = (
    _flip,
    _flip,
    _set,
    _set,
    _delete,
    _cut,
    _repeat,
    _word,
    _word,
    _number,
    _splice,
)


# -- JSON --------------------------------------------------------------------------------------------------------------


def mutate_json(node: Any, rng: Random) -> Any:
    """Return a JSON value with one to three of its nodes replaced, removed, added or moved."""
    node = copy.deepcopy(node)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(node))
        if not places:
            return rng.choice(VALUES)
        holder, key = rng.choice(places)
        change = rng.randrange(6)
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
            holder[key] = holder[key] + rng.choice((-1, 1)) if rng.random() < 0.5 else rng.choice(NUMBERS)
        elif change == 2 and isinstance(holder[key], str):
            raw = mutate_bytes(holder[key].encode("utf-8", "surrogatepass"), rng, [b"RBF(1)"])
            holder[key] = raw.decode("utf-8", "replace")
        elif change == 3:
            other, place = rng.choice(places)
            if place in other if isinstance(other, dict) else place < len(other):
                holder[key] = copy.deepcopy(other[place])
        elif change == 4 and isinstance(holder[key], list):
            holder[key] = holder[key] * 2 if rng.random() < 0.5 else [*holder[key], rng.choice(VALUES)]
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return node


def _places(node: Any) -> Any:
    """Yield every (list or dict, key or position) of a JSON value."""
    for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield node, key
        yield from _places(node[key])


# -- archives ----------------------------------------------------------------------------------------------------------


def mutate_archive(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Return a model file or checkpoint that was changed and sealed anew, as a forger would."""
    how = rng.random()
    if how < 0.25:  # the structure of the zip: local headers, central directory, compressed bytes
        return reseal(mutate_bytes(data, rng, others))
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(members.pop(archive.MANIFEST).decode("utf-8", "surrogatepass"))
    name = rng.choice(sorted(members)) if members else None
    if how < 0.65 or name is None:
        manifest = mutate_json(manifest, rng)
    elif how < 0.95:
        array = mutate_array(np.lib.format.read_array(io.BytesIO(members[name]), allow_pickle=False), rng)
        members[name] = _npy(array)
        said = {"dtype": array.dtype.str, "shape": list(array.shape), "order": "C"}
        manifest["arrays"][name] = said | {"sha256": hashlib.sha256(members[name]).hexdigest()}
    else:
        members[name] = mutate_bytes(members[name][:128], rng, others) + members[name][128:]
        manifest["arrays"][name]["sha256"] = hashlib.sha256(members[name]).hexdigest()
    return packed(members | {archive.MANIFEST: json.dumps(manifest).encode("utf-8", "surrogatepass")})


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return out.getvalue()


def packed(members: dict[str, bytes]) -> bytes:
    """Return a sealed zip of any members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        file.comment = archive._SEAL + b"0" * 64
    return reseal(out.getvalue())


def reseal(data: bytes) -> bytes:
    """Return the bytes with a digest at their end that fits them."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def mutate_array(array: np.ndarray, rng: Random) -> np.ndarray:
    """Return an array with other values, of another shape or of another type."""
    change, flat = rng.randrange(7), array.reshape(-1).copy()
    if change <= 2 and flat.size:
        for _ in range(rng.choice((1, 1, 2, flat.size))):
            flat[rng.randrange(flat.size)] = _value_for(flat.dtype, rng)
        return flat.reshape(array.shape)
    if change == 3:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(("<f2", "<f4", "<f8", "<i1", "<i8", "<u1", "<u8", "|b1")))
    if change == 4:
        return rng.choice((flat, flat[:-1], np.append(flat, flat), flat[:0], flat[None], array.T))
    if change == 5 and flat.size > 1:
        order = list(range(flat.size))
        rng.shuffle(order)
        return flat[order].reshape(array.shape)
    return np.full(
        rng.choice((array.shape, (3,), (0,), (1, 1), (4, 0), (2, 500))), _value_for(flat.dtype, rng), flat.dtype
    )


def _value_for(dtype: np.dtype, rng: Random) -> Any:
    if dtype.kind == "f":
        values = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 1e-320, 1.0, 1e30, rng.gauss(0, 1))
        with np.errstate(all="ignore"):
            return np.float64(rng.choice(values)).astype(dtype)
    if dtype.kind == "b":
        return rng.random() < 0.5
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return min(max(rng.choice((*NUMBERS, low, high, rng.randrange(10))), low), high)


# -- packed sequence files ---------------------------------------------------------------------------------------------

HEADER_SIZE, PREFIX, ALIGN, BLOCK = 8192, 32, 64, 1 << 16


def mutate_packed(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Return a packed sequence file whose header or body was changed, with digests that are right again."""
    length = struct.unpack_from("<I", data, 12)[0]
    header = json.loads(data[PREFIX : PREFIX + length])
    n_body = sum(-(-size // ALIGN) * ALIGN for size in header["sizes"].values())
    body = data[HEADER_SIZE : HEADER_SIZE + n_body]
    if rng.random() < 0.5:
        body = _mutate_body(body, header["sizes"], rng, others)
    else:
        header = mutate_json(header, rng)
        n_said = _said_size(header)
        if n_said is not None and rng.random() < 0.7:  # a body of the size that the header now says
            body = (body * (n_said // max(1, len(body)) + 1))[:n_said]
    table = b"".join(struct.pack("<I", zlib.crc32(body[at : at + BLOCK])) for at in range(0, len(body), BLOCK))
    if isinstance(header, dict) and "digest" in header and rng.random() < 0.95:
        header["digest"] = hashlib.blake2b(table, digest_size=16).hexdigest()
    text = json.dumps(header).encode("utf-8", "surrogatepass")[: HEADER_SIZE - PREFIX]
    head, rest = data[:12] + struct.pack("<I", len(text)), text.ljust(HEADER_SIZE - PREFIX, b"\0")
    return head + hashlib.blake2b(head + rest, digest_size=16).digest() + rest + body + table


def _mutate_body(body: bytes, sizes: dict[str, int], rng: Random, others: Sequence[bytes]) -> bytes:
    """Change numbers inside of one section, or bytes anywhere."""
    starts, at = {}, 0
    for name, size in sizes.items():
        starts[name] = at
        at += -(-size // ALIGN) * ALIGN
    name = rng.choice([name for name, size in sizes.items() if size] or list(sizes))
    if name == "data" or rng.random() < 0.2:
        return mutate_bytes(body, rng, others)[: len(body)].ljust(len(body), b"\0")
    low, high = starts[name], starts[name] + sizes[name]
    numbers = np.frombuffer(body[low:high], "<i8")
    changed = mutate_array(numbers, rng).astype("<i8").tobytes()[: high - low].ljust(high - low, b"\0")
    return body[:low] + changed + body[high:]


def _said_size(header: Any) -> int | None:
    """Return the bytes of the body that a header speaks of, where that is few."""
    sizes = header.get("sizes") if isinstance(header, dict) else None
    if not isinstance(sizes, dict) or not all(type(size) is int and 0 <= size < 1 << 20 for size in sizes.values()):
        return None
    return sum(-(-size // ALIGN) * ALIGN for size in sizes.values())
