"""Sources of rows, and results computed from them: sums, or predictions in a file.

``summarize`` reads rows from arrays, frames, files, databases and clusters in one pass and returns
``Moments``; ``predict_stream`` writes a model's predictions for them. Every source is opened once
(``opening``) as a ``Source``: its first rows, and scans that read the rest in bounded memory.

========= ==========================================================================
options   the user's choices on columns, text files and where to compute
source    the interface of all sources of rows; ``scanning`` reads them
columns   the type and role of each column
files     addresses and bytes of files
text      delimited text: its layout, and how its numbers and dates are written
formats   files of each format as tables, read and written
frames    tables and arrays in memory, and tables that arrive in batches
sql       database tables
cluster   Dask and Spark
rows      usable rows in blocks of bounded memory
sums      moments of those rows, with groups and checkpoints
store     sums of partitions, stored separately
datasets  small tables included in the library
========= ==========================================================================

The package may import ``core`` and ``persistence``.
"""
