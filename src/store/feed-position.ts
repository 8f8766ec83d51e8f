/**
 * Positions of the feed that show a rollback. A store that falls back to an earlier copy of itself (a
 * fail-over to a standby that was behind, a restored backup) numbers what is new from there: a reader that
 * goes on from a number alone would skip all of it up to that number. So a position names a record, too: the
 * driver's own place, then eight digits of the hash of the record there, then the same of two earlier
 * records, "place!hash*place!hash*place!hash". When the store does not hold the record any more, reading
 * goes on from the latest of the others that it holds, or from the beginning.
 *
 * Positions of 0.4 are a place alone, and stay valid. They are checked against the end of the feed only.
 */
import { SkeinError } from "../core/error.ts";
import { quote } from "../core/ids.ts";
import type { FeedPage, Store } from "./port.ts";

/** What a driver knows of its feed. Places are texts of its own form. */
export interface FeedSource {
  /** Records after a place; the place to go on from, and the hash of the record there if it was given. */
  page(place: string | null, count: number): Promise<SourcePage>;
  /** A place behind all that is committed now. */
  end(): Promise<string>;
  /**
   * The hash of the record at a place. `absent`: this history never had a record there. `unknown`: it cannot
   * be told, since the session may have been deleted, or since the place is not that of a record.
   */
  hashAt(place: string): Promise<RecordAt>;
  /** How far a place is from the beginning, in whatever the driver counts. */
  distance(place: string): bigint;
  /** The place of the last record at most so far from the beginning; null when there is none. */
  recordBefore(distance: bigint): Promise<string | null>;
}

export interface SourcePage {
  readonly records: FeedPage["records"];
  readonly place: string;
  readonly hash: string | null;
}

export type RecordAt = { readonly hash: string } | "absent" | "unknown";

/** A place, and the first digits of the hash of the record there; empty when none is named. */
interface Mark {
  readonly place: string;
  readonly hash: string;
}

interface FeedPosition {
  readonly at: Mark;
  readonly earlier: readonly Mark[];
}

/**
 * How far back the earlier records lie, at least; at most twice as far. The first keeps short what is read
 * again after a usual fail-over, the second covers a standby that was far behind.
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
  new SkeinError("invalid", `not a position of this feed: ${quote(text)}`, {
    hint: "positions are opaque; give back one that the feed of this store gave out",
    field: "after",
  });

export function makePositionedFeed(source: FeedSource): Pick<Store, "feed" | "feedEnd"> {
  async function isHeld({ place, hash }: Mark): Promise<"held" | "lost" | "unknown"> {
    const found = await source.hashAt(place);
    if (found === "absent") return "lost";
    if (found === "unknown" || hash === "") return "unknown";
    return found.hash.startsWith(hash) ? "held" : "lost";
  }

  /** `unsure`: the record is gone, and that it was deleted is only likely. */
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
    // Only now: another server may have taken over while the page was waited for.
    const found = from === null ? "fine" : await look(from);
    if (from !== null && found !== "fine") return pageAgain(from, count, found);
    if (from?.at.place === place && from.at.hash !== "") return { records, position: positionText(from) };
    const at = markOf(place, hash ?? (await hashIfAny(place)));
    const earlier = await earlierThan(place, from?.earlier ?? []);
    // Without a record of its own the last one that was passed is named.
    const isNamed = at.hash !== "" || from === null || from.at.hash === "";
    return {
      records,
      position: positionText({ at, earlier: isNamed ? earlier : nearest(from.at, earlier) }),
    };
  }

  /** From the latest of the earlier records that is still there. */
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
 * The feed from where projections stand: a position and, once something was erased, the number of erasures,
 * "position~n". Gives out others like it.
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
 * Where the projections stand in the feed. A projection reads texts first and writes them later; what was
 * erased in between must not come back. So the position carries the number of erasures once there were any,
 * "position~n": a step from a position with another number is not taken.
 */
export const projectionPosition = (
  position: string | null,
  erasures: number,
  beginning: string,
): string | null => (erasures === 0 ? position : `${position ?? beginning}~${erasures}`);

export const withoutErasures = (position: string): string => position.replace(/~\d{1,15}$/, "");
