/** Commands on erasure, holds and scores. */

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
  | {
      readonly do: "score";
      readonly name: string;
      readonly value: number;
      /** The position that is judged; absent: the session. */
      readonly seq?: number;
      readonly because?: string;
    };
