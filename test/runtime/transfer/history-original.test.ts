/** The original of an import is redacted the same however its bytes are cut into chunks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { makeRedactor } from "../../../src/core/secret/redactor.ts";
import {
  keepOriginal,
  RedactionCounter,
  redactOriginal,
  type OriginalChunk,
} from "../../../src/runtime/transfer/history-original.ts";

const token = (letter: string): string => `ghp_${`${letter}1B2c3D4e5`.repeat(4)}`;
const file = "a.jsonl";

/** Each chunk lies in the same memory, as those of a file do. */
async function* chunksOf(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<OriginalChunk> {
  const memory = Buffer.alloc(Math.max(...sizes));
  for (let from = 0, at = 0; from < bytes.length; at++) {
    const to = Math.min(bytes.length, from + (sizes[at % sizes.length] ?? 1));
    memory.fill(0x7a);
    bytes.copy(memory, 0, from, to);
    yield { bytes: memory.subarray(0, to - from), source: { file, from, to } };
    from = to;
  }
}

async function redacted(bytes: Buffer, sizes: readonly number[]) {
  const redactor = makeRedactor();
  redactor.register("DB", "corréct-horse");
  const counter = new RedactionCounter();
  const parts: Buffer[] = [];
  for await (const part of redactOriginal(redactor, chunksOf(bytes, sizes), counter))
    parts.push(Buffer.from(part));
  return { text: Buffer.concat(parts).toString("latin1"), ...counter.report() };
}

const line = fc.oneof(
  fc.constantFrom("", "{", "}", '{"torn":"', "plain words", '"text"', "12"),
  fc.constantFrom("a", "b").map((letter) => JSON.stringify({ type: "user", text: `x ${token(letter)} y` })),
  fc.constantFrom("c", "d").map((letter) => `not JSON: ${token(letter)} é`),
  fc.string().map((text) => JSON.stringify({ text, é: "ü" })),
  fc.constant(JSON.stringify({ password: "hunter2hunter2", text: "corréct-horse" })),
  fc.constant("raw corréct-horse, and more"),
);

test("chunks of any size give the same text and the same ranges", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 12 }),
      fc.boolean(),
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
      async (lines, endsOpen, sizes) => {
        const bytes = Buffer.from(
          `${JSON.stringify({ first: 1 })}\n${lines.join("\n")}${endsOpen ? "" : "\n"}`,
        );
        assert.deepEqual(await redacted(bytes, sizes), await redacted(bytes, [bytes.length]));
      },
    ),
    { numRuns: 100 },
  );
});

test("a document over several lines is redacted as a whole, in chunks of any size", async () => {
  const document = JSON.stringify({ list: [{ password: "hunter2hunter2" }, { text: token("a") }] }, null, 1);
  const bytes = Buffer.from(document);
  for (const size of [1, 7, 64, bytes.length]) {
    const { text, count } = await redacted(bytes, [size]);
    assert.equal(count, 2);
    assert.deepEqual(JSON.parse(text), {
      list: [{ password: "[redacted: password]" }, { text: "[redacted: github-token]" }],
    });
  }
});

test("pieces hold every byte in order, from chunks that share their memory", async () => {
  const bytes = Buffer.alloc(9_500_000);
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(at, at);
  const stored = new Map<string, Buffer>();
  const deps = {
    store: {
      async putBlob(hash: string, chunks: Iterable<Uint8Array>) {
        stored.set(hash, Buffer.concat([...chunks]));
      },
    },
    world: { hashBytes: () => `${stored.size}` },
  } as unknown as Parameters<typeof keepOriginal>[0];
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    for await (const { bytes: part } of chunksOf(bytes, [1_048_576])) yield part;
  };
  const blocks = await keepOriginal(deps, parts(), file);
  assert.ok(blocks.length > 2);
  const pieces = blocks.map(({ blob }) => zstdDecompressSync(stored.get(String(blob)) ?? Buffer.alloc(0)));
  assert.ok(Buffer.concat(pieces).equals(bytes));
});
