import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { attackOn, bounded, boundedFolders, composed, composedIn, patternsIn } from "./patterns.ts";
import { parseSource, readSources } from "./source.ts";

const listPath = join(import.meta.dirname, "patterns.json");
const proven = new Set(JSON.parse(readFileSync(listPath, "utf8")) as readonly string[]);
const sources = readSources("src");
const isBounded = (path: string): boolean =>
  Object.keys(boundedFolders).some((folder) => path.startsWith(`${folder}/`));

test("every pattern of the sources runs in linear time, or its text is bounded", () => {
  const patterns = sources
    .flatMap(patternsIn)
    .filter(({ path, text }) => !isBounded(path) && !Object.hasOwn(bounded, text));
  assert.ok(patterns.length > 400, "the rule saw too few patterns");
  const unproven = new Map(patterns.filter(({ text }) => !proven.has(text)).map((one) => [one.text, one]));
  const attacks = [...unproven.values()].flatMap((one) => {
    const attack = attackOn(one);
    return attack === null ? [] : [`${one.where}: ${one.text} ${attack}`];
  });
  assert.deepEqual(attacks, []);
  if (process.env["UPDATE"] === undefined) return;
  const list = [...new Set(patterns.map(({ text }) => text))].toSorted();
  writeFileSync(listPath, `${JSON.stringify(list, null, 2)}\n`);
});

test("every bound that is claimed is of a pattern that exists", () => {
  const texts = new Set(sources.flatMap(patternsIn).map(({ text }) => text));
  assert.deepEqual(
    Object.keys(bounded).filter((text) => !texts.has(text)),
    [],
  );
});

test("patterns are compiled at run time only where a reason is given", () => {
  const found = [...new Set(sources.flatMap(composedIn))].toSorted();
  assert.deepEqual(found, Object.keys(composed).toSorted());
});

test("a quadratic and an exponential pattern are found, a linear one passes", () => {
  const [slow, slower, fine] = ["/a+$/", "/^(?:a|a)*$/", "/^a+$/"].map(
    (text) => patternsIn(parseSource("src/x.ts", `const x = ${text};`))[0],
  );
  assert.ok(slow !== undefined && slower !== undefined && fine !== undefined);
  assert.match(attackOn(slow) ?? "", /^polynomial/);
  assert.match(attackOn(slower) ?? "", /^exponential/);
  assert.equal(attackOn(fine), null);
});
