/** Sealing: what an event becomes on its way to the store, and which events do not get there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentHashOf } from "../../../src/core/chain.ts";
import type { DraftEvent } from "../../../src/core/decision.ts";
import { limit } from "../../../src/core/limit.ts";
import { openRedactor } from "../../../src/runtime/log/redact.ts";
import { blobField } from "../../../src/runtime/read/content.ts";
import { checkActor, decideSealed, seal } from "../../../src/runtime/log/seal.ts";
import type { World } from "../../../src/runtime/world.ts";
import { facts, given } from "../../core/given.ts";
import { madeWorld } from "../made-world.ts";

const secret = "hunter-hunter-22";
const guarded = (): World => ({ ...madeWorld(), redactor: openRedactor({ DB: secret }) });
const sealed = (events: readonly DraftEvent[], world: World = madeWorld(), key: string | null = null) =>
  seal(world, events, { actor: "system", key });
const one = (event: Partial<DraftEvent>, world?: World) => {
  const { drafts, ...rest } = sealed([{ type: "x.made", body: {}, ...event }], world);
  const [draft] = drafts;
  assert.ok(draft !== undefined);
  return { draft, ...rest };
};

test("the first draft has the caller's key, or a new one where no content distinguishes it", () => {
  const bare: DraftEvent = { type: "x.made", body: {} };
  const said: DraftEvent = { ...bare, content: { text: "a" } };
  const keys = (events: readonly DraftEvent[], key: string | null = null) =>
    sealed(events, { ...madeWorld(), salt: () => "salt" }, key).drafts.map((draft) => draft.key);
  assert.deepEqual(keys([bare, bare]), ["salt", null]);
  assert.deepEqual(keys([said, bare]), [null, null]);
  assert.deepEqual(keys([bare, said], "mine"), ["mine", null]);
  assert.deepEqual(keys([said], "mine"), ["mine"]);
  assert.deepEqual(keys([]), []);
});

test("a content is stored as JSON under a salt, and an event without one has none", () => {
  const world = madeWorld();
  const { draft, events, redacted } = one({ content: { text: "é" }, turn: 3, cause: 2 }, world);
  const { content } = draft;
  assert.deepEqual([content?.text, content?.bytes], ['{"text":"é"}', 13]);
  assert.equal(content?.hash, contentHashOf(world.digest, content?.salt ?? "", content?.text ?? ""));
  assert.deepEqual([draft.v, draft.turn, draft.cause, draft.blobs, redacted], [1, 3, 2, [], false]);
  assert.deepEqual(events, [{ type: "x.made", body: {}, content: { text: "é" }, turn: 3, cause: 2 }]);
  const { draft: bare } = one({});
  assert.deepEqual([bare.content, bare.turn, bare.cause, bare.actor], [null, null, null, "system"]);
});

test("values that JSON cannot hold are refused, in bodies and contents", () => {
  for (const value of [new Date(0), { a: "\0" }, { a: "\uD800" }, { a: Infinity }, { toJSON: () => 1 }])
    for (const event of [{ body: { value } }, { content: { value } }])
      assert.throws(() => one(event), { code: "invalid" });
  // Another value each time it is read.
  let reads = 0;
  const shifting = {
    get text(): string {
      return reads++ === 0 ? "fine" : "\0";
    },
  };
  assert.throws(() => one({ content: shifting }), { code: "invalid", message: /NUL/ });
});

test("a body and a content hold the maximum of bytes, and a long content is a blob", () => {
  const sized = (bytes: number) => ({ t: "x".repeat(bytes - '{"t":""}'.length) });
  one({ body: sized(limit.bodyBytesMax) });
  assert.throws(() => one({ body: sized(limit.bodyBytesMax + 1) }), {
    message: /x\.made body: expected at most/,
  });
  assert.deepEqual(one({ content: sized(limit.contentInlineBytesMax) }).blobs, []);
  const content = sized(limit.contentInlineBytesMax + 1);
  const { draft, blobs } = one({ content });
  const [blob] = blobs;
  assert.equal(Buffer.from(blob?.bytes ?? []).toString(), JSON.stringify(content));
  assert.deepEqual(JSON.parse(draft.content?.text ?? ""), {
    [blobField]: { sha256: blob?.hash, bytes: limit.contentInlineBytesMax + 1 },
  });
  assert.deepEqual([draft.blobs, draft.content?.bytes], [[blob?.hash], draft.content?.text.length]);
  one({ content: sized(limit.contentBytesMax) });
  const message = /x\.made: expected at most/;
  assert.throws(() => one({ content: sized(limit.contentBytesMax + 1) }), { message });
  assert.throws(() => one({ content: { [blobField]: {} } }), { code: "invalid" });
});

test("each draft names its own blobs: its content's, and once those of its blocks", () => {
  const long = { t: "x".repeat(limit.contentInlineBytesMax) };
  const { drafts, blobs } = sealed([
    { type: "x.made", body: {}, content: long },
    { type: "x.made", body: {}, content: { ...long, more: 1 } },
    { type: "x.made", body: {}, content: { blocks: [{ blob: "ab".repeat(32) }] } },
  ]);
  // What others call blocks is theirs.
  assert.deepEqual(
    drafts.map((draft) => draft.blobs),
    [...blobs.map(({ hash }) => [hash]), []],
  );
  const image = { type: "image", mediaType: "image/png" } as const;
  const blocks = [
    { type: "text", text: "Look." },
    { ...image, blob: "ab".repeat(32) },
    { ...image, blob: "ab".repeat(32) },
    { ...image, blob: "cd".repeat(32) },
  ];
  const received = { type: "input.received", body: { input: 1, mode: "queue" }, content: { blocks } };
  assert.deepEqual(one(received).draft.blobs, ["ab".repeat(32), "cd".repeat(32)]);
  const single = { ...received, content: { blocks: blocks.slice(3) } };
  assert.deepEqual(one(single).draft.blobs, ["cd".repeat(32)]);
});

test("an event matches the catalog, or belongs to another program", () => {
  assert.throws(() => one({ type: "made.up" }), { code: "invalid", message: /unknown event type/ });
  assert.throws(() => one({ type: "item.retracted", body: { kind: "fact" } }), { message: /body at "key"/ });
  assert.throws(
    () => one({ type: "item.retracted", body: { kind: "fact", key: "k" }, content: { because: 7 } }),
    { message: /item\.retracted at "because"/ },
  );
});

test("a secret is taken out of a content, and refused in a body but where it undoes something", () => {
  const world = guarded();
  const { draft, events, redacted } = one({ content: { text: secret } }, world);
  assert.deepEqual([draft.content?.text, redacted], ['{"text":"[redacted: DB]"}', true]);
  assert.deepEqual(events[0]?.content, { text: "[redacted: DB]" });
  const github = `ghp_${"A1b2C3d4".repeat(4)}`;
  for (const name of [secret, github]) {
    for (const body of [{ name }, { deep: [{ [name]: null }] }])
      assert.throws(() => one({ body }, world), { code: "invalid", message: /contains the secret/ });
    one({ type: "item.retracted", body: { kind: "fact", key: name } }, world);
  }
  one({ body: { name: secret } });
  const clean = one({ content: { text: "harmless" } }, world);
  assert.equal(clean.redacted, false);
});

test("a secret in a rule is refused, and redacted in its reason", () => {
  const rule = (content: object) =>
    one({ type: "permission.set", body: { name: "n", tool: "t", rule: "deny" }, content }, guarded()).draft;
  assert.throws(() => rule({ pattern: { path: secret } }), { message: /pattern of a permission/ });
  assert.equal(
    rule({ pattern: "*", reason: secret }).content?.text,
    '{"pattern":"*","reason":"[redacted: DB]"}',
  );
});

test("a content without its secret must still match the catalog", () => {
  const blob = "ab".repeat(32);
  const world = { ...madeWorld(), redactor: openRedactor({ HASH: blob }) };
  const blocks = [{ type: "image", mediaType: "image/png", blob }];
  const received = { type: "input.received", body: { input: 1, mode: "queue" }, content: { blocks } };
  one(received);
  assert.throws(() => one(received, world), { code: "invalid", message: /blob/ });
});

test("a digest in a body is that of the content without its secret", () => {
  const { state } = given();
  const noted = (world: World, path: string) => {
    const changed = [{ name: "folder", files: [{ path, before: null, after: null }] }];
    const sealing = decideSealed(world, state, { do: "note", changed }, { facts, key: "mine" });
    assert.ok(!("refusal" in sealing));
    return sealing.drafts[0];
  };
  const clean = noted(madeWorld(), "[redacted: DB].txt");
  const redacted = noted(guarded(), `${secret}.txt`);
  assert.deepEqual([redacted?.body, redacted?.key], [clean?.body, "mine"]);
  assert.equal(redacted?.content?.text, clean?.content?.text);
});

test("a word of the catalog in a body is not a secret", () => {
  const world = { ...madeWorld(), redactor: openRedactor({ W: "completed" }) };
  one({ body: { outcome: "completed" } }, world);
  assert.throws(() => one({ body: { outcome: "completed-1" } }, world), { code: "invalid" });
});

test("the key of an item says whether its value is secret, also beside a registered one", () => {
  const value = (key: string, text: unknown) => {
    const content = one({ body: { key }, content: { value: text, more: secret } }, guarded()).draft.content;
    return JSON.parse(content?.text ?? "") as unknown;
  };
  const more = "[redacted: DB]";
  assert.deepEqual(value("db_password", "correct"), { value: "[redacted: password]", more });
  assert.deepEqual(value("colour", "correct"), { value: "correct", more });
  assert.deepEqual(value("db_password", 7), { value: 7, more });
});

test("an actor has one of five forms", () => {
  const id = "0".repeat(26);
  const actors = [`user:prn_${id}`, "agent:payroll@3", "tool:shell", `session:ses_${id}`, "system"];
  for (const actor of [...actors, ...actors]) assert.equal(checkActor(actor), actor);
  for (const actor of ["", "alice", "user:prn_1", "agent:payroll", "system\n", "tool:ä"])
    for (const _ of [1, 2]) assert.throws(() => checkActor(actor), { code: "invalid" }, actor);
  assert.equal(one({ actor: "tool:shell" }).draft.actor, "tool:shell");
  assert.throws(() => one({ actor: "alice" }), { code: "invalid" });
});
