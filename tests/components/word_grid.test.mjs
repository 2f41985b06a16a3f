import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { cellTable, columnsOf } = await script("word_grid");

test("columns are as wide as their words, and share what room is left", () => {
  assert.deepEqual(columnsOf([50, 70], 100, 220), [{ x: 100, w: 50 }, { x: 150, w: 70 }]);
  assert.deepEqual(columnsOf([50, 70], 100, 240), [{ x: 100, w: 60 }, { x: 160, w: 80 }]);
  assert.equal(columnsOf([50, 70], 100, 150)[0].w, 50); // a narrow place scrolls
});

test("the table has a row for each cell, and room for those that are missing", () => {
  const words = { row: "r", place: "p", word: "w", value: "v" };
  const rows = [{ title: "reads", cells: [{ text: "le", value: null }, null, { text: "chat", value: 0.5 }] }];
  assert.deepEqual(cellTable({ rows, words }), [["r", "p", "w", "v"], ["reads", 0, "le", ""], ["reads", 1, "", ""], ["reads", 2, "chat", 0.5]]);
});
