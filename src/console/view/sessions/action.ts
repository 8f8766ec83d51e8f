/** The actions on sessions from their rows: their keys, and the sessions they apply to. */
import { mayIn, type SessionStatus } from "../../../protocol/library.ts";
import type { Me } from "../../../client/connect.ts";
import type { SessionListRow } from "./filter.ts";

export type ActionName =
  | "suspend"
  | "activate"
  | "interrupt"
  | "close"
  | "reopen"
  | "archive"
  | "prioritize"
  | "fork"
  | "delete";

export interface Action {
  readonly name: ActionName;
  readonly title: string;
  /** The texts during the action, and after it. */
  readonly doing: string;
  readonly done: string;
  readonly scope: Me["scopes"][number];
  readonly may: (status: SessionStatus) => boolean;
  /** Asks something first. */
  readonly asks?: true;
}

/** In the order of the menu. */
export const actions: readonly Action[] = [
  {
    name: "suspend",
    title: "Suspend",
    doing: "Suspending",
    done: "Suspended",
    scope: "write",
    may: (status) => mayIn(status, "suspend"),
  },
  {
    name: "activate",
    title: "Activate",
    doing: "Activating",
    done: "Activated",
    scope: "write",
    may: (status) => mayIn(status, "activate"),
  },
  {
    name: "interrupt",
    title: "Interrupt",
    doing: "Interrupting",
    done: "Interrupted",
    scope: "write",
    may: (status) => mayIn(status, "interrupt"),
  },
  {
    name: "close",
    title: "Close",
    doing: "Closing",
    done: "Closed",
    scope: "write",
    may: (status) => mayIn(status, "close"),
  },
  {
    name: "reopen",
    title: "Reopen",
    doing: "Reopening",
    done: "Reopened",
    scope: "write",
    may: (status) => mayIn(status, "reopen"),
  },
  {
    name: "archive",
    title: "Archive",
    doing: "Archiving",
    done: "Archived",
    scope: "write",
    may: (status) => mayIn(status, "archive"),
  },
  {
    name: "prioritize",
    title: "Set priority…",
    doing: "Prioritizing",
    done: "Prioritized",
    scope: "write",
    may: (status) => mayIn(status, "describe"),
    asks: true,
  },
  { name: "fork", title: "Fork", doing: "Forking", done: "Forked", scope: "write", may: () => true },
  {
    name: "delete",
    title: "Delete…",
    doing: "Deleting",
    done: "Deleted",
    scope: "admin",
    may: (status) => status !== "running",
    asks: true,
  },
];

export function actionOf(name: ActionName): Action {
  const found = actions.find((one) => one.name === name);
  if (found === undefined) throw new Error(`unknown action ${name}`);
  return found;
}

/** Until the identity is known nothing is disabled: the server refuses where it must. */
export const isEntitled = (action: Action, me: Pick<Me, "scopes"> | undefined): boolean =>
  me === undefined || me.scopes.includes("admin") || me.scopes.includes(action.scope);

/**
 * The rows that the action applies to. An imported copy can only be read and forked, and a session that waits
 * for approval would only wait again.
 */
export const doable = (action: Action, rows: readonly SessionListRow[]): SessionListRow[] =>
  rows.filter(
    ({ status, copy, waitingFor }) =>
      action.may(status) &&
      (copy !== true || action.name === "fork" || action.name === "delete") &&
      (action.name !== "activate" || waitingFor !== "approval"),
  );

/** The meaning of a two-way key: the first action, as long as it applies to a row. */
export function eitherOf(first: ActionName, second: ActionName, rows: readonly SessionListRow[]): Action {
  const [one, other] = [actionOf(first), actionOf(second)];
  return doable(one, rows).length > 0 || doable(other, rows).length === 0 ? one : other;
}

/** The keys of actions, for the menu. */
export const keyOfAction: Readonly<Partial<Record<ActionName, string>>> = {
  suspend: "s",
  activate: "s",
  interrupt: "i",
  close: "x",
  reopen: "x",
  prioritize: "p",
  fork: "f",
  delete: "d",
};

/** Runs for several, a few at a time; a failure does not stop the others. */
export async function each<T>(
  all: readonly T[],
  work: (one: T) => Promise<void>,
  { atOnce = 4, progress }: { readonly atOnce?: number; readonly progress?: (done: number) => void } = {},
): Promise<readonly { readonly of: T; readonly error: Error }[]> {
  const failed: { readonly of: T; readonly error: Error }[] = [];
  const left = [...all];
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      try {
        await work(one);
      } catch (error) {
        failed.push({ of: one, error: error as Error });
      }
      done += 1;
      progress?.(done);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, worker));
  return failed;
}
