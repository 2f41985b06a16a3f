import assert from "node:assert/strict";
import { test } from "node:test";
import { script } from "./script.mjs";

const shared = await script();
const LIGHT = { background: "#FFFFFF", text: "#1B2430", weights: "#08306B", negative: "#B2182B", positive: "#2166AC" };
const DARK = { background: "#10151C", text: "#E8EDF3", weights: "#B7DCFF", negative: "#FF7A7A", positive: "#6FB1FF" };

test("a colour survives the way through OKLab", () => {
  for (const colour of ["#000000", "#ffffff", "#0072b2", "#b84f00", "#10151c"]) {
    assert.equal(shared.fromOklab(shared.oklab(colour)), colour);
  }
});

test("steps of a ramp are even in lightness", () => {
  const light = shared.ramp("#FFFFFF", "#08306B", 0.06, 33).map((c) => shared.oklab(c)[0]);
  const steps = light.slice(1).map((l, i) => light[i] - l);
  assert.ok(Math.max(...steps) - Math.min(...steps) < 0.006, steps.join(" "));
});

test("0 is the background, and the ends of the scales are the theme's", () => {
  for (const theme of [LIGHT, DARK]) {
    const signed = shared.signedScale(theme, 2);
    const same = (a, b) => assert.equal(a.toLowerCase(), b.toLowerCase());
    same(signed(0), theme.background);
    same(signed(2), theme.positive);
    same(signed(-7), theme.negative);
    same(shared.weightsScale(theme)(0), theme.background);
    same(shared.weightsScale(theme)(1), theme.weights);
    same(shared.signedScale(theme, 0)(0), theme.background);
  }
});

test("numbers on cells of any colour have a contrast of 4.5", () => {
  for (const theme of [LIGHT, DARK]) {
    for (let i = 0; i <= 100; i += 1) {
      for (const colour of [shared.weightsScale(theme)(i / 100), shared.signedScale(theme, 1)(i / 50 - 1)]) {
        const found = shared.contrast(colour, shared.inkOn(colour, theme));
        assert.ok(found >= 4.5, `${found} on ${colour}`);
      }
    }
  }
});

test("three significant digits on screen", () => {
  const shown = [0, 1, 0.5, 0.01234, -12.345, 1234.5, 123456, 0.00001234, -Infinity, NaN].map(shared.short);
  assert.deepEqual(shown, ["0", "1.00", "0.500", "0.0123", "−12.3", "1230", "1.23e5", "1.23e−5", "−∞", "NaN"]);
});

test("what fits in a cell has at most the decimals asked for", () => {
  assert.deepEqual([0.98765, -0.0012, -1.2345, 23.456, 123.4, 1, 12345].map((v) => shared.brief(v)), [
    "0.99", "0.00", "−1.23", "23.5", "123", "1.00", "1.2e4",
  ]);
  assert.equal(shared.brief(0.98765, 3), "0.988");
});

test("exact gives the same float32 back, in as few digits as that takes", () => {
  assert.equal(shared.exact(Math.fround(0.1)), "0.1");
  assert.equal(shared.exact(Math.fround(1 / 3)), "0.33333334");
  assert.equal(shared.exact(16777216), "16777216");
  let x = 1;
  for (let i = 0; i < 500; i += 1) {
    x = (x * 16807) % 2147483647;
    const value = Math.fround((x / 2147483647 - 0.5) * 10 ** ((i % 12) - 6));
    assert.equal(Math.fround(Number(shared.exact(value).replaceAll("−", "-"))), value);
  }
});

test("packed numbers keep every bit", () => {
  const floats = new Float32Array([0.1, -Infinity, -0, 3.5e-12]);
  const float32 = Buffer.from(floats.buffer).toString("base64");
  assert.deepEqual([...shared.unpacked({ float32 })], [...floats]);
});

test("characters that draw nothing are shown", () => {
  assert.equal(shared.visible("a\u202eb\u0000"), "a⟨U+202E⟩b⟨U+0000⟩");
  assert.equal(shared.visible(" the"), "␠the");
  assert.equal(shared.visible(""), "");
  assert.equal(shared.visible("<b>&$_x"), "<b>&$_x");
});

test("a formula is parts with roles, and whatever is no role stays text", () => {
  assert.deepEqual(shared.formulaParts("{query:Q}{key:Kᵀ} / √d_k {x:y} <b>"), [
    { role: "query", text: "Q" },
    { role: "key", text: "Kᵀ" },
    { role: "plain", text: " / √d_k {x:y} <b>" },
  ]);
  assert.deepEqual(shared.shifted("W^Q √d_k"), [
    { text: "W", shift: "" },
    { text: "Q", shift: "sup" },
    { text: " √d", shift: "" },
    { text: "k", shift: "sub" },
  ]);
});

test("places in words are filled once and literally", () => {
  assert.equal(shared.fill("{row} looks at {col} {none}", { row: "{col}", col: "$&" }), "{col} looks at $& {none}");
});

test("CSV quotes what must be quoted and never starts a formula from text", () => {
  assert.equal(shared.csv([['a"b', "x,y", "=1+1"], [1.5, -2, "−"]]), '"a""b","x,y",\'=1+1\r\n1.5,-2,−\r\n');
});

test("file names keep words of any script and nothing that means a path", () => {
  assert.equal(shared.filename("../一只猫 <QKᵀ>/:x"), "一只猫_QKᵀ_x");
  assert.equal(shared.filename("///"), "picture");
});
