/** Plans: what counts as a ticket, what each waits for, and where a mistake stands. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cycleIn, isTicketId } from "../../src/core/project/ticket.ts";
import { checkPlan, parsePlan } from "../../src/tickets/plan.ts";
import { slug, type Ticket } from "../../src/tickets/plan-draft.ts";

const wrong = (text: string, file = "plan.md"): string => {
  try {
    parsePlan(text, { file });
  } catch (error) {
    const { message, hint = "" } = error as { message: string; hint?: string };
    return hint === "" ? message : `${message} (${hint})`;
  }
  return "nothing is wrong";
};
const short = (tickets: readonly Ticket[]) =>
  tickets.map(({ id, title, after, line }) => [id, title, after.join("+"), line]);

describe("a plan in Markdown", () => {
  test("has a ticket for each heading, with all up to the next one as its text", () => {
    const text = [
      "# The November release",
      "",
      "What everybody should know.",
      "",
      "## schema: Add the column",
      "",
      "agent: dba",
      "labels: team=data, env=test",
      "budget: usd=2, tool-calls=40",
      "",
      "A column `paid` for invoices.",
      "",
      "### How",
      "- [ ] a migration",
      "```",
      "## not: a ticket",
      "after: nothing of the kind",
      "```",
      "",
      "## api: Serve it",
      "after: schema",
      "",
      "Over HTTP.",
      "## Notes",
      "no ticket, since others name their ids",
      "## ui: Show it ##",
      "- **Depends on:** `api` and schema",
      "It is shown.",
    ].join("\r\n");
    assert.deepEqual(parsePlan(text, { file: "work/November plan.md" }), {
      name: "november-plan",
      tickets: [
        {
          id: "schema",
          title: "Add the column",
          text: [
            "A column `paid` for invoices.",
            "",
            "### How",
            "- [ ] a migration",
            "```",
            "## not: a ticket",
            "after: nothing of the kind",
            "```",
          ].join("\n"),
          after: [],
          agent: "dba",
          labels: { team: "data", env: "test" },
          budget: { usd: 2, toolCalls: 40 },
          line: 5,
        },
        { id: "api", title: "Serve it", text: "Over HTTP.", after: ["schema"], line: 20 },
        { id: "ui", title: "Show it", text: "It is shown.", after: ["api", "schema"], line: 26 },
      ],
    });
  });

  test("may be a list to tick off, with text indented below", () => {
    const text = [
      "plan: release",
      "## Backend",
      "- [x] schema: Add the column",
      "- [ ] [api] Serve it (after: schema)",
      "  Over HTTP.",
      "",
      "    GET /paid",
      "## Frontend",
      "1. [ ] `ui` Show it",
      "   after: api",
    ].join("\n");
    const { name, tickets } = parsePlan(text);
    assert.equal(name, "release");
    assert.deepEqual(tickets, [
      { id: "schema", title: "Add the column", text: "", after: [], done: true, line: 3 },
      { id: "api", title: "Serve it", text: "Over HTTP.\n\n  GET /paid", after: ["schema"], line: 4 },
      { id: "ui", title: "Show it", text: "", after: ["api"], line: 9 },
    ]);
  });

  test("takes ids from titles where none are named, and numbers as ids", () => {
    assert.deepEqual(
      short(parsePlan("# Plan\n## Fix the login!\n## Test it (after: fix-the-login)\n").tickets),
      [
        ["fix-the-login", "Fix the login!", "", 2],
        ["test-it", "Test it", "fix-the-login", 3],
      ],
    );
    assert.deepEqual(short(parsePlan("## 1. One\n## 2) Two\nafter: 1\n").tickets), [
      ["1", "One", "", 1],
      ["2", "Two", "1", 2],
    ]);
    assert.deepEqual(short(parsePlan("## Fix it\n").tickets), [["fix-it", "Fix it", "", 1]]);
    assert.deepEqual(short(parsePlan("# Plan\n- [ ] Write it\n").tickets), [["write-it", "Write it", "", 2]]);
    assert.deepEqual(short(parsePlan("- [ ] Write it\n- [ ] Test it {#t}\n").tickets), [
      ["write-it", "Write it", "", 1],
      ["t", "Test it", "", 2],
    ]);
  });

  test("dependencies further down count when they are a list of ids, and are text when not", () => {
    const { tickets } = parsePlan("## a: A\nFirst.\nDepends on: b\nneeds: a good night's sleep\n## b: B\n");
    assert.deepEqual(
      tickets.map(({ after, text }) => [after, text]),
      [
        [["b"], "First.\nneeds: a good night's sleep"],
        [[], ""],
      ],
    );
  });
});

describe("a plan in JSON", () => {
  test("is a list of tickets, or an object with a name", () => {
    const tickets = [
      { id: "a", title: "A" },
      { id: "b", title: "B", text: "Do.", after: ["a"], agent: "x", labels: { k: "v" }, budget: { usd: 1 } },
      { id: "c", title: "C", after: "b", done: true },
    ];
    const read = [
      { id: "a", title: "A", text: "", after: [], line: 1 },
      { ...tickets[1], line: 1 },
      { id: "c", title: "C", text: "", after: ["b"], done: true, line: 1 },
    ];
    assert.deepEqual(parsePlan(JSON.stringify(tickets), { file: "p.json" }), { name: "p", tickets: read });
    const named = JSON.stringify({ name: "release", tickets });
    assert.deepEqual(parsePlan(named, { file: "p" }), { name: "release", tickets: read });
    assert.equal(parsePlan(named, { name: "other" }).name, "other");
  });

  test("mistakes are reported with the line", () => {
    assert.equal(
      wrong('[\n {"id": "a",\n  "title": "A",,}\n]', "p.json"),
      'p.json:3: invalid JSON: ",}\\n]"',
    );
    assert.equal(wrong("[\n", "p.json"), "p.json:2: unexpected end of JSON");
    assert.match(
      wrong('[\n{"id":"a","title":"A"},\n{"id":"b","titel":"B"}]', "p.json"),
      /^p\.json:3: .*titel/,
    );
    assert.match(
      wrong('[\n{"id":"a","title":"A"},\n\n{"id":"a","title":"B"}]', "p.json"),
      /^p\.json:4: .*line 2/,
    );
    assert.match(wrong("[]", "p.json"), /^p\.json:1: the plan has no tickets/);
    assert.match(wrong('{"tickets":7}', "p.json"), /^p\.json:1: /);
  });
});

describe("a plan that cannot be", () => {
  test("is refused with file and line", () => {
    assert.match(wrong("Just a text.\n"), /^plan\.md:1: the plan has no tickets .*## login: Fix login/);
    assert.match(wrong(""), /^plan\.md:1: the plan has no tickets/);
    assert.match(
      wrong("# The November release\n\nWhat it is for.\n"),
      /^plan\.md:1: the plan has no tickets/,
    );
    assert.match(wrong("## a: A\n\n## A: again\n"), /^plan\.md:3: id: duplicate ticket "A", first at line 1/);
    assert.match(
      wrong("## login: A\n## b: B\nafter: logn\n"),
      /^plan\.md:2: .*"logn".*did you mean "login"\?/,
    );
    assert.match(
      wrong("## a: A\nafter: what comes of it\n"),
      /^plan\.md:2: after: expected a list of ids, got "what comes of it"/,
    );
    assert.match(wrong("## a: A\nbudget: much\n"), /^plan\.md:2: labels: expected KEY=VALUE, got "much"/);
    assert.match(wrong("## a: A\nbudget: beer=2\n"), /^plan\.md:2: budget: invalid limit "beer=2"/);
    assert.match(wrong("## a: A\nlabels: ticket=9\n"), /^plan\.md:1: labels: "ticket" is reserved/);
    assert.match(wrong(`## ${"a".repeat(41)}: A\n`), /^plan\.md:1: id: invalid ticket id/);
    assert.match(wrong("## a..b: A\n"), /id: invalid ticket id "a\.\.b"/);
    assert.match(wrong("## a: A\0\n"), /invalid UTF-8/);
  });

  test("a cycle is named, also a ticket that waits for itself", () => {
    const text = "## a: A\nafter: c\n## b: B\nafter: a\n## c: C\nafter: b\n## d: D\nafter: a\n";
    assert.match(wrong(text), /^plan\.md:1: after: circular dependency: a after c after b after a /);
    assert.match(wrong("## a: A\nafter: a\n"), /: a after a /);
  });
});

test("a plan that was not parsed from a text follows the same rules", () => {
  const one = { id: "a", title: "A", text: "", after: [], line: 3 };
  const plan = (...tickets: readonly object[]) => ({ name: "p", tickets });
  const whole = plan(one, { ...one, id: "b", after: ["a"], agent: "x", labels: { k: "v" } });
  assert.equal(checkPlan(whole), whole);
  const wrongOnes: readonly (readonly [unknown, RegExp])[] = [
    [null, /expected a plan/],
    [plan({ ...one, line: undefined }), /expected a plan/],
    [plan({ ...one, agent: 1 }), /expected a plan/],
    [plan({ ...one, labels: [1] }), /expected a plan/],
    [{ ...plan(one), name: "a/b" }, /^the plan: name: invalid plan name "a\/b"$/],
    [plan(one, one), /^the plan:3: id: duplicate ticket "a"/],
    [plan({ ...one, id: "../a" }), /id: invalid ticket id/],
    [plan({ ...one, after: ["b"] }), /after: ticket "a" names an unknown ticket "b"/],
    [plan({ ...one, after: ["a"] }), /^the plan:3: after: circular dependency: a after a$/],
    [plan({ ...one, after: ["b"] }, { ...one, id: "b", after: ["a"] }), /: a after b after a$/],
  ];
  for (const [given, message] of wrongOnes)
    assert.throws(() => checkPlan(given), { code: "invalid", message }, JSON.stringify(given));
});

test("every cycle is found, and nothing else is taken for one", () => {
  const plans = fc.array(fc.array(fc.nat(11), { maxLength: 3 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(plans, (edges) => {
      const tickets = edges.map((after, id) => ({
        id: String(id),
        after: after.filter((one) => one < edges.length).map(String),
      }));
      const cycle = cycleIn(tickets);
      // The plain way: take away what waits for nothing, until there is nothing or nothing goes.
      let left = tickets;
      for (let before = -1; before !== left.length;) {
        before = left.length;
        left = left.filter(({ after }) => after.some((one) => left.some(({ id }) => id === one)));
      }
      assert.equal(cycle === null, left.length === 0);
      for (const [place, id] of (cycle ?? []).entries()) {
        const next = cycle?.[(place + 1) % cycle.length] ?? "";
        assert.ok(tickets.find((one) => one.id === id)?.after.includes(next));
      }
    }),
  );
});

test("any text is a plan or a reported mistake", () => {
  const piece = fc.constantFrom(
    "# ",
    "## ",
    "a: ",
    "b",
    "\n",
    "- [ ] ",
    "- [x] ",
    "after: ",
    "a, b",
    "```\n",
    "  ",
    "{#c}",
    "\t",
    "(after: a)",
    "budget: usd=1\n",
    "[",
    "{",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join("");
      const said = wrong(text);
      assert.ok(said === "nothing is wrong" || said.startsWith("plan.md:"), said);
    }),
  );
});

test("a text becomes an id that will do, or none", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const id = slug(text);
      assert.ok(id === "" || isTicketId(id), id);
    }),
  );
});
