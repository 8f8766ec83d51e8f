/** A row of the list of sessions, for tests. */
import type { SessionListRow } from "../../src/console/view/sessions/filter.ts";

export const rowOf = (
  part: Partial<Omit<SessionListRow, "session">> & { readonly session?: string } = {},
): SessionListRow => ({
  status: "open",
  agent: null,
  name: null,
  objective: "Something",
  priority: 5,
  labels: {},
  headSeq: 1,
  openedAt: 0,
  activeAt: 0,
  parent: null,
  zone: "smart",
  unconfirmedNanoUsd: 0,
  unpriced: 0,
  nanoUsd: 0,
  model: null,
  runnable: false,
  waitingFor: null,
  runBy: null,
  triggers: null,
  deadlineMs: null,
  dueMs: null,
  ...part,
  session: (part.session ?? "ses_00000000000000000000000001") as SessionListRow["session"],
});
