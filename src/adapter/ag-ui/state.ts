/** The state that a client shows: the items of the session. Pure. */
import type { EventOf } from "../../core/event.ts";
import { firstKinds } from "../../core/item/kind.ts";
import { erasedText, type RunEvent } from "./answer.ts";

interface Item {
  readonly kind: string;
  readonly key: string;
  readonly value: unknown;
  readonly status?: string | null | undefined;
}

/** Items by kind: `{ facts, decisions, tasks, artifacts }`. */
export class StateProjection {
  readonly #items = new Map<string, Item>();

  constructor(items: readonly Item[] = []) {
    for (const item of items) this.#set(item);
  }

  /** The whole state, after an item has changed. */
  event(event: EventOf<"item.recorded"> | EventOf<"item.retracted">): RunEvent[] {
    const { kind, key } = event.body;
    if (event.type === "item.retracted") this.#items.delete(`${kind} ${key}`);
    else {
      const { content, erased } = event;
      this.#set({ kind, key, value: erased ? erasedText : content?.value, status: event.body.status });
    }
    return [this.snapshot()];
  }

  snapshot(): RunEvent {
    const all = [...this.#items.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const of = (kind: string): object =>
      Object.fromEntries(
        all
          .filter((item) => item.kind === kind)
          .map(({ key, value = null, status }) => [
            key,
            status === undefined || status === null ? value : { value, status },
          ]),
      );
    const others = [...new Set(all.map(({ kind }) => kind))]
      .filter((kind) => !firstKinds.some((one) => one === kind))
      .toSorted();
    const snapshot = {
      facts: of("fact"),
      decisions: of("decision"),
      tasks: of("task"),
      artifacts: of("artifact"),
      ...Object.fromEntries(others.map((kind) => [kind, of(kind)])),
    };
    return { type: "STATE_SNAPSHOT", snapshot };
  }

  #set(item: Item): void {
    this.#items.set(`${item.kind} ${item.key}`, item);
  }
}
