"""Slow twins of the sequence code: a few obvious lines each."""

import re


def histogram(text):
    return [text.count(bytes([b])) for b in range(256)]


def pack(rows):
    """Rows of codes to bytes: four codes a byte, the first in the highest bits, every row from a new byte."""
    out = []
    for row in rows:
        padded = list(row) + [0] * (-len(row) % 4)
        out += [sum(padded[i + j] << (6 - 2 * j) for j in range(4)) for i in range(0, len(padded), 4)]
    return bytes(out)


def unpack(packed, lengths):
    rows, at = [], 0
    for length in lengths:
        rows.append([packed[at + i // 4] >> (6 - 2 * (i % 4)) & 3 for i in range(length)])
        at += -(-length // 4)
    return rows


def codes(text, alphabet, mask=False):
    """Codes of one sequence; 255 for letters without one."""
    aliases = dict(zip(alphabet.aliases[::2], alphabet.aliases[1::2], strict=True))
    out = []
    for letter in text:
        if alphabet.folds_case and letter.islower():
            letter = "?" if mask else letter.upper()
        letter = aliases.get(letter, letter)
        out.append(alphabet.letters.index(letter) if letter in alphabet.letters else 255)
    return out


def reverse_complement(text):
    return "".join({"A": "T", "C": "G", "G": "C", "T": "A"}.get(letter, "N") for letter in reversed(text))


def fasta(data):
    """Records of clean FASTA bytes: (header, sequence)."""
    records = []
    for line in re.split(rb"[\r\n]+", data):
        if line.startswith(b">"):
            records.append([line[1:].strip(), b""])
        elif records:
            records[-1][1] += line.strip(b" \t")
    return [(header.decode("utf-8", "backslashreplace"), sequence.decode()) for header, sequence in records]


def fnv(word):
    value = 14695981039346656037
    for byte in word:
        value = (value ^ byte) * 1099511628211 % 2**64
    return value
