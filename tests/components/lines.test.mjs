import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { arranged, inRow } = await script("lines");
const measured = (text, size) => (text.length * size) / 2;

test("a row is centred, and is none if it does not fit", () => {
  assert.deepEqual(inRow([10, 20], 5, 45), [{ x: 5, w: 10 }, { x: 20, w: 20 }]);
  assert.equal(inRow([10, 20], 5, 34), null);
});

test("short sentences stand one above the other, and every word has its port on the other's side", () => {
  const { across, source, target } = arranged(["the", "cat"], ["le", "chat"], 400, measured);
  assert.ok(across);
  for (const spot of source) assert.deepEqual(spot.port, [spot.x + spot.w / 2, spot.y + spot.h]);
  for (const spot of target) assert.deepEqual(spot.port, [spot.x + spot.w / 2, spot.y]);
});

test("what does not fit across stands in two columns, all within the room", () => {
  const words = Array.from({ length: 20 }, () => "interesting");
  const { across, height, source, target } = arranged(words, words.slice(0, 3), 300, measured);
  assert.ok(!across);
  for (const { x, y, w, h } of [...source, ...target]) {
    assert.ok(x >= 0 && x + w <= 300 && y >= 0 && y + h <= height);
  }
  assert.ok(source.every(({ x, w }) => target.every((spot) => x + w <= spot.x)));
});
