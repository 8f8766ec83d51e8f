/**
 * Holders that have ended: a process of this machine that is gone holds nothing up, and no other is judged.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { locked } from "../../../src/tickets/plan-lock.ts";
import { makeProcessIdentity, type Machine } from "../../../src/platform/process-identity.ts";
import { realWorld, type World } from "../../../src/runtime/world.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { kind } from "../../kind.ts";
import { workspace } from "../place.ts";
import { engineWith, scripted, use } from "./scripted.ts";

const boots = ["5f1d8c1e-7f0b-4f6e-9a52-0d4a3c2b1e00\n", "0b7c2a44-1c3d-4e5f-8a9b-112233445566\n"] as const;
/** Where nothing runs but the processes that are named. */
const machine = (change: Partial<Machine> = {}, alive: readonly number[] = []): Machine => ({
  host: "worker",
  pid: 12,
  pidNamespace: "4026531836",
  bootId: boots[0],
  nonce: randomBytes(8).toString("hex"),
  isAlive: (pid) => alive.includes(pid),
  ...change,
});

test("an ended process is recognized, and one of another machine is unknown", async () => {
  const world = realWorld();
  const self = world.self ?? "";
  const child = spawn(process.execPath, ["-e", ""]);
  const its = self.replace(`:${process.pid}`, `:${child.pid}`);
  assert.equal(world.isGone?.(self), false);
  await once(child, "exit");
  assert.equal(world.isGone?.(its), true);
  assert.equal(world.isGone?.(`elsewhere${its}`), false);
  assert.equal(world.isGone?.(`${its}0`), false, "another boot");
  for (const odd of ["", "somebody", `${self.split(":")[0]}:`, self.replace(/:\d+/, ":0")]) {
    assert.equal(world.isGone?.(odd), false, odd);
  }
});

test("a holder is judged only by host name, pid namespace and boot together", () => {
  const here = makeProcessIdentity(machine({ pid: 99 }));
  assert.equal(here.self, "worker:99/4026531836/5f1d8c1e7f0b4f6e");
  const dead = makeProcessIdentity(machine()).self;
  for (const holder of [dead, `${dead}+3`, `builder@${dead}`])
    assert.equal(here.isGone(holder), true, holder);
  const elsewhere: Partial<Machine>[] = [
    { bootId: boots[1] },
    { host: "other" },
    { pidNamespace: "4026532999" },
    { bootId: undefined },
    { pidNamespace: undefined },
  ];
  for (const change of elsewhere) {
    const { self } = makeProcessIdentity(machine(change));
    assert.equal(here.isGone(self), false, self);
  }
  assert.equal(here.isGone("worker:12/4026531836"), false, "as earlier versions stored it");
});

test("on an unknown machine no holder is judged dead, and none is taken for this process", () => {
  for (const change of [
    { bootId: undefined },
    { bootId: "unknown" },
    { pidNamespace: undefined },
    { host: "" },
  ]) {
    const [one, other] = [makeProcessIdentity(machine(change)), makeProcessIdentity(machine(change))];
    assert.notEqual(one.self, other.self);
    for (const holder of [
      other.self,
      "worker:12",
      "worker:12/4026531836",
      makeProcessIdentity(machine()).self,
    ])
      assert.equal(one.isGone(holder), false, holder);
  }
});

test(
  "a machine of the same name does not take a live session over, nor run its unsafe call again",
  { timeout: 30_000 },
  async () => {
    const real = realWorld();
    const on = (identity: Partial<Machine>): World => ({
      ...real,
      ...makeProcessIdentity(machine(identity)),
    });
    const [first, second] = [on({ pid: 12 }), on({ pid: 40, bootId: boots[1] })];
    const store = kind().store({ world: first, workspace });
    let runs = 0;
    let begun = (): void => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const pay = defineTool({
      name: "pay",
      description: "pays",
      input: z.object({}),
      effect: "unsafe",
      run: async () => {
        runs += 1;
        begun();
        await finished;
        return "paid";
      },
    });
    const script = () => scripted([[use("pay", {})], "done"]);
    const one = engineWith(script(), { store, world: first, leaseMs: 60_000, tools: [pay] });
    const session = await one.open({ objective: "Pay", bind: [{ kind: "tool", name: "pay" }] });
    await session.input("pay");
    const run = session.run();
    await running;
    const two = engineWith(script(), { store, world: second, tools: [pay] });
    const over = new AbortController();
    const waiting = (await two.session(session.id))
      .run({ signal: over.signal })
      .catch((error: unknown) => error);
    await real.sleep(500);
    assert.equal((await store.head(session.id))?.lease?.holder, first.self);
    over.abort();
    await waiting;
    finish();
    await run;
    assert.equal(runs, 1);
  },
);

test("a lock of tickets that a machine of the same name holds is not taken away", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "skein-lock-"));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, "lock");
  const other = makeProcessIdentity(machine({ bootId: boots[1] })).self;
  await symlink(`${other} mark`, path);
  let nowMs = 0;
  const world: World = {
    ...realWorld(),
    ...makeProcessIdentity(machine({ pid: 99 })),
    now: () => (nowMs += 100_000),
    sleep: async () => undefined,
  };
  await assert.rejects(
    locked(world, path, async () => undefined),
    { code: "refused", message: new RegExp(`is locked by process ${other}`) },
  );
});
