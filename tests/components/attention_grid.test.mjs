import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { arranged, cellUnder, neighbour, parsed, reasonOf, tableOf } = await script("attention_grid");

const words = { attention: "attention", layer: "layer", head: "head", weight: "weight", causal: "later" };
const group = (id, layers, heads, rows, cols, hidden = null) => ({
  id,
  title: id,
  layers,
  heads,
  rows: { labels: Array.from({ length: rows }, (_, i) => `q${i}`), short: "query" },
  cols: { labels: Array.from({ length: cols }, (_, i) => `k${i}`), short: "key" },
  hidden,
});

function bytes(header, numbers, exact) {
  const text = Buffer.from(JSON.stringify({ ...header, exact }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  const body = exact ? Buffer.from(Float32Array.from(numbers).buffer) : Buffer.from(numbers.map((n) => Math.round(n * 255)));
  return new Uint8Array(Buffer.concat([length, text, body]));
}

const header = { words, groups: [group("enc", 1, 2, 2, 3), group("dec", 1, 2, 2, 2, ".c..")] };
const numbers = Array.from({ length: 20 }, (_, i) => i / 32);

test("maps come out of the bytes in the order of groups, layers and heads", () => {
  const grid = parsed(bytes(header, numbers, true));
  assert.deepEqual(grid.maps.map(({ group: g, layer, head }) => [g, layer, head]), [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]]);
  assert.deepEqual([...grid.maps[2].values], numbers.slice(12, 16));
});

test("shades are weights of 1/255", () => {
  const grid = parsed(bytes(header, numbers, false));
  grid.maps[0].values.forEach((value, i) => assert.ok(Math.abs(value - numbers[i]) <= 0.5 / 255 + 1e-6));
});

test("a payload of another size is refused", () => {
  assert.throws(() => parsed(bytes(header, numbers.slice(1), true)), /19 weights for 20 cells/);
});

test("three groups stand side by side on a laptop and one under another on a phone", () => {
  const groups = ["a", "b", "c"].map((id) => group(id, 2, 4, 9, 9));
  const [wide, narrow] = [arranged(groups, 1130, 18, 132), arranged(groups, 350, 18, 132)];
  assert.equal(wide.columns, 3);
  assert.equal(narrow.columns, 1);
  for (const [plan, room] of [[wide, 1130], [narrow, 350]]) {
    assert.equal(plan.spots.length, 24);
    for (const { x, y, w, h } of plan.spots) assert.ok(x >= 0 && x + w <= room && y >= 0 && y + h <= plan.height);
    for (const [i, a] of plan.spots.entries()) {
      for (const b of plan.spots.slice(i + 1)) assert.ok(a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y);
    }
  }
});

test("many heads become small, not many lines", () => {
  const plan = arranged(["a", "b", "c"].map((id) => group(id, 6, 8, 9, 9)), 1130, 18, 132);
  assert.equal(plan.columns, 3);
  assert.ok(plan.height < 500);
});

test("a cell is found under the pointer, and none between the maps", () => {
  const grid = parsed(bytes(header, numbers, true));
  const { spots } = arranged(grid.groups, 800, 18, 132);
  const spot = spots[1];
  assert.deepEqual(cellUnder(grid, spots, spot.x + spot.w - 1, spot.y + spot.h - 1), { map: 1, row: 1, col: 2 });
  assert.equal(cellUnder(grid, spots, spot.x - 2, spot.y + 1), null);
});

test("arrow keys lead to the map that lies that way", () => {
  const { spots } = arranged([group("a", 2, 4, 5, 5), group("b", 2, 4, 5, 5)], 1130, 18, 132);
  assert.equal(neighbour(spots, 0, "ArrowRight"), 1);
  assert.equal(neighbour(spots, 0, "ArrowDown"), 4);
  assert.equal(neighbour(spots, 3, "ArrowRight"), 8); // the next group
  assert.equal(neighbour(spots, 0, "ArrowLeft"), 0);
  assert.equal(neighbour(spots, 0, "Enter"), null);
});

test("a hidden cell has a reason, and no number in the table", () => {
  const grid = parsed(bytes(header, numbers, true));
  assert.equal(reasonOf(grid.groups[1], 0, 1), "causal");
  assert.equal(reasonOf(grid.groups[0], 0, 1), "");
  const rows = tableOf(grid);
  assert.equal(rows.length, 21);
  assert.deepEqual(rows[14], ["dec", 0, 0, "0 q0", "1 k1", "later"]);
  assert.deepEqual(rows[13], ["dec", 0, 0, "0 q0", "0 k0", 0.375]);
});
