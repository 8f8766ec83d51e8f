/** The palette's results for the typed text, the best first. */
import { operationIds, operationOf, type OperationId } from "../../call/operations.ts";
import { brief } from "../ui/visible.ts";
import { commandOf, needsSession } from "./commands.ts";
import { matchOf } from "./match.ts";

/** A session as the palette lists it. */
export interface PaletteState {
  readonly session: string;
  readonly status: string;
  readonly name: string | null;
  readonly objective: string | null;
}

/** Actions of the page itself. */
export interface PageAction {
  readonly id: string;
  readonly title: string;
  readonly key?: string;
  readonly act: () => void;
}

export type PaletteItem =
  | { readonly kind: "call"; readonly id: OperationId; readonly title: string; readonly places: Places }
  | {
      readonly kind: "own";
      readonly id: string;
      readonly title: string;
      readonly own: PageAction;
      readonly places: Places;
    }
  | {
      readonly kind: "session";
      readonly id: string;
      readonly title: string;
      readonly known: PaletteState;
      readonly places: Places;
    }
  | {
      readonly kind: "goto" | "search";
      readonly id: string;
      readonly title: string;
      readonly text: string;
      readonly places: Places;
    };
type Places = readonly number[];

interface Offer {
  readonly query: string;
  readonly sessions: readonly PaletteState[];
  readonly own: readonly PageAction[];
  readonly recent: readonly string[];
  /** Whether there is a session that its calls would act on. */
  readonly hasSession: boolean;
}

/** Sessions shown before typing; everything else is always shown. */
const sessionsAtFirst = 6;
/** Per letter: in a long text, letters far apart match by chance. */
const nearEnough = 5;

export function offered(offer: Offer): readonly PaletteItem[] {
  const { query, sessions } = offer;
  const all: { readonly item: PaletteItem; readonly score: number }[] = [
    ...callsFor(offer),
    ...ownFor(offer),
    ...(query === "" ? sessions.slice(0, sessionsAtFirst) : sessions).flatMap((known) =>
      sessionFor(offer, known),
    ),
  ];
  const best = all.toSorted((a, b) => b.score - a.score).map(({ item }) => item);
  return [...best, ...lastFor(query, best)];
}

/** Recently chosen commands rank higher, but less once something is typed. */
function lately({ recent, query }: Offer, id: string): number {
  const place = recent.indexOf(id);
  return place < 0 ? 0 : query === "" ? 100 - place : 4 - place / 4;
}

function callsFor(offer: Offer): { item: PaletteItem; score: number }[] {
  const { query, hasSession } = offer;
  return operationIds.flatMap((id) => {
    const { title, does } = commandOf(id);
    if (does.how === "elsewhere") return [];
    const byTitle = matchOf(query, title);
    const byName = byTitle === null ? matchOf(query, `${id} ${operationOf(id).words ?? ""}`) : null;
    const match = byTitle ?? byName;
    if (match === null) return [];
    // On a session page its own calls rank higher.
    const near = needsSession(id) === hasSession ? 3 : 0;
    const exact = id.toLowerCase() === query.toLowerCase() ? 100 : 0;
    const score = match.score + near + exact + lately(offer, id) - (byTitle === null ? 10 : 0);
    return [{ item: { kind: "call", id, title, places: byTitle?.places ?? [] }, score }];
  });
}

function ownFor(offer: Offer): { item: PaletteItem; score: number }[] {
  return offer.own.flatMap((own) => {
    const match = matchOf(offer.query, own.title);
    if (match === null) return [];
    const score = match.score + 5 + lately(offer, own.id);
    return [{ item: { kind: "own", id: own.id, title: own.title, own, places: match.places }, score }];
  });
}

function sessionFor(offer: Offer, known: PaletteState): { item: PaletteItem; score: number }[] {
  const { query } = offer;
  const title = brief(known.name || known.objective || known.session, 100);
  const item = (places: Places): PaletteItem => ({
    kind: "session",
    id: known.session,
    title,
    known,
    places,
  });
  if (query === "") return [{ item: item([]), score: 50 }];
  if (isEnding(query) && known.session.endsWith(query.toLowerCase())) return [{ item: item([]), score: 60 }];
  const match = matchOf(query, title);
  if (match !== null && match.score >= query.length * nearEnough)
    return [{ item: item(match.places), score: match.score + 1 }];
  // The cut-off part may still contain it.
  const isInText = [known.name, known.objective].some((said) =>
    said?.toLowerCase().includes(query.toLowerCase()),
  );
  return isInText ? [{ item: item([]), score: 2 }] : [];
}

/** Such as the suffix of an id. */
const isEnding = (query: string): boolean => /^(?:ses_)?[0-9a-z]{4,26}$/i.test(query) && /\d/.test(query);

/** Fallbacks for the typed text, whatever else was found. */
function lastFor(query: string, found: readonly PaletteItem[]): PaletteItem[] {
  const text = query.trim();
  if (text === "") return [];
  const isThere = found.some(({ kind, id }) => kind === "session" && id.endsWith(text.toLowerCase()));
  return [
    ...(isEnding(text) && !isThere
      ? [
          {
            kind: "goto",
            id: "goto",
            title: `Go to session …${text}`,
            text,
            places: [],
          } as const,
        ]
      : []),
    {
      kind: "search",
      id: "search-for",
      title: `Search for “${brief(text, 60)}”`,
      text,
      places: [],
    },
  ];
}
