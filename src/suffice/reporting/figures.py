"""The figures of a report as SVG in the inks of its page, each with its caption in words."""

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from suffice import plots
from suffice.curves.importance import separation
from suffice.errors import SufficeError
from suffice.moments import Moments
from suffice.reporting.blocks import Block, Figure, Paragraph
from suffice.reporting.choosing import Judgement
from suffice.reporting.documented import DocumentedTable
from suffice.text.lists import listed
from suffice.text.numbers import percent

FEWEST_DISTINCT = 3  # values of a feature that can be drawn as a density
MANY_POINTS = 400  # beyond which markers become pixels
DPI = 110
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_HEAD = re.compile(r"^.*?(?=<svg )", re.DOTALL)
_PLACES = re.compile(r' (?:d|x|y)="[^"]*"')  # hundredths of a point are enough there
_DIGITS = re.compile(r"(\d+\.\d\d)\d+")


@dataclass(frozen=True, eq=False)
class Drawings:
    """What figures are drawn from."""

    data: DocumentedTable  # a sample, if there are many
    moments: Moments
    judgement: Judgement

    @property
    def model(self) -> Any:
        """The Gaussian classifier that is drawn, or whatever was chosen."""
        return self.judgement.explained or self.judgement.estimator

    @property
    def ranked_features(self) -> tuple[str, ...]:
        """Features by how well they separate the classes, best first."""
        order = np.argsort(-separation(self.moments), kind="stable")
        many = [len(np.unique(self.data.table.x[:, j])) >= FEWEST_DISTINCT for j in order]
        return tuple(self.data.names[j] for j, enough in zip(order, many, strict=True) if enough)

    def glance(self) -> tuple[Block, ...]:
        """Return figures of the data itself."""
        if self.data.table.n_features < 2 or len(self.ranked_features) < 2:
            return ()
        shown = self.ranked_features[:4]
        return self._figure(
            "pairs",
            lambda: plots.pairs(
                self.data.frame, self.data.table.labels, features=self._placed(shown)
            ),
            f"Rows over each pair of {self._those(shown)}, with ellipses of each class.",
            f"Scatter plots of {listed(shown)}; each class in its own colour and marker, with "
            "ellipses, and histograms on the diagonal.",
            wide=True,
        )

    def models(self) -> tuple[Block, ...]:
        """Return a figure of the models compared."""
        return self._figure(
            "members",
            self.judgement.comparison.plot,
            "Held-out error and log-loss of every classifier; in colour those without a "
            "significant difference from the best.",
            "Dots with intervals: the error of each classifier, and beside it its log-loss.",
            wide=True,
        )

    def chosen(self) -> tuple[Block, ...]:
        """Return figures of the model: regions and densities."""
        return (*self._regions(), *self._densities())

    def errors(self) -> tuple[Block, ...]:
        """Return figures of held-out posteriors."""
        known = self.judgement.held_out
        if known.logs is None:
            return ()
        error = percent(known.error)
        return (
            *self._figure(
                "reliability",
                lambda: plots.reliability(known),
                "Calibration of held-out posteriors: is a class as frequent as it is probable?",
                "Observed frequency against predicted probability, with 95 % intervals; on the "
                "diagonal posteriors are calibrated.",
            ),
            *self._figure(
                "roc",
                lambda: plots.roc(known),
                "Rows of a class found against others taken for it, at every threshold.",
                "ROC curves of held-out posteriors with the area under each.",
            ),
            *self._figure(
                "threshold",
                lambda: plots.error_against_threshold(known),
                "Error of the rows that are decided, if a decision needs at least this posterior.",
                f"Held-out error by the posterior required, from {error} when all rows are "
                "decided; above it the share of rows left undecided.",
            ),
            *self._figure(
                "cost",
                lambda: plots.cost_against_threshold(known),
                "Mean cost of a row by the posterior from which a class is called, every error "
                "costing 1.",
                "Cost curves by threshold: false alarms fall and misses rise as it grows.",
            ),
        )

    def trust(self) -> tuple[Block, ...]:
        """Return figures of real rows against those the model expects."""
        if self.judgement.explained is None:
            return ()
        data, shown = self.data, self.ranked_features[:3]
        synthetic: tuple[Block, ...] = ()
        if len(shown) > 1:
            synthetic = self._figure(
                "synthetic",
                lambda: plots.real_against_synthetic(
                    self.model, data.frame, data.table.labels, features=self._placed(shown)
                ),
                "Real rows under the diagonal, rows drawn from the model over it, for "
                f"{self._those(shown)}.",
                "Scatter plots of real and of synthetic rows; where the model is right the two "
                "halves are mirror images.",
                wide=True,
            )
        return (
            *synthetic,
            *self._figure(
                "distances",
                lambda: plots.mahalanobis_qq(self.model, data.frame, data.table.labels),
                "Distances of rows from the mean of their class, against those of a Gaussian.",
                "Quantiles of squared distances by class; on the diagonal a class is Gaussian, a "
                "curve that bends up has heavier tails.",
                wide=True,
            ),
        )

    def _regions(self) -> tuple[Block, ...]:
        data = self.data
        plane = (
            "the only feature"
            if data.table.n_features == 1
            else f"{data.names[0]} and {data.names[1]}"
            if data.table.n_features == 2
            else "discriminant space, in which the classes are furthest apart"
        )
        return self._figure(
            "regions",
            lambda: plots.decision_regions(
                self.model, data.frame, data.table.labels, resolution=220
            ),
            f"Predicted class over {plane}; rows with a dark edge are predicted wrongly.",
            f"Decision regions of {listed(data.class_names)} over {plane}, with boundaries, rows "
            "and class ellipses.",
            wide=True,
        )

    def _densities(self) -> tuple[Block, ...]:
        if self.judgement.explained is None:
            return ()
        data, shown = self.data, self.ranked_features[:2]
        found: list[Block] = []
        for at, name in enumerate(shown):
            j = data.names.index(name)
            found += self._figure(
                f"density{at + 1}",
                partial(
                    plots.class_densities, self.model, data.frame, data.table.labels, feature=j
                ),
                f"Density of each class over {name}, times its prior, and the rows behind.",
                f"Density curves of {listed(data.class_names)} over {name} with histograms.",
                wide=len(shown) == 1,
            )
        return tuple(found)

    def _placed(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(sorted(self.data.names.index(name) for name in names))

    def _those(self, names: tuple[str, ...]) -> str:
        few = len(names) < self.data.table.n_features
        return (
            f"the {len(names)} features that separate the classes most" if few else "all features"
        )

    def _figure(
        self, key: str, draw: Callable[[], Any], caption: str, alt: str, *, wide: bool = False
    ) -> tuple[Block, ...]:
        try:
            return (Figure(key, caption, alt, drawn(draw, key), wide),)
        except (SufficeError, np.linalg.LinAlgError) as error:
            return (Paragraph(f"A figure is missing ({caption}): {error}", "note"),)


def drawn(draw: Callable[[], Any], key: str) -> str:
    """Return what ``draw`` puts on its axes as SVG, and close the figure."""
    salt: Any = {"svg.hashsalt": key, "svg.fonttype": "path"}
    with warnings.catch_warnings(), mpl.rc_context(salt):
        warnings.simplefilter("ignore")  # letters that the font lacks
        figure: Any = np.ravel(draw())[0].figure.figure
        try:
            _rasterise(figure)
            file = io.StringIO()
            nothing: Any = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(file, format="svg", transparent=True, dpi=DPI, metadata=nothing)
        finally:
            plt.close(figure)
    return themed(file.getvalue(), key)


def themed(text: str, key: str) -> str:
    """Return bare SVG whose inks follow the page, and whose names no other drawing has."""
    bare = _HEAD.sub("", _METADATA.sub("", _COMMENT.sub("", text)))
    for name in ("ink", "soft", "grid", "ground", "accent"):
        colour = re.compile(getattr(plots.LIGHT, name), re.IGNORECASE)
        bare = colour.sub(f"var(--figure-{name})", bare)
    bare = re.sub(r'\bid="', f'id="{key}-', bare)
    bare = re.sub(r'href="#', f'href="#{key}-', bare)
    bare = bare.replace("url(#", f"url(#{key}-")
    return _fitted(bare)


def _fitted(svg: str) -> str:
    """Return a drawing that is as wide as it was made, or as its page allows."""
    width, height = (float(v) for v in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    box = f'viewBox="0 0 {width:g} {height:g}" style="width:{width * 4 / 3:.0f}px"'
    sized = re.sub(r"<svg [^>]*>", f'<svg {spaces} {box} aria-hidden="true">', svg, count=1)
    short = _PLACES.sub(lambda match: _DIGITS.sub(r"\1", match[0]), sized)
    return re.sub(r"\s*\n\s*", "\n", short).strip()


def _rasterise(figure: Any) -> None:
    """Turn large clouds of points into pixels; lines and letters stay sharp."""
    for axes in figure.axes:
        marked = [line for line in axes.lines if line.get_marker() not in ("None", "", None)]
        clouds = [(line, len(line.get_xdata())) for line in marked]
        clouds += [(cloud, len(cloud.get_offsets())) for cloud in axes.collections]
        if sum(size for _, size in clouds) > MANY_POINTS:
            for cloud, size in clouds:
                cloud.set_rasterized(size > 1)
