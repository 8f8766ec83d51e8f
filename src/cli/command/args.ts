/**
 * Parses the words of a command line into the values of a verb's definition.
 *
 * Options are `--name value`, `--name=value` or `-x value`, before or after the arguments; `--` ends them. A
 * word that begins like a negative number is an argument. An unknown option is refused with the nearest one.
 */
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { isOfZone, parseComing, parseMoment, parseSpan } from "../format/moment.ts";
import { localTime } from "../../runtime/read/time-place.ts";
import type { ArgNames, Option, Options, Verb } from "./verb.ts";

/** Options of every verb; they may stand before it, too. */
export const globalOptions = {
  store: {
    type: "text",
    value: "STORE",
    what: "the store, a path or postgres://…; by default SKEIN_STORE, or else ./skein.db",
  },
  json: { type: "flag", what: "answer in JSON: one value, or one a line for lists" },
  "no-color": { type: "flag", what: "no colors, as with NO_COLOR; there are none outside a terminal" },
  help: { type: "flag", short: "h", what: "show this help" },
} as const satisfies Options;

type Value = string | number | boolean | readonly string[] | undefined;

export interface ParsedWords {
  readonly args: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly options: Readonly<Record<string, Value>>;
  /** Times that were typed without a zone, as they were understood: `--since 2026-11-01: 2026-… +01:00`. */
  readonly zoned: readonly string[];
}

/** The verb, and all other words. Only options of every verb may stand before it. */
export function findVerb(words: readonly string[]): {
  readonly name: string | null;
  readonly rest: string[];
} {
  for (let place = 0; place < words.length; place++) {
    const word = words[place] ?? "";
    if (!isOption(word)) return { name: word, rest: words.toSpliced(place, 1) };
    const { option, inline } = lookUp(null, word, globalOptions);
    if (option.type !== "flag" && inline === undefined) place++;
  }
  return { name: null, rest: [...words] };
}

export function parseWords(verb: Verb, words: readonly string[], nowMs: number): ParsedWords {
  const where = verb.name;
  const known: Options = { ...verb.options, ...globalOptions };
  const given = new Map<string, string[]>();
  const positional: string[] = [];
  for (let place = 0; place < words.length; place++) {
    const word = words[place] ?? "";
    if (word === "--") {
      positional.push(...words.slice(place + 1));
      break;
    }
    if (!isOption(word)) {
      positional.push(word);
      continue;
    }
    const { name, option, inline } = lookUp(where, word, known);
    if (option.type === "flag" && inline !== undefined) {
      throw new SkeinError("invalid", `${where}: --${name} takes no value`, {
        hint: `remove ${quote(inline)}`,
      });
    }
    const text = option.type === "flag" ? "" : (inline ?? follower(where, name, words[++place]));
    given.set(name, [...(given.get(name) ?? []), text]);
  }
  const options = Object.fromEntries(
    Object.entries(known).map(([name, option]) => [name, valueOf(name, option, given.get(name), nowMs)]),
  );
  const zoned = Object.entries(known).flatMap(([name, { type }]) => {
    const typed = given.get(name)?.at(-1) ?? "";
    const ms = options[name];
    const isTime = (type === "time" || type === "coming") && typeof ms === "number" && isOfZone(typed);
    return isTime ? [`--${name} ${typed}: ${localTime(ms)}`] : [];
  });
  // A request for help needs no arguments.
  const args = options["help"] === true ? {} : parseArgs(verb, positional);
  return { args, options, zoned };
}

/** A dash alone is standard input, and a negative number is a value. */
const isOption = (word: string): boolean => /^-[^\d.]/.test(word);

function lookUp(
  where: string | null,
  word: string,
  known: Options,
): { readonly name: string; readonly option: Option; readonly inline: string | undefined } {
  const [, typed = "", inline] = /^(--?[^=]*)(?:=(.*))?$/s.exec(word) ?? [];
  const entry = Object.entries(known).find(
    ([name, { short }]) => typed === `--${name}` || typed === `-${short}`,
  );
  if (entry !== undefined) return { name: entry[0], option: entry[1], inline };
  const near = nearest(
    typed,
    Object.keys(known).map((name) => `--${name}`),
  );
  if (where === null) {
    throw new SkeinError("invalid", `unknown option ${quote(typed)} before the verb`, {
      hint: near === undefined ? "put a verb's options after the verb" : `did you mean ${near}?`,
    });
  }
  throw new SkeinError("invalid", `${where}: unknown option ${quote(typed)}`, {
    hint:
      near === undefined
        ? `"skein ${where} --help" lists the options; put a text that begins with a dash after --`
        : `did you mean ${near}?`,
  });
}

function follower(where: string, name: string, next: string | undefined): string {
  if (next !== undefined && (!isOption(next) || /\s/.test(next))) return next;
  const meant = next === undefined ? "" : `; if ${quote(next)} is meant, write --${name}=${next}`;
  throw new SkeinError("invalid", `${where}: --${name}: value missing`, {
    hint: `pass it after --${name}${meant}`,
  });
}

function valueOf(name: string, option: Option, texts: readonly string[] | undefined, nowMs: number): Value {
  if (option.type === "flag") return texts !== undefined;
  if (option.type === "list") return texts ?? [];
  const text = texts?.at(-1);
  if (text === undefined) return undefined;
  if (option.once !== undefined && (texts?.length ?? 0) > 1)
    throw new SkeinError("invalid", `--${name}: given more than once`, { hint: option.once });
  switch (option.type) {
    case "text":
      return option.choices === undefined ? text : oneOf(`--${name}`, text, option.choices);
    case "seq":
      return parseSeq(`--${name}`, text);
    case "place":
      return parsePlace(text);
    case "count":
      return wholeNumber(`--${name}`, text, option.least ?? 0);
    case "number":
      return parseNumber(`--${name}`, text);
    case "time":
      return parseMoment(`--${name}`, text, nowMs);
    case "coming":
      return parseComing(`--${name}`, text, nowMs);
    case "span":
      return parseSpan(`--${name}`, text);
  }
}

/** One of some words, or an error with the nearest. */
export function oneOf<const T extends string>(what: string, text: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  const near = nearest(text, choices);
  throw new SkeinError("invalid", `${what}: expected one of ${choices.join(", ")}, got ${quote(text)}`, {
    hint: near === undefined ? `one of ${choices.join(", ")}` : `did you mean ${near}?`,
  });
}

/** Which of these options were given, as they are typed. */
export const typedOf = <N extends string>(
  given: Readonly<Partial<Record<N, Value>>>,
  names: readonly N[],
): string[] =>
  names
    .filter((name) => {
      const value = given[name];
      return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
    })
    .map((name) => `--${name}`);

/** Options of another action are probably a mistake. */
export function checkAction<A extends string, N extends string>(
  verb: string,
  action: A,
  given: Readonly<Partial<Record<N, Value>>>,
  takes: Readonly<Record<A, readonly N[]>>,
): void {
  const actions = Object.entries(takes) as [A, readonly N[]][];
  const others = [...new Set(actions.flatMap(([, names]) => names))].filter(
    (name) => !takes[action].includes(name),
  );
  const found = typedOf(given, others);
  if (found.length === 0) return;
  const whose = found.map((typed) => {
    const those = actions.filter(([, names]) => names.some((name) => typed === `--${name}`));
    return `${typed} is for ${those.map(([name]) => name).join(", ")}`;
  });
  throw new SkeinError("invalid", `${verb} ${action}: unexpected ${found.join(", ")}`, {
    hint: whose.join("; "),
  });
}

const parseSeq = (what: string, text: string): number => wholeNumber(what, text, 1);

/** Digits are a position, anything else is the name of a checkpoint. */
export const parsePlace = (text: string): string | number =>
  /^\d+$/.test(text) ? wholeNumber("the position", text, 1) : text;

function wholeNumber(what: string, text: string, least: number): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new SkeinError("invalid", `${what}: expected an integer, got ${quote(text)}`, {
    hint: `an integer from ${least}`,
  });
}

export function parseNumber(what: string, text: string): number {
  const number = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(number)) return number;
  throw new SkeinError("invalid", `${what}: expected a number, got ${quote(text)}`, {
    hint: "for example 2 or 0.5",
  });
}

export function parseArgs(verb: Verb, words: readonly string[]): ParsedWords["args"] {
  const hint = `usage: ${["skein", verb.name, ...verb.args.map(shownArg)].join(" ")}`;
  const args: Record<string, string | readonly string[] | undefined> = {};
  let place = 0;
  for (const arg of verb.args) {
    const name = arg.replace(/(\.\.\.)?\??$/, "");
    const rest = words.slice(place);
    if (rest.length === 0 && !arg.endsWith("?")) {
      throw new SkeinError("invalid", `${verb.name}: ${name} is required`, { hint });
    }
    const all = arg.includes("...");
    args[name] = all ? rest : rest[0];
    place += all ? rest.length : 1;
  }
  const extra = words[place];
  if (extra === undefined) return args;
  // An argument may be a token, which no message repeats.
  const shown = extra.startsWith("skn_") ? "a token" : quote(extra);
  throw new SkeinError("invalid", `${verb.name}: unexpected argument ${shown}`, {
    hint: verb.args.length === 0 ? `${hint} [options]` : `${hint}; quote a text with spaces`,
  });
}

/** `ID`, `[TEXT]`, `KEY=VALUE...`. */
export function shownArg(arg: ArgNames[number]): string {
  return arg.endsWith("?") ? `[${arg.slice(0, -1)}]` : arg;
}
