/** Memory of the workspace: list, show, promote, remember, forget. */
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { ItemKind } from "../../core/item/kind.ts";
import type { MemoryScope } from "../../core/memory/name.ts";
import { shortId } from "../../core/text/short-id.ts";
import type { MemoryCarriers } from "../../runtime/context/memory-carriers.ts";
import type { ForgetResult, MemoryEntry } from "../../runtime/workspace/memory.ts";
import { present } from "../command/input.ts";
import { kindOf } from "../command/item-kind.ts";
import { grid, invalid, plain, type PresentedResult } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { verb, type VerbCall } from "../command/verb.ts";
import { ago, exact } from "../format/moment.ts";
import { jsonText, manyLines, oneLine, plural } from "../format/text.ts";

const scopes = ["agent", "user", "workspace"] as const satisfies readonly MemoryScope[];
const agent = { type: "text", value: "NAME", what: "of this agent" } as const;
const scope = { type: "text", choices: scopes, what: "of an agent, of a user, or of all" } as const;

export const memoryPlain = [
  plain("engine.memory", {
    options: { agent },
    prepare({ params, given }) {
      Object.assign(params, ownerOf({ ...params, ...given }));
    },
    print(all, { params, out, nowMs }) {
      const narrowed = Object.keys(params).length > 0;
      const none = narrowed ? "no memory entry matches" : "no memory entries";
      return all.length === 0 ? { lines: [], notes: [none] } : { lines: memoryRows(all, out, nowMs) };
    },
  }),
  plain("session.promote", {
    options: { agent },
    prepare({ params, given }) {
      params.scope = scopeOf({ ...params, ...given }).scope;
    },
    async call({ params, given, found }) {
      const { kind = "fact", key = "", scope: of = "agent", because, approve } = params;
      const own = (await found.fold()).standing.agent?.name;
      if (given.agent !== undefined && given.agent !== own)
        throw invalid(
          `memory: ${found.id} is not a session of ${quote(given.agent)}`,
          own === undefined ? "it has no agent" : `its agent is ${quote(own)}`,
        );
      return found.promote(kind, key, { scope: of, ...present({ because, approve }) });
    },
    print: (one) => ({ lines: addedLines(one) }),
  }),
  plain("engine.remember", {
    options: { agent },
    creates: true,
    prepare({ params, given }) {
      Object.assign(params, scopeOf({ ...params, ...given }));
    },
    print: (one) => ({ lines: addedLines(one) }),
  }),
  plain("engine.memoryCarriers", {
    options: { agent },
    prepare({ params, given }) {
      Object.assign(params, scopeOf({ ...params, ...given }));
    },
    print: (page) => ({ json: page, lines: carrierLines(page) }),
  }),
];

/** `--agent NAME` is the scope of the agent, and its owner. */
function ownerOf(given: { readonly scope?: string | undefined; readonly agent?: string | undefined }): {
  scope?: MemoryScope;
  owner?: string;
} {
  if (given.agent !== undefined && given.scope !== undefined && given.scope !== "agent")
    throw invalid(`memory: --agent is not allowed with --scope ${given.scope}`, "remove one of them");
  const of = given.agent === undefined ? (given.scope as MemoryScope | undefined) : "agent";
  return present({ scope: of, owner: given.agent });
}

function scopeOf(given: Parameters<typeof ownerOf>[0]): { scope: MemoryScope; owner?: string } {
  const { scope: of, ...rest } = ownerOf(given);
  if (of !== undefined) return { scope: of, ...rest };
  throw invalid(
    "memory: --scope or --agent is required",
    `use --scope ${scopes.join(", --scope ")}, or --agent NAME`,
  );
}

function memoryRows(all: readonly MemoryEntry[], out: Screen, nowMs: number): string[] {
  const short = out.columns !== null;
  const fromText = (origin: MemoryEntry["origin"]): string =>
    origin === null ? "" : `${short ? shortId(origin.session) : origin.session}@${origin.seq}`;
  const rows = all.map((one) => [
    one.scope === "agent" ? `agent ${oneLine(one.owner ?? "")}` : one.scope,
    one.kind,
    oneLine(one.key),
    short ? ago(one.at, nowMs) : exact(one.at),
    fromText(one.origin),
    oneLine(`${valueText(one)}${contradictsText(one)}`),
  ]);
  return grid(out, ["SCOPE", "KIND", "KEY", "~SINCE", "FROM", "VALUE"], rows);
}

/** Remembered, or waiting for approval. */
const addedLines = (one: MemoryEntry): string[] =>
  one.pending === undefined
    ? [doneText(one, "remembered")]
    : [doneText(one, "proposed"), `it waits for approval: skein memory approve ${one.seq}`];

const contradictsText = ({ contradicts = [] }: MemoryEntry): string =>
  contradicts.length === 0
    ? ""
    : ` (contradicts ${contradicts.map(({ kind, key }) => `${kind} ${key}`).join(", ")})`;

export const valueText = ({ value, erased }: MemoryEntry): string =>
  erased ? "[erased]" : typeof value === "string" ? value : jsonText(value);

const named = {
  args: ["KIND?", "KEY?"],
  options: { scope, agent },
  examples: [],
} as const;

interface MemoryTarget {
  readonly words: readonly string[];
  readonly given: Parameters<typeof ownerOf>[0];
}

/** The one or two words of `[KIND] KEY`. */
function wordsOf(action: string, args: Readonly<Record<"KIND" | "KEY", string | undefined>>): string[] {
  if (args.KIND !== undefined) return [args.KIND, ...(args.KEY === undefined ? [] : [args.KEY])];
  throw invalid(`memory: ${action} takes [KIND] KEY`, `skein memory ${action} [KIND] KEY`);
}

export const memoryActions = [
  verb({
    ...named,
    name: "memory show",
    line: "Show what is remembered under a key, and which sessions carry it.",
    async run({ args, options, out, engine }) {
      const found = await find(engine, { words: wordsOf("show", args), given: options });
      for (const [place, one] of found.entries()) {
        const { scope: of, owner, kind, key } = one;
        const name = { scope: of, kind, key, ...(owner === null ? {} : { owner }) };
        const carried = await (await engine()).memoryCarriers(name);
        if (out.json) await out.emit({ ...one, carried });
        else {
          const lines = [...entryLines(one, out), "", ...carrierLines(carried)];
          for (const line of place > 0 ? ["", ...lines] : lines) await out.line(line);
        }
      }
    },
  }),
  verb({
    ...named,
    name: "memory forget",
    line: "Forget what is remembered under a key.",
    options: {
      ...named.options,
      because: { type: "text", what: "the reason" },
      erase: { type: "flag", what: "also delete all its versions from the store for good" },
      yes: { type: "flag", short: "y", what: "with --erase: confirm it" },
    },
    async run({ args, options, out, engine }) {
      const wanted = { words: wordsOf("forget", args), given: options };
      const name = await nameOf(engine, wanted, options.erase);
      const { because: reason, erase, yes } = options;
      if (erase && !yes)
        throw new SkeinError(
          "refused",
          `all versions of ${name.kind} ${quote(name.key)} would be deleted permanently`,
          { hint: "add --yes to confirm; nothing was forgotten or erased" },
        );
      const gone = await (
        await engine()
      ).forget({ ...name, ...present({ reason }), ...(erase ? { erase } : {}) });
      const { lines, code } = forgottenText(gone);
      await out.answer(gone, () => lines);
      return code;
    },
  }),
];

type OpenEngine = VerbCall["engine"];

/** Entries by their key, or by kind and key, in all scopes; at least one. */
async function find(engine: OpenEngine, { words, given }: MemoryTarget): Promise<MemoryEntry[]> {
  const key = words.at(-1) ?? "";
  const kind = words.length === 2 ? kindOf("KIND", words[0] ?? "") : undefined;
  const all = await (await engine()).memory(ownerOf(given));
  const found = all.filter((one) => one.key === key && (kind ?? one.kind) === one.kind);
  if (found.length > 0) return found;
  const other = all.find((one) => one.key === key);
  const near = nearest(
    key,
    all.map((one) => one.key).filter((one) => one !== key),
  );
  const named = near === undefined ? '"skein memory list" lists the entries' : `did you mean ${quote(near)}?`;
  throw new SkeinError("not-found", `memory: no ${kind ?? "entry"} ${quote(key)}`, {
    hint: other === undefined ? named : `${quote(key)} is a ${other.kind}`,
  });
}

interface EntryName {
  readonly scope: MemoryScope;
  readonly owner?: string;
  readonly kind: ItemKind;
  readonly key: string;
}

/** The one entry. A forgotten entry can still be erased, by its full name alone. */
async function nameOf(engine: OpenEngine, wanted: MemoryTarget, erase: boolean): Promise<EntryName> {
  const { words, given } = wanted;
  let found: readonly (Omit<EntryName, "owner"> & { readonly owner: string | null })[];
  try {
    found = await find(engine, wanted);
  } catch (error) {
    const { scope: of, owner = null } = ownerOf(given);
    const [kind = "", key] = words;
    if (!erase || !(error instanceof SkeinError) || error.code !== "not-found") throw error;
    // No other entry is suggested: an entry erased by mistake is lost.
    if (of === undefined || key === undefined)
      throw new SkeinError("not-found", `memory: no entry ${quote(words.at(-1))}`, {
        hint:
          "to erase a forgotten entry, name kind and scope: " +
          `skein memory forget fact ${words.at(-1)} --scope workspace --erase --yes`,
      });
    found = [{ scope: of, owner, kind: kindOf("KIND", kind), key }];
  }
  const [one, ...others] = found;
  if (one !== undefined && others.length === 0) {
    const { scope: of, owner, kind, key } = one;
    return { scope: of, kind, key, ...(owner === null ? {} : { owner }) };
  }
  const names = found.map(({ scope: of, owner, kind }) => `${kind} of ${of} ${owner ?? ""}`.trim());
  throw invalid(
    `memory: ${found.length} entries match ${quote(words.at(-1))}`,
    `specify the kind, --scope or --agent: ${names.join(", ")}`,
  );
}

/** Who carries it. */
function carrierLines({ carriers, looked, cursor }: MemoryCarriers): string[] {
  const rows = carriers.map(({ session, seq, name, current }) => {
    const title = name === null ? "" : `  ${oneLine(name)}`;
    return `  ${shortId(session)}@${seq}${title}${current ? "" : "  (an older value)"}`;
  });
  const more = cursor === null ? "" : `; more: --cursor ${cursor}`;
  const head = carriers.length === 0 ? "carried by none" : `carried by ${plural(carriers.length, "session")}`;
  return [`${head} of ${looked} looked at${more}`, ...rows];
}

function entryLines(one: MemoryEntry, { bold, dim }: Screen): string[] {
  const { scope: of, owner, kind, key, origin, at, actor, by, because } = one;
  const fields = {
    scope: owner === null ? of : `${of} ${owner}`,
    from: origin === null ? "no session" : `${origin.session}@${origin.seq}`,
    since: `${exact(at)}, by ${by === null ? "" : `${by}, `}${actor}`,
    ...(one.approvedBy === undefined ? {} : { approved: `by ${one.approvedBy}` }),
    ...(because === null ? {} : { because }),
  };
  return [
    bold(`${kind} ${oneLine(key)}`),
    ...Object.entries(fields).map(([field, text]) => `${dim(field.padEnd(9))}${oneLine(text)}`),
    "",
    ...manyLines(valueText(one)),
  ];
}

/** As for an unavailable store. */
const notScrubbed = 4;

function forgottenText(gone: ForgetResult): PresentedResult & { readonly code: number } {
  const { erasure } = gone;
  const done = doneText(gone, "forgotten");
  if (erasure === undefined) return { lines: [done], code: 0 };
  const { records, copies, scrubbed } = erasure;
  return {
    code: scrubbed ? 0 : notScrubbed,
    lines: [
      done,
      records === 0 ? "nothing is left to erase in memory" : `erased ${plural(records, "content")} for good`,
      ...(copies.length === 0 ? [] : ["it still stands elsewhere; to take it out there too:"]),
      ...copies.map(
        ({ session, seq, type, why }) =>
          `  skein erase ${session} --seq ${seq}  (${oneLine(`${type}, ${why}`)})`,
      ),
      ...(scrubbed ? [] : ["scrub pending: the store's files may still hold traces; run this again later"]),
    ],
  };
}

export function doneText({ scope: of, owner, kind, key }: MemoryEntry, done: string): string {
  const whose = of === "workspace" ? "the workspace" : of === "agent" ? `agent ${owner}` : "the user";
  return oneLine(`${done} ${kind} ${key}, for ${whose}`);
}
