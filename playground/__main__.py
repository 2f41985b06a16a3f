"""The command line: `python -m playground train`, `resume`, `show`, `list`, `export`, `import`, `delete`, `record`
and `experiments`.

Each says with `--help` what it takes. The exit status is 0; 1, with a sentence on the standard error, if it could
not be done; 2 if it was not understood; 130 if it was interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path

import torch

from models import ModelConfig
from playground.bar import Bar
from playground.capsule import write_capsule
from playground.i18n import LANGUAGES, Translate, visible
from playground.library import disk_size, open_run, relabel, unpack
from playground.prepared import RECORDED
from playground.recipe import DEVICES, RUN_ID, Recipe, RunConfig, RunRefused, changed, model_for
from playground.runs import EXPERIMENTS, RECORDINGS, Progress, Run, RunStore, RunWriter
from playground.subject import Subject
from playground.tasks import TASKS, TextRefused
from playground.tasks.own import DataRefused, decoded, read_pairs, read_text
from playground.training.experiments import record_experiment
from playground.training.recording import Recording, diverged
from playground.training.shipped import GOOD_ENOUGH, JUDGED_ON, SHIPPED
from playground.training.trainer import Diverged, available_devices

TELL_EVERY = 50  # steps, where there is no terminal
TABLES = (".csv", ".tsv")
SETTABLE = tuple(  # by `--set`; the others follow from the task, or have an option of their own
    each.name
    for of in (ModelConfig, Recipe)
    for each in fields(of)
    if each.name not in ("vocab_size", "architecture", "max_len", "pad_id", "steps", "seed", "device")
)


class Refused(Exception):
    """What can't be done, with the words for it: a locale key and what stands at its placeholders."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key = key
        self.values: Mapping[str, object] = values


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: As typed; those of the process if None.

    Returns:
        The exit status.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    t = Translate(_language(given))
    options = _parser(t).parse_args(given)
    torch.set_num_threads(1)  # this process trains one model; and a seed gives the same run on one thread only
    try:
        return int(COMMANDS[options.command](options, t))
    except (RunRefused, TextRefused, DataRefused, Refused) as refusal:
        print(t(refusal.key, **refusal.values), file=sys.stderr)
        return 1
    except BrokenPipeError:  # who reads the answer has seen enough
        sys.stderr.close()
        return 1


def _parser(t: Translate) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m playground", description=t("cli.about"))
    parser.add_argument("--lang", choices=[*LANGUAGES], default=t.language, help=t("training.cli.language"))
    parser.add_argument("--runs", type=Path, help=t("cli.folder"))
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, about: str, after: str | None = None) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=t(about), description=t(about), epilog=after)

    settings = t("cli.settings", names=", ".join(SETTABLE))
    train = command("train", "training.cli.train", settings)
    train.add_argument("--task", choices=[*TASKS], default=next(iter(TASKS)), help=t("training.cli.task"))
    train.add_argument("--data", type=Path, help=t("cli.data"))
    train.add_argument("--seed", type=int, default=0, help=t("training.cli.seed"))
    train.add_argument("--steps", type=int, default=Recipe.steps, help=t("training.cli.steps"))
    train.add_argument("--device", choices=DEVICES, default="cpu", help=t("training.cli.device"))
    train.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=t("cli.set"))
    train.add_argument("--title", default="", help=t("cli.title"))
    train.add_argument("--note", default="", help=t("cli.note"))
    train.add_argument("--out", type=Path, help=t("cli.out"))

    resume = command("resume", "cli.resume")
    resume.add_argument("run", help=t("cli.run"))

    show = command("show", "training.cli.show")
    show.add_argument("run", help=t("cli.run"))
    show.add_argument("--text", help=t("cli.text"))
    show.add_argument("--step", type=int, help=t("training.cli.step"))
    show.add_argument("--tensor", help=t("cli.tensor"))
    show.add_argument("--head", type=int, default=0, help=t("cli.head"))

    command("list", "cli.list")

    export = command("export", "cli.export")
    export.add_argument("run", help=t("cli.run"))
    export.add_argument("file", type=Path, help=t("cli.file"))
    export.add_argument("--steps", help=t("cli.steps"))
    export.add_argument("--state", action="store_true", help=t("cli.state"))

    bring = command("import", "cli.import")
    bring.add_argument("file", type=Path, help=t("cli.file"))

    delete = command("delete", "cli.delete")
    delete.add_argument("run", help=t("cli.run"))
    delete.add_argument("--yes", action="store_true", help=t("cli.yes"))

    record = command("record", "training.cli.record")
    record.add_argument("--only", choices=[*SHIPPED], help=t("training.cli.only"))
    record.add_argument("--out", type=Path, default=RECORDINGS, help=t("training.cli.recordings"))

    experiments = command("experiments", "training.cli.experiments")
    experiments.add_argument("--only", choices=[*RECORDED], help=t("training.cli.only"))
    experiments.add_argument("--out", type=Path, default=EXPERIMENTS, help=t("training.cli.recordings"))
    return parser


# --- Training --------------------------------------------------------------------------------------------------------


def _train(options: argparse.Namespace, t: Translate) -> int:
    if options.device not in available_devices():
        raise RunRefused("training.refused.no_device", device=options.device)
    config = _planned(options)
    store = _store(options)
    if options.out and options.out.exists():
        raise Refused("training.cli.exists", folder=options.out)
    with _disk(options.out or store.root):
        if options.out:
            writer = RunWriter.create(options.out, config, options.title)
        else:
            writer = store.create(config, options.title)
        if options.title or options.note:
            relabel(Run.load(writer.path), options.title, options.note)
        exact = _train_into(writer, t)
    if exact is None:
        return 1
    print(_written(writer.path, t))
    return 0


def _resume(options: argparse.Namespace, t: Translate) -> int:
    run = _open(options)
    if run.is_recording:
        raise Refused("cli.recording")
    if run.progress.state in ("finished", "diverged"):
        raise RunRefused(f"training.refused.{run.progress.state}")
    with _disk(run.path):
        exact = _train_into(RunWriter(run.path), t)
    if exact is None:
        return 1
    print(_written(run.path, t))
    return 0


def _record(options: argparse.Namespace, t: Translate) -> int:
    for name in [options.only] if options.only else SHIPPED:
        # Made beside its place and then moved there, so that a recording is whole or the old one.
        beside = options.out / f".{name}.part"
        shutil.rmtree(beside, ignore_errors=True)
        exact = _train_into(RunWriter.create(beside, SHIPPED[name]), t)
        if exact is None or exact < GOOD_ENOUGH:
            raise Refused("training.cli.too_weak", percent=f"{100 * (exact or 0.0):.1f}", n=JUDGED_ON)
        shutil.rmtree(beside / "state", ignore_errors=True)  # a recording is made again from its seed
        shutil.rmtree(options.out / name, ignore_errors=True)
        beside.rename(options.out / name)
        print(_written(options.out / name, t))
    return 0


def _experiments(options: argparse.Namespace, t: Translate) -> int:
    for name in [options.only] if options.only else RECORDED:
        print(_written(record_experiment(name, options.out).path, t))
    return 0


def _train_into(writer: RunWriter, t: Translate) -> float | None:
    """Train a run from where its folder ends, telling how it goes, and return the share of exact matches at the end.

    Returns:
        0–1, or None if the training diverged, or was interrupted; what is recorded by then is kept.
    """
    steps = writer.config.recipe.steps
    exact = 0.0
    with Bar(steps, every=TELL_EVERY) as bar:
        bar.say(_begun(writer.config, t))
        recording = Recording.continued(
            writer, between=lambda step: bar.show(step, t("training.hint.made_again", step=step, steps=steps))
        )
        trainer = recording.trainer
        begun = trainer.step, trainer.seconds
        try:
            for report in recording.run():
                if isinstance(report, Diverged):
                    progress = diverged(report)
                    recording.end(progress)
                    bar.say(t("training.ended.diverged", **progress.values))
                    return None
                rate = (report.step - begun[0]) / max(report.seconds - begun[1], 1e-9)
                told = {"step": report.step, "steps": steps, "loss": f"{report.loss:.3f}", "rate": f"{rate:.0f}"}
                bar.show(report.step, t("training.cli.progress", **told))
                if recording.recorded[-1] == report.step:
                    exact = trainer.evaluate(JUDGED_ON)
                    recording.exact_match(exact)
                    numbers = {"percent": f"{100 * exact:.1f}", "n": min(JUDGED_ON, len(trainer.task.heldout))}
                    bar.say(t("training.cli.matched", step=report.step, steps=steps, **numbers))
        except KeyboardInterrupt:
            recording.end(Progress("stopped", trainer.step))
            bar.say(t("cli.stopped", step=trainer.step, run=writer.path))
            raise
        recording.end(Progress("finished", trainer.step))
    return exact


def _planned(options: argparse.Namespace) -> RunConfig:
    """Return the training that is asked for."""
    recipe = Recipe(steps=options.steps, seed=options.seed, device=options.device)
    if options.data:
        text, _ = decoded(_bytes(options.data))
        own = (read_pairs if options.data.suffix.lower() in TABLES else read_text)(text).data
        config = RunConfig(task=own.name, own=own, model=model_for(own.task()), recipe=recipe)
    else:
        config = RunConfig(task=options.task, model=model_for(options.task), recipe=recipe)
    try:
        return changed(config, dict(map(_setting, options.set)))
    except RunRefused as error:
        if isinstance(error.__cause__, ValueError):  # of the model, which names the numbers that do not fit
            raise Refused("cli.no_model", reason=error.__cause__) from error
        raise


def _setting(text: str) -> tuple[str, object]:
    """Return name and value of `d_model=128`."""
    name, sign, value = text.partition("=")
    if not sign or name not in SETTABLE:
        raise Refused("cli.not_a_setting", text=text)
    if value in ("yes", "no"):
        return name, value == "yes"
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _begun(config: RunConfig, t: Translate) -> str:
    parameters = f"{config.model.n_parameters:,}"
    return t("training.cli.begun", task=config.task, parameters=parameters, steps=config.recipe.steps)


def _written(folder: Path, t: Translate) -> str:
    """Say what a finished run takes on the disk, and took to train."""
    run = Run.load(folder)
    numbers = {"n": len(run.steps), "megabytes": _megabytes(folder), "seconds": f"{run.metrics['seconds'][-1]:.1f}"}
    return t("training.cli.written", folder=folder, **numbers)


# --- Runs that are kept ----------------------------------------------------------------------------------------------


def _show(options: argparse.Namespace, t: Translate) -> int:
    run = _open(options)
    if options.text is None and options.tensor is None:
        print(_described(run, t))
        return 0
    if not run.steps:
        raise Refused("training.cli.too_few")
    text = run.config.data.examples[0] if options.text is None else options.text
    subject = Subject(run, run.steps[-1] if options.step is None else options.step, text)
    print(subject.translation)
    if options.tensor is not None:
        print(_tensor(subject, options.tensor, options.head))
    return 0


def _tensor(subject: Subject, name: str, head: int) -> str:
    """Return a tensor of a pass as a table with words at its sides, columns between tabs."""
    if name not in subject.reading:
        alike = get_close_matches(name, list(subject.reading), n=4, cutoff=0.0)
        raise Refused("cli.no_tensor", name=name, names=", ".join(alike))
    array = subject.reading[name]
    for each in ("head", "kv_head"):
        if each in (axis.name for axis in array.axes):
            if not 0 <= head < len(array.axis(each)):
                raise Refused("cli.no_head", head=head, n=len(array.axis(each)))
            array = array.select(**{each: head})
    values = array.values.reshape(1, -1) if array.values.ndim == 1 else array.values
    rows = array.axes[0].labels if array.values.ndim == 2 else ("",)
    head_line = "\t".join(("", *array.axes[-1].labels))
    lines = ("\t".join((row, *(f"{value:.9g}" for value in line))) for row, line in zip(rows, values, strict=True))
    return "\n".join((head_line, *lines))


def _list(options: argparse.Namespace, t: Translate) -> int:
    store = _store(options)
    folders = store.root.iterdir() if store.root.is_dir() else ()
    for run in store.runs(sorted(path.name for path in folders if RUN_ID.fullmatch(path.name))):
        print(t("cli.line", run=run.id, **_told(run, t)))
    return 0


def _described(run: Run, t: Translate) -> str:
    def plain(fields: Mapping[str, object]) -> str:
        return ", ".join(f"{name}={value}" for name, value in fields.items())

    def numbers(steps: Sequence[int]) -> str:
        return " ".join(map(str, steps)) or t("cli.none")

    return t(
        "cli.described",
        **_told(run, t),
        parameters=f"{run.config.model.n_parameters:,}",
        seed=run.config.recipe.seed,
        recorded=numbers(run.steps),
        stated=numbers(run.state_steps),
        model=plain(run.config.model.to_dict()),
        recipe=plain(run.config.recipe.to_dict()),
        python=run.versions.get("python", "?"),
        torch=run.versions.get("torch", "?"),
        folder=run.path,
    ) + (f"\n{visible(run.label.note)}" if run.label.note else "")


def _told(run: Run, t: Translate) -> dict[str, object]:
    task = t(f"tasks.{run.task}.title")
    return {
        "title": visible(run.title or task),
        "task": task,
        "state": t(f"cli.status.{run.progress.state}"),
        "step": run.progress.step,
        "steps": run.config.recipe.steps,
        "share": f"{100 * run.exact_match[-1][1]:.1f} %" if run.exact_match else t("cli.unmeasured"),
        "megabytes": _megabytes(run.path),
    }


def _export(options: argparse.Namespace, t: Translate) -> int:
    run = _open(options)
    if options.file.exists():
        raise Refused("cli.exists", file=options.file)
    steps = _steps(options.steps, run)
    beside = options.file.with_name(f".{options.file.name}.part")
    with _disk(options.file):
        try:
            with beside.open("wb") as file:
                n_bytes = write_capsule(file, run, steps, states=options.state)
            beside.rename(options.file)
        finally:
            beside.unlink(missing_ok=True)
    n = len(run.steps if steps is None else set(steps))
    print(t("cli.exported", file=options.file, n=n, megabytes=f"{n_bytes / 1e6:.1f}"))
    return 0


def _steps(text: str | None, run: Run) -> tuple[int, ...] | None:
    if text is None or (text == "last" and not run.steps):
        return None
    if text == "last":
        return run.steps[-1:]
    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError as error:
        raise Refused("cli.no_steps", text=text) from error


def _import(options: argparse.Namespace, t: Translate) -> int:
    run = unpack(options.file, _store(options))
    print(t("cli.imported", run=run.id, n=len(run.steps), title=_told(run, t)["title"]))
    return 0


def _delete(options: argparse.Namespace, t: Translate) -> int:
    store = _store(options)
    run = store.open(options.run)
    if run.is_recording:
        raise Refused("cli.recording")
    if not options.yes and _asked(t("cli.sure", run=run.id, title=_told(run, t)["title"])).strip().lower() != "y":
        print(t("cli.kept"))
        return 1
    with _disk(run.path):
        store.remove(run.id)
    print(t("cli.removed", run=run.id))
    return 0


def _asked(question: str) -> str:
    """Return what is typed in answer; nothing if nobody is there to type."""
    try:
        return input(f"{question} ")
    except EOFError:
        return ""


# --- What commands share ---------------------------------------------------------------------------------------------


def _store(options: argparse.Namespace) -> RunStore:
    return RunStore(options.runs)


def _open(options: argparse.Namespace) -> Run:
    return open_run(options.run, _store(options))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunRefused("training.refused.no_file", file=path.name) from error


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    """Say in words what a disk does not allow."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Refused("cli.not_written", file=path, reason=error.strerror or type(error).__name__) from error


def _megabytes(folder: Path) -> str:
    return f"{disk_size(folder) / 1e6:.1f}"


def _language(arguments: Sequence[str]) -> str:
    """Return the language of the messages: `--lang`, else the environment's, else the first there is."""
    for here, following in zip(arguments, [*arguments[1:], ""], strict=False):
        chosen = following if here == "--lang" else here.removeprefix("--lang=")
        if here.startswith("--lang") and chosen in LANGUAGES:
            return chosen
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return next((language for language in LANGUAGES if locale.startswith(language)), next(iter(LANGUAGES)))


COMMANDS = {
    "train": _train,
    "resume": _resume,
    "show": _show,
    "list": _list,
    "export": _export,
    "import": _import,
    "delete": _delete,
    "record": _record,
    "experiments": _experiments,
}

if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
