/** Goes on with messages to other stores, and gives up requests whose time is over. */
import type { PendingDelivery } from "../../runtime/message/deliver.ts";
import { oneLine, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const deliver = verb({
  name: "deliver",
  line: "Deliver messages to other stores that wait, and give up requests that are overdue.",
  args: [],
  options: {},
  about: [
    "A message to another store waits in its sender's outbox until it is known to be there: the store " +
      "could not be used, the receiver's inbox was full, or somebody died on the way. It is received once, " +
      "however often this runs and wherever it is broken off. Those of one pair go in order.",
    "What is refused for good is written to the sender's log, and the sender is told; so is a request that " +
      "had no reply in time. What still waits is listed with the reason.",
  ],
  examples: [
    "skein deliver  # all that waits in this store",
    "skein deliver --json | jq .waiting  # what could not be delivered, and why",
  ],
  async run({ out, engine }) {
    const progress = out.progress();
    try {
      const report = await (
        await engine()
      ).deliver({
        progress: ({ messages, sessions }) =>
          progress.show(`${plural(messages, "message")} of ${plural(sessions, "session")}`),
      });
      progress.end();
      const { delivered, refused, overdue, waiting } = report;
      await out.answer(report, () => [
        `${plural(delivered, "message")} delivered` +
          (refused === 0 ? "" : `, ${refused} refused`) +
          (overdue === 0 ? "" : `, ${plural(overdue, "request")} given up`),
        ...waiting.map((one) => waitingLine(one)),
      ]);
    } finally {
      progress.end();
    }
  },
});

function waitingLine({ session, to, count, reason }: PendingDelivery): string {
  if (to === "") return `${session} was passed over: ${oneLine(reason)}`;
  const what = `${plural(count, "message")} of ${session} to ${to}`;
  return `${what} ${count === 1 ? "waits" : "wait"}: ${oneLine(reason)}`;
}
