/** Runs an action on sessions from their rows, and reports the result. */
import { shortId } from "../../../core/text/short-id.ts";
import { cell } from "../../signal.ts";
import { plural } from "../../ui/amount.ts";
import { showToast, showError, wordsOf } from "../../ui/toast.tsx";
import { brief } from "../../ui/visible.ts";
import { forget } from "../../query-cache.ts";
import { go, sessionPath } from "../../route.ts";
import { engine, sessionOf } from "../../server.ts";
import { after } from "../../world.ts";
import { actionOf, doable, each, type Action, type ActionName } from "./action.ts";
import { titleOf, type SessionListRow } from "./filter.ts";
import { removeEverywhere } from "./list.ts";

/** The progress of an action on several sessions; null: none. */
export const underway = cell<{ readonly title: string; readonly done: number; readonly all: number } | null>(
  null,
);

/** The sessions with an action in progress; afterwards, the position of their rows at that time. */
const busy = new Map<string, { readonly seenSeq: number | null }>();
/** The longest wait for a row to reflect an action. */
const tellingMs = 2_000;

/** Whether an action is in progress, or its row does not reflect it yet. */
export function isBusy({ session, headSeq }: SessionListRow): boolean {
  const found = busy.get(session);
  return found !== undefined && (found.seenSeq === null || found.seenSeq === headSeq);
}

/** Actions that change the status of a row. */
const turning: readonly ActionName[] = ["suspend", "activate", "interrupt", "close", "reopen", "archive"];

function release(action: Action, row: SessionListRow, isDone: boolean): void {
  if (!isDone || !turning.includes(action.name)) return void busy.delete(row.session);
  const state = { seenSeq: row.headSeq };
  busy.set(row.session, state);
  after(tellingMs, () => {
    if (busy.get(row.session) === state) busy.delete(row.session);
  });
}

interface ActionInput {
  readonly priority?: number;
}

/** Returns the new session, if there is one. */
const works: Readonly<
  Record<ActionName, (row: SessionListRow, given: ActionInput) => Promise<string | null>>
> = {
  suspend: async ({ session }) => plain((await sessionOf(session)).suspend()),
  activate: async ({ session }) => plain((await sessionOf(session)).activate()),
  interrupt: async ({ session }) => plain((await sessionOf(session)).interrupt()),
  close: async ({ session }) => plain((await sessionOf(session)).close()),
  reopen: async ({ session }) => plain((await sessionOf(session)).reopen()),
  archive: async ({ session }) => plain((await sessionOf(session)).archive()),
  prioritize: async ({ session }, { priority = 5 }) => plain((await sessionOf(session)).prioritize(priority)),
  fork: async ({ session }) => (await (await sessionOf(session)).fork()).id,
  delete: async ({ session }) => {
    await engine.delete(session);
    forget(`session/${session}`);
    removeEverywhere(session);
    return null;
  },
};

async function plain(work: Promise<unknown>): Promise<null> {
  await work;
  return null;
}

/** The affected sessions. An undo is offered where there is one. */
export async function perform(
  action: Action,
  chosen: readonly SessionListRow[],
  given: ActionInput = {},
): Promise<void> {
  const rows = doable(action, chosen);
  if (rows.length === 0) {
    showToast(
      chosen.length === 1 ? cannot(action, chosen[0]) : `${action.title}: not possible for any of these.`,
    );
    return;
  }
  const made: string[] = [];
  const all = rows.length;
  underway.set({ title: action.doing, done: 0, all });
  for (const { session } of rows) busy.set(session, { seenSeq: null });
  const failed = await each(
    rows,
    async (row) => {
      const fork = await works[action.name](row, given);
      if (fork !== null) made.push(fork);
    },
    { progress: (done) => underway.set({ title: action.doing, done, all }) },
  ).finally(() => underway.set(null));
  const done = rows.filter((row) => failed.every(({ of }) => of !== row));
  for (const row of rows) release(action, row, done.includes(row));
  for (const { of, error } of failed.slice(0, 3))
    showError(all === 1 ? error : new Error(`${nameOf(of)}: ${wordsOf(error).text}`));
  const [only] = made;
  if (only !== undefined && all === 1) return go(sessionPath(only));
  if (done.length > 0) tellDone(action, done);
}

const nameOf = (row: SessionListRow): string => brief(titleOf(row), 60) || shortId(row.session);

function tellDone(action: Action, rows: readonly SessionListRow[]): void {
  const [first] = rows;
  const what = rows.length === 1 && first !== undefined ? nameOf(first) : plural(rows.length, "session");
  const back = backOf[action.name];
  const undo =
    back === undefined
      ? undefined
      : { name: back.title, act: () => void perform(back.action(), rows.map(back.after)) };
  showToast(`${action.done}: ${what}`, undo, rows.map(({ session }) => session).join(" "));
}

/** The undo, and the status of the rows meanwhile. */
const backOf: Partial<
  Record<
    ActionName,
    {
      readonly title: string;
      readonly action: () => Action;
      readonly after: (row: SessionListRow) => SessionListRow;
    }
  >
> = {
  close: {
    title: "Reopen",
    action: () => actionOf("reopen"),
    after: (row) => ({ ...row, status: "closed" }),
  },
  suspend: {
    title: "Activate",
    action: () => actionOf("activate"),
    after: (row) => ({ ...row, status: "suspended" }),
  },
};

function cannot({ title, name }: Action, row: SessionListRow | undefined): string {
  const verb = title.replace("…", "");
  if (row?.copy === true) return `${verb}: this is a copy, which can only be read and forked.`;
  if (row?.status === "running" && (name === "close" || name === "delete"))
    return `${verb}: it is running. Interrupt it first.`;
  if (row?.waitingFor === "approval" && (name === "suspend" || name === "activate"))
    return "A call is waiting for approval: allow or deny it first.";
  return `${verb}: it is ${row?.status ?? "gone"}.`;
}
