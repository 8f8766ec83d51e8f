/** The phrases it understands, and the tool call of each. The first match wins. */
import { type ItemKind, itemKinds } from "../../core/item/events.ts";
import { jsonOf, keyOf, type Known } from "./known.ts";
import type { Masked } from "./quote.ts";

export interface Wish {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface Circumstances {
  /** Items known when the message arrived: an item to forget has a kind. */
  readonly items: readonly Known[];
  /** Names of offered tools; any of them can be called by its name. */
  readonly offered: readonly string[];
  /** Milliseconds since 1970; null without a clock, and then "tomorrow" is in a day. */
  readonly nowMs: number | null;
}

interface Phrase {
  readonly form: RegExp;
  /** From the captured groups. Null: no match after all. */
  readonly wish: (caught: readonly string[], masked: Masked, circumstances: Circumstances) => Wish[] | null;
}

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

export function isHead(text: string, { offered }: Circumstances): boolean {
  const [word = ""] = text.trim().split(/[\s:?,]/, 1);
  return heads.has(word.toLowerCase()) || offered.includes(word);
}

/** A whole text, put together from pieces. */
const joined = (...pieces: readonly RegExp[]): RegExp =>
  new RegExp(`^${pieces.map(({ source }) => source).join("")}$`, "is");

const one = (tool: string, input: Readonly<Record<string, unknown>>): Wish[] => [{ tool, input }];
const record = (kind: ItemKind, key: string, value: unknown, more: object = {}): Wish[] | null =>
  key === "" ? null : one("record", { kind, key, value, ...more });

const itemPhrases: readonly Phrase[] = [
  {
    form: /^(?:remember|don't forget) to (.+)$/i,
    wish: ([what = ""], { plain }) => record("task", keyOf(plain(what)), plain(what), { status: "open" }),
  },
  {
    form: joined(
      /(?:forget|retract)(?: about)?(?: the)?(?: (fact|decision|task|artifact))?/,
      / (.+?)(?: because (.+))?/,
    ),
    wish: ([named, what = "", because], { plain }, { items }) => {
      const key = keyOf(plain(what));
      const kind = named?.toLowerCase() ?? items.findLast((item) => keyOf(item.key) === key)?.kind ?? "fact";
      const exact = items.findLast((item) => item.kind === kind && keyOf(item.key) === key)?.key ?? key;
      return one("retract", { kind, key: exact, ...reason(because, plain) });
    },
  },
  {
    form: joined(
      /(?:decide|we decided|i decided|record (?:a |the )?decision)(?: on| to| that)?:?/,
      / (.+?)(?:,? (?:because|since)(?: of)? (.+))?/,
    ),
    wish: ([what = "", because], { plain }) => {
      const [, name, value] = /^([^\s:]+(?: [^\s:]+){0,3}): (.+)$/.exec(what) ?? [];
      const reason = because === undefined ? "it was asked for, without a reason" : plain(because);
      return record("decision", keyOf(plain(name ?? what)), plain(value ?? what), { because: reason });
    },
  },
  {
    form: /^(?:task|todo|to-do|add (?:a )?task|new task|record (?:a )?task)(?: to)?:? (.+)$/i,
    wish: ([what = ""], { plain }) => record("task", keyOf(plain(what)), plain(what), { status: "open" }),
  },
  {
    form: /^(?:remember|note|keep in mind|record)(?: the)?(?: (fact|artifact))?(?: that)?:? (.+)$/i,
    wish: ([kind = "fact", said = ""], masked) => statements(kind.toLowerCase() as ItemKind, said, masked),
  },
  {
    form: /^(?:done|finished|completed)(?: the)?(?: with)?(?: task)?:? (.+)$/i,
    wish: ([what = ""], { plain }, { items }) => ended(plain(what), "done", items),
  },
  {
    form: /^mark(?: the)?(?: task)? (.+?)(?: as)? (done|dropped|open)$/i,
    wish: ([what = "", status = ""], { plain }, { items }) => ended(plain(what), status.toLowerCase(), items),
  },
  {
    form: /^drop(?: the)? task:? (.+)$/i,
    wish: ([what = ""], { plain }, { items }) => ended(plain(what), "dropped", items),
  },
  {
    form: /^artifact:? (.+)$/i,
    wish: ([said = ""], masked) => statements("artifact", said, masked),
  },
  {
    form: /^(?:clear|remove|empty) scratch (.+)$/i,
    wish: ([key = ""], { plain }) => one("scratch", { key: keyOf(plain(key)) }),
  },
  {
    form: /^(?:scratch|jot down):? (.+?)(?: is | are |: | = )(.+)$/i,
    wish: ([key = "", value = ""], { plain }) =>
      one("scratch", { key: keyOf(plain(key)), value: valueOf(plain(value)) }),
  },
  {
    form: /^recall(?: the)? (?:position |seq |#)?(\d+)(?:(?: to |-|–)(\d+))?$/i,
    wish: ([from = "", to]) =>
      one("recall", { fromSeq: Number(from), ...(to === undefined ? {} : { toSeq: Number(to) }) }),
  },
  {
    form: /^(?:recall|list|show)(?: (?:all|the|my|our))* (fact|decision|task|artifact)(?:s|s? (\S.*))?$/i,
    wish: ([kind = "", key], { plain }) =>
      one("recall", { kind: kind.toLowerCase(), ...(key === undefined ? {} : { key: plain(key) }) }),
  },
  { form: /^recall (.+)$/i, wish: ([text = ""], { plain }) => one("recall", { text: plain(text) }) },
];

const filePhrases: readonly Phrase[] = [
  {
    form: /^(?:read|show)(?: me)? lines? (\d+)(?:(?: to |-|–)(\d+))? (?:of|from|in) (\S+)$/i,
    wish: ([from = "", to = from, path = ""], { plain }) => {
      const lines = Math.max(1, Number(to) - Number(from) + 1);
      return one("read_file", { path: plain(path), fromLine: Number(from), lines });
    },
  },
  {
    form: /^(?:read|cat)(?: me)?(?: the)?(?: files?)? (.+)$/i,
    wish: ([paths = ""], { plain }) => reads(paths, plain),
  },
  {
    form: /^(?:open|show)(?: me)?(?: the)?(?: file)? (\S*[./]\S+)$/i,
    wish: ([paths = ""], { plain }) => reads(paths, plain),
  },
  {
    form: /^what(?:'s| is)? (?:is )?in (?:the file )?(\S*\.\w+)\??$|^what does (\S*\.\w+) say\??$/i,
    wish: ([first, second = ""], { plain }) => reads(first ?? second, plain),
  },
  {
    form: joined(
      /(?:write|save|put)(?: (?:this|the following))? (?:to|in|into)/,
      / (\S*[./]\S*?|\uE000\d+\uE001):?\s+(.+)/,
    ),
    wish: ([path = "", text = ""], { plain }) => one("write_file", { path: plain(path), text: plain(text) }),
  },
  {
    form: joined(
      /(?:write|save|put) (.+) (?:to|in|into)/,
      / (?:(?:the )?file (\S+)|(\S*[./]\S*|\uE000\d+\uE001))/,
    ),
    wish: ([text = "", named, path = ""], { plain }) =>
      one("write_file", { path: plain(named ?? path), text: plain(text) }),
  },
  {
    form: /^(?:replace|change) (.+) (?:with|by|to) (.*?) in (\S+)$/is,
    wish: ([find = "", replace = "", path = ""], { plain }) =>
      one("edit_file", { path: plain(path), find: plain(find), replace: plain(replace) }),
  },
  {
    form: /^(?:list|show)(?: me)?(?: all)?(?: the)? files(?: (?:in|of|below|under) (\S+))?$/i,
    wish: ([path], { plain }) => one("list_files", path === undefined ? {} : { path: plain(path) }),
  },
  {
    form: /^(?:ls|list|dir)(?: (\S*[./]\S*))?$/i,
    wish: ([path], { plain }) => one("list_files", path === undefined ? {} : { path: plain(path) }),
  },
  {
    form: joined(
      /(?:find|look for)(?: all)?(?: the)?(?: files)?(?: named| called| matching)?/,
      / (\S*[*?.{]\S*|\uE000\d+\uE001)(?: (?:in|below|under) (\S+))?/,
    ),
    wish: ([pattern = "", path], { plain }) =>
      one("find_files", { pattern: plain(pattern), ...(path === undefined ? {} : { path: plain(path) }) }),
  },
  {
    form: /^(?:grep|search)(?: the files)?(?: for)? (.+?)(?: (?:in|below|under) (\S+))?$/i,
    wish: ([pattern = "", path], { plain }) =>
      one("grep_files", { pattern: plain(pattern), ...(path === undefined ? {} : { path: plain(path) }) }),
  },
];

const otherPhrases: readonly Phrase[] = [
  {
    form: /^(?:run|execute|shell:?|\$) (?:the command )?(.+)$/is,
    wish: ([command = ""], { plain }) => one("shell", { command: plain(command) }),
  },
  {
    form: /^(?:query|sql):? (.+)$|^(select\s.+\sfrom\s.+|select \S+)$/is,
    wish: ([first, second = ""], { plain, exact }) =>
      one("query_database", { sql: first === undefined ? exact(second) : plain(first) }),
  },
  {
    form: /^(?:send|message|tell) (?:session )?(ses_[0-9a-z]+)(?: that|:)? (.+)$/is,
    wish: ([to = "", text = ""], { plain }) => one("send", { to: plain(to), text: plain(text) }),
  },
  {
    form: /^send (.+) to (?:session )?(\S+)$/is,
    wish: ([text = "", to = ""], { plain }) => one("send", { to: plain(to), text: plain(text) }),
  },
  {
    form: /^(?:fork|branch)(?: off)?(?: this session)?(?: to| and| for|:) (.+)$/is,
    wish: ([objective = ""], { plain }) => one("fork", { objective: plain(objective) }),
  },
  {
    form: /^(?:sleep|wait|pause)(?: (?:until|till) (.+?)| (?:for )?(.+?))?$/i,
    wish: ([until, length], { plain }, { nowMs }) =>
      until !== undefined
        ? sleepUntil(plain(until), nowMs)
        : length === undefined
          ? one("sleep", {})
          : sleepFor(plain(length)),
  },
  {
    form: /^(?:(?:call|use|invoke)(?: the)?(?: tool)? )?([A-Za-z0-9_-]+)(?: tool)?(?: with)?(?: (.+))?$/is,
    wish: ([tool = "", given = "{}"], { exact }, { offered }) =>
      offered.includes(tool) ? toolCall(tool, exact(given)) : null,
  },
];

export const phrases: readonly Phrase[] = [...itemPhrases, ...filePhrases, ...otherPhrases];

/** `K is V`, several of them joined by "and"; without an "is" the whole sentence is the value. */
function statements(kind: ItemKind, said: string, { plain }: Masked): Wish[] | null {
  const [plainSaid, because] = said.split(/,? because (.+)$/is);
  const whole = plainSaid ?? said;
  const several = whole.split(/,? and (?=(?:the |our |my )?\S+ (?:is|are|=) )/i);
  const more = reason(because, plain);
  const wishes = several.map((piece) => {
    const [, name, value] = /^(.{1,100}?)(?:\s+(?:is|are|as|=)\s+|\s*[:=]\s*)(.+)$/is.exec(piece) ?? [];
    return name === undefined || value === undefined
      ? record(kind, keyOf(plain(piece)), plain(piece), more)
      : record(kind, keyOf(plain(name)), valueOf(plain(value)), more);
  });
  return wishes.some((wish) => wish === null) ? null : wishes.flatMap((wish) => wish ?? []);
}

function ended(what: string, status: string, items: readonly Known[]): Wish[] | null {
  const key = keyOf(what);
  const task = items.findLast((item) => item.kind === "task" && keyOf(item.key) === key);
  return record("task", task?.key ?? key, task?.value ?? what, { status });
}

const reason = (because: string | undefined, plain: Masked["plain"]): object =>
  because === undefined ? {} : { because: plain(because) };

/** A number, a boolean or a JSON object is parsed; anything else is text. */
function valueOf(text: string): unknown {
  if (/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(text)) return Number(text);
  if (text === "true" || text === "false") return text === "true";
  return /^[[{]/.test(text) ? (jsonOf(text) ?? text) : text;
}

const reads = (paths: string, plain: Masked["plain"]): Wish[] =>
  paths
    .split(/,\s*(?:and\s+)?|\s+and\s+/i)
    .map((path) => ({ tool: "read_file", input: { path: plain(path) } }));

function toolCall(tool: string, given: string): Wish[] | null {
  const json = given.trim().startsWith("{") ? jsonOf(given) : undefined;
  if (typeof json === "object" && json !== null) return one(tool, json as Record<string, unknown>);
  const fields = [...given.matchAll(/([\w-]+)\s*=\s*("[^"]*"|\S+)/g)];
  if (fields.length === 0 && given !== "{}") return null;
  const named = fields.map(
    ([, name = "", value = ""]) => [name, valueOf(value.replace(/^"|"$/g, ""))] as const,
  );
  return one(tool, Object.fromEntries(named));
}

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

function sleepFor(length: string): Wish[] | null {
  const unit = /(s|m|h|d|w)(?:ec(?:ond)?s?|in(?:ute)?s?|ours?|ays?|eeks?)?/;
  const [, count, letter = ""] = joined(/(an?|\d+(?:\.\d+)?)\s*/, unit).exec(length) ?? [];
  if (count === undefined) return null;
  const times = /^an?$/i.test(count) ? 1 : Number(count);
  return one("sleep", { forSeconds: times * (seconds[letter.toLowerCase()] ?? 1) });
}

function sleepUntil(moment: string, nowMs: number | null): Wish[] | null {
  if (/^tomorrow$/i.test(moment)) {
    if (nowMs === null) return one("sleep", { forSeconds: 86_400 });
    const midnight = (Math.floor(nowMs / 86_400_000) + 1) * 86_400_000;
    return one("sleep", { until: new Date(midnight).toISOString() });
  }
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](?:at )?(\d{2}:\d{2})(:\d{2})?(Z|[+-]\d{2}:\d{2})?)?$/.exec(
    moment,
  );
  if (match === null) return null;
  const [, date = "", time, second = ":00", zone = "Z"] = match;
  return one("sleep", { until: time === undefined ? date : `${date}T${time}${second}${zone}` });
}

/** Words that name a kind of item, for questions. */
export const kindNamed = (text: string): ItemKind | undefined =>
  itemKinds.find((kind) => new RegExp(`\\b${kind}s?\\b`, "i").test(text));
