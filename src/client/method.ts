/** A method of the library, made from the table of operations. */
import { checkJson, checkOptions, SkeinError } from "../protocol/library.ts";
import type { Operation } from "../call/operation.ts";
import { operationOf, type OperationId } from "../call/operations.ts";
import { queryForms } from "../protocol/query.ts";
import type { WireRequest, Wire } from "./wire.ts";

type Options = Readonly<Record<string, unknown>>;

/** The arguments of a call: positional ones by name, and its options. */
export function readGiven(id: OperationId, given: readonly unknown[]): WireRequest {
  const operation = operationOf(id);
  const { args, call } = operation;
  const options = (given[args.length] === undefined ? {} : given[args.length]) as Options;
  checkKnown(operation, options);
  const named = Object.fromEntries(args.map((name, place) => [name, given[place]]));
  const params: Record<string, unknown> = { ...named };
  for (const name of Object.keys(operation.params.shape)) {
    if (args.includes(name)) continue;
    if (options[name] !== undefined) params[name] = options[name];
  }
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    checkJson(`${call}: ${name}`, value);
    // In a query string everything is a text.
    const form = operation.takes === "query" ? queryForms(operation).get(name) : undefined;
    const isWrong =
      (form === "text" && typeof value !== "string") || (form === "list" && !Array.isArray(value));
    if (isWrong) throw new SkeinError("invalid", `${call}: ${name}: expected ${form}`);
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
    ...("expect" in operation.local ? { expectSeq: seqOf(expect) } : {}),
  };
}

function checkKnown({ args, call, keyed, local, params }: Operation, options: Options): void {
  const own = Object.keys(params.shape).filter((name) => !args.includes(name));
  for (const [name, where] of Object.entries(local)) {
    if (where === "client" || (options as Options | null)?.[name] === undefined) continue;
    throw new SkeinError("invalid", `${call}: ${name}: not supported over HTTP`, {
      hint: "use the engine in the same process",
    });
  }
  checkOptions(call, options, [...own, ...(keyed ? ["key"] : []), ...Object.keys(local)]);
}

function seqOf(expect: { readonly seq: number } | undefined): number | undefined {
  if (expect === undefined || (Number.isInteger(expect.seq) && expect.seq >= 0)) return expect?.seq;
  throw new SkeinError("invalid", "append: expect: expected a position", { hint: "for example { seq: 12 }" });
}

/** Requests an operation with the arguments of the library call. */
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

/** A retry under the client's own key reports the first result. */
function firstTime(answer: unknown): unknown {
  const isAgain = (answer as { readonly duplicate?: unknown } | null | undefined)?.duplicate === true;
  return isAgain ? { ...(answer as object), duplicate: false } : answer;
}
