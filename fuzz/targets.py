"""What is fuzzed: for every format, inputs to begin with, how they are changed, and a reader that uses what it read."""

from __future__ import annotations

import contextlib
import gzip
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import click
import mutate
import numpy as np
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from kernelweave.errors import KernelweaveError
from kernelweave.io.checkpoint import Checkpoint

Mutate = Callable[[bytes, Random, Sequence[bytes]], bytes]


@dataclass(frozen=True)
class Target:
    """One format.

    Attributes
    ----------
    seeds : function
        Makes the inputs to begin with.
    use : function of (path, seed)
        Reads a file, uses what it read, and returns what tells it from others (None: nothing does). `seed` is the
        number of the input that it was made from.
    change : function
        Makes another input of one.
    sealed : bool
        The format has a digest: what is read must be equal to what was written.
    """

    seeds: Callable[[], list[bytes]]
    use: Callable[[str, int], Any]
    change: Mutate = mutate.mutate_bytes
    sealed: bool = False


# -- models ------------------------------------------------------------------------------------------------------------


@cache
def _samples() -> tuple[np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    letters = np.array(list("ACGTN"))[rng.choice(5, (12, 15), p=[0.3, 0.2, 0.2, 0.28, 0.02])]
    letters[y == 1, 4:8] = list("GATA")
    return rng.normal(size=(12, 2)) + y[:, None], y, ["".join(row) for row in letters]


@cache
def _data() -> list[Any]:
    """Return the samples of every model."""
    from scipy import sparse

    X, _, S = _samples()
    uneven, table = [s[: 9 + i % 5] for i, s in enumerate(S)], {"age": X[:, :1], "site": np.array(S, object)}
    ids = np.arange(12)[:, None]
    return [X, S, uneven, table, X, S, sparse.csr_array(np.where(X > 0.5, X, 0)), X, ids, ["ABC", "CBA", "AAB"] * 4]


def _fit_models() -> list[Any]:
    """Return fitted models of every kind, one for each of `_data`."""
    X, y, _ = _samples()
    classes = np.array(["a", "b", "c"])[np.arange(12) % 3]
    models = [
        (kw.MKLClassifier("RBF(0.5).on(0) + Linear()", norm=2), y),
        (kw.MKLClassifier("Spectrum(k=3) + WeightedDegree(degree=3)"), y),
        (kw.MKLClassifier("Spectrum(k=2) + Mismatch(k=3, mismatches=1)", weights="per_class"), classes),
        (kw.MKLClassifier("RBF(0.5).on('age') + Spectrum(k=2).on('site')"), classes),
        (kw.MKLRegressor("per_feature(RBF(0.5)) + Polynomial(2)"), X[:, 0]),
        (kw.MKLRegressor("WeightedDegree(degree=4).split('degree')"), X[:, 0]),
        (kw.MKLOneClass("RBF(0.5) + Linear()"), None),
        (kw.MKLClassifier("RBF('learn')", random_state=0), y),
        (kw.MKLClassifier(kw.Precomputed(_matrices(8)["K"], name="K") + kw.Linear()), y),
        (kw.MKLClassifier("Spectrum(k=2, alphabet=Alphabet('ABC', name='abc'))"), classes),
    ]
    return [model.fit(data, target) for (model, target), data in zip(models, _data(), strict=True)]


def _matrices(number: int) -> dict[str, Any]:
    X = _samples()[0]
    return {"K": X @ X.T + np.eye(12)} if number == 8 else {}


def _model_seeds() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.kw")
        found = []
        for model in _fit_models():
            kw.save(model, path)
            found.append(path.read_bytes())
        return found


def _use_model(path: str, number: int) -> Any:
    model = kw.load(path, matrices=_matrices(number))
    X = _data()[number]
    decide = getattr(model, "decision_function", model.predict)
    with np.errstate(all="ignore"):
        return decide(X).tobytes(), repr(model.kernel_), repr(model)


# -- checkpoints -------------------------------------------------------------------------------------------------------


def _fits() -> list[Any]:
    return [
        kw.MKLClassifier("RBF(0.5) + Linear() + RBF(3.0)", solver="silp", tol=1e-6),
        kw.MKLClassifier("RBF(0.5) + Linear()", norm=2, tol=1e-6),
        kw.MKLClassifier("RBF(0.5) + Linear()", weights="per_class", tol=1e-6),
        kw.MKLRegressor("RBF(0.5)", loss="squared"),
    ]


def _fitted(number: int, limits: dict[str, Any] | None = None, **options: Any) -> Any:
    X, y, _ = _samples()
    return _fits()[number].set_params(**(limits or {})).fit(X, [y, y, np.arange(12) % 3, X[:, 0]][number], **options)


@cache
def _optimum(number: int) -> float:
    return float(_fitted(number).objective_)


def _checkpoint_seeds() -> list[bytes]:
    """Return what fits leave that were stopped early; those that cannot be are stopped at once."""
    found = []
    for number in range(len(_fits())):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = Path(folder, "run.checkpoint")
            _fitted(number, checkpoint=Checkpoint(path, seconds=0.0), limits={"max_iter": 2, "tol": 1e-12})
            found.append(path.read_bytes())
    return found


def _read_checkpoint(path: str, number: int) -> Any:
    manifest, arrays = Checkpoint(path).read() or ({}, {})
    return repr(manifest), {name: array.tobytes() for name, array in arrays.items()}


def _go_on(path: str, number: int) -> None:
    """Fit from a forged checkpoint: refused, or the same optimum with bounds that hold."""
    model = _fitted(number, checkpoint=path)
    best = _optimum(number)
    slack = 1e-5 * abs(best)
    assert model.lower_bound_ <= best + slack, "the lower bound is above the optimum"
    assert abs(model.objective_ - best) <= slack + model.gap_ * abs(best), "the objective is not the optimum"


# -- sequences ---------------------------------------------------------------------------------------------------------

FASTA = b">seq1 label=+1 chr1\nACGTNACGT\nACGT\n>seq2 label=-1\nacgtuACG\n\n>s3;label=1\r\nGATTACA\r\n"
PROTEIN = b">p1\nMKVLAAGIVGLC*\n>p2\nMSTNPKPQRKTKRX\n"
FASTQ = b"@r1 label=1\nACGTN\n+\nIIII!\n@r2\nGATTACA\n+r2\nIIIIIII\n@r3\n\n+\n\n"
FASTQ_CRLF = FASTQ[:26].replace(b"\n", b"\r\n")


def _packed_seeds() -> list[bytes]:
    from kernelweave.sequences import Alphabet, as_sequences

    S = _samples()[2]
    uneven, proteins = [s[: 5 + i % 7] for i, s in enumerate(S)], ["MKVLAAGIVG", "MSTNPKPQ", "KTKRX"]
    own = as_sequences(["abc", "cab"], Alphabet("abc", name="own"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "set.kwseq")
        found = []
        for one in (as_sequences(S), as_sequences(uneven), as_sequences(proteins, "protein"), own):
            one.save(path)
            found.append(path.read_bytes())
        return found


def _use_packed(path: str, number: int) -> Any:
    from kernelweave.sequences import SequenceSet

    found = SequenceSet.open(path)
    rows = found[[0, len(found) - 1]] if len(found) else found
    kernel = kw.Spectrum(k=2, alphabet=found.alphabet)
    return list(found), found.lengths.tolist(), list(rows), kernel(found[:3]).tobytes(), repr(found.notes)


def _use_sequences(path: str, number: int) -> None:
    from kernelweave.io.fasta import iter_fasta, read_blocks, read_fasta
    from kernelweave.io.records import read_fragments
    from kernelweave.io.streams import Source
    from kernelweave.io.tables import header_labels

    records = list(iter_fasta(path))
    with Source(path) as source:
        pieces: dict[int, list[bytes]] = {}
        for piece in read_fragments(source, 16):
            pieces.setdefault(piece.record, []).append(piece.text.tobytes())
    whole = [b"".join(parts).decode("utf-8", "backslashreplace") for parts in pieces.values()]
    assert whole == [record.sequence for record in records], "pieces differ from records"
    _attempt(lambda: [header_labels()(record.header) for record in records])
    for rules in ({"on_short": "skip"}, {"alphabet": "text"}):
        _attempt(lambda rules=rules: list(read_fasta(path, **rules)[0]))
    _attempt(lambda: list(read_blocks(path, on_short="zero")))


def _attempt(work: Callable[[], Any]) -> None:
    """Do more with an input, where a clean refusal is as good as a result."""
    with contextlib.suppress(KernelweaveError):
        work()


# -- tables and text ---------------------------------------------------------------------------------------------------

TABLES = [
    b'id,label,age,site\na,1,0.5,ACGT\nb,-1,NA,GATT\n"c,d",1,1e3,AAAA\n',
    b"id\tlabel\tseq\nr1\t1\tACGT\nr2\t0\tTTTT\n",
    b"\xef\xbb\xbfx;y\r\n1;2\r\n3;4\r\n",
]
SVMLIGHT = [b"+1 1:0.5 3:1 # note\n-1 2:0.25\n0\n", b"1.5 qid:1 10:1e-3\n-2e1 1:1\n"]
REGIONS = [b"track name=x\n#c\nchr1\t0\t100\tname\t0\t+\nchr1\t50\t150\nchr2 5 9\n"]
RUNS = [
    b'# note\n[fit]\nfiles = ["a.fa", "b.fa"]\nkernel = "RBF(gamma=0.5)"\nC = 1.0\noutput = "m.kw"\nmax_iter = 10\n'
    b'tol = 0.001\nnorm = "1"\nstrict = true\n[sha256]\n"a.fa" = "00"\n[result]\ngap = 1e-4\n',
    b'[fit]\nfiles = ["-"]\npreset = "splice"\ntarget = "y"\ncolumns = "a,b"\nalphabet = "dna"\n'
    b'threads = 2\nmemory = "1GB"\n',
]
KERNELS = [
    b"2.0 * RBF(gamma=0.5).on('age') + Linear()",
    b"WeightedDegree(degree=20).split('position', 'degree') + Spectrum(k=6, alphabet=DNA).on(['a', 'b'])",
    b"Frozen(RBF(1) + Polynomial(degree=2)) * Linear().normalized() + per_feature(RBF('learn'))",
    b"Precomputed(name='K') + Mismatch(k=5, mismatches=1).on(0) + GappedKmer(6, 4) + Oligo(k=3, width=1.0)",
    b"Spectrum(k=3, alphabet=Alphabet('ABC', name='abc')).on(slice(0, 3)) + BagOfWords()",
]
KERNEL_WORDS = (
    *mutate.WORDS, b"RBF(", b"Linear()", b".on(", b".split(", b".normalized()", b".only(", b"Frozen(", b"per_feature(",
    b"slice(",
    b"Precomputed(name=", b"Alphabet(", b"Spectrum(", b"gamma=", b"k=", b"degree=", b"shift=", b"-", b"1e308", b"True",
    b"None",
    b"lambda", b"__import__('os')", b"'a'*", b"*", b"+", b"**", b"{}", b"f'{1}'", b"b'x'", b"1j", b"...", b"DNA",
    b"\xed\xa0\x80",
    b"\\ud800", b"'\\N{DIGIT ONE}'", b"# c", b"\\\n", b"if", b":=", b"10**9", b"1000000000", b"[1]*9",
)  # fmt: skip


def _use_table(path: str, number: int) -> None:
    from kernelweave.io.tables import read_sequence_table, read_table

    table = read_table(path)
    for name in list(table)[-2:]:
        _attempt(lambda name=name: list(read_sequence_table(path, name, next(iter(table)))[0]))


def _use_labels(path: str, number: int) -> None:
    from kernelweave.cli.data import Reading, label_table
    from kernelweave.io.tables import match_labels

    ids, labels = label_table(path, Reading())
    match_labels([str(name) for name in ids][::-1], ids, labels)


def _use_svmlight(path: str, number: int) -> None:
    from kernelweave.cli.data import Reading, read

    data = read((path,), Reading(file_format="svmlight"))
    assert len(data) == data.X.shape[0]


def _use_regions(path: str, number: int) -> None:
    from kernelweave.io.intervals import Regions, read_regions

    regions = Regions(read_regions(path))
    for name in regions.names:
        regions.inside(name, np.arange(10), 3)


def _use_run(path: str, number: int) -> None:
    """Take the options from a run file, with all that click does to them; the fit itself is not begun."""
    from kernelweave.cli.failures import Failure
    from kernelweave.cli.fit import fit

    try:
        with fit.make_context("fit", ["--run", path]):
            pass
    except Failure as error:
        raise click.UsageError(str(error)) from None


def _use_kernel(path: str, number: int) -> None:
    kernel = kw.parse(Path(path).read_bytes().decode("utf-8", "surrogateescape"))
    text = repr(kernel)
    assert repr(kw.parse(text)) == text, "what prints cannot be typed back"


def _change_kernel(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    return mutate.mutate_bytes(data, rng, others, KERNEL_WORDS)


def _with_gzip(seeds: list[bytes]) -> list[bytes]:
    return [*seeds, gzip.compress(seeds[0], mtime=0)]


# -- genomes and variants ----------------------------------------------------------------------------------------------

BEDS = [
    b"track name=x\n#c\nchr1\t0\t20\tname\t0\t+\nchr1\t5\t15\tn\t0\t-\nchr2\t2\t9\n",
    b"chr1\t2\t16\tp\t0\t.\t1.5\t-1\t2e3\t4\nchr2\t0\t8\tp\t0\t-\t1\t-1\t-1\t-1\n",
    b"##gff-version 3\nchr1\tx\tgene\t3\t16\t.\t-\t.\tID=g\nchr2\tx\tgene\t1\t4\t.\t+\t0\tID=e\n",
]
VCF = (
    b"##fileformat=VCFv4.2\n##contig=<ID=chr1,length=40>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts1\n"
    b"chr1\t3\trs1\tG\tA,<DEL>\t.\tPASS\tDP=3;KW_REF=1\tGT\t0/1\nchr1\t8\t.\tT\tTGAT\t5\t.\t.\tGT\t1/1\n"
    b"chr1\t12\td\tTACG\tT\t.\t.\tX\tGT\t./.\nchr2\t4\t.\tT\t.\t.\t.\t.\tGT\t0/0\nchrM\t4\t.\tT\tC\t.\t.\t.\tGT\t0/0\n"
)
GENOME = {"chr1": "ACGTACGTacgtACGTNNACGATTACATTTGGGCCCATAT", "chr2": "GATTACAGATTACA"}
GENOME_TEXT = b">chr1 first\nACGTACGTac\ngtACGTNNAC\nGATTACATTT\nGGGCCCATAT\n>chr2\nGATTACAGAT\nTACA\n"
INDEX = b"chr1\t40\t12\t10\t11\nchr2\t14\t62\t10\t11\n"


def _bgzip(data: bytes) -> bytes:
    import io

    from kernelweave.io.bgzip import BgzipWriter

    out = io.BytesIO()
    writer = BgzipWriter(out)
    writer.write(data[:40])
    writer.write(data[40:])
    writer.close()
    return out.getvalue()


def _use_bed(path: str, number: int) -> None:
    """Read places and their letters: those that come are as many, and as long, as the rows say."""
    from kernelweave.io.bed import cut_out, read_intervals
    from kernelweave.io.genome import TextGenome

    found = read_intervals(path)
    letters = cut_out(TextGenome(GENOME), found)
    assert letters.lengths.tolist() == (found.ends - found.starts).tolist(), "other letters than were asked for"


@cache
def _variant_model() -> Any:
    return kw.MKLClassifier("Spectrum(k=3)").fit(["GATTACA", "TGATTAC", "CCCCCCC", "GGGGCCC"], [1, 1, 0, 0])


def _use_vcf(path: str, number: int) -> None:
    """Score a file: every allele has a score or is counted, and every row comes out as it went in but for INFO."""
    from kernelweave.explain.variants import VariantModel
    from kernelweave.io.genome import TextGenome
    from kernelweave.io.vcf import VcfReader, with_header, with_info

    model = VariantModel(_variant_model(), TextGenome(GENOME), background=2)
    with VcfReader(path) as reader:
        with_header(reader.header, {"KW_REF": b"##INFO=<ID=KW_REF>"}, b"KW_")
        for block in reader.blocks():
            found, before = model.effects(block), sum(model.skipped.counts.values())
            assert len(found.why) == sum(len(row.alts) for row in block)
            assert before >= int(np.isnan(found.delta).sum()), "an allele without a score was not counted"
            for row in block:
                new = with_info(row.line, {"KW_REF": "1"}, b"KW_").split(b"\t")
                old = row.line.split(b"\t")
                assert new[:7] + new[8:] == old[:7] + old[8:] or len(old) == 8, "a row was changed"


def _use_index(path: str, number: int) -> None:
    """Read a genome by a damaged index: the right letters, or a clean refusal."""
    import os

    from kernelweave.io.genome import open_genome

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", kw.errors.DataWarning)
        genome, index = Path(folder, "g.fa"), Path(folder, "g.fa.fai")
        genome.write_bytes(GENOME_TEXT)
        index.write_bytes(Path(path).read_bytes())
        os.utime(index, ns=(2**61, 2**61))
        with open_genome(genome) as found:
            for name, length in found.lengths.items():
                assert found.fetch(name, 0, length).tobytes().decode() == GENOME[name], "other letters"


def _use_genome(path: str, number: int) -> None:
    """Read a damaged genome at places: the letters that reading it through gives, or a clean refusal."""
    import shutil

    from kernelweave.io.fasta import iter_fasta
    from kernelweave.io.genome import open_genome

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "g.fa")
        shutil.copy(path, copy)
        with open_genome(copy) as found:
            read = {name: found.fetch(name, 0, length).tobytes() for name, length in found.lengths.items()}
        whole = {record.id: record.sequence for record in iter_fasta(copy)}
    for name, text in read.items():
        shown = text.decode("utf-8", "backslashreplace")
        plain = whole[name] if Path(path).read_bytes()[:2] != b"\x1f\x8b" else shown
        assert shown == plain, "other letters than by reading it through"


# -- models of other programs ------------------------------------------------------------------------------------------

GKM = [
    b"svm_type c_svc\nkernel_type wgkmrbf\nL 5\nk 3\nd 2\nnorc 0\ngamma 2\nM 50\nH 10\nnr_class 2\ntotal_sv 2\n"
    b"rho 0.125\nlabel 1 -1\nnr_sv 1 1\nSV\n0.5 ACGTACGATTAG\n-0.25 TTGACGNACC\n",
    b"svm_type epsilon_svr\nkernel_type gkm_esttrunc\nL 4\nk 2\nd 3\nnr_class 2\ntotal_sv 1\nrho -1\nSV\n1 GATTACA\n",
]


def _use_gkm(path: str, _: int) -> None:
    from kernelweave.estimators.converted import from_gkm

    model = from_gkm(path)
    values = model.decision_function(["ACGTACGTAC"]) if hasattr(model, "classes_") else model.predict(["ACGTACGTAC"])
    assert np.isfinite(values).all()


#: Errors that a reader may answer with.
CLEAN = (KernelweaveError, click.ClickException, FileNotFoundError)

TARGETS = {
    "model": Target(_model_seeds, _use_model, sealed=True),
    "model-crafted": Target(_model_seeds, _use_model, mutate.mutate_archive),
    "checkpoint": Target(_checkpoint_seeds, _read_checkpoint, sealed=True),
    "checkpoint-crafted": Target(_checkpoint_seeds, _go_on, mutate.mutate_archive),
    "packed": Target(_packed_seeds, _use_packed, sealed=True),
    "packed-crafted": Target(_packed_seeds, _use_packed, mutate.mutate_packed),
    "fasta": Target(lambda: _with_gzip([FASTA, PROTEIN]), _use_sequences),
    "fastq": Target(lambda: _with_gzip([FASTQ, FASTQ_CRLF]), _use_sequences),
    "table": Target(lambda: _with_gzip(TABLES), _use_table),
    "labels": Target(lambda: TABLES, _use_labels),
    "svmlight": Target(lambda: _with_gzip(SVMLIGHT), _use_svmlight),
    "regions": Target(lambda: _with_gzip(REGIONS), _use_regions),
    "gkm": Target(lambda: _with_gzip(GKM), _use_gkm),
    "bed": Target(lambda: _with_gzip(BEDS), _use_bed),
    "vcf": Target(lambda: [*_with_gzip([VCF]), VCF.replace(b"\n", b"\r\n")], _use_vcf),
    "fasta-index": Target(lambda: [INDEX], _use_index),
    "genome": Target(lambda: [*_with_gzip([GENOME_TEXT]), _bgzip(GENOME_TEXT)], _use_genome),
    "run": Target(lambda: RUNS, _use_run),
    "kernel": Target(lambda: KERNELS, _use_kernel, _change_kernel),
}
