/** What tools and file triggers both know of files: names to ignore, and how far times can be trusted. */

/** Large directories that programs make. */
export const ignoredNames: readonly string[] = [".git", "node_modules"];

/** Some file systems keep whole seconds, or two. */
const coarseMs = 2_100;
/** Times finer than a millisecond follow a tick of the system's clock. */
const fineMs = 50;

/** How long after its last change a file may change again with the same times. */
export const unsettledMs = (changedNs: bigint): number => (changedNs % 1_000_000n === 0n ? coarseMs : fineMs);
