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
import type { CarriedMemory, ItemCommand } from "./commands.ts";
import { itemKey } from "./fold.ts";
import { limit } from "../limit.ts";
import { count } from "../text/number-format.ts";
import { inTurn } from "../turn/drafts.ts";

export const itemDecisions: Decisions<ItemCommand["do"]> = {
  record: (state, { kind, key, value, because: why, status }) => {
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
    if (status !== undefined && kind !== "task")
      return refuse("invalid", `${kind}: status: only a task has a status`);
    const body = { kind, key, ...(kind === "task" ? { status: status ?? "open" } : {}) };
    const content = present({ value, because: why });
    return (
      forbidden(state, "write", `record a ${kind}`) ??
      accept(draft("item.recorded", body, content, inTurn(state)))
    );
  },
  retract: (state, { kind, key, because: why }) => {
    if (!state.mind.items.has(itemKey(kind, key)))
      return refuse("not-found", `there is no ${kind} "${key}" to retract`);
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
    if (pinned !== undefined && pinned.tokens > pinned.roomTokens) return pinOver(`${kind} "${key}"`, pinned);
    const content = why === undefined ? undefined : { because: why };
    return (
      forbidden(state, "write", `pin a ${kind}`) ??
      accept(draft("item.pinned", { kind, key, item: item.seq }, content, inTurn(state)))
    );
  },
  unpin: (state, { kind, key, because: why }) => {
    if (!state.mind.pins.has(itemKey(kind, key)))
      return refuse("not-found", `the ${kind} "${key}" is not pinned`);
    const content = why === undefined ? undefined : { because: why };
    return (
      forbidden(state, "write", `unpin a ${kind}`) ??
      accept(draft("item.unpinned", { kind, key }, content, inTurn(state)))
    );
  },
  scratch: (state, { key, value }) => {
    const { scratch } = state.mind;
    if (value === undefined && !scratch.has(key))
      return refuse("not-found", `there is no scratch key "${key}"`);
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

const pinOver = (which: string, { tokens, roomTokens }: { tokens: number; roomTokens: number }): Decision =>
  refuse(
    "refused",
    `pin: ${which}: expected pinned items of at most ${count(roomTokens)} tokens, got ${count(tokens)}`,
    "unpin another item, shorten the value, or give the agent a larger context.shares.pinned",
  );

export const carriedDrafts = (carried: CarriedMemory | undefined): readonly DraftEvent[] =>
  carried === undefined
    ? []
    : [
        draft(
          "memory.carried",
          { count: carried.items.length, tokens: carried.tokens },
          { items: carried.items.map((item) => ({ ...item })) },
        ),
      ];
