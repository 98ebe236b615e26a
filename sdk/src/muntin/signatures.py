"""Signatures of files by Ed25519 keys, in the format of `ssh-keygen -Y sign`.

So a key is one that `ssh-keygen` makes, a trusted key a line of its `.pub` file, and a signature is made and checked by
OpenSSH as well, with an agent and passphrases where these are wanted.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Final

from muntin.bounded_files import read_file

NAMESPACE: Final = b"muntin"
"""The use of a key that a signature is for: one of a mail or a commit is not one of a module."""

_KIND: Final = b"ssh-ed25519"
_MAGIC: Final = b"SSHSIG"
_ARMOR: Final = re.compile(rb"-----BEGIN SSH SIGNATURE-----\s(.*)-----END SSH SIGNATURE-----\s*", re.DOTALL)
_MOST_BYTES: Final = 2**14
_NEEDED: Final = "cryptography is not installed\n  install it: pip install 'muntin-sdk[signed]'"


class SignatureError(Exception):
    """A file is not signed by a trusted key, or that cannot be found out; whoever named it is told by another error."""


def read_keys(text: str) -> frozenset[str]:
    r"""Return the public keys in lines such as `ssh-ed25519 AAAA... name`; other lines must be empty or comments.

    Example:
        >>> sorted(read_keys("# the team\nssh-ed25519 AAAAC3 anna@team\n"))
        ['AAAAC3']
    """
    keys = set()
    for line in filter(None, map(str.strip, text.splitlines())):
        words = line.split()
        if not line.startswith("#"):
            if len(words) < 2 or words[0] != _KIND.decode():
                raise ValueError(f"{line[:60]!r} is no key\n  expected: ssh-ed25519 AAAA..., as in a .pub file")
            keys.add(words[1])
    return frozenset(keys)


def sign(data: bytes, key: Path) -> bytes:
    """Return the signature of some bytes.

    Args:
        data: The bytes.
        key: The file of a private key, as `ssh-keygen -t ed25519` writes it, without a passphrase.

    Raises:
        SignatureError: There is no such key in the file, or cryptography is not installed.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_ssh_private_key
    except ModuleNotFoundError:
        raise SignatureError(_NEEDED) from None
    try:
        private = load_ssh_private_key(key.read_bytes(), None)
    except Exception as error:  # of the file, of its format, of a passphrase
        raise SignatureError(
            f"{key} cannot be read as a key: {error}\n  expected: a key of ssh-keygen -t ed25519 without a passphrase; "
            "where it has one, sign by ssh-keygen -Y sign -n muntin"
        ) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise SignatureError(f"{key} is a key of another kind\n  expected: one of ssh-keygen -t ed25519")
    public = _fields(_KIND, private.public_key().public_bytes_raw())
    signature = _fields(_KIND, private.sign(_signed(data, b"sha512")))
    blob = _MAGIC + (1).to_bytes(4) + _fields(public, NAMESPACE, b"", b"sha512", signature)
    text = b64encode(blob)
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return b"\n".join([b"-----BEGIN SSH SIGNATURE-----", *lines, b"-----END SSH SIGNATURE-----", b""])


def check_signature(data: bytes, signature: Path, keys: frozenset[str]) -> None:
    """Raise unless a file with the signature of some bytes is there, by one of these keys.

    Raises:
        SignatureError: It is not, or cryptography is not installed.
    """
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ModuleNotFoundError:
        raise SignatureError(f"its signature cannot be checked: {_NEEDED}") from None
    try:
        armored = _ARMOR.fullmatch(read_file(signature, _MOST_BYTES))
        blob = b64decode(armored[1]) if armored else b""
        public, namespace, _, digest, signed = _parts(blob.removeprefix(_MAGIC + (1).to_bytes(4)), 5)
        kind, key = _parts(public, 2)
        _, raw = _parts(signed, 2)
    except FileNotFoundError:
        raise SignatureError(f"it is not signed: there is no {signature.name}") from None
    except (OSError, ValueError) as error:
        raise SignatureError(f"{signature.name} is no signature: {error}") from error
    if b64encode(public).decode() not in keys or kind != _KIND:
        raise SignatureError("it is signed by a key that is not trusted here")
    try:
        if namespace != NAMESPACE or digest not in (b"sha256", b"sha512"):
            raise InvalidSignature
        Ed25519PublicKey.from_public_bytes(key).verify(raw, _signed(data, digest))
    except (InvalidSignature, ValueError):
        raise SignatureError(f"{signature.name} is of another file: one of the two was changed") from None


def _signed(data: bytes, digest: bytes) -> bytes:
    return _MAGIC + _fields(NAMESPACE, b"", digest, hashlib.new(digest.decode(), data).digest())


def _fields(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4) + part for part in parts)


def _parts(data: bytes, count: int) -> list[bytes]:
    parts = []
    for _ in range(count):
        size = int.from_bytes(data[:4])
        if len(data) < 4 + size:
            raise ValueError("it is cut off, or of another format")
        parts.append(data[4 : 4 + size])
        data = data[4 + size :]
    return parts
