/** The table of operations: nothing that the library or the command line can do is missing or there twice. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { verbNames } from "../../src/cli/command/verbs.ts";
import { commands, localCalls, localVerbs } from "../../src/call/local.ts";
import { operationIds, operationOf, type OperationId } from "../../src/call/operations.ts";
import { decodeQuery, encodeQuery } from "../../src/protocol/query.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { SessionChecks } from "../../src/runtime/engine/check-calls.ts";
import { MemoryCalls } from "../../src/runtime/engine/memory-calls.ts";
import { ProjectCalls } from "../../src/runtime/engine/project-calls.ts";
import { SessionMessages } from "../../src/runtime/engine/session-messages.ts";
import { SessionReader } from "../../src/runtime/engine/session-reader.ts";
import { Session } from "../../src/runtime/engine/session.ts";

const callsOf = (name: string, ...classes: readonly { readonly prototype: object }[]): string[] =>
  classes.flatMap(({ prototype }) =>
    Object.getOwnPropertyNames(prototype)
      .filter((call) => call !== "constructor")
      .map((call) => `${name}.${call}`),
  );
const calls = [
  ...callsOf("engine", Engine, ProjectCalls, MemoryCalls),
  ...callsOf("session", Session, SessionChecks, SessionMessages, SessionReader),
];

/** Operations whose functions are in the subpath skein/tickets: runPlan and listTickets. */
const ofTickets = ["engine.runTickets", "engine.tickets"];
/** Operations on the machine of a server: the library reads files with skein/transcripts. */
const ofMachine = [
  "engine.findTranscripts",
  "engine.previewTranscript",
  "engine.importTranscripts",
  "engine.uploadTranscript",
];

test("every call of the library is an operation, or says why it cannot be one", () => {
  assert.ok(calls.length > 80);
  const told = [...operationIds, ...Object.keys(localCalls)];
  assert.deepEqual(told.toSorted(), [...calls, ...ofTickets, ...ofMachine].toSorted());
});

test("every verb of the command line is an operation, or names its replacement", async () => {
  const verbs = await verbNames();
  const unknown = Object.keys(commands).filter((id) => !operationIds.includes(id as OperationId));
  assert.deepEqual(unknown, [], "commands of src/call/local.ts without an operation");
  const made = new Set(Object.values(commands).flatMap((lines) => lines.map((line) => line.split(" ")[0])));
  const missing = verbs.filter((verb) => {
    const call = verb.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const named = [`engine.${call}`, `session.${call}`].some((id) =>
      operationIds.includes(id as OperationId),
    );
    return !named && !made.has(verb) && localVerbs[verb] === undefined;
  });
  assert.deepEqual(missing, []);
  const gone = [...made, ...Object.keys(localVerbs)].filter((verb) => !verbs.includes(verb ?? ""));
  assert.deepEqual(gone, []);
});

test("no two operations have one address, and each is named by its own call", () => {
  const addresses = operationIds.map((id) => `${operationOf(id).method} ${operationOf(id).path}`);
  assert.equal(new Set(addresses).size, addresses.length);
  for (const id of operationIds) {
    const { of, call, path, method, args, params, scope } = operationOf(id);
    assert.equal(id, `${of}.${call}`);
    assert.match(path, of === "session" ? /^\/v1\/sessions\/\{id\}\/[a-z-]+$/ : /^\/v1\/[a-z-]+/);
    for (const arg of args) assert.ok(arg in params.shape, `${id} has no ${arg}`);
    if (method === "GET") assert.notEqual(scope, "write");
  }
});

test("values of a query string are read as written", () => {
  const given = {
    status: ["open", "closed"],
    labels: { team: "web" },
    text: "12",
    limit: 5,
    cursor: "a&b=c",
  };
  const sessions = operationOf("engine.sessions");
  const query = new URLSearchParams(encodeQuery(sessions, given));
  assert.deepEqual(decodeQuery(sessions, query), given);
  const load = operationOf("session.load");
  for (const place of [12, "here", "12", '"odd"'])
    assert.deepEqual(decodeQuery(load, new URLSearchParams(encodeQuery(load, { place }))), { place });
});
