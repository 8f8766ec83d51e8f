/** The permissions of a file, in tests that also run without them (test/platform). */
import { statSync } from "node:fs";

/** On a system without modes, the expected ones. */
export const modeOf = (path: string, expected: number): number =>
  process.getuid === undefined ? expected : statSync(path).mode & 0o777;
