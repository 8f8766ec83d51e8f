/** Decisions on items, scratch and the memory that a session starts with. */
import {
  type Decision,
  type Decisions,
  type DraftEvent,
  accept,
  draft,
  forbidden,
  refuse,
} from "../decision.ts";
import { present } from "../present.ts";
import type { CarriedMemory, ItemCommand, PinnedRoom } from "./commands.ts";
import { itemKey } from "./fold.ts";
import { defaultStatus, isUncertainKind, statusesOf } from "./kind.ts";
import { quote } from "../ids.ts";
import { limit } from "../limit.ts";
import { count } from "../text/number-format.ts";
import { inTurn } from "../turn/drafts.ts";

export const itemDecisions: Decisions<ItemCommand["do"]> = {
  record: (state, command) => {
    const { kind, key, value, because: why, status, confidence, evidence, extracted, pinned } = command;
    const { items } = state.mind;
    if (!items.has(itemKey(kind, key)) && items.size >= limit.itemsMax) {
      return refuse(
        "refused",
        `a session holds at most ${limit.itemsMax} items`,
        "retract outdated items first",
      );
    }
    if (value === undefined)
      return refuse("invalid", `${kind} "${key}": value: missing`, "give a value, or retract the item");
    const mistake = statusMistake(kind, status) ?? uncertainMistake(kind, confidence, evidence);
    if (mistake !== null) return mistake;
    if (isOverPins(pinned)) return pinOver(`record: ${kind} "${key}" is pinned`, pinned);
    const body = present({
      kind,
      key,
      status: status ?? defaultStatus(kind) ?? undefined,
      confidence,
      extracted,
    });
    const content = present({ value, because: why, evidence: evidence && [...evidence] });
    return (
      forbidden(state, "write", `record a ${kind}`) ??
      accept(draft("item.recorded", body, content, inTurn(state)))
    );
  },
  retract: (state, { kind, key, because: why }) => {
    if (!state.mind.items.has(itemKey(kind, key)))
      return refuse(
        "not-found",
        `there is no ${kind} "${key}" to retract`,
        '"skein state ID" lists the items',
      );
    const content = why === undefined ? undefined : { because: why };
    return (
      forbidden(state, "write", `retract a ${kind}`) ??
      accept(draft("item.retracted", { kind, key }, content, inTurn(state)))
    );
  },
  pin: (state, { kind, key, because: why, pinned }) => {
    const item = state.mind.items.get(itemKey(kind, key));
    if (item === undefined)
      return refuse("not-found", `there is no ${kind} "${key}" to pin`, "record it first");
    if (isOverPins(pinned)) return pinOver(`pin: ${kind} "${key}"`, pinned);
    const content = why === undefined ? undefined : { because: why };
    return (
      forbidden(state, "write", `pin a ${kind}`) ??
      accept(draft("item.pinned", { kind, key, item: item.seq }, content, inTurn(state)))
    );
  },
  unpin: (state, { kind, key, because: why }) => {
    if (!state.mind.pins.has(itemKey(kind, key)))
      return refuse("not-found", `the ${kind} "${key}" is not pinned`, '"skein state ID" shows which are');
    const content = why === undefined ? undefined : { because: why };
    return (
      forbidden(state, "write", `unpin a ${kind}`) ??
      accept(draft("item.unpinned", { kind, key }, content, inTurn(state)))
    );
  },
  scratch: (state, { key, value }) => {
    const { scratch } = state.mind;
    if (value === undefined && !scratch.has(key))
      return refuse("not-found", `there is no scratch key "${key}"`, '"skein state ID" lists the keys');
    if (value !== undefined && !scratch.has(key) && scratch.size >= limit.scratchMax) {
      return refuse("refused", `the scratch holds at most ${limit.scratchMax} keys`, "remove some first");
    }
    const body = value === undefined ? { key, removed: true } : { key };
    const content = value === undefined ? undefined : { value };
    return (
      forbidden(state, "write", "change its scratch") ??
      accept(draft("scratch.set", body, content, inTurn(state)))
    );
  },
};

/** A smaller value is always taken: after a move to a smaller window it is one way out. */
const isOverPins = (pinned: PinnedRoom | undefined): pinned is PinnedRoom =>
  pinned !== undefined && pinned.tokens > pinned.roomTokens && pinned.tokens > pinned.tokensBefore;

const pinOver = (which: string, { tokens, roomTokens }: PinnedRoom): Decision =>
  refuse(
    "refused",
    `${which}: expected pinned items of at most ${count(roomTokens)} tokens, got ${count(tokens)}`,
    "unpin another item, shorten the value, or give the agent a larger context.shares.pinned",
  );

export function statusMistake(kind: string, status: string | undefined): Decision | null {
  const known = statusesOf(kind);
  if (status === undefined || known.some((one) => one === status)) return null;
  const hint = known.length === 0 ? "omit it" : `one of ${known.join(", ")}`;
  return refuse(
    "invalid",
    `${kind}: status: ${known.length === 0 ? "not allowed" : `got ${quote(status)}`}`,
    hint,
  );
}

function uncertainMistake(
  kind: string,
  confidence: number | undefined,
  evidence: readonly string[] | undefined,
): Decision | null {
  const given = confidence === undefined ? (evidence === undefined ? null : "evidence") : "confidence";
  if (given === null || isUncertainKind(kind)) return null;
  return refuse("invalid", `${kind}: ${given}: not allowed`, "only a hypothesis or a finding has it");
}

export function carriedDrafts(carried: CarriedMemory | undefined): readonly DraftEvent[] {
  if (carried === undefined) return [];
  const { items, tokens, upTo, workspace, projectUpTo, withdrawn = [], left = 0, off } = carried;
  const gone = withdrawn.length === 0 ? undefined : withdrawn.length;
  const more = {
    ...present({ upTo, workspace, projectUpTo, withdrawn: gone, off }),
    ...(left === 0 ? {} : { left }),
  };
  const named = gone === undefined ? {} : { withdrawn: withdrawn.map((one) => ({ ...one })) };
  const content = { items: items.map((item) => ({ ...item })), ...named };
  return [draft("memory.carried", { count: items.length, tokens, ...more }, content)];
}
