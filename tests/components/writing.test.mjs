import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { arranged, choiceTable, pieces, stepBy } = await script("writing");

const SIZES = { rows: 9, bars: 11, size: 16, widths: { source: 50, target: 70, word: 80 }, strip: false };

test("bars stand beside the text where there is room, and below it where there is not", () => {
  const wide = arranged(1130, SIZES);
  assert.ok(wide.wide && wide.panel.x > wide.target.x + wide.target.w && wide.panel.x + wide.panel.w <= 1130);
  const narrow = arranged(350, SIZES);
  assert.ok(!narrow.wide && narrow.panel.x === 0 && narrow.panel.y > narrow.top + 9 * narrow.step);
  assert.ok(narrow.target.x + narrow.target.w + 44 <= 350);
});

test("everything lies inside, however long the text and whether it is drawn", () => {
  for (const room of [330, 760, 1130]) {
    for (const rows of [1, 9, 60]) {
      for (const strip of [false, true]) {
        const plan = arranged(room, { ...SIZES, rows, strip });
        assert.ok(plan.top + rows * plan.step <= plan.height);
        assert.ok(plan.panel.rows + SIZES.bars * plan.panel.bar <= plan.height);
        assert.ok(plan.source.w <= plan.target.x);
      }
    }
  }
});

test("a decoder alone has no column for a source", () => {
  const plan = arranged(1130, { ...SIZES, widths: { source: 0, target: 70, word: 80 } });
  assert.equal(plan.source.w, 0);
  assert.ok(plan.target.x + plan.target.w + plan.arcs <= plan.zone);
});

test("a strip has each piece as wide as its share, in order, and none without any", () => {
  const parts = [{ word: "a", final: 0.75 }, { word: "b", final: 0.25 }, { word: "c", final: 0, cut: "p" }];
  assert.deepEqual(
    pieces(parts, "final").map(({ word, from, to }) => [word, from, to]),
    [["a", 0, 0.75], ["b", 0.75, 1]],
  );
});

test("the table has a row for each bar, with its stages only where it was drawn", () => {
  const words = { number: "n", reads: "r", word: "w", probability: "p", tempered: "t", final: "f", taken: "x" };
  const bar = { word: "le", p: 0.5, tempered: 0.4, final: 0.3, chosen: true };
  assert.deepEqual(choiceTable({ words, steps: [{ at: null, read: "⟨bos⟩", bars: [bar] }] }), [["n", "r", "w", "p", "x"], [0, "⟨bos⟩", "le", 0.5, 1]]);
  assert.deepEqual(choiceTable({ words, steps: [{ at: 0.1, read: "⟨bos⟩", bars: [bar] }] })[1], [0, "⟨bos⟩", "le", 0.5, 0.4, 0.3, 1]);
});

test("keys move by one and stay inside; others are not the player's", () => {
  assert.equal(stepBy("ArrowRight", 0, 3), 1);
  assert.equal(stepBy("PageDown", 2, 3), 2);
  assert.equal(stepBy("ArrowLeft", 0, 3), 0);
  assert.equal(stepBy("End", 0, 3), 2);
  assert.equal(stepBy("a", 0, 3), null);
});
