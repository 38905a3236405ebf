"""Command lines run in this very process, with models that stay loaded: many in little time."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from memcli.cli.environment import Environment
from memcli.cli.ladder import run
from memcli.facade import Memcli
from soaking.ground import Ended

if TYPE_CHECKING:
    from memcli.models.model_shelf import ModelShelf


class Program:
    """Does what ``python -m memcli`` does, without an interpreter's start; one thread at a time."""

    def __init__(self) -> None:
        self._models: ModelShelf | None = None

    def run(
        self, directory: Path, environ: Mapping[str, str], *arguments: str, given: bytes = b""
    ) -> Ended:
        out, err = io.BytesIO(), io.BytesIO()
        environment = Environment(
            stdin=io.BytesIO(given),
            stdout=out,
            stderr=err,
            stdin_is_terminal=False,
            stdout_is_terminal=False,
            stderr_is_terminal=False,
            environ=environ,
            working_directory=directory,
        )
        with patch("memcli.facade.Memcli", self._with_kept_models()):
            status = run(list(arguments), environment)
        return Ended(int(status), out.getvalue(), err.getvalue())

    def _with_kept_models(program) -> type[Memcli]:  # noqa: N805 - `self` is the facade's here
        class WithKeptModels(Memcli):
            @property
            def shelf(self) -> ModelShelf:
                models = program._models or super().shelf
                program._models = models
                return models

            def close(self) -> None:
                pass

        return WithKeptModels

    def close(self) -> None:
        if self._models is not None:
            self._models.close()
            self._models = None
