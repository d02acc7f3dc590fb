import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_sequences as naive
from kernelweave.errors import DataWarning, InputError, InputTypeError
from kernelweave.sequences import ALPHABETS, DNA, PROTEIN, RNA, TEXT, Notes, as_sequences, convert

CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "generator": lambda rows: (row for row in rows),
    "bytes": lambda rows: [row.encode() for row in rows],
    "bytearray": lambda rows: [bytearray(row.encode()) for row in rows],
    "mixed": lambda rows: [row.encode() if i % 2 else row for i, row in enumerate(rows)],
    "numpy U": np.array,
    "numpy U swapped": lambda rows: np.array(rows).astype(np.array(rows).dtype.newbyteorder()),
    "numpy U strided": lambda rows: np.repeat(np.array(rows), 2)[::2],
    "numpy S": lambda rows: np.array([row.encode() for row in rows]),
    "numpy object": lambda rows: np.array(rows, object),
    "numpy StringDType": lambda rows: np.array(rows, np.dtypes.StringDType()),
    "numpy column": lambda rows: np.array(rows, object)[:, None],
    "pandas": pd.Series,
    "pandas object": lambda rows: pd.Series(rows, dtype=object, index=range(5, 5 + len(rows))),
    "pandas category": lambda rows: pd.Series(rows, dtype="category"),
    "pandas array": pd.array,
    "pandas index": pd.Index,
    "pandas frame": lambda rows: pd.DataFrame({"x": rows}),
    "polars": pl.Series,
    "polars category": lambda rows: pl.Series(rows, dtype=pl.Categorical),
    "polars frame": lambda rows: pl.DataFrame({"x": rows}),
    "arrow array": pa.array,
    "arrow large": lambda rows: pa.array(rows, pa.large_string()),
    "arrow chunks": lambda rows: pa.chunked_array([rows[:1], rows[1:]]),
    "arrow table": lambda rows: pa.table({"x": rows}),
}


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rows", [["acgu", "ACGTTT", "", "CANT"], ["ACGT", "TTTT", "GGGG"]], ids=["varying", "equal"])
@pytest.mark.filterwarnings("ignore:.*are ambiguous:kernelweave.errors.DataWarning")
def test_row_75_every_container_gives_the_same(make, packed, rows):
    expected = as_sequences(rows, "auto", on_short="zero", packed=packed)
    found = as_sequences(make(rows), "auto", on_short="zero", packed=packed)
    assert found == expected
    assert found.notes == expected.notes
    assert found.alphabet == DNA
    assert list(found) == [row.upper().replace("U", "T") for row in rows]


@pytest.mark.parametrize(("name", "rows"), [("text", ["héllo wörld", "日本"]), ("protein", ["MEEPQ", "SDPSV"])])
def test_every_container_gives_the_same_text(name, rows):
    for make in CONTAINERS.values():
        found = as_sequences(make(rows))
        assert found.alphabet == ALPHABETS[name]
        assert list(found) == rows


@settings(deadline=None)
@given(st.lists(st.text("ACGTUNRYacgtunry", min_size=1), min_size=1, max_size=8), st.booleans())
def test_codes_equal_the_twin(rows, mask):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = as_sequences(rows, "dna", lower="mask" if mask else "upper")
    assert [found.codes(i).tolist() for i in range(len(rows))] == [naive.codes(row, DNA, mask) for row in rows]
    text = "".join(rows)
    assert found.notes == Notes(
        n_letters=len(text),
        n_lower=sum(c.islower() for c in text),
        n_ambiguous=sum(c in "NRYnry" for c in text),
        n_u=text.upper().count("U"),
    )


def test_blocks_do_not_show(monkeypatch):
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("ACGTN"), p=[0.245] * 4 + [0.02], size=rng.integers(1, 9))) for _ in range(50)]
    whole = as_sequences(rows, "dna", packed=True)
    monkeypatch.setattr(convert, "BLOCK_ROWS", 7)
    assert as_sequences(rows, "dna", packed=True) == whole
    assert as_sequences(np.array(rows), "dna") == whole
    with pytest.raises(InputError, match="Sequence 50, position 2"):
        as_sequences([*rows, "A-"], "dna")


# -- empty and short, lower case, ambiguous letters, U, gaps, protein ------------------------------------------------


def test_rows_57_58_empty_and_short_sequences():
    with pytest.raises(InputError, match=r"Sequence 1 is empty.*on_short='skip'"):
        as_sequences(["ACGT", ""], "dna")
    with pytest.raises(InputError, match=r"Sequence 1 \('chr2'\) has 2 letters, 3 are needed"):
        as_sequences(["ACGT", "AC"], "dna", min_length=3, ids=["chr1", "chr2"])
    found = as_sequences(["ACGT", "AC", "", "TTT"], "dna", min_length=3, on_short="skip")
    assert list(found) == ["ACGT", "TTT"]
    assert found.notes.skipped == (1, 2)
    found = as_sequences(["ACGT", "AC", "", "TTT"], "dna", min_length=3, on_short="zero")
    assert list(found) == ["ACGT", "AC", "", "TTT"]
    assert found.notes.n_short == 2
    with pytest.raises(InputError, match="none is left"):
        as_sequences(["A"], "dna", min_length=3, on_short="skip")
    with pytest.raises(InputError, match="Sequence 2, position 2"):
        as_sequences(["", "ACGT", "A-"], "dna", on_short="skip")


def test_row_61_ambiguous_letters():
    with pytest.warns(DataWarning, match=r"1 of 4 letters \(25.0 %\)"):
        found = as_sequences(["ACNT"], "dna")
    assert found.codes(0).tolist() == [0, 1, 255, 3]
    assert as_sequences(["ACGT" * 10, "ACN"], "dna").notes.n_ambiguous == 1  # below 5 %: counted, no warning
    with pytest.raises(InputError, match=r"position 3: 'N'.*ambiguous='skip'"):
        as_sequences(["ACNT"], "dna", ambiguous="error")


@pytest.mark.parametrize("letter", ["-", ".", "*", "7", " ", "\t", "\n", "\0", "é", "€", ">"])
@pytest.mark.parametrize("alphabet", [DNA, RNA, PROTEIN], ids=repr)
def test_row_62_other_letters_are_errors_with_record_and_position(letter, alphabet):
    with pytest.raises(InputError, match="Sequence 1, position 3") as caught:
        as_sequences(["AAAA", "AC" + letter + "A"], alphabet)
    assert repr(letter) in str(caught.value)


def test_row_62_u_is_t_in_dna_and_t_is_u_in_rna():
    found = as_sequences(["ACGUu"], "dna")
    assert found[0] == "ACGTT"
    assert found.notes.n_u == 2
    assert as_sequences(["ACGT"], "rna")[0] == "ACGU"


def test_row_63_protein_given_as_dna():
    with pytest.raises(InputError, match=r"Sequence 0, position 2: 'E'.*looks like protein"):
        as_sequences(["MEEPQSDPSV"], "dna")


@pytest.mark.parametrize(
    "make",
    [list, pd.Series, pl.Series, pa.array, lambda r: pa.chunked_array([r]), lambda r: np.array(r, object), pd.array],
)
def test_missing_values_name_the_row(make):
    with pytest.raises(InputError, match="Row 2 has no sequence"):
        as_sequences(make(["ACGT", "AC", None, "A"]), "dna")


@pytest.mark.parametrize("value", [float("nan"), pd.NA, np.nan])
def test_missing_values_in_lists(value):
    with pytest.raises(InputError, match="Row 1 has no sequence"):
        as_sequences(["A", value], "dna")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("ACGT", r"Write \[sequence\]"),
        (b"ACGT", r"Write \[sequence\]"),
        ({"a": "ACGT"}, "need an order"),
        ({"ACGT"}, "need an order"),
        (["ACGT", 3], r"row 1 is 3 \(int\)"),
        (np.arange(3), "array of int64"),
        (pd.Series([1, 2]), "row 0 is 1"),
        (3, "got int"),
    ],
)
def test_wrong_kinds_of_input(data, message):
    with pytest.raises(InputTypeError, match=message):
        as_sequences(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "0 sample"),
        (np.array([["A", "C"], ["G", "T"]]), r"shape \(2, 2\)"),
        (pd.DataFrame({"a": ["A"], "b": ["C"]}), "'a', 'b'"),
    ],
)
def test_wrong_shapes_of_input(data, message):
    with pytest.raises(InputError, match=message):
        as_sequences(data)


@pytest.mark.parametrize("option", ["ambiguous", "lower", "on_short"])
def test_options_name_their_choices(option):
    with pytest.raises(InputError, match=f"{option} must be one of"):
        as_sequences(["A"], **{option: "maybe"})


def test_a_set_passes_through():
    found = as_sequences(["ACGT", "A"], "dna")
    assert as_sequences(found) is found
    assert as_sequences(found, DNA, packed=True).packed
    with pytest.raises(InputError, match="holds DNA"):
        as_sequences(found, "protein")
    with pytest.raises(InputError, match="Sequence 1 has 1 letters"):
        as_sequences(found, min_length=2)
    skipped = as_sequences(found, min_length=2, on_short="skip")
    assert (list(skipped), skipped.notes.skipped) == (["ACGT"], (1,))
    assert as_sequences(found, min_length=2, on_short="zero") is found
    with pytest.warns(DataWarning):
        unknown = as_sequences(["ACGT", "AN"], "dna")
    with pytest.raises(InputError, match="Sequence 1, position 2"):
        as_sequences(unknown, ambiguous="error")


def test_lone_surrogates_are_named():
    with pytest.raises(InputError, match="Sequence 0, position 2"):
        as_sequences(["a\ud800"], TEXT)
