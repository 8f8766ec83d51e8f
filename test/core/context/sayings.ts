/** What people, models and tools say in generated lives: the usual, the odd, and the malformed. */
import type { ContentBlock } from "../../../src/core/schema.ts";
import { digest } from "../digest.ts";

const blob = digest("", "a picture");
const pickOf = <T>(from: readonly T[], pick: number): T => from[pick % from.length]!;
/** Readers do not check contents, so that a life may hold any. */
const odd = (value: unknown): ContentBlock => value as ContentBlock;

const inputs: readonly (readonly ContentBlock[])[] = [
  [{ type: "text", text: "Compute the November run." }],
  [{ type: "text", text: "And then?" }],
  [
    { type: "text", text: "Look at this." },
    { type: "image", blob, mediaType: "image/png" },
  ],
  [{ type: "image", blob, mediaType: "image/tiff" }],
  [{ type: "file", blob, mediaType: "application/pdf", name: "rates.pdf" }],
  [{ type: "file", blob, mediaType: "text/csv; charset=utf-8", name: "rates.csv" }],
  [{ type: "file", blob, mediaType: "application/zip" }],
  [{ type: "text", text: "" }],
  [{ type: "text", text: " \n\t" }],
  [],
  [{ type: "reasoning", text: "I am no model." }],
  [{ type: "tool-call", call: "call_1", tool: "shell", input: {} }],
  [{ type: "tool-result", call: "call_1", output: { ok: true } }],
  [odd({ type: "hologram", depth: 3 }), odd(null), odd(7), odd({ type: "text" }), odd({ type: "image" })],
];
export const inputOf = (pick: number): ContentBlock[] => [...pickOf(inputs, pick)];

const outputs: readonly { readonly output: unknown; readonly blocks?: ContentBlock[] }[] = [
  { output: "4.1" },
  { output: { base: 4.1, list: [1, null, "ä😀"] } },
  { output: "" },
  { output: null },
  { output: "a picture", blocks: [{ type: "image", blob, mediaType: "image/jpeg" }] },
  { output: "", blocks: [{ type: "image", blob, mediaType: "image/bmp" }] },
  { output: "head … tail", blocks: [{ type: "file", blob, mediaType: "text/plain" }] },
  { output: false, blocks: [odd({ type: "image", blob: 3 }), odd("x")] },
];
export const outputOf = (pick: number): (typeof outputs)[number] => pickOf(outputs, pick);

/** Ids in the style of every provider, the same ones again and again. */
const ids = ["call_1", "toolu_01AbC", "chatcmpl-tool:9.x", "0"];
const tools = ["read_file", "files.read", "9lives", "a/very:long.name".repeat(8), "shell"];
const arguments_: readonly unknown[] = [
  { path: "rates.json" },
  {},
  '{"path": "rates',
  ["rates.json"],
  null,
  7,
  { nested: { deep: [1, { two: "ä" }] } },
];

export interface Asked {
  readonly call: string;
  readonly tool: string;
  readonly input: unknown;
}

/** What a provider wants to see again, under its own name. Items of OpenAI have ids that never repeat. */
const metadataOf = (provider: string, id: string): Record<string, unknown> | undefined => {
  switch (provider) {
    case "anthropic":
      return { anthropic: { signature: "EqQBCgIYAhIM" } };
    case "openai":
      return { openai: { itemId: id, reasoningEncryptedContent: "gAAAAABo" } };
    case "google":
      return { google: { thoughtSignature: "CiQBcsjafJ" } };
    default:
      return undefined;
  }
};

/** An answer of a model, and the calls it asks for. */
export function answerOf(
  pick: number,
  { model, serial, isOpen }: { model: string; serial: number; isOpen: (id: string) => boolean },
): { readonly blocks: ContentBlock[]; readonly calls: readonly Asked[] } {
  const own = (id: string): { metadata?: Record<string, unknown> } => {
    const metadata = metadataOf(model.split("/")[0] ?? "", `${id}_${serial}`);
    return metadata === undefined ? {} : { metadata };
  };
  const count = pick % 4;
  const calls: Asked[] = [];
  for (let place = 0; place < count; place++) {
    const id = pickOf(ids, pick + place);
    const call = isOpen(id) || calls.some((one) => one.call === id) ? `${id}-${pick}-${place}` : id;
    calls.push({ call, tool: pickOf(tools, pick >> 2), input: pickOf(arguments_, pick + place * 3) });
  }
  const asked = calls.map(({ call, tool }, place): ContentBlock => ({
    type: "tool-call",
    call,
    tool,
    ...own(`fc_${place}`),
  }));
  const reasoning = odd({ type: "reasoning", text: pick % 3 === 0 ? "" : "The rate matters.", ...own("rs") });
  const text: ContentBlock = { type: "text", text: "The rate is 4.1." };
  const shapes: readonly (readonly ContentBlock[])[] = [
    [text, ...asked],
    [reasoning, text, ...asked],
    [reasoning, ...asked],
    [reasoning],
    [...asked, text, reasoning],
    [{ type: "text", text: "" }, ...asked],
    [{ type: "text", text: " \n" }],
    [],
    [text, { type: "image", blob, mediaType: "image/png" }, ...asked],
    [odd({ type: "tool-result", call: "call_1", output: 1 }), odd({ type: "x" }), odd(null), ...asked],
    [{ type: "tool-call", call: "nobody-asked", tool: "shell" }, text, ...asked],
  ];
  return { blocks: [...pickOf(shapes, pick >> 3)], calls };
}

const object = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const definitionSets: readonly unknown[] = [
  [{ name: "read_file", description: "Reads a file.", input: object }],
  [
    { name: "files.read", description: "Reads.", input: object },
    { name: "files_read", description: "Reads.", input: object },
    { name: "files.read", description: "Again.", input: object },
  ],
  [],
  [{ name: "9lives", description: 3, input: { anyOf: [object, { type: "null" }] } }],
  [{ name: "odd", input: { properties: { $filter: { type: "string" } }, required: ["$filter"] } }, 7, null],
  "none at all",
];
export const definitionsOf = (pick: number): unknown => pickOf(definitionSets, pick);
