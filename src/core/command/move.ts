/** Commands that take a session elsewhere: to another store or machine, or to another model. */

/** What `session.moved` says in its body. */
export interface Moved {
  /** The name of the move, by which it is known at both ends. */
  readonly move: string;
  /** The workspace it goes to; absent when that was not known, as in a bundle. */
  readonly to?: string;
}

export type MoveCommand =
  /** `held`: somebody runs the session just now. `where` is for people. */
  | ({ readonly do: "move"; readonly held: boolean; readonly where?: string } & Moved)
  /** `moved` is what the last record says, `workspace` where it is read. */
  | {
      readonly do: "arrive";
      readonly moved: Moved | null;
      readonly workspace: string;
      readonly where?: string;
      /** No trusted key signed the bundle: it waits for review. */
      readonly untrusted?: boolean;
    }
  /** `left` names what the new model cannot be shown. */
  | { readonly do: "migrate"; readonly model: string; readonly left: readonly string[] };
