/**
 * Marks: how a crash test knows its records again. A write has a mark (`w3.17`: writer 3, its 17th write),
 * each of its records a token (`w3.17.2of5`), and each token a text that follows from it, so that a reader
 * knows what was written.
 */

export const tokensOf = (mark: string, parts: number): string[] =>
  Array.from({ length: parts }, (_, place) => `${mark}.${place + 1}of${parts}`);

export interface Token {
  readonly text: string;
  readonly mark: string;
  readonly part: number;
  readonly of: number;
}

const tokenPattern = /\bw\d+\.\d+\.\d+of\d+\b/;

/** The token in a record. The content's comes first: a body may repeat labels of the session before. */
export function tokenIn(record: { readonly body: unknown; readonly content?: unknown }): Token | null {
  const found =
    tokenPattern.exec(JSON.stringify(record.content) ?? "") ?? tokenPattern.exec(JSON.stringify(record.body));
  const text = found?.[0];
  if (text === undefined) return null;
  const [writer, count, place] = text.split(".");
  const [part, of] = (place ?? "").split("of").map(Number);
  return { text, mark: `${writer}.${count}`, part: part ?? 0, of: of ?? 0 };
}

const alphabet = "abcdefghijklmnopqrstuvwxyz 0123456789 é ü 漢 ";

/**
 * The text that goes with a token: most are short, some take several pages of the store, a few become blobs.
 * It is long enough on average for the store to be checkpointed now and then in a round.
 */
export function fillOf(token: string): string {
  let hash = 2_166_136_261;
  for (let place = 0; place < token.length; place++)
    hash = Math.imul(hash ^ token.charCodeAt(place), 16_777_619);
  const sort = (hash >>> 8) % 100;
  const sizeMax = sort < 70 ? 300 : sort < 90 ? 4_000 : sort < 98 ? 30_000 : 90_000;
  const size = (hash >>> 4) % sizeMax;
  const turned = `${alphabet.slice(sort % alphabet.length)} ${(hash >>> 0).toString(36)} `;
  return turned.repeat(Math.ceil(size / turned.length)).slice(0, size);
}
