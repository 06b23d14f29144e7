"""Writers of a store that are killed: ``python killing.py ADDRESS ROUNDS SEED`` in a process.

In each round five writers change partitions at random. Three kill themselves before or after the
N-th call that reaches the disk or the database, two are killed after a random time, while this
process reads totals. After each round every total and the log must be those of some sequence of
whole changes, with all that the writers were told is done.
"""

import gc
import json
import os
import random
import signal
import sys
import time
import traceback
from hashlib import sha256

import numpy as np

import suffice as sf
from suffice.data.store import place, totals
from suffice.data.store.totals import bytes_of

PARTITIONS, VERSIONS = "abcdef", 3


def version_of(p, v):
    """Return the sums of version v of partition p: its rows are a digit of the total's."""
    n = v * 4**p
    rng = np.random.default_rng([p, v])
    x = rng.integers(-50, 50, (2 * n, 2)).astype(float)
    return sf.Moments.of(x, np.arange(2 * n) % 2, fourth=False)


SUMS = {
    (p, v): version_of(p, v) for p in range(len(PARTITIONS)) for v in range(1, VERSIONS + 1)
}
DIGESTS = {sha256(bytes_of(sums)).hexdigest(): which for which, sums in SUMS.items()}


def check_total(store):
    """Return the rows of the total, the sum of one version, or none, of each partition."""
    try:
        total = store.total()
    except sf.errors.InvalidInputError as error:
        if "no partition is selected" not in str(error):
            raise
        return 0
    rest, parts = int(total.counts[0]), []
    for p in range(len(PARTITIONS)):
        rest, v = divmod(rest, 4)
        parts += [SUMS[p, v]] if v else []
    assert not rest
    assert total.counts.tolist() == np.sum([m.counts for m in parts], axis=0).tolist()
    means = sum(m.weights[:, None] * m.means for m in parts) / total.weights[:, None]
    np.testing.assert_allclose(total.means, means, rtol=1e-12, atol=1e-12)
    second = sum(
        m.scatters + m.weights[:, None, None] * m.means[:, :, None] * m.means[:, None, :]
        for m in parts
    )
    outer = total.means[:, :, None] * total.means[:, None, :]
    scatters = second - total.weights[:, None, None] * outer
    np.testing.assert_allclose(total.scatters, scatters, rtol=1e-9, atol=1e-6)
    return int(total.counts.sum())


def check_log(store, n_records, told):
    """Raise unless the records lead to the entries, and hold all changes that were told."""
    log, state = store.log, {}
    for record in log:
        assert state.get(record["partition"], []) == record["before"], record
        state[record["partition"]] = record["after"]
    found = {entry.partition: [entry.digest] for entry in store.entries}
    assert found == {name: digests for name, digests in state.items() if digests}
    for name, digests in found.items():
        assert PARTITIONS[DIGESTS[digests[0]][0]] == name
    new = [record["why"] for record in log[n_records:]]
    assert len(set(new)) == len(new)  # none was made twice
    assert set(told) <= set(new), (told, new)
    return len(log)


def work(address, seed, pipe):
    """Change partitions at random, for ever; tell what is done."""
    store, rng = sf.MomentStore(address), random.Random(seed)
    for n in range(10**6):
        p, v, why = rng.randrange(len(PARTITIONS)), rng.randint(1, VERSIONS), f"{seed}-{n}"
        name, sums = PARTITIONS[p], SUMS[p, v]
        try:
            what = rng.choice(["add", "replace", "remove", "consolidate"])
            if what == "add":
                if not store.add(sums, name, why=why)[name]:
                    continue  # it is there
            elif what == "replace":
                store.replace(name, sums, why=why)
            elif what == "remove":
                store.remove(name, why=why)
            else:
                store.consolidate()
                continue
        except sf.errors.InvalidInputError:
            continue  # it is there, or is not
        os.write(pipe, f"{why}\n".encode())


def die_at(n):
    """Kill this process at the n-th call that reaches the disk or the database."""
    left = [n]

    def counting(function):
        def counted(*args, **kwargs):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*args, **kwargs)
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return counted

    for name in ("fsync", "replace", "unlink"):
        setattr(os, name, counting(getattr(os, name)))
    place._Rows.run = counting(place._Rows.run)


def started(address, seed, n=None):
    """Start a writer; return its process and the pipe on which it tells what is done."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(reading)
            if n is not None:
                die_at(n)
            work(address, seed, writing)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    return pid, reading


def told_by(pipe):
    with os.fdopen(pipe, "rb") as file:
        return file.read().decode().split()


def main(address, rounds, seed):
    totals._MANY = 2  # sums of groups are kept, too
    gc.freeze()  # children then copy less
    rng, store, n_records, kills = random.Random(seed), sf.MomentStore(address), 0, 0
    store.add(SUMS[0, 1], PARTITIONS[0])
    n_records = len(store.log)
    most, seconds = (
        (150, 0.2) if "postgres" in address else (80 if "sqlite" in address else 50, 0.03)
    )
    for at in range(rounds):
        deaths = [*(rng.randint(1, most) for _ in range(3)), None, None]
        writers = [started(address, 5 * at + i, n) for i, n in enumerate(deaths)]
        end = time.monotonic() + rng.uniform(0, seconds)
        while time.monotonic() < end:
            check_total(store)
        for pid, _ in writers[3:]:
            os.kill(pid, signal.SIGKILL)
        for pid, _ in writers:
            _, status = os.waitpid(pid, 0)
            assert os.WIFSIGNALED(status), status
            kills += 1
        told = [why for _, pipe in writers for why in told_by(pipe)]
        assert check_total(store) == sum(entry.rows for entry in store.entries)
        n_records = check_log(store, n_records, told)
    sys.stdout.write(json.dumps({"kills": kills, "changes": n_records}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
