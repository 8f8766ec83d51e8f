/**
 * The lifecycle: which command is allowed in which status, and the resulting status. One table; decide reads
 * it, and the tests walk it both ways.
 *
 *   open       idle and ready            running   a turn is in progress
 *   suspended  halted, with a reason     sleeping  waits for its triggers
 *   closed     over, kept for audit      archived  packed and read-only
 *   moved      lives in another store now
 */

export const statuses = ["open", "running", "suspended", "sleeping", "closed", "archived", "moved"] as const;
/** The status of a session; docs/turns.md has the transitions. */
export type SessionStatus = (typeof statuses)[number];

interface Rule {
  readonly from: readonly SessionStatus[];
  /** Null: the status does not change. */
  readonly to: SessionStatus | null;
}

const live = ["open", "running", "suspended", "sleeping"] as const;
const here = [...live, "closed"] as const;

export const lifecycle = {
  /** A turn in progress resumes: then the session is running again, not open. */
  activate: { from: ["suspended", "sleeping"], to: "open" },
  suspend: { from: ["open", "running", "sleeping"], to: "suspended" },
  /** From a running session: it sleeps once the turn has ended. */
  sleep: { from: ["open", "running"], to: "sleeping" },
  wake: { from: ["sleeping"], to: "open" },
  interrupt: { from: ["running", "suspended"], to: null },
  close: { from: ["open", "suspended", "sleeping"], to: "closed" },
  /** To a successor, in the append that opens it. From a running session: only under its lease. */
  continue: { from: live, to: "closed" },
  cancel: { from: live, to: "closed" },
  /** Accept checks run, or a person decides one. */
  check: { from: ["open", "suspended", "sleeping"], to: null },
  reopen: { from: ["closed", "archived"], to: "open" },
  archive: { from: ["closed"], to: "archived" },
  rewind: { from: ["open", "suspended", "sleeping"], to: "open" },
  /** Items, scratch, bindings, permissions, budgets, input and foreign records. */
  write: { from: live, to: null },
  /** Name, labels, priority, checkpoints: allowed also for a closed session. */
  describe: { from: here, to: null },
  /** Holds and erasure: allowed in every status, as long as the session lives here. */
  govern: { from: [...here, "archived"], to: null },
  take: { from: live, to: null },
  begin: { from: ["open"], to: "running" },
  /** The next action of a turn: a model call, a tool call. */
  go: { from: ["running"], to: null },
  /** The result of a started action; it may arrive after the session was suspended. */
  settle: { from: ["running", "suspended"], to: null },
  /** To another store or machine; no record follows it here. */
  move: { from: ["open", "suspended", "sleeping", "closed", "archived"], to: "moved" },
  /** The session resumes the status it was moved in; open, if it was that. */
  arrive: { from: ["moved"], to: "open" },
  /** To another model. */
  migrate: { from: ["open", "suspended", "sleeping"], to: null },
  /** Compaction, and its model calls. */
  compact: { from: live, to: null },
} as const satisfies Record<string, Rule>;

export type LifecycleCommand = keyof typeof lifecycle;

export const mayIn = (status: SessionStatus, command: LifecycleCommand): boolean =>
  (lifecycle[command].from as readonly SessionStatus[]).includes(status);

/** The hint for a command that the status forbids. */
export const wayOut: Readonly<Record<SessionStatus, string>> = {
  open: "the session is open and idle",
  running: 'interrupt the turn first: "skein interrupt ID"',
  suspended: 'activate it first: "skein activate ID"',
  sleeping: 'activate it first: "skein activate ID"',
  closed: 'reopen it first ("skein reopen ID"), or fork it',
  archived: 'reopen it first ("skein reopen ID"), or fork it',
  moved: "open it in the store that it was moved to, or fork it here",
};
