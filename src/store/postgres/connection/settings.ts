/** The initial settings of each connection, unless a pooler shares connections. */

/**
 * A forgotten transaction would block the feed for all. Statements use indexes for any values: planning one
 * again, or compiling it, takes longer than running it.
 */
export const usualSettings = {
  idle_in_transaction_session_timeout: 60_000,
  plan_cache_mode: "force_generic_plan",
  jit: "off",
};

/** True, and the transaction does not wait for the disk: for rebuildable data. */
export const unsynced = "set_config('synchronous_commit', 'off', true) = 'off'";
