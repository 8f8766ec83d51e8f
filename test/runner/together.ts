/**
 * Runs the test files of its arguments one after the other in this process, each as a suite of its name. The
 * modules that they share are then loaded once.
 */
import { describe, test } from "node:test";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { noteFile, untilReported } from "./inside.ts";

for (const file of process.argv.slice(2)) {
  noteFile(file);
  const reported = untilReported(file);
  await describe(file, async () => {
    try {
      await import(pathToFileURL(resolve(file)).href);
    } catch (cause) {
      test("the file loads", () => {
        throw cause;
      });
    }
  });
  await reported;
}
