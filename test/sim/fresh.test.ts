/** Simulated lives that nobody has seen before: each run of the tests has seeds of its own. */
import { test } from "node:test";
import { freshSeed } from "../crash/random.ts";
import { assertUnharmed, lives, skip } from "./lives.ts";

test("whatever goes wrong, no session is harmed in lives that are new", { skip }, (context) =>
  assertUnharmed(context, 1 + lives + (freshSeed() % 1_000_000_000)),
);
