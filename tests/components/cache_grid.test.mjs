import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { cacheTable, gridPlan } = await script("cache_grid");

test("all blocks stand within the room, beside each other as far as they fit", () => {
  for (const room of [340, 700, 1150, 1700]) {
    for (const shape of [{ heads: 4, own: 9, cross: 9, dims: 16, layers: 2 }, { heads: 8, own: 40, cross: 0, dims: 64, layers: 1 }]) {
      const plan = gridPlan(room, shape, 14, 60);
      assert.ok(plan.perRow >= 1 && plan.perRow * plan.bands >= shape.heads);
      const columns = (shape.own + shape.cross) * plan.cell + plan.between;
      if (plan.cell > 3) assert.ok(plan.left + (plan.perRow - 1) * (plan.block + plan.gap) + columns <= room);
      assert.ok(plan.height >= plan.top + shape.layers * plan.bands * plan.band);
    }
  }
});

test("the table has what is held at a step, and nothing that is to come", () => {
  const packed = (values) => Buffer.from(Float32Array.from(values).buffer).toString("base64");
  const array = { name: "k", shape: [1, 3, 2], float32: packed([1, 2, 3, 4, 5, 6]) };
  const data = {
    layers: [{ own: [array], cross: null }],
    steps: [{ held: [0, 1] }, { held: [1, 3] }],
    own_words: ["a", "b", "c"],
    cross_words: [],
    words: { column: "word", value: "value" },
  };
  assert.deepEqual(cacheTable(data, 0), [["tensor", "word", "kv_head", "d_head", "value"], ["k", "a", 0, 0, 1], ["k", "a", 0, 1, 2]]);
  assert.deepEqual(cacheTable(data, 1).slice(1).map((row) => row.at(-1)), [3, 4, 5, 6]);
});
