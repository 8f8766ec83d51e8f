/** A reader of a stream that is cut again and again, also in the middle of a frame, and goes on. */
import { hash } from "node:crypto";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../crash/random.ts";

export interface ReaderOptions {
  readonly path: string;
  readonly random: Random;
  /** How long it reads at most before it cuts the connection itself; null is never. */
  readonly cut: { readonly ms: number; readonly chars: number } | null;
  /** Looked at after each frame and each cut: whether it has all it waits for. */
  readonly isWhole: (reading: Reading) => boolean;
}

export interface Reading {
  /** How many events it has, the id of the last one, and what they all come to. */
  count: number;
  lastId: string;
  digest: string;
  /** How often the connection ended before it had everything. */
  cuts: number;
  /** Frames that were cut through. */
  torn: number;
  problem: string | null;
}

/** What a list of events comes to; each is the text of its JSON. */
export function digestOf(texts: Iterable<string>): string {
  let digest = "";
  for (const text of texts) digest = hash("sha256", digest + text);
  return digest;
}

/** `where` is asked before each connection: the server may have moved. */
export async function readAll(
  where: () => { readonly port: number; readonly token: string },
  options: ReaderOptions,
): Promise<Reading> {
  const reading: Reading = { count: 0, lastId: "", digest: "", cuts: 0, torn: 0, problem: null };
  while (!options.isWhole(reading)) {
    await readOnce(where(), options, reading);
    if (reading.problem !== null) return reading;
    if (options.isWhole(reading)) break;
    reading.cuts += 1;
    await sleep(options.random.below(20));
  }
  return reading;
}

function readOnce(
  { port, token }: { readonly port: number; readonly token: string },
  { path, random, cut, isWhole }: ReaderOptions,
  reading: Reading,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const headers = {
    accept: "text/event-stream",
    authorization: `Bearer ${token}`,
    ...(reading.lastId === "" ? {} : { "last-event-id": reading.lastId }),
  };
  const asked = request({ host: "127.0.0.1", port, path, headers, agent: false });
  let left = cut !== null && random.chance(0.5) ? random.below(cut.chars) : Infinity;
  let text = "";
  asked.on("error", () => resolve());
  asked.on("response", (response) => {
    const timer = cut === null ? undefined : setTimeout(() => asked.destroy(), random.below(cut.ms));
    response.on("error", () => null);
    response.on("close", () => {
      clearTimeout(timer);
      if (text !== "") reading.torn += 1;
      resolve();
    });
    if (response.statusCode !== 200 && response.statusCode !== 503) {
      reading.problem = `answered ${response.statusCode}`;
      asked.destroy();
    }
    response.setEncoding("utf8").on("data", (chunk: string) => {
      if (left <= 0) return;
      text += chunk.slice(0, left);
      left -= chunk.length;
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        take(text.slice(0, end), reading);
        text = text.slice(end + 2);
      }
      if (left <= 0 || isWhole(reading)) asked.destroy();
    });
  });
  asked.end();
  return promise;
}

function take(frame: string, reading: Reading): void {
  const [, id] = /(?:^|\n)id: (.*)/.exec(frame) ?? [];
  const [, data] = /(?:^|\n)data: (.*)/.exec(frame) ?? [];
  if (id === undefined) return;
  reading.lastId = id;
  // A place of the feed without an event.
  if (data === undefined) return;
  reading.count += 1;
  reading.digest = hash("sha256", reading.digest + data);
}

/** The position in an id: "7.0123…" of a session, "…~ses_…~7~0123…" of the feed. */
export const seqOf = (id: string): number => Number(/(?:^|~)(\d+)(?:[.~][0-9a-f]+)?$/.exec(id)?.[1] ?? 0);
