/**
 * The store as one process reaches it: over a line that is slow, loses requests and answers, and goes down;
 * and a process may end, or stand still, at any call. What the store does is never wrong.
 */
import { SkeinError } from "../../src/core/error.ts";
import type { Outcome, Part, Store } from "../../src/store/port.ts";
import type { Random } from "../crash/random.ts";
import type { Climate } from "./climate.ts";
import type { SimProcess } from "./process.ts";
import type { Timeline } from "./timeline.ts";
import type { Witness } from "./witness.ts";

export interface Line {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly climate: () => Climate;
  readonly witness: Witness;
  readonly trace: (line: string) => void;
  /** A process that fell in the middle of an append is somebody's to follow up. */
  readonly fell: (process: SimProcess, how: "ended" | "paused") => void;
}

type Fate = "pass" | "lose-request" | "lose-answer" | "late" | "unavailable";
type Fall = "none" | "end-before" | "end-after" | "pause-before" | "pause-after";

/** Calls of one process without time going by; more than this is a loop that never ends. */
const callsMax = 20_000;

/** `mortal`: whether the process may fall at an append. */
export function lineTo(inner: Store, process: SimProcess, line: Line, mortal: boolean): Store {
  const { timeline, random, climate, witness, trace } = line;
  let busy = { count: 0, at: -1 };

  function isEndless(): boolean {
    const at = timeline.count();
    busy = { at, count: busy.at === at ? busy.count + 1 : 1 };
    if (busy.count === callsMax) witness.blame("busy", `${process.name} never comes to rest`);
    return busy.count >= callsMax;
  }

  /** Some are far from the store, and some are next to it. */
  const distance = random.pick([0, 0.3, 1, 1]);
  const slowness = (): number =>
    random.chance(climate().slow * distance) ? 1 + random.below(climate().slowMs) : 0;

  function soon(ms: number, work: () => void): void {
    if (ms === 0) work();
    else timeline.after(ms, work);
  }

  /** There, done, and back. */
  function transmit<T>(work: () => Promise<T>, fails: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      if (isEndless()) return;
      process.leave(() => {
        const [there, back] = [slowness(), slowness()];
        const answer = (give: () => void): void => soon(back, () => process.enter(give));
        soon(there, () => {
          if (fails) return answer(() => reject(new SkeinError("unavailable", "the line is down")));
          work().then(
            (value) => answer(() => resolve(value)),
            (error: unknown) => answer(() => reject(error)),
          );
        });
      });
    });
  }

  async function append(parts: readonly Part[]): Promise<Outcome> {
    const outcome = await inner.append(parts);
    witness.appended(process.name, parts, outcome, timeline.now());
    return outcome;
  }

  function fateOf(): Fate {
    const { loseRequest, loseAnswer, late, unavailable } = climate();
    const shares = { "lose-request": loseRequest, "lose-answer": loseAnswer, late, unavailable } as const;
    for (const [fate, share] of Object.entries(shares)) if (random.chance(share)) return fate as Fate;
    return "pass";
  }

  function fallOf(types: string): Fall {
    if (!mortal) return "none";
    const { crashAtAppend, pauseAtAppend } = climate();
    // Right before an effect it matters most.
    const more = types.startsWith("tool.started") ? 3 : 1;
    if (random.chance(crashAtAppend * more)) return random.pick(["end-before", "end-after"]);
    return random.chance(pauseAtAppend * more) ? random.pick(["pause-before", "pause-after"]) : "none";
  }

  function fall(how: Fall, when: "before" | "after", types: string): void {
    if (how !== `end-${when}` && how !== `pause-${when}`) return;
    const ends = how.startsWith("end");
    if (process.standing() !== "up") return;
    trace(`${process.name} ${ends ? "ends" : "stands still"} ${when} ${types}`);
    witness.note(ends ? "crash" : "pause");
    if (ends) process.end();
    else process.pause();
    line.fell(process, ends ? "ended" : "paused");
  }

  function faultyAppend(parts: readonly Part[]): Promise<Outcome> {
    const types = parts.flatMap(({ drafts }) => drafts.map(({ type }) => type)).join(" ");
    if (process.standing() !== "up") return transmit(() => append(parts), false);
    const fate = fateOf();
    const how = fallOf(types);
    fall(how, "before", types);
    if (process.standing() === "ended") return new Promise(() => undefined);
    if (fate !== "pass") {
      trace(`${process.name} ${fate} ${types}`);
      witness.note(fate);
    }
    const lost: Outcome = { kind: "unknown", cause: fate };
    return transmit(async () => {
      if (fate === "lose-request") return lost;
      if (fate === "late") {
        timeline.after(
          1 + random.below(random.pick([30, 4_000])),
          () => void append(parts).catch(() => undefined),
        );
        return lost;
      }
      const outcome = await append(parts);
      fall(how, "after", types);
      return fate === "lose-answer" ? lost : outcome;
    }, fate === "unavailable");
  }

  function watch(changed: () => void): () => void {
    const unwatch = inner.watch(() => soon(slowness(), () => process.enter(changed)));
    process.atEnd(unwatch);
    return unwatch;
  }

  const own: Partial<Store> = { append: faultyAppend, watch, close: async () => undefined };
  return new Proxy(inner, {
    get(_, name) {
      const key = name as keyof Store;
      if (own[key] !== undefined) return own[key];
      const found: unknown = inner[key];
      // The store's clock is asked nobody: a process knows it.
      if (typeof found !== "function" || name === "now") return found;
      return (...args: readonly unknown[]) => {
        const fails = random.chance(climate().unread);
        if (fails) witness.note("unread");
        const call = found as (...args: readonly unknown[]) => Promise<unknown>;
        return transmit(() => call(...args), fails);
      };
    },
  });
}
