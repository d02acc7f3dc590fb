import numpy as np
import pytest

from kernelweave.errors import InputError
from kernelweave.sequences import ALPHABETS, BYTES, DNA, PROTEIN, RNA, TEXT, Alphabet, guess_alphabet


def counts(text):
    return np.bincount(np.frombuffer(text.encode(), np.uint8), minlength=256)


@pytest.mark.parametrize(("alphabet", "bits"), [(DNA, 2), (RNA, 2), (PROTEIN, 5), (BYTES, 8), (TEXT, 8)])
def test_bits_hold_a_letter(alphabet, bits):
    assert alphabet.bits == bits
    assert 2 ** (bits - 1) < alphabet.size <= 2**bits
    assert alphabet.packable == (bits == 2)


@pytest.mark.parametrize("alphabet", ALPHABETS.values())
def test_table_gives_every_letter_its_number(alphabet):
    assert [alphabet.table[ord(letter)] for letter in alphabet.letters] == list(range(alphabet.size))
    assert (alphabet.table != 255).sum() == alphabet.allowed_bytes.sum() - alphabet.ambiguous_bytes.sum() - (
        alphabet.size == 256
    )


def test_dna_table():
    assert [DNA.table[ord(c)] for c in "ACGTUacgtuN-"] == [0, 1, 2, 3, 3, 0, 1, 2, 3, 3, 255, 255]
    assert [DNA.masking_table[ord(c)] for c in "Aa"] == [0, 255]
    assert DNA.complement_table[[0, 1, 2, 3, 255]].tolist() == [3, 2, 1, 0, 255]


@pytest.mark.parametrize("alphabet", [DNA, TEXT, Alphabet("AB"), Alphabet("ab01", ambiguous="?", name="mine")])
def test_what_prints_can_be_typed_back(alphabet):
    assert eval(repr(alphabet), {"DNA": DNA, "TEXT": TEXT, "Alphabet": Alphabet}) == alphabet


def test_custom_alphabet_with_lower_case_letters_keeps_case():
    alphabet = Alphabet("Aa")
    assert not alphabet.folds_case
    assert alphabet.table[ord("a")] == 1


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"letters": ""}, "at least one letter"),
        ({"letters": "ACCA"}, "repeated: A, C"),
        ({"letters": "A€"}, "single bytes"),
        ({"letters": "AC", "complement": "AG"}, "another order"),
        ({"letters": "AC", "ambiguous": "C"}, "ambiguous as well"),
        ({"letters": 4}, "string such as 'ACGT'"),
    ],
)
def test_wrong_alphabets_are_refused(kwargs, message):
    with pytest.raises(InputError, match=message):
        Alphabet(**kwargs)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match="dna, rna, protein, bytes, text"):
        Alphabet.named("codons")
    with pytest.raises(InputError, match="no complement"):
        _ = PROTEIN.complement_table


@pytest.mark.parametrize(
    ("text", "alphabet"),
    [
        ("ACGTNACGT", DNA),
        ("acgtacgt", DNA),
        ("ACGUACGU", RNA),
        ("ACGTU" * 3, DNA),
        ("ACGTACGTACGTACGTACG-", DNA),  # a gap does not make DNA text: it is reported when the letters are read
        ("MEEPQSDPSVEPPLSQETFSDLWKLL", PROTEIN),
        ("the quick brown fox", TEXT),
        ("日本語", TEXT),
        ("", DNA),
    ],
)
def test_guess(text, alphabet):
    assert guess_alphabet(counts(text)) == alphabet
