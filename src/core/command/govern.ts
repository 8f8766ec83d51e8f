/** Commands that govern a session: holds, erasure, and the handoff to the next. */
import type { Returned } from "../command.ts";
import type { Amounts } from "../state.ts";
import type { Counted } from "./turn.ts";

export type GovernCommand =
  | { readonly do: "hold"; readonly name: string; readonly reason?: string }
  | { readonly do: "lift"; readonly name: string; readonly reason?: string }
  /** What is erased, counted by the caller; the store takes it away in the same append. */
  | {
      readonly do: "erase";
      readonly ranges: readonly (readonly [fromSeq: number, toSeq: number])[];
      readonly records: number;
      readonly bytes: number;
      readonly reason?: string;
    }
  /** What a session that it paid for gives back; one that is over itself passes it on. */
  | {
      readonly do: "regain";
      readonly from: string;
      readonly amounts: Amounts;
      readonly returned?: Returned;
    }
  | {
      readonly do: "handoff";
      readonly text: string;
      readonly digest: string;
      /** The last position that it tells of. */
      readonly toSeq: number;
      readonly tokens: number;
      /** The model that put it into prose, and what that cost. */
      readonly model?: string;
      readonly usage?: Counted;
      readonly costNanoUsd?: number | null;
    };
