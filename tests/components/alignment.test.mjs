import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { halves, weightTable } = await script("alignment");

const SIZES = { source: 60, target: 80, rows: 9, cols: 9, size: 16 };

test("lines and matrix stand side by side, or one below the other, and inside", () => {
  for (const room of [330, 760, 1130]) {
    for (const [rows, cols] of [[1, 1], [9, 9], [12, 40]]) {
      const plan = halves(room, { ...SIZES, rows, cols });
      assert.equal(plan.wide, room >= 760);
      assert.ok(plan.down + plan.head + rows * plan.cell <= plan.height);
      if (cols <= 20) assert.ok(plan.left + SIZES.target + cols * plan.cell <= room);
    }
  }
});

test("the table says of each weight whether the two words belong together", () => {
  const words = { query: "q", key: "k", weight: "w", gold: "g" };
  const rows = weightTable({ source: ["the", "cat"], written: ["le"], weights: [0.75, 0.25], gold: [[0, 0]], words });
  assert.deepEqual(rows, [["q", "k", "w", "g"], ["0 le", "0 the", 0.75, 1], ["0 le", "1 cat", 0.25, 0]]);
});
