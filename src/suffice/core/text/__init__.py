"""Numbers, lists and tables as text, for messages, reports and terminals.

The modules import the standard library and NumPy; Rich and pandas are imported when needed.
"""
