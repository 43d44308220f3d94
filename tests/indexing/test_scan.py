"""Which files are indexed, and the reason for each that is not (I3)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acms_adapters.indexing.decode import UnreadableTextError, decode
from acms_adapters.indexing.kinds import ModuleNames, resource_type
from acms_adapters.indexing.report import Skip
from acms_adapters.indexing.scan import FoundFile, Scanner, read_file
from acms_adapters.indexing.secrets import is_private_key, is_secret_name

Tree = Callable[[dict[str, str | bytes]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    root = tmp_path / "app"
    root.mkdir()

    def build(files: dict[str, str | bytes]) -> Path:
        for name, content in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return build


def look(root: Path, **options: object) -> tuple[list[str], dict[str, str]]:
    found = list(Scanner.of(root, **options).scan())
    return (
        [one.path for one in found if isinstance(one, FoundFile)],
        {one.name: one.reason for one in found if isinstance(one, Skip)},
    )


def test_files_come_in_a_fixed_order(tree: Tree) -> None:
    root = tree({"b.py": "x", "a/z.py": "x", "a/b/c.py": "x", "c/d.md": "x"})
    assert look(root)[0] == ["b.py", "a/z.py", "a/b/c.py", "c/d.md"]


def test_gitignore_is_respected_and_the_innermost_file_decides_i3(tree: Tree) -> None:
    root = tree(
        {
            ".gitignore": "*.log\n/out/\n!keep.log\nbad[\\\n",
            "a.log": "x",
            "keep.log": "x",
            "out/x.py": "x",
            "src/out/y.py": "x",
            "src/.gitignore": "!a.log\n*.tmp\n",
            "src/a.log": "x",
            "src/b.tmp": "x",
            "src/deep/b.tmp": "x",
            "b.tmp": "x",
        }
    )
    files, skipped = look(root)
    assert set(files) == {
        ".gitignore",
        "keep.log",
        "src/out/y.py",
        "src/.gitignore",
        "src/a.log",
        "b.tmp",
    }
    reason = "ignored by .gitignore"
    assert skipped == dict.fromkeys(["a.log", "out/", "src/b.tmp", "src/deep/b.tmp"], reason)


def test_gitignore_of_the_repository_around_the_folder_counts_i3(tree: Tree) -> None:
    root = tree({".git/HEAD": "x", ".gitignore": "src/*.log\n", "src/a.log": "x", "src/a.py": "x"})
    assert look(root / "src") == (["a.py"], {"a.log": "ignored by .gitignore"})


def test_a_folder_that_its_repository_ignores_is_indexed_when_it_is_named(tree: Tree) -> None:
    root = tree({".git/HEAD": "x", ".gitignore": ".venv/\n", ".venv/lib/mod.py": "x"})
    assert look(root / ".venv" / "lib") == (["mod.py"], {})


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "prod.env",
        ".ENV",
        "id_rsa",
        "id_ed25519.bak",
        "server.pem",
        "tls.key",
        "key.p12",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "credentials.json",
        "terraform.tfstate",
        "config/secrets.yaml",
    ],
)
def test_secrets_are_left_out_i3(tree: Tree, name: str) -> None:
    assert look(tree({name: "TOKEN=1"})) == ([], {name: "secret"})


@pytest.mark.parametrize("name", [".env.example", "id_rsa.pub", "id_rsa_tools.py", "keys.md"])
def test_templates_and_public_keys_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_a_private_key_is_a_secret_whatever_its_name_i3(tree: Tree) -> None:
    key = b"\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n"
    assert is_private_key(key)
    (found,) = Scanner.of(tree({"notes.txt": key})).scan()
    assert isinstance(found, FoundFile)
    assert read_file(found) == Skip("notes.txt", "secret")


def test_links_are_never_followed_i3(tree: Tree, tmp_path: Path) -> None:
    root = tree({"a.py": "x", "sub/b.py": "x"})
    (tmp_path / "outside.py").write_text("x")
    (root / "out.py").symlink_to(tmp_path / "outside.py")
    (root / "up").symlink_to(tmp_path, target_is_directory=True)
    (root / "loop").symlink_to(root, target_is_directory=True)
    (root / "in.py").symlink_to(root / "sub" / "b.py")
    (root / "broken.py").symlink_to(root / "nowhere.py")
    (root / "self.py").symlink_to(root / "self.py")
    files, skipped = look(root)
    assert files == ["a.py", "sub/b.py"]
    assert skipped == {
        "out.py": "link that leads outside",
        "up": "link that leads outside",
        "loop": "link to '.', indexed there",
        "in.py": "link to 'sub/b.py', indexed there",
        "broken.py": "broken link",
        "self.py": "broken link",
    }


def test_tools_own_folders_are_left_out_without_a_word(tree: Tree) -> None:
    root = tree(
        {
            ".git/a": "x",
            "__pycache__/b.py": "x",
            ".mypy_cache/c": "x",
            "x.egg-info/d": "x",
            "e": "x",
        }
    )
    assert look(root) == (["e"], {})


def test_installed_packages_and_generated_files_are_left_out(tree: Tree) -> None:
    root = tree(
        {"node_modules/a.js": "x", "env/pyvenv.cfg": "x", "uv.lock": "x", "a.min.js": "x", "b": "x"}
    )
    files, skipped = look(root)
    assert files == ["b"]
    assert skipped == {
        "node_modules/": "installed packages",
        "env/": "virtual environment",
        "uv.lock": "generated",
        "a.min.js": "generated",
    }


def test_a_package_called_env_or_build_is_no_environment(tree: Tree) -> None:
    assert look(tree({"env/a.py": "x", "build/b.py": "x"}))[0] == ["build/b.py", "env/a.py"]


def test_what_is_too_large_is_left_out_with_both_sizes(tree: Tree) -> None:
    root = tree({"big.txt": "x" * 101, "small.txt": "x" * 100})
    reason = "too large: 101 bytes, at most 100"
    assert look(root, max_bytes=100) == (["small.txt"], {"big.txt": reason})


def test_include_and_exclude_are_patterns_as_in_gitignore(tree: Tree) -> None:
    root = tree({"a.py": "x", "b.md": "x", "docs/c.md": "x", "docs/d/e.md": "x", "t/f.py": "x"})
    assert look(root, include=["*.md"])[0] == ["b.md", "docs/c.md", "docs/d/e.md"]
    assert look(root, include="docs/*.md")[0] == ["docs/c.md"]
    files, skipped = look(root, exclude=["t/", "docs/d/e.md"])
    assert files == ["a.py", "b.md", "docs/c.md"]
    assert skipped == {"t/": "excluded", "docs/d/e.md": "excluded"}


@pytest.mark.parametrize(
    ("options", "named"),
    [({"max_bytes": 0}, "max_bytes"), ({"include": [""]}, "include"), ({"exclude": [" "]}, "''")],
)
def test_options_out_of_range_are_refused(
    tree: Tree, options: dict[str, object], named: str
) -> None:
    with pytest.raises(ValueError, match="must be"):
        look(tree({}), **options)


def test_a_pipe_is_no_file(tree: Tree) -> None:
    root = tree({"a.py": "x"})
    os.mkfifo(root / "pipe")
    assert look(root) == (["a.py"], {"pipe": "no regular file"})


def test_a_file_that_went_away_is_named(tree: Tree) -> None:
    (found,) = Scanner.of(tree({"a.py": "x"})).scan()
    assert isinstance(found, FoundFile)
    found.file.unlink()
    assert read_file(found) == Skip("a.py", "unreadable: No such file or directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(tree: Tree) -> None:
    root = tree({"a.py": "x", "closed/b.py": "x", "c.py": "x"})
    (root / "closed").chmod(0)
    (root / "c.py").chmod(0)
    try:
        found = list(Scanner.of(root).scan())
        reasons = [read_file(one) if isinstance(one, FoundFile) else one for one in found]
    finally:
        (root / "closed").chmod(0o700)
    assert Skip("closed", "unreadable: Permission denied") in reasons
    assert Skip("c.py", "unreadable: Permission denied") in reasons


@pytest.mark.parametrize("content", [b"", b" \n\t\n"])
def test_a_file_without_text_is_empty(tree: Tree, content: bytes) -> None:
    (found,) = Scanner.of(tree({"a.py": content})).scan()
    assert isinstance(found, FoundFile)
    assert read_file(found) == Skip("a.py", "empty")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("é\r\nx".encode(), "é\r\nx"),
        (b"\xef\xbb\xbfx", "x"),
        ("你好".encode("utf-16"), "你好"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'", "# -*- coding: latin-1 -*-\nx = 'é'"),
        (b"# vim: set fileencoding=cp1252 :\n# \x80", "# vim: set fileencoding=cp1252 :\n# €"),
        (b"# coding: nobody-knows\nx", "# coding: nobody-knows\nx"),
        (b"#!x\n# coding: koi8-r\n'\xc1'", "#!x\n# coding: koi8-r\n'а'"),
    ],
)
def test_text_is_decoded_as_it_says(data: bytes, text: str) -> None:
    assert decode(data, python=True) == text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x89PNG\0\1", "binary"),
        (b"x" * 9000 + b"\0", "binary"),
        (b"caf\xe9", "broken encoding: no valid utf-8 at byte 3"),
        (b"# coding: ascii\n\xe9", "broken encoding: no valid ascii at byte 16"),
        (b"# coding: rot13\nx", "broken encoding: no valid rot13"),
    ],
)
def test_what_is_no_text_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableTextError) as raised:
        decode(data, python=True)
    assert str(raised.value) == reason


def test_an_encoding_is_declared_in_python_alone() -> None:
    with pytest.raises(UnreadableTextError):
        decode(b"# coding: latin-1\n\xe9")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/a.py", "source_file"),
        ("tests/helpers.py", "test"),
        ("src/test_a.py", "test"),
        ("src/a_test.go", "test"),
        ("conftest.py", "test"),
        ("ui/a.spec.ts", "test"),
        ("src/UserTest.java", "test"),
        ("src/latest.py", "source_file"),
        ("contest.py", "source_file"),
        ("README.md", "document"),
        ("LICENSE", "document"),
        ("tests/README.md", "document"),
        ("docs/decisions/0001-x.md", "decision"),
        ("doc/adr/1.rst", "decision"),
        ("Makefile", "source_file"),
    ],
)
def test_the_kind_of_a_resource_follows_from_its_path_m4(path: str, kind: str) -> None:
    """M4.types."""
    assert resource_type(path) == kind


def test_a_module_is_named_from_the_outermost_package(tree: Tree) -> None:
    root = tree({"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/sub/m.py": "", "s.py": ""})
    names = ModuleNames()
    assert names.of(root / "pkg/sub/m.py") == ("pkg.sub.m", False)
    assert names.of(root / "pkg/sub/__init__.py") == ("pkg.sub", True)
    assert names.of(root / "s.py") == ("s", False)
