"""The command line: what it writes opens, and what it can't do it says in the reader's language."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from playground.__main__ import main
from playground.bar import Bar
from playground.i18n import LANGUAGES, Translate
from playground.recipe import Recipe, RunConfig, model_for
from playground.runs import Progress, Run, RunStore, RunWriter
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


# --- Runs that are kept ----------------------------------------------------------------------------------------------

TINY = ["--task", "reverse", "--set", "d_model=12", "--set", "n_heads=3", "--set", "d_ff=7", "--set", "n_layers=1"]


def only_run() -> Run:
    [path] = (path for path in RunStore().root.iterdir() if not path.name.startswith("."))
    return Run.load(path)


def test_train_takes_any_setting_and_a_name(capsys):
    more = [
        "--set",
        "positions=rotary",
        "--set",
        "tied=no",
        "--set",
        "factor=0.25",
        "--title",
        "A <b>",
        "--note",
        "why",
    ]
    assert main(["train", *TINY, *more, "--steps", "2"]) == 0
    run = only_run()
    model, recipe = run.config.model, run.config.recipe
    assert (model.d_model, model.positions, model.tied, recipe.factor) == (12, "rotary", False, 0.25)
    assert (run.title, run.label.note) == ("A <b>", "why")
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert run.id in listed and "english-french" in listed and "A <b>" in listed
    assert main(["show", run.id]) == 0
    assert "d_model=12" in capsys.readouterr().out


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("setting", "said"),
    [("foo=1", "cli.not_a_setting"), ("d_model", "cli.not_a_setting"), ("seed=1", "cli.not_a_setting")],
)
def test_what_is_no_setting_is_said(capsys, language, setting, said):
    assert main(["--lang", language, "train", *TINY, "--set", setting]) == 1
    assert Translate(language)(said, text=setting) in capsys.readouterr().err
    assert not RunStore().root.exists()


def test_settings_that_do_not_fit_name_both_numbers(capsys):
    assert main(["train", *TINY, "--set", "d_model=13"]) == 1
    assert "n_heads=3 does not divide d_model=13" in capsys.readouterr().err
    assert main(["train", *TINY, "--set", "factor=-1"]) == 1
    assert Translate("en")("training.refused.range", name="factor", value=-1, low=0.001, high=1_000.0) in (
        capsys.readouterr().err
    )


def test_own_data_is_learnt_and_what_is_none_is_refused(tmp_path, capsys):
    (tmp_path / "pairs.csv").write_text("".join(f"w{i} a,a w{i}\n" for i in range(30)))
    small = ["--set", "d_model=12", "--set", "n_heads=3", "--set", "d_ff=7", "--set", "n_layers=1", "--steps", "1"]
    assert main(["train", "--data", str(tmp_path / "pairs.csv"), *small]) == 0
    run = only_run()
    assert run.config.own and run.config.own.kind == "pairs"
    capsys.readouterr()
    assert main(["show", run.id, "--text", run.config.data.examples[0]]) == 0
    (tmp_path / "short.txt").write_text("too short")
    assert main(["train", "--data", str(tmp_path / "short.txt")]) == 1
    assert main(["train", "--data", str(tmp_path / "none.txt")]) == 1
    assert Translate("en")("training.refused.no_file", file="none.txt") in capsys.readouterr().err


def test_a_run_goes_out_and_comes_back(tmp_path, capsys):
    assert main(["train", *TINY, "--steps", "3"]) == 0
    run, file = only_run(), str(tmp_path / "x.capsule")
    assert main(["export", run.id, file, "--state"]) == 0
    assert main(["export", run.id, file]) == 1  # nothing is written over
    assert Translate("en")("cli.exists", file=file) in capsys.readouterr().err
    assert main(["--runs", str(tmp_path / "there"), "import", file]) == 0
    there = RunStore(tmp_path / "there")
    [brought] = there.root.iterdir()
    assert Run.load(brought).state_steps == run.state_steps
    answers = []
    for each in (["show", run.id], ["--runs", str(there.root), "show", brought.name], ["show", file]):
        capsys.readouterr()
        assert main([*each, "--text", "a b", "--tensor", "decoder.0.cross_attn.weights", "--head", "2"]) == 0
        answers.append(capsys.readouterr().out)
    assert len(set(answers)) == 1
    header = answers[0].splitlines()[1]
    assert header.split("\t") == ["", "a", "b", "⟨eos⟩"]
    assert main(["export", run.id, str(tmp_path / "y.capsule"), "--steps", "last"]) == 0
    assert main(["export", run.id, str(tmp_path / "z.capsule"), "--steps", "1,x"]) == 1
    assert main(["export", run.id, str(tmp_path / "z.capsule"), "--steps", "1"]) == 1
    assert main(["export", run.id, str(tmp_path / "no" / "folder" / "z.capsule")]) == 1
    assert sorted(path.name for path in tmp_path.glob("*capsule*")) == ["x.capsule", "y.capsule"]
    (tmp_path / "bad").write_bytes(b"PK")
    assert main(["import", str(tmp_path / "bad")]) == 1
    assert Translate("en")("capsule.refused.other") in capsys.readouterr().err


def test_what_a_pass_has_not_is_said(capsys):
    assert main(["show", "reverse", "--tensor", "decoder.1.cross_attn.wieghts"]) == 1
    assert "decoder.1.cross_attn.weights" in capsys.readouterr().err
    assert main(["show", "reverse", "--tensor", "decoder.1.cross_attn.weights", "--head", "9"]) == 1
    assert Translate("en")("cli.no_head", head=9, n=4) in capsys.readouterr().err


def test_an_interrupted_run_is_resumed_to_the_same_weights(monkeypatch, capsys):
    train = ["train", *TINY, "--steps", "15"]
    assert main([*train, "--out", str(RunStore().root / "whole")]) == 0

    def interrupt(self: Bar, step: int, told: str) -> None:
        if step == 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Bar, "show", interrupt)
        with pytest.raises(KeyboardInterrupt):
            main([*train, "--out", str(RunStore().root / "half")])
    half = Run.load(RunStore().root / "half")
    assert half.progress == Progress("stopped", 7)
    assert "7" in capsys.readouterr().err
    assert main(["resume", "half"]) == 0
    whole, done = (Run.load(RunStore().root / name) for name in ("whole", "half"))
    assert done.progress == whole.progress
    assert all(torch.equal(each, done.weights(15)[name]) for name, each in whole.weights(15).items())
    assert main(["resume", "half"]) == 1
    assert Translate("en")("training.refused.finished") in capsys.readouterr().err
    assert main(["resume", "reverse"]) == 1
    assert Translate("en")("cli.recording") in capsys.readouterr().err


def test_delete_asks_first(monkeypatch, capsys):
    assert main(["train", *TINY, "--steps", "1"]) == 0
    run = only_run()
    for answer in ("", "n", "yes please"):
        monkeypatch.setattr("builtins.input", lambda _, answer=answer: answer)
        assert main(["delete", run.id]) == 1 and run.path.exists()
    monkeypatch.setattr("builtins.input", lambda _: "y")
    assert main(["delete", run.id]) == 0 and not run.path.exists()
    assert main(["delete", "reverse", "--yes"]) == 1
    assert main(["delete", "../..", "--yes"]) == 1


def test_what_is_not_understood_is_2(capsys):
    for arguments in ([], ["fly"], ["train", "--steps", "many"], ["export", "reverse"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        capsys.readouterr()
