/**
 * Chat commands: a slash, a verb of the command line, and its words without the session, which is the one of
 * the chat. They run as the command line runs them.
 */
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { loadVerb, verbNames } from "../command/verbs.ts";

export type TalkCommand =
  | { readonly do: "help" | "quit" | "items" | "go-on" | "clear"; readonly words: readonly string[] }
  | { readonly do: "switch"; readonly id: string }
  /** Words of a command line. */
  | { readonly do: "perform"; readonly words: readonly string[] };

/** Handled here, and not by a verb of the same name. */
const own: Readonly<Record<string, string>> = {
  help: "show this",
  items: "its facts, decisions, tasks and artifacts",
  run: "resume, after an approval from elsewhere or an error",
  switch: "talk to another session: /switch ID",
  handoff: "close it and continue in a new one that starts with its handoff: /handoff [OBJECTIVE]",
  quit: "leave; the session stays as it is",
};

/** The most useful verbs here, with their words; any other works as well. */
const useful: readonly (readonly [string, string])[] = [
  ["state", "its status, budget and items"],
  ["log", "its last events"],
  ["context, explain [SEQ]", "what the model is sent, and why"],
  ["compress", "make the context smaller"],
  ["record KIND KEY VALUE", "a fact, decision, task or artifact"],
  ["save NAME, rewind SEQ|NAME", "name a position; continue from an earlier one"],
  ["fork, clear", "branch into a new session; close it and start a fresh one"],
  ["rollover", "continue the work in a new session"],
  ["split [OBJECTIVE]", "give another task that came up its own session, and go there"],
  ["bind KIND …, grant TOOL RULE, tools", "the resources and rules of the session"],
  ["budget [--usd 2]", "limits of the session"],
  ["send TO TEXT", "a message to another session"],
  ["sleep --for 2h, suspend, activate, close", "pause it; resume it; end it"],
  ["cost, models, agents, ps", "and so on: skein help lists all verbs"],
];

export const helpRows: readonly (readonly [string, string])[] = [
  ...Object.entries(own).map(([name, what]) => [`/${name}`, what] as const),
  ...useful.map(([words, what]) => [`/${words.replaceAll(", ", ", /")}`, what] as const),
];

/** Those that chat themselves, or never end. */
const elsewhere: Readonly<Record<string, string>> = {
  ask: "type the text itself",
  input: "type the text itself; while a turn runs it is queued, and with ! in front it steers",
  chat: "/switch ID talks to another session",
  // It reads the store's file directly, and closing that would take the locks from the open store.
  doctor: "run it outside",
  tour: "run it outside",
};

/** Throws `invalid` for an unknown command. */
export async function parseCommand(
  text: string,
  here: { readonly id: string; readonly headSeq: number },
): Promise<TalkCommand> {
  const [typed = "", ...words] = splitWords(text.slice(1));
  const name = typed === "exit" ? "quit" : typed;
  if (name === "help" && words.length > 0) return { do: "perform", words: ["help", ...words] };
  if (name === "help" || name === "quit" || name === "items") return { do: name, words };
  if (name === "run") return { do: "go-on", words };
  if (name === "clear") return { do: "clear", words: ["clear", here.id, ...words] };
  if (name === "rollover") return { do: "clear", words: ["rollover", here.id, ...words] };
  if (name === "split") return { do: "clear", words: ["split", here.id, ...asOne(words)] };
  if (name === "handoff") return { do: "clear", words: ["clear", here.id, "--handoff", ...onward(words)] };
  if (name === "switch") return { do: "switch", id: words[0] ?? "" };
  const reason = elsewhere[name] ?? (words.some((word) => /^(-f|--follow)$/.test(word)) ? follow : undefined);
  if (reason !== undefined)
    throw new SkeinError("invalid", `/${name} is not available in chat`, { hint: reason });
  const verb = await loadVerb(name);
  if (verb === undefined) {
    const near = nearest(name, [...Object.keys(own), ...(await verbNames())]);
    throw new SkeinError("invalid", `unknown command ${quote(`/${name}`)}`, {
      hint:
        near === undefined
          ? "/help lists the commands; to send a text that begins with a slash, type two"
          : `did you mean /${near}?`,
    });
  }
  const { args } = verb;
  return { do: "perform", words: [name, ...placed(name, args[0] ?? "", words, here)] };
}

/** The objective of the next session, in plain words; or options, as `clear` takes them. */
const onward = (words: readonly string[]): readonly string[] =>
  words.length === 0 || words.some((word) => word.startsWith("--"))
    ? words
    : [`--objective=${words.join(" ")}`];

/** The other task in plain words, as one. */
const asOne = (words: readonly string[]): readonly string[] =>
  words.length === 0 || words.some((word) => word.startsWith("--")) ? words : [words.join(" ")];

const follow = "it never ends: use another terminal";

/** The words with the session in front, where the verb takes one. */
function placed(
  name: string,
  first: string,
  words: readonly string[],
  { id, headSeq }: { readonly id: string; readonly headSeq: number },
): readonly string[] {
  if (!/^(ID|FROM)\??$/.test(first)) return words;
  const [one = "", ...rest] = words;
  if ((name === "context" || name === "explain") && /^@?[^-]/.test(one))
    return [`${id}@${one.replace(/^@/, "")}`, ...rest];
  if (name === "rewind" && /^[^-]/.test(one)) return [id, "--to", ...words];
  if (name === "log" && words.length === 0) return [id, "--from", String(Math.max(1, headSeq - 19))];
  return [id, ...words];
}

/** Words as a shell splits them: by white space, unless in quotes. An unclosed quote is a character. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  const closable = new Set(['"', "'"]);
  let word: string | null = null;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
      continue;
    }
    const close = closable.has(char) ? closingQuote(text, at) : -1;
    if (close === -1) {
      closable.delete(char);
      word = (word ?? "") + char;
      continue;
    }
    const quoted = text.slice(at + 1, close);
    word = (word ?? "") + (char === '"' ? quoted.replaceAll(/\\(.)/gs, "$1") : quoted);
    at = close;
  }
  return word === null ? words : [...words, word];
}

/** The position of the quote that closes this one; -1 if there is none. */
function closingQuote(text: string, open: number): number {
  const quote = text[open] ?? "";
  for (let at = open + 1; at < text.length; at++) {
    if (text[at] === quote) return at;
    if (quote === '"' && text[at] === "\\") at++;
  }
  return -1;
}
