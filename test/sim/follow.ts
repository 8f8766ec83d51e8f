/** Following a log by its records alone, without the fold, to see whether calls and inputs went their way. */
import type { StoredRecord } from "../../src/core/chain.ts";
import { limit } from "../../src/core/limit.ts";
import type { State } from "../../src/core/state.ts";

type Blame = (text: string) => void;

/** What stands in the bodies of tool events. */
interface Called {
  readonly call?: string;
  readonly effect?: string;
  readonly status?: string;
  readonly late?: boolean;
}

/** Every call has an outcome when its turn ends, and none is left when the session is idle. */
export function followCalls(records: readonly StoredRecord[], states: readonly State[], blame: Blame): void {
  const open = new Map<string, { readonly effect: string; started: boolean }>();
  for (const { seq, type, body } of records) {
    const { call = "", late, effect = "", status } = JSON.parse(body) as Called;
    if (type === "tool.requested") {
      if (open.has(call)) blame(`@${seq}: two open calls are called ${call}`);
      open.set(call, { effect, started: false });
    }
    const one = open.get(call);
    if (type === "tool.started" && one !== undefined) one.started = true;
    if (type === "tool.settled" && late !== true) {
      if (status === "skipped" && one?.started === true && one.effect !== "read")
        blame(`@${seq}: ${call} had started, and is said to be skipped`);
      open.delete(call);
    }
    if (type === "turn.ended" && open.size > 0)
      blame(`@${seq}: the turn ended and calls ${[...open.keys()].join(", ")} have no outcome`);
    // A fork leaves what was open to its parent.
    if (type === "session.forked") open.clear();
  }
  const { standing, mind } = states.at(-1)!;
  const idle = standing.status === "open" || standing.status === "closed";
  if (idle && (open.size > 0 || mind.calls.size > 0))
    blame(`: idle, and ${open.size} or ${mind.calls.size} calls have no outcome`);
}

interface Waiting {
  readonly seq: number;
  readonly steers: boolean;
}

/** A turn takes up all that waits, a step all that steers, each once and in order. */
export function followInputs(records: readonly StoredRecord[], states: readonly State[], blame: Blame): void {
  let waiting = new Map<number, Waiting>();
  let all = new Map<number, Waiting>();
  const take = (record: StoredRecord, taken: readonly (readonly [number, number])[], steersOnly: boolean) => {
    const due = [...waiting]
      .filter(([, { steers }]) => steers || !steersOnly)
      .toSorted(([, one], [, other]) => one.seq - other.seq)
      .slice(0, limit.takenMax)
      .map(([input, { seq }]) => [seq, input]);
    if (JSON.stringify(due) !== JSON.stringify(taken))
      blame(`@${record.seq}: ${record.type} takes ${JSON.stringify(taken)} of ${JSON.stringify(due)}`);
    for (const [, input] of taken) waiting.delete(input);
  };
  for (const record of records) {
    const { seq, type } = record;
    const body = JSON.parse(record.body) as {
      input: number;
      mode?: string;
      purpose?: string;
      inputs: [number, number][] & { ranges: [number, number][] };
      requeued?: boolean;
    };
    if (type === "input.received" || type === "message.received") {
      const one = { seq, steers: body.mode === "steer" };
      if (all.has(body.input)) blame(`@${seq}: two inputs have the number ${body.input}`);
      all.set(body.input, one);
      waiting.set(body.input, one);
    }
    if (type === "turn.started") take(record, body.inputs, false);
    if (type === "model.requested" && body.purpose === undefined) take(record, body.inputs, true);
    if (type === "session.rewound" && body.requeued === true) {
      for (const [from, to] of body.inputs.ranges)
        for (let input = from; input <= to; input++) waiting.set(input, all.get(input)!);
    }
    // What waits goes over to the next session.
    if (type === "session.continued") waiting = new Map();
    if (type === "session.forked") {
      waiting = new Map();
      all = new Map();
    }
  }
  const { status } = states.at(-1)!.standing;
  if (status === "open" && waiting.size > 0)
    blame(`: idle, and inputs ${[...waiting.keys()].join(", ")} wait`);
}
