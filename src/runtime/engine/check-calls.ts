/** The session's calls on its accept checks. */
import type { AcceptCheck } from "../../core/check/check.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ExploreOptions, ExploreReport } from "../check/explore.ts";
import type { CheckOptions, CheckReport } from "../check/session-checks.ts";
import type { Deps } from "../deps.ts";
import type { AppendResult } from "../log/append-result.ts";
import { SessionMessages } from "./session-messages.ts";

/** The part of a session that sets and runs its accept checks. */
export class SessionChecks extends SessionMessages {
  readonly #deps: Deps;

  constructor(deps: Deps, id: SessionId) {
    super(deps, id);
    this.#deps = deps;
  }

  /**
   * Runs the accept checks that have not run since the last turn, and reports all of them. With `pass` or
   * `fail`, records a person's verdict instead. A session with checks is completed only when all have passed.
   */
  async check(options: CheckOptions = {}): Promise<CheckReport> {
    return (await import("../check/session-checks.ts")).checkSession(this.#deps, this.id, options);
  }

  /**
   * Tries several ways to go on from a position: each in a fork that runs, scored by checks and compared. The
   * same call again continues the same exploration.
   */
  async explore(options: ExploreOptions): Promise<ExploreReport> {
    return (await import("../check/explore.ts")).exploreSession(this.#deps, this.id, options);
  }

  /**
   * Sets what must pass before the session can be closed as completed: checks, or their texts
   * (`command: npm test`). They replace those before.
   */
  async setChecks(
    checks: readonly (AcceptCheck | string)[],
    options: { readonly reason?: string } = {},
  ): Promise<AppendResult> {
    return (await import("../check/session-checks.ts")).setChecks(this.#deps, this.id, checks, options);
  }
}
