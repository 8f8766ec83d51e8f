/** Holders that are gone: a process of this machine that is no more holds nothing up. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";

test("a process is gone once it has ended, and one of another machine is not known to be", async () => {
  const world = realWorld();
  const self = world.self ?? "";
  const child = spawn(process.execPath, ["-e", ""]);
  const its = self.replace(`:${process.pid}`, `:${child.pid}`);
  assert.equal(world.isGone?.(self), false);
  await once(child, "exit");
  assert.equal(world.isGone?.(its), true);
  assert.equal(world.isGone?.(`elsewhere${its}`), false);
  assert.equal(world.isGone?.(`${its}0`), false, "another space of process ids");
  for (const odd of ["", "somebody", `${self.split(":")[0]}:`, self.replace(/:\d+/, ":0")]) {
    assert.equal(world.isGone?.(odd), false, odd);
  }
});
