"""What goes wrong on the command line: the exit code, the file, the record, the remedy, and no traceback."""

import gzip
import json
import os
import pickle
import threading
import warnings

import pytest

from kernelweave import load
from kernelweave.cli.app import _code_of, exit_code
from kernelweave.errors import CheckpointError, InputError, MemoryBudgetError, ModelFormatError

SPECTRUM = ["--kernel", "Spectrum(k=3)"]
FASTA = ["fit", "pos.fa", "neg.fa", *SPECTRUM]
TABLE = ["fit", "table.csv", "--target", "age", "--kernel", "RBF().on('gc')"]


def test_kinds_of_errors_have_their_codes():
    assert [_code_of(kind("x")) for kind in (InputError, MemoryBudgetError, ModelFormatError, ValueError)] == [3] * 4
    assert [_code_of(kind("x")) for kind in (OSError, CheckpointError, ImportError)] == [5] * 3
    assert _code_of(ZeroDivisionError()) is None
    assert _code_of(ImportError(name="kernelweave.nothing")) is None  # a bug of ours, not a package that is missing
    with pytest.raises(ZeroDivisionError):
        exit_code(lambda: 1 / 0)


def test_tracebacks_on_request(monkeypatch):
    def work():
        raise ValueError("odd")

    assert exit_code(work) == 3
    monkeypatch.setenv("KERNELWEAVE_TRACEBACK", "1")
    with pytest.raises(ValueError, match="odd"):
        exit_code(work)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit"], "No data file was given"),
        (["fit", "pos.fa", "neg.fa", "--kernel", "Spektrum(k=3)"], "did you mean Spectrum?"),
        (["fit", "pos.fa", "neg.fa", "--kernel", "__import__('os')"], "There is no kernel"),
        ([*FASTA, "--preset", "splice"], "give one of them"),
        (["fit", "pos.fa", "neg.fa", "--preset", "spliced"], "'spliced' is not one of splice, promoter"),
        ([*FASTA, "--solver", "magic"], "solver must be one of auto, silp"),
        ([*FASTA, "--loss", "magic"], "loss must be one of hinge"),
        ([*FASTA, "--norm", "0.5"], "'0.5' is not a norm"),
        ([*FASTA, "--time-limit", "soon"], "'soon' is not a length of time"),
        ([*FASTA, "--memory", "much"], "'much' is not an amount of memory"),
        ([*FASTA, "--epsilon", "1"], "--epsilon has no meaning for classification"),
        ([*TABLE, "--epsilon", "0.2", "--loss", "squared"], "--epsilon has no meaning for --loss squared"),
        ([*TABLE, "--epsilon", "0.1", "--loss", "epsilon_insensitive(epsilon=0.3)"], "contradict each other"),
        ([*FASTA, "--class-weight", "heavy"], "A=2,B=1"),
        ([*FASTA, "--threads", "0"], "0 is not in the range"),
        ([*FASTA, "--nonsense"], "No such option"),
        (["fit", "table.csv"], "--target COLUMN; table.csv has name, age, gc, utr, outcome"),
        (["cv", "pos.fa", "neg.fa", "--C", "1,x"], "'1,x' is not a list of numbers"),
        (["cv", "pos.fa", "--task", "one-class"], "no targets"),
        (["kernels", "Nothing"], "'Nothing' is not one of"),
        (["nothing"], "No such command"),
    ],
)
def test_usage_is_2(folder, kw, arguments, message):
    result = kw(*arguments, code=2)
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "bad.fa is empty"),
        (b">a\nACGT\n>b\nAC-GT\n", "bad.fa: record 2 ('b'), position 3: '-'"),
        (b">a\nACGT\n>b\n\n", "bad.fa: record 2 ('b') is empty"),
        (b">a\nMEEPQSDP\n", "looks like protein"),
        (b">a\nACGT\n\0\n", "binary"),
        (gzip.compress(b">a\nACGT\n", mtime=0)[:-4], "bad.fa is truncated"),
        (b"\x28\xb5\x2f\xfdxxxxxxxxxxxx", "zstd data"),
        (b"BZh91AY", "bzip2 data"),
        (b"\xff\xfe>\0a\0\n\0", "UTF-16"),
    ],
)
def test_rows_57_58_62_63_65_bad_sequence_files_are_3(folder, kw, data, message):
    (folder / "bad.fa").write_bytes(data)
    result = kw("fit", "bad.fa", "neg.fa", "--alphabet", "dna", *SPECTRUM, "--format", "sequences", code=3)
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert not (folder / "model.kw").exists()
    assert not (folder / "model.toml").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,2\n3\n", "line 3: 1 fields where the header has 2"),
        ("a,a,y\n1,2,3\n", "column names repeat: 'a'"),
        ("a,y\n1,\n2,x\n", "'y' is missing in 1 row, first in data row 1"),
        ("a,y\n,1\n2,0\n", "There is no column to learn from"),
        ("a,y\n", "has a header line, but no rows"),
        ("a,b\n1,2\n", "has no column 'y'"),
        ("a,y\n1,1\n1,0\n", "every column holds one value only"),
        ("a,y\n1,x\n2,x\n", "only one class"),
    ],
)
def test_bad_tables_are_3(folder, kw, text, message):
    (folder / "bad.csv").write_text(text)
    assert message in kw("fit", "bad.csv", "--target", "y", code=3).stderr


def test_kernels_that_do_not_fit_the_columns(folder, kw):
    table = ["fit", "table.csv", "--target", "outcome", "--kernel"]
    assert "reads a column 'size'; the table has" in kw(*table, "RBF().on('size')", code=3).stderr
    message = kw(*table, "RBF().on('utr')", code=3).stderr
    assert "column 'utr'" in message
    assert "in data row 1 is not a number" in message
    assert "'age' holds numbers, but" in kw(*table, "Spectrum().on('age')", code=3).stderr
    assert "is to be predicted" in kw(*table, "RBF()", "--columns", "age,outcome", code=3).stderr


def test_row_73_labels_that_do_not_match(folder, kw):
    message = kw("fit", "pos.fa", *SPECTRUM, code=3).stderr
    assert "pos.fa: The header 'p0' has no label" in message
    assert "--task one-class" in message
    (folder / "labels.tsv").write_text("id\tlabel\n" + "".join(f"p{i}\t1\n" for i in range(3)))
    message = kw("fit", "pos.fa", "--labels", "labels.tsv", *SPECTRUM, code=3).stderr
    assert "22 of 25 sequences have no label: 'p3', 'p4', 'p5', 'p6', 'p7', ..." in message
    kw("convert", "pos.fa", "--output", "s.kwseq")
    (folder / "s.labels.tsv").write_text("id\tlabel\np0\t1\n")
    assert "25 sequences in s.kwseq but 1 rows in s.labels.tsv" in kw("fit", "s.kwseq", *SPECTRUM, code=3).stderr


def test_files_that_are_not_there_or_of_the_wrong_kind(folder, kw):
    assert "none.fa: No such file or directory" in kw("fit", "none.fa", "neg.fa", *SPECTRUM, code=5).stderr
    assert "none.kw: No such file" in kw("predict", "none.kw", "new.fa", code=5).stderr
    assert "is a folder" in kw("fit", ".", *SPECTRUM, code=3).stderr
    kinds = kw("fit", "pos.fa", "table.csv", *SPECTRUM, code=3).stderr
    assert "pos.fa is sequences, table.csv is table" in kinds
    kw(*FASTA)
    assert "model.kw is a model file" in kw("fit", "model.kw", *SPECTRUM, code=3).stderr


def test_row_70_standard_input_is_there_once(folder, kw):
    message = kw("fit", "-", "-", *SPECTRUM, stdin=(folder / "pos.fa").read_bytes(), code=3).stderr
    assert "standard input is empty (it can be read only once)" in message
    text = (folder / "table.csv").read_text()
    kw("fit", "-", "--target", "outcome", "--columns", "age", stdin=text)
    assert load("model.kw").feature_names_in_.tolist() == ["age"]


def test_row_70_named_pipes_can_be_read(folder, kw):
    if not hasattr(os, "mkfifo"):
        pytest.skip("named pipes are a Unix thing")
    kw(*FASTA)
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes((folder / "new.fa").read_bytes()))
    writer.start()
    assert kw("predict", "model.kw", "pipe").stdout == kw("predict", "model.kw", "new.fa").stdout
    writer.join()


def test_row_23_a_pickle_is_refused_and_not_run(folder, kw):
    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(folder / "marker"),)

    (folder / "evil.kw").write_bytes(pickle.dumps(Payload()))
    assert "not a model file" in kw("predict", "evil.kw", "new.fa", code=3).stderr
    assert not (folder / "marker").exists()


def test_damaged_models_are_3(folder, kw):
    kw(*FASTA)
    data = (folder / "model.kw").read_bytes()
    for damaged in (data[: len(data) // 2], data[:100] + bytes([data[100] ^ 1]) + data[101:], b""):
        (folder / "bad.kw").write_bytes(damaged)
        for command in (("predict", "bad.kw", "new.fa"), ("explain", "bad.kw"), ("report", "bad.kw")):
            message = kw(*command, code=3).stderr
            assert "bad.kw" in message


def test_row_30_output_that_cannot_be_written_fails_before_anything_is_read(folder, kw):
    """The data file does not exist, so an error about the output came first."""
    message = kw("fit", "none.fa", "neg.fa", "--output", "nowhere/m.kw", code=5).stderr
    assert "Cannot write 'nowhere/m.kw': the folder" in message
    assert "--output" in message
    (folder / "taken").mkdir()
    for command in (["fit", "none.fa"], ["predict", "none.kw", "x"], ["report", "none.kw"], ["convert", "none.fa"]):
        assert "is a folder" in kw(*command, "--output", "taken", code=5).stderr
    (folder / "file").write_text("")
    kw(*FASTA)
    assert "Cannot make the folder" in kw("explain", "model.kw", "--output", "file", code=5).stderr


def test_row_30_read_only_folder(folder, kw, monkeypatch):
    """The system's own answer, given by hand: whoever runs the tests may be allowed to write anywhere."""
    plain = os.open

    def locked(path, flags, *arguments, **options):
        if flags & os.O_CREAT and "locked" in str(path):
            raise PermissionError(13, "Permission denied", path)
        return plain(path, flags, *arguments, **options)

    (folder / "locked").mkdir()
    monkeypatch.setattr(os, "open", locked)
    message = kw("fit", "none.fa", "--output", "locked/m.kw", code=5).stderr
    assert "Cannot write 'locked/m.kw': Permission denied" in message


def test_row_19_disk_full_leaves_the_old_model(folder, kw, monkeypatch):
    kw(*FASTA)
    before = (folder / "model.kw").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kernelweave.io.model_file.write_archive", full)
    message = kw(*FASTA, "--C", "9", code=5).stderr
    assert "model.kw: No space left on device" in message
    assert (folder / "model.kw").read_bytes() == before
    assert not [name for name in os.listdir(folder) if name.endswith(".part")]


def test_row_69_a_drive_that_drops_is_5(folder, kw, monkeypatch):
    from kernelweave.io.streams import Source

    def read(self, size=-1):
        raise OSError(5, f"{self.name}: reading failed at byte 16: Input/output error")

    monkeypatch.setattr(Source, "read", read)
    assert "neg.fa: reading failed at byte 16" in kw("fit", "neg.fa", "pos.fa", *SPECTRUM, code=5).stderr


def test_warnings_are_lines_on_standard_error(folder, kw):
    (folder / "twice.fa").write_text((folder / "pos.fa").read_text() * 2)
    result = kw("fit", "twice.fa", "neg.fa", *SPECTRUM, "--json")
    assert "Warning: 25 of 85 ids repeat an earlier one" in result.stderr
    assert "Warning" not in result.stdout
    json.loads(result.stdout)


def test_python_warnings_are_not_shown(folder, kw, monkeypatch):
    from kernelweave.cli import data

    plain = data.read

    def noisy(*arguments, **options):
        warnings.warn("for programmers", DeprecationWarning, stacklevel=2)
        return plain(*arguments, **options)

    monkeypatch.setattr(data, "read", noisy)
    assert kw(*FASTA).stderr == ""


def test_row_28_checkpoint_of_another_run_is_refused_with_the_difference(folder, kw):
    """A run that could not converge leaves its checkpoint; with another C it is not the same run."""
    table = ["fit", "table.csv", "--target", "outcome", "--id", "name", "--norm", "1"]
    first = kw(*table, "--C", "1", "--max-iter", "1", "--tol", "1e-9")
    assert "goes on from model.kw.checkpoint" in first.stdout
    message = kw(*table, "--tol", "1e-9", "--C", "3", code=5).stderr
    assert "model.kw.checkpoint" in message
    assert "--force-new" in message
    assert "restart=True" not in message
    kw(*table, "--tol", "1e-9", "--C", "3", "--force-new")
    assert load("model.kw").C == 3
    assert not (folder / "model.kw.checkpoint").exists()  # what is done needs none


def test_unfinished_runs_go_on(folder, kw):
    table = ["fit", "table.csv", "--target", "outcome", "--id", "name", "--tol", "1e-6", "--C", "1", "--norm", "1"]
    kw(*table, "--max-iter", "1")
    second = kw(*table)
    assert "Going on from model.kw.checkpoint" in second.stderr
    assert load("model.kw").converged_
    kw(*table, "--output", "fresh.kw")
    assert load("fresh.kw").objective_ == pytest.approx(load("model.kw").objective_, rel=2e-6)
