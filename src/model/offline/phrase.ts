/** The phrases it understands, and the tool call of each. The first match wins. */
import { type ItemKind, itemKinds } from "../../core/item/kind.ts";
import { present } from "../../core/present.ts";
import { jsonOf, keyOf, type KnownText } from "./known.ts";
import type { MaskedText } from "./quote.ts";

export interface Wish {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface PhraseFacts {
  /** Items known when the message arrived: an item to forget has a kind. */
  readonly items: readonly KnownText[];
  /** Names of offered tools; any of them can be called by its name. */
  readonly offered: readonly string[];
  /** Milliseconds since 1970; null without a clock, and then "tomorrow" is in a day. */
  readonly nowMs: number | null;
}

type Pieces = Readonly<Record<string, string | undefined>>;

interface PhraseReading extends PhraseFacts {
  /** The named groups as they matched, with quoted pieces still masked. */
  readonly raw: Pieces;
  readonly masked: MaskedText;
}

/**
 * A form, and the tool whose arguments its named groups are; or a function of the groups, without quotes.
 * Null: the form does not fit after all.
 */
type Phrase = readonly [
  form: RegExp,
  wish: string | ((pieces: Pieces, reading: PhraseReading) => readonly Wish[] | null),
];

export const questions = /\?$|^(?:what|which|who|whom|where|when|why|how)\b/i;

/** First words of the phrases below, and of questions: where a new piece of a message may begin. */
const heads = new Set(
  [
    "remember don't note keep record forget retract drop decide we i task todo to-do add new done finished",
    "completed mark artifact clear remove empty scratch jot recall list show read cat open write save put",
    "replace change ls dir find look grep search run execute shell $ query sql select send message tell fork",
    "branch sleep wait pause call use invoke what what's which who where when why how hi hello hey thanks",
    "thank help please can could",
  ].flatMap((line) => line.split(" ")),
);

export function isHead(text: string, { offered }: PhraseFacts): boolean {
  const [word = ""] = text.trim().split(/[\s:?,]/, 1);
  return heads.has(word.toLowerCase()) || offered.includes(word);
}

/** The calls of the first form that fits; null when none does. */
export function wishesIn(text: string, masked: MaskedText, known: PhraseFacts): readonly Wish[] | null {
  for (const [form, wish] of phrases) {
    const match = form.exec(text);
    if (match === null) continue;
    const raw: Pieces = { ...match.groups };
    const plain = Object.entries(raw).map(([name, piece]) => [name, piece && masked.plain(piece)]);
    const pieces = Object.fromEntries(plain) as Pieces;
    const wishes = typeof wish === "string" ? call(wish, pieces) : wish(pieces, { ...known, raw, masked });
    if (wishes !== null) return wishes;
  }
  return null;
}

/** A whole text, put together from pieces. */
const joined = (...pieces: readonly RegExp[]): RegExp =>
  new RegExp(`^${pieces.map(({ source }) => source).join("")}$`, "is");

const call = (tool: string, input: Readonly<Record<string, unknown>>): Wish[] => [
  { tool, input: present(input) },
];
const record = (kind: ItemKind, key: string, value: unknown, more: object = {}): Wish[] | null =>
  key === "" ? null : call("record", { kind, key, value, ...more });

const itemPhrases: readonly Phrase[] = [
  [/^(?:remember|don't forget) to (?<what>.+)$/i, openTask],
  [
    joined(
      /(?:forget|retract)(?: about)?(?: the)?/,
      /(?: (?<named>fact|decision|task|artifact|constraint|preference|hypothesis|finding))?/,
      / (?<what>.+?)(?: because (?<because>.+))?/,
    ),
    ({ named, what = "", because }, { items }) => {
      const isMeant = (item: KnownText): boolean => keyOf(item.key) === keyOf(what);
      const kind = named?.toLowerCase() ?? items.findLast(isMeant)?.kind ?? "fact";
      const exact = items.findLast((item) => item.kind === kind && isMeant(item))?.key ?? keyOf(what);
      return call("retract", { kind, key: exact, because });
    },
  ],
  [
    joined(
      /(?:decide|we decided|i decided|record (?:a |the )?decision)(?: on| to| that)?:?/,
      / (?<what>.+?)(?:,? (?:because|since)(?: of)? (?<because>.+))?/,
    ),
    ({ because = "it was asked for, without a reason" }, { raw: { what = "" }, masked: { plain } }) => {
      const [, name, value] = /^([^\s:]+(?: [^\s:]+){0,3}): (.+)$/.exec(what) ?? [];
      return record("decision", keyOf(plain(name ?? what)), plain(value ?? what), { because });
    },
  ],
  [/^(?:task|todo|to-do|add (?:a )?task|new task|record (?:a )?task)(?: to)?:? (?<what>.+)$/i, openTask],
  [
    /^(?:remember|note|keep in mind|record)(?: the)?(?: (?<kind>fact|artifact))?(?: that)?:? (?<said>.+)$/i,
    state,
  ],
  [/^(?:done|finished|completed)(?: the)?(?: with)?(?: task)?:? (?<what>.+)$/i, endTask],
  [/^mark(?: the)?(?: task)? (?<what>.+?)(?: as)? (?<status>done|dropped|open)$/i, endTask],
  [
    /^drop(?: the)? task:? (?<what>.+)$/i,
    (pieces, known) => endTask({ ...pieces, status: "dropped" }, known),
  ],
  [/^(?<kind>artifact):? (?<said>.+)$/i, state],
  [/^(?:clear|remove|empty) scratch (?<key>.+)$/i, ({ key = "" }) => call("scratch", { key: keyOf(key) })],
  [
    /^(?:scratch|jot down):? (?<key>.+?)(?: is | are |: | = )(?<value>.+)$/i,
    ({ key = "", value = "" }) => call("scratch", { key: keyOf(key), value: valueOf(value) }),
  ],
  [
    /^recall(?: the)? (?:position |seq |#)?(?<from>\d+)(?:(?: to |-|–)(?<to>\d+))?$/i,
    ({ from, to }) => call("recall", { fromSeq: Number(from), toSeq: to && Number(to) }),
  ],
  [
    joined(
      /(?:recall|list|show)(?: (?:all|the|my|our))*/,
      / (?<kind>fact|decision|task|artifact|constraint|preference|hypothesis|finding)(?:s|s? (?<key>\S.*))?/,
    ),
    ({ kind, key }) => call("recall", { kind: kind?.toLowerCase(), key }),
  ],
  [/^recall (?<text>.+)$/i, "recall"],
];

const filePhrases: readonly Phrase[] = [
  [
    /^(?:read|show)(?: me)? lines? (?<from>\d+)(?:(?: to |-|–)(?<to>\d+))? (?:of|from|in) (?<path>\S+)$/i,
    ({ from, to = from, path }) => {
      const lines = Math.max(1, Number(to) - Number(from) + 1);
      return call("read_file", { path, fromLine: Number(from), lines });
    },
  ],
  [/^(?:read|cat)(?: me)?(?: the)?(?: files?)? (?<paths>.+)$/i, readAll],
  [/^(?:open|show)(?: me)?(?: the)?(?: file)? (?<paths>\S*[./]\S+)$/i, readAll],
  [/^what(?:'s| is)? (?:is )?in (?:the file )?(?<paths>\S*\.\w+)\??$/i, readAll],
  [/^what does (?<paths>\S*\.\w+) say\??$/i, readAll],
  [
    joined(
      /(?:write|save|put)(?: (?:this|the following))? (?:to|in|into)/,
      / (?<path>\S*[./]\S*?|\uE000\d+\uE001):?\s+(?<text>.+)/,
    ),
    "write_file",
  ],
  [
    joined(
      /(?:write|save|put) (?<text>.+) (?:to|in|into)/,
      / (?:(?:the )?file (?<path>\S+)|(?<path>\S*[./]\S*|\uE000\d+\uE001))/,
    ),
    "write_file",
  ],
  [/^(?:replace|change) (?<find>.+) (?:with|by|to) (?<replace>.*?) in (?<path>\S+)$/is, "edit_file"],
  [/^(?:list|show)(?: me)?(?: all)?(?: the)? files(?: (?:in|of|below|under) (?<path>\S+))?$/i, "list_files"],
  [/^(?:ls|list|dir)(?: (?<path>\S*[./]\S*))?$/i, "list_files"],
  [
    joined(
      /(?:find|look for)(?: all)?(?: the)?(?: files)?(?: named| called| matching)?/,
      / (?<pattern>\S*[*?.{]\S*|\uE000\d+\uE001)(?: (?:in|below|under) (?<path>\S+))?/,
    ),
    "find_files",
  ],
  [
    /^(?:grep|search)(?: the files)?(?: for)? (?<pattern>.+?)(?: (?:in|below|under) (?<path>\S+))?$/i,
    "grep_files",
  ],
];

const otherPhrases: readonly Phrase[] = [
  [/^(?:run|execute|shell:?|\$) (?:the command )?(?<command>.+)$/is, "shell"],
  [/^(?:query|sql):? (?<sql>.+)$/is, "query_database"],
  [
    /^(?<sql>select\s.+\sfrom\s.+|select \S+)$/is,
    (_, { raw, masked }) => call("query_database", { sql: masked.exact(raw["sql"] ?? "") }),
  ],
  [/^(?:send|message|tell) (?:session )?(?<to>ses_[0-9a-z]+)(?: that|:)? (?<text>.+)$/is, "send"],
  [/^send (?<text>.+) to (?:session )?(?<to>\S+)$/is, "send"],
  [/^(?:fork|branch)(?: off)?(?: this session)?(?: to| and| for|:) (?<objective>.+)$/is, "fork"],
  [/^(?:sleep|wait|pause)$/i, "sleep"],
  [/^(?:sleep|wait|pause) (?:until|till) (?<moment>.+?)$/i, sleepUntil],
  [/^(?:sleep|wait|pause) (?:for )?(?<length>.+?)$/i, sleepFor],
  [
    joined(
      /(?:(?:call|use|invoke)(?: the)?(?: tool)? )?/,
      /(?<tool>[A-Za-z0-9_-]+)(?: tool)?(?: with)?(?: (?<given>.+))?/,
    ),
    ({ tool = "" }, { raw: { given = "{}" }, masked, offered }) =>
      offered.includes(tool) ? toolCall(tool, masked.exact(given)) : null,
  ],
];

const phrases: readonly Phrase[] = [...itemPhrases, ...filePhrases, ...otherPhrases];

function openTask({ what = "" }: Pieces): Wish[] | null {
  return record("task", keyOf(what), what, { status: "open" });
}

function endTask({ what = "", status = "done" }: Pieces, { items }: PhraseReading): Wish[] | null {
  const task = items.findLast((item) => item.kind === "task" && keyOf(item.key) === keyOf(what));
  return record("task", task?.key ?? keyOf(what), task?.value ?? what, { status: status.toLowerCase() });
}

/** `K is V`, several of them joined by "and"; without an "is" the whole sentence is the value. */
function state(
  { kind = "fact" }: Pieces,
  { raw: { said = "" }, masked: { plain } }: PhraseReading,
): Wish[] | null {
  const [whole = said, because] = said.split(/,? because (.+)$/is);
  const more = present({ because: because && plain(because) });
  const several = whole.split(/,? and (?=(?:the |our |my )?\S+ (?:is|are|=) )/i);
  const wishes = several.map((piece) => {
    const [, name = piece, value] =
      /^(.{1,100}?)(?:\s+(?:is|are|as|=)\s+|\s*[:=]\s*)(.+)$/is.exec(piece) ?? [];
    const stated = value === undefined ? plain(piece) : valueOf(plain(value));
    return record(kind.toLowerCase(), keyOf(plain(name)), stated, more);
  });
  return wishes.some((wish) => wish === null) ? null : wishes.flatMap((wish) => wish ?? []);
}

/** A number, a boolean or a JSON object is parsed; anything else is text. */
function valueOf(text: string): unknown {
  if (/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(text)) return Number(text);
  if (text === "true" || text === "false") return text === "true";
  return /^[[{]/.test(text) ? (jsonOf(text) ?? text) : text;
}

function readAll(_: Pieces, { raw: { paths = "" }, masked: { plain } }: PhraseReading): Wish[] {
  return paths
    .split(/,\s*(?:and\s+)?|\s+and\s+/i)
    .flatMap((path) => call("read_file", { path: plain(path) }));
}

function toolCall(tool: string, given: string): Wish[] | null {
  const json = given.trim().startsWith("{") ? jsonOf(given) : undefined;
  if (typeof json === "object" && json !== null) return call(tool, json as Record<string, unknown>);
  const fields = [...given.matchAll(/([\w-]+)\s*=\s*("[^"]*"|\S+)/g)];
  if (fields.length === 0 && given !== "{}") return null;
  const unquoted = (value: string): unknown => valueOf(value.replace(/^"|"$/g, ""));
  return call(tool, Object.fromEntries(fields.map(([, name = "", value = ""]) => [name, unquoted(value)])));
}

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

function sleepFor({ length = "" }: Pieces): Wish[] | null {
  const unit = /(s|m|h|d|w)(?:ec(?:ond)?s?|in(?:ute)?s?|ours?|ays?|eeks?)?/;
  const [, count, letter = ""] = joined(/(an?|\d+(?:\.\d+)?)\s*/, unit).exec(length) ?? [];
  if (count === undefined) return null;
  const times = /^an?$/i.test(count) ? 1 : Number(count);
  return call("sleep", { forSeconds: times * (seconds[letter.toLowerCase()] ?? 1) });
}

function sleepUntil({ moment = "" }: Pieces, { nowMs }: PhraseReading): Wish[] | null {
  if (/^tomorrow$/i.test(moment)) {
    if (nowMs === null) return call("sleep", { forSeconds: 86_400 });
    const midnight = (Math.floor(nowMs / 86_400_000) + 1) * 86_400_000;
    return call("sleep", { until: new Date(midnight).toISOString() });
  }
  const form = /^(\d{4}-\d{2}-\d{2})(?:[T ](?:at )?(\d{2}:\d{2})(:\d{2})?(Z|[+-]\d{2}:\d{2})?)?$/;
  const [, date, time, second = ":00", zone = "Z"] = form.exec(moment) ?? [];
  if (date === undefined) return null;
  return call("sleep", { until: time === undefined ? date : `${date}T${time}${second}${zone}` });
}

/** Words that name a kind of item, for questions. */
export const kindNamed = (text: string): ItemKind | undefined =>
  itemKinds.find((kind) => new RegExp(`\\b${kind}s?\\b`, "i").test(text));
