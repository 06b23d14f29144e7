"""The fourteen EDDA codes, named without the code that fits them."""

# volume, shape and axes: equal (E), varying (V) or the identity (I)
CODES = tuple(
    first + rest for rest in ("II", "EI", "VI", "EE", "VE", "EV", "VV") for first in ("E", "V")
)
