/** The projection: from any position on it gives what a whole reading gives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  EventProjection,
  projectedTypes,
  type ClaudeEvent,
} from "../../../src/adapter/claude-agents/project.ts";
import { listEvents } from "../../../src/adapter/claude-agents/event-list.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { engineWith, say, scripted, use, type Line } from "../../runtime/turn/scripted.ts";

const external = (name: string) => ({
  kind: "tool" as const,
  name,
  options: { external: true, description: name, input: { type: "object" } },
});

const tools = ["order", "bash", "nope"] as const;
type Step =
  | { readonly do: "say"; readonly text: string }
  | { readonly do: "use"; readonly tools: readonly (typeof tools)[number][] }
  | { readonly do: "interrupt" };

const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("say" as const), text: fc.string({ minLength: 1, maxLength: 5 }) }),
    fc.record({
      do: fc.constant("use" as const),
      tools: fc.array(fc.constantFrom(...tools), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ do: fc.constant("interrupt" as const) }),
  ),
  { minLength: 1, maxLength: 5 },
);

/** Runs the steps; each is a turn whose calls are answered one by one. */
async function play(session: Session, script: Line[], given: readonly Step[]): Promise<void> {
  for (const [number, step] of given.entries()) {
    script.splice(0);
    if (step.do === "use")
      script.push([say("using"), ...step.tools.map((tool, place) => use(tool, {}, `c${number}-${place}`))]);
    script.push(step.do === "say" ? step.text : "done");
    if (step.do === "interrupt") script.unshift([use("order", {}, `c${number}`)]);
    await session.ask(`turn ${number}`).result;
    if (step.do === "interrupt") await session.interrupt();
    for (let open = (await session.state()).calls; open.length > 0; open = (await session.state()).calls) {
      const [one] = open;
      if (one === undefined) break;
      if (one.phase === "asked") await session.answer({ allow: one.seq % 2 === 0, calls: [one.call] });
      else await session.settle(one.call, { output: `result ${one.seq}` });
      await session.run();
    }
    await session.run();
  }
}

async function projected(session: Session, fromSeq: number): Promise<ClaudeEvent[]> {
  const state = fromSeq === 1 ? null : await session.fold({ atSeq: fromSeq - 1 });
  const projection = new EventProjection(session.id, state);
  const found: ClaudeEvent[] = [];
  for await (const event of session.events({ fromSeq, types: projectedTypes }))
    found.push(...projection.push(event));
  return found;
}

test("a reading from any position gives the rest of the whole reading, with unique ids", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const script: Line[] = ["x"];
      let at = 0;
      const line: Line = () => script[Math.min(at++, script.length - 1)] ?? "done";
      await using engine = engineWith(scripted([line]));
      const session = await engine.open({
        objective: "x",
        bind: tools.map(external),
        grant: [
          { tool: "bash", rule: "ask" },
          { tool: "nope", rule: "deny" },
        ],
      });
      for (const step of given) {
        at = 0;
        await play(session, script, [step]);
      }
      const whole = await projected(session, 1);
      assert.equal(new Set(whole.map(({ id }) => id)).size, whole.length);
      const inGroup = new Set(["tool.requested", "tool.denied", "tool.settled"]);
      let isSafe = true;
      for await (const { seq, type } of session.events({})) {
        const isStart = isSafe;
        isSafe = !inGroup.has(type);
        // Pages begin at no record whose predecessor may be a held request.
        if (!isStart) continue;
        const rest = await projected(session, seq);
        assert.deepEqual(rest, whole.slice(whole.length - rest.length), `from ${seq}`);
      }
      // Statuses alternate.
      const statuses = whole.filter(({ type }) => type.startsWith("session.status_"));
      assert.ok(
        statuses.every(({ type }, place) => type !== statuses[place - 1]?.type || type.endsWith("idle")),
      );
      const query = (more: Record<string, string>) => new URLSearchParams({ limit: "3", ...more });
      for (const order of ["asc", "desc"]) {
        const listed: unknown[] = [];
        for (let page: string | null = ""; page !== null;) {
          const got = await listEvents(session, query(page === "" ? { order } : { order, page }));
          listed.push(...(got["data"] as unknown[]));
          page = got["next_page"] as string | null;
          assert.ok(listed.length <= whole.length, "pages repeat");
        }
        assert.deepEqual(listed, order === "asc" ? whole : whole.toReversed());
      }
    }),
    { numRuns: 8 },
  );
});
