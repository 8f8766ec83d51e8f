/**
 * Files that a whole `npm test` runs in turns: the seed of the run chooses one half. `npm run test:long` runs
 * all of them, and so does a run that names files. Chromium takes a third of the processor time of all tests;
 * what faces hostile text, the first minutes and a session's turns run every time. Turns, workers and
 * messages are killed in every run, on files or on PostgreSQL.
 */
const browser = (name: string): string => `test/browser/${name}.test.ts`;
const crash = (name: string): string => `test/crash/${name}.test.ts`;

const halves: readonly (readonly string[])[] = [
  [
    ...["cost", "docs", "hand", "past", "reader"].map(browser),
    "test/postgres/crash.test.ts",
    // Builds what test/repo/pack.test.ts builds, by the lines of deploy/Dockerfile.
    "test/examples/deploy.test.ts",
  ],
  [
    ...["import", "many", "markdown", "shown-state", "unknown"].map(browser),
    ...["message-kill", "turn-kill", "work-kill"].map(crash),
  ],
];

/** The files that another run has. */
export const leftOutBy = (seed: number): readonly string[] => halves[seed % halves.length] ?? [];

/** Every file that does not run every time. */
export const filesInTurns: readonly string[] = halves.flat();
