/** Reads the lists of heads in the workspace's log, from the newest list of all logs on. */
import { readRecords } from "../read/record-pages.ts";
import { createPublicKey, verify } from "node:crypto";
import type { BodyOf } from "../../core/catalog.ts";
import type { Digest, StoredRecord } from "../../core/chain.ts";
import { anchorText, chainRoot, firstRoot, merkleOf, type ListedHead } from "../../core/govern/heads.ts";
import type { Store } from "../../store/port.ts";
import { contentOf } from "../read/content.ts";

type ListedBody = BodyOf<"heads.listed">;

export interface HeadLists {
  /** The newest listed head of each log that was not deleted since. */
  readonly heads: ReadonlyMap<string, { readonly seq: number; readonly hash: string }>;
  /** The newest list; null when there is none. */
  readonly last: {
    readonly seq: number;
    readonly hash: string;
    readonly at: number;
    readonly body: ListedBody;
  } | null;
  /** Heads listed since the newest full list, that one not counted. */
  readonly added: number;
  /** Read lists, and who signed them; null for a list without a signature. */
  readonly lists: number;
  readonly signedBy: ReadonlySet<string | null>;
  /** Anchors that a person accepted as lost. */
  readonly accepted: readonly { readonly seq: number; readonly hash: string }[];
  readonly problems: readonly { readonly seq: number; readonly problem: string }[];
}

type Lists = { -readonly [K in keyof HeadLists]: HeadLists[K] } & {
  readonly heads: Map<string, { readonly seq: number; readonly hash: string }>;
  readonly signedBy: Set<string | null>;
  readonly accepted: { readonly seq: number; readonly hash: string }[];
  readonly problems: { readonly seq: number; readonly problem: string }[];
};

/** Without a digest nothing is checked: a writer of the next list needs no check. */
export async function readHeads(store: Store, digest: Digest | null): Promise<HeadLists> {
  const lists: Lists = {
    heads: new Map(),
    last: null,
    added: 0,
    lists: 0,
    signedBy: new Set(),
    accepted: [],
    problems: [],
  };
  const fromSeq = await newestFull(store, lists);
  let before: string | null = null;
  const types = ["heads.listed", "heads.accepted", "session.deleted"];
  for await (const record of recordsOf(store, fromSeq, types, true)) {
    if (record.type === "session.deleted") {
      lists.heads.delete((JSON.parse(record.body) as BodyOf<"session.deleted">).session);
    } else if (record.type === "heads.accepted") {
      lists.heads.clear();
    } else before = await take(store, digest, lists, record, before);
  }
  return lists;
}

/** The position of the newest full list; also accepted anchors, which older ones may need. */
async function newestFull(store: Store, lists: Lists): Promise<number> {
  let fromSeq = 1;
  for await (const { seq, type, body } of recordsOf(store, 1, ["heads.listed", "heads.accepted"], false)) {
    if (type === "heads.listed") {
      if ((JSON.parse(body) as ListedBody).full === true) fromSeq = seq;
      continue;
    }
    const { anchor } = JSON.parse(body) as BodyOf<"heads.accepted">;
    if (anchor !== undefined) lists.accepted.push({ seq: anchor.seq, hash: anchor.hash });
  }
  return fromSeq;
}

const recordsOf = (store: Store, fromSeq: number, types: readonly string[], contents: boolean) =>
  readRecords(store, store.workspace, [fromSeq, Infinity], { types, contents });

/** Adds one list. Returns its root, which the next one has to name. */
async function take(
  store: Store,
  digest: Digest | null,
  lists: Lists,
  record: StoredRecord,
  before: string | null,
): Promise<string> {
  const body = JSON.parse(record.body) as ListedBody;
  const { seq, hash, at } = record;
  const bad = (problem: string): void => void lists.problems.push({ seq, problem });
  const content = (await contentOf(store, record)) as
    | { readonly heads: [string, number, string][] }
    | undefined;
  const heads = (content?.heads ?? []).map(([log, last, head]): ListedHead => ({
    log,
    seq: last,
    hash: head,
  }));
  // An erased list says nothing any more; the log itself says whether it was erased.
  const isWhole = digest === null || content === undefined || merkleOf(digest, heads) === body.merkle;
  if (!isWhole) bad("the list of heads does not match its Merkle root");
  if (before !== null && body.before !== before) bad("the list of heads does not follow the one before");
  if (digest !== null) {
    const isRight = body.root === chainRoot(digest, body.before, body.merkle);
    if (!isRight) bad("the root of the list of heads is wrong");
    if (!isSigned(store.workspace, body)) bad("the signature of the list of heads does not match");
  }
  if (isWhole)
    for (const { log, seq: last, hash: head } of heads) lists.heads.set(log, { seq: last, hash: head });
  lists.last = { seq, hash, at, body };
  lists.added = body.full === true ? 0 : lists.added + body.count;
  lists.lists += 1;
  lists.signedBy.add(body.publicKey ?? null);
  return body.root;
}

/** True when the signature is valid, or there is none. */
export function isSigned(
  workspace: string,
  { root, publicKey, signature }: Pick<ListedBody, "root" | "publicKey" | "signature">,
): boolean {
  if (publicKey === undefined && signature === undefined) return true;
  if (publicKey === undefined || signature === undefined) return false;
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
    return verify(null, Buffer.from(anchorText(workspace, root)), key, Buffer.from(signature, "base64url"));
  } catch {
    return false;
  }
}

/** The newest list from a position on, without its heads; null when there is none. */
export async function newestList(
  store: Store,
  fromSeq: number,
): Promise<{ readonly seq: number; readonly at: number } | null> {
  let newest: { readonly seq: number; readonly at: number } | null = null;
  for await (const { seq, at } of recordsOf(store, fromSeq, ["heads.listed"], false)) newest = { seq, at };
  return newest;
}

export const rootBefore = ({ last }: HeadLists): string => last?.body.root ?? firstRoot;
