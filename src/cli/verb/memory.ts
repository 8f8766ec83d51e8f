/** Memory of the workspace: lists and shows what is remembered, puts something in, and forgets it. */
import { shortId } from "../../core/text/short-id.ts";
import type { ItemKind } from "../../core/item/events.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { MemoryScope } from "../../core/memory/memory.ts";
import type { ForgetResult, MemoryEntry } from "../../runtime/workspace/memory.ts";
import { checkAction, oneOf } from "../command/args.ts";
import { present, readText, valueOf } from "../command/input.ts";
import { itemKinds } from "../command/item-kinds.ts";
import { ago, exact } from "../format/moment.ts";
import { table } from "../format/table.ts";
import { jsonText, manyLines, oneLine, plural } from "../format/text.ts";
import { verb, type Call, type OptionValues } from "../command/verb.ts";

const actions = ["list", "show", "promote", "remember", "forget"] as const;
const scopes = ["agent", "user", "workspace"] as const satisfies readonly MemoryScope[];
const options = {
  scope: { type: "text", choices: scopes, what: "whose memory: of an agent, of a person, or of all" },
  agent: { type: "text", value: "NAME", what: "of this agent" },
  match: { type: "text", value: "TEXT", what: "with list: only what has these words" },
  because: { type: "text", what: "with promote, remember and forget: why" },
  text: { type: "flag", what: "with remember: VALUE is a text, even if it could be JSON" },
  erase: { type: "flag", what: "with forget: also take all its versions out of the store for good" },
  yes: { type: "flag", short: "y", what: "with forget --erase: really" },
} as const;

export const memory = verb({
  name: "memory",
  line: "List, show, promote, remember or forget what later sessions are to know.",
  args: ["ACTION?", "WORDS...?"],
  options,
  about: [
    "ACTION is list (the default); show [KIND] KEY; promote ID KIND KEY --scope S, for an item of a " +
      "session; remember KIND KEY [VALUE], for what comes from no session; or forget [KIND] KEY. With " +
      "--agent NAME the scope is the agent's.",
    "A new session carries what its objective is about, with your preferences (the scope user) in front. " +
      "What is forgotten is carried by no session that is opened later. The log still has it; --erase " +
      "takes it out for good, and lists where else it stands.",
  ],
  examples: [
    "skein memory  # all that is remembered, the newest first",
    "skein memory list --agent payroll --match rate  # of one agent, with a word",
    "skein memory promote 4x8kz1 fact base-rate --scope workspace  # for all sessions",
    'skein memory remember fact tone "be brief" --scope user  # a preference',
    `skein memory forget base-rate --because "it was last year's"  # no later session knows`,
    "skein memory forget phone --erase --yes  # and out of the store",
  ],
  async run(call) {
    const action = oneOf("ACTION", call.args.ACTION ?? "list", actions);
    const words = call.args.WORDS;
    const most = { list: 0, show: 2, promote: 3, remember: 3, forget: 2 }[action];
    const least = { list: 0, show: 1, promote: 3, remember: 2, forget: 1 }[action];
    if (words.length > most || words.length < least) {
      const hint = `skein memory ${usage[action]}`;
      throw new SkeinError(
        "invalid",
        `memory: ${action} takes ${usage[action].slice(action.length + 1) || "no words"}`,
        {
          hint,
        },
      );
    }
    checkAction("memory", action, call.options, takes);
    return does[action](call, words);
  },
});

type Here = Pick<Call, "out" | "engine" | "session" | "nowMs"> & {
  readonly options: OptionValues<typeof options>;
};

const takes: Readonly<Record<(typeof actions)[number], readonly (keyof typeof options)[]>> = {
  list: ["scope", "agent", "match"],
  show: ["scope", "agent"],
  promote: ["scope", "agent", "because"],
  remember: ["scope", "agent", "because", "text"],
  forget: ["scope", "agent", "because", "erase", "yes"],
};

const usage = {
  list: "list",
  show: "show [KIND] KEY",
  promote: "promote ID KIND KEY --scope SCOPE",
  remember: "remember KIND KEY [VALUE] --scope SCOPE",
  forget: "forget [KIND] KEY",
} as const satisfies Record<(typeof actions)[number], string>;

const does: Readonly<
  Record<(typeof actions)[number], (here: Here, words: readonly string[]) => Promise<number | void>>
> = {
  list,
  show,
  promote,
  remember,
  forget,
};

/** Whose memory is meant: `--agent NAME` is the scope of the agent, and its owner. */
function whose({ scope, agent }: Here["options"]): { scope?: MemoryScope; owner?: string } {
  if (agent !== undefined && scope !== undefined && scope !== "agent") {
    throw new SkeinError("invalid", `memory: --agent does not go with --scope ${scope}`, {
      hint: "leave one of them out",
    });
  }
  return present({ scope: agent === undefined ? (scope as MemoryScope | undefined) : "agent", owner: agent });
}

function scopeOf(here: Here["options"]): { scope: MemoryScope; owner?: string } {
  const { scope, ...rest } = whose(here);
  if (scope !== undefined) return { scope, ...rest };
  throw new SkeinError("invalid", "memory: for whom is it to be remembered?", {
    hint: `give --scope ${scopes.join(", --scope ")}, or --agent NAME`,
  });
}

async function list({ out, engine, options: given, nowMs }: Here): Promise<void> {
  const { match: text } = given;
  const found = await (await engine()).memory({ ...whose(given), ...present({ text }) });
  if (out.json) {
    for (const one of found) await out.emit(one);
    return;
  }
  if (found.length === 0) {
    const narrowed = [text, given.scope, given.agent].some((one) => one !== undefined);
    return out.note(narrowed ? "nothing that is remembered matches" : "nothing is remembered");
  }
  const columns = [
    { title: "SCOPE" },
    { title: "KIND" },
    { title: "KEY" },
    { title: "SINCE", paint: out.dim },
    { title: "FROM" },
    { title: "VALUE" },
  ];
  const short = out.columns !== null;
  const rows = found.map((one) => [
    one.scope === "agent" ? `agent ${oneLine(one.owner ?? "")}` : one.scope,
    one.kind,
    oneLine(one.key),
    short ? ago(one.at, nowMs) : exact(one.at),
    one.origin === null
      ? ""
      : `${short ? shortId(one.origin.session) : one.origin.session}@${one.origin.seq}`,
    oneLine(valueText(one)),
  ]);
  for (const line of table(columns, rows, { width: out.columns, heading: out.bold })) await out.line(line);
}

const valueText = ({ value, erased }: MemoryEntry): string =>
  erased ? "[erased]" : typeof value === "string" ? value : jsonText(value);

async function show(here: Here, words: readonly string[]): Promise<void> {
  const { out } = here;
  const found = await find(here, words);
  if (out.json) {
    for (const one of found) await out.emit(one);
    return;
  }
  for (const [place, one] of found.entries()) {
    if (place > 0) await out.line("");
    for (const line of entryLines(one, out)) await out.line(line);
  }
}

function entryLines(one: MemoryEntry, { bold, dim }: Here["out"]): string[] {
  const { scope, owner, kind, key, origin, at, actor, by, because } = one;
  const fields = {
    scope: owner === null ? scope : `${scope} ${owner}`,
    from: origin === null ? "no session" : `${origin.session}@${origin.seq}`,
    since: `${exact(at)}, by ${by === null ? "" : `${by}, `}${actor}`,
    ...(because === null ? {} : { because }),
  };
  return [
    bold(`${kind} ${oneLine(key)}`),
    ...Object.entries(fields).map(([field, text]) => `${dim(field.padEnd(9))}${oneLine(text)}`),
    "",
    ...manyLines(valueText(one)),
  ];
}

/** Entries by their key, or by kind and key, in whatever scopes there are; at least one. */
async function find({ engine, options: given }: Here, words: readonly string[]): Promise<MemoryEntry[]> {
  const key = words.at(-1) ?? "";
  const kind = words.length === 2 ? oneOf("KIND", words[0] ?? "", itemKinds) : undefined;
  const all = await (await engine()).memory(whose(given));
  const found = all.filter((one) => one.key === key && (kind ?? one.kind) === one.kind);
  if (found.length > 0) return found;
  const near = nearest(
    key,
    all.map((one) => one.key),
  );
  throw new SkeinError("not-found", `nothing is remembered under ${quote(key)}`, {
    hint: near === undefined ? '"skein memory list" shows what there is' : `did you mean ${quote(near)}?`,
  });
}

async function promote(here: Here, [id = "", kind = "", key = ""]: readonly string[]): Promise<void> {
  const { options: given, session } = here;
  const { scope, owner } = scopeOf(given);
  const asked = oneOf("KIND", kind, itemKinds);
  const found = await session(id);
  const agent = (await found.fold()).standing.agent?.name;
  if (owner !== undefined && owner !== agent) {
    throw new SkeinError("invalid", `memory: ${found.id} is no session of ${quote(owner)}`, {
      hint: agent === undefined ? "it has no agent" : `its agent is ${quote(agent)}`,
    });
  }
  const { because } = given;
  await tell(here, await found.promote(asked, key, { scope, ...present({ because }) }), "remembered");
}

async function remember(here: Here, [kind = "", key = "", value]: readonly string[]): Promise<void> {
  const { options: given, engine } = here;
  const name = { ...scopeOf(given), kind: oneOf("KIND", kind, itemKinds), key };
  const known = valueOf(await readText(value), { asText: given.text });
  const opened = await engine({ create: true });
  const { because } = given;
  await tell(here, await opened.remember({ ...name, value: known, ...present({ because }) }), "remembered");
}

type EntryName = Pick<MemoryEntry, "scope" | "owner" | "kind" | "key">;

/** What was forgotten before can still be erased; then nothing but its full name leads to it. */
async function named(here: Here, words: readonly string[]): Promise<readonly EntryName[]> {
  try {
    return await find(here, words);
  } catch (error) {
    const { scope, owner = null } = whose(here.options);
    const [kind = "", key] = words;
    if (!here.options.erase || !(error instanceof SkeinError) || error.code !== "not-found") throw error;
    // No other entry is offered: what is erased by mistake is gone.
    if (scope === undefined || key === undefined) {
      throw new SkeinError("not-found", `nothing is remembered under ${quote(words.at(-1))} now`, {
        hint:
          "what was forgotten before is erased by kind and scope, for example: " +
          `skein memory forget fact ${words.at(-1)} --scope workspace --erase --yes`,
      });
    }
    return [{ scope, owner, kind: oneOf("KIND", kind, itemKinds), key }];
  }
}

async function forget(here: Here, words: readonly string[]): Promise<number | void> {
  const found = await named(here, words);
  const [one, ...others] = found;
  if (one === undefined || others.length > 0) {
    const names = found.map(({ scope, owner, kind }) => `${kind} of ${scope} ${owner ?? ""}`.trim());
    throw new SkeinError("invalid", `${found.length} things are remembered under ${quote(words.at(-1))}`, {
      hint: `say which: give the kind, --scope or --agent; there are ${names.join(", ")}`,
    });
  }
  const { scope, owner, kind, key } = one;
  const name: { scope: MemoryScope; owner?: string; kind: ItemKind; key: string } = {
    scope,
    kind,
    key,
    ...(owner === null ? {} : { owner }),
  };
  const { because: reason, erase, yes } = here.options;
  const engine = await here.engine();
  if (!erase) return tell(here, await engine.forget({ ...name, ...present({ reason }) }), "forgotten");
  if (!yes) {
    throw new SkeinError("refused", `all versions of ${kind} ${quote(key)} would be gone for good`, {
      hint: "add --yes if that is what you want; nothing was forgotten or erased",
    });
  }
  const gone = await engine.forget({ ...name, ...present({ reason }), erase });
  await tell(here, gone, "forgotten", erasureLines(gone));
  return gone.erasure?.scrubbed === false ? notScrubbed : undefined;
}

/** As for a store that cannot be used now. */
const notScrubbed = 4;

function erasureLines({ erasure }: ForgetResult): string[] {
  if (erasure === undefined) return [];
  const { records, copies, scrubbed } = erasure;
  const trace = "scrub pending: the store's files may still hold traces; run this again later";
  return [
    records === 0 ? "nothing is left to erase in memory" : `erased ${plural(records, "content")} for good`,
    ...(copies.length === 0 ? [] : ["it still stands elsewhere; to take it out there too:"]),
    ...copies.map(
      ({ session, seq, type, why }) =>
        `  skein erase ${session} --seq ${seq}  (${oneLine(`${type}, ${why}`)})`,
    ),
    ...(scrubbed ? [] : [trace]),
  ];
}

async function tell(
  { out }: Here,
  one: MemoryEntry,
  done: string,
  more: readonly string[] = [],
): Promise<void> {
  const { scope, owner, kind, key } = one;
  const memoryOf =
    scope === "workspace" ? "the workspace" : scope === "agent" ? `agent ${owner}` : "the user";
  await out.answer(one, () => [oneLine(`${done} ${kind} ${key}, for ${memoryOf}`), ...more]);
}
