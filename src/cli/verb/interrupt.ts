/** Ends the turn in progress. */
import { plainVerb } from "../change.ts";

export const interrupt = plainVerb({
  name: "interrupt",
  line: "End the turn that is in progress; the session stays open.",
  done: "interrupted",
  reason: "wrong file",
});
