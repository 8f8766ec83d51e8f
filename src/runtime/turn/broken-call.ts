/** A broken model call: what it streamed, its cost, and the text that is kept. */
import type { TurnCommand } from "../../core/turn/commands.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { settleBroken } from "../../core/budget/money.ts";
import type { Amounts } from "../../core/state.ts";
import type { ModelDelta, Model, ModelError, ModelProgress, TokenUsage } from "../../model/port.ts";
import { readUsage } from "../../core/budget/reported-usage.ts";
import type { Drive } from "./drive.ts";
import type { Deps } from "../deps.ts";
import { safeText } from "../log/redact.ts";
import { cleanText } from "./tool-output.ts";
import { momentOf, type Moment } from "../read/lease-status.ts";

/** Filled while a call streams. */
export interface StreamedParts {
  readonly text: string[];
  /** Reasoning and arguments: output that is counted and not kept. */
  readonly rest: string[];
  reported: TokenUsage | null;
  hidden: boolean;
  /** When the last part arrived; at first, when the model was called. */
  heard: Moment;
}

export const nothingStreamed = ({ world }: Pick<Deps, "world">): StreamedParts => ({
  text: [],
  rest: [],
  reported: null,
  hidden: false,
  heard: momentOf(world),
});

/** Records what a driver yields. True for parts that subscribers receive. */
export function takeNote(
  streamed: StreamedParts,
  one: ModelDelta | ModelProgress,
  now: Moment,
): one is ModelDelta {
  streamed.heard = now;
  switch (one.type) {
    case "text":
      streamed.text.push(one.text);
      return true;
    case "reasoning":
      streamed.rest.push(one.text);
      return true;
    case "tool-call":
      return true;
    case "arguments":
      streamed.rest.push(one.text);
      return false;
    case "usage":
      return takeUsage(streamed, one);
    case "hidden":
      streamed.hidden = one.hidden;
      return false;
  }
}

function takeUsage(streamed: StreamedParts, one: Extract<ModelProgress, { type: "usage" }>): false {
  const usage = readUsage(one.usage);
  if (usage === null) return false;
  streamed.reported = usage;
  if (one.isWhole) streamed.hidden = false;
  return false;
}

export interface BrokenModelCall {
  readonly model: Model;
  readonly requestSeq: number;
  readonly error: Pick<ModelError, "message" | "retryable" | "isRejected"> & { readonly kind: string };
  readonly streamed: StreamedParts;
  /** The reservation of the request, and the counted tokens of its context. */
  readonly reserved: Amounts;
  readonly inputTokens: number;
  /** A step of the turn: the streamed text is part of the transcript. */
  readonly isStep: boolean;
}

/**
 * Records a failed call, with its cost and the text so far. The session may be deleted, or the lease lost,
 * meanwhile: then there is nothing to write to.
 */
export async function recordBroken(deps: Deps, drive: Drive, broken: BrokenModelCall): Promise<void> {
  const { model, requestSeq, error, isStep } = broken;
  const message = safeText(deps.world, cleanText(error.message)).slice(0, limit.reasonCharsMax);
  const partial = isStep ? partialText(deps, broken.streamed) : "";
  await settle(drive, {
    do: "fail",
    model: model.name,
    requestSeq,
    error: error.kind,
    retryable: error.retryable,
    message,
    ...(partial === "" ? {} : { partial }),
    ...(await costOfBroken(deps, broken)),
  });
}

/** Settles a call, unless its session has recorded meanwhile that it is settled. */
export async function settle(drive: Drive, command: Extract<TurnCommand, { do: "fail" }>): Promise<void> {
  try {
    await drive.change(command);
  } catch (cause) {
    if (!(cause instanceof SkeinError) || cause.code !== "refused") throw cause;
  }
}

type Cost = Pick<Extract<TurnCommand, { do: "fail" }>, "usage" | "costNanoUsd" | "unconfirmed">;

async function costOfBroken({ tokenizer, world }: Deps, broken: BrokenModelCall): Promise<Cost> {
  const { model, error, streamed, reserved, inputTokens } = broken;
  const output = `${streamed.text.join("")}${streamed.rest.join("")}`;
  if (error.isRejected && streamed.reported === null && output === "") return { costNanoUsd: 0 };
  const { reported, hidden } = streamed;
  const silentMs = longestSince(streamed.heard, momentOf(world));
  const streamedTokens = output === "" ? 0 : await tokenizer.count(output);
  const { price } = model.facts;
  return settleBroken({ price, reserved, inputTokens, reported, streamedTokens, hidden, silentMs });
}

/** By the clock that went further: the steady one stops while a machine sleeps, the other may be set. */
const longestSince = (then: Moment, now: Moment): number =>
  Math.max(0, now.wallMs - then.wallMs, now.steadyMs - then.steadyMs);

/** As an answer is stored: without secrets, and not longer than a record allows. */
function partialText({ world }: Deps, { text }: StreamedParts): string {
  const whole = safeText(world, cleanText(text.join("")));
  if (whole.trim() === "") return "";
  return whole.length <= limit.partialCharsMax
    ? whole
    : `${whole.slice(0, limit.partialCharsMax).toWellFormed()} [… cut]`;
}
