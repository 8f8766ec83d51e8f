/** Commands on erasure, holds and scores. */

export type GovernCommand =
  | { readonly do: "hold"; readonly name: string; readonly reason?: string }
  | { readonly do: "lift"; readonly name: string; readonly reason?: string }
  /** The contents to erase, counted by the caller; the store deletes them in the same append. */
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
      /** The position that is scored; absent: the session. */
      readonly seq?: number;
      readonly because?: string;
    };
