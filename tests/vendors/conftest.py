"""`pytest tests/vendors/test_golden.py --update-golden` rewrites expected.json; read the difference before you commit it."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", default=False, help="rewrite the expected models of the golden cases"
    )
