/**
 * How much of a long test runs. `npm test` runs a slice of each campaign; `npm run test:long` runs every
 * case, and the tests of the simulator itself.
 */
export const isLong = process.env["SKEIN_TEST_LONG"] === "1";

export const sliced = <T>(slice: T, whole: T): T => (isLong ? whole : slice);

/**
 * Every n-th of a list where a slice runs, all of it in the long run. The seed of the run chooses where the
 * slice begins, so that a few runs try all of it.
 */
export const slicedEvery = <T>(list: readonly T[], step: number, seed: number): readonly T[] =>
  isLong ? list : list.filter((_, place) => place % step === seed % step);

/** The option `skip` of a test that runs in the long run only. */
export const longOnly: string | false = isLong ? false : "runs in npm run test:long";
