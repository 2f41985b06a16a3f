import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const { level, line, next } = await script("shelf");

test("the loss of guessing lies a fifth from the top, no loss at the bottom", () => {
  assert.equal(Math.round(level(1, 100)), 20);
  assert.equal(level(0, 100), 100);
  assert.equal(level(1.25, 100), 0);
});

test("a curve goes through its points", () => {
  assert.equal(line([[0, 1], [0.5, 0.5], [1, 0]], [100, 100]), "M0.0,20.0L50.0,60.0L100.0,100.0");
  assert.equal(line([]), "");
});

test("arrows walk over the shelf and stay on it", () => {
  assert.equal(next(0, "ArrowRight", 5, 3), 1);
  assert.equal(next(1, "ArrowDown", 5, 3), 4);
  assert.equal(next(2, "ArrowDown", 5, 3), 2);
  assert.equal(next(0, "ArrowLeft", 5, 3), 0);
  assert.equal(next(3, "Home", 5, 3), 0);
  assert.equal(next(0, "End", 5, 3), 4);
  assert.equal(next(0, "Enter", 5, 3), null);
});
