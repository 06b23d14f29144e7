"""The lab served to one person, on the loopback, behind a random token; tables shown in it."""

import asyncio
import json
import re
import secrets
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from suffice import errors
from suffice.core.moments import Moments
from suffice.core.table.sampling import stratified_sample
from suffice.core.text.lists import plural, quoted
from suffice.core.text.tables import jsonable
from suffice.data.columns.roles import roles_for_learning
from suffice.data.opening import open_source
from suffice.data.rows.loading import load_rows
from suffice.estimators.gaussian import LDA
from suffice.evaluate.comparison import compare
from suffice.evaluate.comparison.models import known_model
from suffice.evaluate.curves.feature_separation import separation
from suffice.present.lab import page
from suffice.typing import Codes, Floats

MOST_CLASSES = 5  # that the page has colours for
MOST_POINTS = 1500
MOST_BYTES = 32 << 20  # of a request
HOSTS = ["127.0.0.1", "localhost"]
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
LINE_UP = [
    "LDA",
    "QDA",
    "GaussianNB",
    "AutoGaussian",
    "logistic",
    "least squares",
    "nearest neighbours",
    "tree",
    "forest",
]


@dataclass(frozen=True, slots=True, eq=False)
class LabTable:
    """Complete rows of numbers with labels of at most five classes, and what to say of them."""

    x: Floats  # (n, d)
    codes: Codes  # (n,)
    labels: list[str]
    names: list[str]
    notes: list[str]

    @classmethod
    def opened(cls, source: str, target: str | None = None) -> Self:
        """Return the rows of the five largest classes, read by the library's own sources."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = open_source(source)
            roles = roles_for_learning(
                found, target or None, categories=False, allow_missing=False
            )
            table = load_rows(found, roles).table
        notes = [str(each.message) for each in caught]
        counts = np.bincount(table.codes, minlength=table.n_classes)
        if np.count_nonzero(counts) < 2:
            msg = f"the lab needs rows of at least 2 classes, found {quoted(table.classes)}"
            raise errors.TooFewClassesError(msg)
        kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
        kept, rows = kept[counts[kept] > 0], np.isin(table.codes, kept)
        if not rows.all():
            notes.append(f"only the {MOST_CLASSES} largest of {len(counts)} classes are shown")
        labels, codes = table.classes[kept].tolist(), np.searchsorted(kept, table.codes[rows])
        names = list(table.names or ())
        return cls(np.asarray(table.x)[rows], codes, list(map(str, labels)), names, notes)

    def shown(self, axes: Any = None) -> dict[str, Any]:
        """Return points of two columns, by default the best, or of discriminant coordinates."""
        if axes == "discriminant":
            x = LDA().fit(self.x, self.codes).transform(self.x)[:, :2]
            names = [f"discriminant {j + 1}" for j in range(x.shape[1])]
            if not names:
                msg = "the classes have the same mean: no discriminant tells them apart"
                raise errors.InvalidInputError(msg)
        else:
            if axes is None:  # those of the greatest variance between classes to that within
                ratio = separation(Moments.of(self.x, self.codes, storage="diagonal"))
                axes = [self.names[j] for j in np.sort(np.argsort(-ratio, kind="stable")[:2])]
            names = [*dict.fromkeys(axes)]
            if not 1 <= len(names) <= 2 or not set(names) <= set(self.names):
                msg = f"no columns {quoted(names)}: choose two of {quoted(self.names)}"
                raise errors.InvalidInputError(msg)
            x = self.x[:, [self.names.index(name) for name in names]]
        rows = stratified_sample(self.codes, MOST_POINTS, 0)
        size = (
            f"{plural(len(self.codes), 'row')}, {plural(len(self.names), 'column')} of numbers"
        )
        few = f"{len(rows):,} rows are shown" if len(rows) < len(self.codes) else None
        return {
            "points": np.column_stack([x, self.codes])[rows].tolist(),
            "labels": self.labels,
            "names": [*names, ""][:2],
            "columns": self.names,
            "said": ". ".join(filter(None, [size, few, *self.notes])),
        }


class Lab:
    """What Python answers the page: rows of a table, models that the page has not, errors."""

    def __init__(self, table: LabTable | None = None) -> None:
        self.table = table
        self._one_at_a_time = threading.Lock()

    def answer(self, verb: str, body: bytes, said: dict[str, str]) -> Any:
        """Return what the page asked for, a document or bytes."""
        with self._one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if verb == "table":
                return self._upload(body, said.get("name", ""), said.get("target", ""))
            return getattr(self, f"_{verb}")(**json.loads(body))

    def _upload(self, body: bytes, name: str, target: str) -> dict[str, Any]:
        safe = re.sub(r"[^\w.-]", "_", Path(name).name).lstrip(".") or "table.csv"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / safe
            path.write_bytes(body)
            try:
                self.table = LabTable.opened(str(path), target)
            except errors.SufficeError as error:
                raise errors.InvalidInputError(str(error).replace(f"{folder}/", "")) from error
        return self.table.shown()

    def _view(self, axes: Any) -> dict[str, Any]:
        return self._opened.shown(axes)

    def _fit(self, name: str, x: Any, y: Any, at: Any) -> bytes:
        """Return posteriors of a model at some points, numbers of 8 bytes, row by row."""
        model = known_model(name).make(0).fit(np.array(x), np.array(y))
        return bytes(np.asarray(model.predict_proba(np.array(at)), "<f8").tobytes())

    def _errors(self, x: Any = None, y: Any = None) -> dict[str, Any]:
        """Return cross-validated errors of several models, of the points or of all columns."""
        rows, codes = (np.array(x), np.array(y)) if x else (self._opened.x, self._opened.codes)
        folds = min(10, int(np.unique(codes, return_counts=True)[1].min()))
        if folds < 2:
            raise errors.InvalidInputError("a class has one row only: errors need two of each")
        result = compare(rows, codes, LINE_UP, cv=folds, progress=False)
        keys = ("model", "error", "error_se", "log_loss")
        told = [[row[key] for key in keys] for row in result.rows()]
        return {"models": jsonable(told), "said": result.verdict}

    @property
    def _opened(self) -> LabTable:
        if self.table is None:
            raise errors.InvalidInputError("no table is open: upload one")
        return self.table


def application(lab: Lab, token: str) -> Any:
    """Return the lab as an ASGI application that answers under a token only."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route

    async def answered(request: Any) -> Response:
        body = bytearray()
        async for part in request.stream():
            body.extend(part)
            if len(body) > MOST_BYTES:
                msg = f"more than {MOST_BYTES >> 20} MB were sent: start suffice lab with the file"
                return PlainTextResponse(msg, 413)
        said, verb = dict(request.query_params), request.url.path.rpartition("/")[2]
        try:
            found = await asyncio.to_thread(lab.answer, verb, bytes(body), said)
        except (TypeError, ValueError) as error:
            ours = isinstance(error, errors.SufficeError)
            why = str(error) if ours else f"the request is not understood: {error}"
            return PlainTextResponse(why, 400)
        return Response(found) if isinstance(found, bytes) else JSONResponse(found)

    def guarded(inner: Callable[[Any], Any]) -> Any:
        async def endpoint(request: Any) -> Response:
            known = secrets.compare_digest(
                request.path_params["token"].encode(), token.encode()
            )
            answer = await inner(request) if known else PlainTextResponse("not found", 404)
            answer.headers.update(HEADERS)
            return answer

        return endpoint

    async def home(_: Any) -> Response:
        return HTMLResponse(
            page({"at": f"/{token}/", "table": lab.table and lab.table.shown()})
        )

    verbs = ("table", "view", "fit", "errors")
    posted = [
        Route(f"/{{token}}/{verb}", guarded(answered), methods=["POST"]) for verb in verbs
    ]
    # a name that another site lets point to this machine is no name of ours
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)
    return Starlette(routes=[Route("/{token}/", guarded(home)), *posted], middleware=[hosts])


def serve(lab: Lab, opened: Callable[[str], None]) -> None:
    """Serve the lab on the loopback until interrupted; ``opened`` is told its address."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        cure = "pip install 'suffice[lab]'; --save FILE writes the page without it"
        msg = f"serving the lab needs the extra 'lab': {cure}"
        raise errors.InvalidParameterError(msg) from error
    token = secrets.token_urlsafe(16)
    with socket.socket() as bound:
        bound.bind((HOSTS[0], 0))  # any port that is free
        bound.listen()
        config = uvicorn.Config(application(lab, token), log_level="error", lifespan="off")
        config.timeout_graceful_shutdown = 1
        opened(f"http://{HOSTS[0]}:{bound.getsockname()[1]}/{token}/")
        uvicorn.Server(config).run(sockets=[bound])
