/**
 * Inputs being sent: shown at once, and retried with the same idempotency key until the server confirms them,
 * also after a reload. So none is lost, and none duplicated.
 */
import type { RemoteSession } from "../../../client/connect.ts";
import { cell, type Cell } from "../../signal.ts";
import { connection, mended } from "../../connection.ts";
import { showError } from "../../ui/toast.tsx";
import { engine } from "../../server.ts";
import { after } from "../../world.ts";
import type { Attachment } from "./attachment.tsx";

export type Mode = "queue" | "steer";

export interface PendingMessage {
  readonly key: string;
  readonly text: string;
  readonly attached: readonly Attachment[];
  readonly mode: Mode;
  /** Its position in the log; null until the server confirms it. */
  readonly seq: number | null;
}

const all = new Map<string, Cell<readonly PendingMessage[]>>();
const nameOf = (id: string): string => `skein-pending-${id}`;

/** Those of a session, the oldest first. */
export function pendingOf(session: RemoteSession): Cell<readonly PendingMessage[]> {
  const known = all.get(session.id);
  if (known !== undefined) return known;
  const made = cell<readonly PendingMessage[]>([]);
  all.set(session.id, made);
  for (const one of kept(session.id)) send(session, one).catch(showError);
  return made;
}

function kept(id: string): readonly PendingMessage[] {
  try {
    return JSON.parse(sessionStorage.getItem(nameOf(id)) ?? "[]") as readonly PendingMessage[];
  } catch {
    return [];
  }
}

function keep(id: string, list: readonly PendingMessage[]): void {
  const open = list.filter(({ seq }) => seq === null);
  try {
    if (open.length === 0) sessionStorage.removeItem(nameOf(id));
    else sessionStorage.setItem(nameOf(id), JSON.stringify(open));
  } catch {
    // Storage is full: it is still sent, as long as the page lives.
  }
}

const lines = new Map<string, Promise<void>>();

/** One after the other, in order. */
export function send(session: RemoteSession, one: PendingMessage): Promise<void> {
  const pending = pendingOf(session);
  const put = (list: readonly PendingMessage[]): void => {
    pending.set(list);
    keep(session.id, list);
  };
  put([...pending.get(), one]);
  const before = lines.get(session.id) ?? Promise.resolve();
  const work = async (): Promise<void> => {
    await before;
    try {
      const { seq } = await sendOnce(session, one);
      put(pending.get().map((other) => (other.key === one.key ? { ...one, seq } : other)));
      await runWithoutWorker(session);
    } catch (error) {
      put(pending.get().filter(({ key }) => key !== one.key));
      throw error;
    }
  };
  const sent = work();
  lines.set(
    session.id,
    sent.catch(() => undefined),
  );
  return sent;
}

/** The log has them: they are shown from there. */
export function dropArrived(session: RemoteSession, headSeq: number): void {
  const pending = pendingOf(session);
  const left = pending.get().filter(({ seq }) => seq === null || seq > headSeq);
  if (left.length !== pending.get().length) pending.set(left);
}

async function sendOnce(session: RemoteSession, { text, attached, mode, key }: PendingMessage) {
  const words = text === "" ? [] : [{ type: "text" as const, text }];
  const blocks = [...words, ...attached] as unknown as Parameters<RemoteSession["input"]>[0];
  for (;;) {
    try {
      return await session.input(blocks, { key, mode });
    } catch (error) {
      if (!isLost(error)) throw error;
      await whenMended();
    }
  }
}

const isLost = (error: unknown): boolean =>
  connection.get() !== "live" ||
  ["unavailable", "unknown"].includes(String((error as { readonly code?: unknown } | null)?.code));

const againMs = 3_000;

/** The connection is back; or a while has passed. */
function whenMended(): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      unwatch();
      calledOff();
      resolve();
    };
    const unwatch = mended.watch(done);
    const calledOff = after(againMs, done);
  });
}

/** Without a worker, it runs from here. */
export async function runWithoutWorker(session: RemoteSession): Promise<void> {
  const workers = await engine.workers().catch(() => null);
  if (workers === null || workers.length > 0) return;
  session.run().catch((error: unknown) => {
    if ((error as { readonly code?: unknown }).code !== "conflict") showError(error);
  });
}
