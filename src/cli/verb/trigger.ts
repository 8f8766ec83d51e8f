/** Triggers: what wakes a session, and templates, which open a new one each time. */
import { shortId } from "../../core/text/short-id.ts";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { TriggerSpec } from "../../core/trigger/trigger.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { TemplateOptions } from "../../runtime/trigger/templates.ts";
import { checkAction, oneOf, typedOf } from "../command/args.ts";
import { kindOf as itemKindOf } from "../command/item-kind.ts";
import { parseBinding } from "../format/binding-word.ts";
import { budgetOf, budgetOptions } from "../command/budget-options.ts";
import { answerChange } from "../command/change-verb.ts";
import { labelsOf, present } from "../command/input.ts";
import { checkModelName } from "../format/model-name.ts";
import { ago, exact, ownZone, parseComing } from "../format/moment.ts";
import { table } from "../format/table.ts";
import { oneLine } from "../format/text.ts";
import { specText } from "../../core/trigger/spec-text.ts";
import { verb, type VerbCall, type OptionValues } from "../command/verb.ts";

const actions = ["list", "add", "remove", "fire"] as const;
const options = {
  at: { type: "text", value: "TIME", what: "once: at a moment, or 2h from now" },
  every: { type: "span", value: "SPAN", what: "repeatedly; or the interval of --check, --url or --sql" },
  cron: { type: "text", value: "LINE", what: 'by a cron expression, such as "0 9 1 * *"' },
  zone: {
    type: "text",
    value: "ZONE",
    what: "with --cron, or --at a time without a zone: the time zone; by default yours",
  },
  file: {
    type: "text",
    value: "PATH",
    what: "the contents of a file, or of files below a directory, change",
  },
  glob: { type: "text", value: "PATTERN", what: "with --file: which files" },
  debounce: {
    type: "span",
    value: "SPAN",
    what: "with --file: how long nothing must change before it fires",
  },
  git: { type: "text", value: "PATH", what: "a ref of this repository moves" },
  ref: { type: "text", value: "REF", what: "with --git: of this ref; by default what is checked out" },
  path: { type: "list", value: "PATH", what: "with --git: only commits that touch it" },
  webhook: { type: "flag", what: "its URL is called; prints the token, only once" },
  secret: { type: "text", value: "NAME", what: "with --webhook: the variable with the signing secret" },
  message: { type: "flag", what: "a message arrives" },
  topic: { type: "text", what: "with --message: only on this topic" },
  from: { type: "text", value: "ID", what: "with --message: only from this session" },
  session: { type: "list", value: "ID", what: "another session ends, or records an item" },
  on: { type: "text", choices: ["end", "item"], what: "with --session: which of the two; by default end" },
  item: { type: "text", value: "KIND/KEY", what: "with --session --on item: which item; * for any" },
  all: { type: "flag", what: "with --session: only once all of them have ended" },
  give: {
    type: "text",
    choices: ["handoff", "facts", "nothing"],
    what: "with --session: the result it gets of those that ended",
  },
  check: { type: "text", value: "COMMAND", what: "the result of the command changes; with --every" },
  url: { type: "text", value: "URL", what: "the response changes; with --every" },
  sql: { type: "text", value: "QUERY", what: "the result on the database --resource changes; with --every" },
  resource: { type: "text", value: "BINDING", what: "a bound resource changes" },
  missed: {
    type: "text",
    choices: ["once", "all", "skip"],
    what: "missed times: one firing for all, the default; one each; none",
  },
  open: { type: "text", value: "OBJECTIVE", what: "a template: opens a session for this each time" },
  agent: { type: "text", value: "NAME", what: "with --open: its agent" },
  model: { type: "text", value: "PROVIDER/MODEL", what: "with --open: its model" },
  bind: { type: "list", value: "KIND:PATH[:write]", what: "with --open: a resource it may use" },
  label: { type: "list", value: "KEY=VALUE", what: "with --open: a label" },
  priority: { type: "count", value: "0-9", what: "with --open: its priority" },
  text: { type: "text", what: "with fire: the input for the session" },
  ...budgetOptions,
} as const;

export const trigger = verb({
  name: "trigger",
  line: "Set, list, remove or fire triggers: they wake a session, or open a new one.",
  args: ["ACTION?", "WORDS...?"],
  usages: [
    "skein trigger [list] [ID]",
    "skein trigger add ID NAME --at TIME (or another kind)",
    "skein trigger add NAME --open OBJECTIVE --at TIME (or another kind)",
    "skein trigger remove [ID] NAME",
    "skein trigger fire [ID] NAME [--text TEXT]",
  ],
  options,
  about: [
    "With an ID the trigger belongs to that session. Without one it is a template: it opens a new " +
      "session each time it fires.",
    'A worker watches triggers: "skein up". Each cause fires once, however many workers there are; ' +
      "changes without a worker are found when one starts.",
    "Exactly one of --at, --every, --cron, --file, --git, --webhook, --message, --session, --check, " +
      "--url, --sql or --resource names the kind. Budget options go with --open.",
  ],
  examples: [
    'skein trigger add 4x8kz1 monthly --cron "0 9 1 * *" --zone Europe/Berlin  ' +
      "# at nine on the first of each month",
    'skein trigger add 4x8kz1 rates --file data --glob "**/*.json"  # files changed',
    "skein trigger add 4x8kz1 push --webhook --secret HOOK_SECRET  # prints the token",
    "skein trigger add 4x8kz1 after --session 9q2mf7  # when another has ended",
    'skein trigger add --open "Read the news" --agent reader news --cron "0 7 * * 1-5"  ' +
      "# a new session each morning",
    "skein trigger list 4x8kz1  # what wakes it, when next, and when last",
    'skein trigger fire 4x8kz1 rates --text "Look again."  # now, by hand',
    "skein trigger remove news  # a template",
  ],
  async run(call) {
    const action = oneOf("ACTION", call.args.ACTION ?? "list", actions);
    const words = call.args.WORDS;
    const [least, most] = action === "list" ? [0, 1] : [1, 2];
    if (words.length < least || words.length > most) {
      throw new SkeinError("invalid", `trigger ${action}: expected ${usage[action]}`, {
        hint: `skein trigger ${action} ${usage[action]}`,
      });
    }
    checkAction("trigger", action, call.options, takes);
    await does[action](call, words);
  },
});

const usage = {
  list: "[ID]",
  add: "ID NAME, or NAME with --open OBJECTIVE",
  remove: "ID NAME, or the NAME of a template",
  fire: "ID NAME, or the NAME of a template",
} as const satisfies Record<(typeof actions)[number], string>;

type TriggerInput = OptionValues<typeof options>;
type Name = keyof typeof options;

const takes: Readonly<Record<(typeof actions)[number], readonly Name[]>> = {
  list: [],
  add: (Object.keys(options) as Name[]).filter((name) => name !== "text"),
  remove: [],
  fire: ["text"],
};
type TriggerCall = Pick<VerbCall, "out" | "engine" | "session" | "nowMs"> & {
  readonly options: TriggerInput;
};

const does: Readonly<
  Record<(typeof actions)[number], (here: TriggerCall, words: readonly string[]) => Promise<void>>
> = { list, add, remove, fire };

const kinds = [
  "at",
  "cron",
  "file",
  "git",
  "webhook",
  "message",
  "session",
  "check",
  "url",
  "sql",
  "resource",
  "every",
] as const;

/** The options that may accompany each kind. */
const beside: Readonly<Record<(typeof kinds)[number], readonly Name[]>> = {
  at: ["zone"],
  cron: ["zone"],
  file: ["glob", "debounce"],
  git: ["ref", "path"],
  webhook: ["secret"],
  message: ["topic", "from"],
  session: ["on", "item", "all", "give"],
  check: ["every"],
  url: ["every"],
  sql: ["every", "resource"],
  resource: ["debounce"],
  every: [],
};

/** Options for the sessions that a template opens. */
const ofOpen: readonly Name[] = [
  "agent",
  "model",
  "bind",
  "label",
  "priority",
  ...(Object.keys(budgetOptions) as (keyof typeof budgetOptions)[]),
];

/** The one option that names the kind. A check also has its interval, a query its database. */
function kindOf(given: TriggerInput): (typeof kinds)[number] {
  const found = kinds.filter((name) => typedOf(given, [name]).length > 0);
  const [first, ...more] = found.filter(
    (one) => !found.some((other) => other !== one && beside[other].includes(one)),
  );
  const hint = "use one of --at, --every, --cron, --file, --git, --webhook, --message, --session, --check, …";
  if (first === undefined) throw new SkeinError("invalid", "trigger: specify the kind", { hint });
  if (more.length > 0)
    throw new SkeinError("invalid", `trigger: specify only one of --${first}, --${more.join(", --")}`, {
      hint,
    });
  checkBeside(given, first);
  return first;
}

/** Options of another kind are probably a mistake. */
function checkBeside(given: TriggerInput, kind: (typeof kinds)[number]): void {
  const all = [...new Set(Object.values(beside).flat())];
  const [lost] = typedOf(
    given,
    all.filter((name) => name !== kind && !beside[kind].includes(name)),
  );
  if (lost !== undefined) {
    const owners = kinds.filter((one) => beside[one].some((name) => lost === `--${name}`));
    throw new SkeinError("invalid", `trigger: ${lost} is not allowed with --${kind}`, {
      hint: `it is for --${owners.join(", --")}; omit it`,
    });
  }
  const [ofNew] = given.open === undefined ? typedOf(given, ofOpen) : [];
  if (ofNew === undefined) return;
  throw new SkeinError("invalid", `trigger: ${ofNew} requires --open`, {
    hint: `add --open "OBJECTIVE", or omit it`,
  });
}

const everyOf = ({ every }: TriggerInput): number => {
  if (every !== undefined) return every;
  throw new SkeinError("invalid", "trigger: --every is required", { hint: "add --every 1m" });
};

async function specOf(given: TriggerInput, engine: Engine, nowMs: number): Promise<TriggerSpec> {
  const { at, cron, zone, file, glob, git, ref, path, topic, secret, resource, debounce: debounceMs } = given;
  const kind = kindOf(given);
  switch (kind) {
    case "at":
      return { kind, at: parseComing("--at", at ?? "", nowMs, zone) };
    case "every":
      return { kind, everyMs: everyOf(given) };
    case "cron":
      return { kind, cron: cron ?? "", zone: zone ?? ownZone() };
    case "file":
      return { kind, path: file ?? "", ...present({ glob, debounceMs }) };
    case "git":
      return { kind, path: git ?? "", ...present({ ref }), ...(path.length === 0 ? {} : { paths: path }) };
    case "webhook":
      return { kind, ...present({ secret }) };
    case "message": {
      const from = given.from === undefined ? undefined : (await engine.session(given.from)).id;
      return { kind, ...present({ topic, from }) };
    }
    case "session":
      return sessionSpec(given, engine);
    case "check":
      return { kind: "query", everyMs: everyOf(given), command: ["sh", "-c", given.check ?? ""] };
    case "url":
      return { kind: "query", everyMs: everyOf(given), ...present({ url: given.url }) };
    case "sql":
      return { kind: "query", everyMs: everyOf(given), ...present({ sql: given.sql, binding: resource }) };
    case "resource":
      return { kind, binding: resource ?? "", ...present({ debounceMs }) };
  }
}

async function sessionSpec(
  { session, on, item, all, give }: TriggerInput,
  engine: Engine,
): Promise<TriggerSpec> {
  const sessions = await Promise.all(session.map(async (one) => (await engine.session(one)).id));
  const more = { ...(all ? { all } : {}), ...present({ give: give as "handoff" | undefined }) };
  if (item !== undefined && on === "end")
    throw new SkeinError("invalid", "trigger: --item is not allowed with --on end", {
      hint: "use --on item, or omit --item",
    });
  if (item === undefined && on !== "item") return { kind: "session", sessions, on: "end", ...more };
  const [, kind = "", key = "*"] = /^([^/]*)(?:\/(.*))?$/s.exec(item ?? "fact/*") ?? [];
  const wanted = { kind: itemKindOf("--item", kind), key };
  return { kind: "session", sessions, on: "item", item: wanted, ...more };
}

async function add(here: TriggerCall, words: readonly string[]): Promise<void> {
  const { options: given, out, engine, session, nowMs } = here;
  const missed = present({ missed: given.missed as "once" | undefined });
  const [first = "", name] = words;
  if (given.open !== undefined) {
    if (name !== undefined)
      throw new SkeinError("invalid", `trigger: unexpected argument ${quote(name)}`, {
        hint: usage.add,
      });
    await checkModelName(given.model);
    const opened = await engine({ create: true });
    const spec = await specOf(given, opened, nowMs);
    const set = await opened.trigger(first, spec, { open: openingOf(given), ...missed });
    warnUnset(here);
    return out.answer(set, () => lines(`set ${oneLine(first)}: ${specText(set.spec)}`, set));
  }
  if (name === undefined)
    throw new SkeinError("invalid", "trigger: add: ID and NAME are required", {
      hint: `skein trigger add ID NAME …, or with --open "OBJECTIVE" for new sessions`,
    });
  const found = await session(first);
  const spec = await specOf(given, await engine(), nowMs);
  const { token, ...written } = await found.trigger(name, spec, missed);
  const answer = { session: found.id, name, ...written, ...present({ token }) };
  const done = `set ${oneLine(name)} at ${written.seq} of ${found.id}`;
  warnUnset(here);
  await out.answer(answer, () => lines(done, answer));
}

/** The secret may be set where the calls arrive; but here it is not. */
function warnUnset({ out, options: { secret } }: TriggerCall): void {
  if (secret === undefined || process.env[secret]) return;
  out.note(`${secret} is not set here: set it where the calls arrive, or they are refused`);
}

/** The token stands alone on its line, for copying. */
const lines = (done: string, { token }: { readonly token?: string }): string[] =>
  token === undefined ? [done] : [done, "its token, which is not shown again:", token];

function openingOf(given: TriggerInput): TemplateOptions["open"] {
  const { open: objective = "", agent, model, bind, label, priority } = given;
  return {
    objective,
    ...present({ agent, model, priority, budget: budgetOf(given) }),
    ...(bind.length === 0 ? {} : { bind: bind.map(parseBinding) }),
    ...(label.length === 0 ? {} : { labels: labelsOf("--label", label) }),
  };
}

async function list(here: TriggerCall, [id]: readonly string[]): Promise<void> {
  const { out, engine, session, nowMs } = here;
  const all =
    id === undefined
      ? (await (await engine()).triggers()).map(({ fired, ...one }) => ({
          ...one,
          firedAt: fired?.at ?? null,
          opened: fired?.opened ?? null,
        }))
      : (await (await session(id)).triggers()).map((one) => ({ ...one, open: undefined }));
  if (out.json) {
    for (const one of all) await out.emit(one);
    return;
  }
  if (all.length === 0) return out.note(id === undefined ? "no templates" : "no triggers");
  const columns = ["NAME", "KIND", "WHAT", "NEXT", "LAST FIRED", ...(id === undefined ? ["OPENS"] : [])];
  const rows = all.map((one) => [
    oneLine(one.name),
    one.kind,
    specText(one.spec),
    one.nextMs === null ? "" : exact(one.nextMs).replace(".000Z", "Z"),
    one.firedAt === null ? "never" : ago(one.firedAt, nowMs),
    ...(one.open === undefined ? [] : [oneLine(one.open?.objective ?? "[erased]")]),
  ]);
  const titled = columns.map((title) => ({ title }));
  for (const line of table(titled, rows, { width: out.columns, heading: out.bold })) await out.line(line);
}

async function remove(
  { out, engine, session }: TriggerCall,
  [first = "", name]: readonly string[],
): Promise<void> {
  if (name === undefined) {
    await (await engine()).untrigger(first);
    return out.answer({ name: first, removed: true }, () => [`removed ${oneLine(first)}`]);
  }
  const found = await session(first);
  await answerChange(out, found, await found.untrigger(name), `removed ${oneLine(name)}`);
}

async function fire(here: TriggerCall, [first = "", name]: readonly string[]): Promise<void> {
  const { out, engine, session, options: given } = here;
  const more = present({ text: given.text });
  if (name === undefined) {
    const { id } = await (await engine()).fire(first, more);
    return out.answer({ name: first, opened: id }, () => [`fired ${oneLine(first)}; opened ${shortId(id)}`]);
  }
  const found = await session(first);
  await answerChange(out, found, await found.fire(name, more), `fired ${oneLine(name)}`);
}
