/** Shows what differs between two positions of a session, or between two sessions. */
import type { SessionDiff, DiffAspect, DiffContextPart, TranscriptEntry } from "../../runtime/branch/diff.ts";
import { partName, partText } from "../format/part-text.ts";
import { placeOf } from "../command/position.ts";
import type { Screen } from "../command/screen.ts";
import { plain, count, cut, manyLines, oneLine, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

const aspects = ["state", "items", "transcript", "context", "files"] as const;

export const diff = verb({
  name: "diff",
  line: "Show what differs between two positions of a session, or between two sessions.",
  args: ["FROM", "TO?"],
  options: {
    state: { type: "flag", what: "only the standing: status, budget, bindings …" },
    items: { type: "flag", what: "only facts, decisions, tasks and artifacts" },
    transcript: { type: "flag", what: "only what was said since they diverged" },
    context: { type: "flag", what: "only the context of the model, part by part" },
    files: { type: "flag", what: "only the files that tools changed, with the lines of short texts" },
  },
  about: [
    "FROM and TO are an ID, ID@SEQ, ID@NAME or ID@TIME; without TO it is the current session of FROM. + " +
      "exists in TO only, - in FROM only, ~ in both but differs. Options can be combined; without " +
      "any, everything is shown but context and files.",
  ],
  examples: [
    "skein diff 4x8kz1@12 4x8kz1@40  # what happened between 12 and 40",
    "skein diff 4x8kz1@before-run  # since a checkpoint",
    "skein diff 4x8kz1@yesterday  # since the end of yesterday",
    "skein diff 4x8kz1 9m2c7q --items  # what two sessions know differently",
    "skein diff 4x8kz1@12 4x8kz1@40 --files  # what its tools did to files",
    "skein diff 4x8kz1@12 9m2c7q@15 --context --json  # two contexts, for programs",
  ],
  async run({ args, options, out, session }) {
    const from = await placeOf("diff", args.FROM, undefined, { session, out });
    const to = args.TO === undefined ? null : await placeOf("diff", args.TO, undefined, { session, out });
    const asked = aspects.filter((one) => options[one]);
    const only: { only?: readonly DiffAspect[] } = asked.length === 0 ? {} : { only: asked };
    const found = await from.session.diff(
      { session: from.session.id, at: from.seq ?? undefined },
      { session: (to ?? from).session.id, at: to?.seq ?? undefined },
      only,
    );
    await out.answer(found, () => lines(found, out));
  },
});

function lines(found: SessionDiff, out: Screen): string[] {
  const { from, to, common, state, items, transcript, context, files } = found;
  const place = ({ session, seq }: { readonly session: string; readonly seq: number }): string =>
    `${session}@${seq}`;
  const row = (name: string, text: string): string => `${out.dim(name.padEnd(8))}${text}`;
  const line = (text: string): string =>
    `  ${cut(text, out.columns === null ? Infinity : Math.max(20, out.columns - 2))}`;
  const part = (title: string, rows: readonly string[]): string[] => [
    "",
    out.bold(title),
    ...(rows.length === 0 ? [out.dim("  no difference")] : rows.map(line)),
  ];
  return [
    row("from", place(from)),
    row("to", place(to)),
    row("common", common === null ? "nothing" : place(common)),
    ...(state === undefined ? [] : part("State", state.map(fieldText))),
    ...(items === undefined ? [] : part("Items", items.map(itemText))),
    ...(transcript === undefined ? [] : part("Transcript", transcriptRows(transcript))),
    ...(context === undefined ? [] : part(contextTitle(context), contextRows(context))),
    ...(files === undefined ? [] : part("Files", fileRows(files))),
  ];
}

const fieldText = ({ field, from, to }: NonNullable<SessionDiff["state"]>[number]): string =>
  `${oneLine(field)}: ${valueText(from)} → ${valueText(to)}`;

const valueText = (value: unknown): string =>
  value === undefined || value === null ? "(none)" : oneLine(plain(value)) || '""';

function itemText({ change, kind, key, from, to }: NonNullable<SessionDiff["items"]>[number]): string {
  const text = (item: typeof from): string => {
    if (item === null) return "";
    const status = item.status === null ? "" : ` (${item.status})`;
    const reason = item.because === null ? "" : `, because ${oneLine(item.because)}`;
    return `${item.erased ? "(erased)" : oneLine(plain(item.value))}${status}${reason}`;
  };
  const name = `${kind} ${oneLine(key)}`;
  if (change === "changed") return `~ ${name} = ${text(from)} → ${text(to)}`;
  return `${change === "added" ? "+" : "-"} ${name} = ${text(to ?? from)}`;
}

function transcriptRows({ removed, added, isCut }: NonNullable<SessionDiff["transcript"]>): string[] {
  const row = (sign: string, { seq, type, text }: TranscriptEntry): string =>
    `${sign} ${String(seq).padStart(5)}  ${type.padEnd(18)} ${oneLine(text)}`;
  return [
    ...removed.map((one) => row("-", one)),
    ...added.map((one) => row("+", one)),
    ...(isCut ? ['and more; "skein log" shows all'] : []),
  ];
}

const contextTitle = ({ shared }: NonNullable<SessionDiff["context"]>): string =>
  `Context (${plural(shared, "part")} the same from the beginning on)`;

function contextRows({ removed, added }: NonNullable<SessionDiff["context"]>): string[] {
  const row = (sign: string, { part, tokens, digest }: DiffContextPart): string =>
    `${sign} ${digest.slice(0, 8)}  ${count(tokens).padStart(7)}  ${partName(part)}: ` +
    oneLine(partText(part).slice(0, 300));
  return [...removed.map((one) => row("-", one)), ...added.map((one) => row("+", one))];
}

const changeSigns = { added: "+", removed: "-", changed: "~" } as const;

function fileRows({ files, unkept }: NonNullable<SessionDiff["files"]>): string[] {
  const kindsOf = (version: (typeof files)[number]["from"]): string[] =>
    version === null ? [] : [`${version.kind} ${version.mode.toString(8)}`];
  return [
    ...files.flatMap(({ change, name, path, from, to, text }) => {
      const kinds = [...new Set([...kindsOf(from), ...kindsOf(to)])].join(" → ");
      return [
        `${changeSigns[change]} ${oneLine(name)}: ${oneLine(path)} (${kinds})`,
        ...(text ?? ["(no text, or a long one)"]).map((row) => `    ${manyLines(row).join(" ")}`),
      ];
    }),
    ...unkept.map(({ seq, why }) => `? at ${seq}: ${oneLine(why)}`),
  ];
}
