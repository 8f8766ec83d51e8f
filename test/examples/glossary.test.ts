/** Keeps GLOSSARY.md short and the reference of calls complete. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { Session } from "../../src/runtime/engine/session.ts";
import { root } from "../repo/source.ts";

const page = (name: string): string => readFileSync(join(root, name), "utf8");

test("the glossary has at most 80 terms, each defined once", () => {
  const terms = [...page("GLOSSARY.md").matchAll(/^- \*\*([^*]+)\*\*/gm)].map(([, term]) => term);
  assert.ok(terms.length > 50 && terms.length <= 80, `${terms.length} terms`);
  assert.equal(new Set(terms).size, terms.length);
});

/** Calls that need the engine in the same process; docs/turns.md and docs/client.md describe them. */
const inProcess: Readonly<Record<string, readonly string[]>> = {
  engine: ["as", "checkToken", "close", "importTranscript", "model", "webhook", "work"],
  session: ["drive", "lease"],
};

test("every call of an engine and a session is in the reference", () => {
  const calls = new Set([...page("docs/calls.md").matchAll(/^### (\w+\.\w+)/gm)].map(([, call]) => call));
  for (const [kind, { prototype }] of [
    ["engine", Engine],
    ["session", Session],
  ] as const) {
    const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
    assert.ok(names.length > 0, `${kind} has no calls`);
    const missing = names.filter((name) => !calls.has(`${kind}.${name}`) && !inProcess[kind]?.includes(name));
    assert.deepEqual(missing, []);
  }
});
