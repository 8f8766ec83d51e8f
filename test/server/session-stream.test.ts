/** What comes in between the last look at the log and being handed what is new is not missed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hub, LogSubscriber } from "../../src/server/stream/hub.ts";
import { streamSession } from "../../src/server/stream/session-stream.ts";
import { eventFrame, eventId, SharedFrame, type Sink } from "../../src/server/stream/sink.ts";
import type { Store } from "../../src/store/port.ts";
import { all, inMemory } from "../runtime/place.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

test("an event that arrives while the stream still reads is sent once, in order", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "Race" });
  let listener: LogSubscriber | null = null;
  const over = new AbortController();
  const frames: string[] = [];
  const none = (): (() => void) => () => undefined;
  const hub: Hub = {
    listen(_log, given) {
      listener = given;
      return () => undefined;
    },
    watch: none,
    step: () => assert.fail(),
    anew: () => undefined,
    onHeartbeat: none,
    stop: () => undefined,
  };
  const sink: Sink = {
    signal: over.signal,
    isFull: false,
    write(frame) {
      frames.push(frame);
      if (frames.length === 4) over.abort();
    },
    share(frame) {
      this.write(frame.text);
    },
    drained: async () => undefined,
    end: () => undefined,
  };
  let appended = 0;
  let isAppending = false;
  const { store } = internalsOf(engine);
  const headOf = store.head.bind(store);
  /** Right after the stream has looked where the log ends, one more is appended, and told of. */
  const head: Store["head"] = async (log) => {
    const before = await headOf(log);
    if (isAppending || before?.seq !== frames.length || appended === 3) return before;
    isAppending = true;
    appended += 1;
    await session.append(`${appended}`);
    const event = (await all(session.events({ reverse: true, limit: 1 })))[0]!;
    listener?.heard(event, new SharedFrame(eventFrame(event, eventId(event))));
    isAppending = false;
    return before;
  };
  Object.assign(store, { head });
  const patience = setTimeout(() => over.abort(), 2_000);
  await streamSession({ engine, hub, session, sink }, { fromSeq: 1 });
  clearTimeout(patience);
  assert.deepEqual(
    frames.map((frame) => frame.split(".")[0]),
    ["id: 1", "id: 2", "id: 3", "id: 4"],
  );
});
