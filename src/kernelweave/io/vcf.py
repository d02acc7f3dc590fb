"""Variants: VCF files in blocks of rows, which go out as they came but for what is added to INFO."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import InputError
from .streams import Source

#: Bytes that are read at a time.
BLOCK = 1 << 20
_COLUMNS = b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
_LETTERS = re.compile(rb"[ACGTUNRYSWKMBDHVacgtunryswkmbdhv]+")
_DIGITS = re.compile(rb"[0-9]{1,18}")


class Variant(NamedTuple):
    """One row: where it lies (`start` from 0 on), its alleles, and the line as it stands in the file.

    An alternative that is not made of letters (``*``, ``<DEL>``, a breakend) is None.
    """

    name: str
    start: int
    id: str
    ref: bytes
    alts: tuple[bytes | None, ...]
    line: bytes

    @property
    def text(self) -> str:
        """What the variant is called in messages: chr1:100 A>C."""
        shown = ",".join(alt.decode() if alt else "?" for alt in self.alts)
        return f"{self.name}:{self.start + 1} {self.ref.decode('ascii', 'replace')[:20]}>{shown[:20]}"


class VcfReader:
    """A VCF file, plain or gzip, read in blocks.

    Parameters
    ----------
    path : path, "-" or binary file

    Attributes
    ----------
    header : list of bytes
        All lines before the first row, with their ends; the last one names the columns.
    """

    def __init__(self, path: object) -> None:
        self._source = Source(path)
        self.name, self._line, self._carry = self._source.name, 0, b""
        try:
            self.header = self._read_header()
        except BaseException:
            self._source.close()
            raise

    def _read_header(self) -> list[bytes]:
        text = self._source.read(BLOCK)
        if text.startswith(b"BCF"):
            raise InputError(f"{self.name} is BCF; write it as text first: bcftools view {self.name} > variants.vcf.")
        if not text.startswith(b"##fileformat=VCF"):
            start = text[:20].decode("utf-8", "backslashreplace")
            raise InputError(f"{self.name} is not VCF: it begins with {start!r}, and not with '##fileformat=VCF'.")
        lines, at = [], 0
        while True:
            while (end := text.find(b"\n", at) + 1) == 0 and (data := self._source.read(BLOCK)):
                text, at = text[at:] + data, 0
            end = end or len(text)
            lines.append(text[at:end])
            self._line += 1
            if not lines[-1].startswith(b"##"):
                break
            at = end
        if not lines[-1].rstrip(b"\r\n").startswith(_COLUMNS):
            raise InputError(
                f"{self.name}, line {self._line}: a line that names the columns (#CHROM, POS, ID, REF, ALT, QUAL, "
                f"FILTER, INFO) is needed before any row; got {_shown(lines[-1])}."
            )
        self._carry = text[end:]
        return lines

    @property
    def fraction(self) -> float | None:
        """Share of the file read so far, or None for a pipe."""
        return self._source.fraction

    def blocks(self) -> Iterator[list[Variant]]:
        """Yield the rows of about a megabyte at a time, in their order.

        Raises
        ------
        InputError
            Naming the line: where a row has fewer than eight columns, or a place or an allele cannot be.
        """
        carry = self._carry
        while True:
            data = self._source.read(BLOCK)
            text = carry + data
            cut = text.rfind(b"\n") + 1 if data else len(text)
            carry = text[cut:]
            *lines, last = text[:cut].split(b"\n")
            rows = [self._row(line + b"\n") for line in lines] + ([self._row(last)] if last else [])
            kept = [row for row in rows if row is not None]
            if kept:
                yield kept
            if not data:
                return

    def _row(self, line: bytes) -> Variant | None:
        self._line += 1
        fields = line.split(b"\t", 8)
        if not line.strip():
            return None
        if len(fields) < 8 or not _DIGITS.fullmatch(fields[1]) or not fields[0] or not _LETTERS.fullmatch(fields[3]):
            raise InputError(
                f"{self.name}, line {self._line}: a row has eight columns or more, separated by tabs, a whole number "
                f"as POS and letters as REF; got {_shown(line)}."
            )
        given = () if fields[4] == b"." else fields[4].split(b",")
        alts = tuple(alt if _LETTERS.fullmatch(alt) else None for alt in given)
        name, key = fields[0].decode("utf-8", "backslashreplace"), fields[2].decode("utf-8", "backslashreplace")
        return Variant(name, int(fields[1]) - 1, key, fields[3], alts, line)

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def __enter__(self) -> VcfReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "backslashreplace"))


def with_header(header: list[bytes], new: dict[str, bytes], prefix: bytes) -> list[bytes]:
    """Return header lines with new ones before the last; INFO lines of an earlier run, by their prefix, are dropped.

    Parameters
    ----------
    header : list of bytes
    new : dict of str to bytes
        Whole lines without their ends, by what they are about.
    prefix : bytes
        How the names of our own fields begin, such as ``KW_``.
    """
    end = b"\r\n" if header[-1].endswith(b"\r\n") else b"\n"
    old = (b"##INFO=<ID=" + prefix, *(line.partition(b"=")[0] + b"=" for line in new.values() if b"##INFO" not in line))
    kept = [line for line in header[:-1] if not line.startswith(old)]
    last = header[-1] if header[-1].endswith(b"\n") else header[-1] + end
    return [*kept, *(line + end for line in new.values()), last]


def with_info(line: bytes, entries: dict[str, str], prefix: bytes) -> bytes:
    """Return a row with entries added to its INFO column, and all other bytes as they are.

    Entries of an earlier run, by their prefix, are replaced.
    """
    body = line.rstrip(b"\r\n")
    fields = body.split(b"\t", 8)
    old = fields[7]
    if prefix in old:
        old = b";".join(part for part in old.split(b";") if not part.startswith(prefix)) or b"."
    added = ";".join(f"{name}={value}" for name, value in entries.items()).encode()
    if added:
        old = added if old in (b".", b"") else old + b";" + added
    fields[7] = old
    return b"\t".join(fields) + line[len(body) :]
