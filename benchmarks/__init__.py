"""Speed, memory and quality, ours and the peers', measured in one run: ``python -m benchmarks``."""
