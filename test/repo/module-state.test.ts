/** Modules keep nothing of one engine, and no error is told by its text. The rules are in module-state.ts. */
import { test } from "node:test";
import { errorByText, moduleState } from "./module-state.ts";
import { assertKept, assertTells, readSources } from "./source.ts";

const path = "src/runtime/a.ts";
const ofServer = () => readSources("src").filter(({ path: one }) => !one.startsWith("src/console/"));

test("module state gives its reason", () => {
  assertKept(ofServer(), moduleState);
  assertTells(moduleState, {
    path,
    good: "/** Pure cache. */\nconst a = new Map<string, Map<string, number>>();\nconst b = new Set([1]);",
    bad: "/** By name. */\nconst a = new WeakMap<object, number>();",
    says: /:2: state of a module/,
  });
  assertTells(moduleState, {
    path,
    good: "const a: ReadonlySet<number> = new Set();",
    bad: "let a = 1;",
    says: /:1: state/,
  });
});

test("errors are distinguished by a code or a detail", () => {
  assertKept(ofServer(), errorByText);
  assertTells(errorByText, {
    path,
    good: 'const a = error.code === "conflict" || error.detail === "reused-key";',
    bad: 'const a = error.message.includes("in vain");',
    says: /:1: an error told by its text/,
  });
});
