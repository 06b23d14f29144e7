"""No page, docstring, comment or message uses a phrase that a reader must decode."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
SCRIPTS = [*sorted((ROOT / "src").rglob("*.js")), *sorted((ROOT / "src").rglob("*.html"))]

# a phrase, as a regular expression, and what to write instead
BANNED = {
    r"told apart": "distinguished, separated",
    r"imagined rows?": "pseudo-count",
    r"whom nobody": "name who does not hear, and why",
    r"(?:logarithm )?of no density": "not a log density",
    r"so many of so many": "Bonferroni-adjusted",
    r"written wrongly": "usage error",
    r"as if never seen": "as if the rows had never been added",
    r"strangeness": "nonconformity score",
    r"straightened": "transformed",
    r"what a part has by this name": "name the attribute",
    r"those that count\b": "members with positive weight",
    r"stands for a missing value, too": "another spelling of a missing value",
    r"restless": "jagged, unstable",
    r"awkward data": "degenerate data",
    r"settle the doubts": "say what to do",
    r"count as that\b": "are treated as",
    r"were the model true": "if the model were true",
    r"in earnest": "name what is not done",
    r"stopped reading": "closed standard output",
    r"\bthe rooms of\b": "the packages of",
    r"\btells? apart": "separates, distinguishes",
    r"whole or not at all": "atomic, complete",
    r"lacks its end": "is truncated",
    r"tells damage": "detects damage",
    r"beside its place": "under a temporary name",
    r"\bnot believed": "not trusted",
    r"sums that no rows have": "sums that no rows can have",
    r"(?:takes?|took) the digits": "loses too much precision",
    r"makes nothing large": "cannot allocate much memory",
    r"holds? up nobody": "delays no other client",
    r"of which nothing was observed": "without any observed feature",
    r"tells the first from": "separates the first from",
    r"counted anew|counts it anew": "counted again",
    r"rows with holes|with holes included": "rows with missing values",
    r"never having seen": "as if the rows had never been added",
    r"stand in the way": "affect, prevent",
    r"how unlike": "how far from",
    r"opened for reading only": "opened read-only",
    r"rows? of no label": "rows without a label",
    r"left out of what is fitted": "ignored by fit",
    r"what was looked for": "according to their documentation",
    r"foretell": "predict, or say that nothing is extrapolated",
    r"makes? way for": "is replaced by",
    r"price in errors": "how many more errors it makes",
    r"said to be so": "say it in a main clause",
    r"nearly every row has another": "that differs in nearly every row",
    r"changed world": "drift, prior shift",
    r"world changed": "test for drift",
    r"judge it rightly": "name the figures to read",
    r"text and holes": "text and missing values",
    r"you will really have": "the error of new groups and of later rows",
    r"answered in kind": "name the type of the result",
    r"more than luck": "significant",
    r"to be invited": "an option, not a default",
    r"for the doubt": "say what the model costs",
    r"called like": "has the name of",
    r"when it is whole": "when it is complete",
    r"rows of strangers": "rows from untrusted sources",
    r"telling features": "informative features",
    r"errs about as rarely": "has about as few errors",
    r"the word before it": "the first word of the verdict",
    r"carry a rest of": "still contain part of",
    r"\bread out of\b": "computed from",
    r"\btruth values?\b": "Booleans",
    r"\b(?:columns?) of (?:numbers|text)\b": "numeric column, text column",
    r"\bof (?:the )?least (?:log-loss|held-out|leave-one-out|bic|cost)\b": "with the lowest",
    r"\b(?:is|are) refused\b": "raises an error",
    r"\bstates? (?:no )?(?:probabilities|posteriors)\b": "predicts",
    r"\bfrom [\d,]+ (?:rows|features) on\b": "with at least",
    r"\b(?:made|make) (?:\S+ ){0,2}again\b": "repeat, run again",
    r"\breplaces? (?:\S+ ){1,4}by\b": "replace … with",
    r"\bclass(?:es)? of (?:one|two|few) rows?\b": "class with one row",
    r"\bbroken lines?\b": "piecewise-linear functions",
    r"\bbent\b|\bhinges\b": "piecewise linear, with knots",
    r"\bchoosing and fitting\b|\bchoosing a model and fitting\b": (
        "the whole procedure, which chooses the model and fits it"
    ),
    r"\bof usable posteriors\b": "with usable posteriors",
    r"\bhas another (?:number|value) in every\b": "has a different value in every row",
    r"\btests speak against\b|\bnothing speaks against\b": "tests reject, no evidence against",
    r"\bno part in either\b": "held-out rows",
    r"\brows that (?:only )?judge\b": "held-out rows",
    r"\bjudged (?:by|on)\b": "predicted by, evaluated on",
    r"\bjudged? (?:model|row)s?\b": "evaluated model, held-out row",
    r"\bderivatives? (?:of \S+ )?by\b": "derivative with respect to",
    r"\berrs? (?:as|less|more) often\b": "makes as many, fewer or more errors",
    r"\bcounting at most\b": "capped at",
    r"\balone predicts?\b": "predicts … on its own",
    r"\bof (?:least|greatest) (?:error|posterior|likelihood|score|variance)\b": (
        "with the lowest, with the greatest"
    ),
    r"\bat most so many\b": "at most this many",
    r"\banew\b": "again",
    r"\bknown by (?:its|their)\b": "its … is",
    r"\bas the others are\b": "like the other …",
    r"\bthe start (?:first|included)\b": "from the start on",
    r"\bdamaged or gone\b": "missing or damaged",
    r"\bknows? no column names\b": "was fitted without column names",
    r"\btaken to be in\b": "used in",
    r"\bsays otherwise\b": "if this is wrong, set …",
    r"\bis it whole\b": "check that it is complete",
    r"\bgoes with (?:a|the)\b": "is allowed only for",
    r"\bcovariance rank \d": "the covariance … has rank … instead of",
    r"\butili[sz]e": "use",
    r"\bsimply\b": "leave it out",
    r"\bobviously\b": "leave it out",
}
PATTERNS = [(re.compile(phrase, re.IGNORECASE), cure) for phrase, cure in BANNED.items()]


def prose_of_page(text):
    """Return the text of a Markdown page without its code."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def prose_of_source(text):
    """Return the comments and strings of a Python file, a line each."""
    comments = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    strings = [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return "\n".join([*comments, *strings])


def complaints(prose):
    """Return each banned phrase in the text, with what to write instead."""
    text = " ".join(prose.split())
    return [
        f"{match.group(0)!r}: write {cure!r}"
        for pattern, cure in PATTERNS
        for match in pattern.finditer(text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_no_banned_phrase(page):
    assert complaints(prose_of_page(page.read_text())) == []


def test_sources_use_no_banned_phrase():
    found = {
        str(path.relative_to(ROOT)): complaints(prose_of_source(path.read_text()))
        for path in SOURCES
    }
    assert {path: phrases for path, phrases in found.items() if phrases} == {}


def test_scripts_use_no_banned_phrase():
    found = {str(path.relative_to(ROOT)): complaints(path.read_text()) for path in SCRIPTS}
    assert {path: phrases for path, phrases in found.items() if phrases} == {}


def test_a_banned_phrase_is_found_in_prose_and_not_in_code():
    assert complaints("Classes that are told\napart.") == [
        "'told apart': write 'distinguished, separated'"
    ]
    assert complaints(prose_of_page("`told apart`\n```\ntold apart\n```\n")) == []
    source = 'told_apart = 1  # told apart\nmessage = "imagined rows"\n'
    assert len(complaints(prose_of_source(source))) == 2
