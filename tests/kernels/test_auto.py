"""A kernel by the look of the data: what every kind of column gets, and what is left out, in any container."""

import numpy as np
import pytest
from scipy import sparse

from kernelweave import Auto, BagOfWords, InputError, MKLClassifier, MKLOneClass, MKLRegressor, load, parse, save
from kernelweave.kernels.look import look_at
from kernelweave.testing import check_kernel
from kernelweave.testing.kernels import check_expression
from kernelweave.views import as_views

pd = pytest.importorskip("pandas")
N = 60
rng = np.random.default_rng(0)
COLUMNS = {
    "age": rng.normal(50, 10, N),
    "dose": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N) * 1e4),
    "smokes": rng.random(N) < 0.5,
    "colour": rng.choice(np.array(["red", "blue", "green", None], dtype=object), N),
    "size": pd.Categorical(rng.choice(["s", "m", "l"], N), categories=["s", "m", "l"], ordered=True),
    "day": pd.date_range("2020-01-01", periods=N, freq="17D"),
    "note": [f"patient {i} came with {w} and left" for i, w in enumerate(rng.choice(["cough", "cold", "pain"], N))],
    "dna": ["".join(rng.choice(list("ACGT"), 30)) for _ in range(N)],
    "same": np.ones(N),
    "id": np.arange(N) + 1000,
    "key": [f"row{i}x{i * 7}" for i in range(N)],
}
KINDS = {
    "age": "numbers",
    "dose": "numbers",
    "smokes": "numbers",
    "colour": "categories",
    "size": "ordered",
    "day": "dates",
    "note": "text",
    "dna": "sequences",
    "same": "constant",
    "id": "names",
    "key": "names",
}
TABLE = pd.DataFrame(COLUMNS)
Y = (TABLE["age"] + 10 * (TABLE["colour"] == "red") + 5 * (TABLE["size"] == "l") > 52).to_numpy()


@pytest.mark.parametrize("name", COLUMNS)
def test_what_a_column_looks_like(name):
    found = look_at(name, as_views(TABLE).select(name))
    assert found.kind == KINDS[name]
    assert found.gaps == (name in ("dose", "colour"))


def test_every_kind_gets_its_kernel_and_the_rest_is_said():
    kernel, notes = Auto().chosen(as_views(TABLE))
    text = repr(kernel)
    assert "RBF(gamma=0.25).standardized(missing='expected').on(['age', 'dose', 'smokes', 'day'])" in text
    for part in ("Categorical().on('colour')", "Ordinal().on('size')", "BagOfWords().normalized().on('note')"):
        assert part in text
    assert "WeightedDegree(degree=10, shift=3).on('dna')" in text
    assert "Periodic(period=7.0).on('day')" in text
    assert "Periodic(period=365.25).on('day')" in text
    assert not any(f"'{name}'" in text for name in ("same", "id", "key"))
    assert any("'same' has one value only" in note for note in notes)
    assert any("'id', 'key' have a value of its own" in note for note in notes)
    check_expression(kernel)
    check_kernel(kernel.learned(as_views(TABLE)), TABLE)


DAYS = pd.date_range("2020-01-01", periods=N, freq="17D")


@pytest.mark.parametrize(
    "days",
    [
        DAYS.tz_localize("UTC"),
        DAYS.tz_localize("UTC").tz_convert("Europe/Berlin"),
        DAYS.date,
        [None, *DAYS.to_pydatetime()[1:]],
        np.array([pd.NaT, *DAYS[1:]], dtype=object),
    ],
    ids=["UTC", "zone", "date", "datetime", "with a gap"],
)
@pytest.mark.parametrize("in_dict", [False, True])
def test_dates_of_any_type_are_dates(days, in_dict):
    plain = pd.DataFrame({"age": COLUMNS["age"], "day": days}, dtype=None)
    X = {"age": COLUMNS["age"], "day": np.asarray(plain["day"])} if in_dict else plain
    look = look_at("day", as_views(X).select("day"))
    assert look.kind == "dates"
    found = as_views(X).matrix(gaps=True)[:, 1]
    assert found[1:] == pytest.approx((DAYS[1:] - pd.Timestamp("1970-01-01")).days)
    assert np.isnan(found[0]) == look.gaps
    model = MKLRegressor().fit(X, COLUMNS["age"])
    assert "dates in 'day'" in model.notes_[0]
    assert np.isfinite(model.predict(X)).all()


def test_numbers_among_objects_are_numbers():
    holes = np.array([None if i % 9 == 0 else value for i, value in enumerate(COLUMNS["age"])], dtype=object)
    for X in ({"a": holes}, pd.DataFrame({"a": holes})):
        model = MKLRegressor().fit(X, COLUMNS["age"])
        assert "numbers in 'a' (some missing)" in model.notes_[0]


def test_notes_say_what_is_read_as_what():
    table = TABLE.assign(price=[f"{x:.3f}" for x in TABLE["age"]], seen=TABLE["day"].astype(str))
    notes = MKLClassifier().fit(table, Y).notes_
    for part in ("numbers in 'age', 'dose', 'smokes' (some missing)", "dates in 'day'", "ordered categories in 'size'"):
        assert part in notes[0]
    assert len(notes[0]) < 400
    assert "'price' holds numbers as text, and would say more as numbers" in notes
    assert "'seen' holds dates as text, and would say more as dates" in notes
    assert not any("identical on these data" in note for note in notes)  # of terms that nobody typed
    X = {"genes": rng.normal(size=(N, 4)), "clinic": TABLE[["age", "colour"]]}
    assert (
        "numbers in 4 columns of 'genes'; numbers in 'age' of 'clinic'; categories in 'colour' of 'clinic' (some "
        in (MKLClassifier().fit(X, Y).notes_[0])
    )


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (TABLE.assign(lists=[[1, 2]] * N), Y, "Column 'lists' holds lists"),
        (pd.DataFrame({"a": [f"{x}" for x in COLUMNS["age"]]}), Y, "'a' holds numbers as text"),
        (pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "a"]), Y, "the same name: 'a'"),
        (TABLE, np.where(Y, "ill", None), "y has no label in"),
        (TABLE, np.array(["ill", 1] * (N // 2), dtype=object), "y mixes labels of several kinds"),
    ],
    ids=["lists", "numbers as text", "names twice", "no label", "mixed labels"],
)
def test_what_cannot_be_learned_from_is_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier().fit(X, y)


def test_numbers_need_numbers():
    with pytest.raises(InputError, match="y has to hold numbers"):
        MKLRegressor().fit(TABLE, np.where(Y, "ill", "well"))


def test_a_table_just_works(tmp_path):
    model = MKLClassifier().fit(TABLE, Y)
    assert model.score(TABLE, Y) > 0.9
    assert any("chosen by the look" in note for note in model.notes_)
    assert parse(repr(model.base_kernel_)) == model.base_kernel_
    new = TABLE.head(5).copy()
    new["colour"] = ["violet", None, "red", "red", "blue"]
    new["age"] = [np.nan, 1.0, 2.0, 3.0, 4.0]  # which the training samples all have
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw")
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    assert again.kernel is None
    assert again.C_ == model.C_


def test_text_and_sequences_may_be_missing(tmp_path):
    table = TABLE[["age", "note", "dna"]].copy()
    table.loc[::5, "note"] = None
    table.loc[1::7, "dna"] = None
    kernel, _ = Auto().chosen(as_views(table))
    assert "BagOfWords(alphabet='categories').normalized().on('note')" in repr(kernel)
    check_kernel(kernel.learned(as_views(table)), table)
    notes = table["note"].isna().to_numpy()
    K = BagOfWords(alphabet="categories").normalized().on("note")(table)
    assert not K[notes].any()
    np.testing.assert_array_equal(K[~notes][:, ~notes], BagOfWords().normalized()(list(table["note"][~notes])))
    model = MKLClassifier().fit(table, Y)
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").decision_function(table), model.decision_function(table))


def test_the_container_does_not_matter():
    pl = pytest.importorskip("polars")
    plain = TABLE[["age", "dose", "smokes", "colour", "note"]]
    expected = MKLRegressor().fit(plain, TABLE["age"].to_numpy()).predict(plain)
    frame = pl.from_pandas(plain)
    for X in (frame, frame.to_arrow()):
        found = MKLRegressor().fit(X, TABLE["age"].to_numpy()).predict(X)
        np.testing.assert_array_equal(found, expected)


def test_matrices_need_no_names():
    X = np.column_stack([TABLE["age"], TABLE["dose"], np.ones(N)])
    kernel, notes = Auto().chosen(as_views(X))
    assert "on([0, 1])" in repr(kernel)
    assert "2 has one value only, and nothing is learned from it" in notes
    wide = sparse.random_array((N, 50), density=0.1, rng=rng, format="csr")
    assert "standardized" not in repr(Auto().chosen(as_views(wide))[0])
    assert MKLClassifier().fit(wide, Y).score(wide, Y) > 0.5


def test_views_side_by_side():
    X = {"omics": rng.normal(size=(N, 12)), "text": np.array(COLUMNS["note"], dtype=object), "age": COLUMNS["age"]}
    text = repr(Auto().chosen(as_views(X))[0])
    assert "RBF(gamma=0.0833).standardized(missing='centre').on('omics')" in text
    assert "BagOfWords().normalized().on('text')" in text
    assert "Linear().standardized(missing='centre').on(['age'])" in text
    assert MKLClassifier().fit(X, Y).score(X, Y) > 0.8


def test_sequences_alone():
    model = MKLClassifier().fit(COLUMNS["dna"], Y)
    assert repr(model.base_kernel_) == "WeightedDegree(degree=10, shift=3)"
    proteins = ["".join(np.random.default_rng(i).choice(list("ACDEFGHIKLMNPQRSTVWY"), 20 + i % 5)) for i in range(30)]
    assert ".part(0, 20)" in repr(Auto().chosen(as_views(proteins))[0])


def test_novelty_has_one_width():
    X = TABLE[["age", "dose"]]
    model = MKLOneClass(nu=0.1).fit(X)
    assert repr(model.base_kernel_).startswith("RBF(gamma=0.5).standardized(missing='expected'")
    assert (model.predict(X) == 1).mean() > 0.8


def test_nothing_to_learn_from():
    with pytest.raises(InputError, match="no column to learn from"):
        MKLClassifier().fit(TABLE[["same", "key"]], Y)
    with pytest.raises(InputError, match="stands for no kernel yet"):
        Auto()([[1.0]])
