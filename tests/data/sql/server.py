"""A real PostgreSQL of one's own: installed if need be, on a free loopback port, unprivileged."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

_NOBODY = "postgres"  # PostgreSQL refuses to run as root
_WAIT = 60.0  # seconds


class UnavailableError(Exception):
    """PostgreSQL is not here and cannot be installed."""


@contextmanager
def running_postgres():
    """Yield the settings of a connection to a fresh server; stop it and remove it afterwards."""
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="suffice-pg-"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)
    data, port = folder / "data", _free_port()
    server = None
    try:
        _run(
            [programs / "initdb", "-D", data, "-U", "suffice", "-A", "trust", "-E", "UTF8"],
            user,
        )
        options = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": "",
            "fsync": "off",
        }
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                _as(user, [programs / "postgres", "-D", data, *flags]), stdout=log, stderr=log
            )
        settings = {
            "host": "127.0.0.1",
            "port": port,
            "user": "suffice",
            "password": None,
            "database": "postgres",
        }
        _await(settings, server, folder / "log")
        yield settings
    finally:
        if server is not None:
            _run(
                [programs / "pg_ctl", "stop", "-D", data, "-m", "immediate"], user, check=False
            )
            server.wait(timeout=_WAIT)
        shutil.rmtree(folder, ignore_errors=True)


def _programs():
    """Return the folder of PostgreSQL's programs, after installing it where it is missing."""
    found = _installed()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for step in (["update"], ["install", "-y", "postgresql"]):
            command = ["apt-get", "-o", "DPkg::Lock::Timeout=120", *step]
            subprocess.run(command, env=quiet, capture_output=True, check=False, timeout=600)
        found = _installed()
    if found is None:
        msg = "PostgreSQL is not installed, and apt-get install postgresql did not help"
        raise UnavailableError(msg)
    return found


def _installed():
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if versions:
        return versions[-1].parent
    initdb = shutil.which("initdb")
    return None if initdb is None else Path(initdb).resolve().parent


def _user():
    """Return the account to run as, None where we are unprivileged already."""
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(_NOBODY)
    except KeyError:
        return "nobody"
    return _NOBODY


def _as(user, command):
    words = [str(word) for word in command]
    return words if user is None else ["runuser", "-u", user, "--", *words]


def _run(command, user, *, check=True):
    done = subprocess.run(
        _as(user, command), capture_output=True, text=True, check=False, cwd="/", timeout=_WAIT
    )
    if check and done.returncode:
        raise UnavailableError(done.stderr)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _await(settings, server, log):
    import psycopg

    wanted = {**settings, "dbname": settings["database"]}
    del wanted["database"], wanted["password"]
    deadline = time.monotonic() + _WAIT
    while time.monotonic() < deadline:
        try:
            psycopg.connect(**wanted).close()
        except psycopg.OperationalError:
            if server.poll() is not None:
                break
            time.sleep(0.05)
        else:
            return
    raise UnavailableError(log.read_text())
