/** The client has every call of the library, and nothing that no operation stands for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  engineAt,
  type RemoteEngine,
  type RemoteSession,
  type RemoteView,
} from "../../src/client/connect.ts";
import { makeSession } from "../../src/client/session.ts";
import { clientWorld } from "../../src/client/world.ts";
import { makeWire } from "../../src/client/wire.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { localCalls } from "../../src/call/local.ts";
import { operationIds } from "../../src/call/operations.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { SessionReader } from "../../src/runtime/engine/session-reader.ts";
import { Session } from "../../src/runtime/engine/session.ts";
import type { SessionView } from "../../src/runtime/engine/view.ts";

/** What the client has beside the library, and the operation behind it. */
const more: Readonly<Record<string, string>> = { "engine.follow": "engine.feed" };
/** What is no call of the library: who asks is known there. */
const own = ["engine.close", "engine.me"];

const callsOf = (...classes: readonly { readonly prototype: object }[]): string[] =>
  classes
    .flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))
    .filter((name) => name !== "constructor")
    .toSorted();
const wire = makeWire({ url: "http://127.0.0.1:9", token: undefined, world: clientWorld(undefined) });
const session = makeSession(wire, "ses_00000000000000000000000000" as SessionId);
const methodsOf = (value: object, of: string): string[] =>
  Object.entries(value).flatMap(([name, method]) => (typeof method === "function" ? [`${of}.${name}`] : []));
const methods = [...methodsOf(engineAt("http://127.0.0.1:9"), "engine"), ...methodsOf(session, "session")];

test("every call of the library is a method of the client, or says why it cannot be one", () => {
  const calls = [
    ...callsOf(Engine).map((name) => `engine.${name}`),
    ...callsOf(Session, SessionReader).map((name) => `session.${name}`),
  ];
  assert.ok(calls.length > 80);
  assert.deepEqual(
    calls.filter((call) => !methods.includes(call) && localCalls[call] === undefined),
    [],
  );
  assert.deepEqual(
    Object.keys(localCalls).filter((call) => !calls.includes(call)),
    [],
    "a reason for what there is not",
  );
});

test("every method of the client has an operation, and every operation a method", () => {
  const behind = methods.filter((name) => !own.includes(name)).map((name) => more[name] ?? name);
  assert.deepEqual(
    behind.filter((name) => !operationIds.some((id) => id === name)),
    [],
  );
  assert.deepEqual(
    operationIds.filter((id) => !behind.includes(id)),
    [],
  );
});

/** The calls that `localCalls` says of; a call that the client lacks beside these does not compile. */
type LocalOfEngine = "as" | "checkToken" | "model" | "work" | "webhook";
type LocalOfSession = "drive" | "lease";
type Missing<Library, Client, Local> = Exclude<keyof Library, keyof Client | Local>;
type Nothing<T> = [T] extends [never] ? true : T;

/** What the library's callers give is taken, and what they get has all they know, handles aside. */
type Handle<T> = T extends Session ? RemoteSession : T extends SessionView ? RemoteView : T;
type Given<F> = F extends (...given: infer A) => unknown ? A : never;
type Got<F> = F extends (...given: never) => Promise<infer R>
  ? Promise<Handle<R>>
  : F extends (...given: never) => infer R
    ? R
    : F;
type Unlike<Library, Client> = {
  [K in keyof Library & keyof Client]: Client[K] extends (...given: never) => unknown
    ? [Got<Client[K]>] extends [Got<Library[K]>]
      ? [Given<Library[K]>] extends [Given<Client[K]>]
        ? never
        : K
      : K
    : never;
}[keyof Library & keyof Client];

test("the client's types are those of the library, as the compiler sees", () => {
  const nothingMissing: [
    Nothing<Missing<Engine, RemoteEngine, LocalOfEngine>>,
    Nothing<Missing<Session, RemoteSession, LocalOfSession>>,
    Nothing<Missing<SessionView, RemoteView, never>>,
  ] = [true, true, true];
  const nothingUnlike: [Nothing<Unlike<Engine, RemoteEngine>>, Nothing<Unlike<Session, RemoteSession>>] = [
    true,
    true,
  ];
  const found: Unlike<Session, { fork(): Promise<number>; head: Session["head"] }> = "fork";
  assert.equal(found, "fork");
  assert.deepEqual([...nothingMissing, ...nothingUnlike], [true, true, true, true, true]);
});
