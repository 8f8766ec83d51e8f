/** Items of a project reach its open sessions at their next turn, and nothing that was sent before moves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Session } from "../../../src/index.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

/** What the session was told, in order: names and values, and what no longer holds. */
async function toldOf(session: Session): Promise<unknown[]> {
  const told: unknown[] = [];
  for await (const { content } of session.events({ types: ["memory.carried"] })) {
    const { items, withdrawn = [] } = content as {
      items: { scope: string; key: string; value: unknown }[];
      withdrawn?: { key: string; why: string }[];
    };
    told.push([
      ...items.flatMap(({ scope, key, value }) => (scope === "project" ? [`${key}=${String(value)}`] : [])),
      ...withdrawn.map(({ key, why }) => `${key} ${why}`),
    ]);
  }
  return told;
}

test("an open session gets new, changed and retracted project items at its next turn", async () => {
  const script = scripted(["Noted."]);
  await using engine = engineWith(script);
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.recordInProject(project, { kind: "decision", key: "provider", value: "acme" });
  const session = await engine.open({ objective: "Write the adapter", project });
  const other = await engine.open({ objective: "Elsewhere" });
  await session.ask("Begin").result;
  assert.deepEqual(await toldOf(session), [["provider=acme"]]);
  await engine.recordInProject(project, { kind: "constraint", key: "cards", value: "never stored" });
  await engine.recordInProject(project, { kind: "decision", key: "provider", value: "apex" });
  await engine.noteInProject(project, { text: "A note is for people." });
  await session.ask("Go on").result;
  assert.deepEqual(await toldOf(session), [["provider=acme"], ["cards=never stored", "provider=apex"]]);
  assert.match(JSON.stringify(script.calls.at(-1)?.parts), /never stored/);
  // Nothing new, nothing told; a rewind or another process looks from where the log says.
  await session.ask("And on").result;
  assert.equal((await toldOf(session)).length, 2);
  await engine.retractInProject(project, { kind: "constraint", key: "cards" });
  await session.ask("More").result;
  assert.deepEqual((await toldOf(session)).slice(2), [["cards forgotten"]]);
  // The parts of an earlier request are the first parts of every later one.
  const [first, second] = script.calls.slice(-2).map(({ parts }) => parts.map((one) => JSON.stringify(one)));
  assert.deepEqual(second?.slice(0, first?.length), first);
  await other.ask("Hello").result;
  assert.deepEqual(await toldOf(other), []);
  assert.equal((await engine.verify()).ok, true);
});

test("a session opened without memory gets its project's items and still no memory", async () => {
  await using engine = engineWith(scripted(["Noted."]));
  const { project } = await engine.openProject({ objective: "Move the shop" });
  const session = await engine.open({ objective: "Write the adapter", project, memory: false });
  await engine.recordInProject(project, { kind: "decision", key: "provider", value: "acme" });
  await engine.remember({ scope: "workspace", kind: "constraint", key: "rule", value: "be exact" });
  await session.ask("Begin").result;
  await engine.remember({ scope: "workspace", kind: "constraint", key: "other", value: "be short" });
  await session.ask("Go on").result;
  assert.deepEqual(await toldOf(session), [[], ["provider=acme"]]);
  assert.doesNotMatch(JSON.stringify((await session.context()).parts), /be exact|be short/);
});
