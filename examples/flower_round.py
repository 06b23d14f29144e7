"""Secure aggregation with Flower: 100 clients, one round of masked sums, one exact total.

``python examples/flower_round.py`` runs clients and server in one process, so that Flower's
simulation engine is not needed. ``client_app`` is a Flower app that answers Flower's messages;
``LocalGrid`` stands in for the network. Install ``flwr`` and ``suffice[privacy]`` first.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from flwr.clientapp import ClientApp
from flwr.common import ConfigRecord, Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

import suffice as sf
from suffice.privacy import (
    MaskedSums,
    PrivateKey,
    RoundingGrid,
    load_masked,
    mask,
    save_masked,
    unmask,
)

N_CLIENTS = 100
CLASSES = (0, 1, 2)
# agreed upon beforehand: steps of 2⁻³⁰ about 0, for values below 512
GRID = RoundingGrid.of([0.0] * 4, [-30] * 4)

client_app = ClientApp()


def rows_of(client: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a client: from 1 to 400, mostly of one class."""
    r = np.random.default_rng(client)
    n = int(np.ceil(400 * r.uniform() ** 3))
    shares = r.dirichlet([0.2] * len(CLASSES))
    y = r.choice(CLASSES, n, p=shares)
    x = r.normal(size=(n, 4)) + y[:, None] + r.normal(size=4)
    return x, y


@client_app.query()
def answer(message: Message, context: Context) -> Message:
    """Return the public key of a client, or its masked sums once it knows all public keys."""
    name = f"client {int(context.node_config['partition-id']):03d}"
    question = message.content["question"]
    if question["wanted"] == "public key":
        key = PrivateKey.generate()
        context.state["key"] = ConfigRecord({"secret": key.secret})  # never leaves the client
        reply: dict[str, str | bytes] = {"party": name, "public": key.public}
    else:
        key = PrivateKey(context.state["key"]["secret"])
        peers = json.loads(question["peers"])
        del peers[name]
        x, y = rows_of(int(context.node_config["partition-id"]))
        sums = sf.Moments.of(x, y, exact=GRID)
        masked = mask(
            sums, party=name, key=key, peers=peers, round=question["round"], classes=CLASSES
        )
        reply = {"party": name, "masked": bytes_of(masked)}
    return Message(content=RecordDict({"answer": ConfigRecord(reply)}), reply_to=message)


def run_round(grid: LocalGrid, round_name: str) -> tuple[sf.Moments, int]:
    """Return the total of all clients, and how many bytes of masked sums the server received."""
    replies = grid.ask({"wanted": "public key"})
    peers = {reply["party"]: reply["public"] for reply in replies}
    replies = grid.ask(
        {"wanted": "masked sums", "peers": json.dumps(peers), "round": round_name}
    )
    parts = [masked_from(reply["masked"]) for reply in replies]
    return unmask(parts), sum(len(reply["masked"]) for reply in replies)


class LocalGrid:
    """Clients in this process: every message goes to ``client_app`` and its answer comes back."""

    def __init__(self, clients: Iterable[int]) -> None:
        # Flower's launchers set these for the process of a server
        TaskIdentity.task_id = 1
        TaskIdentity.run_id = 1
        TaskIdentity.node_id = 1
        self.contexts = [
            Context(
                run_id=1,
                node_id=client + 2,
                node_config={"partition-id": client},
                state=RecordDict(),
                run_config={},
            )
            for client in clients
        ]

    def ask(self, question: dict[str, str]) -> list[ConfigRecord]:
        """Return the answers of all clients."""
        answers = []
        for context in self.contexts:
            content = RecordDict({"question": ConfigRecord(question)})
            message = Message(
                content=content, dst_node_id=context.node_id, message_type="query"
            )
            answers.append(client_app(message, context).content["answer"])
        return answers


def bytes_of(masked: MaskedSums) -> bytes:
    """Return masked sums as the bytes of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sums.masked"
        save_masked(masked, path)
        return path.read_bytes()


def masked_from(content: bytes) -> MaskedSums:
    """Return the masked sums that ``bytes_of`` wrote, after checking them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sums.masked"
        path.write_bytes(content)
        return load_masked(path)


def pooled() -> sf.Moments:
    """Return the sums of all rows in one place, which nobody needs outside this example."""
    tables = [rows_of(client) for client in range(N_CLIENTS)]
    x = np.concatenate([x for x, _ in tables])
    y = np.concatenate([y for _, y in tables])
    return sf.Moments.of(x, y, exact=GRID)


def main() -> None:
    """Run one round and print what was sent."""
    total, n_bytes = run_round(LocalGrid(range(N_CLIENTS)), "2026-11-18")
    is_same = total.digest() == pooled().digest()
    print(f"{N_CLIENTS} clients, {int(total.counts.sum()):,} rows, one round of masked sums")
    print(f"The server received {n_bytes:,} bytes, {n_bytes // N_CLIENTS:,} from each client.")
    print(f"The total equals that of the pooled rows bit for bit: {is_same}")


if __name__ == "__main__":
    main()
