/**
 * Untrusted text: of people, models, tools, names. It is shown as plain text without markup; control
 * characters for terminals or text direction are made visible, and a very long text is truncated until the
 * user asks for more.
 */
import { useState, type ReactNode } from "react";
import { count } from "./amount.ts";
import { visible } from "./visible.ts";

export { brief, visible } from "./visible.ts";

const shownChars = 20_000;

interface SaidProps {
  readonly text: string;
  readonly as?: "p" | "pre";
  readonly className?: string;
  /** The length shown at first. */
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
      <ShowMore left={text.length - shown} act={() => setShown(shown * 4)} />
    </>
  );
}

interface ShowMoreProps {
  /** In characters; hidden if zero. */
  readonly left: number;
  readonly act: () => void;
}

export function ShowMore({ left, act }: ShowMoreProps): ReactNode {
  if (left <= 0) return null;
  return (
    <button className="button" data-size="small" type="button" onClick={act}>
      Show {count(left)} more characters
    </button>
  );
}

/** A value as JSON, indented. */
export function Json({ value, chars }: { readonly value: unknown; readonly chars?: number }): ReactNode {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  return <Said as="pre" text={text} {...(chars === undefined ? {} : { chars })} />;
}
