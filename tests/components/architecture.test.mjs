import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { bent, cellsOf, chipRows, panelled, wrapped } = await script("architecture");
const letters = (text) => text.length;

test("a thumbnail's bytes come back as they were packed", () => {
  const uint8 = Buffer.from([0, 125, 250, 254, 255, 7]).toString("base64");
  const { bytes, panels, rows, columns } = cellsOf({ uint8, drawn: [1, 2, 3] });
  assert.deepEqual([[...bytes], panels, rows, columns], [[0, 125, 250, 254, 255, 7], 1, 2, 3]);
});

test("heads stand in as few rows as make them largest", () => {
  assert.equal(panelled(4, 118, 42, 4).columns, 4);
  assert.equal(panelled(8, 118, 42, 4).columns, 4);
  assert.equal(panelled(1, 118, 42, 4).side, 42);
  assert.equal(panelled(2, 200, 90, 4, 40).side, 40);
});

test("no panel leaves its place", () => {
  for (let n = 1; n <= 16; n += 1) {
    const { columns, side } = panelled(n, 118, 42, 4);
    const rows = Math.ceil(n / columns);
    assert.ok(columns * side + (columns - 1) * 4 <= 118.001 && rows * side + (rows - 1) * 4 <= 42.001);
  }
});

test("English breaks at spaces, Chinese between characters, never before a full stop", () => {
  assert.deepEqual(wrapped("one two three", 7, letters), ["one two", "three"]);
  assert.deepEqual(wrapped("一二三四五。", 5, letters), ["一二三四", "五。"]);
  assert.deepEqual(wrapped("unbreakable", 3, letters), ["unbreakable"]);
  assert.deepEqual(wrapped("  ", 3, letters), []);
});

test("wrapping loses no word, whatever it holds", () => {
  const text = "a <b>&amp;</b> $x$ ⟨bos⟩ 'quoted' 猫 end";
  assert.equal(wrapped(text, 9, letters).join("").replaceAll(" ", ""), text.replaceAll(" ", ""));
});

test("chips that do not fit go to the next row, and each keeps its place in the sentence", () => {
  const size = { pad: 1, gap: 2, height: 3 };
  const { chips, height } = chipRows(["aaaa", "bbbb", "cc"], 14, size, letters);
  assert.deepEqual(chips.map(({ at, y }) => [at, y]), [[0, 0], [1, 0], [2, 5]]);
  assert.deepEqual(chips.map(({ x, w }) => [x, w]), [[0, 6], [8, 6], [5, 4]]);
  assert.equal(height, 8);
});

test("a word wider than its room is not wider as a chip", () => {
  assert.equal(chipRows(["a".repeat(99)], 20, { pad: 1, gap: 2, height: 3 }, letters).chips[0].w, 20);
});

test("a way begins and ends where its corners say, and bends stay on it", () => {
  assert.equal(bent([[0, 0], [0, 10]]), "M0,0 L0,10");
  assert.equal(bent([[0, 0], [10, 0], [10, 10]], 4), "M0,0 L6,0 Q10,0 10,4 L10,10");
  assert.equal(bent([[0, 0], [2, 0], [2, 10]], 4), "M0,0 L1,0 Q2,0 2,1 L2,10");
});
