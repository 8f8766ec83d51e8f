/**
 * The option types of the library are written by hand, for their doc comments. The compiler holds each equal
 * to the description of its call: the same names, the same values, the same optional ones.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { z } from "zod";
import { operationIds, operationOf, type operations, type OperationId } from "../../src/call/operations.ts";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";

type Table = typeof operations;
type Method<K extends OperationId> = K extends `engine.${infer C extends Exclude<keyof Engine, symbol>}`
  ? Engine[C]
  : K extends `session.${infer C extends Exclude<keyof Session, symbol>}`
    ? Session[C]
    : never;

/** Options that act in the caller's process, with the idempotency key, which is a header. */
const local = [
  "allowPrivate",
  "expect",
  "holder",
  "key",
  "leaseMs",
  "note",
  "progress",
  "score",
  "sign",
  "signal",
  "tell",
  "token",
  "verbatim",
] as const;

/** Values of other forms in the process, parameters of HTTP alone: of these only the names are compared. */
interface Other {
  "engine.feed": "family" | "follow";
  "session.events": "after" | "deltas" | "since" | "until";
  /** The library also takes one status for a list of one. */
  "engine.sessions": "status";
  "engine.migrate": "to";
  "session.migrate": "to";
  "session.merge": "resolve";
}
type OtherOf<K> = K extends keyof Other ? Other[K] : never;

type Plain<T> = T extends (...args: never) => unknown
  ? T
  : T extends readonly unknown[]
    ? number extends T["length"]
      ? readonly Plain<T[number]>[]
      : { readonly [I in keyof T]: Plain<T[I]> }
    : T extends object
      ? { readonly [F in keyof T]: Plain<Exclude<T[F], undefined>> }
      : T;

type Described<K extends OperationId> = Plain<
  Omit<z.input<Table[K]["params"]>, Table[K]["args"][number] | OtherOf<K>>
>;

type Last<T extends readonly unknown[]> = T extends readonly [...unknown[], infer L] ? L : never;
type Given<K extends OperationId> =
  Method<K> extends (...args: infer A) => unknown
    ? Plain<
        Omit<
          Exclude<Last<Required<A>>, undefined>,
          Exclude<(typeof local)[number], keyof Described<K>> | OtherOf<K>
        >
      >
    : never;

type Same<A, B> = [A] extends [B]
  ? [B] extends [A]
    ? [keyof A] extends [keyof B]
      ? [keyof B] extends [keyof A]
        ? true
        : false
      : false
    : false
  : false;

/** Calls with options. */
type WithOptions = {
  [K in OperationId]: keyof Described<K> extends never
    ? never
    : string extends keyof Described<K>
      ? never
      : [Method<K>] extends [never]
        ? never
        : K;
}[OperationId];

type Drift = { [K in WithOptions]: Same<Given<K>, Described<K>> extends true ? never : K }[WithOptions];

/** A call that is named in the error of this line has options that are not those of its description. */
const drift: [Drift] extends [never] ? true : Drift = true;

test("the option types of the library are those of the descriptions", () => {
  assert.equal(drift, true);
  const named = operationIds.flatMap((id) => Object.keys(operationOf(id).local));
  assert.deepEqual([...new Set([...named, "key"])].toSorted(), [...local]);
});
