/** The actions on a session of the family, and on it and another one. */
import { mayIn } from "../../../protocol/library.ts";
import type { Choice } from "../../ui/menu.tsx";
import { go, sessionPath } from "../../route.ts";
import { type Node } from "./relative.ts";

export interface Acts {
  /** The other side of compare and merge: the marked session, or the one of this page. */
  readonly other: Node | null;
  /** The title of a session here. */
  readonly titleOf: (node: Node, chars?: number) => string;
  readonly fork: (node: Node) => void;
  readonly pick: (node: Node) => void;
  /** Why this login may not fork or merge. */
  readonly refusal: string | undefined;
}

/** Whether it is a valid merge target. */
const takes = ({ status, copy }: Node): boolean =>
  status !== "absent" && copy !== true && mayIn(status, "write");

/** The main ones first. An absent session has no actions. */
export function choicesOf(node: Node, acts: Acts): readonly Choice[] {
  const { other, fork, pick, refusal } = acts;
  const { session, status } = node;
  if (status === "absent") return [];
  const open: Choice = { name: "Open", act: () => go(sessionPath(session)) };
  const forking: Choice = { name: "Fork…", act: () => fork(node), refusal };
  const picking: Choice = { name: "Compare or merge with…", act: () => pick(node), apart: true };
  if (other === null || other.session === session || other.status === "absent")
    return [open, forking, picking];
  const name = `“${acts.titleOf(other, 24)}”`;
  const merge = (into: Node, from: Node): Choice["act"] =>
    takes(into) ? () => go(sessionPath(into.session, "merge", { from: from.session })) : undefined;
  return [
    open,
    forking,
    {
      name: `Compare with ${name}`,
      act: () => go(sessionPath(other.session, "compare", { with: session })),
      apart: true,
    },
    { name: `Merge into ${name}`, act: merge(other, node), refusal },
    { name: `Merge ${name} into this`, act: merge(node, other), refusal },
    picking,
  ];
}
