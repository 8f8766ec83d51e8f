/** Secrets at the doors of the engine: which values are registered, and what becomes of bytes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { SkeinError } from "../../../src/core/error.ts";
import { limit } from "../../../src/core/limit.ts";
import { makeRedactor, type Redactor } from "../../../src/core/secret/redactor.ts";
import {
  checkBound,
  checkHolder,
  checkMeant,
  chunksOf,
  learnEnvironment,
  learnKeys,
  learnNamed,
  learnSecret,
  openRedactor,
  safeJson,
  safeText,
  secretIn,
  secretInBytes,
  textIn,
  watchBytes,
  unpackedBytes,
  watchedChunks,
} from "../../../src/runtime/log/redact.ts";

const secret = "hunter-hunter-22";
const guessed = `ghp_${"A1b2C3d4".repeat(4)}`;
const holding = (): { readonly redactor: Redactor } => ({ redactor: openRedactor({ DB: secret }) });
const bytesOf = (text: string, encoding: BufferEncoding = "utf8"): Uint8Array => Buffer.from(text, encoding);
const registered = ({ redactor }: { readonly redactor: Redactor }, values: readonly string[]) =>
  values.map((value) => redactor.registeredIn(value));

test("secrets are texts by name, and a switch; undefined ones are ignored", () => {
  const redactor = openRedactor({ DB: secret, NONE: undefined });
  assert.equal(redactor.text(`${secret} ${guessed}`), "[redacted: DB] [redacted: github-token]");
  const exact = openRedactor({ DB: secret, looksLike: false });
  assert.equal(exact.text(`${secret} ${guessed}`), `[redacted: DB] ${guessed}`);
  const known = makeRedactor();
  assert.equal(openRedactor({ DB: secret }, known), known);
  assert.equal(known.registeredIn(secret), "DB");
  for (const wrong of [{ looksLike: "yes" }, { DB: true }, { DB: 12_345_678 }])
    assert.throws(() => openRedactor(wrong as never), { code: "invalid" }, JSON.stringify(wrong));
});

test("a word that events are made of stays where it is all of a text", () => {
  const words = ["assistant", "completed", "idempotent"];
  const redactor = openRedactor(Object.fromEntries(words.map((word, place) => [`W${place}`, word])));
  for (const [place, word] of words.entries())
    assert.equal(redactor.text(`the ${word}`), `the [redacted: W${place}]`);
  for (const word of words) assert.equal(redactor.text(word), word);
});

test("a value is learned where it can be one: a text that is long enough", () => {
  const world = { redactor: makeRedactor() };
  learnSecret(world, "A", "short");
  learnSecret(world, "B", 12_345_678);
  learnSecret(world, "C", "long-enough");
  assert.deepEqual(registered(world, ["short", "12345678", "long-enough"]), [null, null, "C"]);
  learnSecret({}, "C", "long-enough");
  const values: Readonly<Record<string, string>> = { D: "value-of-d", E: "value-of-e" };
  const asked = { ...world, secret: (name: string) => values[name] };
  learnNamed(asked, ["D", 7, "F"]);
  learnNamed(asked, "E");
  learnNamed({ secret: () => assert.fail("asked") }, ["D"]);
  assert.deepEqual(registered(world, ["value-of-d", "value-of-e"]), ["D", null]);
});

test("keys of providers are learned from the environment and from a configuration", () => {
  const world = { redactor: makeRedactor() };
  const env = { OPEN_API_KEY: "key-of-open", _API_KEY_FILE: "key-of-file", NONE_API_KEY: undefined };
  learnKeys(world, env, { "my-host": { key: "key-of-host" }, none: undefined, other: { key: 5 } });
  assert.deepEqual(registered(world, ["key-of-open", "key-of-file", "key-of-host"]), [
    "OPEN_API_KEY",
    null,
    "MY_HOST_API_KEY",
  ]);
});

test("a variable whose name says so is learned, unless its value is a path or a plain word", () => {
  const world = { redactor: makeRedactor() };
  learnEnvironment(world, {
    DB_PASSWORD: "correct-horse",
    TOKEN: "Abcdefgh",
    HOME: "some-where-1",
    KEY_FILE_TOKEN: "/etc/secret-file",
    OTHER_TOKEN: "../secret-place",
    WORD_SECRET: "disabled",
    GONE_TOKEN: undefined,
  });
  const values = ["correct-horse", "Abcdefgh", "some-where-1", "/etc/secret-file", "../secret-place"];
  assert.deepEqual(registered(world, [...values, "disabled"]), [
    "DB_PASSWORD",
    "TOKEN",
    null,
    null,
    null,
    null,
  ]);
});

test("a binding with a secret is refused, and one that names it is not", () => {
  const binding = { name: "db", kind: "database", mode: "read" } as const;
  checkBound(holding(), { ...binding, secrets: ["DB"] });
  checkBound({}, { ...binding, url: secret });
  assert.throws(() => checkBound(holding(), { ...binding, url: secret }), {
    code: "invalid",
  });
});

test("fields that cannot be redacted refuse a secret, and name it if it is registered", () => {
  const { redactor } = holding();
  checkMeant(redactor, "a rule", { text: "harmless" });
  checkMeant(undefined, "a rule", { text: secret });
  assert.throws(() => checkMeant(redactor, "a rule", { text: secret }), { message: /: it contains DB$/ });
  assert.throws(() => checkMeant(redactor, "a rule", { text: guessed }), { message: /contain a secret$/ });
});

test("a worker's name holds no secret, but for the name of its process", () => {
  const { redactor } = holding();
  checkHolder({ redactor }, "worker-1");
  checkHolder({}, secret);
  checkHolder({ redactor, self: secret }, `worker at ${secret}`);
  for (const name of [secret, guessed])
    assert.throws(() => checkHolder({ redactor, self: "me" }, `worker ${name}`), { code: "invalid" });
});

test("texts and values pass as they are without a redactor", () => {
  const value = { text: secret };
  assert.deepEqual([safeText({}, secret), safeJson({}, value)], [secret, value]);
  assert.equal(safeText(holding(), secret), "[redacted: DB]");
  assert.deepEqual(safeJson(holding(), value), { text: "[redacted: DB]" });
});

test("bytes are a text when they are UTF-8 without NUL", () => {
  assert.equal(textIn(bytesOf("\uFEFFé")), "\uFEFFé");
  assert.deepEqual([textIn(bytesOf("a\0b")), textIn(new Uint8Array([0xff]))], [null, null]);
});

test("a secret is found in a file that is text, and a registered one in any bytes", () => {
  const world = holding();
  const binary = (text: string): Uint8Array => bytesOf(`\0${text}`);
  assert.deepEqual(
    [guessed, secret, "neither"].map((text) => secretIn(world, bytesOf(text))),
    ["github-token", "DB", null],
  );
  assert.deepEqual(
    [guessed, secret, "neither"].map((text) => secretIn(world, binary(text))),
    [null, "DB", null],
  );
  assert.equal(secretIn(world, bytesOf(secret, "utf16le")), "DB");
  assert.equal(secretIn({}, bytesOf(secret)), null);
});

test("a registered value is found over the seam of two windows, and behind many", () => {
  const { redactor } = holding();
  const windowBytes = 1_048_576;
  for (const at of [windowBytes - 5, 2 * windowBytes + 3]) {
    const bytes = Buffer.alloc(3 * windowBytes, 0xfe);
    bytes.write(secret, at);
    assert.equal(secretInBytes(redactor, bytes), "DB");
  }
  assert.equal(secretInBytes(redactor, Buffer.alloc(windowBytes + 1, 0xfe)), null);
  const look = watchBytes(redactor);
  const pieces = Array.from(secret, (char) => look(bytesOf(char)));
  assert.deepEqual([pieces.slice(0, -1).every((name) => name === null), pieces.at(-1)], [true, "DB"]);
});

test("chunks are given on once no value can begin in them", async () => {
  const found = (name: string): SkeinError => new SkeinError("invalid", `holds ${name}`);
  async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
    for (const text of texts) yield bytesOf(text);
  }
  const passed = async (world: { readonly redactor?: Redactor }, ...texts: readonly string[]) => {
    const given: string[] = [];
    try {
      for await (const chunk of watchedChunks(world, chunks(...texts), found))
        given.push(Buffer.from(chunk).toString());
    } catch (error) {
      given.push((error as Error).message);
    }
    return given;
  };
  assert.deepEqual(await passed(holding(), "one", "two", "three"), ["one", "two", "three"]);
  assert.deepEqual(await passed(holding(), "one", "hunter-", "hunter-22"), ["one", "holds DB"]);
  assert.deepEqual(await passed({}, "hunter-", "hunter-22"), ["hunter-", "hunter-22"]);
  assert.deepEqual(await passed(holding()), []);
});

test("a registered value is found in compressed bytes, and damaged ones stay as they are", async () => {
  const words = Array.from({ length: 500 }, (_, at) => `word-${(at * 7_919) % 1_000}`).join(" ");
  const packed = zstdCompressSync(Buffer.from(`${words} ${secret} ${words}`));
  assert.equal(packed.includes(secret), false, "the value is compressed");
  const found = (name: string): SkeinError => new SkeinError("invalid", `holds ${name}`);
  const pass = async (bytes: Uint8Array): Promise<number> => {
    let length = 0;
    for await (const chunk of watchedChunks(holding(), halves(bytes), found)) length += chunk.length;
    return length;
  };
  async function* halves(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 10);
    yield bytes.subarray(10);
  }
  await assert.rejects(pass(packed), /holds DB/);
  const other = zstdCompressSync(Buffer.from("plain ".repeat(100)));
  assert.equal(await pass(other), other.length);
  const damaged = packed.subarray(0, -5);
  assert.equal(await pass(damaged), damaged.length);
  assert.equal(unpackedBytes(damaged), damaged);
  const bomb = zstdCompressSync(Buffer.alloc(17_000_000));
  assert.equal(unpackedBytes(bomb), bomb);
});

test("bytes are cut into chunks of at most one length, with nothing lost", () => {
  const most = limit.blobChunkBytesMax;
  const sizes = (bytes: number): number[] => [...chunksOf(new Uint8Array(bytes))].map(({ length }) => length);
  assert.deepEqual([0, 1, most, most + 1, 2 * most].map(sizes), [[], [1], [most], [most, 1], [most, most]]);
});
