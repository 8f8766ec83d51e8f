/**
 * Estimates the tokens of a context before a provider counts it. The caller passes the count of a text as a
 * function: a real tokenizer (runtime/turn/tokenizer.ts), or `roughTokens`.
 *
 * The wrapping that providers add (roles, names, ids) is a fixed number per element. Images and files have a
 * flat count, because their tokens depend on the provider. Hidden provider reasoning is not counted;
 * `corrected` makes up for all of this from the provider's counts.
 */
import type { MessagePart, ContextPart, ToolDefinition } from "./part.ts";

export type CountTokens = (text: string) => number;

/** The most that one of the large providers charges for an image of common size. */
export const imageTokens = 1_600;
export const fileTokens = 3_000;
const frame = { message: 4, call: 8, result: 8, tool: 12 } as const;

/**
 * Tokens of each part, in order. Of several `tools` parts only the last is sent, so the others count zero.
 */
export function estimateParts(
  parts: readonly ContextPart[],
  count: CountTokens = roughTokens,
  known?: PartTokens,
): number[] {
  const lastTools = parts.findLastIndex(({ part }) => part === "tools");
  return parts.map((part, place) => {
    if (part.part === "tools" && place !== lastTools) return 0;
    const tokens = known?.get(part) ?? partTokens(part, count);
    known?.set(part, tokens);
    return tokens;
  });
}

/** Counts of parts that were counted before. */
type PartTokens = Pick<WeakMap<ContextPart, number>, "get" | "set">;

/** Tokens of the whole context. */
export function estimateTokens(parts: readonly ContextPart[], count: CountTokens = roughTokens): number {
  return estimateParts(parts, count).reduce((sum, tokens) => sum + tokens, 0);
}

function partTokens(part: ContextPart, count: CountTokens): number {
  switch (part.part) {
    case "settings":
      return 0;
    case "tools":
      return part.tools.reduce((sum, tool) => sum + toolTokens(tool, count), 0);
    case "system":
      return frame.message + count(part.text);
    case "message":
      return frame.message + messageTokens(part, count);
  }
}

const toolTokens = ({ name, description, input }: ToolDefinition, count: CountTokens): number =>
  frame.tool + count(name) + count(description) + count(JSON.stringify(input));

function messageTokens(part: MessagePart, count: CountTokens): number {
  let sum = 0;
  for (const block of part.content) {
    switch (block.type) {
      case "text":
      case "reasoning":
        sum += count(block.text);
        break;
      case "image":
        sum += imageTokens;
        break;
      case "file":
        sum += fileTokens;
        break;
      case "tool-call":
        sum += frame.call + count(block.tool) + count(JSON.stringify(block.input));
        break;
      case "tool-result":
        sum += frame.result + count(block.text) + (block.images?.length ?? 0) * imageTokens;
        break;
    }
  }
  return sum;
}

/**
 * Tokens of a text without a tokenizer. Each character has a weight: ASCII letters come about five to a
 * token, including the space before a word. Digits come three to a token, and the space before them is a
 * separate one. Punctuation comes about two to a token. Other alphabets come about three letters to a token,
 * ideographs and kana one and a half; symbols and emoji take a token or more each. Runs of white space cost
 * little. For prose, code and JSON the result is mostly within 25% of real tokenizers.
 */
export function roughTokens(text: string): number {
  let sum = 0;
  let isSpace = false;
  let digits = 0;
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    const wasSpace = isSpace;
    isSpace = unit === 32 || (unit >= 9 && unit <= 13);
    digits = unit >= 48 && unit <= 57 ? digits + 1 : 0;
    if (digits > 0) sum += (digits % 3 === 1 ? 1 : 0) + (digits === 1 && wasSpace ? 0.9 : 0);
    else if (isSpace) sum += wasSpace || unit === 32 ? 0.05 : 0.6;
    else sum += weight(unit);
  }
  return Math.ceil(sum);
}

function weight(unit: number): number {
  if (unit < 128) return isLetter(unit) ? 0.22 : 0.55;
  if (unit < 0x2000) return 0.35;
  if (unit >= 0x3040 && unit <= 0xd7af) return 0.7;
  // Half of a character outside the basic plane, or a symbol.
  return unit >= 0xd800 && unit <= 0xdfff ? 1 : 0.9;
}

const isLetter = (unit: number): boolean => (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90);

/** A larger ratio, from an odd provider count, would spoil every later estimate. */
const ratioMax = 3;

/**
 * The estimate of the next context, corrected by the provider's count of the last one. For a grown context,
 * the known count plus the estimate of the new part; a shrunken one is scaled.
 */
export function corrected(estimate: number, lastEstimated: number, lastActual: number): number {
  if (lastEstimated <= 0 || lastActual <= 0) return estimate;
  const ratio = Math.min(ratioMax, Math.max(1 / ratioMax, lastActual / lastEstimated));
  const grown = estimate - lastEstimated;
  return Math.round(grown >= 0 ? lastActual + grown * ratio : estimate * ratio);
}

/** The relative error of an estimate: 0.1 is 10% too high. Null if the provider counted nothing. */
export function estimateError(lastEstimated: number, lastActual: number): number | null {
  return lastActual <= 0 ? null : (lastEstimated - lastActual) / lastActual;
}
