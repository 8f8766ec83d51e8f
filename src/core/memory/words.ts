/**
 * The words of a text as memory compares them: without case and accents, split at `camelCase` and
 * `kebab-case`, stemmed, without stop words. Scripts without spaces between words are split into pairs of
 * characters. Stores index the words of logs in this form: after a change of it, older records are found by
 * their old words until `skein rebuild`.
 */
import { makeCache } from "../cache.ts";

/** Stop words, and words for work in general: the subject of the work is what counts. */
const empty = new Set(
  (
    "a about after again all also am an and any are as at be because been before being between " +
    "both but by can could did do does doing done down each either every few for from further get " +
    "gets got had has have having he her here hers him his how i if in into is it its itself just " +
    "let like may me might more most much must my need needs no nor not now of off on once one " +
    "only or other our ours out over own per please same shall she should since so some such than " +
    "that the their them then there these they this those through to too under until up upon us " +
    "use used using very via want wants was we were what when where which while who whom whose " +
    "why will with within without would yes yet you your yours add adding change changes check " +
    "create creating fix fixing go goes implement improve look make makes making new put run set " +
    "start stop take task tasks thing things try update updating work working write writing first " +
    "next last sure always never still way day today come comes coming came"
  ).split(" "),
);

const joined = /(\p{Ll}|\p{N})(?=\p{Lu})/gu;
const word = /[\p{L}\p{N}]+/gu;
const unspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]+$/u;
const accents = /[\u0300-\u036f]/g;

/** Words read of one text; a longer one has shown its subject by then. */
const wordsMax = 2_000;

/** In order, with repetitions. `forms` receives the first spelling of each. */
export function wordsOf(text: string, forms?: Map<string, string>): string[] {
  const head = text.length > wordsMax * 10 ? text.slice(0, wordsMax * 10) : text;
  const isPlain = !beyondAscii.test(head);
  const plain = isPlain ? head : head.normalize("NFKD").replace(accents, "").normalize("NFC");
  const found: string[] = [];
  for (const piece of plain
    .replace(joined, "$1 ")
    .toLowerCase()
    .match(isPlain ? asciiWord : word) ?? []) {
    if (found.length >= wordsMax) break;
    if (!isPlain && unspaced.test(piece)) found.push(...pairsOf(piece));
    else {
      const known = stemOf(piece);
      if (known === "") continue;
      found.push(known);
      if (forms !== undefined && !forms.has(known)) forms.set(known, piece);
    }
  }
  return found;
}

const beyondAscii = /[^\0-\x7f]/;
const asciiWord = /[a-z0-9]+/g;

/** Pure cache of recently used stems: words repeat. */
const stems = makeCache<string, string>(25_000);

/** Empty for a stop word. */
function stemOf(piece: string): string {
  const known = stems.get(piece);
  if (known !== undefined) return known;
  const says = !empty.has(piece) && (piece.length > 1 || /\p{N}/u.test(piece));
  const found = says ? stem(piece) : "";
  stems.set(piece, found);
  return found;
}

function pairsOf(piece: string): string[] {
  const signs = Array.from(piece);
  return signs.length < 2 ? signs : signs.slice(1).map((sign, place) => `${signs[place]}${sign}`);
}

/** The common stem of English word forms. Light: two words of different meaning stay distinct. */
export function stem(plain: string): string {
  if (plain.length < 4 || /\p{N}/u.test(plain)) return plain;
  let left = plain;
  if (/(?:ss|us|is)$/.test(left)) return left;
  if (left.endsWith("ies")) left = `${left.slice(0, -3)}y`;
  else if (/(?:ss|x|ch|sh|zz)es$/.test(left)) left = left.slice(0, -2);
  else if (left.endsWith("s")) left = left.slice(0, -1);
  for (const ending of ["ing", "ed", "ion", "ment"]) {
    const rest = left.slice(0, -ending.length);
    if (!left.endsWith(ending) || rest.length < 4 || !/[aeiouy]/.test(rest)) continue;
    left = /([bdgmnprt])\1$/.test(rest) ? rest.slice(0, -1) : rest;
    break;
  }
  return left.length > 4 && left.endsWith("e") ? left.slice(0, -1) : left;
}
