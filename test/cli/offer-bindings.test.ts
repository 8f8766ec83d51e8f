/** What a chat offers to bind for an imported session, and what it does with the answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { offerBindings } from "../../src/cli/chat/offer-bindings.ts";
import { collectingSurface, makeScreen } from "../../src/cli/command/screen.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { inMemory } from "../runtime/place.ts";
import { said, sourceOf } from "../runtime/transfer/foreign-source.ts";
import { makeFolder } from "./skein.ts";

async function offer(session: Session, answer: string, interactive = true): Promise<string> {
  const surface = collectingSurface(null);
  const lines = { interactive, prompt: async () => undefined, next: async () => answer };
  await offerBindings(session, { out: makeScreen(surface, false), lines });
  return surface.collected.stdout + surface.collected.stderr;
}

async function boundTo(session: Session) {
  const { bindings, permissions } = (await session.fold()).standing;
  return {
    bindings: [...bindings.values()].map(({ kind, mode }) => `${kind} ${mode}`).toSorted(),
    rules: [...permissions.values()].map(({ rule, effect }) => `${rule} ${effect}`),
  };
}

test("only an answer binds, with the access that it names, and only once", async () => {
  const cwd = makeFolder();
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["", []],
    ["yes", []],
    ["r", ["directory read"]],
    ["w", ["directory write"]],
    ["s", ["directory write", "shell write"]],
  ];
  for (const [answer, bindings] of cases) {
    await using place = inMemory();
    const source = sourceOf({ entries: [said("u1", "Hello")], header: { cwd } });
    const { session: id } = await place.engine.importTranscript(source);
    const session = await place.engine.session(id);
    assert.match(await offer(session, answer, false), /skein bind \w+ directory --path \S+ --mode write/);
    assert.deepEqual(await boundTo(session), { bindings: [], rules: [] });
    assert.ok((await offer(session, answer)).includes(cwd));
    const rules = bindings.length === 0 ? [] : ["ask unsafe"];
    assert.deepEqual(await boundTo(session), { bindings, rules }, answer);
    if (bindings.length > 0) assert.equal(await offer(session, "s"), "", "it has its bindings");
  }
});

test("nothing is offered for a directory that is not here, or that is shown as another", async () => {
  for (const cwd of ["/nowhere/at/all", "relative", "/tmp\u001b[2K", null]) {
    await using place = inMemory();
    const source = sourceOf({ entries: [said("u1", "Hello")], header: { cwd } });
    const { session: id } = await place.engine.importTranscript(source);
    const session = await place.engine.session(id);
    for (const interactive of [true, false]) assert.equal(await offer(session, "s", interactive), "");
    assert.deepEqual(await boundTo(session), { bindings: [], rules: [] });
  }
});
