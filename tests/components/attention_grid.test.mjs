import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { arranged, cellUnder, neighbour, parsed, reasonOf, tableOf } = await script("attention_grid");

const words = { attention: "attention", layer: "layer", head: "head", weight: "weight", causal: "a later word" };

function group(layers, heads, rows, cols, more = {}) {
  const labels = (n) => ({ labels: Array.from({ length: n }, (_, i) => `w${i}`), short: "word" });
  return { id: "g", title: "G", layers, heads, rows: labels(rows), cols: labels(cols), hidden: null, ...more };
}

function bytes(header, weights) {
  const text = new TextEncoder().encode(JSON.stringify({ words, ...header }));
  const numbers = header.exact ? new Uint8Array(Float32Array.from(weights).buffer) : Uint8Array.from(weights);
  const all = new Uint8Array(4 + text.length + numbers.length);
  new DataView(all.buffer).setUint32(0, text.length, true);
  all.set(text, 4);
  all.set(numbers, 4 + text.length);
  return all;
}

test("maps come out of the bytes in order, with what there is to say of them", () => {
  const groups = [group(1, 2, 1, 2, { labels: [[0, 1, "previous"]], off: [[0, 0]] })];
  const { maps } = parsed(bytes({ exact: true, groups }, [0.25, 0.75, 0.5, 0.5]));
  assert.deepEqual(maps.map(({ layer, head, values, full, label, off }) => [layer, head, [...values], full, label, off]), [
    [0, 0, [0.25, 0.75], 1, "", true],
    [0, 1, [0.5, 0.5], 1, "previous", false],
  ]);
});

test("with ranges of their own the colours of each map are full at its largest weight, and a map of zeros has one", () => {
  const { maps } = parsed(bytes({ exact: true, own_range: true, groups: [group(1, 2, 1, 2)] }, [0.25, 0.75, 0, 0]));
  assert.deepEqual(maps.map(({ full }) => full), [0.75, 1]);
});

test("rounded weights are bytes of 1/255, and a missing weight is an error", () => {
  const { maps } = parsed(bytes({ exact: false, groups: [group(1, 1, 1, 2)] }, [255, 51]));
  assert.deepEqual([...maps[0].values].map((v) => v.toFixed(3)), ["1.000", "0.200"]);
  assert.throws(() => parsed(bytes({ exact: false, groups: [group(1, 1, 1, 3)] }, [255, 51])), /2 weights for 3 cells/);
});

test("every map lies within the room, none over another, at 6 layers of 8 heads and 64 words in three attentions", () => {
  const groups = [0, 1, 2].map(() => group(6, 8, 64, 64));
  for (const room of [358, 1150, 1800]) {
    const { height, spots } = arranged(groups, room, 19, 132);
    assert.equal(spots.length, 144);
    spots.forEach((one, i) => {
      assert.ok(one.x >= 0 && one.x + one.w <= room && one.y + one.h <= height, `${room}: ${JSON.stringify(one)}`);
      for (const other of spots.slice(i + 1)) {
        assert.ok(one.x + one.w <= other.x || other.x + other.w <= one.x || one.y + one.h <= other.y || other.y + other.h <= one.y);
      }
    });
  }
});

test("where there is room downward the maps are larger, and never higher than that", () => {
  const small = [0, 1, 2].map(() => group(2, 4, 9, 9));
  const [low, tall] = [arranged(small, 1130, 19, 132), arranged(small, 1130, 19, 132, 715)];
  assert.ok(tall.spots[0].w > low.spots[0].w && tall.height <= 715);
  const many = [0, 1, 2].map(() => group(6, 8, 9, 9));
  assert.deepEqual(arranged(many, 1130, 19, 132, 715), arranged(many, 1130, 19, 132));
});

test("a point finds its map and cell, and the arrows the next map", () => {
  const grid = parsed(bytes({ exact: true, groups: [group(2, 2, 2, 2)] }, new Array(16).fill(0.5)));
  const { spots } = arranged(grid.groups, 600, 19, 132);
  const { x, y, w, h } = spots[3];
  assert.deepEqual(cellUnder(grid, spots, x + 0.75 * w, y + 0.25 * h), { map: 3, row: 0, col: 1 });
  assert.equal(cellUnder(grid, spots, x - 4, y), null);
  assert.deepEqual(["ArrowRight", "ArrowDown", "ArrowLeft", "x"].map((key) => neighbour(spots, 0, key)), [1, 2, 0, null]);
});

test("a hidden cell says why, in the table too", () => {
  const grid = parsed(bytes({ exact: true, groups: [group(1, 1, 2, 2, { hidden: ".c.." })] }, [1, 0, 0.5, 0.5]));
  assert.equal(reasonOf(grid.groups[0], 0, 1), "causal");
  assert.deepEqual(tableOf(grid).slice(1, 3), [
    ["G", 0, 0, "0 w0", "0 w0", 1],
    ["G", 0, 0, "0 w0", "1 w1", "a later word"],
  ]);
});
