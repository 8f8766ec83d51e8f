/**
 * Browser tests take a third of the processor time of all tests, so a whole `npm test` runs these files in
 * turns: the seed of the run chooses one half. `npm run test:long` runs all of them, and so does a run that
 * names files. What faces hostile text, the first minutes and a session's turns run every time.
 */
const halves: readonly (readonly string[])[] = [
  ["cost", "docs", "hand", "past", "reader"],
  ["import", "many", "markdown", "told", "unknown"],
].map((names) => names.map((name) => `test/browser/${name}.test.ts`));

/** The files that another run has. */
export const leftOutBy = (seed: number): readonly string[] => halves[seed % halves.length] ?? [];

/** Every file that does not run every time. */
export const filesInTurns: readonly string[] = halves.flat();
