"""Levels: how often tests, intervals and alarms are wrong where nothing happened.

``python -m benchmarks levels run --jobs N --repeats R --seconds S --out FILE`` simulates every
test, interval and alarm that a user can meet, and appends a line of JSON for each turn of a case.
``python -m benchmarks levels keep FILE ...`` keeps the rates of such files in ``results.csv``, in
place of those of the same settings, and ``page`` writes them to ``docs/levels.md``.
``python -m benchmarks levels real`` compares halves of real tables by ``suffice drift``.
"""

import argparse
from pathlib import Path


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks levels")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="simulate every test, interval and alarm")
    run.add_argument("--only", default="", help="cases whose setting contains this text")
    run.add_argument("--repeats", type=int, default=400, help="of a cheap case")
    run.add_argument("--seed", type=int, default=20261118)
    run.add_argument("--jobs", type=int, default=1)
    run.add_argument("--seconds", type=float, default=600.0, help="after which no turn begins")
    run.add_argument("--out", type=Path, default=Path("levels.jsonl"))
    keep = commands.add_parser("keep", help="keep the rates of runs, and write the page")
    keep.add_argument("files", type=Path, nargs="+")
    commands.add_parser("page", help="write the rates that were kept to docs/levels.md")
    real = commands.add_parser("real", help="halves of real tables, by the command line")
    real.add_argument("folders", type=Path, nargs="*", help="folders of CSV files")
    real.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.command == "run":
        from benchmarks.levels.running import run as run_cases

        run_cases(
            options.only,
            options.repeats,
            options.seed,
            options.jobs,
            options.seconds,
            options.out,
        )
    elif options.command == "keep":
        from benchmarks.levels.page import write_page
        from benchmarks.levels.summary import keep as keep_rates

        keep_rates(options.files)
        write_page()
    elif options.command == "page":
        from benchmarks.levels.page import write_page

        write_page()
    else:
        from benchmarks.levels.real import compare_halves

        compare_halves(options.folders, options.seed)
