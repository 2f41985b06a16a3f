"""The command line: `python -m playground train | record | show`. Each says with `--help` what it takes."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from playground.i18n import LANGUAGES, Translate
from playground.recipe import DEVICES, Recipe, RunConfig, RunRefused, model_for
from playground.runs import RECORDINGS, Progress, Run, RunStore, RunWriter
from playground.tasks import TASKS, TextRefused
from playground.training.recording import Recording, diverged
from playground.training.shipped import GOOD_ENOUGH, JUDGED_ON, SHIPPED
from playground.training.trainer import Diverged, Trainer, available_devices
from playground.training.watching import translate_tokens

TELL_EVERY = 50  # steps


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: As typed; those of the process if None.

    Returns:
        The exit status: 0, or 1 if the command could not be done.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    t = Translate(_language(given))
    options = _parser(t).parse_args(given)
    torch.set_num_threads(1)  # this process trains one model; and a seed gives the same run on one thread only
    try:
        match options.command:
            case "train":
                return _train(options, t)
            case "record":
                return _record(options, t)
            case _:
                return _show(options, t)
    except (RunRefused, TextRefused) as refusal:
        print(t(refusal.key, **refusal.values), file=sys.stderr)
        return 1


def _parser(t: Translate) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m playground", description=t("training.cli.about"))
    parser.add_argument("--lang", choices=[*LANGUAGES], default=t.language, help=t("training.cli.language"))
    commands = parser.add_subparsers(dest="command", required=True)

    train = commands.add_parser("train", help=t("training.cli.train"), description=t("training.cli.train"))
    train.add_argument("--task", choices=[*TASKS], default=next(iter(TASKS)), help=t("training.cli.task"))
    train.add_argument("--seed", type=int, default=0, help=t("training.cli.seed"))
    train.add_argument("--steps", type=int, default=Recipe.steps, help=t("training.cli.steps"))
    train.add_argument("--device", choices=DEVICES, default="cpu", help=t("training.cli.device"))
    train.add_argument("--out", type=Path, required=True, help=t("training.cli.out"))

    record = commands.add_parser("record", help=t("training.cli.record"), description=t("training.cli.record"))
    record.add_argument("--only", choices=[*SHIPPED], help=t("training.cli.only"))
    record.add_argument("--out", type=Path, default=RECORDINGS, help=t("training.cli.recordings"))

    show = commands.add_parser("show", help=t("training.cli.show"), description=t("training.cli.show"))
    show.add_argument("run", help=t("training.cli.run"))
    show.add_argument("--text", required=True, help=t("training.cli.text"))
    show.add_argument("--step", type=int, help=t("training.cli.step"))
    return parser


def _train(options: argparse.Namespace, t: Translate) -> int:
    if options.device not in available_devices():
        raise RunRefused("training.refused.no_device", device=options.device)
    recipe = Recipe(steps=options.steps, seed=options.seed, device=options.device)
    if options.out.exists():
        print(t("training.cli.exists", folder=options.out), file=sys.stderr)
        return 1
    config = RunConfig(task=options.task, model=model_for(options.task), recipe=recipe)
    if _train_into(options.out, config, t) is None:
        return 1
    print(_written(options.out, t))
    return 0


def _record(options: argparse.Namespace, t: Translate) -> int:
    for name in [options.only] if options.only else SHIPPED:
        # Made beside its place and then moved there, so that a recording is whole or the old one.
        beside = options.out / f".{name}.part"
        shutil.rmtree(beside, ignore_errors=True)
        exact = _train_into(beside, SHIPPED[name], t)
        if exact is None or exact < GOOD_ENOUGH:
            percent = f"{100 * (exact or 0.0):.1f}"
            print(t("training.cli.too_weak", percent=percent, n=JUDGED_ON), file=sys.stderr)
            return 1
        shutil.rmtree(options.out / name, ignore_errors=True)
        beside.rename(options.out / name)
        print(_written(options.out / name, t))
    return 0


def _show(options: argparse.Namespace, t: Translate) -> int:
    path = Path(options.run)
    run = Run.load(path) if (path / "run.json").is_file() else RunStore().open(options.run)
    if not run.steps:
        print(t("training.cli.too_few"), file=sys.stderr)
        return 1
    task = TASKS[run.task]
    tokens = task.tokenize(options.text)
    model = run.model(run.steps[-1] if options.step is None else options.step)
    with torch.no_grad():
        print(task.detokenize(next(translate_tokens(model, task, [tokens]))))
    return 0


def _train_into(folder: Path, config: RunConfig, t: Translate) -> float | None:
    """Train into a new folder, telling how it goes, and return the share of exact matches at the end.

    Returns:
        0–1, or None if the training diverged.
    """
    trainer = Trainer(config)
    recording = Recording(trainer, RunWriter.create(folder, config))
    steps = config.recipe.steps
    print(t("training.cli.begun", task=config.task, parameters=f"{config.model.n_parameters:,}", steps=steps))
    exact = 0.0
    for report in recording.run():
        if isinstance(report, Diverged):
            progress = diverged(report)
            recording.end(progress)
            print(t("training.ended.diverged", **progress.values), file=sys.stderr)
            return None
        if report.step % TELL_EVERY == 0:
            rate = f"{report.step / report.seconds:.0f}"
            print(t("training.cli.progress", step=report.step, steps=steps, loss=f"{report.loss:.3f}", rate=rate))
        if recording.recorded[-1] == report.step:
            exact = trainer.evaluate(JUDGED_ON)
            recording.exact_match(exact)
            percent = f"{100 * exact:.1f}"
            print(t("training.cli.matched", step=report.step, steps=steps, percent=percent, n=JUDGED_ON))
    recording.end(Progress("finished", trainer.step))
    return exact


def _written(folder: Path, t: Translate) -> str:
    """Say what a finished run takes on the disk, and took to train."""
    run = Run.load(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    seconds = run.metrics["seconds"][-1]
    numbers = {"n": len(run.steps), "megabytes": f"{size / 1e6:.1f}", "seconds": f"{seconds:.1f}"}
    return t("training.cli.written", folder=folder, **numbers)


def _language(arguments: Sequence[str]) -> str:
    """Return the language of the messages: `--lang`, else the environment's, else the first there is."""
    for here, following in zip(arguments, [*arguments[1:], ""], strict=True):
        chosen = following if here == "--lang" else here.removeprefix("--lang=")
        if here.startswith("--lang") and chosen in LANGUAGES:
            return chosen
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return next((language for language in LANGUAGES if locale.startswith(language)), next(iter(LANGUAGES)))


if __name__ == "__main__":
    sys.exit(main())
