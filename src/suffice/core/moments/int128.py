"""Arrays of integers modulo 2¹²⁸, and their conversion to pairs of floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from suffice.core.moments.two_sum import two_sum
from suffice.typing import Array, Floats

Words: TypeAlias = npt.NDArray[np.uint64]
Integers: TypeAlias = npt.NDArray[np.int64]
Place: TypeAlias = int | slice | Array | None
Index: TypeAlias = Place | tuple[Place, ...]

_WORD = 64  # bits per word
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_SPLITTER = 134217729.0  # 2²⁷ + 1 splits a float into two halves of 26 bits (Dekker 1971)


@dataclass(frozen=True, slots=True, eq=False)
class Int128:
    """Integers modulo 2¹²⁸ in two's complement: high · 2⁶⁴ + low.

    ``+``, ``-`` and ``*`` never round. Results between −2¹²⁷ and 2¹²⁷ − 1 are exact.
    """

    high: Words
    low: Words

    @classmethod
    def of(cls, numbers: Array) -> Int128:
        """Convert 64-bit integers, or floats that are integers below 2⁶³, to 128 bits."""
        signed = np.asarray(numbers).astype(np.int64)
        sign = signed >> np.int64(63)  # 0, or −1: all bits set
        return cls(high=sign.view(np.uint64), low=signed.view(np.uint64))

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> Int128:
        """Return an array of zeros."""
        return cls(high=np.zeros(shape, np.uint64), low=np.zeros(shape, np.uint64))

    @classmethod
    def from_bytes(cls, data: bytes, shape: tuple[int, ...]) -> Int128:
        """Return the numbers from the bytes that ``to_bytes`` returned."""
        words = np.frombuffer(data, ">u8").astype(np.uint64).reshape(*shape, 2)
        return cls(high=words[..., 0].copy(), low=words[..., 1].copy())

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.high.shape

    @property
    def is_negative(self) -> npt.NDArray[np.bool_]:
        """Whether each number is below zero."""
        return np.asarray(self.high >> np.uint64(63) == 1)

    @property
    def is_zero(self) -> npt.NDArray[np.bool_]:
        """Whether each number is zero."""
        return np.asarray((self.high == 0) & (self.low == 0))

    def __getitem__(self, key: Index) -> Int128:
        return Int128(high=np.asarray(self.high[key]), low=np.asarray(self.low[key]))

    def __add__(self, other: Int128) -> Int128:
        low = self.low + other.low
        high = np.asarray(self.high + other.high)
        high += low < self.low  # the carry
        return Int128(high=high, low=low)

    def __neg__(self) -> Int128:
        low = ~self.low + np.uint64(1)
        carry = (self.low == 0).astype(np.uint64)
        return Int128(high=~self.high + carry, low=low)

    def __sub__(self, other: Int128) -> Int128:
        high = np.asarray(self.high - other.high)
        high -= self.low < other.low  # the borrow
        return Int128(high=high, low=self.low - other.low)

    def __mul__(self, other: Int128) -> Int128:
        # (a₁ 2⁶⁴ + a₀)(b₁ 2⁶⁴ + b₀) = a₀ b₀ + (a₁ b₀ + a₀ b₁) 2⁶⁴   modulo 2¹²⁸
        product = _product(self.low, other.low)
        cross = self.high * other.low + self.low * other.high
        return Int128(high=product.high + cross, low=product.low)

    def __lshift__(self, bits: int) -> Int128:
        """Return the numbers times 2^bits, for bits from 0 to 63."""
        if bits == 0:
            return self
        shift = np.uint64(bits)
        carried = self.low >> np.uint64(_WORD - bits)
        return Int128(high=(self.high << shift) | carried, low=self.low << shift)

    def sum(self, axis: int) -> Int128:
        """Return the sum along an axis."""
        total = self.zeros(tuple(np.delete(self.shape, axis).tolist()))
        for high, low in zip(
            np.moveaxis(self.high, axis, 0), np.moveaxis(self.low, axis, 0), strict=True
        ):
            total = total + Int128(high, low)
        return total

    def equals(self, other: Int128) -> bool:
        """Return whether both arrays hold the same numbers."""
        return np.array_equal(self.high, other.high) and np.array_equal(self.low, other.low)

    def to_bytes(self) -> bytes:
        """Return 16 bytes for each number, the most significant first."""
        return np.stack([self.high, self.low], axis=-1).astype(">u8").tobytes()

    def to_int64(self) -> Integers:
        """Return the numbers as 64-bit integers; they must lie between −2⁶³ and 2⁶³ − 1."""
        return self.low.view(np.int64)

    def item(self, *place: int) -> int:
        """Return one number as a Python integer."""
        unsigned = (int(self.high[place]) << _WORD) | int(self.low[place])
        return unsigned - (1 << 128) if unsigned >> 127 else unsigned

    def to_pair(self) -> Pair:
        """Return each number as the sum of two floats, correct to 106 bits."""
        negative = self.is_negative
        opposite = -self
        high = np.where(negative, opposite.high, self.high)
        low = np.where(negative, opposite.low, self.low)
        # split into 48 + 48 + 32 bits: a float holds each part exactly
        top = np.ldexp((high >> np.uint64(16)).astype(np.float64), 80)
        middle_bits = ((high & np.uint64(0xFFFF)) << _HALF) | (low >> _HALF)
        middle = np.ldexp(middle_bits.astype(np.float64), 32)
        bottom = (low & _LOW_HALF).astype(np.float64)
        rounded, error = two_sum(top, middle)
        total = Pair(*two_sum(rounded, error + bottom))
        sign = np.where(negative, -1.0, 1.0)
        return Pair(sign * total.high, sign * total.low)


def _product(a: Words, b: Words) -> Int128:
    """Return the 128-bit product of unsigned 64-bit numbers."""
    a1 = a >> _HALF
    a0 = a & _LOW_HALF
    b1 = b >> _HALF
    b0 = b & _LOW_HALF
    lowest = a0 * b0
    left = a1 * b0
    right = a0 * b1
    middle = (lowest >> _HALF) + (left & _LOW_HALF) + (right & _LOW_HALF)
    high = a1 * b1 + (left >> _HALF) + (right >> _HALF) + (middle >> _HALF)
    return Int128(high=high, low=(middle << _HALF) | (lowest & _LOW_HALF))


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Numbers as sums of two floats, high + low: about 106 bits (Dekker 1971)."""

    high: Floats  # the number, rounded
    low: Floats  # the number − high

    @classmethod
    def of(cls, numbers: Floats) -> Pair:
        """Return floats as pairs."""
        return cls(high=numbers, low=np.zeros_like(numbers))

    def __add__(self, other: Pair) -> Pair:
        high, error = two_sum(self.high, other.high)
        low, low_error = two_sum(self.low, other.low)
        high, error = two_sum(high, error + low)
        return Pair(*two_sum(high, error + low_error))

    def __neg__(self) -> Pair:
        return Pair(high=-self.high, low=-self.low)

    def __sub__(self, other: Pair) -> Pair:
        return self + (-other)

    def divided(self, divisor: Floats) -> Pair:
        """Return the numbers divided by floats, which must not be zero."""
        quotient = self.high / divisor
        product, error = _two_product(quotient, divisor)
        rest = ((self.high - product) - error) + self.low
        return Pair(*two_sum(quotient, rest / divisor))

    def scaled(self, exponents: Array) -> Pair:
        """Return the numbers times 2^exponents, exactly unless a number underflows."""
        return Pair(np.ldexp(self.high, exponents), np.ldexp(self.low, exponents))


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a b, rounded, and its rounding error (Dekker 1971)."""
    product = a * b
    a1, a0 = _halves(a)
    b1, b0 = _halves(b)
    error = ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0
    return product, error


def _halves(a: Floats) -> tuple[Floats, Floats]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
