import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { cellAt, clickerStep, fitted, litBy, longTable, reasonAt, stripSize, table, tickStep, walked } = await script("matrix");

const axis = (labels, words = true) => ({ labels, words, short: "axis", name: "axis" });
const block = (id, rows, cols, operands = [], more = {}) => ({
  id, title: id, rows: axis(rows), cols: axis(cols), operands, hidden: null, ...more,
});
const link = (to, row, col, col_from = 0) => ({ block: to, row, col, row_from: 0, col_from });

// 2 queries, 3 keys, heads of 2 dimensions: this is head 1 of 2.
const Q = ["q0", "q1"];
const K = ["k0", "k1", "k2"];
const chain = [
  block("q", Q, ["0", "1"]),
  block("k", K, ["0", "1"]),
  block("v", K, ["0", "1"]),
  block("raw", Q, K, [link("q", "row", null), link("k", "col", null)]),
  block("weights", Q, K, [link("raw", "row", null)]),
  block("z", Q, ["0", "1"], [link("weights", "row", null), link("v", null, "col")]),
  block("concat", Q, ["0", "1", "2", "3"], [link("z", "row", "col", 2)]),
];

test("a score lights the row of Q and the row of K that make it", () => {
  assert.deepEqual(litBy(chain, "raw", 1, 2), { q: { rows: [1, 1], cols: null }, k: { rows: [2, 2], cols: null } });
});

test("a weight lights the row of its scores, and z the row of the weights and the column of V", () => {
  assert.deepEqual(litBy(chain, "weights", 1, 0), { raw: { rows: [1, 1], cols: null } });
  assert.deepEqual(litBy(chain, "z", 0, 1), { weights: { rows: [0, 0], cols: null }, v: { rows: null, cols: [1, 1] } });
});

test("a column of concat lights this head's z only where it is this head's", () => {
  assert.deepEqual(litBy(chain, "concat", 1, 3), { z: { rows: [1, 1], cols: [1, 1] } });
  assert.deepEqual(litBy(chain, "concat", 1, 1), {});
});

test("what a block was made from may be missing from the picture", () => {
  assert.deepEqual(litBy([chain[3]], "raw", 0, 0), {});
});

test("the pointer finds the cell under it and none beside the matrix", () => {
  const geometry = { left: 50, top: 20, cw: 10, ch: 5, rows: 2, cols: 3 };
  assert.deepEqual(cellAt(geometry, 50, 20), { row: 0, col: 0 });
  assert.deepEqual(cellAt(geometry, 79.9, 29.9), { row: 1, col: 2 });
  assert.equal(cellAt(geometry, 80, 22), null);
  assert.equal(cellAt(geometry, 49.9, 22), null);
});

test("arrow keys walk and stop at the edges", () => {
  assert.deepEqual(walked("ArrowDown", { row: 0, col: 1 }, 2, 3), { row: 1, col: 1 });
  assert.deepEqual(walked("ArrowDown", { row: 1, col: 1 }, 2, 3), { row: 1, col: 1 });
  assert.deepEqual(walked("End", { row: 1, col: 0 }, 2, 3), { row: 1, col: 2 });
  assert.equal(walked("x", { row: 1, col: 0 }, 2, 3), null);
});

test("ticks are thinned until each has its room", () => {
  assert.deepEqual([30, 20, 8, 3].map((size) => tickStep(size, 20)), [1, 1, 4, 8]);
});

test("a hidden cell has a reason and never a number", () => {
  const masked = block("masked", Q, K, [], { hidden: ".cp..p" });
  const words = { causal: "later word", padding: "filler", block: "b", row: "r", column: "c", value: "v" };
  const numbers = Float32Array.from([0.1, -Infinity, -Infinity, 0.25, 2, -Infinity]);
  assert.equal(reasonAt(masked, 0, 1), "causal");
  assert.deepEqual(table(masked, numbers, words), [
    ["axis \\ axis", "k0", "k1", "k2"],
    ["q0", 0.1, "later word", "filler"],
    ["q1", 0.25, 2, "filler"],
  ]);
  assert.deepEqual(longTable([masked], () => numbers, words)[2], ["masked", "0 q0", "1 k1", "later word"]);
});

test("matrices fill the width, and break into even lines where they must", () => {
  const want = { fixed: 60, cols: 10, min: 20, max: 50 };
  const wide = fitted([want, want], 900, 40);
  assert.deepEqual(wide.map((line) => line.length), [2]);
  assert.equal(wide[0][0].cell, 37);
  assert.deepEqual(fitted([want, want, want, want], 850, 40).map((line) => line.length), [2, 2]);
  assert.deepEqual(fitted([want, want], 300, 40).map((line) => line.length), [1, 1]);
});

test("no line is wider than the room, whatever comes", () => {
  for (const width of [200, 358, 800, 1130]) {
    for (const cols of [1, 9, 16, 64, 200]) {
      const wants = [{ fixed: 60, cols, min: 7, max: 26 }, { fixed: 60, cols: 9, min: 40, max: 60 }];
      for (const line of fitted(wants, width, 58)) {
        const taken = line.reduce((sum, { index, cell }) => sum + wants[index].fixed + wants[index].cols * cell, 58 * (line.length - 1));
        assert.ok(taken <= width, `${taken} > ${width} with ${cols} columns`);
      }
    }
  }
});

test("thumbnails grow to one line and stay small where there is no such line", () => {
  const titles = chain.map(() => 20);
  assert.equal(stripSize(chain, titles, 3, 5000, 12), 12);
  assert.equal(stripSize(chain, titles, 3, 100, 12), 5);
});

test("a clicker's keys step on and back, and others do nothing", () => {
  assert.deepEqual(["PageDown", "ArrowRight", " ", "PageUp", "ArrowLeft", "a", "Tab"].map(clickerStep), [1, 1, 1, -1, -1, 0, 0]);
});
