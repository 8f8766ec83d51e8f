/** People: what is asked of sessions from outside while they run, over the same bad lines as everybody's. */
import { SkeinError } from "../../src/core/error.ts";
import type { SessionId } from "../../src/core/ids.ts";
import type { State } from "../../src/core/state.ts";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import type { Random } from "../crash/random.ts";
import type { SimProcess } from "./process.ts";
import { drawTimed } from "./schedule.ts";
import type { Witness } from "./witness.ts";

/** An input that was given, and what its giver was told. */
export interface Given {
  readonly session: SessionId;
  readonly text: string;
  readonly keyed: boolean;
  /** Where it is, if not there: that session went on as this one. */
  at?: SessionId;
  /** Null: not answered yet. A number: it is at this position. Else the code of the error. */
  told: number | string | null;
}

export interface People {
  readonly given: readonly Given[];
  /** Does something to some session. */
  act(): void;
  /** Sees whether some session waits for an answer. */
  attend(): void;
  /** Gives a session that stands still what it waits for. One that sleeps until a time is left asleep. */
  help(session: SessionId, state: State): void;
  /** Takes away what would fire for ever. */
  quiet(session: SessionId, state: State): void;
  quietTemplates(): void;
  /** How many are still waiting for an answer. */
  waiting(): number;
}

export interface PeoplePlace {
  readonly engine: Engine;
  readonly process: SimProcess;
  readonly random: Random;
  readonly witness: Witness;
  readonly trace: (line: string) => void;
  readonly look: (session: SessionId) => Promise<State>;
}

export function makePeople(place: PeoplePlace): People {
  const { engine, process, random, witness, trace, look } = place;
  const given: Given[] = [];
  let waiting = 0;

  async function start(
    what: string,
    session: SessionId,
    work: (handle: Session) => Promise<unknown>,
  ): Promise<void> {
    waiting += 1;
    trace(`people ${what} ${session.slice(-4)}`);
    let outcome = "done";
    try {
      await work(await engine.session(session));
    } catch (error) {
      outcome = codeOf(error);
      if (outcome === "broken") witness.blame("broken", `${what}: ${String(error)}`);
    }
    waiting -= 1;
    witness.note(`${what} ${outcome}`);
    trace(`people ${what} ${session.slice(-4)}: ${outcome}`);
  }

  /** With a key it is tried again until it is known to be there; without one, once. */
  async function giveInput(handle: Session, mode: "queue" | "steer"): Promise<void> {
    const others = witness.sessions.filter((one) => one !== handle.id);
    const peer = others.length === 0 ? "" : ` peer=${random.pick(others)}`;
    const text = `in-${given.length}${peer}`;
    const keyed = random.chance(0.5);
    const one: Given = { session: handle.id, text, keyed, told: null };
    given.push(one);
    for (let tries = 1; ; tries++) {
      try {
        const { seq, session } = await handle.input(text, { mode, ...(keyed ? { key: text } : {}) });
        one.told = seq;
        if (session !== undefined) one.at = session as SessionId;
        return;
      } catch (error) {
        one.told = codeOf(error);
        const again = keyed && tries < 5 && (one.told === "unknown" || one.told === "unavailable");
        if (!again) throw error;
        await process.world.sleep(random.below(2_000));
      }
    }
  }

  async function rewind(handle: Session): Promise<void> {
    const { seq } = await handle.head();
    const toSeq = Math.max(1, seq - random.below(random.chance(0.8) ? 15 : seq));
    await handle.rewind(toSeq, { requeue: random.chance(0.5) });
  }

  function help(session: SessionId, { standing }: State): void {
    const { status, why } = standing;
    const mayWait = status === "sleeping" && typeof standing.sleep?.untilMs === "number";
    if (status === "sleeping" && !mayWait) void start("activate", session, (handle) => handle.activate());
    if (status !== "suspended") return;
    switch (why?.by) {
      case "approval":
      case "unknown":
      case "error": {
        const allow = random.chance(0.7);
        const told = random.chance(0.3) ? { text: "As you were told." } : {};
        return void start("answer", session, (handle) => handle.answer({ allow, ...told }));
      }
      case "budget":
        return void start("budget", session, async (handle) => {
          await handle.budget({ tokens: 100_000_000, steps: 10_000, toolCalls: 10_000, usd: 1_000 });
          await handle.activate();
        });
      case undefined:
      default:
        return void start("activate", session, (handle) => handle.activate());
    }
  }

  async function send(handle: Session): Promise<void> {
    const to = random.pick(witness.sessions.filter((one) => one !== handle.id));
    const request = random.chance(0.3) ? { withinMs: 1_000 + random.below(20_000) } : {};
    const key = random.chance(0.5) ? { key: `mail-${random.below(1_000_000)}` } : {};
    const topic = random.chance(0.5) ? { topic: "news" } : {};
    await handle.send(to, "Mail.", { ...request, ...key, ...topic });
  }

  /** Often the same name, so that one is replaced while it fires. */
  async function setTrigger(handle: Session): Promise<void> {
    const name = random.pick(["one", "two"]);
    if (random.chance(0.2)) {
      const topic = random.chance(0.5) ? { topic: "news" } : {};
      return void (await handle.trigger(name, { kind: "message", ...topic }));
    }
    const { spec, ...rule } = drawTimed(random, process.world.now());
    await handle.trigger(name, spec, rule);
  }

  /** What opens sessions. There are few of them: each is another life to live. */
  async function setTemplate(): Promise<void> {
    const { spec, ...rule } = drawTimed(random, process.world.now());
    const slow = spec.kind === "at" ? spec : ({ kind: "every", everyMs: 11_000 } as const);
    await engine.trigger("template", slow, { ...rule, open: { agent: "worker", objective: "Anew" } });
  }

  function govern(session: SessionId): void {
    const dice = random.below(100);
    if (dice < 40) return void start("trigger", session, setTrigger);
    if (dice < 48) return void start("fire", session, (handle) => handle.fire("one"));
    if (dice < 54) return void start("untrigger", session, (handle) => handle.untrigger("one"));
    if (dice < 80) return void start("send", session, send);
    if (dice < 90) return void start("sleep", session, (handle) => handle.sleep({ triggers: ["one"] }));
    if (dice < 94) return void start("template", session, setTemplate);
    if (dice < 96) return void start("untemplate", session, () => engine.untrigger("template"));
    void start("priority", session, (handle) => handle.prioritize(random.below(5)));
  }

  function act(): void {
    const session = random.pick(witness.sessions);
    if (random.chance(0.3)) return govern(session);
    const dice = random.below(100);
    if (dice < 40) return void start("input", session, (handle) => giveInput(handle, "queue"));
    if (dice < 55) return void start("steer", session, (handle) => giveInput(handle, "steer"));
    if (dice < 63) return void start("interrupt", session, (handle) => handle.interrupt());
    if (dice < 68) return void start("suspend", session, (handle) => handle.suspend());
    if (dice < 72) return void start("activate", session, (handle) => handle.activate());
    if (dice < 78) return void start("rewind", session, rewind);
    if (dice < 80) return void start("record", session, (handle) => handle.record("fact", "told", dice));
    if (dice < 81) return void start("cancel", session, (handle) => handle.cancel());
    if (dice < 83) return void start("reopen", session, (handle) => handle.reopen());
    if (dice < 84) return void start("fork", session, (handle) => handle.fork({ objective: "Another way" }));
    if (dice < 90) return void start("rollover", session, (handle) => handle.rollover());
    if (dice < 92) return void start("clear", session, (handle) => handle.clear());
    attend();
  }

  function attend(): void {
    const session = random.pick(witness.sessions);
    void look(session).then((state) => help(session, state));
  }

  function quiet(session: SessionId, { standing }: State): void {
    for (const [name, { kind }] of standing.triggers.entries())
      if (kind !== "at" && standing.status !== "closed")
        void start("quiet", session, (handle) => handle.untrigger(name));
  }

  const quietTemplates = (): void =>
    void start("quiet", witness.sessions[0]!, () => engine.untrigger("template"));

  return { given, act, attend, help, quiet, quietTemplates, waiting: () => waiting };
}

const codeOf = (error: unknown): string => (error instanceof SkeinError ? error.code : "broken");
