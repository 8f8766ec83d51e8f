/** State and events of the kit: pure functions. Objects have no prototype: a key may be `__proto__`. */
import { SkeinError } from "../../core/error.ts";

/** State of the kit: keys to JSON values. */
export type AdkState = Readonly<Record<string, unknown>>;

interface Event {
  readonly id: string;
  readonly timestamp: number;
  readonly actions?: { readonly stateDelta?: AdkState };
}

/** Later states win. */
export function mergeStates(...states: readonly AdkState[]): AdkState {
  const merged = Object.create(null) as Record<string, unknown>;
  for (const state of states) for (const [key, value] of Object.entries(state)) merged[key] = value;
  return merged;
}

/** A delta by scope, without the prefixes. Temporary keys are left out. */
export function splitState(delta: AdkState): Record<"app" | "user" | "own", AdkState> {
  const of = (prefix: string): AdkState =>
    mergeStates(
      ...Object.entries(delta)
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, value]) => ({ [key.slice(prefix.length)]: value })),
    );
  const own = Object.entries(delta).filter(([key]) => !/^(app|user|temp):/.test(key));
  const owned = mergeStates(...own.map(([key, value]) => ({ [key]: value })));
  return { app: of("app:"), user: of("user:"), own: owned };
}

/** The events of a session, each id once, and the state that they make. */
export function foldEvents<E extends Event>(
  initial: AdkState,
  appended: readonly E[],
): { readonly state: AdkState; readonly events: readonly E[] } {
  const events = new Map<string, E>();
  for (const event of appended) events.set(event.id, event);
  const deltas = appended.map(({ actions }) => splitState(actions?.stateDelta ?? {}).own);
  return { state: mergeStates(initial, ...deltas), events: [...events.values()] };
}

/** The events that a caller asked for. */
export function recentEvents<E extends Event>(
  events: readonly E[],
  {
    numRecentEvents,
    afterTimestamp,
  }: {
    readonly numRecentEvents?: number;
    readonly afterTimestamp?: number;
  },
): E[] {
  const recent = numRecentEvents ? events.slice(-numRecentEvents) : [...events];
  if (!afterTimestamp) return recent;
  return recent.slice(recent.findLastIndex(({ timestamp }) => timestamp < afterTimestamp) + 1);
}

/** An event as JSON keeps it. Temporary state is not kept. */
export function storedEvent<T extends Pick<Event, "actions">>(event: T): T {
  const stored = toJson(event);
  const { actions } = stored;
  if (actions?.stateDelta === undefined || actions.stateDelta === null) return stored;
  const kept = Object.entries(actions.stateDelta).filter(([key]) => !key.startsWith("temp:"));
  return { ...stored, actions: { ...actions, stateDelta: Object.fromEntries(kept) } };
}

/** A value as JSON keeps it. */
export function toJson<T extends object>(value: T): T {
  try {
    return JSON.parse(JSON.stringify(value)) as T;
  } catch (error) {
    throw new SkeinError("invalid", "google-adk: expected JSON", { cause: error });
  }
}
