/** File facts that tools and file triggers share: names to ignore, and the precision of times. */

/** Large generated directories. */
export const ignoredNames: readonly string[] = [".git", "node_modules"];

/** Some file systems store whole seconds, or two. */
const coarseMs = 2_100;
/** Times finer than a millisecond follow the system's clock tick. */
const fineMs = 50;

/** How long after its last change a file may change again with the same times. */
export const unsettledMs = (changedNs: bigint): number => (changedNs % 1_000_000n === 0n ? coarseMs : fineMs);
