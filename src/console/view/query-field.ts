/** A field with the text `q` of the URL: the URL follows a moment later, and may change the field. */
import { useEffect, useRef, useState } from "react";
import { goWith } from "../route.ts";
import { after } from "../world.ts";

interface TypedState {
  readonly typed: string;
  readonly type: (text: string) => void;
  /** To the URL at once. */
  readonly ask: (text: string) => void;
}

export function useTyped(text: string, restMs: number): TypedState {
  const [typed, setTyped] = useState(text);
  const sent = useRef(text);
  const waiting = useRef<(() => void) | null>(null);
  useEffect(() => {
    if (sent.current === text) return;
    sent.current = text;
    setTyped(text);
  }, [text]);
  useEffect(() => () => waiting.current?.(), []);
  const ask = (value: string): void => {
    waiting.current?.();
    sent.current = value;
    goWith({ q: value }, { replace: true });
  };
  const type = (value: string): void => {
    setTyped(value);
    waiting.current?.();
    waiting.current = after(restMs, () => ask(value));
  };
  return { typed, type, ask };
}
