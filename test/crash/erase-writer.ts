/**
 * A process that says things in a session of its own, or in a fork of one, and erases some of what it and
 * its parent said, with scrubs and packing in between, until it is killed. What it says follows from its
 * place, so that whoever finds nothing there knows what was said.
 */
import { pathToFileURL } from "node:url";
import { realWorld } from "../../src/runtime/world.ts";
import { draftOf } from "../../src/store/conformance/conformance.ts";
import type { IndexEntry, Part, Store } from "../../src/store/port.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { digest } from "../core/digest.ts";
import { workspace } from "../runtime/place.ts";
import { makeRandom, type Random } from "./random.ts";

/** 24 letters and digits that nobody else says. */
export const saidAt = (session: string, seq: number): string =>
  digest("", `${session} at ${seq}`).slice(0, 24);

export interface EraseOrder {
  readonly path: string;
  readonly session: SessionId;
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  readonly seed: number;
}

export type Range = [fromSeq: number, toSeq: number];

const index: IndexEntry = {
  status: "open",
  agent: null,
  name: null,
  objective: null,
  priority: 5,
  labels: {},
};

const filler = "lorem ipsum dolor sit amet ".repeat(100);

function saying({ session }: EraseOrder, random: Random, headSeq: number) {
  return Array.from({ length: 1 + random.below(20) }, (_, place) => {
    const text = `${saidAt(session, headSeq + 1 + place)} ${filler.slice(0, random.below(1_500))}`;
    return draftOf({ content: text }, digest);
  });
}

function erasing(random: Random, headSeq: number): Pick<Part, "drafts" | "erase"> {
  const ranges: Range[] = Array.from({ length: 1 + random.below(4) }, () => {
    const fromSeq = 1 + random.below(headSeq);
    return [fromSeq, Math.min(headSeq, fromSeq + random.below(12))];
  });
  return { drafts: [draftOf({ type: "x.erased", body: { ranges } }, digest)], erase: ranges };
}

async function projected(store: Store): Promise<void> {
  const from = await store.projected();
  const page = await store.feed(from, 200);
  const texts = page.records.flatMap(({ session, seq, content }) =>
    content === null ? [] : [{ session, seq, text: content }],
  );
  if (page.position !== from) await store.project({ from, to: page.position, texts, items: [] });
}

async function main(order: EraseOrder): Promise<never> {
  const { path, session, parent } = order;
  const random = makeRandom(order.seed);
  const store = await sqliteStore({ path, world: realWorld(), workspace, durability: "process" });
  for (let round = 0; ; round++) {
    const head = await store.head(session);
    const headSeq = head?.seq ?? parent?.seq ?? 0;
    const opening = head === undefined ? { index, ...(parent === null ? {} : { parent }) } : {};
    const expect = head === undefined ? "absent" : { seq: headSeq };
    const what =
      headSeq > 10 && random.chance(0.5)
        ? erasing(random, headSeq)
        : { drafts: saying(order, random, headSeq) };
    await store.append([{ session, expect, ...opening, ...what }]);
    if (round === 0) console.log("ready");
    if (random.chance(0.3)) await projected(store);
    if (random.chance(0.1)) await store.pack(session, headSeq);
    // Another process may be in the way; then it is still due.
    if (random.chance(0.2)) await store.scrub().catch(() => undefined);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(JSON.parse(process.argv[2] ?? "") as EraseOrder);
}
