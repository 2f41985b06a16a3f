import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { belong, lineTable, panelsOf } = await script("head_lines");

const side = (n) => ({ labels: Array.from({ length: n }, (_, i) => `w${i}`), short: "word" });
const head = (rows, cols, lines = []) => ({ id: "cross", title: "H", rows: side(rows), cols: side(cols), lines });

test("heads stand side by side as far as there is room, then below, none over another", () => {
  const heads = [head(9, 9), head(40, 9), head(3, 5)];
  for (const room of [300, 640, 1150]) {
    const { height, panels } = panelsOf(heads, room, 16);
    panels.forEach((one, i) => {
      assert.ok(one.x >= 0 && one.x + one.w <= room && one.y + one.h <= height + 1);
      for (const other of panels.slice(i + 1)) {
        assert.ok(one.x + one.w <= other.x || other.x + other.w <= one.x || one.y + one.h <= other.y || other.y + other.h <= one.y);
      }
    });
    assert.ok(panels.every(({ step }) => step >= 19));
  }
});

test("a word has its own lines, a line itself", () => {
  const lines = [[0, 1, 0.5], [0, 2, 0.25], [1, 1, 1]];
  assert.deepEqual(belong(lines, { side: "rows", at: 0 }), lines.slice(0, 2));
  assert.deepEqual(belong(lines, { side: "cols", at: 1 }), [lines[0], lines[2]]);
  assert.deepEqual(belong(lines, { row: 1, col: 1 }), [lines[2]]);
});

test("the table has every line that is drawn, and is a header alone where there is no head", () => {
  const words = { head: "head", weight: "weight" };
  assert.deepEqual(lineTable({ words, heads: [head(2, 2, [[1, 0, 0.5], [0, 1, 1.25e-7]])] }), [
    ["head", "word", "word", "weight"],
    ["H", "1 w1", "0 w0", 0.5],
    ["H", "0 w0", "1 w1", 1.25e-7],
  ]);
  assert.equal(lineTable({ words, heads: [] }).length, 1);
});
