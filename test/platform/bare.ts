/** What a run without `/proc`, watches of files and modes cannot show, and the environment of such a run. */
import { join } from "node:path";
import { skipVariable } from "../runner/test-file.ts";

/** Titles of tests, by what they need. */
export const needed: Readonly<Record<string, readonly string[]>> = {
  "/proc: without it an ended process is not told from a running one of another machine": [
    "an ended process is recognized, and one of another machine is unknown",
    "is held by one process at a time, and one process takes it over from a dead one",
  ],
  "/proc: the test itself lists processes": [
    "the whole process group is killed at the end, however stubborn",
    "report the failure, and leave nothing running",
    "take the good ones with them: opening is all or nothing",
    "many large uploads at once take little memory, and leave nothing when they break off",
  ],
  "/proc: without paths of open directories a directory swapped for a link leads out of a binding": [
    "a directory that is swapped for a link all the time never gives a way out",
  ],
  "modes of files": [
    "an unreadable file is reported, and is never restored",
    "one that others could read is revoked and replaced",
    "the documented backup has mode 0600, whatever the umask was",
    "a directory that is read-only",
    "a failing check is reported once and does not fire; an exit code is a result",
  ],
  "watches: a poll every 10 seconds is too slow for it, or warns first": [
    "no journal is there at any moment while a store is created",
    "a follower in another process has each event within 50 ms at the median, and misses none",
    "of 1,000 changes each settled state fires once, and the last one is how the tree is",
    "a missing directory is reported once, and watched again when it is back",
  ],
};

/** For test files, and for the programs that they start. */
export const bareEnvironment: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=${join(import.meta.dirname, "without-posix.ts")}`,
  [skipVariable]: JSON.stringify(Object.values(needed).flat()),
};
