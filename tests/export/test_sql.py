"""Queries answer like the models they were written from, on every engine."""

import numpy as np
import polars as pl
import pytest
from tests.data.sql.conftest import HOSTILE, copied_in
from tests.export.models import MODELS, fitted, rows

import suffice as sf
from suffice.errors import FeatureMismatchError, InvalidParameterError
from suffice.estimators.logistic import LogisticRegression
from suffice.export.sql import to_ibis, to_sql


def run(database, query):
    """Return the answer of a database to a query, by id."""
    if database.name == "duckdb":
        answer = database.con.execute(query).fetch_arrow_table()
        return pl.DataFrame(answer).sort("id")
    cursor = database.con.cursor()
    cursor.execute(query)
    names = [column[0] for column in cursor.description]
    return pl.DataFrame(cursor.fetchall(), schema=names, orient="row").sort("id")


def as_frame(X, columns):
    numbers = {name: X[:, j] for j, name in enumerate(columns)}
    return pl.DataFrame({"id": np.arange(len(X)), **numbers})


def same_labels(got, expected):
    """Return whether labels agree, a refused row being NULL or NaN."""
    wanted = [None if value != value else value for value in expected.tolist()]
    return [None if value is None else value for value in got] == wanted


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_query_answers_like_the_model(database, filled, name):
    model, X = fitted(name)
    columns = [f"x {j}" for j in range(X.shape[1])]
    filled(as_frame(X, columns))
    answer = run(database, to_sql(model, "rows", database.name, columns=columns, keep=["id"]))
    assert same_labels(answer["label"].to_list(), model.predict(X))
    if hasattr(model, "predict_proba"):
        posterior = answer.select(f"p_{label}" for label in model.classes_).to_numpy()
        np.testing.assert_allclose(posterior, model.predict_proba(X), rtol=0, atol=1e-10)
    else:
        scores = answer.drop("id", "label").to_numpy()
        expected = model.decision_function(X)
        np.testing.assert_allclose(
            scores.reshape(expected.shape), expected, rtol=1e-9, atol=1e-10
        )


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_hostile_names_and_labels_are_only_names(database, filled):
    X, y = rows(0, 3, len(HOSTILE))
    labels = np.array(["it's", 'say "x"; --', "日本語 \\ %s"])[y]
    frame = as_frame(X, HOSTILE)
    model = sf.LDA().fit(frame.select(HOSTILE).to_pandas(), labels)
    filled(frame, 'ta"ble; --')
    answer = run(database, to_sql(model, 'ta"ble; --', database.name, keep=["id"]))
    assert (
        answer["label"].to_list() == model.predict(frame.select(HOSTILE).to_pandas()).tolist()
    )
    assert set(answer.columns) == {
        "id",
        "label",
        *(f"p_{label}" for label in np.unique(labels)),
    }


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_a_row_without_scores_has_no_answer(database, filled):
    X, y = rows(1, 3, 2)
    gaps = X[:4].copy()
    gaps[1, 0], gaps[2, 1] = np.nan, np.inf
    columns = ["a", "b"]
    frame = as_frame(gaps, columns).with_columns(
        pl.when(pl.col("id") == 3).then(None).otherwise("a").alias("a")
    )
    filled(frame)
    for model, n_empty in (
        (sf.QDA(priors=[0.5, 0.5, 0.0]), 1),  # holes are integrated out, infinity is refused
        (sf.LDA(), 1),
        (sf.QDA(costs=sf.Costs(reject=0.2)), 1),
        (LogisticRegression(), 3),
    ):
        query = to_sql(model.fit(X, y), "rows", database.name, columns=columns, keep=["id"])
        answer = run(database, query)
        assert answer.select("p_0", "p_1", "p_2").null_count().row(0) == (n_empty,) * 3
        assert answer["label"][2] is None
        assert None not in answer.row(0)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_truth_values_count_as_one_and_zero(database, filled):
    rng = np.random.default_rng(9)
    flag = rng.random(60) > 0.5
    frame = pl.DataFrame({"id": np.arange(60), "flag": flag, "x": rng.normal(size=60) + flag})
    X = frame.select("flag", "x").cast(float).to_pandas()
    model = sf.LDA().fit(X, np.where(rng.random(60) > 0.3, flag, ~flag))
    table = filled(frame)
    answer = run(
        database, to_sql(model, "rows", database.name, keep=["id"], booleans=["flag"])
    )
    assert same_labels(map(bool, answer["label"]), model.predict(X))
    by_ibis = pl.DataFrame(to_ibis(model, table).to_pyarrow()).sort("id")
    np.testing.assert_allclose(by_ibis["p_True"], model.predict_proba(X)[:, 1], atol=1e-10)


def test_a_column_that_the_table_lacks_is_never_read_as_another_or_as_text(database, filled):
    X, y = rows(11, 2, 2)
    model = sf.LDA().fit(as_frame(X, ["x1", "x0"]).select("x1", "x0").to_pandas(), y)
    filled(as_frame(X[:, :1], ["x1"]))
    with pytest.raises(Exception, match="x0"):
        run(database, to_sql(model, "rows", database.name, keep=["id"]))


@pytest.mark.parametrize("text", ["", "?", "nan", "1,5", "2024-01-01"])
def test_text_that_is_no_number_is_not_observed_in_sqlite(sqlite, text):
    X, y = rows(12, 2, 2)
    model = sf.LDA().fit(X, y)
    sqlite.con.execute("CREATE TABLE texts (id INTEGER, a TEXT, b TEXT)")
    row = [0, text, " 1e0 "], [1, None, "1"], [2, str(2**53 + 1), "1"]
    sqlite.con.executemany("INSERT INTO texts VALUES (?, ?, ?)", row)
    answer = run(sqlite, to_sql(model, "texts", "sqlite", columns=["a", "b"], keep=["id"]))
    expected = model.predict_proba([[np.nan, 1.0], [np.nan, 1.0], [2.0**53, 1.0]])
    np.testing.assert_allclose(answer.select("p_0", "p_1").to_numpy(), expected, atol=1e-9)


def test_names_that_are_one_to_the_engine_are_refused():
    X, y = rows(13, 2, 2)
    twins = sf.LDA().fit(as_frame(X, ["a", "A"]).select("a", "A").to_pandas(), y)
    labels = sf.LDA().fit(X, np.array(["Yes", "yes"])[y])
    for dialect in ("duckdb", "sqlite"):
        with pytest.raises(
            InvalidParameterError, match="'a' and 'A' of the table are one name"
        ):
            to_sql(twins, "rows", dialect)
        with pytest.raises(InvalidParameterError, match="'p_Yes' and 'p_yes' of the answer"):
            to_sql(labels, "rows", dialect, columns=["a", "b"])
    assert to_sql(twins, "rows", "postgres")
    assert to_sql(labels, "rows", "postgres", columns=["a", "b"])


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
@pytest.mark.parametrize("kind", [np.int64, np.float64, bool])
def test_numbers_beside_a_reject_label_of_text_are_written_as_text(database, filled, kind):
    X, y = rows(14, 2, 2)
    model = sf.LDA(costs=sf.Costs(reject=0.3, reject_label="unsure")).fit(X, y.astype(kind))
    filled(as_frame(X, ["a", "b"]))
    query = to_sql(model, "rows", database.name, columns=["a", "b"], keep=["id"])
    expected = [str(label) for label in model.predict(X).tolist()]
    assert run(database, query)["label"].to_list() == expected
    assert "unsure" in expected


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_numbers_that_are_categories_are_known_however_the_engine_spells_them(
    database, filled
):
    rng = np.random.default_rng(16)
    levels = np.array([1e20, 1e15, 1e-7, -2.5, 3.0, 0.1 + 0.2, 12345678901234567.0])
    codes, x = rng.integers(0, len(levels), 200), rng.normal(size=200)
    frame = pl.DataFrame({"id": np.arange(200), "x": x, "level": levels[codes]})
    X = frame.select("x", "level")
    model = sf.LDA(categorical=["level"]).fit(X, (codes + (x > 0)) % 3)
    filled(frame)
    answer = run(database, to_sql(model, "rows", database.name, keep=["id"]))
    posterior = answer.select("p_0", "p_1", "p_2").to_numpy()
    np.testing.assert_allclose(posterior, model.predict_proba(X), rtol=0, atol=1e-10)


def test_labels_that_sqlite_would_round_are_refused():
    X, y = rows(15, 2, 2)
    model = sf.LDA().fit(X, np.array([1, 2**64 - 1], np.uint64)[y])
    with pytest.raises(InvalidParameterError, match="SQLite has no integer as large as"):
        to_sql(model, "rows", "sqlite", columns=["a", "b"])


def test_a_column_name_that_postgres_cuts_still_works(postgres):
    X, y = rows(8, 2, 1)
    long = "ü" * 60
    frame = as_frame(X, [long])
    copied_in(postgres, frame, "rows")
    model = sf.LDA().fit(frame.select(long).to_pandas(), y)
    answer = run(postgres, to_sql(model, "rows", "postgres", keep=["id"]))
    assert answer["label"].to_list() == model.predict(frame.select(long).to_pandas()).tolist()


def test_an_ibis_expression_answers_like_the_model(database, filled):
    X, y = rows(2, 4, 3)
    frame = as_frame(X, ["a", "b", "c"])
    model = sf.QDA().fit(frame.select("a", "b", "c").to_pandas(), y)
    answers = to_ibis(model, filled(frame))
    wanted = answers.filter(answers["p_2"] > 0.5).select("id", "label", "p_2")
    got = pl.DataFrame(wanted.to_pyarrow()).sort("id")
    posterior = model.predict_proba(frame.select("a", "b", "c").to_pandas())
    rows_of_2 = np.flatnonzero(posterior[:, 2] > 0.5)
    assert got["id"].to_list() == rows_of_2.tolist()
    np.testing.assert_allclose(got["p_2"].to_numpy(), posterior[rows_of_2, 2], atol=1e-10)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_a_linear_query_of_a_thousand_features_is_not_too_deep(database, filled):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(50, 1000)), np.arange(50) % 2
    columns = [f"x{j}" for j in range(1000)]
    model = sf.GaussianClassifier(covariance="diagonal", tied=True).fit(X, y)
    filled(as_frame(X, columns))
    query = to_sql(model, "rows", database.name, columns=columns, keep=["id"])
    assert run(database, query)["label"].to_list() == model.predict(X).tolist()


def test_a_quadratic_query_of_too_many_features_is_refused_with_the_cure():
    model = sf.QDA(shrinkage=0.5).fit(*rows(4, 2, 31))
    columns = [f"x{j}" for j in range(31)]
    with pytest.raises(
        InvalidParameterError, match=r"31 features is too long for SQL.*to_onnx"
    ):
        to_sql(model, "rows", "duckdb", columns=columns)


def test_what_cannot_be_written_is_said():
    X, y = rows(5, 2, 2)
    model = sf.LDA().fit(X, y)
    with pytest.raises(FeatureMismatchError, match=r"name its 2 columns.*columns=\[\.\.\.\]"):
        to_sql(model, "rows")
    with pytest.raises(FeatureMismatchError, match="3 columns are named"):
        to_sql(model, "rows", columns=["a", "b", "c"])
    with pytest.raises(InvalidParameterError, match="dialect must be one of 'duckdb'"):
        to_sql(model, "rows", "cobol", columns=["a", "b"])
    with pytest.raises(InvalidParameterError, match="set a prefix for the prediction columns"):
        to_sql(model, "rows", columns=["a", "b"], keep=["label"])
    with pytest.raises(InvalidParameterError, match="NUL character"):
        to_sql(model, "ro\0ws", columns=["a", "b"])
    long = sf.LDA().fit(X, np.where(y, "x" * 70, "y"))
    with pytest.raises(InvalidParameterError, match="more than 63 bytes, which PostgreSQL"):
        to_sql(long, "rows", "postgres", columns=["a", "b"])


def test_more_classes_than_an_answer_has_columns_are_refused_with_the_cure():
    y = np.arange(3400) % 1700
    model = sf.LDA().fit((y + np.sin(np.arange(3400.0)))[:, None], y)
    assert to_sql(model, "rows", "duckdb", columns=["a"])
    for dialect, limit in (("postgres", 1664), ("sqlite", 2000)):
        with pytest.raises(InvalidParameterError, match=f"takes up to {limit}.*to_onnx"):
            to_sql(model, "rows", dialect, columns=["a"], keep=[f"k{j}" for j in range(400)])


def test_one_name_is_not_read_letter_by_letter():
    model = sf.LDA().fit(*rows(7, 2, 1))
    one, listed = (
        to_sql(model, "rows", columns=each("flag"), keep=each("id"), booleans=each("flagged"))
        for each in (str, lambda name: [name])
    )
    assert one == listed
    assert 'CAST(suffice_rows."flag" AS DOUBLE)' in one
    assert 'suffice_rows."id"' in one


def test_a_schema_and_a_prefix_are_written():
    model = sf.LDA().fit(*rows(7, 2, 1))
    query = to_sql(model, ["main", "rows"], "sqlite", columns=["a"], prefix="lda_")
    assert 'FROM "main"."rows"' in query
    assert '"lda_label"' in query
    assert '"lda_p_0"' in query
