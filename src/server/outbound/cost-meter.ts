/**
 * Money and tokens of model calls for `/metrics` and OTLP, from the events of the feed and by the definition
 * of src/core/budget/money.ts. Settled amounts are counters and only grow. The bound of open and lost calls,
 * which may still change, is a gauge beside it.
 */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import {
  addSpend,
  callTypes,
  isFailure,
  isOpening,
  noSpend,
  openSpend,
  settledSpend,
  type CallBody,
  type SettlingType,
  type Spend,
} from "../../core/budget/money.ts";
import type { Amounts } from "../../core/state.ts";
import type { Deps } from "../../runtime/deps.ts";

export interface SettledCall {
  readonly model: string;
  readonly spend: Spend;
}

/** The sums of one model. */
export interface ModelCost {
  readonly model: string;
  /** Of settled or lost calls, by the source of their tokens; bounds are in `unconfirmed`. */
  readonly reported: Spend;
  readonly estimated: Spend;
  /** The cost of a call is known: `nanoUsd` is an amount, not the absence of one. */
  readonly isPriced: boolean;
  /** Null: no bound in money is known. */
  readonly unconfirmedNanoUsd: number | null;
  readonly unconfirmedTokens: number;
  /** Calls that are open now. */
  readonly open: { readonly priced: number; readonly unpriced: number };
}

export interface CostMeter {
  /** Counts the records of a page. May be called again with the same page if it rejects. */
  read(store: Pick<Deps["store"], "read">, records: readonly StoredRecord[]): Promise<readonly SettledCall[]>;
  models(): readonly ModelCost[];
}

interface MeteredCall {
  readonly seq: number;
  readonly model: string;
  readonly reserved: Amounts;
}

interface Sums {
  reported: Spend;
  estimated: Spend;
  isPriced: boolean;
  isBounded: boolean;
}

/** Models past `limit.meteredModelsMax` are counted together under this name. */
const otherModels = "other";

export function makeCostMeter(): CostMeter {
  const sums = new Map<string, Sums>();
  /** By session: the open call, and the last lost one. */
  const open = new Map<string, MeteredCall>();
  const lost = new Map<string, number>();

  function sumsOf(model: string): Sums {
    const name = sums.has(model) || sums.size < limit.meteredModelsMax ? model : otherModels;
    const known = sums.get(name) ?? {
      reported: noSpend,
      estimated: noSpend,
      isPriced: false,
      isBounded: false,
    };
    sums.set(name, known);
    return known;
  }

  function count(model: string, spend: Spend): SettledCall {
    const own = sumsOf(model);
    if (spend.estimated > 0) own.estimated = addSpend(own.estimated, spend);
    else own.reported = addSpend(own.reported, spend);
    own.isPriced ||= spend.nanoUsd > 0 || (spend.calls > 0 && spend.unpriced === 0);
    own.isBounded ||= spend.unconfirmedNanoUsd > 0;
    return { model, spend };
  }

  function request({ session, seq }: StoredRecord, body: RequestBody): SettledCall[] {
    const earlier = open.get(session);
    keep(open, session, { seq, model: body.model, reserved: body.reserved });
    sumsOf(body.model).isBounded ||= body.reserved.nanoUsd !== undefined;
    // Nothing settled the earlier call: its process died.
    return earlier === undefined ? [] : [count(earlier.model, openSpend(earlier.reserved))];
  }

  function settle(record: StoredRecord, body: SettledBody, requested: Amounts | null): SettledCall[] {
    const { session } = record;
    const reserved = open.get(session)?.reserved ?? requested;
    const spend = settledSpend(record.type as SettlingType, body, reserved);
    if (spend === null || body.model === undefined) return [];
    if (body.released !== undefined) return [count(body.model, settledLate(record, body, spend))];
    const isUnknown = isFailure(record.type) && (body.costNanoUsd ?? null) === null;
    open.delete(session);
    if (isUnknown && record.cause !== null) keep(lost, session, record.cause);
    return [count(body.model, spend)];
  }

  /** The loss of the call may be from before the start. Then its bound was never counted here. */
  function settledLate({ session, cause }: StoredRecord, body: SettledBody, spend: Spend): Spend {
    const isCounted = cause !== null && lost.get(session) === cause;
    lost.delete(session);
    if (isCounted) return spend;
    const { tokens = 0, nanoUsd = 0 } = body.unconfirmed ?? {};
    return { ...spend, unconfirmedTokens: tokens, unconfirmedNanoUsd: nanoUsd };
  }

  return {
    async read(store, records) {
      const calls = records.filter(({ type }) => countedTypes.includes(type));
      // All that can fail comes first: a page that is read again must not count twice.
      const reserved = await reservations(store, calls, open);
      return calls.flatMap((record) => {
        const body: unknown = JSON.parse(record.body);
        if (isOpening(record.type)) return request(record, body as RequestBody);
        if (record.type !== "session.deleted")
          return settle(record, body as SettledBody, reserved.get(record) ?? null);
        open.delete((body as { readonly session: string }).session);
        return [];
      });
    },
    models: () => {
      const now = [...open.values()];
      return [...sums].map(([model, own]) => {
        const calls = now.filter((call) => nameIn(sums, call.model) === model);
        return costOfModel(
          model,
          own,
          calls.map(({ reserved }) => openSpend(reserved)),
        );
      });
    },
  };
}

const nameIn = (sums: ReadonlyMap<string, Sums>, model: string): string =>
  sums.has(model) ? model : otherModels;

function costOfModel(model: string, own: Sums, open: readonly Spend[]): ModelCost {
  const { reported, estimated, isPriced, isBounded } = own;
  const bound = open.reduce(addSpend, addSpend(reported, estimated));
  const unpriced = open.filter((call) => call.unpriced > 0).length;
  return {
    model,
    reported,
    estimated,
    isPriced,
    unconfirmedNanoUsd: isBounded ? bound.unconfirmedNanoUsd : null,
    unconfirmedTokens: bound.unconfirmedTokens,
    open: { priced: open.length - unpriced, unpriced },
  };
}

const countedTypes: readonly string[] = [...callTypes, "session.deleted"];

type SettledBody = CallBody & { readonly model?: string };
interface RequestBody {
  readonly model: string;
  readonly reserved: Amounts;
}

/** The reservations of lost calls, where the record lacks them: those of 0.4. */
async function reservations(
  store: Pick<Deps["store"], "read">,
  records: readonly StoredRecord[],
  open: ReadonlyMap<string, MeteredCall>,
): Promise<ReadonlyMap<StoredRecord, Amounts>> {
  const found = new Map<StoredRecord, Amounts>();
  for (const record of records) {
    const { session, cause, type } = record;
    if (!isFailure(type) || cause === null || open.get(session)?.seq === cause) continue;
    const body = JSON.parse(record.body) as CallBody;
    if ((body.costNanoUsd ?? null) !== null || body.unconfirmed !== undefined) continue;
    const range = { fromSeq: cause, toSeq: cause, limit: 1, contents: false };
    const [request] = await store.read(session, range).catch(noneOfDeleted);
    if (request === undefined || !isOpening(request.type)) continue;
    found.set(record, (JSON.parse(request.body) as RequestBody).reserved);
  }
  return found;
}

function noneOfDeleted(error: unknown): readonly StoredRecord[] {
  if (error instanceof SkeinError && error.code === "not-found") return [];
  throw error;
}

/** Sets the newest entry; past the limit the oldest goes. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limit.meteredCallsMax) return;
  for (const oldest of map.keys()) return void map.delete(oldest);
}
