/**
 * The lifecycle: which command is allowed in which status, and where it leads. One table; decide asks it, and
 * the tests walk it both ways.
 *
 *   open       idle and ready            running   a turn is in progress
 *   suspended  stands still, says why    sleeping  waits for its triggers
 *   closed     over, kept for audit      archived  packed and read-only
 *   moved      lives elsewhere now
 */

export const statuses = ["open", "running", "suspended", "sleeping", "closed", "archived", "moved"] as const;
/** The status of a session; docs/turns.md has the transitions. */
export type SessionStatus = (typeof statuses)[number];

interface Rule {
  readonly from: readonly SessionStatus[];
  /** Null: the status stays as it is. */
  readonly to: SessionStatus | null;
}

const live = ["open", "running", "suspended", "sleeping"] as const;
const here = [...live, "closed"] as const;

export const lifecycle = {
  /** A turn in progress goes on where it stood: then the session is running again, not open. */
  activate: { from: ["suspended", "sleeping"], to: "open" },
  suspend: { from: ["open", "running", "sleeping"], to: "suspended" },
  /** From a running session: it sleeps once the turn has ended. */
  sleep: { from: ["open", "running"], to: "sleeping" },
  wake: { from: ["sleeping"], to: "open" },
  interrupt: { from: ["running", "suspended"], to: null },
  close: { from: ["open", "suspended", "sleeping"], to: "closed" },
  cancel: { from: live, to: "closed" },
  reopen: { from: ["closed", "archived"], to: "open" },
  archive: { from: ["closed"], to: "archived" },
  rewind: { from: ["open", "suspended", "sleeping"], to: "open" },
  /** Items, scratch, bindings, permissions, budgets, input and foreign records. */
  write: { from: live, to: null },
  /** Name, labels, priority, checkpoints: what may still be said about a session that is over. */
  describe: { from: here, to: null },
  /** Holds and erasure: what must be possible whatever became of the session, as long as it lives here. */
  govern: { from: [...here, "archived"], to: null },
  take: { from: live, to: null },
  begin: { from: ["open"], to: "running" },
  /** The next thing of a turn: a model call, a tool call. */
  go: { from: ["running"], to: null },
  /** What came of something that was begun; it may come in when the session was suspended meanwhile. */
  settle: { from: ["running", "suspended"], to: null },
  /** To another store or machine; nothing is written here after it. */
  move: { from: ["open", "suspended", "sleeping", "closed", "archived"], to: "moved" },
  /** It goes on with the status that it was moved in: open, if it was that. */
  arrive: { from: ["moved"], to: "open" },
  /** To another model. */
  migrate: { from: ["open", "suspended", "sleeping"], to: null },
  /** Compaction, and what is asked of a model for it. */
  compact: { from: live, to: null },
} as const satisfies Record<string, Rule>;

export type LifecycleCommand = keyof typeof lifecycle;

export const mayIn = (status: SessionStatus, command: LifecycleCommand): boolean =>
  (lifecycle[command].from as readonly SessionStatus[]).includes(status);

/** What a person can do about a command that the status forbids. */
export const wayOut: Readonly<Record<SessionStatus, string>> = {
  open: "it is open and idle",
  running: "a turn is in progress; interrupt it first",
  suspended: "it is suspended; activate it first",
  sleeping: "it sleeps; activate it first",
  closed: "it is closed; reopen it first, or fork it",
  archived: "it is archived; reopen it first, or fork it",
  moved: "it lives elsewhere now; work on it there, or fork it",
};
