/** Commands on accept checks. */
import type { CheckStatus, NamedCheck } from "./check.ts";

/** Checks with the digests of their definitions. */
export type DigestedCheck = NamedCheck & { readonly digest: string };

export type CheckCommand =
  | { readonly do: "set-checks"; readonly checks: readonly DigestedCheck[]; readonly reason?: string }
  | {
      readonly do: "check";
      readonly check: string;
      readonly digest: string;
      readonly status: CheckStatus;
      readonly ms: number;
      readonly exitCode?: number;
      readonly score?: number;
      readonly commit?: string;
      readonly by?: string;
      readonly output?: string;
      readonly reason?: string;
      /** A person decided it. */
      readonly verdict?: boolean;
    };
