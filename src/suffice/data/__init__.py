"""Sources of rows, and what is computed from them: sums, or predictions in a file.

``summarize`` reads rows from arrays, frames, files, databases and clusters in one pass and returns
``Moments``; ``predict_stream`` writes a model's predictions for them. Every source is opened once
(``opening``) as a ``Source``: its first rows, and scans that read the rest in bounded memory.

========= ==========================================================================
options   what users say about columns, text files and where to compute
source    what every source of rows can do; ``scanning`` reads it
columns   what each column holds and what it is for
files     where files are, and their bytes
text      delimited text: its layout, and how its numbers and dates are written
formats   files of each format as tables, read and written
frames    tables and arrays in memory, and tables that arrive in batches
sql       tables of databases
cluster   Dask and Spark
rows      usable rows in blocks of bounded memory
sums      moments of those rows, with groups and checkpoints
store     sums of partitions, kept apart
datasets  small tables that come with the library
========= ==========================================================================

May import ``core`` and ``persistence``.
"""
