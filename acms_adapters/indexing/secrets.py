"""Files that hold secrets by their name or their first line (ruling I3)."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

_NAMES = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.ppk",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.gpg",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    "credentials",
    "credentials.json",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
    "*.tfvars",
    "*.tfstate",
    "secrets.toml",
    "secrets.y*ml",
    "secrets.json",
)
_HARMLESS = (
    *("*.example", "*.sample", "*.template", "*.dist", "*.defaults", "*.pub"),
    *("*.py", "*.pyi", "*.md", "*.rst", "*.js", "*.ts", "*.go", "*.rs", "*.java", "*.c", "*.h"),
)
_COPY = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|swp|tmp))+$")
_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube"})
_PRIVATE_KEY = re.compile(rb"\s*-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")


def is_secret_name(name: str) -> bool:
    """Whether a file of this name holds keys or passwords; templates and public keys do not."""
    name = name.lower()
    if any(fnmatchcase(name, pattern) for pattern in _HARMLESS):
        return False
    name = _COPY.sub("", name)
    return any(fnmatchcase(name, pattern) for pattern in _NAMES)


def is_secret_folder(name: str) -> bool:
    """Whether a folder of this name is where programs keep keys."""
    return name.lower() in _FOLDERS


def is_private_key(data: bytes) -> bool:
    """Whether a file's content is a private key, whatever the file is called."""
    return _PRIVATE_KEY.match(data) is not None
