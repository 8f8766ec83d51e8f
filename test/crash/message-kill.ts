/**
 * Kills of whoever has to do with messages: processes that send within a store and between two, relays, and
 * those who take up what came in, are killed at random moments and at named points, and followed by others
 * that go on. In the end every pair must have received exactly what was planned, in order.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionId } from "../../src/core/ids.ts";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { startChild, type Child } from "./child.ts";
import { plannedBy, type Member, type Plan } from "./message-plan.ts";
import { engineOn, type MessageOrder } from "./message-worker.ts";
import { makeRandom, type Random } from "./random.ts";
import { newPlace } from "./store-place.ts";

export interface MessageKillOptions {
  readonly messages: number;
  readonly sessions: number;
  readonly seed: number;
  /** Nobody is killed any more after this time; the rest is sent in peace. */
  readonly forMs?: number;
  readonly progress?: (report: MessageKillReport) => void;
}

const counts = {
  /** Processes that were killed from outside, and that killed themselves at a point. */
  kills: 0,
  points: 0,
  sent: 0,
  received: 0,
  /** Messages between the two stores. */
  away: 0,
  /** Of these delivered by a relay, since their sender had died. */
  relayed: 0,
  turns: 0,
  lost: 0,
  twice: 0,
  disordered: 0,
};

export interface MessageKillReport extends Readonly<typeof counts> {
  readonly seed: number;
  readonly ms: number;
  readonly problems: readonly string[];
}

type Counts = { -readonly [K in keyof typeof counts]: number };

const worker = [process.execPath, join(import.meta.dirname, "message-worker.ts")];
const senders = 2;
const pointTypes = {
  send: ["message.sent", "message.received", "message.delivered"],
  relay: ["message.received", "message.delivered"],
  take: ["lease.taken", "turn.started", "turn.ended", "lease.released"],
} as const;
/** Whoever is killed from outside dies up to so much later than it was decided. */
const laterMs = 12;

class Campaign {
  readonly counts: Counts = { ...counts };
  readonly problems: string[] = [];
  readonly #plan: Plan;
  readonly #paths: readonly [string, string];
  readonly #random: Random;
  readonly #cache: string;
  /** How far each member is acknowledged, and how far it was told to send. */
  readonly #done: number[];
  readonly #killUntilMs: number;
  /** A sender is killed after at most so many. */
  readonly #sentMax: number;
  #over = false;

  constructor(
    plan: Plan,
    place: {
      readonly paths: readonly [string, string];
      readonly cache: string;
      readonly killUntilMs: number;
    },
  ) {
    this.#plan = plan;
    this.#paths = place.paths;
    this.#cache = place.cache;
    this.#killUntilMs = place.killUntilMs;
    this.#random = makeRandom(plan.seed);
    this.#sentMax = Math.min(100, Math.ceil((plan.each * plan.members.length) / 6));
    this.#done = plan.members.map(() => 0);
  }

  /** Until everything is acknowledged. */
  async run(): Promise<void> {
    const sending = Array.from({ length: senders }, (_, lane) =>
      this.#lane("send", this.#share(lane, senders)),
    );
    const beside = [this.#lane("relay", []), this.#lane("take", this.#share(0, 1))];
    await Promise.all(sending).finally(() => (this.#over = true));
    await Promise.all(beside);
  }

  #share(lane: number, of: number): number[] {
    return this.#plan.members.flatMap((_, member) => (member % of === lane ? [member] : []));
  }

  #left(members: readonly number[]): MemberWork[] {
    return members
      .map((member) => ({ member, from: this.#done[member] ?? 0 }))
      .filter(({ from }) => from < this.#plan.each);
  }

  async #lane(kind: "send" | "relay" | "take", members: readonly number[]): Promise<void> {
    for (;;) {
      const work = kind === "send" ? this.#left(members) : members.map((member) => ({ member, from: 0 }));
      if (kind === "send" ? work.length === 0 : this.#over) return;
      if (this.problems.length > 20) return;
      await this.#life(kind, work);
    }
  }

  /** One process, from its start to its end. */
  async #life(kind: "send" | "relay" | "take", work: readonly MemberWork[]): Promise<void> {
    const random = this.#random;
    const mayDie = performance.now() < this.#killUntilMs;
    const type = random.pick<string>(pointTypes[kind]);
    const place = 1 + random.below(kind === "send" ? this.#sentMax >> 2 : 3);
    const point = `${random.pick(["before", "after"])} ${type} ${place}`;
    const at = mayDie && random.chance(0.5) ? { at: point } : {};
    const child = startChild(worker, { cache: this.#cache });
    const order: MessageOrder = { do: kind, paths: this.#paths, plan: this.#plan, work, ...at };
    const opened = this.#listen(child);
    child.process.stdin?.write(`${JSON.stringify(order)}\n`);
    const began = await Promise.race([opened, child.ended.then(() => null)]);
    if (began !== null) await this.#end(child, kind, mayDie);
    const { code, signal, stderr } = await child.ended;
    if (signal === null && code !== 0) {
      const said = child.lines.filter((line) => line.startsWith("failed"));
      this.problems.push(`a process that was to ${kind} ended with ${code}: ${said.join("; ")} ${stderr}`);
    }
  }

  /** Killed once it has sent some, or after a while, if it has not killed itself before. */
  async #end(child: Child, kind: "send" | "relay" | "take", mayDie: boolean): Promise<void> {
    const random = this.#random;
    const due = Promise.withResolvers<null>();
    let left = mayDie ? random.below(this.#sentMax) : Infinity;
    const stop = kind === "send" ? null : setTimeout(() => due.resolve(null), 600 + random.below(3_000));
    child.listen(
      (line) => void (kind === "send" && line.startsWith("ok ") && left-- <= 0 && due.resolve(null)),
    );
    const signal = await Promise.race([child.ended.then((ended) => ended.signal ?? "none"), due.promise]);
    if (stop !== null) clearTimeout(stop);
    if (signal === "SIGKILL") this.counts.points++;
    if (signal !== null) return;
    await sleep(random.next() * laterMs);
    child.process.kill("SIGKILL");
    if ((await child.ended).signal === "SIGKILL") this.counts.kills++;
  }

  /** Resolves when the stores are open. */
  #listen(child: Child): Promise<void> {
    const opened = Promise.withResolvers<void>();
    child.listen((line) => {
      const [word, first, second] = line.split(" ");
      if (word === "opened") opened.resolve();
      if (word === "relayed") this.counts.relayed += Number(first);
      if (word === "relayed" && second !== "0") this.problems.push(`${second} messages were refused`);
      if (word !== "ok") return;
      const [member, place] = [Number(first), Number(second)];
      if (this.#done[member] !== place)
        this.problems.push(`${member} sent ${place} after ${this.#done[member]}`);
      this.#done[member] = place + 1;
      this.counts.sent++;
    });
    return opened.promise;
  }
}

interface MemberWork {
  readonly member: number;
  readonly from: number;
}

export async function killMessages(options: MessageKillOptions): Promise<MessageKillReport> {
  const startedMs = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "skein-messages-"));
  const paths = [await newPlace(folder, "a.db"), await newPlace(folder, "b.db")] as const;
  const cache = join(folder, "cache");
  try {
    const members = await openMembers(paths, options.sessions);
    const each = Math.ceil(options.messages / options.sessions);
    const plan: Plan = { seed: options.seed, members, each };
    await warm(cache);
    const killUntilMs = startedMs + (options.forMs ?? Infinity);
    const campaign = new Campaign(plan, { paths, cache, killUntilMs });
    const report = (): MessageKillReport => {
      const { counts: counted, problems } = campaign;
      return { ...counted, seed: options.seed, ms: performance.now() - startedMs, problems };
    };
    const telling = setInterval(() => options.progress?.(report()), 5_000);
    await campaign.run().finally(() => clearInterval(telling));
    await audit(plan, paths, campaign);
    return report();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function warm(cache: string): Promise<void> {
  const child = startChild(worker, { cache });
  child.process.stdin?.write(`${JSON.stringify({ do: "warm" })}\n`);
  const { code, stderr } = await child.ended;
  if (code !== 0) throw new Error(`the worker does not start: ${stderr}`);
}

async function openMembers(paths: readonly [string, string], count: number): Promise<Member[]> {
  const engines = await Promise.all(paths.map((path) => engineOn(path, undefined, true)));
  const members: Member[] = [];
  for (let number = 0; number < count; number++) {
    const store = (number % 2) as 0 | 1;
    const session = await engines[store]!.open({ objective: `member ${number}` });
    members.push({ id: session.id, store });
  }
  for (const engine of engines) await engine.close();
  return members;
}

/** Holds both stores against the plan, once everything that waits is delivered. */
async function audit(plan: Plan, paths: readonly [string, string], campaign: Campaign): Promise<void> {
  const engines = await Promise.all(paths.map((path) => engineOn(path)));
  const { problems, counts: counted } = campaign;
  for (const engine of engines) {
    const { waiting, refused } = await engine.deliver();
    if (waiting.length > 0 || refused > 0)
      problems.push(`left over: ${JSON.stringify({ waiting, refused })}`);
  }
  const heard = new Map<string, string[]>();
  for (const { id, store } of plan.members) await auditMember(engines[store]!, id, heard, campaign);
  for (const [number, { id, store }] of plan.members.entries()) {
    const planned = plannedBy(plan, number);
    counted.away += planned.filter(({ to }) => to.store !== store).length;
    for (const to of plan.members) {
      const wanted = planned.filter((one) => one.to.id === to.id).map(({ text }) => text);
      compare(`${id} to ${to.id}`, wanted, heard.get(`${id} ${to.id}`) ?? [], campaign);
    }
  }
  for (const engine of engines) {
    const { ok, problems: found } = await engine.verify();
    if (!ok) problems.push(...found.map(({ problem }) => problem));
    await engine.close();
  }
}

/** Numbers without a gap in both logs, nothing open, and every input taken up at most once. */
async function auditMember(
  engine: Engine,
  id: string,
  heard: Map<string, string[]>,
  { problems, counts: counted }: Campaign,
): Promise<void> {
  const session = await engine.session(id);
  const last = new Map<string, number>();
  const inputs = new Set<number>();
  const next = (pair: string, number: number): void => {
    if (number !== (last.get(pair) ?? 0) + 1)
      problems.push(`${pair}: ${number} after ${last.get(pair) ?? 0}`);
    last.set(pair, number);
  };
  for await (const { type, body, content } of session.events()) {
    const {
      from,
      to,
      number,
      inputs: taken,
    } = body as {
      readonly from: SessionId;
      readonly to: SessionId;
      readonly number: number;
      readonly inputs?: readonly [number, number][];
    };
    if (type === "message.sent") next(`${id} sends to ${to}`, number);
    if (type === "message.received") {
      next(`${id} receives from ${from}`, number);
      const pair = `${from} ${id}`;
      const text =
        (content as { readonly blocks: readonly { readonly text: string }[] }).blocks[0]?.text ?? "";
      heard.set(pair, [...(heard.get(pair) ?? []), text]);
      counted.received++;
    }
    if (type !== "turn.started") continue;
    counted.turns++;
    for (const [, input] of taken ?? []) {
      if (inputs.has(input)) problems.push(`${id}: input ${input} was taken up twice`);
      inputs.add(input);
    }
  }
  const { outbox, inbox } = (await session.fold()).standing;
  if (outbox.size > 0) problems.push(`${id}: ${outbox.size} messages wait`);
  const waiting = inbox.waiting.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  if (inputs.size + waiting !== inbox.received) problems.push(`${id}: inputs were lost`);
}

function compare(
  pair: string,
  wanted: readonly string[],
  got: readonly string[],
  { problems, counts: counted }: Campaign,
): void {
  const lost = wanted.filter((text) => !got.includes(text)).length;
  const twice = got.length - new Set(got).size;
  counted.lost += lost;
  counted.twice += twice;
  const inOrder = got.length === wanted.length && got.every((text, place) => text === wanted[place]);
  if (inOrder) return;
  counted.disordered++;
  problems.push(`${pair}: ${wanted.length} sent, ${got.length} received, ${lost} lost, ${twice} twice`);
}
