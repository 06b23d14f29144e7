"""Numbers, lists and tables as text, for messages, reports and terminals.

The modules import the standard library, NumPy, and Rich and pandas when these are asked for.
"""
