/**
 * Feed positions that detect a rollback. A store that falls back to an earlier copy (a fail-over to a lagging
 * standby, a restored backup) continues numbering from there: a reader that resumes from a number alone would
 * skip everything up to it. So a position also identifies a record: the driver's place, then eight digits of
 * the hash of the record there, then the same for two earlier records, "place!hash*place!hash*place!hash". If
 * the store no longer holds the record, reading resumes from the latest of the others that it holds, or from
 * the beginning.
 *
 * Positions of 0.4 are a place alone, and stay valid. They are checked only against the end of the feed.
 */
import { SkeinError } from "../core/error.ts";
import { quote } from "../core/ids.ts";
import type { FeedPage, Store } from "./port.ts";

/** A driver's access to its feed. Places are texts in the driver's format. */
export interface FeedSource {
  /** Records after a place; the place to continue from, and the hash of the record there, if known. */
  page(place: string | null, count: number): Promise<SourcePage>;
  /** A place behind everything committed now. */
  end(): Promise<string>;
  /**
   * The hash of the record at a place. `absent`: this history never had a record there. `unknown`: the
   * session may have been deleted, or the place is not that of a record.
   */
  hashAt(place: string): Promise<RecordAt>;
  /** The distance of a place from the beginning, in the driver's unit. */
  distance(place: string): bigint;
  /** The place of the last record at most so far from the beginning; null if there is none. */
  recordBefore(distance: bigint): Promise<string | null>;
}

export interface SourcePage {
  readonly records: FeedPage["records"];
  readonly place: string;
  readonly hash: string | null;
}

export type RecordAt = { readonly hash: string } | "absent" | "unknown";

/** A place, and the first digits of the hash of the record there; empty without a record. */
interface Mark {
  readonly place: string;
  readonly hash: string;
}

interface FeedPosition {
  readonly at: Mark;
  readonly earlier: readonly Mark[];
}

/**
 * The minimum distance of the earlier records; the maximum is twice that. The first keeps re-reading short
 * after a usual fail-over, the second covers a standby that lagged far behind.
 */
const distances = [1_000n, 50_000n] as const;
const hashDigits = 8;
const form = /^[\d.+]{1,60}(![0-9a-f]{8})?(\*[\d.+]{1,60}![0-9a-f]{8}){0,2}$/;

function parsePosition(text: string): FeedPosition {
  if (!form.test(text)) throw notAPosition(text);
  const marks = text.split("*").map((mark): Mark => {
    const [place = "", hash = ""] = mark.split("!");
    return { place, hash };
  });
  return { at: marks[0] ?? { place: "", hash: "" }, earlier: marks.slice(1) };
}

const markText = ({ place, hash }: Mark): string => (hash === "" ? place : `${place}!${hash}`);
const positionText = ({ at, earlier }: FeedPosition): string => [at, ...earlier].map(markText).join("*");

export const notAPosition = (text: string): SkeinError =>
  new SkeinError("invalid", `feed: after: expected a position of this feed, got ${quote(text)}`, {
    hint: "positions are opaque; pass one that the feed of this store returned",
    field: "after",
  });

export function makePositionedFeed(source: FeedSource): Pick<Store, "feed" | "feedEnd"> {
  async function isHeld({ place, hash }: Mark): Promise<"held" | "lost" | "unknown"> {
    const found = await source.hashAt(place);
    if (found === "absent") return "lost";
    if (found === "unknown" || hash === "") return "unknown";
    return found.hash.startsWith(hash) ? "held" : "lost";
  }

  /** `unsure`: the record is missing, probably because it was deleted. */
  async function look({ at, earlier }: FeedPosition): Promise<"fine" | "lost" | "unsure"> {
    const own = await isHeld(at);
    if (own !== "unknown") return own === "held" ? "fine" : "lost";
    for (const mark of earlier) if ((await isHeld(mark)) === "lost") return "lost";
    return at.hash === "" ? "fine" : "unsure";
  }

  async function earlierThan(place: string, known: readonly Mark[]): Promise<readonly Mark[]> {
    const far = source.distance(place);
    const marks: Mark[] = [];
    for (const least of distances) {
      const kept = known.find((mark) => {
        const back = far - source.distance(mark.place);
        return least <= back && back < 2n * least;
      });
      const found = kept === undefined && far > least ? await source.recordBefore(far - least) : null;
      const hash = found === null ? "unknown" : await source.hashAt(found);
      if (kept !== undefined) marks.push(kept);
      else if (found !== null && typeof hash === "object") marks.push(markOf(found, hash.hash));
    }
    return marks;
  }

  async function pageFrom(from: FeedPosition | null, count: number): Promise<FeedPage> {
    const { records, place, hash } = await source.page(from?.at.place ?? null, count);
    // Checked only now: another server may have taken over while the page was read.
    const found = from === null ? "fine" : await look(from);
    if (from !== null && found !== "fine") return pageAgain(from, count, found);
    if (from?.at.place === place && from.at.hash !== "") return { records, position: positionText(from) };
    const at = markOf(place, hash ?? (await hashIfAny(place)));
    const earlier = await earlierThan(place, from?.earlier ?? []);
    // Without an own record it keeps naming the last one passed.
    const isNamed = at.hash !== "" || from === null || from.at.hash === "";
    return {
      records,
      position: positionText({ at, earlier: isNamed ? earlier : nearest(from.at, earlier) }),
    };
  }

  /** From the latest of the earlier records that still exists. */
  async function pageAgain(from: FeedPosition, count: number, found: "lost" | "unsure"): Promise<FeedPage> {
    let start: FeedPosition | null = null;
    for (const [index, at] of from.earlier.entries()) {
      if (start !== null || (await isHeld(at)) !== "held") continue;
      start = { at, earlier: from.earlier.slice(index + 1) };
    }
    const page = await pageFrom(start, count);
    if (found === "unsure" || page.rolledBackTo !== undefined) return page;
    return { ...page, rolledBackTo: start === null ? null : positionText(start) };
  }

  async function hashIfAny(place: string): Promise<string> {
    const found = await source.hashAt(place);
    return typeof found === "object" ? found.hash : "";
  }

  return {
    feed: (after, count) => pageFrom(after === null ? null : parsePosition(after), count),
    async feedEnd() {
      const place = await source.end();
      const at = markOf(place, await hashIfAny(place));
      return positionText({ at, earlier: await earlierThan(place, []) });
    },
  };
}

const markOf = (place: string, hash: string): Mark => ({ place, hash: hash.slice(0, hashDigits) });
const nearest = (mark: Mark, earlier: readonly Mark[]): readonly Mark[] => [mark, ...earlier.slice(-1)];

/**
 * The feed from the position of the projections: a position and, after the first erasure, the number of
 * erasures, "position~n". Returns positions in the same form.
 */
export async function feedOfProjections(
  feed: Store["feed"],
  after: string | null,
  count: number,
): Promise<FeedPage> {
  const erasures = after === null ? "" : (/~\d{1,15}$/.exec(after)?.[0] ?? "");
  const page = await feed(after === null ? null : after.slice(0, after.length - erasures.length), count);
  return erasures === "" ? page : { ...page, position: `${page.position}${erasures}` };
}

/**
 * The position of the projections in the feed. A projection reads texts first and writes them later; a text
 * erased in between must not come back. So after the first erasure the position carries the number of
 * erasures, "position~n": a step from a position with another number is rejected.
 */
export const projectionPosition = (
  position: string | null,
  erasures: number,
  beginning: string,
): string | null => (erasures === 0 ? position : `${position ?? beginning}~${erasures}`);

export const withoutErasures = (position: string): string => position.replace(/~\d{1,15}$/, "");
