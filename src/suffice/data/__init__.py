"""Read rows from any source, and compute their sums or write their predictions.

``summarize`` reads rows from arrays, frames, files, databases and clusters in one pass and returns
``Moments``. ``predict_stream`` writes a model's predictions for such rows. ``opening`` turns every
source into a ``Source``, which has the first rows, and scans that read all rows in bounded memory.

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
