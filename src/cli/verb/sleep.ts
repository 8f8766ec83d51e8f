/** Puts a session to sleep. */
import { SkeinError } from "../../core/error.ts";
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { verb } from "../command/verb.ts";

export const sleep = verb({
  name: "sleep",
  line: "Put a session to sleep until a time, a trigger, a message or you wake it.",
  args: ["ID"],
  options: {
    until: { type: "time", what: "wake it at this moment" },
    for: { type: "span", value: "SPAN", what: "wake it after so long, such as 2h" },
    trigger: { type: "list", value: "NAME", what: "only this trigger wakes it, and what a person says" },
    reason: { type: "text", what: "why; it is kept in the log" },
  },
  about: [
    "An input from a person or a message wakes it. When its time has come, the next run wakes it and tells " +
      'it so; "skein run ID --wait" waits for that.',
  ],
  examples: [
    "skein sleep 4x8kz1 --for 2h  # for two hours",
    "skein sleep 4x8kz1 --until 2026-12-01T09:00:00Z  # until a moment",
  ],
  async run({ args, options, out, session, nowMs }) {
    const { until, reason } = options;
    if (until !== undefined && options.for !== undefined) {
      throw new SkeinError("invalid", "sleep: --until and --for are both given", {
        hint: "leave one out",
      });
    }
    if (until !== undefined && until <= nowMs) {
      throw new SkeinError("invalid", "sleep: --until is past already", {
        hint: "give a later moment, or a length of time with --for",
      });
    }
    const untilMs = options.for === undefined ? until : nowMs + options.for;
    const found = await session(args.ID);
    const triggers = options.trigger.length === 0 ? undefined : options.trigger;
    await answerChange(out, found, await found.sleep(present({ untilMs, triggers, reason })), "sleeping");
  },
});
