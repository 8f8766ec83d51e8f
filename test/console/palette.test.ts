/** The command palette: what it finds, and that no call is out of its reach. */
import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { operationIds, operationOf, type OperationId } from "../../src/call/operations.ts";
import { commandOf, needsSession } from "../../src/console/palette/commands.ts";
import { fieldsOf, paramsOf, titleOf, type ParamField } from "../../src/console/palette/form.ts";
import { offered, type PaletteState } from "../../src/console/palette/items.ts";
import { keyName, keyRows } from "../../src/console/key-rows.ts";
import { matchOf, piecesOf, recentOf, recentWith } from "../../src/console/palette/match.ts";

test("every operation is a command, or says why it is none", () => {
  const reached = operationIds.filter(
    (query) => offered({ query, sessions: [], own: [], recent: [], hasSession: true })[0]?.id === query,
  );
  const elsewhere = operationIds.flatMap((id) => {
    const { does } = commandOf(id);
    return does.how === "elsewhere" && does.why.length > 10 ? [id] : [];
  });
  assert.deepEqual(elsewhere, ["session.watch"]);
  assert.deepEqual([...reached, ...elsewhere].toSorted(), operationIds.toSorted());
});

test("each is found by its title, first of all", () => {
  for (const id of operationIds) {
    const { title, does } = commandOf(id);
    if (does.how === "elsewhere") continue;
    const hasSession = needsSession(id);
    const [first] = offered({ query: title, sessions: [], own: [], recent: [], hasSession });
    assert.equal(first?.title, title);
  }
});

test("before anything is typed all of them are offered, in a session and elsewhere", () => {
  const own = Array.from({ length: 12 }, (_, nth) => ({
    id: `own ${nth}`,
    title: `Own ${nth}`,
    act: () => {},
  }));
  const wanted = operationIds.filter((id) => commandOf(id).does.how !== "elsewhere");
  for (const hasSession of [true, false]) {
    const ids = offered({ query: "", sessions: [], own, recent: [], hasSession }).map(({ id }) => id);
    assert.deepEqual(ids.toSorted(), [...wanted, ...own.map(({ id }) => id)].toSorted());
  }
});

test("no two commands have the same title", () => {
  const titles = operationIds.map((id) => commandOf(id).title);
  assert.equal(new Set(titles).size, titles.length);
});

test("a command that removes something warns first", () => {
  const asks = (id: OperationId): boolean => {
    const { does } = commandOf(id);
    return does.how === "form" && does.warning !== undefined;
  };
  for (const id of [
    "engine.delete",
    "session.erase",
    "session.cancel",
    "session.rewind",
    "engine.revokeToken",
  ] as const)
    assert.ok(asks(id), id);
});

test("a call with required parameters never runs without asking for them", () => {
  for (const id of operationIds) {
    if (commandOf(id).does.how !== "run") continue;
    assert.deepEqual(
      fieldsOf(operationOf(id)).filter(({ isRequired }) => isRequired),
      [],
      id,
    );
    assert.equal(operationOf(id).takes === "bytes", false, id);
  }
});

test("the form of an operation has all its parameters, those that must be given first", () => {
  for (const id of operationIds) {
    const operation = operationOf(id);
    const fields = fieldsOf(operation);
    assert.deepEqual(
      fields.map(({ name }) => name).toSorted(),
      Object.keys(operation.params.shape).toSorted(),
      id,
    );
    const needed = fields.map(({ isRequired }) => isRequired);
    assert.deepEqual(
      needed,
      needed.toSorted((a, b) => Number(b) - Number(a)),
      id,
    );
  }
});

test("values of a form are accepted by the operation", () => {
  const typed: readonly (readonly [Parameters<typeof operationOf>[0], Record<string, string>, unknown])[] = [
    ["session.prioritize", { priority: "0" }, { priority: 0 }],
    ["session.rewind", { place: "12", requeue: "true" }, { place: 12, requeue: true }],
    ["session.rewind", { place: "before lunch" }, { place: "before lunch" }],
    ["session.answer", { allow: "false", reason: "no" }, { allow: false, reason: "no" }],
    ["session.answer", { allow: "true" }, { allow: true }],
    [
      "session.label",
      { set: "team=blue, a=b", remove: "x, y" },
      { set: { team: "blue", a: "b" }, remove: ["x", "y"] },
    ],
    [
      "session.record",
      { kind: "fact", key: "rate", value: '{"a":1}' },
      { kind: "fact", key: "rate", value: { a: 1 } },
    ],
    [
      "session.record",
      { kind: "fact", key: "rate", value: "twelve" },
      { kind: "fact", key: "rate", value: "twelve" },
    ],
    ["session.budget", { limits: '{"usd":2}' }, { limits: { usd: 2 } }],
    ["session.input", { input: "Compute the run." }, { input: "Compute the run." }],
    ["session.send", { to: "", message: "hi", replyTo: "m" }, { to: null, message: "hi", replyTo: "m" }],
    ["session.fork", {}, {}],
    ["session.diff", { from: "3", only: "items, state" }, { from: 3, only: ["items", "state"] }],
  ];
  for (const [id, texts, params] of typed) {
    const operation = operationOf(id);
    const given = paramsOf(fieldsOf(operation), texts);
    assert.deepEqual(given, params, id);
    assert.deepEqual(operation.params.safeParse(given).error?.issues ?? [], [], id);
  }
});

test("an unreadable value is reported with the name of its field", () => {
  const field = (kind: ParamField["kind"]): ParamField => ({
    name: "limits",
    kind,
    isRequired: true,
    choices: [],
    charsMax: undefined,
    orNull: false,
    hint: "{ … }",
  });
  assert.throws(() => paramsOf([field("json")], { limits: "{" }), /^Error: limits: expected JSON/);
  assert.throws(() => paramsOf([field("number")], { limits: "x" }), /^Error: limits: expected a number/);
  assert.throws(() => paramsOf([field("pairs")], { limits: "x" }), /^Error: limits: expected key=value/);
});

test("names of parameters are read as words", () => {
  assert.deepEqual(["withForks", "sql", "atSeq"].map(titleOf), ["With forks", "Sql", "At seq"]);
});

test("letters in their order are found, and where they are is known", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), fc.array(fc.nat(39), { maxLength: 8 }), (text, picks) => {
      const places = [...new Set(picks)].filter((place) => place < text.length).toSorted((a, b) => a - b);
      const query = places.map((place) => text.charAt(place)).join("");
      const match = matchOf(query, text);
      assert.ok(match !== null);
      const wanted = query.toLowerCase().replace(/\s+/g, "");
      assert.equal(match.places.map((place) => text.charAt(place).toLowerCase()).join(""), wanted);
      assert.deepEqual(
        match.places,
        match.places.toSorted((a, b) => a - b),
      );
      assert.equal(
        piecesOf(text, match.places)
          .map((piece) => piece.text)
          .join(""),
        text,
      );
    }),
  );
  assert.equal(matchOf("ba", "ab"), null);
});

test("words that begin with the letters come before those that only hold them", () => {
  const best = (query: string, ...texts: readonly string[]): string | undefined =>
    texts.toSorted((a, b) => (matchOf(query, b)?.score ?? -99) - (matchOf(query, a)?.score ?? -99))[0];
  assert.equal(best("fo", "Show info", "Fork", "List of hooks"), "Fork");
  assert.equal(best("ss", "Session states", "Message"), "Session states");
  assert.deepEqual(matchOf("fork", "A fork of forks")?.places, [2, 3, 4, 5]);
});

test("recent choices come first, once", () => {
  assert.deepEqual(recentWith(["b", "a"], "a"), ["a", "b"]);
  assert.equal(
    recentWith(
      Array.from({ length: 30 }, (_, n) => String(n)),
      "x",
    ).length,
    12,
  );
  assert.deepEqual(recentOf('["a",7]'), ["a"]);
  assert.deepEqual([recentOf(null), recentOf("{"), recentOf("{}")], [[], [], []]);
  const [first] = offered({ query: "", sessions: [], own: [], recent: ["engine.stats"], hasSession: false });
  assert.equal(first?.id, "engine.stats");
});

const known = (session: string, name: string): PaletteState => ({
  session,
  name,
  objective: "Why",
  status: "open",
});

test("sessions are found by name and by the ending of their id", () => {
  const sessions = [known("ses_aaaa1111", "Payroll run"), known("ses_bbbb2222", "Index")];
  const found = (query: string): string[] =>
    offered({ query, sessions, own: [], recent: [], hasSession: false })
      .filter(({ kind }) => kind === "session")
      .map(({ id }) => id);
  assert.deepEqual(found("payroll"), ["ses_aaaa1111"]);
  assert.deepEqual(found("2222"), ["ses_bbbb2222"]);
  assert.deepEqual(found("why"), ["ses_aaaa1111", "ses_bbbb2222"]);
});

test("an unknown id suffix opens a lookup, and any text can be searched", () => {
  const kinds = (query: string): string[] =>
    offered({ query, sessions: [], own: [], recent: [], hasSession: false })
      .filter(({ kind }) => kind === "goto" || kind === "search")
      .map(({ kind }) => kind);
  assert.deepEqual(kinds("4x8kz1"), ["goto", "search"]);
  assert.deepEqual(kinds("payroll"), ["search"]);
  assert.deepEqual(kinds(""), []);
});

test("keys are listed once for each thing they do, the view's own first", () => {
  const all = [
    [
      { key: "n", what: "New session" },
      { key: "f", what: "Find" },
    ],
    [
      { key: "j", what: "Next" },
      { key: "ArrowDown", what: "Next" },
      { key: "f", what: "Fork" },
    ],
  ];
  assert.deepEqual(keyRows(all), [
    { what: "Next", keys: ["j", "ArrowDown"] },
    { what: "Fork", keys: ["f"] },
    { what: "New session", keys: ["n"] },
  ]);
  assert.deepEqual([" ", "ArrowDown", "ctrl+k", "x"].map(keyName), ["Space", "↓", "Ctrl K", "x"]);
});
