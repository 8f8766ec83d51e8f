/**
 * What others said: people, models, tools, names. It is shown as text, and can do nothing: no markup is taken
 * from it, what steers a terminal or the direction of writing is made visible, and of a very long text a
 * part is shown until somebody asks for more.
 */
import { useState, type ReactNode } from "react";
import { count } from "./amount.ts";

const shownChars = 20_000;

// C0 and C1 controls but for tab and line feed; marks that turn the direction of writing; what is not seen.
const controls = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f";
const directions = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069";
const unseen = "\\u200b\\u2060-\\u2064\\ufeff";
const steering = new RegExp(`[${controls}${directions}${unseen}]`, "g");

/** Steering characters as their code, such as ⟨U+202E⟩. */
export const visible = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replace(steering, (char) => `⟨U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** On one line, and not longer than that. */
export function brief(text: string, chars = 200): string {
  const line = visible(text.slice(0, chars * 4))
    .replace(/\s+/g, " ")
    .trim();
  return line.length > chars ? `${line.slice(0, chars - 1)}…` : line;
}

interface SaidProps {
  readonly text: string;
  readonly as?: "p" | "pre";
  readonly className?: string;
  /** How much is shown at first. */
  readonly chars?: number;
}

export function Said({ text, as: Tag = "p", className = "", chars = shownChars }: SaidProps): ReactNode {
  const [shown, setShown] = useState(chars);
  const part = text.length > shown ? text.slice(0, shown) : text;
  return (
    <>
      <Tag className={`said ${className}`} dir="auto">
        {visible(part)}
      </Tag>
      {text.length > shown ? (
        <button className="button" data-size="small" type="button" onClick={() => setShown(shown * 4)}>
          Show more: {count(text.length - shown)} characters are left
        </button>
      ) : null}
    </>
  );
}

/** A value as JSON, indented. */
export function Json({ value, chars }: { readonly value: unknown; readonly chars?: number }): ReactNode {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  return <Said as="pre" text={text} {...(chars === undefined ? {} : { chars })} />;
}
