import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { listed, tableOf, unescaped } = await script("plot_live");

const packed = (numbers, shape) => {
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, i) => bytes.writeFloatLE(number, 4 * i));
  return { dtype: "f4", bdata: bytes.toString("base64"), ...(shape && { shape }) };
};

test("text comes back as it was written for plotly", () => {
  assert.equal(unescaped("&lt;b&gt; &amp;lt; &#36;x&#36;"), "<b> &lt; $x$");
});

test("packed and listed numbers are read alike", () => {
  assert.deepEqual(listed(packed([0.25, -3])), [0.25, -3]);
  assert.deepEqual(listed([1, 2]), [1, 2]);
  assert.deepEqual(listed(undefined), []);
});

test("a heat map is a table with its words, exact digits, and nothing where there is no number", () => {
  const figure = {
    data: [{ type: "heatmap", z: packed([0.1, NaN, 1, 0.5], "2, 2") }],
    layout: { yaxis: { tickvals: [0, 1], ticktext: ["le", "&lt;i&gt;"] }, xaxis: { tickvals: [0], ticktext: ["the"] } },
  };
  assert.deepEqual(tableOf(figure, { row: "row" }), [["row", "the", "1"], ["le", 0.1, ""], ["<i>", 1, 0.5]]);
});

test("curves are one long table", () => {
  const figure = { data: [{ name: "a &amp; b", x: packed([1, 2]), y: packed([0.5, NaN]) }, { name: "c", x: [3], y: [4] }], layout: {} };
  assert.deepEqual(tableOf(figure, { curve: "curve" }), [["curve", "x", "y"], ["a & b", 1, 0.5], ["a & b", 2, ""], ["c", 3, 4]]);
});
