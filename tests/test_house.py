"""The layout, the imports and the package are what docs/decisions/0002 says."""

import ast
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOP_LEVEL = {
    "pyproject.toml",
    "acms_adapters",
    "strategies",
    "examples",
    "tests",
    "docs",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
}
SHIPPED = ("acms_adapters", "strategies/acms_strategies")
HEAVY = ("chromadb", "langchain_core", "llama_index", "numpy", "typer", "wordllama")
MODULE_LINES = 300
FUNCTION_LINES = 60

# Absolute paths of one machine: a home, a work tree, a temporary file. Written so that this
# file does not match itself.
MACHINE_PATH = re.compile(rb"(?<![\w.$}~/-])/(?:home|root|Users|work|tmp|opt|var/folders)/[\w.-]+")


def read_pyproject() -> dict[str, dict]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def shipped_modules() -> list[Path]:
    return sorted(path for folder in SHIPPED for path in (ROOT / folder).rglob("*.py"))


@pytest.fixture(scope="module")
def committed_files() -> list[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git clone")
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z"],
        capture_output=True,
        check=True,
        text=True,
    )
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def wheel_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    if find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed")
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("package", ["acms_adapters", "acms_strategies"])
def test_importing_a_package_loads_no_framework(package: str) -> None:
    code = f"import sys, {package}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "docs", check=True
    )
    assert ran.stdout.split() == []


def test_the_wheel_holds_both_packages_and_their_type_markers(wheel_files: dict) -> None:
    assert {
        "acms_adapters/__init__.py",
        "acms_adapters/py.typed",
        "acms_strategies/__init__.py",
        "acms_strategies/py.typed",
    } <= wheel_files.keys()


def test_the_wheel_installs_no_other_top_level_name(wheel_files: dict) -> None:
    tops = {name.split("/")[0] for name in wheel_files}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "acms_adapters",
        "acms_strategies",
    }


def test_the_wheel_holds_every_shipped_module(wheel_files: dict) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in shipped_modules()}
    assert {name.removeprefix("strategies/") for name in modules} <= wheel_files.keys()


@pytest.mark.parametrize(
    "target",
    sorted(read_pyproject()["project"]["entry-points"]["acms_adapters.strategies"].items()),
)
def test_each_listed_strategy_can_be_loaded_under_its_own_name(target: tuple[str, str]) -> None:
    name, path = target
    module, _, attribute = path.partition(":")
    assert getattr(import_module(module), attribute)().name == name


def test_the_command_named_in_the_package_exists() -> None:
    module, _, attribute = read_pyproject()["project"]["scripts"]["acms"].partition(":")
    assert callable(getattr(import_module(module), attribute))


def test_the_top_level_holds_only_names_a_reader_expects(committed_files: list[str]) -> None:
    tops = {name.split("/")[0] for name in committed_files}
    assert {top for top in tops if not top.startswith(".")} <= TOP_LEVEL


def test_every_part_of_the_library_has_its_floor_in_the_layers() -> None:
    (layers,) = (
        " ".join(contract["layers"])
        for contract in read_pyproject()["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    parts = {
        path.relative_to(ROOT / "acms_adapters").parts[0].removesuffix(".py")
        for path in (ROOT / "acms_adapters").rglob("*.py")
    }
    assert parts - {"__init__"} <= set(re.findall(r"acms_adapters\.(\w+)", layers))


def test_strategies_is_a_folder_and_not_a_package() -> None:
    assert not (ROOT / "strategies" / "__init__.py").exists()


def test_no_committed_file_names_a_path_of_one_machine(committed_files: list[str]) -> None:
    found = {
        name: match.group()
        for name in committed_files
        if (match := MACHINE_PATH.search((ROOT / name).read_bytes()))
    }
    assert found == {}


def test_the_script_that_guards_a_change_can_be_executed() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("module", shipped_modules(), ids=lambda path: path.stem)
def test_a_module_and_its_functions_fit_on_a_few_screens(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MODULE_LINES
    too_long = [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES
    ]
    assert too_long == []


def test_a_test_that_reaches_for_the_network_is_stopped(network_attempts: list[str]) -> None:
    with pytest.raises(RuntimeError, match=r"reached for 'example\.org'"):
        socket.create_connection(("example.org", 80))
    with (
        socket.socket() as direct,
        pytest.raises(RuntimeError, match=r"reached for '192\.0\.2\.1'"),
    ):
        direct.connect(("192.0.2.1", 80))
    assert len(network_attempts) == 2
    network_attempts.clear()


def test_a_test_may_talk_to_its_own_machine() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert client.getpeername() == server.getsockname()
