"""AnnData, MuData and Arrow data sets: parts as views, and scores back."""

import numpy as np
import pytest
from scipy import sparse

from kernelweave import RBF, InputError, Linear, MKLClassifier, MKLRegressor, from_anndata, to_obs
from kernelweave.presence import absent

N = 40
#: anndata itself warns of what the next pandas will do.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def tables(seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 2
    genes = sparse.csr_matrix(rng.poisson(1.0 + y[:, None], size=(N, 6)).astype(np.float32))
    return y, genes, rng.normal(size=(N, 3)) + y[:, None]


def annotated(rows=slice(None), feature="gene"):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    pd = pytest.importorskip("pandas")
    y, genes, pca = tables()
    names = [f"cell{i}" for i in range(N)]
    obs = pd.DataFrame({"age": np.linspace(20, 60, N), "sex": ["f", "m"] * (N // 2), "kind": y}, index=names)
    data = anndata.AnnData(genes, obs=obs, obsm={"X_pca": pca}, layers={"log": genes.log1p()})
    data.var_names = [f"{feature}{i}" for i in range(6)]
    return data[names[rows] if isinstance(rows, slice) else [names[i] for i in rows]].copy()


def test_parts_are_views():
    data = annotated()
    X = from_anndata(data)
    assert list(X) == ["X", "X_pca"]
    assert list(X.names) == list(data.obs_names)
    places = {"genes": "X", "log": "layers/log", "pca": "obsm/X_pca", "who": "obs/age,sex"}
    X = from_anndata(data, places)
    assert list(X) == list(places)
    np.testing.assert_array_equal(X["log"].toarray(), data.layers["log"].toarray())
    np.testing.assert_array_equal(X["who"]["age"], data.obs["age"])
    model = MKLClassifier().fit(X, data.obs["kind"])
    assert model.score(X, data.obs["kind"]) > 0.8


def test_scores_go_back():
    data = annotated()
    X = from_anndata(data)
    kernel = Linear().on("X") + RBF(0.1).on("X_pca")
    to_obs(data, MKLClassifier(kernel, probability=True).fit(X, data.obs["kind"]), X, "ours")
    assert {"ours", "ours_score", "ours_probability"} <= set(data.obs)
    assert ((data.obs["ours_score"] > 0) == (data.obs["ours"] == 1)).all()
    to_obs(data, MKLClassifier(kernel).fit(X, np.arange(N) % 3), X, "three")
    assert {"three_score_0", "three_score_1", "three_score_2"} <= set(data.obs)
    to_obs(data, MKLRegressor(kernel).fit(X, data.obs["age"]), X, "years")
    assert [name for name in data.obs if name.startswith("years")] == ["years"]
    with pytest.raises(InputError, match="40 samples in obs, and 3"):
        to_obs(data, MKLRegressor(kernel).fit(X, data.obs["age"]), X[:3])


def test_modalities_some_samples_lack():
    mudata = pytest.importorskip("mudata", reason="mudata is not installed")
    some = np.random.default_rng(0).permutation(N)[:30]
    data = mudata.MuData({"rna": annotated(), "atac": annotated(some, "peak")})
    X = from_anndata(data)
    assert list(X) == ["rna", "atac"]
    assert list(X.names) == list(data.obs_names)
    assert absent(X.as_views().select("atac")).sum() == 10
    np.testing.assert_array_equal(X["rna"].toarray(), data["rna"][list(X.names)].X.toarray())
    model = MKLClassifier((Linear().on("rna") + Linear().on("atac")).if_missing()).fit(X, np.arange(N) % 2)
    to_obs(data, model, X)
    assert len(data.obs["kernelweave"]) == N
    assert list(from_anndata(data, ["rna/obsm/X_pca", "atac/layers/log"])) == ["rna/obsm/X_pca", "atac/layers/log"]


def test_errors_name_the_places():
    data = annotated()
    with pytest.raises(InputError, match=r"There is no 'obsm/X_umap'.*'layers/log', 'obsm/X_pca', 'obs/age'"):
        from_anndata(data, ["obsm/X_umap"])
    with pytest.raises(InputError, match="names places"):
        from_anndata(data, [])


def test_only_these_are_read():
    with pytest.raises(InputError, match="reads AnnData and MuData"):
        from_anndata(np.eye(3))


def test_arrow_data_sets(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    dataset = pytest.importorskip("pyarrow.dataset")
    y, _, pca = tables()
    for part in range(2):
        rows = slice(20 * part, 20 * part + 20)
        columns = {"a": pca[rows, 0], "b": pca[rows, 1], "sex": ["f", "m"] * 10}
        parquet.write_table(pa.table(columns), tmp_path / f"part{part}.parquet")
    X = dataset.dataset(tmp_path)
    model = MKLClassifier().fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), MKLClassifier().fit(X.to_table(), y).decision_function(X))
    assert list(model.feature_names_in_) == ["a", "b", "sex"]
