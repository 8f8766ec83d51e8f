/**
 * A model's answer as it can be stored. Whatever a provider sends must not stand in the way of the session:
 * what is too long is cut, what is no JSON is left out, and the model is told so.
 */
import type { Block } from "../core/catalogue/entry.ts";
import { checkJson } from "../core/json.ts";
import { limit } from "../core/limit.ts";
import type { Answer, AnswerBlock } from "../model/port.ts";
import { cleanText } from "./tool-output.ts";

export interface Stored {
  readonly blocks: readonly Block[];
  /** Why calls cannot run, by their place among the blocks. */
  readonly wrong: ReadonlyMap<number, string>;
}

/** Arguments above this are not kept, nor run. */
const inputCharsMax = 900_000;
/** All texts of an answer together. */
const textCharsMax = 600_000;
const metadataCharsMax = 200_000;

export function storeAnswer({ blocks }: Answer): Stored {
  const kept: Block[] = [];
  const wrong = new Map<number, string>();
  let chars = 0;
  let calls = 0;
  for (const block of blocks) {
    if (block.type === "tool-call") {
      calls += 1;
      if (calls > limit.callsMax) continue;
      const { stored, reason } = storeCall(block);
      if (reason !== null) wrong.set(kept.length, reason);
      kept.push(stored);
    } else {
      const room = Math.max(0, textCharsMax - chars);
      const text = cleanText(block.text);
      chars += text.length;
      const cut = text.length > room ? `${text.slice(0, room).toWellFormed()} [… cut]` : text;
      kept.push({ type: block.type, text: cut, ...metadataOf(block) });
    }
  }
  if (calls > limit.callsMax) {
    kept.push({ type: "text", text: `[${calls - limit.callsMax} more calls were left out]` });
  }
  return { blocks: kept, wrong };
}

function storeCall(block: Extract<AnswerBlock, { type: "tool-call" }>): {
  readonly stored: Block;
  readonly reason: string | null;
} {
  const tool = block.tool.replace(/[^A-Za-z0-9_.:/-]/g, "-").slice(0, 128) || "unnamed";
  const { input, reason } = storeInput(block);
  return { stored: { type: "tool-call", call: block.call, tool, input, ...metadataOf(block) }, reason };
}

function storeInput({ input, malformed = false }: Extract<AnswerBlock, { type: "tool-call" }>): {
  readonly input: unknown;
  readonly reason: string | null;
} {
  const clean = cleaned(input ?? {});
  if (clean === null) return { input: {}, reason: "the arguments are not JSON that can be kept" };
  if (clean.chars > inputCharsMax) {
    return { input: {}, reason: `the arguments have ${clean.chars} characters, more than can be kept` };
  }
  const reason = malformed ? "the arguments are not JSON; ask again with an object that is" : null;
  return { input: clean.value, reason };
}

function metadataOf({ metadata }: AnswerBlock): { readonly metadata?: Readonly<Record<string, unknown>> } {
  const clean = metadata === undefined ? null : cleaned(metadata);
  if (clean === null || clean.chars > metadataCharsMax) return {};
  return { metadata: clean.value as Readonly<Record<string, unknown>> };
}

/** The value with texts that can be stored; null when it cannot be. */
function cleaned(value: unknown): { readonly value: unknown; readonly chars: number } | null {
  try {
    const text = JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === "string" ? cleanText(inner) : inner,
    );
    const clean: unknown = JSON.parse(text);
    checkJson("answer", clean);
    return { value: clean, chars: text.length };
  } catch {
    return null;
  }
}
