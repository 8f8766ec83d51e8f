/** Verbs that make sessions from sessions, and that show their origin. */
import { writeFile } from "node:fs/promises";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { shortId } from "../../core/text/short-id.ts";
import type { RewindResult } from "../../runtime/branch/rewind-files.ts";
import type { Lineage, LineageNode } from "../../runtime/read/lineage.ts";
import { parseNumber } from "../command/args.ts";
import { present } from "../command/input.ts";
import { plain } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { carryLines } from "../format/carry-lines.ts";
import { checkModelName } from "../format/model-name.ts";
import { stateLines } from "../format/state-lines.ts";
import { columnsOf, count, cut, manyLines, oneLine, plural } from "../format/text.ts";
import { titleOf } from "../format/title.ts";

export const branchPlain = [
  plain("session.fork", {
    async call({ found, params }) {
      params.atSeq ??= (await found.head()).seq;
      return found.fork(params);
    },
    async print(made, { found, params: { atSeq: seq, files }, out }) {
      const { seq: headSeq } = await made.head();
      const where = files === undefined ? "" : `, files in ${oneLine(files)}`;
      return {
        json: { id: made.id, parent: found.id, seq, headSeq, ...present({ files }) },
        // The id alone, so that B=$(skein fork A) is one.
        lines: [made.id],
        notes: out.columns === null ? [] : [out.dim(`forked from ${found.id} at ${seq}${where}`)],
      };
    },
  }),
  plain("session.rewind", {
    prepare({ params }) {
      if (params.place === undefined)
        throw new SkeinError("invalid", "rewind: --to is required", {
          hint: "a position, a checkpoint or a time, such as --to 12, --to before-run or --to=-2h",
        });
    },
    print(written, { found, params: { place } }) {
      const { seq, headSeq, duplicate, files } = written;
      const done = duplicate
        ? `written before, at ${seq}; nothing was written now`
        : `rewound to ${place} at ${seq} of ${found.id}`;
      return {
        json: { session: found.id, seq, headSeq, duplicate, ...present({ files }) },
        lines: [done, ...(files === undefined ? [] : filesText(files))],
      };
    },
  }),
  plain("session.clear", {
    print(next, { found, out }) {
      const { moved, left } = next.carriedOver ?? {};
      return {
        json: { id: next.id, from: found.id, ...present({ moved, left }) },
        lines: [`opened ${next.id}; ${found.id} is closed`, ...carryLines(next.carriedOver, out)],
      };
    },
  }),
  plain("session.rollover", {
    print(next, { found, out }) {
      const { moved, left } = next.carriedOver ?? {};
      return {
        json: { id: next.id, from: found.id, ...present({ moved, left }) },
        lines: [`${found.id} continues as ${next.id}`, ...carryLines(next.carriedOver, out)],
      };
    },
  }),
  plain("session.split", {
    prepare({ params }) {
      // Words of the command line.
      const seqs = params.inputs as readonly (string | number)[] | undefined;
      if (seqs !== undefined) params.inputs = seqs.map((one) => parseNumber("--input", String(one)));
    },
    print: (made, { found }) => ({
      json: { id: made.id, from: found.id },
      lines: [`opened ${made.id}; ${found.id} stays as it is`],
    }),
  }),
  plain("session.load", {
    async print(view, { found, out, nowMs }) {
      const state = await view.state();
      return {
        json: { id: found.id, seq: view.seq, state },
        lines: [
          ...stateLines(state, out, nowMs),
          "",
          out.bold("To continue from here"),
          `  skein fork ${found.id} --at ${view.seq}`,
          `  skein rewind ${found.id} --to ${view.seq}`,
        ],
      };
    },
  }),
  plain("session.handoff", {
    options: {
      out: { type: "text", value: "FILE|-", what: "also write it to this file; by default it is printed" },
      prose: { type: "flag", what: "the session's model writes an introduction: progress and next steps" },
      model: { type: "text", value: "PROVIDER/MODEL", what: "the same by another model" },
    },
    async prepare({ params, given }) {
      await checkModelName(given.model);
      const model = given.model ?? (given.prose ? true : undefined);
      if (model !== undefined) params.model = model;
    },
    async print({ text, seq, tokens, toSeq, model, failed }, { found, given, out }) {
      const file = given.out === "-" ? undefined : given.out;
      if (file !== undefined) await writeHandoff(file, text);
      const kept = seq === null ? "not kept in the log" : `kept at ${seq} of ${found.id}`;
      const size = `${count(tokens)} tokens, ${kept}`;
      return {
        json: { session: found.id, seq, toSeq, tokens, model, text, ...present({ file, failed }) },
        lines: file === undefined ? manyLines(text.trimEnd()) : [`wrote ${file}: ${size}`],
        notes: [
          ...(failed === undefined ? [] : [out.yellow(`without prose: ${oneLine(failed)}`)]),
          ...(file === undefined ? [out.dim(size)] : []),
        ],
      };
    },
  }),
  plain("session.lineage", { print: (found, { out }) => ({ lines: lineageLines(found, out) }) }),
];

/** The number of paths to name. */
const shownMax = 20;

function filesText({ restored, unkept }: NonNullable<RewindResult["files"]>): readonly string[] {
  const more = restored.length - shownMax;
  return [
    restored.length === 0 ? "no file had changed" : `${plural(restored.length, "path")} put back`,
    ...restored.slice(0, shownMax).map((path) => `  ${oneLine(path)}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...unkept.map(({ seq, why }) => `left as it is, at ${seq}: ${oneLine(why)}`),
  ];
}

async function writeHandoff(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((cause: unknown) => {
    throw new SkeinError("unavailable", `handoff: ${quote(file)} cannot be written`, {
      hint: "the handoff is in the log; use another path, or none to print it",
      cause,
    });
  });
}

/** With lines on a terminal; ASCII elsewhere. */
const strokes = {
  terminal: { fork: "├─ ", last: "└─ ", along: "│  " },
  elsewhere: { fork: "|- ", last: "`- ", along: "|  " },
} as const;

/** A family as a tree, or several below each other; the requested session is marked. */
export function lineageLines(
  { session, nodes, left }: Pick<Lineage, "nodes" | "left"> & { readonly session: string | null },
  out: Screen,
): string[] {
  const stroke = out.columns === null ? strokes.elsewhere : strokes.terminal;
  // By depth: whether the session there has another fork below.
  const open: boolean[] = [];
  const shown = nodes.map((node, place) => {
    const { depth } = node;
    const rest = nodes.slice(place + 1);
    const end = rest.findIndex((other) => other.depth <= depth);
    const isLast = end === -1 || (rest[end]?.depth ?? 0) < depth;
    open[depth] = !isLast;
    const before = Array.from({ length: Math.max(0, depth - 1) }, (_, level) =>
      open[level + 1] === true ? stroke.along : "   ",
    ).join("");
    const own = depth === 0 ? "" : isLast ? stroke.last : stroke.fork;
    return `${out.dim(before + own)}${nodeText(node, node.session === session, before + own, out)}`;
  });
  return left === 0 ? shown : [...shown, out.dim(`and ${plural(left, "session")} more, with their own`)];
}

function nodeText(node: LineageNode, isAsked: boolean, before: string, out: Screen): string {
  const { session, parent, relation, status, headSeq, merged, copy } = node;
  const at = parent === null || parent.seq === 0 ? "" : ` at ${count(parent.seq)}`;
  // The origin of the first one may be too far up to be shown.
  const other = parent !== null && node.depth === 0 ? ` of ${shortId(parent.session)}` : "";
  const from = relation === null ? "" : `${relation}${other}${at}, `;
  const now = status === "absent" ? "absent" : `${copy === true ? "copy" : status} at ${count(headSeq)}`;
  const came = merged.map(({ from: other, toSeq }) => `${shortId(other)}@${toSeq}`).join(", ");
  const how = `${from}${now}${came === "" ? "" : `; merged ${came}`}`;
  const fork = parent === null || relation !== "fork" ? null : { parent: parent.session, seq: parent.seq };
  const title = status === "absent" ? "" : titleOf({ ...node, fork });
  const taken = columnsOf(before) + shortId(session).length + columnsOf(how) + 6;
  const room = out.columns === null ? Infinity : Math.max(12, out.columns - taken);
  const name = isAsked ? out.bold(shortId(session)) : shortId(session);
  return [`${name}${isAsked ? " *" : ""}`, cut(title, room), out.dim(how)]
    .filter((part) => part !== "")
    .join("  ");
}
