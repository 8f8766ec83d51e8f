/**
 * Lists of heads: which record each log ended with at a moment, under one Merkle root a list, chained from
 * list to list. docs/log-format.md describes the same for outsiders.
 *
 *   leaf    SHA-256(0x00 ‖ "<log> <seq> <hash>")
 *   node    SHA-256(0x01 ‖ left ‖ right); a node without a neighbor goes up as it is
 *   merkle  the one node that is left; of an empty list, SHA-256 of nothing
 *   root    SHA-256(0x02 ‖ root before ‖ merkle); before the first list, 32 zero bytes
 *
 * Leaves are in ascending order of the log id.
 */
import type { Digest } from "../chain.ts";

export interface ListedHead {
  readonly log: string;
  readonly seq: number;
  /** Of the record at `seq`. */
  readonly hash: string;
}

/** The root before the first list. */
export const firstRoot = "0".repeat(64);

export const sortHeads = (heads: readonly ListedHead[]): readonly ListedHead[] =>
  heads.toSorted((a, b) => (a.log < b.log ? -1 : a.log > b.log ? 1 : 0));

/** Of heads in ascending order. */
export function merkleOf(digest: Digest, heads: readonly ListedHead[]): string {
  let nodes = heads.map(({ log, seq, hash }) => digest("00", `${log} ${seq} ${hash}`));
  while (nodes.length > 1) {
    const above: string[] = [];
    for (let at = 0; at < nodes.length; at += 2) {
      const [left = "", right] = [nodes[at], nodes[at + 1]];
      above.push(right === undefined ? left : digest(`01${left}${right}`, ""));
    }
    nodes = above;
  }
  return nodes[0] ?? digest("", "");
}

export const chainRoot = (digest: Digest, before: string, merkle: string): string =>
  digest(`02${before}${merkle}`, "");

/** What the signature of a list is made over. The root stands for the list and for all lists before it. */
export const anchorText = (workspace: string, root: string): string =>
  `skein-anchor 1\nworkspace ${workspace}\nroot ${root}\n`;
