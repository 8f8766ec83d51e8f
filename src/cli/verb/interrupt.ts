/** Ends the turn in progress. */
import { plainVerb } from "../command/change-verb.ts";

export const interrupt = plainVerb({
  name: "interrupt",
  line: "End the turn that is in progress; the session stays open.",
  about: [
    "The process that runs the session hears it at once, also in the middle of an answer or a tool call: " +
      "the tool is stopped with all it has started. Calls that had begun and are not known to be harmless " +
      "are settled as unknown, the others as skipped, and both are told to the model in the next turn.",
  ],
  done: "interrupted",
  reason: "wrong file",
  examples: [{ command: "skein interrupt 4x8kz1", what: "from any terminal" }],
});
