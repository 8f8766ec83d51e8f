/** A method of the library, made from what the table says of its operation. */
import { checkJson, checkOptions, SkeinError } from "../protocol/library.ts";
import type { Operation } from "../call/operation.ts";
import { operationOf, type OperationId } from "../call/operations.ts";
import { queryForms } from "../protocol/query.ts";
import type { Asked, Wire } from "./wire.ts";

/** Options that stay here: a signal ends the wait, and of how far it has come nothing is heard. */
const kept: Partial<Record<OperationId, readonly string[]>> = {
  "session.run": ["signal"],
  "session.ask": ["signal"],
  "session.watch": ["signal"],
  "session.events": ["signal"],
  "session.erase": ["progress"],
  "session.replay": ["progress", "signal"],
  "engine.search": ["progress"],
  "engine.query": ["progress", "signal"],
  "engine.verify": ["progress"],
  "engine.scan": ["progress"],
  "engine.deliver": ["progress"],
  "engine.rebuild": ["progress"],
  "engine.retain": ["progress", "signal"],
  "engine.migrate": ["progress", "signal"],
  "engine.runTickets": ["signal", "tell", "note"],
};

/** Options of the library that need the engine in the same process. */
const away: Partial<Record<OperationId, readonly string[]>> = {
  "session.run": ["holder", "leaseMs"],
  "session.watch": ["holder", "leaseMs"],
  "session.replay": ["score"],
  "engine.export": ["sign"],
};

type Options = Readonly<Record<string, unknown>>;

/** What was given to a call: its positional arguments by name, and its options. */
export function readGiven(id: OperationId, given: readonly unknown[]): Asked {
  const operation = operationOf(id);
  const { args, call } = operation;
  const options = (given[args.length] === undefined ? {} : given[args.length]) as Options;
  checkKnown(id, operation, options);
  const named = Object.fromEntries(args.map((name, place) => [name, given[place]]));
  const params: Record<string, unknown> = { ...named };
  for (const name of Object.keys(operation.params.shape)) {
    if (args.includes(name)) continue;
    if (options[name] !== undefined) params[name] = options[name];
  }
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    checkJson(`${call}: ${name}`, value);
    // In the query of an address everything is a text.
    const form = operation.takes === "query" ? queryForms(operation).get(name) : undefined;
    const isWrong =
      (form === "text" && typeof value !== "string") || (form === "list" && !Array.isArray(value));
    if (isWrong) throw new SkeinError("invalid", `${call}: ${name} is no ${form}`);
  }
  const { signal, key, expect } = options as {
    readonly signal?: AbortSignal;
    readonly key?: string;
    readonly expect?: { readonly seq: number };
  };
  return {
    params,
    signal,
    ...(operation.keyed ? { key } : {}),
    ...(id === "session.append" ? { expectSeq: seqOf(expect) } : {}),
  };
}

function checkKnown(id: OperationId, operation: Operation, options: Options): void {
  const { args, call, keyed, params } = operation;
  const own = Object.keys(params.shape).filter((name) => !args.includes(name));
  const more = [
    ...(keyed ? ["key"] : []),
    ...(id === "session.append" ? ["expect"] : []),
    ...(kept[id] ?? []),
  ];
  for (const name of away[id] ?? []) {
    if ((options as Options | null)?.[name] === undefined) continue;
    throw new SkeinError("invalid", `${call}: ${name} cannot be given over HTTP`, {
      hint: "it needs the engine in the same process",
    });
  }
  checkOptions(call, options, [...own, ...more, ...(away[id] ?? [])]);
}

function seqOf(expect: { readonly seq: number } | undefined): number | undefined {
  if (expect === undefined || (Number.isInteger(expect.seq) && expect.seq >= 0)) return expect?.seq;
  throw new SkeinError("invalid", "append: expect names no position", { hint: "give { seq: 12 }" });
}

/** Asks for an operation as the library's call would be called. */
export async function callOperation(
  wire: Wire,
  id: OperationId,
  session: string | undefined,
  given: readonly unknown[],
): Promise<unknown> {
  const asked = readGiven(id, given);
  const answer = await wire.call(id, { ...asked, ...(session === undefined ? {} : { session }) });
  return asked.key === undefined ? firstTime(answer) : answer;
}

/** What was sent again under a key of the client's own was asked for once. */
function firstTime(answer: unknown): unknown {
  const isAgain = (answer as { readonly duplicate?: unknown } | null | undefined)?.duplicate === true;
  return isAgain ? { ...(answer as object), duplicate: false } : answer;
}
