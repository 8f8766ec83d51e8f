/**
 * The tiers of a context, in their order, and the share of the model's window that each may use. What a tier
 * leaves over flows on to the later ones; the transcript has the rest.
 */

export const tiers = [
  "instructions",
  "pinned",
  "items",
  "memory",
  "documents",
  "summary",
  "transcript",
] as const;
/** A tier of a context, by name. */
export type TierName = (typeof tiers)[number];

/** Tiers with a share of their own. */
export type SharedTier = Exclude<TierName, "transcript">;
const sharedTiers = tiers.filter((tier) => tier !== "transcript");

export interface TierShare {
  /** Of the window, from 0 to 1. */
  readonly share: number;
  /** At least this many tokens, as far as the window has them. */
  readonly floorTokens: number;
  /** At most this many, with what flows in; null: no limit but the share. */
  readonly ceilingTokens: number | null;
}

/** A share by itself is the tier's, without a ceiling. */
export type ContextShares = {
  readonly [T in SharedTier]?: number | { readonly [K in keyof TierShare]?: TierShare[K] };
};

/**
 * Large windows are for long transcripts and for what an agent asks for: models get worse with the length of
 * a context, and each step pays for it. So the ceilings hold unless an agent sets its own shares.
 */
export const tierDefaults: Readonly<Record<SharedTier, TierShare>> = {
  instructions: { share: 0.08, floorTokens: 500, ceilingTokens: null },
  pinned: { share: 0.08, floorTokens: 500, ceilingTokens: 32_000 },
  items: { share: 0.12, floorTokens: 800, ceilingTokens: 24_000 },
  memory: { share: 0.04, floorTokens: 300, ceilingTokens: 8_000 },
  documents: { share: 0.2, floorTokens: 800, ceilingTokens: 64_000 },
  summary: { share: 0.06, floorTokens: 400, ceilingTokens: 16_000 },
};

/** All shares together: the rest is for the transcript and the answer. */
const sharesMax = 0.75;

/** The window of a model that is unknown here. */
export const windowTokensDefault = 200_000;

export type TierShares = Readonly<Record<SharedTier, TierShare>>;

/** The shares of an agent, with the defaults filled in. */
export function tierShares(given: ContextShares = {}): TierShares {
  const entries = sharedTiers.map((tier): [SharedTier, TierShare] => {
    const own = given[tier];
    if (own === undefined) return [tier, tierDefaults[tier]];
    const asked = typeof own === "number" ? { share: own } : own;
    const free = asked.share === undefined ? {} : { ceilingTokens: null };
    return [tier, { ...tierDefaults[tier], ...free, ...asked }];
  });
  return Object.fromEntries(entries) as Record<SharedTier, TierShare>;
}

/** Why these shares cannot be used; null if they can. */
export function wrongShares(given: ContextShares): string | null {
  const shares = tierShares(given);
  for (const tier of sharedTiers) {
    const { floorTokens, ceilingTokens } = shares[tier];
    if (ceilingTokens === null || ceilingTokens >= floorTokens) continue;
    return `${tier}: ceilingTokens: expected at least its floor, ${floorTokens}, got ${ceilingTokens}`;
  }
  const sum = sharedTiers.reduce((all, tier) => all + shares[tier].share, 0);
  if (sum <= sharesMax + 1e-9) return null;
  return (
    `expected shares of at most ${sharesMax} together with the defaults of the other tiers, ` +
    `got ${Number(sum.toFixed(3))}`
  );
}

/** The tokens of a tier by its own share. */
export function shareTokens({ share, floorTokens, ceilingTokens }: TierShare, windowTokens: number): number {
  const most = Math.min(ceilingTokens ?? Infinity, Math.floor(windowTokens * sharesMax));
  return Math.min(Math.max(Math.floor(share * windowTokens), floorTokens), most);
}

/** What a tier has and uses, in tokens. */
export interface TierUse {
  readonly tier: TierName;
  readonly shareTokens: number;
  /** With what earlier tiers left over. */
  readonly roomTokens: number;
  readonly usedTokens: number;
}

/** Hands out the window, tier by tier, in their order. */
export class TierRooms {
  readonly #shares: TierShares;
  readonly #windowTokens: number;
  readonly #used: TierUse[] = [];
  #left: number;
  /** Not used by earlier tiers. */
  #flow = 0;

  constructor(windowTokens: number, shares: TierShares) {
    this.#shares = shares;
    this.#windowTokens = windowTokens;
    this.#left = Math.floor(windowTokens * sharesMax);
  }

  roomOf(tier: SharedTier): number {
    const { ceilingTokens } = this.#shares[tier];
    const own = shareTokens(this.#shares[tier], this.#windowTokens);
    return Math.max(0, Math.min(own + this.#flow, ceilingTokens ?? Infinity, this.#left));
  }

  use(tier: SharedTier, usedTokens: number): void {
    const own = shareTokens(this.#shares[tier], this.#windowTokens);
    const roomTokens = this.roomOf(tier);
    this.#flow = Math.max(0, own + this.#flow - usedTokens);
    this.#left = Math.max(0, this.#left - usedTokens);
    this.#used.push({ tier, shareTokens: own, roomTokens, usedTokens });
  }

  /** All tiers; the transcript has what is left of the window. */
  get uses(): readonly TierUse[] {
    const used = this.#used.reduce((all, { usedTokens }) => all + usedTokens, 0);
    const own = this.#used.reduce((all, one) => all + one.shareTokens, 0);
    const most = this.#windowTokens;
    const rest = { shareTokens: Math.max(0, most - own), roomTokens: Math.max(0, most - used) };
    return [...this.#used, { tier: "transcript", ...rest, usedTokens: 0 }];
  }
}
