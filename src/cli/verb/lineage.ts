/** Shows the family of a session as a tree. */
import { shortId } from "../../core/text/short-id.ts";
import type { Lineage, LineageNode } from "../../runtime/read/lineage.ts";
import type { Screen } from "../command/screen.ts";
import { count, cut, columnsOf, plural } from "../format/text.ts";
import { titleOf } from "../format/title.ts";
import { verb } from "../command/verb.ts";

export const lineage = verb({
  name: "lineage",
  line: "Show the family of a session: forks, children, successors, and what was merged.",
  args: ["ID"],
  options: {},
  about: [
    "The tree begins with the session that all others come from. Each line says how a session comes from " +
      "the one above it and at which position (fork; child: a session that it opened; successor: a session " +
      "opened by clear, handoff or open --from), its status, and what was merged into it, as ID@SEQ.",
  ],
  examples: [
    "skein lineage 4x8kz1  # the whole family, whichever of it is named",
    "skein lineage 4x8kz1 --json | jq '.nodes[].session'  # all ids, parents first",
    `skein lineage 4x8kz1 --json | jq '.nodes[] | select(.relation == "child")'  ` +
      "# only sessions that a session opened",
  ],
  async run({ args, out, session }) {
    const found = await (await session(args.ID)).lineage();
    await out.answer(found, () => lines(found, out));
  },
});

/** On a terminal with lines; elsewhere with what every place can show. */
const strokes = {
  terminal: { fork: "├─ ", last: "└─ ", along: "│  " },
  elsewhere: { fork: "|- ", last: "`- ", along: "|  " },
} as const;

function lines({ session, nodes, left }: Lineage, out: Screen): string[] {
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
  // The first one shown may come from a session that is too far up to be shown.
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
