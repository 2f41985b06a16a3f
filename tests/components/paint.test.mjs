import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { onTheWay, sent, walked } = await script("paint");

test("a fast stroke skips no cell", () => {
  assert.deepEqual(onTheWay([2, 2], [2, 2]), [[2, 2]]);
  assert.deepEqual(onTheWay([0, 0], [0, 3]), [[0, 0], [0, 1], [0, 2], [0, 3]]);
  assert.deepEqual(onTheWay([3, 1], [1, 3]), [[3, 1], [2, 2], [1, 3]]);
});

test("a mask is sent whole, row by row", () => assert.equal(sent([true, false, false, true]), "1001"));

test("arrow keys stay inside, and other keys are not theirs", () => {
  assert.deepEqual(walked([0, 0], "ArrowUp", 2, 3), [0, 0]);
  assert.deepEqual(walked([0, 0], "ArrowDown", 2, 3), [1, 0]);
  assert.deepEqual(walked([1, 2], "ArrowRight", 2, 3), [1, 2]);
  assert.equal(walked([1, 2], "Tab", 2, 3), null);
});
