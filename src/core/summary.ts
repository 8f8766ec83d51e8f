/** The effect of an event in one line. The command line and the console show the same line. */
import { entryOf } from "./catalog.ts";
import { valueText } from "./summary-text.ts";

/** The fields of an event that a summary uses. */
export interface SummaryInput {
  readonly type: string;
  readonly body: unknown;
  readonly content: unknown;
  readonly erased: boolean;
}

/** One line. Records of other programs, or of a newer Skein, show their type. */
export function summarize(event: SummaryInput): string {
  const line = knownSummary(event) ?? `${event.type} ${valueText(event.body)}`;
  return event.erased ? `${line} (content erased)` : line;
}

function knownSummary({ type, body, content }: SummaryInput): string | undefined {
  try {
    return entryOf(type)?.summary(body, content);
  } catch {
    // A body of another version may lack a field that the summary names.
    return undefined;
  }
}
