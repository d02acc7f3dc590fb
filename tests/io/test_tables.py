import datetime
import gzip
import io
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.errors import InputError
from kernelweave.io import read_sequence_table, read_svmlight, read_table, tidy_labels

TEXT = "id,sequence,label,score\na,ACGT,1,0.5\nb,TTTT,-1,\n"


def table(text, columns=None):
    return read_table(io.BytesIO(text.encode() if isinstance(text, str) else text), columns)


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        TEXT.replace(",", "\t"),
        TEXT.replace(",", ";"),
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", "\r"),
        TEXT.replace("\n", "\n\n"),
        TEXT.rstrip("\n"),
        "\ufeff" + TEXT,
        gzip.compress(TEXT.encode(), mtime=0),
        TEXT.replace("ACGT", '"ACGT"'),
    ],
)
def test_text_tables(data):
    found = table(data)
    assert list(found) == ["id", "sequence", "label", "score"]
    assert found["id"].tolist() == ["a", "b"]
    assert found["sequence"].tolist() == ["ACGT", "TTTT"]
    assert found["label"].dtype == np.int64
    assert found["label"].tolist() == [1, -1]
    np.testing.assert_array_equal(found["score"], [0.5, np.nan])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1e3", "-inf"], [1000.0, -np.inf]),
        (["007", "12"], ["007", "12"]),
        (["1_000", "2"], ["1_000", "2"]),
        (["0.5", "0"], [0.5, 0.0]),
        (["NA", "CA"], ["NA", "CA"]),
        (["99999999999999999999", "1"], [1e20, 1.0]),
        (["x", ""], ["x", ""]),
    ],
)
def test_types_of_columns(values, expected):
    assert table("v,w\n" + "".join(f"{value},x\n" for value in values))["v"].tolist() == expected


@settings(deadline=None)
@given(
    st.lists(st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1)] * 2), min_size=1)
)
def test_text_tables_read_like_pandas_writes(rows):
    frame = pd.DataFrame(rows, columns=["a", "b"], dtype=str).map(lambda v: "x" + v)  # no numbers
    found = table(frame.to_csv(index=False))
    assert {name: column.tolist() for name, column in found.items()} == frame.to_dict("list")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n1,2\n3\n", "line 3: 1 fields where the header has 2.*truncated"),
        ("a,b\n1,2,3\n", "line 2: 3 fields"),
        ("a,a\n1,2\n", "column names repeat: 'a'"),
        ('a,b\n1,"2\n3,4\n', "quotation mark"),
        (b"a,b\n\xff,1\n", "not UTF-8"),
        (b"a,b\n\0,1\n", "NUL"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-5], "truncated"),
        (b"PK\x03\x04", "zip archive"),
    ],
)
def test_bad_tables(tmp_path, data, message):
    path = tmp_path / "t.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(InputError, match=message) as caught:
        read_table(path)
    assert "t.csv" in str(caught.value)


def test_columns_are_chosen_by_name():
    assert list(table(TEXT, ["label"])) == ["label"]
    with pytest.raises(InputError, match="no column 'seq'; it has 'id', 'sequence', 'label', 'score'"):
        table(TEXT, ["seq"])


def test_long_fields():
    row = "ACGT" * 50_000
    assert table(f"sequence\n{row}\n")["sequence"].tolist() == [row]


@pytest.fixture(params=["pyarrow", "polars"])
def parquet(request, monkeypatch, tmp_path):
    if request.param == "polars":
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    return tmp_path / "t.parquet"


def write_parquet(path, **columns):
    pl.DataFrame(columns).write_parquet(path)


def test_parquet(parquet):
    write_parquet(parquet, sequence=["ACGT", "TT"], label=[1, -1], score=[0.5, None])
    found = read_table(parquet)
    assert found["sequence"].tolist() == ["ACGT", "TT"]
    assert found["label"].tolist() == [1, -1]
    np.testing.assert_array_equal(found["score"], [0.5, np.nan])
    sequences, labels = read_sequence_table(parquet, "sequence", "label")
    assert (list(sequences), labels.tolist()) == (["ACGT", "TT"], [1, -1])
    with pytest.raises(InputError, match="no column 'x'"):
        read_table(parquet, ["x"])
    parquet.write_bytes(parquet.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"t.parquet is not a readable Parquet file"):
        read_table(parquet)


def test_row_76_parquet_with_a_missing_sequence(parquet):
    write_parquet(parquet, sequence=["ACGT", None, "TT"])
    with pytest.raises(InputError, match=r"t.parquet, column 'sequence': Row 1 has no sequence"):
        read_sequence_table(parquet, "sequence")


def test_parquet_needs_a_library(monkeypatch, tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    for name in ("pyarrow.parquet", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        read_table(tmp_path / "t.parquet")


def test_sequences_from_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sequence,label\nACGT,yes\nA,no\nTT,no\n")
    sequences, labels = read_sequence_table(path, "sequence", "label", min_length=2, on_short="skip")
    assert (list(sequences), labels.tolist()) == (["ACGT", "TT"], ["yes", "no"])
    assert read_sequence_table(path, "sequence")[1] is None
    path.write_text("sequence,label\nACGT,1\n,2\n")
    with pytest.raises(InputError, match=r"t.csv, column 'sequence': Sequence 1 is empty"):
        read_sequence_table(path, "sequence")
    with pytest.raises(InputError, match="'label' holds int64"):
        read_sequence_table(path, "label")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2020-01-31", "1999-12-01"], np.array(["2020-01-31", "1999-12-01"], "M8[D]")),
        (["2020-01-31", "NA"], np.array(["2020-01-31", None], "M8[D]")),
        (
            ["2020-01-31T10:30", "2020-01-31 10:30:01.5"],
            np.array(["2020-01-31T10:30", "2020-01-31T10:30:01.5"], "M8[us]"),
        ),
        (["2020-01-31", "soon"], np.array(["2020-01-31", "soon"], object)),
        (["2020-06-31", "2020-06-30"], np.array(["2020-06-31", "2020-06-30"], object)),
    ],
)
def test_dates(tmp_path, values, expected):
    path = tmp_path / "t.csv"
    path.write_text("when,x\n" + "".join(f"{value},1\n" for value in values))
    found = read_table(path)["when"]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_parquet_keeps_dates_and_booleans(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    day, yes = [datetime.date(2020, 1, 31), None], [True, None]
    pq.write_table(pa.table({"day": day, "yes": yes, "no": [False, True], "text": ["a", None]}), tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(found["day"], np.array(["2020-01-31", None], "M8[D]"))
    np.testing.assert_array_equal(found["yes"], [1.0, np.nan])
    assert found["no"].dtype == bool
    assert found["text"].tolist() == ["a", None]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([True, False], ["True", "False"]),
        (np.array(["2020-01-31"], "M8[D]"), ["2020-01-31"]),
        (["+1", "-1"], [1, -1]),
        (["0.5", "1"], [0.5, 1.0]),
        (["a", "1"], ["a", "1"]),
        ([1, 2], [1, 2]),
        (["1_0"], ["1_0"]),
    ],
)
def test_tidy_labels(labels, expected):
    found = tidy_labels(labels)
    assert found.tolist() == expected
    assert found.dtype.kind == np.array(expected).dtype.kind


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_svmlight(compress):
    X, y = read_svmlight(io.BytesIO(compress(b"+1 1:0.5 3:2\n-1 2:1\n")))
    assert X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert y.tolist() == [1, -1]


@pytest.mark.parametrize("data", [b"", b"a b c\n", b"1 x:1\n", b"1 3:1 2:1\n", gzip.compress(b"1 1:1\n", mtime=0)[:-3]])
def test_bad_svmlight(tmp_path, data):
    path = tmp_path / "t.svm"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"t.svm"):
        read_svmlight(path)
