/** Counts the calls that an engine makes to its store. */
import type { Part, Store } from "../../../src/store/port.ts";

export interface StoreCall {
  readonly name: string;
  /** The types of the records that an append writes. */
  readonly types: readonly string[];
  /** The functions of the sources that led to it, the nearest first. */
  readonly stack: readonly string[];
}

/** A store that lists every call before it is made. */
export function countCalls(store: Store, calls: StoreCall[]): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        calls.push({ name: String(name), types: typesIn(String(name), given), stack: sourceStack() });
        return value.apply(target, given) as unknown;
      };
    },
  });
}

const typesIn = (name: string, given: readonly unknown[]): string[] =>
  name === "append"
    ? (given[0] as readonly Part[]).flatMap(({ drafts }) => drafts.map(({ type }) => type))
    : [];

const place = /at (?:async )?(\S+) \(.*src\/(\S+?):\d+:\d+\)/;

function sourceStack(): string[] {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 30;
  const lines = (new Error("stack").stack ?? "").split("\n");
  Error.stackTraceLimit = stackTraceLimit;
  return lines.flatMap((line) => place.exec(line)?.slice(1, 3).join(" ") ?? []);
}
