"""The page about learning rates and Adam as a visitor meets it: what is drawn, what is said, what a program prints."""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

import numpy as np
import pytest

from playground.i18n import Translate
from playground.runs import RunStore
from playground.schedule import PUBLISHED, own_setting
from playground.ui.learning_rate_views import course_of


def said(visitor: Any) -> str:
    return " ".join(each.value for each in [*visitor.markdown, *visitor.caption]).replace("\\", "")


def printed(program: str) -> list[float]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "<program>", "exec"), {})  # noqa: S102  # the very thing that is tested
    return [float(line) for line in out.getvalue().split()]


def test_the_runs_own_rates_lie_on_the_curve(app):
    visitor = app("learning_rate")
    assert not visitor.exception, [each.value for each in visitor.exception]
    assert re.search(r"The 800 rates that this run wrote down lie on the curve to \de-(09|10|11)", said(visitor))
    assert visitor.select_slider(key="rate_slide_rate_width").value == 64.0


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_setting_is_one_click_and_the_run_another(app, name):
    visitor = app("learning_rate")
    visitor.button(key=f"rate_preset_{name}").click().run()
    setting = PUBLISHED[name]
    assert f"**{setting.peak:.3g}** at step {setting.warmup:,}" in said(visitor)
    assert visitor.query_params["rate_width"] == f"{setting.d_model}"
    assert "left edge" in said(visitor)  # the run is too short to be seen beside it
    visitor.button(key="rate_preset_own").click().run()
    assert "rate_width" not in visitor.query_params
    assert "lie on the curve" in said(visitor)


def test_a_slider_moves_the_peak_and_is_in_the_link(app):
    visitor = app("learning_rate")
    visitor.select_slider(key="rate_slide_rate_warmup").set_value(400.0).run()
    assert visitor.query_params["rate_warmup"] == "400"
    assert f"{(0.5 / (64 * 400) ** 0.5):.3g}" in said(visitor)
    visitor.select_slider(key="rate_slide_rate_warmup").set_value(100.0).run()  # the run's own
    assert "rate_warmup" not in visitor.query_params or visitor.query_params["rate_warmup"] == "100"


@pytest.mark.parametrize("view", ["rate", "adam"])
@pytest.mark.parametrize("step", ["0", "80", "800"])
def test_the_numbers_are_those_that_the_program_prints(app, view, step):
    visitor = app("learning_rate", v="1", rates=view, depth="numbers", step=step)
    table = next(each.value for each in visitor.markdown if each.value.startswith("| "))
    last = [row.split("|")[-2].strip() for row in table.splitlines()[2:]]
    visitor = app("learning_rate", v="1", rates=view, depth="code", step=step)
    numbers = printed(visitor.code[-1].value)
    wanted = float(last[-1].replace("−", "-"))
    assert len(numbers) >= 2
    assert numbers == pytest.approx([wanted] * len(numbers), rel=1e-4)


def test_the_formula_has_its_source(app):
    for view, source in (("rate", "equation 3"), ("adam", "algorithm 1")):
        visitor = app("learning_rate", v="1", rates=view, depth="formula")
        assert source in said(visitor) and visitor.latex


def test_adam_shares_a_way_out_more_evenly_than_plain_descent(app):
    run = RunStore().open("english-french")
    course = course_of(run, 5)
    assert np.abs(course.ratio).max() < 3
    visitor = app("learning_rate", v="1", rates="adam", probe="5")
    numbers = [int(number) for number in re.findall(r"\*\*(\d+) times\*\*", said(visitor))]
    assert len(numbers) == 2 and numbers[0] < numbers[1]
    assert re.search(r"misses them by at most \d\.\de-0[6-9]", said(visitor))


def test_a_link_with_nonsense_falls_back(app):
    visitor = app(
        "learning_rate", v="1", rates="x", rate_width="7", rate_warmup="-1", beside="all<script>", probe="999"
    )
    assert not visitor.exception
    assert f"**{own_setting(RunStore().open('english-french').config).peak:.3g}**" in said(visitor)
    assert app("learning_rate", v="1", rates="adam", probe="999").selectbox(key="rate_probe").value == 23


def test_a_run_without_gradients_says_so(app, monkeypatch):
    monkeypatch.setattr("playground.runs.Run.gradients", np.empty((0, 24)))
    visitor = app("learning_rate", v="1", rates="adam", depth="numbers")
    assert not visitor.exception
    assert Translate("en")("learning_rate.no_gradients")[:30] in visitor.info[0].value.replace("\\", "")
