"""Every sentence of a report's first screen and verdict that the numbers of its JSON allow.

``explained`` writes these sentences, or their parts that hold digits, from the JSON document alone.
``unexplained`` takes them out of a text: where digits are left, the text has a number that is not
the one of its own field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, TypeAlias

import numpy as np

from suffice.core.text.lists import counted, listed
from suffice.core.text.numbers import (
    count,
    exact_number,
    loss,
    number,
    p_statement,
    percent,
    percentage_points,
    points_between,
)

Document: TypeAlias = Mapping[str, Any]
ROWS = {
    "random rows": "held-out rows",
    "unseen groups": "rows in unseen groups",
    "the future": "later rows",
}
MOST_NAMED = 5  # names that a list has in full
LEVEL = 0.05
CONSTANT = "constant"


def unexplained(text: str, fragments: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the numbers of a text that are in no fragment, and in no name of the data."""
    rest = re.sub(r"\[SF\d+\]", "", with_plain_spaces(text))  # the number of a message
    rest = re.sub(r"'[^' ]*'", "\0", rest)  # a name in quotes
    for fragment in fragments:
        rest = rest.replace(fragment, "\0")
    words = [re.escape(name) for name in sorted(names, key=len, reverse=True)]
    any_name = "|".join(words)
    rest = re.sub(rf"[Cc]lass(?:es)? (?:(?:{any_name})(?:, | and |(?!\w)))+", "\0", rest)
    # a number that is a name counts as one only where it is called a class
    spelt = [word for word in words if re.search(r"[^\W\d]", word)]
    rest = re.sub(rf"(?<!\w)(?:{'|'.join(spelt)})(?!\w)", "\0", rest)
    return re.findall(r"\d[\d.,]*(?:e[-−+]?\d+)?", rest)


def without_remainders(text: str, known: Set[str]) -> str:
    """Return a text without "and N more" where N and the names before add up to a known number."""

    def replaced(match: re.Match[str]) -> str:
        names = match[1].rsplit(": ", 1)[-1]
        total = names.count(", ") + 1 + int(match[2].replace(",", ""))
        return match[1] if str(total) in known else match[0]

    return re.sub(r"([^.;]*?) and ([\d,]+) more", replaced, text)


def with_plain_spaces(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def explained(document: Document) -> list[str]:
    """Return what may be said with numbers, longest first."""
    parts = (
        _headline,
        _missed,
        _caveats,
        _threshold,
        _reasons,
        _doubts,
        _choice,
        _facts,
        _verdict_of_comparison,
        _errors_of_splits,
        _protocol,
    )
    fragments = {with_plain_spaces(each) for part in parts for each in part(document)}
    return sorted(fragments, key=len, reverse=True)


def _interval(low: float, high: float) -> str:
    return f"95 % interval {percent(low)} to {percent(high)}"


def _model(document: Document, name: str) -> dict[str, Any]:
    (model,) = [each for each in document["models"] if each["model"] == name]
    return model


def _others(document: Document) -> list[dict[str, Any]]:
    """Return all models except the constant one and the recommended one."""
    return [
        each
        for each in document["models"]
        if not each["failure"] and each["model"] not in (CONSTANT, document["recommended"])
    ]


def _capital(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _split(document: Document) -> str:
    """Return how the rows of the stated error were held out."""
    return (
        "unseen groups" if "Folds keep whole groups" in document["measured"] else "random rows"
    )


def _expected_split(document: Document) -> str | None:
    """Return the split whose error is the one to expect, None where only one split is known."""
    errors = document["real_errors"]
    return None if errors is None else errors["expected"]


def _headline(document: Document) -> Iterator[str]:
    """Yield the parts of the headline; only those whose words the numbers carry."""
    split = _split(document)
    error = percent(document["error"])
    interval = f"({_interval(document['error_low'], document['error_high'])})"
    rows = document["n_rows"]
    model = document["recommended"]
    own = f"({_interval(document['own_error_low'], document['own_error_high'])})"
    held_out = ROWS[split]
    if _expected_split(document) not in (None, split) and split == "random rows":
        held_out = "rows held out at random"
    if document["includes_choice"]:
        procedure = f"he procedure that chose {model}, repeated in every fold,"
        yield f"{procedure} misclassifies {error} of {held_out} {interval}"
        yield f"{procedure} misclassifies {error} {interval}"
        yield f"{_capital(model)} itself misclassifies {percent(document['own_error'])} {own}"
    else:
        yield f"t misclassifies {error} of {held_out} {interval}"
        yield f". Its error is {error} {interval}"
    own_rows = _model(document, model)["n_rows"]
    for gain in document["against_constant"]:
        yield from _gain(gain, own_rows)
    yield f"balanced accuracy on {counted(rows, 'row')}"


def _gain(gain: Mapping[str, Any], n_rows: int) -> Iterator[str]:
    is_significant = gain["p"] <= LEVEL
    p = p_statement(gain["p"])
    rows = counted(n_rows, "row")
    if gain["measure"] == "error":
        constant = percent(gain["constant"])
        if is_significant and gain["model"] <= gain["constant"]:
            yield f"misclassifies significantly more: {constant} ({p}, {rows})"
        elif gain["model"] < gain["constant"]:
            yield f"misclassifies {constant}, which is not significantly more ({p}, {rows})"
        else:
            yield f"misclassifies no more: {constant} ({p})"
        yield f"has an error of {constant} ({p})"
        return
    style = loss if gain["measure"] == "log-loss" else percent
    is_better = gain["model"] > gain["constant"]
    if gain["measure"] == "log-loss":
        is_better = gain["model"] < gain["constant"]
    if is_significant and is_better:
        yield (
            "is significantly better than the constant classifier "
            f"({style(gain['model'])} against {style(gain['constant'])}, {p}, "
            f"{counted(n_rows, 'row')})"
        )


def _missed(document: Document) -> Iterator[str]:
    """Yield what is missed of the class of which most is missed, or of all that tie."""
    classes = document["classes"]
    shares = [each["n_found"] / each["n_rows"] for each in classes]
    least = min(shares)
    tied = [each for each, share in zip(classes, shares, strict=True) if share == least]
    tied.sort(key=lambda each: -each["n_rows"])
    missed = [each["n_rows"] - each["n_found"] for each in tied]
    share = percent(missed[0] / tied[0]["n_rows"])
    n_half = sum(2 * each["n_found"] <= each["n_rows"] for each in classes if each not in tied)
    end = "."
    if n_half:
        end = f", and at least half of the rows of {counted(n_half, 'other class')}."
    if len(tied) == 1:
        rows = counted(tied[0]["n_rows"], "row")
        yield f" misses {missed[0]:,} of {rows} of class {tied[0]['class']} ({share}){end}"
    else:
        names = listed([each["class"] for each in tied], MOST_NAMED)
        counts = listed(
            [f"{m:,} of {each['n_rows']:,}" for m, each in zip(missed, tied, strict=True)],
            MOST_NAMED,
        )
        yield f" misses {share} of the rows of each of the classes {names} ({counts}){end}"
    n_rows = sum(each["n_rows"] for each in classes)
    n_found = sum(each["n_found"] for each in classes)
    yield f" misclassified {n_rows - n_found:,} of {counted(n_rows, 'row')} while"
    n_more = len(classes) - 8
    yield f"The 8 classes with the lowest recall. {counted(n_more, 'more class')} not shown."
    for each in classes:
        yield f"{each['class']}: {count(each['n_found'])} of {count(each['n_rows'])}"


def _caveats(document: Document) -> Iterator[str]:
    """Yield the parts of each caveat that hold digits, from its own numbers."""
    n_serious = sum(caveat["severity"] == "serious" for caveat in document["caveat_details"])
    yield f"the first {n_serious} caveats are serious"
    for caveat in document["caveat_details"]:
        yield from _parts_of_caveat(caveat, document)


def _parts_of_caveat(caveat: Document, document: Document) -> Iterator[str]:
    f = caveat["figures"]
    match caveat["code"]:
        case "calibration":
            yield from _parts_of_calibration(f)
        case "choice":
            which = f["n_same"] or "none"
            model = document["recommended"]
            yield f"{model} is chosen in {which} of {f['n_folds']} folds"
            error = percent(f["error"])
            yield f"Expect an error between {error} and {percent(f['choice_high'])}."
        case "posteriors":
            yield (
                f"(log-loss {loss(f['log_loss'])} against {loss(f['constant_log_loss'])}, "
                f"{counted(f['n_rows'], 'row')})"
            )
        case "leak" | "together" | "impossible":
            yield from _parts_on_columns(caveat)
        case _:
            yield from _parts_on_rows(caveat)


def _parts_on_columns(caveat: Document) -> Iterator[str]:
    f = caveat["figures"]
    if "n_far" in f:
        yield f"{f['n_far']} columns have values far from all others"
        yield f"and {f['n_far'] - MOST_NAMED} more."
    if "predicted" in f:
        yield f"predicts {percent(f['predicted'])} of the labels on its own"
    elif "equal_rows" in f:
        share = percent(f["equal_rows"])
        yield f"{share} of rows share at least half of their {f['n_columns']} numeric values"
    elif "least_of_others" in f:
        rows = counted(f["n_rows"], "row")
        end = f"in {rows}, but {number(f['least_of_others'])} or more in all others"
        yield f"is {number(f['value'])} {end}"
        yield f"is {number(f['value'])} or less {end}"
    elif "value" in f:
        rows = counted(f["n_rows"], "row")
        yield f"is {number(f['value'])} in {rows}, far from all other values"


def _parts_on_rows(caveat: Document) -> Iterator[str]:
    f = caveat["figures"]
    match caveat["code"]:
        case "copies":
            yield f"{counted(f['n_copies'], 'row')} of {f['n_rows']:,} repeat others"
            yield f"and {f['n_seen']:,} held-out rows were seen in training"
            if "error_apart" in f:
                together = percent(f["error_together"])
                apart = percent(f["error_apart"])
                if together == apart:
                    yield f"The error is {apart} either way."
                elif f["error_apart"] > f["error_together"]:
                    yield f"would not lower the error ({apart} against {together})."
                else:
                    yield (
                        f"the error is {together}, and would seem to be {apart} with duplicates in "
                        "several folds"
                    )
        case "equal rows":
            bound = np.ceil(1000 * f["most_right"]) / 1000
            yield (
                f"No model can be right on more than {percent(bound)} of these rows: "
                f"{f['n_rows']:,} rows have the same values as a row of another class."
            )
        case "few rows":
            yield f"There are only {counted(f['n_rows'], 'row')}"
        case "rare class":
            yield f"has only {counted(f['n_rows'], 'row')}: its recall is very uncertain."


def _parts_of_calibration(f: Mapping[str, float]) -> Iterator[str]:
    if "stated" in f:
        yield (
            f"has a probability of {percent(f['stated'])}, but is right in "
            f"{percent(f['observed'])} of rows"
        )
        return
    for end in ("high", "low"):
        stated = percent(f[f"{end}_stated"])
        observed = percent(f[f"{end}_observed"])
        rows = counted(int(f[f"{end}_n_rows"]), "row")
        if end == "high" and f["high_stated"] > f["high_observed"]:
            yield (
                f"where the predicted class has a probability of about {stated}, it is right in "
                f"{observed} of {rows}"
            )
        if end == "low" and f["low_stated"] < f["low_observed"]:
            yield f"where it has about {stated}, it is right in {observed} of {rows}"
            yield f"a probability of about {stated}, it is right in {observed} of {rows}"


def _threshold(document: Document) -> Iterator[str]:
    threshold = document["threshold"]
    if threshold is None:
        return
    value = exact_number(threshold["posterior"])
    hits = f"{threshold['n_found']:,} of {counted(threshold['n_rows'], 'row')}"
    alarms = counted(threshold["n_false_alarms"], "false alarm")
    n_predicted = threshold["n_found"] + threshold["n_false_alarms"]
    precision = percent(threshold["n_found"] / max(n_predicted, 1))
    yield f"With a threshold of {value}, the model would find {hits}, with {alarms}."
    yield (
        f" is {loss(threshold['auc'])}. Predicting class {threshold['class']} when its "
        f"posterior is at least {value} finds {hits}, with {alarms} (precision {precision})."
    )


def _reasons(document: Document) -> Iterator[str]:
    """Yield why the model is recommended; each part only where the numbers carry its words."""
    rule = document["choice_rule"]
    if rule is None:
        return
    chosen = _model(document, document["recommended"])
    best = _model(document, rule["best"])
    others = _others(document)
    name = chosen["model"]
    rows = counted(document["n_rows"], "row")
    column = rule["loss"]
    measure = "log-loss" if column == "log_loss" else "error"
    losses = rule["losses"]
    known_losses = [losses[each["model"]] for each in (chosen, *others)]
    least = percent(best["error"])
    if column == "log_loss":
        least = _limited(best, rule)
    least_of_all = min(each for each in known_losses if each is not None)
    if best is chosen and losses[best["model"]] <= least_of_all:
        yield f"Why {name}: it has the lowest {measure} ({least})."
    if best is chosen and len(rule["unbeaten_by_error"]) > 1:
        n_models = len(rule["unbeaten_by_error"])
        usable = " with usable posteriors" if rule["set_aside"] else ""
        yield (
            f"Why {name}: of the {n_models} models{usable} that no other model beats significantly "
            f"by error, it has the lowest {measure} ({least}; {rows})."
        )
    yield from _why_simplest(document, least)
    yield from _why_only_one(document)
    for other in others:
        yield from _why_not(other, chosen, document)


def _why_simplest(document: Document, least: str) -> Iterator[str]:
    """Yield that the model is close to the best one, and the simplest of those, if it is."""
    rule = document["choice_rule"]
    chosen = _model(document, document["recommended"])
    best = _model(document, rule["best"])
    name = chosen["model"]
    measure = "log-loss" if rule["loss"] == "log_loss" else "error"
    sizes = [_model(document, each)["n_parameters"] for each in rule["close"]]
    known_sizes = [size for size in sizes if size is not None]
    if name in rule["close"] and chosen["n_parameters"] == min(known_sizes, default=None):
        yield (
            f"it has the fewest parameters ({count(chosen['n_parameters'])}) of the models about "
            f"as good as the one with the lowest {measure} ({best['model']}, {least})"
        )
    for other in _others(document):
        size = other["n_parameters"]
        if (np.inf if size is None else size) > (chosen["n_parameters"] or np.inf):
            yield f"it has fewer parameters ({count(chosen['n_parameters'])}) than {other['model']}"
    if name in rule["close"]:
        within = f"its {measure} is within one standard error of the lowest"
        yield f"{within} ({best['model']}, {least})"


def _why_only_one(document: Document) -> Iterator[str]:
    """Yield by how many points every other eligible model makes more errors, if all do."""
    rule = document["choice_rule"]
    chosen = _model(document, document["recommended"])
    others = _others(document)
    rows = counted(document["n_rows"], "row")
    if rule["unbeaten_by_error"] == [chosen["model"]]:
        eligible = [each for each in others if each["model"] not in rule["set_aside"]]
        if eligible:
            least = min(each["error"] for each in eligible)
            gap = points_between(least, chosen["error"]).removeprefix("+")
            least_gap = f"{gap} percentage points"
            yield f"makes significantly more errors, by at least {least_gap} ({rows})."
        else:
            yield f"worse than the class frequencies ({rows})."


def _limited(model: Document, rule: Document) -> str:
    """Return the log-loss that the rule compares."""
    limited = loss(rule["losses"][model["model"]])
    if limited == loss(model["log_loss"]):
        return limited
    return f"{limited}, capped at {rule['largest']:.0f} per row"


def _why_not(other: Document, chosen: Document, document: Document) -> Iterator[str]:
    """Yield what is said of one model that is not recommended."""
    name = other["model"]
    error = percent(other["error"])
    if other["error"] <= chosen["error"]:
        how = "as many" if other["error"] == chosen["error"] else "fewer"
        yield f"{_capital(name)} makes {how} errors ({error})"
        if how == "fewer" and error == percent(chosen["error"]):
            for digits in range(2, 6):
                shares = [f"{100 * each['error']:.{digits}f} %" for each in (other, chosen)]
                yield f"{_capital(name)} makes fewer errors ({' against '.join(shares)})"
    if other["log_loss"] is None:
        return
    log_loss = loss(other["log_loss"])
    rule = document["choice_rule"]
    losses = rule["losses"]
    is_worse = name not in rule["close"] and losses[name] > losses[rule["best"]]
    if rule["loss"] == "log_loss" and is_worse:
        limited = _limited(other, rule)
        yield f"its log-loss ({limited}) exceeds that of {rule['best']} by more than"
    constant = _model(document, CONSTANT)["log_loss"]
    if other["log_loss"] > constant and (
        name in rule["set_aside"] or chosen["log_loss"] <= constant
    ):
        yield f"class frequencies (log-loss {log_loss} against {loss(constant)})"
    yield f"is easier to read ({error} errors, log-loss {log_loss})"
    size = other["n_parameters"]
    if size is not None and size < (chosen["n_parameters"] or np.inf):
        yield f"{_capital(name)} has fewer parameters ({count(size)})"
        yield f"but makes more errors ({error}), and its "
        yield from _beaten(document, other)


def _beaten(document: Document, model: Document) -> Iterator[str]:
    """Yield the losses of other models that are lower, one of them significantly."""
    rule = document["choice_rule"]
    losses = rule["losses"]
    rows = counted(model["n_rows"], "row")
    for better in document["models"]:
        name = better["model"]
        if better["error"] < model["error"]:
            figures = f"{percent(model['error'])} against {percent(better['error'])}"
            yield f"its error is significantly above that of {name} ({figures}, {rows})"
        if (
            rule["loss"] == "log_loss"
            and (losses.get(name) or np.inf) < losses[model["model"]]
        ):
            figures = f"{loss(losses[model['model']])} against {loss(losses[name])}"
            yield f"its log-loss is significantly above that of {name} ({figures}, {rows})"


def _doubts(document: Document) -> Iterator[str]:
    """Yield the classes of which more than a third is missed."""
    missed = [each for each in document["classes"] if 3 * each["n_found"] < 2 * each["n_rows"]]
    if missed:
        noun = "class" if len(missed) == 1 else "classes"
        names = listed([each["class"] for each in missed], MOST_NAMED)
        yield f"it misses more than a third of {noun} {names}"


def _choice(document: Document) -> Iterator[str]:
    choice = document["choice"]
    if choice is None:
        return
    error = percent(choice["error"])
    between = f"({percent(choice['error_low'])} to {percent(choice['error_high'])})"
    model = document["recommended"]
    n_same = choice["models"].count(model)
    n_folds = len(choice["models"])
    which = f"all {n_folds}" if n_same == n_folds else f"{n_same or 'none'} of {n_folds}"
    yield f"{model} is chosen in {which} folds"
    if n_same < n_folds:
        yield f"The error is then {error} {between}."
    if choice["n_rows"]:
        yield (
            f"On {choice['n_rows']:,} other rows, which were not used to choose the model, it "
            f"misclassifies {error} {between}."
        )


def _facts(document: Document) -> Iterator[str]:
    """Yield each fact of the first screen with its remark."""
    stated = _interval(document["error_low"], document["error_high"])
    name = "error, model chosen in each fold" if document["includes_choice"] else "error"
    yield f"{name}: {percent(document['error'])}, {stated}"
    own = _interval(document["own_error_low"], document["own_error_high"])
    yield (
        f"error of {document['recommended']} itself: {percent(document['own_error'])}, {own}"
    )
    for gain in document["against_constant"]:
        p = p_statement(gain["p"])
        if gain["measure"] == "error":
            yield f"constant classifier: {percent(gain['constant'])}, its error; {p}"
            continue
        style = loss if gain["measure"] == "log-loss" else percent
        model = style(gain["model"])
        yield f"{gain['measure']}: {model}, constant classifier {style(gain['constant'])}; {p}"


def _errors_of_splits(document: Document) -> Iterator[str]:
    errors = document["real_errors"]
    if errors is None:
        return
    for each in errors["errors"]:
        error = percent(each["error"])
        interval = _interval(each["error_low"], each["error_high"])
        named = _named_rows(each["split"], errors["groups"])
        yield f"error, {named}: {error}, {interval}"
        yield f"{error} of {named}"
        if each["split"] == errors["expected"] and each["p"] is not None:
            yield f"expect {error} errors ({interval}) on {ROWS[each['split']]}"
            p = p_statement(each["p"])
            n_rows = counted(each["n_rows"], "row")
            yield (
                f"Expect {error}: rows held out at random resemble the training rows too closely "
                f"({p}, {n_rows})"
            )
    tested = [each for each in errors["errors"] if each["p"] is not None]
    if tested and errors["expected"] == "random rows":
        p = p_statement(min(each["p"] for each in tested))
        n_rows = counted(max(each["n_rows"] for each in tested), "row")
        yield f"The difference is not significant ({p}, {n_rows})"


def _named_rows(split: str, groups: str) -> str:
    if split == "unseen groups":
        return f"rows in unseen groups of {groups}" if groups else "rows in unseen groups"
    return "later rows" if split == "the future" else "rows held out at random"


def _verdict_of_comparison(document: Document) -> Iterator[str]:
    """Yield the parts of the verdict on all models."""
    chosen = _model(document, document["recommended"])
    others = _others(document)
    name = chosen["model"]
    rows = counted(document["n_rows"], "row")
    best = min((chosen, *others), key=lambda each: each["error"])
    for other in others:
        if other["error"] == best["error"]:
            word = "not significant"
            if other["p_adjusted"] is not None and other["p_adjusted"] <= LEVEL:
                word = "significant"
            p = p_statement(_p(other))
            points = points_between(chosen["error"], other["error"]).removeprefix("+")
            more = f"{points} percentage points more errors than"
            yield (
                f"{_capital(name)} makes {more} {other['model']} ({percent(other['error'])}; "
                f"{word}, {p}, {counted(chosen['n_rows'], 'row')})"
            )
    yield f"Compared with {name} on the same {rows}, "
    if len(others) > 1:
        n_pairs = len(others) * (len(others) + 1) // 2
        yield f"p-values are adjusted for {n_pairs} pairs of models."
    alike = [each for each in others if not _p(each) <= LEVEL]
    worse = [each for each in others if _p(each) <= LEVEL and each["error_difference"] > 0]
    better = [each for each in others if _p(each) <= LEVEL and each["error_difference"] <= 0]
    yield from _alike(alike, len(others))
    for how, models in (("worse", worse), ("better", better)):
        yield from _different(models, how)
    yield "the tests report any significant difference is at most 5 %."


def _p(model: Document) -> float:
    return np.nan if model["p_adjusted"] is None else float(model["p_adjusted"])


def _points(models: Sequence[Document]) -> str:
    ends = [
        percentage_points(end(each["error_difference"] for each in models))
        for end in (min, max)
    ]
    return f"{' to '.join(dict.fromkeys(ends))} percentage points"


def _listed(models: Sequence[Document]) -> str:
    return listed([each["model"] for each in models], MOST_NAMED)


def _alike(models: Sequence[Document], n_others: int) -> Iterator[str]:
    if not models:
        return
    least = min(_p(each) for each in models)
    if len(models) == 1:
        figures = f"({_points(models)}, {p_statement(least)})"
        yield f"his model does not differ significantly: {_listed(models)} {figures}."
        return
    figures = f"({_points(models)}, {p_statement(least, '≥')})"
    yield f"hese models do not differ significantly: {_listed(models)} {figures}."
    if len(models) == n_others:
        differ = f"differs significantly: their errors differ by {_points(models)}"
        yield f"one of the {n_others} others {differ} (smallest {p_statement(least)})."


def _different(models: Sequence[Document], how: str) -> Iterator[str]:
    if len(models) > MOST_NAMED:
        greatest = p_statement(max(_p(each) for each in models), "≤")
        figures = f"({_points(models)}, {greatest})"
        yield f"hese models are significantly {how}: {_listed(models)} {figures}."
    elif models:
        named = [f"{m['model']} ({_points([m])}, {p_statement(_p(m))})" for m in models]
        subject = "his model is" if len(models) == 1 else "hese models are"
        yield f"{subject} significantly {how}: {listed(named)}."


def _protocol(document: Document) -> Iterator[str]:
    for model in document["models"]:
        if model["failure"]:
            yield f"{model['model']} failed: {model['failure'].rstrip('.')}."
    yield f"{document['n_folds']} stratified folds, shuffled with seed 0"
