/**
 * LangGraph's validation suite uses the globals of a test runner. These are node:test's, with `expect` of the
 * package that Vitest takes it from.
 */
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import * as chai from "chai";
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect";

type Row = readonly unknown[] | object;
type Body = (...args: readonly unknown[]) => unknown;

/** What a title's `%s` and `$name` stand for. */
function titleOf(title: string, row: Row): string {
  const values = Array.isArray(row) ? [...(row as readonly unknown[])] : [row];
  return title
    .replaceAll(/\$(\w+)/g, (_, name: string) => String((row as Readonly<Record<string, unknown>>)[name]))
    .replaceAll(/%[sidjo]/g, () => JSON.stringify(values.shift()) ?? "");
}

/** Of every `step` cases one runs; the offset chooses which. */
export interface Selection {
  readonly step: number;
  readonly offset: number;
}

/** Sets the globals. The counts are complete once the suite was loaded. */
export function setSuiteGlobals({ step, offset }: Selection): { cases: number; run: number } {
  for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin);
  const counts = { cases: 0, run: 0 };
  const one = (title: string, body: Body): void => {
    counts.cases += 1;
    if ((counts.cases + offset) % step !== 0) return;
    counts.run += 1;
    void it(title, async () => {
      await body();
    });
  };
  const eachOf =
    (make: (title: string, body: Body) => void) => (rows: readonly Row[]) => (title: string, body: Body) => {
      for (const row of rows)
        make(titleOf(title, row), () => body(...(Array.isArray(row) ? (row as readonly unknown[]) : [row])));
    };
  const group = (title: string, body: Body): void => {
    void describe(title, () => {
      body();
    });
  };
  const plain = (hook: typeof before) => (body: Body) => {
    hook(async () => {
      await body();
    });
  };
  const { expect } = chai;
  Object.assign(expect, { soft: expect });
  Object.assign(globalThis, {
    describe: Object.assign(group, { each: eachOf(group) }),
    it: Object.assign(one, {
      each: eachOf(one),
      skip: (title: string) => void it(title, { skip: true }, () => undefined),
    }),
    beforeAll: plain(before),
    afterAll: plain(after),
    beforeEach: plain(beforeEach),
    afterEach: plain(afterEach),
    expect,
  });
  return counts;
}
