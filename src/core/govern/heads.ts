/**
 * Lists of heads: the last record of each log at a moment, with one Merkle root per list, chained from list
 * to list. docs/log-format.md specifies it for other programs.
 *
 *   leaf    SHA-256(0x00 ‖ "<log> <seq> <hash>")
 *   node    SHA-256(0x01 ‖ left ‖ right); a node without a sibling moves up unchanged
 *   merkle  the last remaining node; of an empty list, SHA-256 of the empty string
 *   root    SHA-256(0x02 ‖ previous root ‖ merkle); before the first list, 32 zero bytes
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

/** Expects heads in ascending order. */
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

/** The text that the signature of a list covers. The root stands for the list and all lists before it. */
export const anchorText = (workspace: string, root: string): string =>
  `skein-anchor 1\nworkspace ${workspace}\nroot ${root}\n`;
