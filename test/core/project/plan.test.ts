/** The plan of a project: what its events make of it, and what may change it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { DraftEvent } from "../../../src/core/decision.ts";
import type { PlanCommand } from "../../../src/core/project/plan-decide.ts";
import { planRules, type PlanRule } from "../../../src/core/project/plan.ts";
import { decideProject, ProjectState } from "../../../src/core/project/project.ts";
import { cycleIn, type TicketDraft } from "../../../src/core/project/ticket.ts";
import { limit } from "../../../src/core/limit.ts";

const person = "user:prn_1";
const [worker, helper] = ["ses_00000000000000000000000001", "ses_00000000000000000000000002"];
const tests = { kind: "command", name: "tests", command: "npm test", timeoutMs: 1_000 } as const;

const ticket = (id: string, more: Partial<TicketDraft> = {}): TicketDraft => ({
  id,
  title: `Do ${id}`,
  text: "",
  after: [],
  digest: `${id}${JSON.stringify(more)}`,
  ...more,
});

class Log {
  readonly state = new ProjectState();
  readonly types: string[] = [];

  constructor() {
    this.write([{ type: "project.opened", body: {} }], person);
  }

  write(drafts: readonly DraftEvent[], actor: string): void {
    for (const { type, body } of drafts) {
      this.types.push(type);
      this.state.apply({ seq: this.state.seq + 1, at: this.state.seq, type, actor, body });
    }
  }

  /** The refusal's text, or the types that were written. */
  do(command: PlanCommand, actor = person): string {
    const decision = decideProject(this.state, command, actor);
    if (!decision.ok) return decision.refusal.message;
    this.write(decision.drafts, actor);
    return decision.drafts.map(({ type }) => type.replace("ticket.", "")).join(" ");
  }

  get planned(): readonly string[] {
    return [...this.state.plan.tickets.keys()];
  }
}

test("a plan is set, extended, replaced, and repeated without a change", () => {
  const log = new Log();
  const first = [ticket("schema"), ticket("api", { after: ["schema"], accept: [tests] })];
  assert.equal(log.do({ do: "plan", tickets: first }), "planned planned");
  assert.equal(log.do({ do: "plan", tickets: first }), "");
  assert.equal(log.do({ do: "plan", tickets: [ticket("docs", { done: true })] }), "planned settled");
  assert.deepEqual(log.planned, ["schema", "api", "docs"]);
  assert.deepEqual(log.state.plan.tickets.get("api"), {
    id: "api",
    after: ["schema"],
    digest: first[1]?.digest,
    checks: 1,
    agent: null,
    budget: null,
    seq: 3,
    at: 2,
    actor: person,
    proposedBy: null,
    runs: [],
    settled: null,
  });
  assert.match(log.do({ do: "plan", tickets: [], remove: ["schema"] }), /"api": after: there is no ticket/);
  assert.equal(log.do({ do: "plan", tickets: [ticket("api")], replace: true }), "removed removed planned");
  assert.deepEqual(log.planned, ["api"]);
});

test("a circular plan is refused with its cycle, and nothing is written", () => {
  const log = new Log();
  const tickets = [
    ticket("a", { after: ["c"] }),
    ticket("b", { after: ["a"] }),
    ticket("c", { after: ["b"] }),
  ];
  assert.equal(log.do({ do: "plan", tickets }), "after: circular dependency: a after c after b after a");
  assert.equal(
    log.do({ do: "plan", tickets: [ticket("me", { after: ["me"] })] }),
    "after: circular dependency: me after me",
  );
  assert.deepEqual(log.planned, []);
  // Two halves, each without a cycle: one planned, one proposed.
  log.do({ do: "plan", tickets: [ticket("x"), ticket("y", { after: ["x"] })] });
  const turned = ticket("x", { after: ["y"] });
  const proposal = { do: "propose", tickets: [turned], session: helper, line: [helper] } as const;
  assert.equal(log.do(proposal), "after: circular dependency: x after y after x");
});

test("wrong plans are refused", () => {
  const log = new Log();
  const many = Array.from({ length: limit.ticketAfterMax + 1 }, (_, place) => `t${place}`);
  const wrong: readonly (readonly [PlanCommand, RegExp])[] = [
    [{ do: "plan", tickets: [ticket("a", { after: ["b"] })] }, /there is no ticket "b"/],
    [{ do: "plan", tickets: [ticket("a"), ticket("a")] }, /duplicate ticket "a"/],
    [{ do: "plan", tickets: [ticket("a"), ticket("A")] }, /differ only in case/],
    [{ do: "plan", tickets: [], remove: ["a"] }, /no ticket "a"/],
    [{ do: "plan", tickets: [...many.map((id) => ticket(id)), ticket("z", { after: many })] }, /at most 50/],
    [{ do: "accept-tickets", tickets: ["a"] }, /no ticket "a" is proposed/],
    [{ do: "reject-tickets", tickets: ["a"] }, /no ticket "a" is proposed/],
    [{ do: "start-ticket", ticket: "a", session: worker, attempt: 1 }, /no ticket "a"/],
    [{ do: "settle-ticket", ticket: "a", outcome: "done" }, /no ticket "a"/],
    [{ do: "configure" }, /at least one setting/],
  ];
  for (const [command, message] of wrong) assert.match(log.do(command), message);
  const full = Array.from({ length: limit.ticketsMax + 1 }, (_, place) => ticket(`t${place}`));
  assert.match(log.do({ do: "plan", tickets: full }), /at most 1000 tickets, got 1001/);
});

test("what a session proposes counts by the rule of the project", () => {
  const given = [
    ticket("plain"),
    ticket("checked", { accept: [tests] }),
    ticket("next", { after: ["checked"] }),
  ];
  const expected: Readonly<Record<PlanRule, readonly string[]>> = {
    extend: ["plain"],
    approve: [],
    trust: ["plain", "checked", "next"],
  };
  for (const rule of planRules) {
    const log = new Log();
    log.do({ do: "configure", plan: rule });
    log.do({ do: "propose", tickets: given, session: helper, line: [helper] }, "agent:coder@1");
    assert.deepEqual(log.planned, expected[rule], rule);
    assert.equal(log.planned.length + log.state.plan.proposals.size, 3);
    assert.equal(log.state.plan.tickets.get("plain")?.proposedBy ?? helper, helper);
  }
});

test("a person accepts in any order, and only with what a ticket is after", () => {
  const log = new Log();
  log.do({ do: "configure", plan: "approve" });
  const given = [ticket("a"), ticket("b", { after: ["a"] }), ticket("c", { after: ["b"] })];
  log.do({ do: "propose", tickets: given, session: helper, line: [helper] });
  assert.match(log.do({ do: "accept-tickets", tickets: ["c", "a"] }), /"c" is after b, not in the plan/);
  assert.equal(log.do({ do: "accept-tickets", tickets: ["c", "a", "b"] }), "accepted accepted accepted");
  assert.deepEqual(log.planned, ["a", "b", "c"]);
  log.do({ do: "propose", tickets: [ticket("a", { title: "Other" })], session: helper, line: [helper] });
  assert.equal(log.do({ do: "reject-tickets", tickets: ["a"], reason: "no" }), "rejected");
  assert.equal(log.state.plan.proposals.size, 0);
});

test("the session that works on a ticket cannot change it, nor what it comes from or leaves behind", () => {
  for (const rule of planRules) {
    const log = new Log();
    log.do({
      do: "plan",
      tickets: [ticket("api", { accept: [tests] }), ticket("other", { accept: [tests] })],
    });
    log.do({ do: "configure", plan: rule });
    log.do({ do: "start-ticket", ticket: "api", session: worker, attempt: 1 });
    const { plan } = log.state;
    const before = plan.tickets.get("api");
    const weaker = ticket("api", { title: "Nothing" });
    const by = (session: string, line: readonly string[], given = weaker): string =>
      log.do({ do: "propose", tickets: [given], session, line }, "agent:coder@1");
    assert.match(by(worker, [worker]), /the session that works on a ticket cannot change it/);
    assert.match(by(helper, [helper, worker]), /the session that works on a ticket cannot change it/);
    assert.match(by(helper, [helper]), /"api" has started/);
    assert.match(by(worker, [worker], ticket("API")), /differ only in case/);
    assert.match(by(worker, [worker], ticket("x", { after: ["api"], accept: [tests] })), /^proposed/);
    // Another ticket's checks wait for a person under every rule, even where the rule trusts.
    assert.equal(by(worker, [worker], ticket("other")), "proposed");
    assert.equal(plan.tickets.get("other")?.checks, 1);
    assert.equal(plan.tickets.get("api"), before);
    for (const command of [
      { do: "plan", tickets: [weaker] },
      { do: "plan", tickets: [], remove: ["api"] },
      { do: "accept-tickets", tickets: ["other"] },
      { do: "reject-tickets", tickets: ["other"] },
      { do: "settle-ticket", ticket: "api", outcome: "done", session: worker },
      { do: "start-ticket", ticket: "api", session: helper, attempt: 2 },
      { do: "configure", plan: "trust" },
    ] as const)
      for (const actor of ["agent:coder@1", "tool:plan", `session:${worker}`])
        assert.match(log.do(command, actor), /cannot change the plan of a project/, command.do);
    assert.equal(plan.tickets.get("api"), before);
    log.do({ do: "settle-ticket", ticket: "api", outcome: "failed", session: worker });
    assert.match(by(worker, [worker]), /the session that works on a ticket cannot change it/);
    assert.equal(by(helper, [helper]), "proposed");
    assert.equal(plan.tickets.get("api")?.checks, 1);
  }
});

test("a ticket is started, fails, is started again and done; what repeats writes nothing", () => {
  const log = new Log();
  log.do({ do: "plan", tickets: [ticket("api")] });
  const start = { do: "start-ticket", ticket: "api", session: worker, attempt: 1 } as const;
  assert.equal(log.do(start), "started");
  assert.equal(log.do(start), "");
  const end = { do: "settle-ticket", ticket: "api", outcome: "failed", session: worker } as const;
  assert.equal(log.do(end), "settled");
  assert.equal(log.do(end), "");
  assert.match(log.do({ ...end, session: helper }), /does not work on ticket "api"/);
  log.do({ ...start, session: helper, attempt: 2 });
  assert.equal(log.state.plan.tickets.get("api")?.settled, null);
  assert.match(log.do({ ...end, outcome: "done" }), /does not work on/);
  assert.equal(log.do({ ...end, outcome: "done", session: helper }), "settled");
  assert.deepEqual(
    log.state.plan.tickets.get("api")?.runs.map(({ session }) => session),
    [worker, helper],
  );
});

test("whatever is proposed, planned and accepted: no cycle, and no check changes without a person", () => {
  const ids = ["a", "b", "c", "d"];
  const anyTicket = fc
    .record({
      id: fc.constantFrom(...ids),
      after: fc.uniqueArray(fc.constantFrom(...ids), { maxLength: 2 }),
      checked: fc.boolean(),
      title: fc.constantFrom("one", "two"),
    })
    .map(({ id, after, checked, title }) =>
      ticket(id, { after, title, ...(checked ? { accept: [tests] } : {}) }),
    );
  const anyStep = fc.oneof(
    fc.record({ do: fc.constant("plan" as const), tickets: fc.array(anyTicket, { maxLength: 2 }) }),
    fc.record({
      do: fc.constant("propose" as const),
      tickets: fc.array(anyTicket, { maxLength: 3 }),
      session: fc.constantFrom(worker, helper),
      line: fc.constant([worker]),
    }),
    fc.record({
      do: fc.constant("accept-tickets" as const),
      tickets: fc.array(fc.constantFrom(...ids), { maxLength: 3 }),
    }),
    fc.record({ do: fc.constant("configure" as const), plan: fc.constantFrom(...planRules) }),
    fc.record({
      do: fc.constant("start-ticket" as const),
      ticket: fc.constantFrom(...ids),
      session: fc.constant(worker),
      attempt: fc.constant(1),
    }),
  );
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 15 }), (steps) => {
      const log = new Log();
      const { plan } = log.state;
      for (const step of steps) {
        const before = new Map(plan.tickets);
        log.do(step, step.do === "propose" ? "agent:coder@1" : person);
        assert.equal(cycleIn(plan.tickets.values()), null);
        for (const { after } of plan.tickets.values()) assert.ok(after.every((id) => plan.tickets.has(id)));
        if (step.do !== "propose") continue;
        for (const [id, known] of before) assert.equal(plan.tickets.get(id), known, id);
      }
    }),
  );
});
