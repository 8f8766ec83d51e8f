/** Calls an operation by its id, with parameters by name, and reports the result. */
import { shortId } from "../../core/text/short-id.ts";
import { argumentsOf } from "../../call/operation.ts";
import { operationOf, type OperationId } from "../../call/operations.ts";
import type { RemoteSession } from "../../client/connect.ts";
import { refresh } from "../query-cache.ts";
import { engine, sessionOf } from "../server.ts";

type CarryOver = NonNullable<RemoteSession["carriedOver"]>;

export type PaletteOutcome =
  /** A new session. */
  | { readonly what: "made"; readonly session: string; readonly carriedOver: CarryOver | null }
  /** A position of a session. */
  | { readonly what: "place"; readonly session: string; readonly seq: number }
  | { readonly what: "file"; readonly name: string; readonly bytes: number }
  /** A write without a result to show. */
  | { readonly what: "done" }
  | { readonly what: "answer"; readonly value: unknown };

interface CallInput {
  readonly session: string | null;
  readonly params: Readonly<Record<string, unknown>>;
  /** The content of a chosen file. */
  readonly file: File | null;
}

type Method = (...given: readonly unknown[]) => unknown;

export async function call(id: OperationId, { session, params, file }: CallInput): Promise<PaletteOutcome> {
  const operation = operationOf(id);
  const { of, path, takes } = operation;
  const target = of === "engine" ? engine : await sessionOf(session ?? "");
  const method = (target as unknown as Readonly<Record<string, Method>>)[operation.call];
  if (method === undefined) throw new Error(`Unknown call ${id}.`);
  const given = [
    ...(of === "engine" && path.includes("{id}") ? [session ?? ""] : []),
    ...(takes === "bytes" ? [await source(id, file)] : []),
    ...argumentsOf(operation, params),
  ];
  const result = await method(...given);
  const outcome = await outcomeOf(id, result, session);
  // Nothing can be read of a deleted session.
  if (operation.method !== "GET") reread(id === "engine.delete" ? null : session);
  return outcome;
}

async function source(id: OperationId, file: File | null): Promise<unknown> {
  if (file === null) throw new Error("Choose a file first.");
  if (id === "engine.putBlob") return new Uint8Array(await file.arrayBuffer());
  return pieces(file);
}

async function* pieces(file: File): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

async function outcomeOf(id: OperationId, result: unknown, session: string | null): Promise<PaletteOutcome> {
  if (isStream(result)) return file(id, await gather(result), session);
  if (result instanceof Uint8Array) return file(id, [result as Uint8Array<ArrayBuffer>], session);
  if (typeof result !== "object" || result === null)
    return result === undefined ? { what: "done" } : { what: "answer", value: result };
  const { id: made, seq, fork, session: owner } = result as Readonly<Record<string, unknown>>;
  if (typeof made === "string" && typeof fork === "function") {
    const { carriedOver } = result as RemoteSession;
    return { what: "made", session: made, carriedOver };
  }
  if (typeof seq === "number" && typeof fork === "function")
    return { what: "place", session: (owner as { readonly id: string }).id, seq };
  const keys = Object.keys(result);
  const isWritten = keys.length > 0 && keys.every((key) => ["seq", "headSeq", "duplicate"].includes(key));
  return isWritten ? { what: "done" } : { what: "answer", value: plainOf(result) };
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** Bytes unchanged; anything else as a line of JSON each. */
async function gather(stream: AsyncIterable<unknown>): Promise<(string | Uint8Array<ArrayBuffer>)[]> {
  const all: (string | Uint8Array<ArrayBuffer>)[] = [];
  for await (const one of stream)
    all.push(one instanceof Uint8Array ? (one as Uint8Array<ArrayBuffer>) : `${JSON.stringify(one)}\n`);
  return all;
}

const endings: Readonly<Partial<Record<OperationId, string>>> = {
  "engine.export": "skein",
  "engine.exportProject": "skein",
  "session.records": "jsonl",
};

/** Passed to the browser as a download. */
function file(
  id: OperationId,
  all: readonly (string | Uint8Array<ArrayBuffer>)[],
  session: string | null,
): PaletteOutcome {
  const blob = new Blob([...all], { type: "application/octet-stream" });
  const name = `${shortId(session ?? "skein")}.${endings[id] ?? "bin"}`;
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
  return { what: "file", name, bytes: blob.size };
}

/** Maps as lists of entries: JSON has no maps. */
const plainOf = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, one: unknown) =>
      one instanceof Map ? [...one] : one instanceof Set ? [...one] : one,
    ),
  );

function reread(session: string | null): void {
  for (const prefix of ["sessions", "agents", "memory", "triggers", "workers"]) refresh(prefix);
  if (session !== null) refresh(`session/${session}`);
}
