"""The server of the lab for a single user, on the loopback address with a random token."""

import asyncio
import json
import re
import secrets
import socket
import tempfile
import threading
import warnings
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from suffice import errors
from suffice.core.moments import Moments
from suffice.core.table.sampling import stratified_sample
from suffice.core.text.lists import counted, quoted
from suffice.core.text.tables import json_value
from suffice.data.columns.roles import roles_for_learning
from suffice.data.opening import open_source
from suffice.data.rereading import reading_again
from suffice.data.rows.loading import Chunk, load_rows
from suffice.data.source import Source
from suffice.estimators.gaussian import LDA
from suffice.evaluate.comparison import compare
from suffice.evaluate.comparison.models import model_named
from suffice.evaluate.curves.feature_separation import separation
from suffice.present.lab import page
from suffice.typing import Codes, Floats, LabelsLike, RowsLike

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

MOST_CLASSES = 5  # number of colours that the page has for classes
MOST_POINTS = 1500
MOST_BYTES = 32 << 20  # limit on the size of a request
MOST_FOLDS = 10
HOSTS = ["127.0.0.1", "localhost"]
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
COMPARED_MODELS = [
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
Document: TypeAlias = dict[str, object]  # an object that is written as JSON
Axes: TypeAlias = list[str] | Literal["discriminant"]
Verb: TypeAlias = Literal["table", "view", "fit", "errors"]
VERBS: tuple[Verb, ...] = ("table", "view", "fit", "errors")


def _complete_rows(source: Source, target: str | None) -> Chunk:
    """Return the rows of a source without missing numbers."""
    roles = roles_for_learning(source, target or None, categories=False, allow_missing=False)
    return load_rows(source, roles)


@dataclass(frozen=True, slots=True, eq=False)
class LabTable:
    """Complete numeric rows of at most five classes, and notes on rows and columns left out."""

    x: Floats  # (n, d)
    codes: Codes  # (n,)
    labels: list[str]
    names: list[str]
    notes: list[str]

    @classmethod
    def opened(cls, source: str, target: str | None = None) -> Self:
        """Open a source, and return its rows of the five largest classes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chunk = reading_again(open_source(source), partial(_complete_rows, target=target))
            table = chunk.table
        notes = [str(warning.message) for warning in caught]
        counts = np.bincount(table.codes, minlength=table.n_classes)
        if np.count_nonzero(counts) < 2:
            raise errors.TooFewClassesError(
                f"the lab needs at least 2 classes, but all labels are {quoted(table.classes)}: "
                "choose another target column"
            )
        largest = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
        shown = largest[counts[largest] > 0]
        is_shown = np.isin(table.codes, shown)
        if not is_shown.all():
            notes.append(f"only the {MOST_CLASSES} largest of {len(counts)} classes are shown")
        return cls(
            x=np.asarray(table.x)[is_shown],
            codes=np.searchsorted(shown, table.codes[is_shown]),
            labels=[str(label) for label in table.classes[shown].tolist()],
            names=list(table.names or ()),
            notes=notes,
        )

    def shown(self, axes: Axes | None = None) -> Document:
        """Return points over two columns, by default the best, or over discriminant coordinates."""
        if axes == "discriminant":
            x, names = self._discriminant_coordinates()
        else:
            names = self._two_columns() if axes is None else list(dict.fromkeys(axes))
            if not 1 <= len(names) <= 2 or not set(names) <= set(self.names):
                raise errors.InvalidInputError(
                    f"there are no columns {quoted(names)}: choose two of {quoted(self.names)}"
                )
            x = self.x[:, [self.names.index(name) for name in names]]
        rows = stratified_sample(self.codes, MOST_POINTS, 0)
        n_rows = counted(len(self.codes), "row")
        n_columns = counted(len(self.names), "column")
        sentences = [f"{n_rows}, {n_columns}"]
        if len(rows) < len(self.codes):
            sentences.append(f"{len(rows):,} rows are shown")
        sentences.extend(self.notes)
        return {
            "points": np.column_stack([x, self.codes])[rows].tolist(),
            "labels": self.labels,
            "names": [*names, ""][:2],
            "columns": self.names,
            "said": ". ".join(sentences),
        }

    def _discriminant_coordinates(self) -> tuple[Floats, list[str]]:
        x = np.asarray(LDA().fit(self.x, self.codes).transform(self.x))[:, :2]
        if not x.shape[1]:
            raise errors.InvalidInputError(
                "the classes have the same mean, so no discriminant separates them: choose two "
                "columns"
            )
        return x, [f"discriminant {j + 1}" for j in range(x.shape[1])]

    def _two_columns(self) -> list[str]:
        """Return the two columns with the largest ratio of variance between and within classes."""
        ratio = separation(Moments.of(self.x, self.codes, storage="diagonal"))
        best = np.sort(np.argsort(-ratio, kind="stable")[:2])
        return [self.names[j] for j in best]


class Lab:
    """The Python side of the page: tables, errors, and models that JavaScript lacks."""

    def __init__(self, table: LabTable | None = None) -> None:
        self.table = table
        self._one_at_a_time = threading.Lock()

    def answer(self, verb: Verb, body: bytes, query: Mapping[str, str]) -> Document | bytes:
        """Return the answer to a request of the page, which is a document or bytes."""
        with self._one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if verb == "table":
                return self.upload(body, query.get("name", ""), query.get("target", ""))
            request = _HttpRequest(body)
            if verb == "view":
                return self.view(request["axes"])
            if verb == "fit":
                return self.fit(request["name"], request["x"], request["y"], request["at"])
            return self.errors(request.get("x"), request.get("y"))

    def upload(self, body: bytes, name: str, target: str) -> Document:
        """Open an uploaded file as the table, and return its points."""
        safe_name = re.sub(r"[^\w.-]", "_", Path(name).name).lstrip(".") or "table.csv"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / safe_name
            path.write_bytes(body)
            try:
                self.table = LabTable.opened(str(path), target)
            except errors.SufficeError as error:
                # do not show the name of the temporary folder
                message = str(error).replace(f"{folder}/", "")
                raise errors.InvalidInputError(message) from error
        return self.table.shown()

    def view(self, axes: Axes) -> Document:
        """Return the points of the table over other axes."""
        return self._opened_table().shown(axes)

    def fit(self, name: str, x: RowsLike, y: LabelsLike, at: RowsLike) -> bytes:
        """Fit a model, and return its posteriors at given points as 8-byte numbers, row by row."""
        model: Any = model_named(name).make(0).fit(np.array(x), np.array(y))
        posteriors = model.predict_proba(np.array(at))
        return np.asarray(posteriors, "<f8").tobytes()

    def errors(self, x: RowsLike | None = None, y: LabelsLike | None = None) -> Document:
        """Return cross-validated errors of several models, on given points or on all columns."""
        if x is None:
            table = self._opened_table()
            rows = table.x
            codes = table.codes
        else:
            rows = np.array(x)
            codes = np.array(y)
        _, counts = np.unique(codes, return_counts=True)
        n_folds = min(MOST_FOLDS, int(counts.min()))
        if n_folds < 2:
            raise errors.InvalidInputError(
                "a class has only 1 row, but cross-validation needs at least 2 rows of each "
                "class: add a row"
            )
        comparison = compare(rows, codes, COMPARED_MODELS, cv=n_folds, progress=False)
        models = [
            [row["model"], row["error"], row["error_se"], row["log_loss"]]
            for row in comparison.rows()
        ]
        return {"models": json_value(models), "said": comparison.verdict}

    def _opened_table(self) -> LabTable:
        if self.table is None:
            raise errors.InvalidInputError("no table is open: upload one")
        return self.table


class _HttpRequest:
    """A JSON object that the page posts."""

    def __init__(self, body: bytes) -> None:
        try:
            content = json.loads(body)
        except RecursionError as error:
            raise errors.InvalidInputError(
                "the request is not understood: its JSON is nested too deeply"
            ) from error
        if not isinstance(content, dict):
            raise errors.InvalidInputError(
                f"the request is not understood: expected a JSON object, got {content!r}"
            )
        self._content = content

    def __getitem__(self, name: str) -> Any:
        if name not in self._content:
            raise errors.InvalidInputError(
                f"the request is not understood: it has no {name!r}"
            )
        return self._content[name]

    def get(self, name: str) -> Any:
        return self._content.get(name)


def application(lab: Lab, token: str) -> "Starlette":
    """Return the lab as an ASGI application that answers only requests with a token."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import HTMLResponse, PlainTextResponse
    from starlette.routing import Route

    async def home(_: "Request") -> "Response":
        table = None if lab.table is None else lab.table.shown()
        return HTMLResponse(page({"at": f"/{token}/", "table": table}))

    def answer(verb: Verb) -> Callable[["Request"], Awaitable["Response"]]:
        async def endpoint(request: "Request") -> "Response":
            return await _answer(lab, verb, request)

        return endpoint

    def guarded(
        inner: Callable[["Request"], Awaitable["Response"]],
    ) -> Callable[["Request"], Awaitable["Response"]]:
        async def endpoint(request: "Request") -> "Response":
            given = request.path_params["token"]
            response: Response = PlainTextResponse("not found", 404)
            if secrets.compare_digest(given.encode(), token.encode()):
                response = await inner(request)
            response.headers.update(HEADERS)
            return response

        return endpoint

    posts = [
        Route(f"/{{token}}/{verb}", guarded(answer(verb)), methods=["POST"]) for verb in VERBS
    ]
    routes = [Route("/{token}/", guarded(home)), *posts]
    # Foreign host names are rejected, because another site may point its name to this machine.
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)
    return Starlette(routes=routes, middleware=[hosts])


async def _answer(lab: Lab, verb: Verb, request: "Request") -> "Response":
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse, PlainTextResponse, Response

    body = bytearray()
    try:
        async for part in request.stream():
            body.extend(part)
            if len(body) > MOST_BYTES:
                message = (
                    f"more than {MOST_BYTES >> 20} MB were sent: start suffice lab with the "
                    "file"
                )
                return PlainTextResponse(message, 413)
    except ClientDisconnect:  # the client is gone and reads no answer
        return PlainTextResponse("the request was not sent to its end", 400)
    try:
        content = await asyncio.to_thread(lab.answer, verb, bytes(body), request.query_params)
    except errors.SufficeError as error:
        return PlainTextResponse(str(error), 400)
    except (TypeError, ValueError) as error:
        return PlainTextResponse(f"the request is not understood: {error}", 400)
    return Response(content) if isinstance(content, bytes) else JSONResponse(content)


def serve(lab: Lab, opened: Callable[[str], None]) -> None:
    """Serve the lab on the loopback address until interrupted; ``opened`` receives the URL."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise errors.InvalidParameterError(
            "serving the lab needs the extra 'lab': pip install 'suffice[lab]'; --save FILE writes "
            "the page without it"
        ) from error
    token = secrets.token_urlsafe(16)
    with socket.socket() as bound:
        bound.bind((HOSTS[0], 0))  # port 0 selects any free port
        bound.listen()
        port = bound.getsockname()[1]
        config = uvicorn.Config(
            application(lab, token),
            log_level="error",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        opened(f"http://{HOSTS[0]}:{port}/{token}/")
        uvicorn.Server(config).run(sockets=[bound])
