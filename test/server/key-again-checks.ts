/** The rows of key-again.test.ts that amend a session, and that set and run accept checks. */
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Session } from "../../src/runtime/engine/session.ts";
import { fine, type Answered, type Given, type Served } from "./served.ts";

const checked = async (_: Served, session: Session): Promise<Given | void> =>
  void (await session.setChecks(["person: ok?"]));

const bound = async (_: Served, session: Session): Promise<Given | void> =>
  void (await session.bind({ kind: "directory", name: "d", path: import.meta.dirname }));

/** A session whose document has changed since. */
async function stale({ engine }: Served): Promise<Given> {
  const path = join(mkdtempSync(join(tmpdir(), "skein-again-")), "a.md");
  writeFileSync(path, "1");
  const { id } = await engine.open({ objective: "Stale", files: [path] });
  writeFileSync(path, "2");
  return { id };
}

/** The decision of the first time, which the second time does not make again. */
function decidedOnce(first: unknown, second: Answered): void {
  const notRun = ({ checks, ...rest }: { checks: readonly object[] }) => ({
    ...rest,
    checks: checks.map((check) => ({ ...check, ran: false })),
  });
  assert.deepEqual(fine(second), notRun(first as { checks: readonly object[] }));
}

export const ofChecks = {
  "session.onChange": [{ params: { source: "d", react: "mark" }, before: bound, answer: "duplicate" }],
  "session.reload": [{ before: stale, answer: "duplicate" }],
  "session.amend": [{ params: { objective: "o", because: "b" }, answer: "duplicate" }],
  "session.setChecks": [{ params: { checks: ["person: ok?"] }, answer: "duplicate" }],
  "session.explore": [{ params: { alternatives: ["A", "B"], judge: ["person: ok?"] } }],
  "session.check": [{ params: { pass: "person" }, before: checked, answer: decidedOnce }],
} as const;
