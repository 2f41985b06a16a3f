// The script of a component as the browser gets it: shared.js and its own file, as one module.
import { readFileSync } from "node:fs";

const folder = new URL("../../playground/ui/components/", import.meta.url);

export function script(...names) {
  const text = ["shared", ...names].map((name) => readFileSync(new URL(`${name}.js`, folder), "utf-8")).join("\n");
  return import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
}
