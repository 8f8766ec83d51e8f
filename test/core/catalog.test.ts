/** The catalogue: every event of the design and no other, each with a schema that takes its sample. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  entryOf,
  eventTypes,
  isForeign,
  projectCatalog,
  sessionCatalog,
  workspaceCatalog,
} from "../../src/core/catalog.ts";
import { checkJson } from "../../src/core/text/json.ts";
import { limit } from "../../src/core/limit.ts";
import { samples } from "./samples.ts";
import { describeEvents } from "../../docs/describe-events.ts";

/** DESIGN.md, section 5, as it stands there. */
const design = {
  session:
    "opened renamed labeled prioritized activated suspended " +
    "slept woken interrupted closed reopened archived " +
    "forked rewound merged migrated moved arrived",
  others:
    "lease.taken lease.released agent.pinned " +
    "document.loaded memory.carried resource.bound resource.unbound " +
    "resource.changed tools.bound permission.set contract.declared turn.started turn.ended input.received " +
    "model.requested model.responded model.failed zone.crossed tool.requested tool.approved tool.denied " +
    "tool.started tool.settled item.recorded " +
    "item.retracted scratch.set transcript.compacted overlay.lifted checkpoint.saved " +
    "handoff.written message.sent message.delivered message.received " +
    "message.refused trigger.set trigger.removed trigger.fired trigger.skipped " +
    "budget.set budget.allotted budget.reached content.erased hold.set hold.lifted score.recorded " +
    // Since 0.5: conversations of other tools.
    "source.imported input.imported answer.imported call.imported " +
    "proxy.requested proxy.responded proxy.failed " +
    // Since 0.5: the context planner.
    "item.pinned item.unpinned context.planned context.retrieved zone.acted " +
    // Since 0.5: rollover.
    "session.continued request.inherited input.forwarded " +
    // Since 0.5: another task gets a session of its own.
    "session.split " +
    // Since 0.5: accept checks.
    "checks.set check.ran " +
    // Since 0.5: budgets of projects.
    "budget.drawn " +
    // Since 0.5: amendments.
    "session.amended",
  workspace:
    "agent.defined memory.promoted memory.forgotten policy.set session.deleted " +
    "token.issued token.revoked hook.set hook.removed hook.delivered hook.abandoned " +
    "heads.listed heads.accepted approval.saved approval.revoked project.listed " +
    // Since 0.5: what waits to be remembered.
    "memory.proposed memory.rejected memory.disputed memory.consolidated consolidation.scheduled",
  project:
    "project.opened project.joined project.noted project.budgeted project.allotted project.closed " +
    "project.reopened project.archived " +
    "ticket.planned ticket.proposed ticket.accepted ticket.rejected ticket.removed ticket.started " +
    "ticket.settled project.configured project.moved project.arrived",
};
const sessionTypes = [
  ...design.session.split(" ").map((name) => `session.${name}`),
  ...design.others.split(" "),
];
const workspaceTypes = design.workspace.split(" ");
const projectTypes = design.project.split(" ");

test("every event of the design is in the catalogue, and no other", () => {
  assert.deepEqual(Object.keys(sessionCatalog).toSorted(), sessionTypes.toSorted());
  assert.deepEqual(Object.keys(workspaceCatalog).toSorted(), workspaceTypes.toSorted());
  assert.deepEqual(Object.keys(projectCatalog).toSorted(), projectTypes.toSorted());
  const all = [...sessionTypes, ...workspaceTypes, ...projectTypes];
  assert.deepEqual([...eventTypes].toSorted(), all.toSorted());
  assert.deepEqual(Object.keys(samples).toSorted(), [...eventTypes].toSorted());
});

test("every schema takes its sample, keeps all of it, and fits a body of 4 KiB", () => {
  for (const type of eventTypes) {
    const entry = entryOf(type)!;
    const { body, content } = samples[type];
    assert.deepEqual(entry.body.parse(body), body, type);
    assert.deepEqual(entry.content.parse(content), content, type);
    assert.equal(
      content !== undefined,
      !(entry.content instanceof z.ZodUndefined),
      `${type}: a sample says it all`,
    );
    checkJson(type, { body, content });
    assert.ok(Buffer.byteLength(JSON.stringify(body)) <= limit.bodyBytesMax, type);
  }
});

test("every entry has a meaning, an erased text and a version", () => {
  for (const type of eventTypes) {
    const { v, meaning, erased } = entryOf(type)!;
    // Version 2 of a binding says that a shell is sandboxed; of a request and a suspension, that a call is
    // external; of a model request, that an executor keeps the context; of items and memory, that a kind or
    // a status is younger than version 1. All else is written as version 1.
    const later = [
      "resource.bound",
      "session.suspended",
      "tool.requested",
      "model.requested",
      "item.recorded",
      "item.retracted",
      "memory.promoted",
      "memory.forgotten",
    ];
    assert.equal(v, later.includes(type) ? 2 : 1, type);
    for (const line of [meaning, erased]) assert.match(line, /^[A-Z][^\n]*\.$/, type);
  }
});

test("a body without its required fields, or with one of the wrong kind, is refused", () => {
  for (const type of eventTypes) {
    const { body: schema } = entryOf(type)!;
    const sample: Record<string, unknown> = { ...samples[type].body };
    assert.equal(schema.safeParse("text").success, false, type);
    for (const name of Object.keys(sample)) {
      const wrong = { ...sample, [name]: Number.NaN };
      assert.equal(schema.safeParse(wrong).success, false, `${type}.${name}`);
      const { [name]: _, ...rest } = sample;
      const optional = schema.safeParse(rest).success;
      assert.equal(optional, optionalFields.has(`${type}.${name}`), `${type}.${name} optional: ${optional}`);
    }
  }
});

/** Spelled out, so that a field that becomes required or optional is a change somebody sees. */
const optionalFields = new Set(
  [
    "session.opened: agent model labels parent from expiresAfterIdleMs",
    "session.labeled: set remove",
    "project.noted: session",
    "ticket.planned: agent budget",
    "ticket.proposed: agent budget",
    "ticket.accepted: by",
    "ticket.settled: session",
    "project.configured: plan agent agents",
    "session.suspended: on",
    "session.slept: untilMs triggers",
    "session.woken: trigger",
    "session.merged: base",
    "session.migrated: from",
    "memory.carried: tokens upTo workspace withdrawn left off",
    "input.received: from mode topic",
    "tools.bound: count tools",
    "model.requested: estimatedTokens outputTokensMax purpose toSeq",
    "model.responded: sent ms",
    "model.failed: usage",
    "tool.requested: ask model",
    "tool.settled: ms late",
    "item.recorded: status origin",
    "context.planned: listed left itemsToSeq",
    "context.retrieved: note",
    "zone.acted: by outcome",
    "scratch.set: removed",
    "transcript.compacted: nodes missing model usage costNanoUsd items",
    "handoff.written: toSeq tokens model usage costNanoUsd",
    "message.sent: topic replyTo deadlineMs away",
    "request.inherited: from as",
    "message.received: topic replyTo deadlineMs",
    "trigger.set: missed nextMs digest topic from",
    "trigger.fired: dueMs nextMs count input opened",
    "trigger.skipped: nextMs",
    "score.recorded: seq",
    "memory.promoted: owner origin by",
    "memory.forgotten: owner by",
    "consolidation.scheduled: everyMs",
    "memory.proposed: owner origin by",
    "memory.rejected: owner origin by",
    "policy.set: removed",
    "token.issued: expiresAt",
    "hook.set: session agent labels",
    "heads.listed: full publicKey signature",
    "heads.accepted: anchor",
    "source.imported: bytes digest records unknown damaged usage costNanoUsd redacted verbatim",
    "input.imported: atMs source",
    "answer.imported: model atMs usage costNanoUsd interrupted continues copied source",
    "call.imported: atMs source",
    "proxy.requested: estimatedTokens",
    "session.amended: agent version digest temperature reasoning outputTokensMax",
    "check.ran: exitCode score commit by",
    "proxy.responded: finish firstByteMs",
    "proxy.failed: status usage unconfirmed ms",
  ].flatMap((line) => {
    const [type = "", names = ""] = line.split(": ");
    return names.split(" ").map((name) => `${type}.${name}`);
  }),
);

test("a step with the maximum number of inputs fits a body, in a very long session", () => {
  const digits = 999_999_999;
  const amounts = Object.fromEntries(
    Object.keys(samples["budget.set"].body.limits).map((name) => [name, Number.MAX_SAFE_INTEGER]),
  );
  const body = {
    ...samples["model.requested"].body,
    model: `${"p".repeat(64)}/${"m".repeat(128)}`,
    inputs: Array.from({ length: limit.takenMax }, () => [digits, digits]),
    reserved: amounts,
  };
  assert.equal(entryOf("model.requested")?.body.safeParse(body).success, true);
  assert.ok(Buffer.byteLength(JSON.stringify(body)) <= limit.bodyBytesMax);
  const more = { ...body, inputs: [...body.inputs, [1, 1]] };
  assert.equal(entryOf("model.requested")?.body.safeParse(more).success, false);
});

test("fields of a newer program pass through a body and a content untouched", () => {
  for (const type of eventTypes) {
    const { body, content } = entryOf(type)!;
    const more = { ...samples[type].body, fromTheFuture: { deep: [1] } };
    assert.deepEqual(body.parse(more), more, type);
    if (samples[type].content === undefined) continue;
    const said = { ...(samples[type].content as object), fromTheFuture: "x" };
    assert.deepEqual(content.parse(said), said, type);
  }
});

test("no type of the catalogue is foreign, and foreign ones are lower case behind x.", () => {
  for (const type of eventTypes) assert.equal(isForeign(type), false);
  for (const type of ["x.a", "x.my-tool.ran_2", `x.${"a".repeat(61)}`])
    assert.equal(isForeign(type), true, type);
  const wrong = [
    "x.",
    "x.A",
    "x..a",
    "y.a",
    "x.a b",
    "x.ä",
    "x.a\n",
    `x.${"a".repeat(62)}`,
    "input.received",
  ];
  for (const type of wrong) assert.equal(isForeign(type), false, type);
});

test("the page for people names every event once", () => {
  const page = describeEvents();
  for (const type of eventTypes) assert.equal(page.split(`### ${type}\n`).length, 2, type);
});
