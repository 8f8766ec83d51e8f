/** Parses server-sent events as they arrive. */

/** One event of a stream. */
export interface StreamFrame {
  /** The position; null without one, as for deltas. */
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Takes a text in arbitrary pieces, and returns the complete frames. */
export function makeFrameParser(): (piece: string) => StreamFrame[] {
  let rest = "";
  let id: string | null = null;
  let event = "";
  let data: string[] = [];

  function take(line: string): StreamFrame | null {
    if (line === "") {
      const frame = { id, event: event === "" ? "message" : event, data: data.join("\n") };
      const isFrame = data.length > 0 || id !== null;
      [id, event, data] = [null, "", []];
      return isFrame ? frame : null;
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "event") event = value;
    else if (name === "data") data.push(value);
    return null;
  }

  return (piece) => {
    const frames: StreamFrame[] = [];
    // A carriage return at the end may be half of a line end.
    const text = rest + piece;
    const whole = text.endsWith("\r") ? text.length - 1 : text.length;
    let from = 0;
    const ends = /\r\n|\n|\r/g;
    for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
      if (end.index >= whole) break;
      const frame = take(text.slice(from, end.index));
      if (frame !== null) frames.push(frame);
      from = ends.lastIndex;
    }
    rest = text.slice(from);
    return frames;
  };
}
