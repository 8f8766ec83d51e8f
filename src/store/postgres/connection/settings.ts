/** What each connection is set to when it begins, unless a pooler hands it from one to another. */

/**
 * Whoever forgets a transaction holds up the feed of all. Statements find by index, whatever their values: to
 * plan one again, or to compile it, takes longer than to run it.
 */
export const usualSettings = {
  idle_in_transaction_session_timeout: 60_000,
  plan_cache_mode: "force_generic_plan",
  jit: "off",
};

/** True, and the transaction that asks does not wait for the disk: for what can be made again. */
export const unsynced = "set_config('synchronous_commit', 'off', true) = 'off'";
