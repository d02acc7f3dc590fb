"""bgzip: gzip in blocks, so that a file can be read at any place and tools such as tabix can index it."""

from __future__ import annotations

import os
import struct
import zlib
from bisect import bisect_right
from collections import OrderedDict
from typing import Any, BinaryIO

from ..errors import InputError
from .streams import BGZIP_END

#: Letters of a block that is written; 64 KB is the most that the format allows.
BLOCK = 0xFF00
#: Blocks that are kept unpacked.
KEPT_BLOCKS = 64
_HEAD = struct.Struct("<4BI2BH2B2H")  # the first 18 bytes of a block, as all writers make them


def is_bgzip(head: bytes) -> bool:
    """Say whether a file that begins like this is bgzip, and not plain gzip."""
    return head[:2] == b"\x1f\x8b" and head[12:14] == b"BC"


class PlainFile:
    """A file of text that is read at any place.

    Parameters
    ----------
    path : path of the file
    """

    def __init__(self, path: str) -> None:
        self.name = path
        self._file: Any = open(path, "rb", buffering=0)  # noqa: SIM115  # closed by close()
        #: Bytes of text.
        self.size = os.fstat(self._file.fileno()).st_size

    def read_at(self, start: int, size: int) -> bytes:
        """Return up to `size` bytes of text from `start` on; fewer only at the end."""
        self._file.seek(start)
        parts = [self._file.read(size)]
        while parts[-1] and (left := size - sum(map(len, parts))) > 0:  # an unbuffered file may give less at a time
            parts.append(self._file.read(left))
        return b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class BlockFile(PlainFile):
    """A bgzip file that is read at any place of its text.

    Where blocks begin is found by walking from one to the next, which reads 26 bytes of each and unpacks none.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        try:
            self._places, self._starts = self._walk(self.size)
        except BaseException:
            self.close()
            raise
        self.size = self._starts[-1]
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def _walk(self, end: int) -> tuple[list[int], list[int]]:
        """Where every block begins in the file, and in the text."""
        place, start = 0, 0
        places, starts = [0], [0]
        while place < end:
            head = super().read_at(place, _HEAD.size)
            size = _HEAD.unpack(head)[-1] + 1 if len(head) == _HEAD.size and is_bgzip(head) else 0
            if size < 26 or place + size > end:
                raise self._damage(f"there is no bgzip block at byte {place}")
            start += int.from_bytes(super().read_at(place + size - 4, 4), "little")
            place += size
            places.append(place)
            starts.append(start)
        if super().read_at(end - len(BGZIP_END), len(BGZIP_END)) != BGZIP_END:
            raise self._damage("the last block of a bgzip file is missing")
        return places, starts

    def read_at(self, start: int, size: int) -> bytes:
        end, found = min(start + size, self.size), []
        while start < end:
            block = bisect_right(self._starts, start) - 1
            text = self._text(block)[start - self._starts[block] :][: end - start]
            found.append(text)
            start += len(text)
        return b"".join(found)

    def _text(self, block: int) -> bytes:
        if block in self._kept:
            self._kept.move_to_end(block)
            return self._kept[block]
        place, after = self._places[block : block + 2]
        try:
            text = zlib.decompress(super().read_at(place, after - place), wbits=31)
        except zlib.error as error:
            raise self._damage(f"wrong data in the block at byte {place} ({error})") from None
        if len(text) != self._starts[block + 1] - self._starts[block]:
            raise self._damage(f"the block at byte {place} has another size than it says")
        self._kept[block] = text
        if len(self._kept) > KEPT_BLOCKS:
            self._kept.popitem(last=False)
        return text

    def _damage(self, what: str) -> InputError:
        return InputError(f"{self.name} is damaged or truncated: {what}. Fetch it again.")


class BgzipWriter:
    r"""Writes bgzip to a binary file; `close` ends it with the empty block that shows that it is whole.

    Examples
    --------
    >>> import gzip, io
    >>> out = io.BytesIO()
    >>> writer = BgzipWriter(out)
    >>> writer.write(b"#CHROM\n")
    >>> writer.close()
    >>> gzip.decompress(out.getvalue())
    b'#CHROM\n'
    """

    def __init__(self, file: BinaryIO, level: int = 6) -> None:
        self._file, self._level = file, level
        self._held = bytearray()

    def write(self, data: bytes) -> None:
        """Add text."""
        self._held += data
        while len(self._held) >= BLOCK:
            self._put(bytes(self._held[:BLOCK]))
            del self._held[:BLOCK]

    def _put(self, text: bytes) -> None:
        packer = zlib.compressobj(self._level, zlib.DEFLATED, -15)
        packed = packer.compress(text) + packer.flush()
        size = _HEAD.size + len(packed) + 8
        if size > 1 << 16:  # noise does not get smaller: two halves always fit
            self._put(text[: len(text) // 2])
            self._put(text[len(text) // 2 :])
            return
        head = _HEAD.pack(0x1F, 0x8B, 8, 4, 0, 0, 255, 6, ord("B"), ord("C"), 2, size - 1)
        self._file.write(head + packed + struct.pack("<2I", zlib.crc32(text), len(text)))

    def close(self) -> None:
        """Write what is held, and the end; the file itself stays open."""
        if self._held:
            self._put(bytes(self._held))
            self._held.clear()
        self._file.write(BGZIP_END)
