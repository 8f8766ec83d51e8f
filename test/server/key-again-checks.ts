/** The rows of key-again.test.ts that amend a session, and that set and run accept checks. */
import type { Session } from "../../src/runtime/engine/session.ts";
import type { Given, Served } from "./served.ts";

const checked = async (_: Served, session: Session): Promise<Given | void> =>
  void (await session.setChecks(["person: ok?"]));

export const ofChecks = {
  "session.amend": [{ params: { objective: "o", because: "b" }, answer: "duplicate" }],
  "session.setChecks": [{ params: { checks: ["person: ok?"] }, answer: "duplicate" }],
  "session.check": [{ params: { pass: "person" }, before: checked }],
} as const;
