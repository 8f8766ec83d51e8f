/** Folds of items, scratch and the memory that a session starts with. */
import type { itemEvents } from "./events.ts";
import { defaultStatus } from "./kind.ts";
import { present } from "../present.ts";
import { type Folds, refOf, think } from "../state-change.ts";

export const itemFolds: Folds<keyof typeof itemEvents> = {
  "item.recorded": (state, event) => {
    const { kind, key, confidence, extracted } = event.body;
    const status = event.body.status ?? defaultStatus(kind);
    const item = { kind, key, status, ...present({ confidence, extracted }), ...refOf(event) };
    return think(state, { items: state.mind.items.set(itemKey(kind, key), item) });
  },
  "item.retracted": (state, { body }) => {
    const name = itemKey(body.kind, body.key);
    const { items, pins } = state.mind;
    return think(state, { items: items.delete(name), ...(pins.has(name) && { pins: pins.delete(name) }) });
  },
  "item.pinned": (state, { body, seq }) => {
    const name = itemKey(body.kind, body.key);
    const { items, pins } = state.mind;
    return items.has(name) ? think(state, { pins: pins.set(name, seq) }) : state;
  },
  "item.unpinned": (state, { body }) =>
    think(state, { pins: state.mind.pins.delete(itemKey(body.kind, body.key)) }),
  "scratch.set": (state, event) => {
    const { key, removed } = event.body;
    const { scratch } = state.mind;
    return think(state, { scratch: removed === true ? scratch.delete(key) : scratch.set(key, refOf(event)) });
  },
  "memory.carried": (state, event) => think(state, { memory: [...state.mind.memory, refOf(event)] }),
};

/** Items of different kinds may share a key. */
export const itemKey = (kind: string, key: string): string => `${kind}/${key}`;
