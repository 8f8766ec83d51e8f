/**
 * External calls: requested here, executed elsewhere. The session waits without a lease. The outcome comes by
 * the call's id, through any process, exactly once; after the deadline it is unknown.
 */
import { SkeinError } from "../../core/error.ts";
import { readEvent, type EventOf } from "../../core/event.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { canonicalJson } from "../../core/tool/permission-order.ts";
import { checkJson } from "../../core/text/json.ts";
import type { Deps } from "../deps.ts";
import type { Change } from "../log/writer.ts";
import { contentOf } from "../read/content.ts";
import { readRecords } from "../read/record-pages.ts";
import { shapeOutput } from "./tool-output.ts";

/** Options of `session.settle`: the outcome of an external call. */
export interface SettleOptions {
  /** Default: `ok`. `error`: the model gets the output as an error. */
  readonly status?: "ok" | "error";
  /** For the model: a text or any JSON. */
  readonly output?: unknown;
  readonly key?: string;
}

/** The result of `session.settle`. */
export interface SettleResult {
  readonly seq: number;
  readonly headSeq: number;
  /** True: the call had this outcome already, and nothing was written. */
  readonly duplicate: boolean;
  /** True: the call had been settled as unknown or skipped. The result is kept as evidence only. */
  readonly late: boolean;
}

type Write = (command: Parameters<Deps["writer"]["change"]>[1], key: string | undefined) => Promise<Change>;

/** Settles an external call, or keeps a late result as evidence. The same outcome again changes nothing. */
export async function settleExternal(
  deps: Deps,
  session: SessionId,
  write: Write,
  call: string,
  { status = "ok", output = "", key }: SettleOptions,
): Promise<SettleResult> {
  if (typeof output !== "string") checkJson("settle: output", output);
  const { mind, seq: headSeq } = await deps.writer.current(session);
  const open = mind.calls.get(call);
  const requestSeq = open?.seq ?? (await requestOf(deps, session, call));
  const shaped = { ...(await shapeOutput(deps, output, requestSeq)) };
  const result = { ...shaped, status: shaped.status === "error" ? shaped.status : status };
  const before = open === undefined ? await settledBefore(deps, session, call, requestSeq) : null;
  if (before !== null) {
    const same = before.find((one) => one.status === result.status && isSame(one.output, result.output));
    if (same !== undefined) return { seq: same.seq, headSeq, duplicate: true, late: same.late };
    const [first] = before;
    if (first === undefined || first.status === "ok" || first.status === "error") {
      throw new SkeinError(
        "conflict",
        `settle: call ${quote(call)} already has another outcome: ${first?.status}`,
        {
          hint: `it is at position ${first?.seq ?? requestSeq} of the log; an outcome is never replaced`,
        },
      );
    }
  }
  const change = await write((state) => {
    if (before === null && !state.mind.calls.has(call))
      throw new SkeinError("conflict", `settle: call ${quote(call)} was settled just now`, {
        hint: "send the result again: the same outcome changes nothing, another is kept as evidence",
      });
    return { do: "settle", call, ...result, outside: true, ...(before === null ? {} : { late: true }) };
  }, key);
  const { firstSeq: seq, duplicate } = change;
  return { seq, headSeq: change.headSeq, duplicate, late: before !== null };
}

interface SettledOutcome {
  readonly seq: number;
  readonly status: string;
  readonly output: unknown;
  readonly late: boolean;
}

const isSame = (one: unknown, other: unknown): boolean =>
  canonicalJson(one ?? "") === canonicalJson(other ?? "");

/** The position of the request of an external call, which its id leads to. */
async function requestOf({ store }: Deps, session: SessionId, call: string): Promise<number> {
  const answeredSeq = Number(/-at(\d{1,15})(?:-\d+)?$/.exec(call)?.[1] ?? NaN);
  if (Number.isSafeInteger(answeredSeq)) {
    const range = [answeredSeq + 1, answeredSeq + 2 + 3 * limit.callsMax] as const;
    for await (const record of readRecords(store, session, range, { types: ["tool.requested"] })) {
      const { body } = readEvent(record, false).event as EventOf<"tool.requested">;
      if (body.call === call && body.external !== undefined) return record.seq;
    }
  }
  throw new SkeinError("not-found", `settle: there is no external call ${quote(call)}`, {
    hint: "session.state lists the open calls of a session",
  });
}

/** How the call was settled, and the evidence since. */
async function settledBefore(
  { store }: Deps,
  session: SessionId,
  call: string,
  requestSeq: number,
): Promise<readonly SettledOutcome[]> {
  const found: SettledOutcome[] = [];
  const options = { types: ["tool.settled"], contents: true };
  for await (const record of readRecords(store, session, [requestSeq + 1, Infinity], options)) {
    const { body } = readEvent(record, false).event as EventOf<"tool.settled">;
    if (body.call !== call) continue;
    const content = (await contentOf(store, record)) as { readonly output?: unknown } | undefined;
    const { status, late = false } = body;
    found.push({ seq: record.seq, status, output: content?.output, late });
  }
  return found;
}
