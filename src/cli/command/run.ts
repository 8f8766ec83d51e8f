/**
 * Runs one command line: finds the verb, reads the words, opens what is needed, and turns errors into exit
 * codes.
 */
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { errorText, firstError } from "../../core/first-error.ts";
import { findVerb, parseWords } from "./args.ts";
import { exitCodeOf, hintFor } from "./exit-code.ts";
import { makeOpening } from "../open/open-engine.ts";
import { pastableCommand } from "./pastable-command.ts";
import { collectingSurface, makeScreen, type Screen, type Surface } from "./screen.ts";
import { jsonText, oneLine } from "../format/text.ts";
import type { VerbCall, CommandResult, StopOptions, Verb } from "./verb.ts";
import { loadVerb, otherWords, verbNames } from "./verbs.ts";

export interface VerbHost {
  readonly surface: Surface;
  /** Aborted when the user stops a long-running verb. */
  untilStopped(options?: StopOptions): AbortSignal;
  /** Throws when the words did not arrive as they were typed. */
  check?(): void;
}

/** Never rejects; returns the exit code. */
export async function runWords(words: readonly string[], circumstances: VerbHost): Promise<number> {
  let verb: string | null = null;
  try {
    circumstances.check?.();
    const { name, rest } = findVerb(words);
    verb = name;
    if (name === null) return await runVerb(await load("help"), rest.filter(isNotHelp), circumstances);
    return await runVerb(await load(name), rest, circumstances);
  } catch (error) {
    const end = words.indexOf("--");
    const json = (end === -1 ? words : words.slice(0, end)).includes("--json");
    return tell(error, verb, makeScreen(circumstances.surface, json), circumstances.surface);
  }
}

const isNotHelp = (word: string): boolean => word !== "--help" && word !== "-h";

async function load(name: string): Promise<Verb> {
  const verb = await loadVerb(name);
  if (verb !== undefined) return verb;
  const near = otherWords[name] ?? nearest(name, await verbNames());
  throw new SkeinError("invalid", `unknown command ${quote(name)}`, {
    hint: near === undefined ? '"skein help" lists the commands' : `did you mean "skein ${near}"?`,
  });
}

async function runVerb(verb: Verb, words: readonly string[], circumstances: VerbHost): Promise<number> {
  const nowMs = Date.now();
  const { args, options, zoned } = parseWords(verb, words, nowMs);
  const out = makeScreen(circumstances.surface, options["json"] === true, pastableCommand(options["store"]));
  if (options["help"] === true) {
    const { showHelp } = await import("./help.ts");
    await showHelp(out, verb);
    return 0;
  }
  for (const one of zoned) out.note(out.dim(one));
  const place = String(options["store"] ?? (process.env["SKEIN_STORE"] || "./skein.db"));
  if (verb.endsUnread === true) circumstances.surface.endUnread?.();
  const opening = makeOpening(place);
  const { store, engine } = opening;
  const { untilStopped } = circumstances;
  const call: VerbCall = {
    ...({ args, options } as Pick<VerbCall, "args" | "options">),
    out,
    place,
    nowMs,
    store,
    engine,
    untilStopped,
    session: async (id) => (await engine()).session(id),
    perform: (argv, { columns = null } = {}) => perform(argv, columns, untilStopped),
  };
  try {
    return (await verb.run(call)) ?? 0;
  } finally {
    await opening.close();
  }
}

async function perform(
  words: readonly string[],
  columns: number | null,
  untilStopped: VerbCall["untilStopped"],
): Promise<CommandResult> {
  const surface = collectingSurface(columns);
  const code = await runWords(words, { surface, untilStopped });
  return { code, ...surface.collected };
}

/** Prints the error on standard error, and returns its exit code. */
function tell(given: unknown, verb: string | null, out: Screen, surface: Surface): number {
  const error = firstError(given);
  const known = error instanceof SkeinError;
  const code = known ? error.code : "internal";
  const message = errorText(error);
  const hint = (known ? error.hint : undefined) ?? hintFor[code].replace("VERB", () => verb ?? "VERB");
  if (out.json) surface.error(`${jsonText({ error: { code, message, hint } })}\n`);
  else {
    surface.error(`${out.red("skein:")} ${oneLine(message)}\n`);
    surface.error(`  ${out.dim("hint:")} ${oneLine(hint)}\n`);
  }
  if (process.env["SKEIN_DEBUG"] === "1") surface.error(`${debugText(error)}\n`);
  return exitCodeOf(code);
}

function debugText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by ${debugText(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
