/**
 * A real tokenizer for text that no provider has counted yet: o200k_base, loaded when first needed. Other
 * providers' tokenizers differ from it by some percent; `corrected` in core/context/token-count.ts
 * compensates for that.
 *
 * Counts are cached by text, so that a step pays the tokenizer only for new text.
 */
import { makeCache } from "../../core/cache.ts";
import type { Digest } from "../../core/chain.ts";
import type { ContextPart } from "../../core/context/part.ts";
import { estimateParts, type CountTokens } from "../../core/context/token-count.ts";

export interface Tokenizer {
  /** Tokens of one text. */
  count(text: string): Promise<number>;
  /** The same for many texts in a row, once it is loaded. */
  counter(): Promise<CountTokens>;
  /** Tokens of each part, and of all of them. */
  estimate(
    parts: readonly ContextPart[],
  ): Promise<{ readonly tokens: number; readonly perPart: readonly number[] }>;
}

/** Cached counts. A key and a number each, so about ten megabytes at most. */
const keptCounts = 25_000;
/** Up to this length the text is its own key; a digest would cost more. */
const shortChars = 64;

export function makeTokenizer(world: { readonly digest: Digest }): Tokenizer {
  const counts = makeCache<string, number>(keptCounts);
  /** Of parts that a context keeps: they never change. */
  const byPart = new WeakMap<ContextPart, number>();

  const counting = (plain: CountTokens): CountTokens => {
    return (text) => {
      const key = text.length <= shortChars ? `=${text}` : world.digest("", text);
      const known = counts.get(key);
      if (known !== undefined) return known;
      const tokens = plain(text);
      counts.set(key, tokens);
      return tokens;
    };
  };

  return {
    count: async (text) => counting(await loadCount())(text),
    counter: async () => counting(await loadCount()),
    async estimate(parts) {
      const perPart = estimateParts(parts, counting(await loadCount()), byPart);
      return { tokens: perPart.reduce((sum, tokens) => sum + tokens, 0), perPart };
    },
  };
}

/** Pure cache: a library that is loaded once. */
let loading: Promise<CountTokens> | null = null;

/** Loading takes some tenths of a second and tens of megabytes, so it happens once and only on demand. */
function loadCount(): Promise<CountTokens> {
  loading ??= import("gpt-tokenizer/encoding/o200k_base").then(({ countTokens }) => {
    // Text that looks like a special token is plain text here, as it is for the provider.
    const options = { disallowedSpecial: new Set<string>() };
    return (text) => pieces(text).reduce((sum, piece) => sum + countTokens(piece, options), 0);
  });
  return loading;
}

/** The longest run without white space, or of it, that goes to the tokenizer in one piece. */
const runCharsMax = 256;

/**
 * Byte-pair merging takes the square of the length of a run: a megabyte of one letter would take minutes. So
 * runs are cut, which changes the count by less than one token a cut.
 */
function pieces(text: string): string[] {
  const found: string[] = [];
  let start = 0;
  let run = 0;
  let isSpace = false;
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    const wasSpace = isSpace;
    isSpace = unit === 32 || (unit >= 9 && unit <= 13);
    run = isSpace === wasSpace ? run + 1 : 1;
    const isLowHalf = unit >= 0xdc00 && unit <= 0xdfff;
    if (run <= runCharsMax || isLowHalf) continue;
    found.push(text.slice(start, place));
    start = place;
    run = 1;
  }
  found.push(text.slice(start));
  return found;
}
