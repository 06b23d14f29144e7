"""Masks for secure aggregation: each pair of parties adds noise that cancels in the total."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.moments.int128 import Int128
from suffice.core.moments.masked_sums import MaskedSums, SumLayout, unmasked
from suffice.core.moments.moments import Moments, from_exact
from suffice.core.moments.validity import refuse_impossible
from suffice.core.table.labels import as_labels
from suffice.core.text.lists import quoted
from suffice.errors import (
    InvalidInputError,
    InvalidParameterError,
    MissingStatisticsError,
    UnknownLabelError,
    extra,
)
from suffice.typing import LabelsLike

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

_PURPOSE = "suffice mask 1"
_MODULE = "cryptography.hazmat.primitives.asymmetric.x25519"
_WHAT = "secure aggregation"


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A party's secret key; other parties need only ``public``."""

    secret: bytes  # 32 bytes, an X25519 key

    @classmethod
    def generate(cls) -> PrivateKey:
        """Return a new key from the operating system's random numbers."""
        return cls(os.urandom(32))

    @classmethod
    def load(cls, path: str | Path) -> PrivateKey:
        """Return the key that ``save`` wrote."""
        try:
            secret = bytes.fromhex(Path(path).read_text().strip())
        except ValueError as error:
            raise InvalidParameterError(
                f"{path} does not hold a private key: make one with suffice key"
            ) from error
        if len(secret) != 32:
            raise InvalidParameterError(
                f"{path} does not hold a private key: make one with suffice key"
            )
        return cls(secret)

    def save(self, path: str | Path) -> None:
        """Write the key to a new file that only its owner may read."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(self.secret.hex() + "\n")

    @property
    def public(self) -> str:
        """The public key for all peers, 64 hexadecimal digits."""
        return self._key().public_key().public_bytes_raw().hex()

    def shared_with(self, public: str) -> bytes:
        """Return the secret that only the owners of this key and of ``public`` can compute."""
        x25519 = extra(_MODULE, "privacy", _WHAT)
        try:
            peer = x25519.X25519PublicKey.from_public_bytes(bytes.fromhex(public))
        except ValueError as error:
            raise InvalidParameterError(
                f"{public!r} is not a public key: it has 64 hexadecimal digits, as suffice key "
                "prints them"
            ) from error
        shared: bytes = self._key().exchange(peer)
        return shared

    def _key(self) -> X25519PrivateKey:
        x25519 = extra(_MODULE, "privacy", _WHAT)
        key: X25519PrivateKey = x25519.X25519PrivateKey.from_private_bytes(self.secret)
        return key

    def __repr__(self) -> str:
        return "PrivateKey(…)"


def mask(
    moments: Moments,
    *,
    party: str,
    key: PrivateKey,
    peers: Mapping[str, str],
    round: str,
    classes: LabelsLike | None = None,
) -> MaskedSums:
    """Return exact sums hidden by masks that cancel when the sums of all parties are added.

    Parameters
    ----------
    moments : Moments
        Exact sums (``exact=grid``) on the grid that all parties use.
    party : str
        The name of this party.
    key : PrivateKey
        The secret key of this party.
    peers : mapping of str to str
        Each other party's name and public key.
    round : str
        A name that all parties use, once only. Masking two different sums with the same name
        reveals their difference.
    classes : list of labels, optional
        The classes of all parties; by default the classes of these sums.

    Returns
    -------
    MaskedSums
    """
    if moments.exact is None:
        raise MissingStatisticsError(
            "only exact sums can be masked: collect them with exact=grid, the same grid at all "
            "parties"
        )
    if not peers or party in peers:
        raise InvalidParameterError(
            f"peers must name every party except {party!r} itself, got {quoted(sorted(peers))}"
        )
    exact = moments.exact
    if classes is not None:
        labels = np.unique(as_labels(classes))
        unknown = sorted(set(exact.classes.tolist()) - set(labels.tolist()))
        if unknown:
            raise UnknownLabelError(
                f"the sums have the class {unknown[0]!r}, which is not among the classes of the "
                "round: add it at all parties"
            )
        exact = exact.with_classes(labels)
    layout = SumLayout(exact.grid, exact.classes, moments.feature_names, exact.storage)
    parties = tuple(sorted([party, *peers]))
    numbers = layout.flattened(exact)
    for peer, public in sorted(peers.items()):
        noise = _noise(key.shared_with(public), (party, peer), parties, round, layout)
        # c_i = s_i + Σ_{j > i} N_ij − Σ_{j < i} N_ij  (mod 2¹²⁸),  so that Σ_i c_i = Σ_i s_i
        numbers = numbers + noise if party < peer else numbers - noise
    return MaskedSums(layout, party, parties, round, numbers)


def unmask(parts: Sequence[MaskedSums]) -> Moments:
    """Return the total of a round; raise unless each party occurs exactly once."""
    total = unmasked(parts)
    moments = from_exact(total, parts[0].layout.feature_names)
    try:
        refuse_impossible(moments)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"the total of the masked sums cannot be that of any rows: {error}; start a new round"
        ) from error
    return moments


def _noise(
    secret: bytes,
    pair: tuple[str, str],
    parties: tuple[str, ...],
    round: str,
    layout: SumLayout,
) -> Int128:
    """Return the noise that only two parties can compute, for one round."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    purpose = {
        "purpose": _PURPOSE,
        "round": round,
        "pair": sorted(pair),
        "parties": parties,
        "grid": layout.grid.to_json(),
        "classes": layout.classes.tolist(),
        "features": layout.feature_names,
        "storage": layout.storage,
    }
    info = json.dumps(purpose, sort_keys=True).encode()
    stream_key = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)
    # a nonce of zero is safe, because each key encrypts a single stream
    encryptor = Cipher(ChaCha20(stream_key, bytes(16)), mode=None).encryptor()
    n_numbers = sum(layout.sizes)
    return Int128.from_bytes(encryptor.update(bytes(16 * n_numbers)), (n_numbers,))
