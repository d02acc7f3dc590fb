"""Scans: the scores of the cut windows, wherever the file, its records and its blocks are cut."""

import gzip
import io
import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelweave import (
    RBF,
    DataWarning,
    InputError,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    PositionalMarkovChain,
    Shards,
    Spectrum,
    WeightedDegree,
    scan_file,
    scan_to_file,
)
from kernelweave.io.intervals import IntervalWriter, Regions, format_of, read_regions
from kernelweave.io.records import read_batches, read_fragments
from kernelweave.io.streams import Source
from kernelweave.scan import Scanner
from kernelweave.sequences import as_sequences

WD = WeightedDegree
LENGTH = 12
OTHER = str.maketrans("ACGTN", "TGCAN")


def letters(rng, n, unknown=0.0):
    row = rng.choice(list("ACGT"), n)
    row[rng.random(n) < unknown] = "N"
    return "".join(row)


def fit(kernel, machine=MKLClassifier, n_classes=2, **options):
    rng = np.random.default_rng(3)
    X = [letters(rng, LENGTH) for _ in range(60)]
    X = [row[:4] + "AG" + row[6:] for row in X]
    y = np.array([sum(map(ord, row[6:9])) % n_classes for row in X])
    return machine(kernel, tol=1e-2, norm=2, **options).fit(X, y)


KERNELS = {
    "degrees": WD(4).normalized().split("degree"),
    "plain": WD(5),
    "shift": WD(3, shift=2) + WD(3, shift=1).normalized(),
    "long words": WD(33) + WD(12),
    "spectrum": Spectrum(k=3).normalized(),
    "mixed": WD(4) + Spectrum(k=2) + WD(2).normalized(),
    "product": WD(3) * Spectrum(k=2) + WD(3),
    "parts": WD(3).part(5) + WD(2).normalized().part(-9, -2) + Spectrum(k=2).part(0, 6),
}


@pytest.fixture(scope="module")
def model():
    return fit(WD(4).normalized() + WD(3).split("position"))


def fasta(records, width=11):
    lines = []
    for name, row in records:
        lines += [f">{name}", *(row[i : i + width] for i in range(0, len(row), width))]
    return "\n".join(lines) + "\n"


def stream(records, width=11):
    return io.BytesIO(fasta(records, width).encode())


def cut(row, strand, length=LENGTH):
    windows = [row[i : i + length] for i in range(len(row) - length + 1)]
    return windows if strand == "+" else [window.translate(OTHER)[::-1] for window in windows]


def without_tables(model):
    """The same model as it was before a scan compiled it: tables do not survive pickling."""
    return pickle.loads(pickle.dumps(model))


def naive(model, records, strands="+-"):
    """Every window of every record, cut out and compared pair by pair: {(name, start, strand): score}."""
    found, model = {}, without_tables(model)
    for name, row in records:
        for strand in strands:
            windows = cut(row, strand)
            scores = model.decision_function(windows) if windows else []
            assert model.fitted_.prepared is None, "the reference must not use the tables it judges"
            found |= {(name, i, strand): score for i, score in enumerate(scores)}
    return found


def flat(hits):
    found = {}
    for block in hits:
        assert (np.diff(block.starts) >= 0).all()
        assert (block.ends - block.starts == LENGTH).all()
        rows = zip(block.starts.tolist(), block.strands.tolist(), block.scores.tolist(), strict=True)
        found |= {(block.name, start, strand): score for start, strand, score in rows}
    return found


def same(got, expected):
    assert got.keys() == expected.keys()
    keys = list(expected)
    np.testing.assert_allclose([got[k] for k in keys], [expected[k] for k in keys], rtol=1e-9, atol=1e-9)


def some_records(seed=0, unknown=0.02):
    rng = np.random.default_rng(seed)
    return [(f"r{i}", letters(rng, n, unknown)) for i, n in enumerate((300, LENGTH, LENGTH - 1, 40, 900))]


# -- scores ----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_are_those_of_the_cut_windows(kernel):
    model, records = fit(KERNELS[kernel]), some_records()
    same(flat(scan_file(model, stream(records), block=128)), naive(model, records))


@given(
    st.lists(st.text("ACGTN", max_size=90), min_size=1, max_size=6),
    st.integers(1, 200),
    st.integers(1, 30),
    st.sampled_from(["both", "+", "-"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
def test_wherever_blocks_and_lines_end(model, rows, block, width, strands):
    records = [(f"s{i}", row) for i, row in enumerate(rows)]
    got = flat(scan_file(model, stream(records, width), block=block, strands=strands))
    same(got, naive(model, records, {"both": "+-"}.get(strands, strands)))


@pytest.mark.filterwarnings("ignore::kernelweave.DataWarning")
@pytest.mark.parametrize("block", [64, 1 << 20])
def test_packed_files_sets_and_shards_give_what_their_records_give(model, tmp_path, block):
    records = [(f"record_{i + 1}", text) for i, (_, text) in enumerate(some_records())]
    sequences = as_sequences([text for _, text in records], alphabet="dna")
    path = tmp_path / "records.kwseq"
    sequences.save(path)
    shards = Shards.write(sequences, tmp_path / "part.kwseq", 2)
    expected = flat(scan_file(model, stream(records), block=block))
    for source in (path, str(path), sequences, shards):
        progress = []
        assert flat(scan_file(model, source, block=block, callback=progress.append)) == expected
        assert progress[-1].fraction == 1.0
        assert progress[-1].n_sequences == len(records)


def test_threads_and_blocks_give_the_same_bits(model, monkeypatch):
    records = some_records(unknown=0.0)
    expected = flat(scan_file(model, stream(records)))
    monkeypatch.setattr("kernelweave.scan.sliding.FEWEST", 17)
    monkeypatch.setattr("kernelweave.gram.prepared.CUT", 5)
    for n_jobs, block in ((1, 50), (2, 1 << 20), (3, 301)):
        assert flat(scan_file(model, stream(records), n_jobs=n_jobs, block=block)) == expected


def test_other_machines_and_classes():
    records = some_records(unknown=0.0)
    for machine in (MKLRegressor, MKLOneClass):
        model = fit(WD(3), machine)
        got = flat(scan_file(model, stream(records), strands="+"))
        expected = without_tables(model).fitted_.decide(cut(records[0][1], "+"))[:, 0]
        np.testing.assert_allclose([got["r0", i, "+"] for i in range(len(expected))], expected, atol=1e-9)
    model = fit(WD(3), n_classes=3)
    got = flat(scan_file(model, stream(records), strands="+", label=2))
    expected = without_tables(model).decision_function(cut(records[0][1], "+"))[:, 2]
    np.testing.assert_allclose([got["r0", i, "+"] for i in range(len(expected))], expected, atol=1e-9)
    with pytest.raises(InputError, match=r"label= one of \[0, 1, 2\]"):
        scan_file(model, stream(records))
    with pytest.raises(InputError, match="no label to choose"):
        scan_file(fit(WD(3)), stream(records), label=1)


def test_a_view_of_a_table():
    rng = np.random.default_rng(1)
    rows = [letters(rng, LENGTH) for _ in range(40)]
    y = [row[3] in "AC" for row in rows]
    table = {"site": rows, "gc": rng.normal(size=(40, 1))}
    model = MKLClassifier(WD(3).on("site") + Spectrum(k=2).on("site"), norm=2, tol=1e-2).fit(table, y)
    row = letters(rng, 60)
    new = {"site": cut(row, "+"), "gc": np.zeros((49, 1))}
    (hits,) = scan_file(model, stream([("a", row)]), strands="+")
    np.testing.assert_allclose(hits.scores, without_tables(model).decision_function(new), rtol=1e-9)
    mixed = MKLClassifier(WD(3).on("site") + RBF().on("gc"), norm=2, tol=1e-2).fit(table, y)
    with pytest.raises(InputError, match="reads numbers"):
        scan_file(mixed, stream([("a", row)]))
    two = MKLClassifier(WD(3).on("site") + WD(3).on("other"), norm=2, tol=1e-2)
    two.fit({"site": rows, "other": rows[::-1]}, y)
    with pytest.raises(InputError, match="one sequence view; this one looks at"):
        scan_file(two, stream([("a", row)]))


# -- which windows ---------------------------------------------------------------------------------------------------


def test_only_windows_at_a_word(model):
    records = some_records()
    expected = naive(model, records)
    words = {"+": "AG", "-": "CT"}
    for strand, word in words.items():
        place = 4 if strand == "+" else LENGTH - 4 - 2
        wanted = {
            key: score
            for key, score in expected.items()
            if key[2] == strand and dict(records)[key[0]][key[1] + place : key[1] + place + 2] == word
        }
        assert wanted
        same(flat(scan_file(model, stream(records), at="AG", strands=strand, block=100)), wanted)
    everywhere = flat(scan_file(model, stream(records), at="AG"))
    assert everywhere == flat(scan_file(model, stream(records), at="ag", anchor=4))
    assert flat(scan_file(model, stream(records), at="AG", anchor=5)).keys() != everywhere.keys()


def test_the_anchor_is_found_or_asked_for(model):
    assert Scanner(model, at="AG").anchor == 4
    assert Scanner(model, at="A").anchor == 4
    with pytest.raises(InputError, match=r"do not all have 'TT' in one place \(most often"):
        Scanner(model, at="TT")
    with pytest.raises(InputError, match="from 0 to 10"):
        Scanner(model, at="AG", anchor=11)
    with pytest.raises(InputError, match="a word of the dna alphabet"):
        Scanner(model, at="A-")
    rows = ["AGAG" + row for row in ("CCTT", "TTCC", "CTCT", "TTTT", "CCCC", "TCTC")]
    twice = MKLClassifier(WD(2), tol=1e-2).fit(rows, [0, 1, 0, 1, 0, 1])
    with pytest.raises(InputError, match=r"at the positions \[0, 2\]"):
        Scanner(twice, at="AG")


def test_threshold_and_unknown_letters(model):
    records = some_records()
    every = flat(scan_file(model, stream(records)))
    high = flat(scan_file(model, stream(records), threshold=0.5))
    assert high == {key: score for key, score in every.items() if score >= 0.5}
    assert 0 < len(high) < len(every)
    known = flat(scan_file(model, stream(records), unknown="skip"))
    held = dict(records)
    assert known == {key: s for key, s in every.items() if "N" not in held[key[0]][key[1] : key[1] + LENGTH]}
    scanner = Scanner(model)
    list(scanner.blocks(stream(records)))
    assert scanner.progress.n_windows == len(every)
    assert scanner.progress.n_unknown == len(every) - len(known)
    assert scanner.progress.n_short == 1


def test_regions(model, tmp_path):
    records = some_records()
    regions = [("r0", 10, 40), ("r0", 30, 60), ("r0", 100, 111), ("r4", 0, 20), ("r4", 20, 24), ("r4", 500, 513)]
    expected = {}
    for (name, start, strand), score in naive(model, records).items():
        inside = [(10, 60)] if name == "r0" else [(0, 24), (500, 513)] if name == "r4" else []
        if any(low <= start and start + LENGTH <= high for low, high in inside):
            expected[name, start, strand] = score
    same(flat(scan_file(model, stream(records), regions=regions, block=99)), expected)
    bed = tmp_path / "regions.bed"
    bed.write_text("track name=x\n# note\n" + "".join(f"{n}\t{a}\t{b}\tname\n" for n, a, b in regions))
    assert read_regions(bed) == regions
    same(flat(scan_file(model, stream(records), regions=str(bed))), expected)
    with pytest.warns(DataWarning, match="no sequence nowhere"):
        list(scan_file(model, stream(records), regions=[("nowhere", 0, 99)]))


def test_regions_that_are_none(tmp_path):
    bed = tmp_path / "x.bed"
    bed.write_text("chr1\t5\n")
    with pytest.raises(InputError, match=r"x\.bed, line 1: a BED row"):
        read_regions(bed)
    with pytest.raises(InputError, match="0 ≤ start < end"):
        Regions([("a", 5, 5)])
    with pytest.raises(InputError, match="no region"):
        Regions([])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strands": "forward"}, "strands must be one of 'both'"),
        ({"unknown": "drop"}, "unknown must be"),
        ({"block": 0}, "block must be"),
        ({"window": -1}, "window must be"),
    ],
)
def test_options_that_are_refused(model, options, message):
    with pytest.raises(InputError, match=message):
        scan_file(model, stream(some_records()), **options)


def test_other_models_are_refused(model):
    chain = PositionalMarkovChain(order=1).fit(["ACGT", "ACGA", "TTTT", "TTTA"], [0, 0, 1, 1])
    with pytest.raises(InputError, match="got PositionalMarkovChain"):
        scan_file(chain, stream(some_records()))


def test_a_learned_cost_is_no_part_of_scores():
    model = fit(WD(3), MKLRegressor, loss="squared", learn_C=True)
    row = letters(np.random.default_rng(0), 50)
    (hits,) = scan_file(model, stream([("a", row)]), strands="+")
    np.testing.assert_allclose(hits.scores, without_tables(model).predict(cut(row, "+")), rtol=1e-9, atol=1e-9)


def test_models_without_a_length_or_another_strand():
    rng = np.random.default_rng(2)
    rows = [letters(rng, n) for n in rng.integers(8, 20, 40)]
    model = MKLClassifier(Spectrum(k=2), tol=1e-2).fit(rows, [row.count("A") > 3 for row in rows])
    with pytest.raises(InputError, match="how long a window is"):
        scan_file(model, stream(some_records()))
    row = letters(rng, 50)
    (hits,) = scan_file(model, stream([("a", row)]), window=9, strands="+")
    expected = without_tables(model).decision_function(cut(row, "+", 9))
    np.testing.assert_allclose(hits.scores, expected, rtol=1e-9, atol=1e-9)
    text = MKLClassifier(WD(2, alphabet="text"), tol=1e-2).fit(["abc", "abd", "xbc", "xbd"], [0, 0, 1, 1])
    with pytest.raises(InputError, match="has no complement"):
        scan_file(text, stream([("a", "abcdef")]))
    (hits,) = scan_file(text, stream([("a", "abcxbd")]), strands="+")
    expected = without_tables(text).decision_function(["abc", "bcx", "cxb", "xbd"])
    np.testing.assert_allclose(hits.scores, expected, rtol=1e-9, atol=1e-9)


# -- files -----------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.text("ab ", max_size=4), st.text("ACGTN acgt>\t", max_size=60)), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 40),
    st.integers(1, 30),
)
@settings(max_examples=150, deadline=None)
def test_pieces_are_the_records(records, end, width, block):
    """The same letters as the reader of whole records finds, whatever the line ends, widths and block sizes."""
    lines = []
    for header, row in records:
        lines += [">" + header, *(row[i : i + width] for i in range(0, len(row), width))]
    data = end.join(lines).encode()
    with Source(io.BytesIO(data)) as source:
        expected = [
            (name, batch.text[a:b].tobytes())
            for batch in read_batches(source)
            for name, a, b in zip(
                batch.headers(first_word=True), batch.offsets[:-1].tolist(), batch.offsets[1:].tolist(), strict=True
            )
        ]
    got = []
    with Source(io.BytesIO(data)) as source:
        for piece in read_fragments(source, block):
            if piece.record == len(got):
                got.append((piece.id, b""))
            name, text = got[-1]
            assert (piece.record, piece.id, piece.start) == (len(got) - 1, name, len(text))
            got[-1] = (name, text + piece.text.tobytes())
    assert got == expected


def test_a_record_on_one_line_passes_in_pieces():
    data = b">long\n" + b"ACGT" * 50_000 + b"\n>next\nACGT\n"
    with Source(io.BytesIO(data)) as source:
        pieces = list(read_fragments(source, 4096))
    assert max(len(piece.text) for piece in pieces) < 3 * 4096
    assert sum(len(piece.text) for piece in pieces if piece.record == 0) == 200_000
    assert pieces[-1].id == "next"


def test_fastq_and_gzip(model, tmp_path):
    rng = np.random.default_rng(0)
    records = [(f"r{i}", letters(rng, 30)) for i in range(5)]
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(gzip.compress("".join(f"@{n}\n{s}\n+\n{'I' * 30}\n" for n, s in records).encode()))
    same(flat(scan_file(model, path)), naive(model, records))


def test_damage_is_not_silent(model, tmp_path):
    data = fasta(some_records()).encode()
    whole = gzip.compress(data)
    path = tmp_path / "cut.fa.gz"
    path.write_bytes(whole[:-20])
    with pytest.raises(InputError, match="truncated"):
        list(scan_file(model, path))
    with pytest.raises(InputError, match="is empty"):
        list(scan_file(model, io.BytesIO(b"")))
    with pytest.raises(InputError, match="not FASTA"):
        list(scan_file(model, io.BytesIO(b"ACGT\n")))
    far = b">a\n" + b"ACGT\n" * 100 + b"AC-T\n"
    with pytest.raises(InputError, match=r"record 1 \('a'\), position 403: '-' is not a letter"):
        list(scan_file(model, io.BytesIO(far), block=64))


def test_repeated_and_missing_ids(model):
    records = [("a", "ACGT" * 4), ("a", "ACGT" * 4), ("", "ACGT" * 4)]
    with pytest.warns(DataWarning, match="1 ids of the given file repeat"):
        names = [hits.name for hits in scan_file(model, stream(records))]
    assert names == ["a", "a_2", "record_3"]


def test_callback(model):
    seen = []
    hits = list(scan_file(model, stream(some_records()), block=200, callback=lambda p: seen.append(p.n_letters)))
    assert seen == sorted(seen)
    assert len(seen) > 2
    assert seen[-1] == sum(len(row) for _, row in some_records())
    assert hits


# -- output ----------------------------------------------------------------------------------------------------------


def test_formats():
    rows = (np.array([3, 3, 9]), np.array([8, 8, 14]), np.array(["+", "-", "+"]), np.array([0.0, 1.5, -800.0]))
    out = {}
    for kind in ("tsv", "bed", "bedgraph"):
        file = io.BytesIO()
        writer = IntervalWriter(file, kind)
        writer.begin()
        writer.write("chr1", *rows)
        writer.write("chr2", *(column[:0] for column in rows))
        out[kind] = file.getvalue().decode().splitlines()
    assert out["tsv"] == [
        "sequence\tstart\tend\tstrand\tscore",
        "chr1\t3\t8\t+\t0.000000",
        "chr1\t3\t8\t-\t1.500000",
        "chr1\t9\t14\t+\t-800.000000",
    ]
    shade = round(1000 / (1 + np.exp(-1.5)))
    assert out["bed"] == [
        "chr1\t3\t8\t.\t500\t+\t0.000000",
        f"chr1\t3\t8\t.\t{shade}\t-\t1.500000",
        "chr1\t9\t14\t.\t0\t+\t-800.000000",
    ]
    assert out["bedgraph"] == ["track type=bedGraph", "chr1\t5\t6\t1.500000", "chr1\t11\t12\t-800.000000"]
    assert [format_of(name) for name in ("a.BED", "b.bedGraph", "c.tsv", "d")] == ["bed", "bedgraph", "tsv", "tsv"]
    with pytest.raises(InputError, match="format must be one of"):
        IntervalWriter(io.BytesIO(), "gff")


def test_output_is_whole_or_not_there(model, tmp_path):
    records, path = some_records(), tmp_path / "hits.tsv"
    source = tmp_path / "genome.fa"
    source.write_text(fasta(records))
    progress = scan_to_file(model, source, path, block=128)
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    expected = naive(model, records)
    assert len(rows) == progress.n_hits == len(expected)
    for name, start, end, strand, score in rows:
        assert int(end) - int(start) == LENGTH
        assert float(score) == pytest.approx(expected[name, int(start), strand], abs=1e-6)
    source.write_text(fasta(records) + "-\n")
    before = path.read_bytes()
    with pytest.raises(InputError, match="'-' is not a letter"):
        scan_to_file(model, source, path, block=128)
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["genome.fa", "hits.tsv"]
    with pytest.raises(InputError, match="does not exist"):
        scan_to_file(model, source, tmp_path / "nowhere" / "hits.tsv")


@pytest.mark.parametrize("kind", ["tsv", "bed", "bedgraph"])
def test_an_interrupted_scan_goes_on(model, tmp_path, kind):
    records = [*some_records(), ("last", letters(np.random.default_rng(9), 500))]
    source, path, whole = tmp_path / "genome.fa", tmp_path / f"hits.{kind}", tmp_path / f"whole.{kind}"
    source.write_text(fasta(records))
    scan_to_file(model, source, whole, block=100)
    attempts = 0
    for stop in (1, 3, 5, 8, 100):
        seen = []

        def interrupt(progress, seen=seen, stop=stop):
            seen.append(progress.n_windows)
            if len(seen) == stop:
                raise KeyboardInterrupt

        try:
            progress = scan_to_file(model, source, path, resume=True, block=100, callback=interrupt)
            break
        except KeyboardInterrupt:
            attempts += 1
            assert not path.exists()
    assert attempts == 4
    assert path.read_bytes() == whole.read_bytes()
    assert progress.n_windows < len(naive(model, records)), "finished sequences are not scored again"
    assert sorted(file.suffix for file in tmp_path.iterdir()) == sorted([".fa", f".{kind}", f".{kind}"])


def test_a_partial_output_of_something_else_is_refused(model, tmp_path):
    source, path = tmp_path / "genome.fa", tmp_path / "hits.tsv"
    source.write_text(fasta(some_records()))

    def stop(progress):
        if progress.n_windows > 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan_to_file(model, source, path, resume=True, block=100, callback=stop)
    assert json.loads((tmp_path / "hits.tsv.progress").read_text())["noted"] == {"sequences": 1}
    with pytest.raises(InputError, match=r"threshold was None, is .1\.0."):
        scan_to_file(model, source, path, resume=True, threshold=1.0)
    with pytest.raises(InputError, match="needs a file and no pipe"):
        scan_to_file(model, stream(some_records()), path, resume=True)
    (tmp_path / "hits.tsv.partial").write_bytes(b"")
    with pytest.raises(InputError, match="shorter than"):
        scan_to_file(model, source, path, resume=True)
    (tmp_path / "hits.tsv.progress").write_text("{")
    with pytest.raises(InputError, match="is damaged; remove it"):
        scan_to_file(model, source, path, resume=True)
