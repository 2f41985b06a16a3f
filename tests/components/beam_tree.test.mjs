import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { branchTable, mostCut, placed } = await script("beam_tree");

const node = (number, parent, fate, total, index = parent === null ? 0 : 1) => ({ number, parent, fate, total, index, word: `w${number}`, log_prob: total, score: total });
const COLUMNS = [
  [node(0, null, "kept", -1), node(1, null, "kept", -2)],
  [node(2, 0, "pruned", -9), node(3, 0, "kept", -1.5), node(4, 1, "ended", -2.5), node(5, 1, "pruned", -8), node(6, 1, "pruned", -7)],
];

test("children stand in the order of their parents, the best first: no lines cross", () => {
  const { spots, more, height } = placed(COLUMNS, 40, 20, 8);
  const y = (number) => spots.get(number).y;
  assert.ok(y(0) < y(1));
  assert.ok(y(3) < y(2) && y(2) < y(4) && y(4) < y(6) && y(6) < y(5));
  assert.equal(height, 2 * 40 + 3 * 20);
  assert.deepEqual(more, []);
});

test("what there is no room for is counted under its parent, and nothing that was kept is left out", () => {
  const { spots, more } = placed(COLUMNS, 40, 20, 1);
  assert.deepEqual(more.map(({ parent, n }) => [parent, n]), [[1, 1]]);
  for (const number of [0, 1, 3, 4]) assert.ok(spots.has(number));
  assert.ok(!spots.has(5) && spots.has(6));
});

test("as many cut branches are drawn as fit", () => {
  assert.equal(mostCut(COLUMNS, 40, 20, 1000), 8);
  assert.equal(mostCut(COLUMNS, 40, 20, 100), 1);
});

test("the table has every branch, drawn or not", () => {
  const words = { number: "n", parent: "p", step_name: "s", word: "w", log_prob: "l", total: "t", score: "c", fate: "f", kept: "kept", ended: "done", pruned: "cut" };
  const rows = branchTable({ columns: COLUMNS, words });
  assert.equal(rows.length, 8);
  assert.deepEqual(rows[3], [2, 0, 1, "w2", -9, -9, -9, "cut"]);
});
