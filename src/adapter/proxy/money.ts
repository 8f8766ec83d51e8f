/** What a forwarded call reserves and costs. Where something is unknown, the bound is the larger one. */
import { settleBroken } from "../../core/budget/money.ts";
import { costOf, type TokenPrice, type PricedUsage } from "../../core/budget/price.ts";
import type { Amounts } from "../../core/state.ts";
import type { ProviderWire, WireAnswer, ModelRequest } from "./wire.ts";

/** What is known of a model; null: nothing. */
export type ModelLookup = (
  model: string,
) => { readonly price: TokenPrice | null; readonly outputTokensMax: number | null } | null;

interface PricedCall {
  readonly wire: ProviderWire;
  readonly body: Uint8Array;
  readonly request: ModelRequest;
}

/** The most that a call can use, and its input as far as it was counted. */
export interface Reservation {
  readonly amounts: Amounts;
  readonly inputTokens: number;
}

/** Where a request names no output limit, and nothing is known of the model. */
const outputTokensUsual = 8_192;
/** Usual text has three to four bytes for a token, and no text fewer than two. */
const bytesPerToken = 3;
const bytesPerTokenLeast = 2;
const imageTokens = 1_600;

/** `carried`: tokens of the conversation that the provider keeps. */
export function reservation(
  { body, request, wire }: PricedCall,
  models: ModelLookup,
  carried: number,
): Reservation {
  const facts = models(`${wire.provider}/${request.model}`);
  const images = request.messages.flatMap((message) => message.images);
  const pictured = images.reduce((sum, { base64 }) => sum + base64.length, 0);
  const bytes = body.length - pictured;
  const others = images.length * imageTokens + carried;
  const inputTokens = Math.ceil(bytes / bytesPerToken) + others;
  const most = Math.ceil(bytes / bytesPerTokenLeast) + others;
  const output = request.outputTokensMax ?? facts?.outputTokensMax ?? outputTokensUsual;
  const outputTokens = output * request.outputs;
  const price = facts?.price ?? null;
  const written = costOf(price, { inputTokens: most, outputTokens, cacheWriteTokens: most });
  const plain = costOf(price, { inputTokens: most, outputTokens });
  const tokens = most + outputTokens;
  if (plain === null || written === null) return { inputTokens, amounts: { tokens } };
  return { inputTokens, amounts: { tokens, nanoUsd: Math.max(plain, written) } };
}

interface Costs {
  readonly usage: PricedUsage & { readonly estimated?: true };
  readonly costNanoUsd: number | null;
  readonly unconfirmed?: Amounts;
  /** False: the provider refused the call, which costs nothing. */
  readonly isBilled: boolean;
}

interface EndedCall {
  readonly status: number | null;
  readonly answer: WireAnswer;
  readonly silentMs: number;
  readonly reserved: Reservation;
  readonly error: { readonly kind: string } | null;
}

/** As the provider reported; missing amounts are estimated, and marked. */
export function costs({ wire, request }: PricedCall, ended: EndedCall, models: ModelLookup): Costs {
  const { answer, status, error, silentMs } = ended;
  const { amounts, inputTokens } = ended.reserved;
  const price = models(`${wire.provider}/${request.model}`)?.price ?? null;
  const { texts, reasoning, calls } = answer.message;
  const inputs = calls.map(({ input }) => JSON.stringify(input) ?? "");
  const chars = [...texts, ...reasoning, ...inputs].reduce((sum, text) => sum + text.length, 0);
  // Of several answers one was read.
  const streamedTokens = Math.ceil(chars / bytesPerToken) * request.outputs;
  if (status !== null && status >= 400 && chars === 0) return free;
  const isBroken = error !== null || !answer.isWhole;
  if (isBroken && status === null) return error?.kind === "unreachable" ? free : unheard(amounts, price);
  const hidden = wire.mayHide(request.model, answer);
  if (isBroken || (answer.usage === null && hidden)) {
    const known = { price, reserved: amounts, inputTokens, reported: answer.usage, streamedTokens };
    return { ...settleBroken({ ...known, hidden, silentMs }), isBilled: true };
  }
  if (answer.usage !== null)
    return { usage: answer.usage, costNanoUsd: costOf(price, answer.usage), isBilled: true };
  const usage = { inputTokens, outputTokens: streamedTokens, estimated: true } as const;
  return { usage, costNanoUsd: costOf(price, usage), isBilled: true };
}

/** The provider refused the call, or never got it. */
const free: Costs = { usage: { inputTokens: 0, outputTokens: 0 }, costNanoUsd: 0, isBilled: false };

/** No response at all: the provider may have worked for it. */
const unheard = (amounts: Amounts, price: TokenPrice | null): Costs => ({
  usage: { inputTokens: 0, outputTokens: 0 },
  costNanoUsd: price === null ? null : 0,
  unconfirmed: amounts,
  isBilled: true,
});
