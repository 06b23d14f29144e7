"""Reports of small tables of several kinds say nothing that their own numbers do not carry."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from benchmarks import page_answers, pages
from benchmarks.page_sentences import (
    explained,
    unexplained,
    with_plain_spaces,
    without_remainders,
)
from sklearn.datasets import load_wine

from suffice.evaluate.comparison import fit_times
from suffice.evaluate.comparison.caveats import Caveat
from suffice.present.report.blocks import Paragraph, Section


def exam():
    """Return one number and two classes."""
    rng = np.random.default_rng(0)
    hours = rng.uniform(0, 6, 60).round(2)
    passed = np.where(hours + rng.normal(size=60) > 3, "yes", "no")
    return pl.DataFrame({"hours": hours, "passed": passed}), "passed"


def wine():
    """Return thirteen numbers and three classes."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    return pl.DataFrame(X.assign(cultivar=y.map("ABC".__getitem__))), "cultivar"


def rare():
    """Return text, gaps, copies and a class that is mostly missed."""
    rng = np.random.default_rng(1)
    y = np.where(rng.random(300) < 0.1, "ill", "well")
    marker = rng.normal(size=300) + (y == "ill")
    frame = pl.DataFrame(
        {
            "marker": [None if i % 19 == 0 else round(m, 3) for i, m in enumerate(marker)],
            "site": rng.choice(["north", "south", "west"], 300),
            "state": y,
        }
    )
    return pl.concat([frame, frame[:40]]), "state"


def leak():
    """Return a column that gives the class away, and one with codes for unknown."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 4, 200)
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=200) + y,
            "later": y + 0.001 * rng.normal(size=200),
            "age": np.where(np.arange(200) % 50, rng.normal(40, 5, 200), -999.0),
            "kind": [f"class {k}" for k in y],
        }
    )
    return frame, "kind"


@pytest.mark.parametrize("table", [exam, wine, rare, leak])
def test_a_report_does_not_contradict_itself(table, tmp_path):
    frame, target = table()
    file = tmp_path / "table.csv"
    frame.write_csv(file)
    assert pages.failures(file, tmp_path, "--fast", "--target", target) == []


def test_estimated_times_of_models_left_out_are_figures(tmp_path, monkeypatch):
    monkeypatch.setitem(fit_times._SECONDS, "LDA", lambda _: 19.1397)
    monkeypatch.setitem(fit_times._SECONDS, "random forest", lambda _: 4e4)
    frame, target = exam()
    file = tmp_path / "table.csv"
    frame.write_csv(file)
    with pages.kept_report() as reports:
        assert pages.failures(file, tmp_path, "--fast", "--target", target) == []
    assert (
        "Not compared: LDA would take about 57 s and random forest would take about 33 h."
        in (reports[0].write("md"))
    )


def test_what_is_wrong_is_noticed(rare_report):
    answer = rare_report.answer
    wrong_class = replace(answer, headline=answer.headline.replace("class ill", "class well"))
    assert pages.named_class(replace(rare_report, answer=wrong_class))
    other = rare_report.comparison.against("decision tree")
    assert pages.stated_rule(replace(rare_report, comparison=other))
    page = '<p class="caution">The moon is full.</p>'
    assert len(pages.caveats_of_page(rare_report, page, "")) == 2
    assert pages.named_class(rare_report) == []
    assert pages.stated_rule(rare_report) == []


NUMBER = re.compile(r"\d[\d,.]*\d|\d")


@pytest.mark.parametrize("name", ["iris_report", "rare_report", "many_report"])
def test_any_other_number_in_any_sentence_of_the_first_screen_is_noticed(name, request):
    report = request.getfixturevalue(name)
    assert pages.stated_sentences(report) == []
    document = json.loads(report.write("json"))
    fragments = explained(document)
    names = pages.names_of(report)
    tried = 0
    for text in pages.sentences_of(report, document):
        sentence = with_plain_spaces(text)
        for match in NUMBER.finditer(sentence):
            if re.search(r"class(es)? [\w ,]*$", sentence[: match.start()]):
                continue  # the name of a class
            other = match[0][:-1] + str((int(match[0][-1]) + 1) % 10)
            wrong = sentence[: match.start()] + other + sentence[match.end() :]
            assert unexplained(wrong, fragments, names), wrong
            tried += 1
    assert tried > 30


def test_a_word_that_the_numbers_do_not_carry_is_noticed(rare_report):
    answer = rare_report.answer
    for word, other in (("significantly more", "no more"), ("misses", "finds")):
        assert word in answer.headline
        wrong = replace(answer, headline=answer.headline.replace(word, other, 1))
        assert pages.stated_sentences(replace(rare_report, answer=wrong))


def test_recalls_are_counted_again(rare_report):
    assert pages.counted_rows(rare_report) == []
    standing = rare_report.answer.standing
    first = replace(standing.recalls[0], n_found=standing.recalls[0].n_found + 1)
    recalls = (first, *standing.recalls[1:])
    other = replace(rare_report.answer, standing=standing._replace(recalls=recalls))
    assert pages.counted_rows(replace(rare_report, answer=other))


def test_a_wrong_reason_and_a_wrong_caveat_are_noticed(rare_report):
    answer = rare_report.answer
    log_loss = rare_report.comparison[answer.model].log_loss
    for reason in (
        f"Why {answer.model}: least log-loss ({log_loss + 0.01:.3f}).",
        "Decision tree makes fewer errors (1.2 %), but cannot be written as a single tree.",
        "Why the moon: least log-loss (0.100).",
    ):
        other = replace(answer, reasons=(reason,))
        assert pages.stated_sentences(replace(rare_report, answer=other))
    caveat = Caveat("few rows", "serious", "There are only 12 rows.", figures={"n_rows": 13})
    other = replace(answer, caveat_details=(caveat,), caveats=(caveat.sentence,))
    assert pages.stated_sentences(replace(rare_report, answer=other))
    other = replace(answer, caveats=(*answer.caveats, "The moon is full."))
    (lacking,) = pages.stated_sentences(replace(rare_report, answer=other))
    assert "has no numbers of its own" in lacking


def test_a_number_of_another_paragraph_that_no_field_holds_is_noticed(rare_report):
    assert pages.other_sentences(rare_report) == []
    strange = Section("why", "Why", (Paragraph("It has 987.654 parameters."),))
    other = replace(rare_report, sections=(*rare_report.sections, strange))
    (found,) = pages.other_sentences(other)
    assert found.startswith("987.654")


def test_the_rest_of_a_list_and_a_name_in_quotes_are_no_numbers_of_their_own():
    text = "these are left out: x1 (2 levels), x2 (2 levels) and 30 more."
    assert (
        without_remainders(text, {"32"}) == "these are left out: x1 (2 levels), x2 (2 levels)."
    )
    assert without_remainders(text, {"30"}) == text
    assert unexplained("columns left out: 'x16' (constant)", [], ["a"]) == []
    assert unexplained("columns left out: x16 and 4", [], ["a"]) == ["16", "4"]


def test_often_missed_classes_are_named_as_their_recalls_say(rare_report):
    document = json.loads(rare_report.write("json"))
    classes = [{"class": f"{k} to {k + 1}", "n_rows": 9, "n_found": 5} for k in range(8)]
    said = "it misses more than a third of classes 0 to 1, 1 to 2, 2 to 3, 3 to 4, 4 to 5 and"
    fragments = explained(document | {"classes": classes})
    assert f"{said} 3 more" in fragments
    classes[0]["n_found"] = 6
    assert f"{said} 3 more" not in explained(document | {"classes": classes})


def test_a_choice_that_no_fold_makes_again_needs_a_caveat(rare_report):
    assert pages.unstable_choice(rare_report) == []
    comparison = replace(rare_report.comparison, data_caveats=())
    comparison.__dict__["choice"] = replace(comparison.choice, choices=("tree",) * 5, low=0.0)
    (found,) = [each for each in comparison.caveats if each.code == "choice"]
    assert "in none of 5 folds. Instead, the folds choose tree." in found.sentence
    assert pages.unstable_choice(replace(rare_report, comparison=comparison)) == []


def test_useless_posteriors_are_noticed_where_another_model_has_usable_ones(rare_report):
    assert pages.useless_posteriors(rare_report) == []
    tree = rare_report.comparison.against("decision tree")
    found = pages.useless_posteriors(replace(rare_report, comparison=tree))
    assert any("has useless posteriors" in each for each in found)


def test_another_verdict_or_advice_than_the_rule_gives_is_noticed(rare_report):
    document = json.loads(rare_report.write("json"))
    assert page_answers.usable(document) == []
    for other in {"yes", "with care", "no"} - {document["usable"]}:
        assert page_answers.usable(document | {"usable": other})
    collect = "Next: collect more rows of class {} before you rely on the model."
    assert page_answers.advice(document | {"next": collect.format("ill")}) == []
    assert len(page_answers.advice(document | {"next": collect.format("well")})) == 2


def test_useless_posteriors_and_equal_shares_are_noticed(rare_report):
    document = json.loads(rare_report.write("json"))
    assert page_answers.useful_posteriors(document) == []
    rule = document["choice_rule"]
    name = document["recommended"]
    assert set(rule["unbeaten_by_error"]) > {name}
    worse = rule | {"losses": rule["losses"] | {name: 9.0}}
    assert page_answers.useful_posteriors(document | {"choice_rule": worse})
    caveat = {"code": "calibration", "sentence": "it gives 70.0 % and is right in {} %."}
    for observed, n_wrong in (("60.0", 0), ("70.0", 1)):
        told = caveat | {"sentence": caveat["sentence"].format(observed)}
        assert len(page_answers.calibration({"caveat_details": [told]})) == n_wrong


def test_what_a_channel_or_a_folded_part_lacks_is_noticed(rare_report):
    answer = rare_report.answer
    assert (
        page_answers.every_channel(rare_report, f"{answer.headline} {answer.next_step}") == []
    )
    assert len(page_answers.every_channel(rare_report, answer.headline)) == 1
    assert page_answers.folded_parts(rare_report) == []
    assert page_answers.row_numbers(rare_report) == []
    sections = [replace(each, more=f"{each.more}, outliers") for each in rare_report.sections]
    assert page_answers.folded_parts(replace(rare_report, sections=tuple(sections)))
    sections = [replace(each, more="") for each in rare_report.sections]
    assert page_answers.folded_parts(replace(rare_report, sections=tuple(sections)))
