"""Where rows come from: arrays, frames, files, databases, clusters and stores of sums.

``summarize`` reads any of them in one pass and returns ``Moments``. May import ``core`` and
``persistence``.
"""
