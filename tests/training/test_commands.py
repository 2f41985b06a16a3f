"""The command line: what it writes opens, and what it can't do it says in the reader's language."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from playground.__main__ import main
from playground.i18n import LANGUAGES, Translate
from playground.recipe import Recipe, RunConfig, model_for
from playground.runs import Run, RunWriter
from playground.training import shipped


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands of a test leave the number of threads, the language and the runs of this machine alone."""
    monkeypatch.setattr(torch, "set_num_threads", lambda n: None)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PLAYGROUND_RUNS", str(tmp_path / "runs"))


def test_train_writes_a_run_that_show_asks(tmp_path, capsys):
    folder = tmp_path / "here"
    assert main(["train", "--task", "reverse", "--steps", "3", "--seed", "5", "--out", str(folder)]) == 0
    run = Run.load(folder)
    assert run.progress.state == "finished" and run.steps == (0, 3) and run.config.recipe.seed == 5
    assert str(folder) in capsys.readouterr().out
    assert main(["show", str(folder), "--text", "a b c", "--step", "0"]) == 0
    assert capsys.readouterr().out.strip()


def test_train_writes_over_nothing(tmp_path, capsys):
    assert main(["train", "--out", str(tmp_path)]) == 1
    assert Translate("en")("training.cli.exists", folder=tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_cannot_be_done_is_said_in_words(tmp_path, capsys, language):
    t = Translate(language)
    config = RunConfig(task="reverse", model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1))
    RunWriter.create(tmp_path / "young", config).weights(0, {})
    said = {
        t("training.refused.no_run", run="no-such-run"): ["show", "no-such-run", "--text", "a"],
        t("training.refused.range", name="steps", value=0, low=1, high=20_000): [
            "train", "--steps", "0", "--out", str(tmp_path / "x"),
        ],
        t("training.refused.weights_size", file="step-000000.safetensors"): [
            "show", str(tmp_path / "young"), "--text", "a",
        ],
        t("tasks.refused.empty"): ["show", str(tmp_path / "young"), "--text", " "],
    }  # fmt: skip
    for words, arguments in said.items():
        assert main(["--lang", language, *arguments]) == 1
        assert words in capsys.readouterr().err


def test_the_environment_chooses_the_language(monkeypatch, capsys):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert main(["show", "no-such-run", "--text", "a"]) == 1
    assert Translate("zh")("training.refused.no_run", run="no-such-run") in capsys.readouterr().err


def test_record_ships_only_what_is_good_enough(monkeypatch, tmp_path, capsys):
    tiny = RunConfig(
        task="reverse",
        model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
        recipe=Recipe(steps=2),
    )
    monkeypatch.setattr("playground.__main__.SHIPPED", {"reverse": tiny})
    monkeypatch.setattr("playground.__main__.JUDGED_ON", 5)
    (tmp_path / "reverse").mkdir()
    (tmp_path / "reverse" / "old").touch()
    assert main(["record", "--out", str(tmp_path)]) == 1
    assert (tmp_path / "reverse" / "old").exists()
    monkeypatch.setattr("playground.__main__.GOOD_ENOUGH", 0.0)
    assert main(["record", "--out", str(tmp_path)]) == 0
    assert Run.load(tmp_path / "reverse").steps == (0, 2)
    assert not (tmp_path / "reverse" / "old").exists()
    assert shipped.GOOD_ENOUGH == 0.99
