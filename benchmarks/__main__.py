"""Run one benchmark by name: ``python -m benchmarks fit``."""

import importlib
import pkgutil
import sys

import benchmarks


def main(arguments: list[str]) -> int:
    hidden = {"__main__", "timing", "shapes", "contestants", "mutation", "fuzzing"}
    hidden.add("beside_quality")
    names = sorted(
        m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in hidden
    )
    if len(arguments) < 1 or arguments[0] not in names:
        print(
            f"usage: python -m benchmarks NAME [options]\nNAME is one of: {', '.join(names)}"
        )
        return 1
    importlib.import_module(f"benchmarks.{arguments[0]}").main(arguments[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
