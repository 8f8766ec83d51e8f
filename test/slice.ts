/**
 * How much of a long test runs. `npm test` runs a slice of each campaign; `npm run test:long` runs every
 * case, and the tests of the simulator itself.
 */
const isLong = process.env["SKEIN_TEST_LONG"] === "1";

export const sliced = <T>(slice: T, whole: T): T => (isLong ? whole : slice);

/** The option `skip` of a test that runs in the long run only. */
export const longOnly: string | false = isLong ? false : "runs in npm run test:long";
