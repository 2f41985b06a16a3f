import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { along, curve, latest, parsed, placeOf, strip, tableOf } = await script("film");

const STEPS = [0, 10, 40, 80];

function packed(header, cells) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(4 + text.length + cells.byteLength);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  bytes.set(new Uint8Array(cells.buffer), 4 + text.length);
  return bytes;
}

const REELS = [
  { id: "decoder", title: "D", layers: 1, heads: 2, rows: ["a", "b"], cols: ["a", "b"], hidden: ".c.." },
  { id: "cross", title: "X", layers: 1, heads: 1, rows: ["a"], cols: ["x", "y", "z"], hidden: null },
];

test("maps come apart as they were put together: step by step, map by map", () => {
  const numbers = Float32Array.from({ length: 22 }, (_, i) => i / 32);
  const reel = parsed(packed({ steps: [0, 10], reels: REELS, exact: true }, numbers));
  assert.deepEqual(reel.maps.map(({ reel: r, layer, head }) => [r, layer, head]), [[0, 0, 0], [0, 0, 1], [1, 0, 0]]);
  assert.deepEqual([...reel.maps[1].frames[0]], [4, 5, 6, 7].map((i) => i / 32));
  assert.deepEqual([...reel.maps[2].frames[1]], [19, 20, 21].map((i) => i / 32));
  assert.throws(() => parsed(packed({ steps: [0], reels: REELS, exact: true }, numbers)), /22 weights for 11 cells/);
});

test("rounded weights are shares of 255", () => {
  const shades = Uint8Array.from({ length: 11 }, (_, i) => 51 * (i % 6));
  const reel = parsed(packed({ steps: [0], reels: REELS, exact: false }, shades));
  assert.equal(reel.maps[0].frames[0][1], Math.fround(0.2));
});

test("recorded steps lie evenly, and others between them", () => {
  assert.deepEqual(STEPS.map((step) => along(STEPS, step)), [0, 1 / 3, 2 / 3, 1]);
  assert.equal(along(STEPS, 60), (2 + 0.5) / 3);
  assert.equal(along(STEPS, 500), 1);
  assert.equal(along([0], 0), 0);
});

test("the nearest step is shown, of two the earlier", () => {
  assert.deepEqual([0, 5, 26, 1000].map((step) => placeOf(STEPS, step)), [0, 0, 2, 3]);
});

test("a curve keeps to its box, and leaves out what is not measured", () => {
  assert.equal(curve([[0, 4], [10, 2], [80, 9], [90, 1]], STEPS, 4, 300, 50), "M0.0,0.0L100.0,25.0L300.0,0.0");
  assert.equal(curve([[0, NaN]], STEPS, 4, 300, 50), "");
});

test("what was measured last until a step is told", () => {
  const pairs = [[10, 3], [40, 2]];
  assert.deepEqual([0, 10, 39, 80].map((step) => latest(pairs, step)), [3, 3, 3, 2]);
  assert.equal(latest([], 5), null);
});

test("a strip fills the width, and breaks where pictures would become too small", () => {
  assert.deepEqual(strip(10, 4, 4, 1000, 10, 104), { w: 91, h: 91, perRow: 10 });
  assert.equal(strip(40, 4, 4, 1000, 10, 104).w, 56);
  assert.equal(strip(40, 4, 4, 1000, 10, 104).perRow, 15);
});

test("a table has every weight that counts, and none that is hidden", () => {
  const numbers = Float32Array.from({ length: 11 }, () => 0.5);
  const words = { step: "s", attention: "a", layer: "l", head: "h", query: "q", key: "k", weight: "w" };
  const rows = tableOf(parsed(packed({ steps: [7], reels: REELS, exact: true, words }, numbers)));
  assert.equal(rows.length, 1 + 3 + 3 + 3);
  assert.deepEqual(rows[1], [7, "D", 0, 0, "0 a", "0 a", 0.5]);
});
