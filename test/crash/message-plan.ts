/** Who sends what to whom: the same in every process, from a seed alone. */
import { fillOf } from "./mark.ts";
import { makeRandom } from "./random.ts";

/** One session of two stores. */
export interface Member {
  readonly id: string;
  readonly store: 0 | 1;
}

export interface Plan {
  readonly seed: number;
  readonly members: readonly Member[];
  /** Messages of each member. */
  readonly each: number;
}

export interface Planned {
  readonly to: Member;
  readonly text: string;
  /** The caller's key: whoever goes on for the dead sends it again with the same. */
  readonly key: string;
}

/** What a member sends, in order. */
export function plannedBy({ seed, members, each }: Plan, member: number): Planned[] {
  const random = makeRandom(seed + member * 7_919);
  const others = members.filter((_, place) => place !== member);
  return Array.from({ length: each }, (_, place) => {
    const mark = `w${member}.${place}.1of1`;
    return { to: random.pick(others), text: `${mark} ${fillOf(mark).slice(0, 20_000)}`, key: mark };
  });
}
