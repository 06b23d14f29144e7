"""Every row and every informative column of an ordinary file counts."""

import datetime

import numpy as np
import polars as pl
import pytest

import suffice as sf
from suffice.data.summarize import summarize
from suffice.errors import InvalidInputError, SufficeWarning

DAY = datetime.date(1970, 1, 11)


@pytest.fixture(scope="module")
def mixed():
    """Return numbers with holes, text, Booleans, and a target that depends on them."""
    rng = np.random.default_rng(3)
    n = 400
    colour = rng.choice(["red", "green", "blue"], n)
    member = rng.random(n) < 0.4
    y = np.where((colour == "red") ^ member ^ (rng.random(n) < 0.1), "yes", "no")
    size = rng.normal(size=n) + (y == "yes")
    holes = rng.random(n) < 0.15
    return pl.DataFrame(
        {
            "size": pl.Series(size).set(pl.Series(holes), None),
            "colour": pl.Series(colour).set(pl.Series(rng.random(n) < 0.05), None),
            "member": member,
            "weight_kg": rng.normal(size=n),
            "y": y,
        }
    )


def features(frame):
    return frame.drop("y")


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "jsonl"])
def test_a_file_gives_the_sums_of_its_frame(mixed, write, ending):
    m = summarize(write(mixed, f"d.{ending}"), target="y")
    whole = sf.Moments.of(features(mixed), mixed["y"].to_list())
    assert m.feature_names == whole.feature_names
    assert m.counts.sum() == 400
    np.testing.assert_allclose(m.means, whole.means, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(m.scatters, whole.scatters, rtol=1e-10, atol=1e-10)


def test_blocks_of_rows_add_up_to_the_whole(mixed, write, monkeypatch):
    path = write(mixed, "d.csv")
    whole = summarize(path, target="y")
    monkeypatch.setattr("suffice.data.rows.loading.rows_per_block", lambda _: 37)
    parts = summarize(path, target="y")
    assert parts.schema == whole.schema
    np.testing.assert_allclose(parts.means, whole.means, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(parts.scatters, whole.scatters, rtol=1e-9, atol=1e-9)


def test_levels_that_come_late_join_the_others(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("x,c,y\n" + "1,a,u\n2,b,v\n" * 6000 + "3,z,u\n4,,v\n")
    m = summarize(path, target="y")
    assert m.feature_names == ("x", "c=a", "c=b", "c=z", "c=(missing)")
    assert (m.weights @ m.means)[1:] == pytest.approx([6000, 6000, 1, 1])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_of_a_file_are_those_of_its_frame(mixed, write, tmp_path, ending):
    path = write(mixed, f"d.{ending}")
    model = sf.LDA().fit_moments(summarize(path, target="y"))
    model.save(tmp_path / "m.suffice")
    loaded = sf.load(tmp_path / "m.suffice")
    done = sf.streams.predict_stream(loaded, path, tmp_path / "out.csv")
    assert (done.rows, done.unanswered) == (400, 0)
    found = pl.read_csv(tmp_path / "out.csv")
    expected = loaded.model_.allowing_missing().posterior(features(mixed))
    np.testing.assert_allclose(found[["p_no", "p_yes"]].to_numpy(), expected, atol=1e-12)
    assert (found["label"] == mixed["y"]).mean() > 0.6


def test_an_unknown_level_and_an_empty_row_have_answers(mixed, write, tmp_path):
    model = sf.LDA().fit_moments(summarize(write(mixed, "d.csv"), target="y"))
    new = tmp_path / "new.csv"
    new.write_text("size,colour,member,weight_kg\n1.5,violet,true,0\n,,,\n")
    with pytest.warns(
        SufficeWarning,
        match=r"not in the training rows count as missing values: 'colour' \(1\)",
    ):
        done = sf.streams.predict_stream(model, new, tmp_path / "out.csv")
    assert done.unanswered == 0
    prior = pl.read_csv(tmp_path / "out.csv")["p_yes"][1]
    assert 0 < prior < 1


def test_dates_count_as_days_and_that_is_said(write, tmp_path):
    days = [DAY + datetime.timedelta(days=k % 5) for k in range(40)]
    frame = pl.DataFrame({"day": days, "y": ["u", "v"] * 20})
    for ending in ("csv", "parquet"):
        with pytest.warns(SufficeWarning, match="days since 1970: 'day'"):
            m = summarize(write(frame, f"d.{ending}"), target="y")
        assert m.feature_names == ("day",)
        assert m.means.ravel().tolist() == [12.0, 12.0]


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["04.08.2023", "14.08.2023"], [19573, 19583]),
        (["2023-08-04 12:00", "2023-08-14 00:00"], [19573.5, 19583]),
        (["8/4/2023", "8/14/2023"], [19573, 19583]),
    ],
)
def test_dates_are_read_as_they_are_written(tmp_path, cells, days):
    (tmp_path / "d.csv").write_text(
        "day,y\n" + "".join(f"{c},{y}\n" for c, y in zip(cells, "uv", strict=True))
    )
    with pytest.warns(SufficeWarning, match="days since 1970"):
        assert summarize(tmp_path / "d.csv", target="y").means.ravel().tolist() == days


def test_dates_that_may_be_two_stay_text(tmp_path):
    (tmp_path / "d.csv").write_text("day,y\n" + "4/8/2023,u\n5/8/2023,v\n" * 3)
    with pytest.warns(SufficeWarning, match="day/month or month/day"):
        names = summarize(tmp_path / "d.csv", target="y").feature_names
    assert names == ("day=4/8/2023", "day=5/8/2023")


def test_what_tells_nothing_is_left_out_and_named(write):
    n = 120
    frame = pl.DataFrame(
        {
            "x": np.arange(n) % 7 + 0.5,
            "row_id": range(n),
            "note": [f"free text {i}" for i in range(n)],
            "site": ["A"] * n,
            "version": [3] * n,
            "blank": pl.Series([None] * n, dtype=pl.String),
            "y": ["u", "v"] * (n // 2),
        }
    )
    with pytest.warns(SufficeWarning) as said:
        assert summarize(write(frame, "d.parquet"), target="y").feature_names == (
            "x",
            "version",
        )
    (text,) = (str(w.message) for w in said)
    for part in ("'site' (constant)", "'blank' (empty)", "'row_id', 'note' (ids)"):
        assert part in text


def test_free_text_that_repeats_now_and_then_is_left_out(write):
    frame = pl.DataFrame(
        {
            "x": [0.5, 1.5] * 60,
            "note": [f"text {max(i, 3)}" for i in range(120)],
            "y": ["u", "v", "v"] * 40,
        }
    )
    with pytest.warns(SufficeWarning, match="'note' \\(nearly all texts differ\\)"):
        assert summarize(write(frame, "d.parquet"), target="y").feature_names == ("x",)


def test_numbers_may_be_named_as_categories(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("zone,x,y\n" + "1,2,u\n2,3,v\n3+,5,u\n" * 5)
    with pytest.raises(InvalidInputError, match=r"'zone' mixes .* such as '3\+' in row 2"):
        summarize(path, target="y")
    m = summarize(path, target="y", columns=sf.Columns(categorical=["zone"]))
    assert m.feature_names == ("x", "zone=1", "zone=2", "zone=3+")
    path.write_text("zone,x,y\n" + "1,2,u\n2,3,v\n3,5,u\n" * 5)
    m = summarize(path, target="y", columns=sf.Columns(categorical=["zone"]))
    assert m.feature_names == ("x", "zone=1", "zone=2", "zone=3")


def test_levels_that_differ_by_blanks_or_case_are_said(tmp_path):
    (tmp_path / "d.csv").write_text("c,y\n" + "Red,u\nred,v\nblue,u\n" * 3)
    with pytest.warns(SufficeWarning, match="'Red' and 'red' differ only by blanks or case"):
        summarize(tmp_path / "d.csv", target="y")


def test_labels_that_do_so_are_refused(write):
    frame = pl.DataFrame({"x": range(12), "y": [" u", "u", "v", "V"] * 3})
    with pytest.raises(InvalidInputError, match="' u' and 'u' and 'V' and 'v'"):
        summarize(write(frame, "d.parquet"), target="y")
    plain = frame.with_columns(pl.col("y").replace("V", "v"))
    assert (
        summarize(write(plain, "d.csv"), target="y").n_classes == 2
    )  # cells of text are stripped


def test_many_levels_are_the_frequent_ones_and_the_rest(write):
    codes = [f"c{min(i // 3, i % 60)}" for i in range(600)]
    frame = pl.DataFrame({"c": codes, "y": ["u", "v"] * 300})
    with pytest.warns(SufficeWarning, match="the 39 most frequent are kept"):
        m = summarize(write(frame, "d.parquet"), target="y")
    assert m.n_features == 40
    assert m.weights @ m.means @ np.ones(40) == pytest.approx(600)


def test_a_column_that_is_a_number_in_another_file_is_named(tmp_path):
    (tmp_path / "p1.csv").write_text("c,y\na,u\nb,v\n")
    (tmp_path / "p2.csv").write_text("c,y\n1,u\n2,v\n")
    with pytest.raises(
        InvalidInputError, match=r"'c' holds numbers in .*p2\.csv but text in .*p1"
    ):
        summarize(f"{tmp_path}/p*.csv", target="y")


def test_text_among_numbers_far_down_is_named_with_its_file(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("x,y\n" + "1,u\n2,v\n" * 6000 + "oops,u\n")
    with pytest.raises(InvalidInputError, match=r"d\.csv: column 'x' holds 'oops'"):
        summarize(path, target="y")


def test_a_table_of_text_alone_is_learnt_from(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a,b,y\n" + "p,q,u\nr,q,v\np,s,u\n" * 4)
    assert summarize(path, target="y").n_features == 4


def test_an_infinite_number_is_refused_and_may_be_declared_missing(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("x,c,y\n1,a,u\ninf,b,v\n2,b,v\n,a,u\n")
    with pytest.raises(
        InvalidInputError, match=r"contains infinity: row 1 .counted from 0., column 'x'"
    ):
        summarize(path, target="y")
    known = sf.TextFormat(na_values=["inf"])
    assert summarize(path, target="y", text=known).counts.sum() == 4


@pytest.mark.parametrize(
    "levels", [("1.50", "XL"), ("50%", "none"), ("true", "maybe"), ("1e3", "x")]
)
def test_a_level_is_the_same_whatever_other_rows_are_there(levels, tmp_path):
    rows = "".join(f"{i % 7},{levels[(i // 5 + i) % 2]},{'uv'[i % 2]}\n" for i in range(60))
    (tmp_path / "rows.csv").write_text(f"x,c,t\n{rows}")
    sums = sf.summarize(tmp_path / "rows.csv", "t", columns=sf.Columns(categorical=["c"]))
    model = sf.GaussianNB().fit_moments(sums)
    answers = {}
    for new in (levels[:1], levels):
        lines = "".join(f"3,{level}\n" for level in new)
        (tmp_path / "new.csv").write_text(f"x,c\n{lines}")
        sf.streams.predict_stream(model, tmp_path / "new.csv", tmp_path / "out.csv")
        answers[new] = pl.read_csv(tmp_path / "out.csv")["p_u"]
    assert answers[levels[:1]][0] == answers[levels][0] != answers[levels][1]


def test_numbers_that_are_levels_are_known_however_they_are_written(tmp_path):
    rows = "".join(f"{i % 7},{1 + (i // 5 + i) % 2},{'uv'[i % 2]}\n" for i in range(60))
    (tmp_path / "rows.csv").write_text(f"x,c,t\n{rows}")
    sums = sf.summarize(tmp_path / "rows.csv", "t", columns=sf.Columns(categorical=["c"]))
    model = sf.GaussianNB().fit_moments(sums)
    (tmp_path / "new.csv").write_text("x,c\n3,1.0\n3,2.00\n")
    sf.streams.predict_stream(model, tmp_path / "new.csv", tmp_path / "out.csv")
    expected = model.predict_proba(pl.DataFrame({"x": [3, 3], "c": ["1", "2"]}))
    assert pl.read_csv(tmp_path / "out.csv")["p_u"].to_list() == pytest.approx(expected[:, 0])


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_category_without_any_value_has_answers(mixed, write, tmp_path, ending):
    model = sf.LDA().fit_moments(summarize(mixed, "y"))
    empty = features(mixed).head(3).with_columns(colour=pl.lit(None, pl.Null))
    done = sf.streams.predict_stream(
        model, write(empty, f"new.{ending}"), tmp_path / "out.csv"
    )
    assert (done.rows, done.unanswered) == (3, 0)
