r"""The first bytes of a packed file: what they say, and whether it can be true.

Layout, little endian::

    0      8  magic, "kwseq\r\n\x1a": the line ends show a transfer in text mode
    8      4  version of the format, 2
    12     4  bytes of the JSON
    16    16  BLAKE2b of all other bytes of the header
    32  8160  JSON, then zeros

The body follows: the sections `SECTIONS`, one after another, each filled up with zeros to a multiple of 64 bytes. The
table of digests ends the file: the CRC-32 of every 64 KiB of the body.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import InputError
from .alphabet import ALPHABETS, Alphabet
from .layout import Notes

MAGIC = b"kwseq\r\n\x1a"
VERSION = 2
HEADER_SIZE = 8192
#: Bytes of the body that have one digest; the last block may be shorter.
BLOCK = 1 << 16
SECTIONS = ("data", "offsets", "unknown", "skipped")
_PREFIX = struct.Struct("<8sII16s")
_ALIGN = 64
_FIELDS = ("alphabet", "n", "length", "packed", "sizes", "notes", "digest")
_COUNTS = ("n_letters", "n_lower", "n_ambiguous", "n_u", "n_short")
#: What helps where a file cannot be read.
_AGAIN = "Run `kernelweave convert` (or pack_fasta) again on the sequences it was made from."


@dataclass(frozen=True)
class Header:
    """What the header of a packed file says.

    Attributes
    ----------
    alphabet : Alphabet
    n : int
        Sequences.
    length : int or None
        The common length, or None when lengths vary.
    packed : bool
        Two bits a letter.
    sizes : dict
        Bytes of every section, without the zeros behind it.
    notes : dict
        The counts of `Notes`.
    digest : str
        BLAKE2b (16 bytes, as hexadecimal digits) of the table of digests.
    """

    alphabet: Alphabet
    n: int
    length: int | None
    packed: bool
    sizes: dict[str, int]
    notes: dict[str, int]
    digest: str

    def section(self, name: str) -> tuple[int, int]:
        """Return where a section starts and ends in the file."""
        start = HEADER_SIZE
        for before in SECTIONS[: SECTIONS.index(name)]:
            start = aligned(start + self.sizes[before])
        return start, start + self.sizes[name]

    @property
    def body_end(self) -> int:
        """Where the body ends, and the table of digests starts."""
        return aligned(self.section(SECTIONS[-1])[1])

    @property
    def n_blocks(self) -> int:
        """Blocks of the body."""
        return -(-(self.body_end - HEADER_SIZE) // BLOCK)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.body_end + 4 * self.n_blocks

    def to_bytes(self) -> bytes:
        """Return the header as it stands in the file."""
        known = ALPHABETS.get(self.alphabet.name) == self.alphabet
        said = {name: getattr(self, name) for name in _FIELDS}
        said["alphabet"] = self.alphabet.name if known else asdict(self.alphabet)
        body = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
        head = MAGIC + struct.pack("<II", VERSION, len(body))
        if len(body) > HEADER_SIZE - _PREFIX.size:
            raise InputError(f"The alphabet {self.alphabet.name[:40]!r} is too long for a packed file.")
        body += bytes(HEADER_SIZE - _PREFIX.size - len(body))
        return head + _digest(head + body) + body


def aligned(size: int) -> int:
    """Return the next multiple of 64."""
    return -(-size // _ALIGN) * _ALIGN


def table_digest(table: bytes) -> str:
    """Return the digest of the table of digests, as the header has it."""
    return _digest(table).hex()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def read_header(raw: bytes, size: int, path: str) -> Header:
    """Return what the first bytes of a file of `size` bytes say; every number in it fits the file.

    Raises
    ------
    InputError
        The file is none of these, of another version, cut, or damaged.
    """
    if raw[: len(MAGIC)] != MAGIC:
        raise InputError(
            f"{path!r} is not a packed sequence file (its first bytes are {raw[:8]!r}). Write one with pack_fasta."
        )
    if len(raw) < HEADER_SIZE:
        raise InputError(f"{path!r} is truncated inside its header ({size} bytes). {_AGAIN}")
    _, version, length, digest = _PREFIX.unpack_from(raw)
    if version > VERSION:
        raise InputError(f"{path!r} has format version {version}; this kernelweave reads {VERSION}. Upgrade it.")
    if version == 1:
        raise InputError(f"{path!r} has format version 1, whose content cannot be checked as it is read. {_AGAIN}")
    if version != VERSION or _digest(raw[:16] + raw[_PREFIX.size :]) != digest:
        raise damaged_header(path, "its digest differs")
    try:
        header = _parse(json.loads(raw[_PREFIX.size : _PREFIX.size + length]))
    except (ValueError, RecursionError) as error:  # InputError is a ValueError
        raise damaged_header(path, str(error)) from None
    if size != header.size:
        what = "truncated" if size < header.size else "damaged"
        raise InputError(f"{path!r} is {what}: it has {size} bytes, its header says {header.size}. {_AGAIN}")
    return header


def damaged_header(path: str, why: str) -> InputError:
    """Return the error of a header that cannot be true."""
    return InputError(f"The header of {path!r} is damaged ({why}). {_AGAIN}")


def damaged_content(path: str, why: str) -> InputError:
    """Return the error of a file whose content is not what was written."""
    return InputError(f"The content of {path!r} is damaged ({why}). {_AGAIN}")


def _parse(said: Any) -> Header:
    if not isinstance(said, dict) or sorted(said) != sorted(_FIELDS):
        raise ValueError(f"it must have the fields {', '.join(_FIELDS)}")
    sizes, notes = _counts(said["sizes"], SECTIONS), _counts(said["notes"], _COUNTS)
    n, length = _count(said["n"]), None if said["length"] is None else _count(said["length"])
    packed, digest = said["packed"], said["digest"]
    if not isinstance(packed, bool) or not isinstance(digest, str):
        raise ValueError("'packed' is true or false, 'digest' is text")
    header = Header(_alphabet(said["alphabet"]), n, length, packed, sizes, notes, digest)
    _check_sizes(header)
    return header


def _check_sizes(header: Header) -> None:
    """Compare the sizes of the sections with the numbers of sequences and letters, as far as the header knows them."""
    n, length, sizes = header.n, header.length, header.sizes
    if header.packed and not header.alphabet.packable:
        raise ValueError(f"two bits hold four letters, the alphabet has {header.alphabet.size}")
    # rows without letters have offsets too, so that no number of rows is larger than the file
    if sizes["offsets"] != (8 * (n + 1) if n and not length else 0) or (n == 0 and length != 0):
        raise ValueError(f"{sizes['offsets']} bytes are not the offsets of {n} sequences")
    if length is not None and sizes["data"] != n * (-(-length // 4) if header.packed else length):
        raise ValueError(f"{sizes['data']} bytes do not hold {n} sequences of {length} letters")
    if sizes["unknown"] % 8 or sizes["skipped"] % 8 or (sizes["unknown"] and not header.packed):
        raise ValueError("its lists of positions have an impossible size")


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 60:
        raise ValueError(f"{str(value)[:40]!r} is not a count")
    return value


def _counts(said: Any, names: tuple[str, ...]) -> dict[str, int]:
    if not isinstance(said, dict) or sorted(said) != sorted(names):
        raise ValueError(f"it must count {', '.join(names)}")
    return {name: _count(said[name]) for name in names}


def _alphabet(said: Any) -> Alphabet:
    if isinstance(said, str):
        return Alphabet.named(said)
    texts = ("letters", "name", "ambiguous", "aliases")
    if (
        not isinstance(said, dict)
        or sorted(said) != sorted((*texts, "complement"))
        or not all(isinstance(said[name], str) for name in texts)
        or not isinstance(said["complement"], (str, type(None)))
        or len(said["aliases"]) % 2
    ):
        raise ValueError("its alphabet cannot be read")
    return Alphabet(**said)


def counts_of(notes: Notes) -> dict[str, int]:
    """Return the counts of notes, as a header keeps them."""
    return {name: int(getattr(notes, name)) for name in _COUNTS}
